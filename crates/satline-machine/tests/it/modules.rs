//! The arrows between the crate's modules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn sources(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => sources(&path, into),
            false => into.push(path),
        }
    }
}

/// By module of the first level: those that its `crate::` paths name.
fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        // Tests of a module may look at what stands above it.
        let program = text.split("#[cfg(test)]").next().unwrap();
        let first = file.strip_prefix(&root).unwrap().iter().next().unwrap();
        let from = first.to_str().unwrap().trim_end_matches(".rs");
        for path in program.split("crate::").skip(1) {
            let to: String = path
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            if to != from {
                arrows.entry(from.into()).or_default().insert(to);
            }
        }
    }
    arrows
}

#[test]
fn no_module_comes_back_to_itself() {
    let arrows = arrows();
    assert!(arrows["model"].contains("storage"), "{arrows:?}");
    for start in arrows.keys() {
        let (mut reached, mut to_go) = (BTreeSet::new(), vec![start]);
        while let Some(next) = to_go.pop().and_then(|module| arrows.get(module)) {
            to_go.extend(next.iter().filter(|module| reached.insert(*module)));
        }
        assert!(
            !reached.contains(start),
            "{start} needs itself, by way of {reached:?}"
        );
    }
}
