//! The shipped machine files, and wrong ones.

use std::collections::BTreeSet;

use crate::support::files::{machine, machine_path, machines, shipped, spoilt, text, workload_path};
use proptest::prelude::*;
use satline_machine::configuration::read::{Standing, machine_file, read_files};
use satline_machine::configuration::{DeviceUnit, Role};

#[test]
fn every_shipped_machine_is_read_and_says_what_stands_behind_its_figures() {
    let machines = machines();
    assert!(machines.len() >= 6);
    for path in machines {
        let file = machine_file(&path, &[]).unwrap();
        let machine = &file.machine;
        assert_eq!(path.file_stem().unwrap().to_str(), Some(machine.name.as_str()));
        assert!(!machine.note.is_empty());
        for figure in &file.figures {
            let doubtful = matches!(figure.standing, Standing::Unverified(_));
            assert_eq!(
                machine.unverified.contains(&figure.key),
                doubtful,
                "{}",
                figure.key
            );
        }
        // What is a choice and no figure is one of few keys.
        let chosen = file
            .figures
            .iter()
            .filter(|figure| figure.standing == Standing::Chosen)
            .filter(|figure| {
                ![
                    "swapping.",
                    "paging.migration.",
                    "multiprocessor.",
                    "lock.",
                    "free_storage.",
                ]
                .iter()
                .any(|table| figure.key.starts_with(table))
            });
        for figure in chosen {
            let key = figure.key.rsplit('.').next().unwrap();
            let choices = "count processors projection_factor mpl_cap_users most_pages_per_sio first_cylinder cylinders tier exposures \
                write_unchanged interval_s part";
            assert!(choices.split(' ').any(|choice| choice == key), "{}", figure.key);
        }
        let areas: u32 = machine.paging.areas.iter().map(|area| area.cylinders).sum();
        assert!(areas > 0 && machine.devices.iter().any(|unit| unit.role != Role::Paging));
    }
}

#[test]
fn the_3081d_is_what_the_spec_says() {
    let machine = machine_file(&machine_path("3081D"), &[]).unwrap().machine;
    assert_eq!((machine.processors.count, machine.processors.speed), (2, 5.15));
    assert_eq!(machine.storage.bytes, 16 << 20);
    let drums: Vec<_> = machine
        .devices
        .iter()
        .filter(|unit| unit.role == Role::Paging)
        .collect();
    let channels: BTreeSet<u16> = drums.iter().map(|unit| unit.paths[0].1).collect();
    assert_eq!((drums.len(), channels.len()), (6, 3));
    assert!(drums.iter().all(|unit| unit.model.figures().name == "2305-2"));
    let driven = |unit: &&DeviceUnit| (unit.model.exposures(), unit.model.across_cylinders());
    assert!(drums.iter().all(|unit| driven(unit) == (1, true)));
    let others = machine.devices.iter().filter(|unit| unit.role == Role::Files);
    assert!(others.map(|unit| driven(&unit)).all(|one| one == (1, false)));
    assert_eq!(machine.paging.areas.len(), 6);
    let slots: u32 = machine.paging.areas.iter().map(|area| area.cylinders * 24).sum();
    assert_eq!(slots, 6 * 2304);
    // 350 instructions at 0.91 × 5.15 million per second: 74.6826 µs.
    assert_eq!(machine.costs.dispatch.ns(), 74_683);
    assert!(
        machine
            .unverified
            .contains(&"costs.dispatch_instructions".to_string())
    );
    assert!(
        machine
            .unverified
            .contains(&"device 2305-2: exposures".to_string())
    );
    assert!(!machine.unverified.contains(&"storage.bytes".to_string()));
}

#[test]
fn the_155_pages_to_its_drum_first() {
    let machine = machine_file(&machine_path("155-II-1mb"), &[]).unwrap().machine;
    let tier = |name: &str| {
        let number = machine.devices.iter().position(|unit| unit.name == name).unwrap();
        machine
            .paging
            .areas
            .iter()
            .find(|area| area.device == number)
            .map(|area| area.tier)
    };
    assert_eq!(tier("drum"), Some(0));
    assert_eq!((tier("page-pack-1"), tier("page-pack-2")), (Some(1), Some(1)));
    assert_eq!(tier("pack-4"), None);
}

