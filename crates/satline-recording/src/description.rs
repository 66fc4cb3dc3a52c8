//! `recording.toml` and `sources/*.toml`: who, what, how.

use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use satline_program::Error;
use serde::{Deserialize, Serialize};
use toml::value::Datetime;

use crate::durable::{make_directory, sync_directory};
use crate::host::HostFacts;
use crate::names::is_writer_name;
use crate::{CHECKSUMS, FORMAT_VERSION, reserve};

/// The whole of recording.toml. TOML has no null: what is `None` is not written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordingDescription {
    /// Files carry checksums; absent in recordings of before. First: what is cut off behind it is missed.
    pub checksums: Option<i64>,
    pub format_version: i64,
    pub recording: RecordingHead,
    pub host: HostFacts,
    pub system_under_test: Option<SystemUnderTest>,
    pub study: Option<StudyText>,
    pub simulation: Option<SimulationText>,
    pub pseudonyms: Option<Pseudonyms>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub annotation: Vec<Annotation>,
}

/// `[recording]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordingHead {
    /// Random, 128 bits in hexadecimal.
    pub id: String,
    pub created: Datetime,
    /// Absent while it is written or after a kill.
    pub ended: Option<Datetime>,
    /// complete, interrupted, disk-full or failed.
    pub end_reason: Option<String>,
    pub creator: String,
    /// Those that describe themselves in `sources/`; absent while it is written or after a kill.
    pub writers: Option<Vec<String>>,
}

/// `[system_under_test]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SystemUnderTest {
    pub kind: String,
    /// Whose words its variables are shown in; absent: those of Linux.
    pub vocabulary: Option<String>,
    /// Processors that the load may use; absent: all.
    pub processors: Option<Vec<i64>>,
    /// The cgroup row that is the whole load; absent: none.
    pub cgroup: Option<String>,
    /// Limits stated and in force.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    pub limits: toml::Table,
    /// Limits stated that could not be set, and why.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    pub not_set: toml::Table,
}

/// `[study]`: the study as it was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudyText {
    pub name: String,
    pub title: String,
    pub source: String,
    pub workload: String,
}

/// `[simulation]`: all that makes the run again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimulationText {
    /// With its version.
    pub program: String,
    pub workload_name: String,
    pub seed: i64,
    pub replication: i64,
    /// What was changed in the files for this run: key=value.
    pub sets: Vec<String>,
    /// Figures of the machine that have no source.
    pub unverified: Vec<String>,
    /// The files as they were read.
    pub machine: String,
    pub workload: String,
}

/// `[pseudonyms]`: names are pseudonyms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pseudonyms {
    /// Which key they were made with.
    pub key: String,
}

/// `[[annotation]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Annotation {
    pub time: Datetime,
    pub text: String,
}

impl RecordingDescription {
    /// The description of a plain recording of this host that begins at `created_ns` (real time).
    ///
    /// # Errors
    /// The system gives no random id.
    pub fn plain(creator: &str, created_ns: i64, host: HostFacts) -> Result<Self, Error> {
        Ok(Self::of("this-host", random_id()?, creator, created_ns, host))
    }

    /// The description of a recording of this kind of system.
    pub fn of(kind: &str, id: String, creator: &str, created_ns: i64, host: HostFacts) -> Self {
        RecordingDescription {
            checksums: Some(CHECKSUMS),
            format_version: FORMAT_VERSION,
            recording: RecordingHead {
                id,
                created: utc_datetime(created_ns),
                ended: None,
                end_reason: None,
                creator: creator.to_owned(),
                writers: None,
            },
            host,
            system_under_test: Some(SystemUnderTest {
                kind: kind.into(),
                vocabulary: None,
                processors: None,
                cgroup: None,
                limits: toml::Table::new(),
                not_set: toml::Table::new(),
            }),
            study: None,
            simulation: None,
            pseudonyms: None,
            annotation: Vec::new(),
        }
    }
}

