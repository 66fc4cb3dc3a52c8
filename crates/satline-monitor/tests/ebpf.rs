//! The kernel's programs: objects are those of their sources, and the iterator tells what `/proc` tells.
//!
//! What needs the right to load programs says so where it is skipped.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use satline_monitor::accounting::{ExitMethod, ProcessTable, ScanOptions};
use satline_monitor::counters::Totals;
use satline_monitor::ebpf::object::KernelTypes;
use satline_monitor::ebpf::tasks::{TaskIterator, Told};
use satline_monitor::files::{self, DescriptorBudget, Roots};
use satline_monitor::parse::{self, Stat};
use satline_monitor::plausible::Times;
use satline_monitor::users::{UserDefinition, Users};

/// The compiler that made them: another may write the same program differently.
const COMPILER: &str = "14";

fn compiler_version() -> Option<String> {
    let said = Command::new("clang").arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let behind = text.split("version ").nth(1)?;
    Some(behind.split('.').next()?.to_owned())
}

#[test]
fn objects_are_those_of_their_sources() {
    let Some(version) = compiler_version().filter(|_| Path::new("/usr/include/bpf/bpf_helpers.h").exists())
    else {
        eprintln!("skipped: there is no clang, or no libbpf-dev");
        return;
    };
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("ebpf");
    let made = tempfile::tempdir().unwrap();
    let built = Command::new(sources.join("build.sh"))
        .arg(made.path())
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let mut objects = 0;
    for entry in std::fs::read_dir(made.path()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        let committed = std::fs::read(sources.join(name)).unwrap();
        objects += 1;
        if version == COMPILER {
            assert!(
                committed == std::fs::read(&path).unwrap(),
                "{}: run `make ebpf`",
                name.display()
            );
        }
    }
    assert!(objects > 0);
    if version != COMPILER {
        eprintln!("compiled, but not compared: clang is {version}, not {COMPILER}");
    }
}

const NS_PER_TICK: u64 = 10_000_000;

/// The iterator, or why this host does not let it be tried.
fn iterator() -> Option<TaskIterator> {
    match KernelTypes::read().and_then(|kernel| TaskIterator::load(&kernel)) {
        Ok(iterator) => Some(iterator),
        Err(refusal) => {
            eprintln!("skipped: {refusal}; it needs {}", refusal.need);
            None
        }
    }
}

/// What one source says of a process: `stat`, its name, the scheduler's counters by thread, bytes read and written.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Said {
    stat: Stat,
    name: Vec<u8>,
    threads: BTreeMap<i32, (u64, u64)>,
    traffic: (u64, u64),
}

fn said_by_kernel(told: &Told<'_>) -> Said {
    Said {
        stat: told.stat(told.times((0, 0)), NS_PER_TICK),
        name: told.threads[0].name().to_vec(),
        threads: told
            .threads
            .iter()
            .map(|t| (t.tid, (t.exec_ns, t.run_delay_ns)))
            .collect(),
        traffic: told.traffic(),
    }
}

fn said_by_proc(pid: i32) -> Option<Said> {
    let directory = Path::new("/proc").join(pid.to_string());
    let text = files::read(&directory.join("stat"))?;
    let mut stat = parse::stat(&text)?;
    let name = text[stat.name.0..stat.name.1].to_vec();
    stat.name = (0, 0);
    let mut threads = BTreeMap::new();
    for entry in std::fs::read_dir(directory.join("task")).ok()? {
        let path = entry.ok()?.path();
        let tid = path.file_name()?.to_str()?.parse().ok()?;
        let (cpu_ns, delay_ns, _) = parse::schedstat(&files::read(&path.join("schedstat"))?)?;
        threads.insert(tid, (cpu_ns, delay_ns));
    }
    let io = files::read(&directory.join("io"))?;
    let bytes = |key| u64::try_from(parse::value_of(&io, key)?).ok();
    Some(Said {
        stat,
        name,
        threads,
        traffic: (bytes("read_bytes")?, bytes("write_bytes")?),
    })
}

/// Ends a child with the test.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn all_by_kernel(iterator: &mut TaskIterator) -> BTreeMap<i32, Said> {
    let pass = iterator.read().unwrap();
    pass.processes()
        .map(|(pid, told)| (pid, said_by_kernel(&told)))
        .collect()
}