#[test]
fn wrong_machines_are_refused_with_the_line_the_key_and_a_remedy() {
    let good = text(&machine_path("3081D"));
    #[rustfmt::skip]
    let cases = [
        ("pageable_frames =", "pagable_frames =", "storage.pageable_frames is missing", "there is \"pagable_frames\""),
        ("[paging]\n", "[paging]\ncolour = 1\n", "paging.colour is not known", "the keys here are compression, migration, most_pages_per_sio"),
        ("[paging]\n", "[paging]\nwrite_unchanged = 1\n", "paging.write_unchanged is a number", "true or false"),
        ("[paging]\n", "[paging]\nperiodic_scan = 4\n", "paging.periodic_scan is a number", "make it a table"),
        ("[paging]\n", "[paging]\nperiodic_scan = { interval_s = 4 }\n", "paging.periodic_scan.part is missing", "add part"),
        ("[paging]\n", "[paging]\nperiodic_scan = { interval_s = 0, part = 0.1 }\n", "interval_s is 0", "give a value from 0.001"),
        ("[paging]\n", "[paging]\nperiodic_scan = { interval_s = 4, part = 1.5 }\n", "part is 1.5", "give a value from"),
        ("[policies]\n", "[policies]\nqueue_drop = 3\n", "policies.queue_drop is a number", "quotes"),
        ("quantum_ms =", "quantum_ms = 3\nquantum_s =", "quantum_s is there, and quantum_ms too", "one of them"),
        ("{ value = 3500,", "{ value = 0,", "storage.pageable_frames is 0", "give a value from 8"),
        ("{ value = 3500,", "{ value = -5,", "storage.pageable_frames is -5", "give a value from 8"),
        ("{ value = 3500,", "{ value = nan,", "storage.pageable_frames is NaN", "give a value from 8"),
        ("{ value = 3500,", "{ value = 1e400,", "storage.pageable_frames is inf", "give a value from 8"),
        ("{ value = 3500,", "{ value = 35.5,", "storage.pageable_frames is 35.5", "whole number"),
        ("{ value = 3500,", "{ value = 5000,", "storage.pageable_frames is 5000: more than the 4096", "raise storage.bytes"),
        ("{ value = 3500,", "{ value = \"many\",", "value is not a number", "give a number"),
        ("{ value = 3500, source", "{ value = 3500, sauce", "pageable_frames.source is missing", "there is \"sauce\""),
        ("source = \"[T87]: 16 MB\"", "source = \" \"", "storage.bytes.source is empty", "unverified"),
        ("{ value = 78, source", "{ calibrated = \"x\", value = 78, source", "is there, and source too", "one of them"),
        ("compute_bound_factor = {", "compute_bound_factor = 4\nx = {", "compute_bound_factor has no source", "value = 4"),
        ("quantum_ms = { value = ", "quantum_us = { value = ", "the control program's paths alone take", "give more"),
        ("projection_factor = 1.0", "projection_factor = 0", "projection_factor is 0", "0.001"),
        ("projection_factor = 1.0", "mpl_cap_users = 0\nprojection_factor = 1.0", "mpl_cap_users is 0", "from 1"),
        ("value = 8, source = \"assumed: the base", "value = 3501, source = \"", "is more than the 3500", "give less"),
        ("model = \"3081D\"", "model = \"3081\"", "\"3081\" is not in processors.toml", "did you mean 3081"),
        ("model = \"3081D\"", "model = 3081", "processors.model is a number", "quotes"),
        ("model = \"3081D\"", "count = 2", "processors.model is missing, and speed too", "model = \"3081D\""),
        ("model = \"3081D\"", "model = \"3081D\"\ncount = 65", "processors.count is 65", "from 1 to 64"),
        ("dispatch_instructions", "dispach_instructions", "costs.dispatch_instructions is missing", "dispach"),
        ("{ value = 350,", "{ value = 1e9,", "costs.dispatch_instructions is 1000000000", "from 0 to"),
        ("replacement = \"core-table-scan\"", "", "policies.replacement is missing", "add replacement to policies"),
        ("replacement = \"core-table-scan\"", "replacement = \"\\u001b[2J\"", "is \"\\u{1b}[2J\"", "letters"),
        ("type = \"2305-2\"", "type = \"2305\"", "\"2305\", which has no file", "did you mean 2305-2?"),
        ("type = \"2305-2\"", "type = \"../devices/none.toml\"", "which has no file", "path"),
        ("type = \"2305-2\"", "type = \"../3081D.toml\"", "which has no file", "path"),
        ("type = \"2305-2\"", "type = \"../machines/3081D.toml\"", "3081D.toml, line", "a device file has"),
        ("role = \"paging\"", "role = \"swapping\"", "role is \"swapping\"", "paging, files or both"),
        ("role = \"paging\"", "role = \"files\"", "names drum-a-1, whose role is files", "both"),
        ("paths = [[0, 0]]", "paths = []", "paths has 0 paths", "CHANNEL"),
        ("paths = [[0, 0]]", "paths = [[0, 256]]", "no such number", "CHANNEL"),
        ("paths = [[0, 0]]", "paths = [[0]]", "no pair", "CHANNEL"),
        ("exposures = 1", "exposures = 9", "drum-a.exposures is more than the 8 of its type", "give fewer"),
        ("exposures = 1", "exposures = 0", "drum-a.exposures is 0", "from 1"),
        ("type = \"2305-2\"", "type = \"3380\"", "drum-a.chain_across_cylinders is true, but its type has an arm", "leave"),
        ("count = 2", "count = 1001", "device.drum-a.count is 1001", "from 1 to 1000"),
        ("count = 2", "count = 2\nown_paths = 1", "own_paths is a number", "true or false"),
        ("count = 2", "count = 300\nown_paths = true", "own_paths needs numbers beyond 255", "fewer"),
        ("name = \"drum-b\"", "name = \"drum-a\"", "device.drum-a.name makes a second \"drum-a-1\"", "different names"),
        ("name = \"drum-b\"", "name = \"drum.b\"", "has a dot", "leave it out"),
        ("\"drum-a\", \"drum-b\"", "\"drum-a\", \"drum-x\"", "names \"drum-x\", which is no device", "did you mean"),
        ("\"drum-a\", \"drum-b\"", "\"drum-a\", \"drum-a\"", "meets another paging area on drum-a-1", "beside"),
        ("\"drum-a\", \"drum-b\", \"drum-c\"", "\"drum-a\", \"drum-b\"", "leaves drum-c-1 out", "[[paging_area]]"),
        ("cylinders = 96", "cylinders = 97", "goes beyond drum-a-1, which has 96", "fewer"),
        ("cylinders = 96", "first_cylinder = 96", "goes beyond drum-a-1", "fewer"),
        ("[[paging_area]]", "[[paging_aera]]", "paging_area is missing", "there is \"paging_aera\""),
        ("[storage]", "[storage", "line ", "TOML"),
        ("[storage]", "[[storage]]", "storage is a list", "[storage]"),
        ("name = \"3081D\"\nnote", "name = 1979-05-27\nnote", "name is a date", "quotes"),
    ];
    for (from, to, place, hint) in cases {
        let error = machine(&spoilt(&good, from, to), &[]).map(|_| ()).expect_err(to);
        assert!(error.message.contains(".toml, line "), "{to}: {error}");
        assert!(error.message.contains(place), "{to}: {error}");
        assert!(error.hint.contains(hint), "{to}: {}", error.hint);
    }
}