/// 128 random bits in hexadecimal.
///
/// # Errors
/// The system gives none.
pub fn random_id() -> Result<String, Error> {
    let path = Path::new("/dev/urandom");
    let mut bytes = [0; 16];
    let read = File::open(path).and_then(|mut f| f.read_exact(&mut bytes));
    read.map_err(|e| Error::file(path, "read it", &e))?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

/// Real time in nanoseconds as a TOML time in UTC, to the second.
pub fn utc_datetime(time_ns: i64) -> Datetime {
    let time = chrono::DateTime::from_timestamp_nanos(time_ns).format("%Y-%m-%dT%H:%M:%SZ");
    time.to_string().parse().expect("TOML has times of this form")
}

/// Replaces a file with `value` as TOML so that a reader sees either the old file or the new one, whole.
///
/// # Errors
/// An error of the disk, or the value cannot be written as TOML.
pub fn write_toml_atomically<T: Serialize + ?Sized>(path: &Path, value: &T) -> Result<(), Error> {
    replace_atomically(path, &toml_text(path, value)?)
}

/// As [`write_toml_atomically`], for what a recording says of its end: on a full disk it spends the file's reserve.
///
/// # Errors
/// As [`write_toml_atomically`].
pub fn write_toml_at_end<T: Serialize + ?Sized>(path: &Path, value: &T) -> Result<(), Error> {
    let text = toml_text(path, value)?;
    match replace_atomically(path, &text) {
        Err(error) if error.is_disk_full() => {
            let replaced = reserve::become_file(path, &text).map_err(|_| error);
            settle(path, replaced)
        }
        result => result,
    }
}

/// A text that is not what it should be, to be written or read.
pub(crate) fn no_toml(path: &Path, reason: &dyn Display) -> Error {
    Error::failure(
        format!("{}: {reason}", path.display()),
        "`satline recording check` says what is damaged",
    )
}

/// The TOML text of what `path` is to hold; its last line is a checksum if it is a description.
pub(crate) fn toml_text<T: Serialize + ?Sized>(path: &Path, value: &T) -> Result<String, Error> {
    let text = toml::to_string(value).map_err(|e| no_toml(path, &e))?;
    Ok(sealed(path, text))
}

/// Ends a description with the line that says which recording it belongs to and the checksum of what stands before.
///
/// recording.toml of a recording from before checksums, and files that are no description, stay as they are.
fn sealed(path: &Path, mut text: String) -> String {
    let parent = path.parent().unwrap_or(Path::new(""));
    let id = if path.file_name().is_some_and(|name| name == "recording.toml") {
        match text.parse::<toml::Table>() {
            Ok(own) if own.contains_key("checksums") => id_of(&own),
            _ => return text,
        }
    } else if parent.file_name().is_some_and(|name| name == "sources") {
        recording_id(parent.parent().unwrap_or(Path::new("")))
    } else {
        return text;
    };
    text.push_str(&format!("# recording={id} "));
    let checksum = crc32fast::hash(text.as_bytes());
    text.push_str(&format!("crc32={checksum:08x}\n"));
    text
}

/// The id of the recording in `dir`; `-` where it has none.
pub(crate) fn recording_id(dir: &Path) -> String {
    let text = fs::read_to_string(dir.join("recording.toml")).unwrap_or_default();
    id_of(&text.parse().unwrap_or_default())
}

/// The id of a recording; `-` where it has none.
fn id_of(description: &toml::Table) -> String {
    let id = description
        .get("recording")
        .and_then(|head| head.get("id")?.as_str());
    id.filter(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric()))
        .unwrap_or("-")
        .to_owned()
}

/// Replaces a file with `text`; see [`write_toml_atomically`].
pub(crate) fn replace_atomically(path: &Path, text: &str) -> Result<(), Error> {
    let temporary = write_beside(path, text)?;
    rename(&temporary, path, "replace it")
}

