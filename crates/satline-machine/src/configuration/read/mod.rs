//! Machine and workload files: TOML, checked to the last key, with what stands behind every figure.

mod devices;
mod distribution;
mod free_storage;
mod like;
mod locks;
mod machine;
mod multiprocessor;
mod near;
mod paths;
mod peers;
mod processors;
mod sets;
mod stated;
mod swapping;
mod table;
mod tree;
mod workload;

use std::path::{Path, PathBuf};

pub use stated::{Standing, Stated};

use super::{Machine, Role, Workload};
use satline_program::Error;
use table::{Notes, Table};

/// No file is longer.
const MAX_BYTES: u64 = 1 << 20;
/// Keys of a `--set` that begin so are the workload's.
const WORKLOAD: &str = "workload.";

/// A file's text, and where it is from.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    pub text: &'a str,
    /// Its name, in messages.
    pub file: &'a str,
    /// Where device files and processors.toml are looked for, the first found first; a workload needs none.
    pub folders: &'a [PathBuf],
}

/// A machine with the figures that made it, in the order in which they were read.
#[derive(Debug, Clone)]
pub struct MachineFile {
    pub machine: Machine,
    pub figures: Vec<Stated>,
}

/// A workload with the figures that made it.
#[derive(Debug, Clone)]
pub struct WorkloadFile {
    pub workload: Workload,
    pub figures: Vec<Stated>,
}

/// A text of at most 1 MiB.
///
/// # Errors
/// It is no such file.
pub fn text_of(path: &Path, hint: &str) -> Result<String, Error> {
    let failed = |why: String| Error::input(format!("{}: {why}", path.display()), hint);
    let meta = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    // A pipe or a disk would be read for ever.
    if !meta.is_file() || meta.len() > MAX_BYTES {
        return Err(failed("not a file of under 1 MiB".into()));
    }
    std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))
}

/// Where a machine file's devices are looked for: beside it.
pub fn folder_of(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_path_buf()
}

/// Reads a machine file; devices are looked for beside it.
///
/// # Errors
/// It cannot be read, or is wrong: the message names file, line and key.
pub fn machine_file(path: &Path, sets: &[(String, String)]) -> Result<MachineFile, Error> {
    let text = text_of(path, "give a machine file; machines/ has examples")?;
    let source = Source {
        text: &text,
        file: &path.display().to_string(),
        folders: &[folder_of(path)],
    };
    machine_with(&source, sets)
}

/// Reads a workload file.
///
/// # Errors
/// As [`machine_file`].
pub fn workload_file(path: &Path, sets: &[(String, String)]) -> Result<WorkloadFile, Error> {
    let text = text_of(path, "give a workload file; workloads/simulated/ has examples")?;
    let source = Source {
        text: &text,
        file: &path.display().to_string(),
        folders: &[],
    };
    workload_with(&source, sets)
}

/// Machine and workload from their texts, with values changed for this run: `("storage.pageable_frames", "200")`; a key
/// that begins with `workload.` is the workload's. A value is TOML, or else a text.
///
/// # Errors
/// One is wrong, or they do not fit together.
pub fn read_with(
    machine: &Source<'_>,
    workload: &Source<'_>,
    sets: &[(String, String)],
) -> Result<(MachineFile, WorkloadFile), Error> {
    let machine = machine_with(machine, sets)?;
    let workload = workload_with(workload, sets)?;
    together(&machine.machine, &workload.workload)?;
    Ok((machine, workload))
}

/// Machine and workload from their files; else as [`read_with`].
///
/// # Errors
/// One cannot be read or is wrong, or they do not fit together.
pub fn read_files(
    machine: &Path,
    workload: &Path,
    sets: &[(String, String)],
) -> Result<(MachineFile, WorkloadFile), Error> {
    let machine = machine_file(machine, sets)?;
    let workload = workload_file(workload, sets)?;
    together(&machine.machine, &workload.workload)?;
    Ok((machine, workload))
}

/// A machine from its text; sets of the workload are passed over.
///
/// # Errors
/// It is wrong: the message names file, line and key.
pub fn machine_with(source: &Source<'_>, sets: &[(String, String)]) -> Result<MachineFile, Error> {
    let mut root = like::parse(source)?;
    for (key, value) in sets.iter().filter(|(key, _)| !key.starts_with(WORKLOAD)) {
        sets::apply(&mut root, key, value)?;
    }
    let notes = notes(source);
    let mut machine = machine::read(&Table::root(&root, &notes), source.folders)?;
    let figures = notes.stated.into_inner();
    machine.unverified = unverified(&machine, &figures);
    Ok(MachineFile { machine, figures })
}

/// A workload from its text; of the sets, those that begin with `workload.`.
///
/// # Errors
/// It is wrong: the message names file, line and key.
pub fn workload_with(source: &Source<'_>, sets: &[(String, String)]) -> Result<WorkloadFile, Error> {
    let mut root = tree::parse(source.text, source.file)?;
    for (key, value) in sets {
        if let Some(key) = key.strip_prefix(WORKLOAD) {
            sets::apply(&mut root, key, value)?;
        }
    }
    let notes = notes(source);
    let workload = workload::read(&Table::root(&root, &notes))?;
    let figures = notes.stated.into_inner();
    Ok(WorkloadFile { workload, figures })
}

fn notes(source: &Source<'_>) -> Notes {
    Notes {
        file: source.file.into(),
        stated: Default::default(),
    }
}

/// Figures without a source, of the machine and of its types of devices.
fn unverified(machine: &Machine, figures: &[Stated]) -> Vec<String> {
    let own = figures
        .iter()
        .filter(|figure| matches!(figure.standing, Standing::Unverified(_)));
    let mut found: Vec<String> = own.map(|figure| figure.key.clone()).collect();
    for unit in &machine.devices {
        let figures = unit.model.figures();
        for key in figures.unverified() {
            let key = format!("device {}: {key}", figures.name);
            if !found.contains(&key) {
                found.push(key);
            }
        }
    }
    found
}

/// What neither file shows alone.
///
/// # Errors
/// The workload has I/O for which the machine has no place, or so many shared pages that their check takes the quantum.
pub fn together(machine: &Machine, workload: &Workload) -> Result<(), Error> {
    machine.covers(workload.shared_pages)?;
    let users = workload.classes.iter().flat_map(|class| {
        let kinds = class.transactions.iter();
        kinds.map(|kind| (&class.name, kind))
    });
    let background = workload.background.iter().map(|work| (&work.name, &work.kind));
    let files: Vec<_> = machine
        .devices
        .iter()
        .filter(|unit| unit.role != Role::Paging)
        .collect();
    for (owner, kind) in users.chain(background) {
        if kind.cpu_between_ios.is_none() {
            continue;
        }
        let who = format!("workload {}: {owner}, {}", workload.name, kind.name);
        if files.is_empty() {
            return Err(Error::input(
                format!(
                    "{who} does I/O, and machine {} has no device for files",
                    machine.name
                ),
                "give the machine a [[device]] with role = \"files\" or \"both\"",
            ));
        }
        for unit in &files {
            let (has, span) = (unit.model.cylinders(), kind.io.span_cylinders);
            if span > has {
                return Err(Error::input(
                    format!("{who}: io.span_cylinders is {span}, and {} has {has}", unit.name),
                    "give a span that every device for files has",
                ));
            }
        }
    }
    Ok(())
}

/// The first of these folders' files of this name; an absolute path is itself.
fn find(name: &Path, folders: &[PathBuf]) -> Option<PathBuf> {
    let paths = folders.iter().map(|folder| folder.join(name));
    paths.into_iter().find(|path| path.exists())
}