#[test]
fn a_line_is_the_right_one() {
    let good = text(&machine_path("3081D"));
    let bad = spoilt(&good, "{ value = 3500,", "{ value = 3,");
    let line = bad
        .lines()
        .position(|line| line.starts_with("pageable_frames"))
        .unwrap()
        + 1;
    let error = machine(&bad, &[]).map(|_| ()).unwrap_err();
    let start = format!("bad.toml, line {line}: storage.pageable_frames is 3");
    assert!(error.message.starts_with(&start), "{error}");
}

#[test]
fn values_are_set_by_their_path() {
    let good = text(&machine_path("155-II-1mb"));
    let set = |key, value| machine(&good, &[(key, value)]).map(|file| file.machine);
    assert_eq!(
        set("storage.pageable_frames", "200")
            .unwrap()
            .storage
            .pageable_frames,
        200
    );
    assert_eq!(
        set("storage.pageable_frames.value", "200")
            .unwrap()
            .storage
            .pageable_frames,
        200
    );
    assert_eq!(
        set("policies.replacement", "random")
            .unwrap()
            .policies
            .replacement,
        "random"
    );
    assert_eq!(
        set("scheduler.q2_cap_users", "3").unwrap().scheduler.q2_cap,
        Some(3)
    );
    let of_paging = set("paging.write_unchanged", "true").unwrap().paging;
    assert!(of_paging.write_unchanged && of_paging.periodic_scan.is_none());
    let scan = set("paging.periodic_scan", "{ interval_ms = 500, part = 0.125 }")
        .unwrap()
        .paging
        .periodic_scan
        .unwrap();
    assert_eq!((scan.interval.ns(), scan.part), (500_000_000, 0.125));
    assert_eq!(
        set("policies.slot", "one-edge").unwrap().policies.queue_drop,
        "reset-bits"
    );
    assert_eq!(
        set("policies.queue_drop", "keep-bits")
            .unwrap()
            .policies
            .queue_drop,
        "keep-bits"
    );
    assert_eq!(set("paging_area.1.tier", "2").unwrap().paging.areas[1].tier, 2);
    assert_eq!(set("device.pack.count", "9").unwrap().devices.len(), 12);
    assert_eq!(
        set("device.drum.type", "3350").map(|m| m.devices[0].model.cylinders()),
        Ok(555)
    );
    assert_eq!(
        set("device.drum.paths", "[[7, 6]]").unwrap().devices[0].paths,
        [(7, 6)]
    );
    // A second drum with a path of its own does not take that of the packs.
    let two = machine(
        &good,
        &[("device.drum.count", "2"), ("device.drum.own_paths", "true")],
    )
    .unwrap();
    let paths: Vec<_> = two
        .machine
        .devices
        .iter()
        .take(3)
        .map(|unit| unit.paths[0])
        .collect();
    assert_eq!(paths, [(0, 0), (3, 3), (1, 1)]);
    assert_eq!(two.machine.paging.areas.len(), 4);
    // A time in another unit goes before the file's, a speed before the model's; paths in instructions go with it.
    assert_eq!(
        set("scheduler.q1_slice_s", "0.4")
            .unwrap()
            .scheduler
            .q1_slice
            .ns(),
        400_000_000
    );
    let base = set("storage.pageable_frames", "180").unwrap();
    let fast = set("processors.speed", "1.6").unwrap();
    assert_eq!(fast.processors.speed, 1.6);
    assert!(
        fast.costs
            .page_fault
            .ns()
            .abs_diff(base.costs.page_fault.ns() / 2)
            <= 1
    );
    assert_eq!(
        set("costs.page_fault_us", "5").unwrap().costs.page_fault.ns(),
        5_000
    );
    let file = machine(&good, &[("storage.pageable_frames", "200"), ("workload.x", "1")]).unwrap();
    let figure = file
        .figures
        .iter()
        .find(|figure| figure.key == "storage.pageable_frames")
        .unwrap();
    assert_eq!((figure.value.as_str(), &figure.standing), ("200", &Standing::Set));
    assert!(!file.machine.unverified.contains(&figure.key));
}

