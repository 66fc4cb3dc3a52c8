//! The objects that are committed are what their sources compile to.

use std::path::Path;
use std::process::Command;

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
