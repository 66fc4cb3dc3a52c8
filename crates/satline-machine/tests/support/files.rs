//! The shipped machine and workload files, and ways to spoil them.
#![allow(dead_code)] // Each test uses its part.

use std::path::{Path, PathBuf};

use satline_machine::configuration::read::{
    MachineFile, Source, WorkloadFile, folder_of, machine_with, text_of, workload_with,
};
use satline_program::Error;

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn machine_path(name: &str) -> PathBuf {
    root().join("machines").join(format!("{name}.toml"))
}

pub fn workload_path(name: &str) -> PathBuf {
    root().join("workloads/simulated").join(format!("{name}.toml"))
}

/// The TOML files of a folder.
pub fn shipped(folder: &str) -> Vec<PathBuf> {
    let entries = root().join(folder).read_dir().unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    paths.sort();
    paths
}

/// Machines: all files but the table of processors.
pub fn machines() -> Vec<PathBuf> {
    let mut paths = shipped("machines");
    paths.retain(|path| !path.ends_with("processors.toml"));
    paths
}

pub fn text(path: &Path) -> String {
    text_of(path, "").unwrap()
}

/// A machine from a text, as if it lay among the shipped ones.
pub fn machine(text: &str, sets: &[(&str, &str)]) -> Result<MachineFile, Error> {
    let folders = [folder_of(&machine_path("3081D"))];
    let source = Source {
        text,
        file: "bad.toml",
        folders: &folders,
    };
    machine_with(&source, &owned(sets))
}

pub fn workload(text: &str, sets: &[(&str, &str)]) -> Result<WorkloadFile, Error> {
    let source = Source {
        text,
        file: "bad.toml",
        folders: &[],
    };
    workload_with(&source, &owned(sets))
}

fn owned(sets: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = sets.iter();
    pairs
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect()
}

/// A text with one thing in it changed.
pub fn spoilt(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}