/// Writes recording.toml unless the recording has one already; returns whether it wrote.
///
/// # Errors
/// As [`write_toml_atomically`].
pub fn create_if_absent(dir: &Path, description: &RecordingDescription) -> Result<bool, Error> {
    make_directory(dir).map_err(|e| Error::file(dir, "create it", &e))?;
    let path = dir.join("recording.toml");
    if path.exists() {
        return Ok(false);
    }
    let temporary = write_beside(&path, &toml_text(&path, description)?)?;
    // A link, unlike a rename, does not replace what another creator put there meanwhile.
    match fs::hard_link(&temporary, &path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            let _ = fs::remove_file(&temporary);
            Ok(false)
        }
        Ok(()) => {
            let _ = fs::remove_file(&temporary);
            settle(&path, Ok(())).map(|()| true)
        }
        // Some file systems have no hard links.
        Err(_) => rename(&temporary, &path, "create it").map(|()| true),
    }
}

/// Sets `ended`, `end_reason` and `writers` in recording.toml and keeps everything else.
///
/// # Errors
/// As [`write_toml_atomically`], or the file is not as the format says.
pub fn end_recording(dir: &Path, ended_ns: i64, reason: &str) -> Result<(), Error> {
    let writers = writers_of(dir).into_iter().map(toml::Value::String).collect();
    change_head(dir, write_toml_at_end, |head| {
        head.insert("writers".into(), toml::Value::Array(writers));
        head.insert("ended".into(), toml::Value::Datetime(utc_datetime(ended_ns)));
        head.insert("end_reason".into(), toml::Value::String(reason.to_owned()));
    })
}

/// Writers that describe themselves in `sources/`, in order of their names.
fn writers_of(dir: &Path) -> Vec<String> {
    let files = fs::read_dir(dir.join("sources")).into_iter().flatten().flatten();
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    let mut writers: Vec<_> = names
        .filter_map(|name| name.strip_suffix(".toml").map(str::to_owned))
        .filter(|name| is_writer_name(name))
        .collect();
    writers.sort();
    writers
}

/// Takes `ended` and `end_reason` away again: a further run writes the recording.
///
/// # Errors
/// As [`end_recording`].
pub fn reopen_recording(dir: &Path) -> Result<(), Error> {
    change_head(dir, write_toml_atomically, |head| {
        head.remove("ended");
        head.remove("end_reason");
    })
}

fn change_head(
    dir: &Path,
    write: impl FnOnce(&Path, &toml::Table) -> Result<(), Error>,
    change: impl FnOnce(&mut toml::Table),
) -> Result<(), Error> {
    let path = dir.join("recording.toml");
    let _lock = lock_directory(dir)?;
    let wrong = |reason: &dyn Display| no_toml(&path, reason);
    let text = fs::read_to_string(&path).map_err(|e| Error::file(&path, "read it", &e))?;
    let mut document: toml::Table = text.parse().map_err(|e: toml::de::Error| wrong(&e))?;
    let head = document.get_mut("recording").and_then(toml::Value::as_table_mut);
    change(head.ok_or_else(|| wrong(&"it has no [recording]"))?);
    write(&path, &document)
}

/// Holds the exclusive lock of a directory while it lives: one changer of recording.toml at a time.
fn lock_directory(dir: &Path) -> Result<File, Error> {
    let file = File::open(dir).map_err(|e| Error::file(dir, "open it", &e))?;
    // Where the file system has no locks this fails, and two changers at one instant may undo each other's change.
    // SAFETY: flock takes a descriptor that `file` keeps open and touches no memory.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) };
    Ok(file)
}

/// Writes `text` to a hidden file beside `path`, durable.
fn write_beside(path: &Path, text: &str) -> Result<PathBuf, Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&temporary)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
    written.map_err(|e| {
        let _ = fs::remove_file(&temporary);
        Error::file(path, "write it", &e)
    })?;
    Ok(temporary)
}

/// Gives `temporary` the name `path`, durable; on failure nothing is left of it.
fn rename(temporary: &Path, path: &Path, action: &'static str) -> Result<(), Error> {
    let renamed = fs::rename(temporary, path).map_err(|e| {
        let _ = fs::remove_file(temporary);
        Error::file(path, action, &e)
    });
    settle(path, renamed)
}