#[test]
fn wrong_sets_are_refused_with_a_remedy() {
    let good = text(&machine_path("155-II-1mb"));
    #[rustfmt::skip]
    let cases = [
        ("storage.pagable_frames", "200", "with --set: storage.pagable_frames is not known", "did you mean pageable_frames?"),
        ("storge.pageable_frames", "200", "storge is not known", "did you mean storage?"),
        ("storage.pageable_frames", "many", "storage.pageable_frames is a text", "value = "),
        ("storage.pageable_frames", "", "storage.pageable_frames is a text", "value = "),
        ("storage.pageable_frames", "1", "storage.pageable_frames is 1", "give a value from 8"),
        ("device.dram.type", "x", "no entry \"dram\"", "drum, page-pack, pack"),
        ("device.9.type", "x", "no entry \"9\"", "0 to 2"),
        ("paging_area.x.tier", "1", "no entry \"x\"", "0 to 1"),
        ("name.x", "1", "leads into name, which is a text", "set name itself"),
        ("", "1", "is not a path", "KEY.KEY=VALUE"),
        ("a..b", "1", "is not a path", "KEY.KEY=VALUE"),
        ("population.users", "4", "population is not known", "the keys here are"),
    ];
    for (key, value, place, hint) in cases {
        let error = machine(&good, &[(key, value)]).map(|_| ()).expect_err(key);
        assert!(error.message.contains(place), "{key}: {error}");
        assert!(error.hint.contains(hint), "{key}: {}", error.hint);
    }
}

