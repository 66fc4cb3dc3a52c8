//! Runs the emulator on a workload in a temporary place and reads what it recorded.
#![allow(dead_code)] // every test file uses its own part

pub mod following;
pub mod server;
pub mod sshd;
pub mod tls;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use arrow_array::{Array, Float64Array, Int64Array, StringArray};
use satline_recording::read_segment;

use following::Following;

/// Longest wait for anything that is to happen, however busy the machine is.
pub const PATIENCE: Duration = Duration::from_secs(180);

pub type Row = BTreeMap<String, String>;

/// A temporary place with a workload; everything in it goes when it is dropped.
pub struct Place {
    directory: tempfile::TempDir,
    /// A run goes on: its segments may end in the middle of what is being written.
    under_way: Cell<bool>,
}

/// Answers that are not awaited in vain, however busy the machine is; short think times, pasted lines, bash with marks, and the scripts given.
pub fn workload(scripts: &str) -> String {
    format!(
        "name = \"test\"\ntimeout_seconds = 180\ntyping = {{ characters_per_second = 0 }}\n\
         think = {{ distribution = \"exponential\", mean_seconds = 0.05, maximum_seconds = 0.2 }}\n{scripts}"
    )
}

impl Place {
    pub fn new(workload: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("workload.toml"), workload).unwrap();
        Self {
            directory,
            under_way: Cell::new(false),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The emulator's command for this place, with further words (blanks separate them).
    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_satline-terminal"));
        command
            .arg("run")
            .arg("--workload")
            .arg(self.path("workload.toml"));
        command
            .arg("--recording")
            .arg(self.path("r.satline"))
            .arg("--directory")
            .arg(self.path("users"));
        command
            .arg("--users-file")
            .arg(self.path("users.tsv"))
            // The last one given counts.
            .args(["--logon-timeout", "180s"])
            .args(words.split_whitespace());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn run(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    /// A run whose users go on after its last step until it is told to end.
    pub fn follow(&self, words: &str) -> Following<'_> {
        Following::new(self, self.command(words))
    }

    /// Runs all its steps, and goes on until there is enough in the recording: however long that takes on a busy machine.
    pub fn run_until(&self, words: &str, enough: impl FnMut() -> bool) -> Output {
        self.until(self.command(words), enough)
    }

    /// The same for a command that was made before.
    pub fn until(&self, command: Command, enough: impl FnMut() -> bool) -> Output {
        let mut run = Following::new(self, command);
        run.when("enough is recorded", enough);
        run.end()
    }

    /// The rows of a table, nulls left out.
    pub fn rows(&self, table: &str) -> Vec<Row> {
        let entries = std::fs::read_dir(self.path("r.satline/segments").join(table));
        if self.under_way.get() && entries.is_err() {
            return Vec::new();
        }
        let mut files: Vec<_> = entries.unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let mut rows = Vec::new();
        for file in files {
            let contents = match read_segment(&file) {
                Ok(contents) => contents,
                Err(_) if self.under_way.get() => continue,
                Err(error) => panic!("{}: {error}", file.display()),
            };
            assert!(contents.damage.is_none() || self.under_way.get());
            for batch in contents.batches {
                for index in 0..batch.num_rows() {
                    let fields = batch.schema();
                    let cell = |(column, field): (&dyn Array, &str)| {
                        (!column.is_null(index)).then(|| (field.to_owned(), text_of(column, index)))
                    };
                    let columns = batch.columns().iter().map(|column| column.as_ref());
                    let names = fields.fields().iter().map(|field| field.name().as_str());
                    rows.push(columns.zip(names).filter_map(cell).collect());
                }
            }
        }
        rows
    }

    pub fn events(&self, kind: &str) -> Vec<Row> {
        self.rows("event")
            .into_iter()
            .filter(|row| row["event"] == kind)
            .collect()
    }

    /// Commands of the scripts: every transaction but those of the set-up.
    pub fn commands(&self) -> Vec<Row> {
        self.rows("transaction")
            .into_iter()
            .filter(|row| row["class"] != "setup")
            .collect()
    }

    /// Transactions of a class that came to an end.
    pub fn outcomes(&self, class: &str) -> Vec<Row> {
        self.commands()
            .into_iter()
            .filter(|row| row["class"] == class && row["outcome"] != "cut")
            .collect()
    }

    pub fn source(&self) -> toml::Table {
        std::fs::read_to_string(self.path("r.satline/sources/terminal.toml"))
            .unwrap()
            .parse()
            .unwrap()
    }

    /// Process numbers and users that the emulator listed, itself first.
    pub fn listed(&self) -> Vec<(i32, String)> {
        let text = std::fs::read_to_string(self.path("users.tsv")).unwrap_or_default();
        let pair = |line: &str| {
            line.split_once('\t')
                .map(|(pid, user)| (pid.parse().unwrap(), user.to_owned()))
        };
        text.lines().filter_map(pair).collect()
    }

    /// Nothing of the run is left: no process of the users' sessions, no directory.
    pub fn assert_clean(&self) {
        assert!(!self.path("users").exists(), "the users' directories are left");
        let sessions: Vec<i32> = self.listed().into_iter().skip(1).map(|(pid, _)| pid).collect();
        let left: Vec<_> = satline_terminal::processes::all(Path::new("/proc"))
            .into_iter()
            .filter(|process| sessions.contains(&process.session))
            .collect();
        assert!(left.is_empty(), "processes are left: {left:?}");
    }
}

fn text_of(column: &dyn Array, index: usize) -> String {
    let any = column.as_any();
    if let Some(column) = any.downcast_ref::<StringArray>() {
        return column.value(index).to_owned();
    }
    if let Some(column) = any.downcast_ref::<Float64Array>() {
        return column.value(index).to_string();
    }
    any.downcast_ref::<Int64Array>().unwrap().value(index).to_string()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn number(row: &Row, key: &str) -> i64 {
    row[key].parse().unwrap_or_else(|_| panic!("{key} of {row:?}"))
}

/// Waits for something to become true; a generous limit, for a loaded machine.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < PATIENCE, "not in {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn send(child: &Child, signal: i32) {
    satline_terminal::processes::send(child.id() as i32, signal);
}

/// Stops a process; it goes on with SIGCONT.
pub fn suspend(child: &Child) {
    send(child, libc::SIGSTOP);
    let stat = format!("/proc/{}/stat", child.id());
    let state = || satline_program::parse::stat(&std::fs::read(&stat).ok()?).map(|stat| stat.state);
    eventually("it stands", || state() == Some(b'T'));
}