#[test]
fn the_iterator_tells_what_proc_tells() {
    let Some(mut iterator) = iterator() else { return };
    let worker = Command::new("sh")
        .args([
            "-c",
            "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; cat /etc/passwd | wc -l; sleep 1000",
        ])
        .stdout(Stdio::null())
        .spawn();
    let worker = Ending(worker.unwrap());
    let worked = || said_by_proc(worker.0.id() as i32).is_some_and(|s| s.stat.children_minor_faults > 0);
    while !worked() {
        std::thread::sleep(Duration::from_millis(10));
    }
    // Others move now and then: those that did not, between two passes with /proc in between, must be told alike, and there are
    // always some that did not.
    let mut compared = 0;
    for _ in 0..5 {
        let before = all_by_kernel(&mut iterator);
        let by_proc: BTreeMap<i32, Option<Said>> =
            before.keys().map(|&pid| (pid, said_by_proc(pid))).collect();
        let after = all_by_kernel(&mut iterator);
        for (pid, said) in &before {
            let (Some(Some(by_proc)), Some(after)) = (by_proc.get(pid), after.get(pid)) else {
                continue;
            };
            if said != after {
                // It moved: what only rises lies between.
                let between = |of: fn(&Said) -> u64| of(said) <= of(by_proc) && of(by_proc) <= of(after);
                if said.stat.start_ticks == after.stat.start_ticks
                    && said.threads.keys().eq(after.threads.keys())
                {
                    assert!(between(|s| s.stat.minor_faults), "{said:?} {by_proc:?} {after:?}");
                    assert!(
                        between(|s| s.threads.values().map(|t| t.0).sum()),
                        "{said:?} {by_proc:?}"
                    );
                    assert!(between(|s| s.traffic.0), "{said:?} {by_proc:?}");
                }
                continue;
            }
            let mut by_proc = by_proc.clone();
            if said.stat.kernel_thread {
                // What a worker works for stands behind its name there, and its storage is on loan.
                assert!(by_proc.name.starts_with(&said.name), "{said:?} {by_proc:?}");
                by_proc.name.clone_from(&said.name);
            }
            assert_eq!(said, &by_proc);
            compared += 1;
        }
    }
    assert!(compared >= 5, "{compared}");
}

fn table(by_kernel: Option<TaskIterator>) -> ProcessTable {
    let scan = ScanOptions {
        exits: ExitMethod::WaitedChildren,
        delays: false,
        schedstat: true,
        ns_per_tick: NS_PER_TICK,
    };
    let mut table = ProcessTable::open(Path::new("/proc"), DescriptorBudget::of(64), scan).unwrap();
    if let Some(iterator) = by_kernel {
        table.use_iterator(iterator);
    }
    table
}

fn burn(time: Duration) {
    let start = Instant::now();
    let mut pages = Vec::new();
    while start.elapsed() < time {
        pages.push(vec![1u8; 1 << 16]);
        if pages.len() > 64 {
            pages.clear();
        }
    }
}

/// Three tables scan one after the other, that by the iterator in the middle: so its totals lie between those of the others,
/// whatever moves, and whatever threads begin and end.
#[test]
fn users_are_charged_alike_while_threads_come_and_go() {
    let Some(iterator) = iterator() else { return };
    let list = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(list.path(), format!("{}\tme\n", std::process::id())).unwrap();
    let definition = || UserDefinition::Emulated(list.path().to_owned());
    let roots = || Roots {
        proc: "/proc".into(),
        sys: "/sys".into(),
    };
    let mut tables = [None, Some(iterator), None].map(|iterator| {
        let users = Users::new(definition(), roots(), Path::new("/etc/passwd"), 0);
        (table(iterator), users)
    });
    let start = Instant::now();
    let now = || i64::try_from(start.elapsed().as_nanos()).unwrap();
    let mut before_ns = i64::MIN;
    let mut scan = || {
        let totals = tables.each_mut().map(|(table, users)| {
            let at_ns = now();
            let times = Times {
                before_ns,
                at_ns,
                boot_ahead_ns: 0,
                clock: &now,
            };
            table.scan(users, &mut None, &times).unwrap();
            assert_eq!(table.take_iterator_failure(), None);
            let me = users.names().iter().position(|name| name == "me").unwrap();
            table.totals(me)
        });
        before_ns = now();
        totals
    };
    // The second base is made while nothing but this runs.
    scan();
    scan();
    let base = scan();
    let (sender, receiver) = mpsc::channel::<()>();
    let stays = std::thread::spawn(move || {
        burn(Duration::from_millis(50));
        receiver.recv()
    });
    for _ in 0..3 {
        let ends: Vec<_> = (0..3)
            .map(|_| std::thread::spawn(|| burn(Duration::from_millis(40))))
            .collect();
        ends.into_iter().for_each(|thread| thread.join().unwrap());
        let child = Command::new("sh")
            .args(["-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"])
            .status();
        assert!(child.unwrap().success());
        let [first, by_kernel, last] = scan();
        let gains = |place: usize, totals: Totals| totals.since(base[place]);
        let (first, by_kernel, last) = (gains(0, first), gains(1, by_kernel), gains(2, last));
        // The bases were made one after the other too: by so much may a gain be less than that of a table scanned before.
        let apart = base[2].since(base[0]);
        for (name, of) in [
            ("cpu", (|t: &Totals| t.cpu_ns) as fn(&Totals) -> u64),
            ("system", |t| t.system_ns),
            ("minor faults", |t| t.minor_faults),
            ("exits", |t| t.exits),
        ] {
            let slack = of(&apart)
                + if name == "minor faults" || name == "exits" {
                    0
                } else {
                    2 * NS_PER_TICK
                };
            let (first, by_kernel, last) = (of(&first), of(&by_kernel), of(&last));
            assert!(
                by_kernel + slack >= first && by_kernel <= last + slack,
                "{name}: {first} {by_kernel} {last}, give or take {slack}"
            );
        }
        assert!(by_kernel.cpu_ns > 0 && by_kernel.minor_faults > 0);
    }
    drop(sender);
    let _ = stays.join().unwrap();
}
