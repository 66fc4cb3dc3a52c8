//! Machine files that give only what differs from another.

use crate::support::files::{machine, machine_path, text};
use satline_machine::configuration::read::machine_file;

fn error(text: &str) -> String {
    let error = machine(text, &[]).err().unwrap();
    format!("{} ({})", error.message, error.hint)
}

#[test]
fn what_is_not_given_is_as_in_the_other_file() {
    let base = machine(&text(&machine_path("3081D")), &[]).unwrap();
    let given = "like = \"3081D\"\nname = \"mine\"\nnote = \"mine\"\n\
        [storage]\npageable_frames = { value = 900, source = \"[T87]\" }\n[policies]\nslot = \"moving-cursor\"\n";
    let made = machine(given, &[("scheduler.projection_factor", "1.5")]).unwrap();
    assert_eq!(
        (made.machine.name.as_str(), made.machine.storage.pageable_frames),
        ("mine", 900)
    );
    assert_eq!(made.machine.policies.slot, "moving-cursor");
    assert_eq!(made.machine.policies.dispatch, base.machine.policies.dispatch);
    assert_eq!(made.machine.devices.len(), base.machine.devices.len());
    assert_eq!(made.machine.scheduler.projection_factor, 1.5);
    // A figure goes with its own source, and no longer with the other's.
    let frames = |file: &satline_machine::configuration::read::MachineFile| {
        file.machine
            .unverified
            .contains(&"storage.pageable_frames".to_string())
    };
    assert!(frames(&base) && !frames(&made));
}

#[test]
fn a_list_takes_the_place_of_the_other_one() {
    let given = "like = \"3081D\"\nname = \"mine\"\nnote = \"mine\"\n\
        [[device]]\nname = \"a\"\ntype = \"3380\"\nrole = \"both\"\npaths = [[0, 0]]\n\
        [[paging_area]]\ndevice = \"a\"\ncylinders = 100\n";
    assert_eq!(machine(given, &[]).unwrap().machine.devices.len(), 1);
}

#[test]
fn wrong_bases_and_wrong_keys_are_told_with_their_place() {
    let head = |like: &str| format!("name = \"mine\"\nnote = \"mine\"\nlike = {like}\n");
    for (given, message) in [
        (
            head("\"3082D\""),
            "bad.toml, line 3: like is \"3082D\", and there is no 3082D.toml",
        ),
        (head("7"), "bad.toml, line 3: like is a number"),
        (
            head("\"3081D-swapping\""),
            "line 3: like is \"3081D-swapping\", which is itself like another",
        ),
        (
            head("\"3081D\"") + "[storage]\nfrims = 3\n",
            "bad.toml, line 5: storage.frims is not known",
        ),
        (
            head("\"3081D\"") + "[scheduler]\nq1_slice_us = 78000\n",
            "q1_slice",
        ),
    ] {
        let told = error(&given);
        assert!(told.contains(message), "{told}");
    }
}

#[test]
fn what_is_wrong_in_the_other_file_is_said_to_be_there() {
    let folder = tempfile::tempdir().unwrap();
    let base =
        text(&machine_path("3081D")).replace("dispatch = \"priority\"", "dispatch = \"priority\"\nodd = 1");
    std::fs::write(folder.path().join("base.toml"), base).unwrap();
    std::os::unix::fs::symlink(
        machine_path("3081D").with_file_name("devices"),
        folder.path().join("devices"),
    )
    .unwrap();
    std::fs::copy(machine_path("processors"), folder.path().join("processors.toml")).unwrap();
    let path = folder.path().join("mine.toml");
    std::fs::write(&path, "like = \"base\"\nname = \"mine\"\nnote = \"mine\"\n").unwrap();
    let error = machine_file(&path, &[]).err().unwrap();
    assert!(
        error.message.contains("policies.odd is not known"),
        "{}",
        error.message
    );
    assert!(
        error.message.contains("of the file that it is like"),
        "{}",
        error.message
    );
}