#[test]
fn what_is_not_a_file_of_under_a_mebibyte_is_refused() {
    let folder = std::env::temp_dir().join(format!("satline-machine-files-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let long = folder.join("long.toml");
    std::fs::write(&long, vec![b'#'; (1 << 20) + 1]).unwrap();
    for path in ["/dev/zero", "/", "no/such/machine.toml", long.to_str().unwrap()] {
        let error = machine_file(path.as_ref(), &[]).map(|_| ()).expect_err(path);
        assert!(
            error.message.starts_with(path) && !error.hint.is_empty(),
            "{error}"
        );
    }
    // A machine alone, without the folders that it needs beside it.
    let alone = folder.join("alone.toml");
    std::fs::copy(machine_path("3081D"), &alone).unwrap();
    let error = machine_file(&alone, &[]).map(|_| ()).unwrap_err();
    assert!(error.message.contains("needs processors.toml beside"), "{error}");
    std::fs::copy(machine_path("processors"), folder.join("processors.toml")).unwrap();
    let error = machine_file(&alone, &[]).map(|_| ()).unwrap_err();
    assert!(error.message.contains("\"2305-2\", which has no file"), "{error}");
    assert!(error.hint.contains("copy the folder devices"), "{}", error.hint);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_slice_that_the_control_program_uses_up_is_refused() {
    let good = text(&machine_path("3081D"));
    for (key, ms) in [
        ("q1_slice_ms", "0.5"),
        ("q2_slice_ms", "0.1"),
        ("quantum_ms", "0.01"),
    ] {
        let key = format!("scheduler.{key}");
        let error = machine(&good, &[(&key, ms)]).map(|_| ()).expect_err(&key);
        assert!(error.message.contains(&format!("{key} is {ms} ms")), "{error}");
    }
    // With many shared pages their check alone takes a quantum.
    let sets = [
        ("workload.shared_pages", "3000"),
        ("costs.shared_page_check_us", "20"),
    ];
    let sets = sets.map(|(key, value)| (key.to_string(), value.to_string()));
    let error = read_files(&machine_path("3081D"), &workload_path("tso310"), &sets)
        .map(|_| ())
        .unwrap_err();
    assert!(error.message.contains("shared pages in storage"), "{error}");
}

#[test]
fn every_pair_of_shipped_files_fits_together() {
    for machine in machines() {
        for workload in shipped("workloads/simulated") {
            // Bard's tasks go all over a 3330.
            read_files(&machine, &workload, &[]).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever is cut out of a good file or put into it: an error with a remedy or a machine, never a panic.
    #[test]
    fn a_damaged_file_is_refused_or_read(from in 0usize..6000, length in 0usize..400, put in "\\PC{0,12}") {
        let good = text(&machine_path("3081D"));
        let from = good.floor_char_boundary_of(from);
        let to = good.floor_char_boundary_of(from + length);
        let bad = format!("{}{put}{}", &good[..from], &good[to..]);
        match machine(&bad, &[]) {
            Ok(file) => prop_assert!(file.machine.storage.pageable_frames >= 8),
            Err(error) => prop_assert!(!error.hint.is_empty() && error.message.len() < 2000),
        }
    }

    #[test]
    fn any_set_is_refused_or_read(key in "[a-z_.0-9-]{0,40}", value in "\\PC{0,20}") {
        let good = text(&machine_path("155-II-1mb"));
        if let Err(error) = machine(&good, &[(&key, &value)]) {
            prop_assert!(!error.hint.is_empty());
        }
    }
}

trait Boundary {
    fn floor_char_boundary_of(&self, at: usize) -> usize;
}

impl Boundary for String {
    fn floor_char_boundary_of(&self, at: usize) -> usize {
        (0..=at.min(self.len()))
            .rev()
            .find(|&at| self.is_char_boundary(at))
            .unwrap()
    }
}