/// Makes a new name durable.
fn settle(path: &Path, result: Result<(), Error>) -> Result<(), Error> {
    result?;
    sync_directory(path.parent().unwrap_or(Path::new("")))
        .map_err(|e| Error::file(path, "make it durable", &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_795_251_600, "2026-11-21T09:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc_datetime(seconds * 1_000_000_000 + 7).to_string(), text);
        }
    }

    #[test]
    fn a_description_comes_back_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let mut description =
            RecordingDescription::plain("satline-monitor", 0, HostFacts::default()).unwrap();
        description.host.name = Some("<script>\u{1b}[31m\"drum\"\n".into());
        description.annotation.push(Annotation {
            time: utc_datetime(1),
            text: "second drum".into(),
        });
        assert!(create_if_absent(dir.path(), &description).unwrap());
        let path = dir.path().join("recording.toml");
        let back: RecordingDescription = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(back, description);
        assert_eq!(back.recording.id.len(), 32);
        let files: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(files, ["recording.toml"], "no temporary file is left");
    }

    /// The checksum that the last line states, and that of what stands before.
    fn seals(path: &Path) -> (String, String) {
        let text = fs::read_to_string(path).unwrap();
        let at = text.rfind("crc32=").unwrap();
        let (words, stated) = text.split_at(at);
        (
            stated.trim_end()["crc32=".len()..].to_owned(),
            format!("{:08x}", crc32fast::hash(words.as_bytes())),
        )
    }

    #[test]
    fn descriptions_end_with_their_recording_and_a_checksum() {
        let dir = tempfile::tempdir().unwrap();
        let description = RecordingDescription::plain("satline-monitor", 0, HostFacts::default()).unwrap();
        create_if_absent(dir.path(), &description).unwrap();
        end_recording(dir.path(), 0, "complete").unwrap();
        let path = dir.path().join("recording.toml");
        let (stated, right) = seals(&path);
        assert_eq!(stated, right);
        assert!(fs::read_to_string(&path).unwrap().starts_with("checksums = 1\n"));
        let source = dir.path().join("sources/monitor.toml");
        fs::create_dir(dir.path().join("sources")).unwrap();
        write_toml_atomically(&source, &toml::Table::new()).unwrap();
        let (stated, right) = seals(&source);
        assert_eq!(stated, right);
        let text = fs::read_to_string(&source).unwrap();
        assert!(
            text.contains(&format!("# recording={} crc32=", description.recording.id)),
            "{text}"
        );
    }

    #[test]
    fn a_second_creator_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let first = RecordingDescription::plain("satline study", 0, HostFacts::default()).unwrap();
        let second = RecordingDescription::plain("satline-monitor", 0, HostFacts::default()).unwrap();
        assert!(create_if_absent(dir.path(), &first).unwrap());
        assert!(!create_if_absent(dir.path(), &second).unwrap());
        let text = fs::read_to_string(dir.path().join("recording.toml")).unwrap();
        assert!(text.contains(&first.recording.id) && !text.contains(&second.recording.id));
    }

    #[test]
    fn ending_keeps_what_it_does_not_know() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("recording.toml");
        fs::write(
            &path,
            "format_version = 1\nlater = 2\n[recording]\nid = \"x\"\nmore = \"y\"\n",
        )
        .unwrap();
        end_recording(dir.path(), 0, "interrupted").unwrap();
        let table: toml::Table = fs::read_to_string(&path).unwrap().parse().unwrap();
        assert_eq!(table["later"].as_integer(), Some(2));
        assert_eq!(table["recording"]["more"].as_str(), Some("y"));
        assert_eq!(table["recording"]["end_reason"].as_str(), Some("interrupted"));
        assert_eq!(table["recording"]["ended"].to_string(), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn a_broken_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("recording.toml"), "format_version = \n").unwrap();
        let error = end_recording(dir.path(), 0, "complete").unwrap_err();
        assert!(error.to_string().contains("recording.toml"), "{error}");
    }
}
