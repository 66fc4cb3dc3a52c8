//! The recorder: made readings go in, and are found again in the recording.

mod made;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use made::{START_NS, machine, reading, s, transaction, transition, workload};
use satline_machine::readings::{Observer, Status};
use satline_machine::recorder::{Recorder, Setting};
use satline_machine::summary::Steps;
use satline_recording::read_segment;

/// A short run: user 1's transaction ends in the window, user 2's and the background program's do not end.
fn record(directory: &Path, transactions: bool) {
    let (machine, workload) = (machine(), workload());
    let steps = Steps::of_loads(&[1, 2], s(20.0), s(10.0), s(10.0)).unwrap();
    let sets = [("storage.pageable_frames".into(), "200".into())];
    let mut recorder = Recorder::create(Setting {
        directory,
        machine: &machine,
        workload: &workload,
        machine_text: "name = \"made\"\n",
        workload_text: "# \u{1b}[31m\n",
        sets: &sets,
        seed: 3,
        replication: 4,
        start_ns: START_NS,
        sample_every: s(10.0),
        steps: &steps,
        transactions,
    })
    .unwrap();
    recorder.sample(&reading(0.0, 0));
    recorder.transition(&transition(2, 0.0, Status::LoggedOff, Status::Q1Candidate));
    recorder.sample(&reading(10.0, 1));
    recorder.transition(&transition(0, 12.0, Status::Dormant, Status::Q1));
    recorder.transition(&transition(0, 13.000_000_5, Status::Q1, Status::Dormant));
    recorder.transaction(&transaction(0, 12.000_000_1, 13.000_000_5));
    recorder.sample(&reading(20.0, 2));
    recorder.transition(&transition(1, 25.0, Status::Dormant, Status::Q1Candidate));
    recorder.sample(&reading(30.0, 3));
    recorder.sample(&reading(30.0, 3));
    recorder.sample(&reading(40.0, 4));
    assert!(recorder.failure().is_none());
    recorder.end("complete").unwrap();
}

/// Rows of a table: by column, values as text; null is "-".
fn rows(directory: &Path, table: &str) -> Vec<BTreeMap<String, String>> {
    let mut found = Vec::new();
    for batch in batches(&directory.join("segments").join(table)) {
        for row in 0..batch.num_rows() {
            let value = |column: &dyn Array| match column.is_null(row) {
                true => "-".to_owned(),
                false => match column.as_primitive_opt::<Int64Type>() {
                    Some(ints) => ints.value(row).to_string(),
                    None => match column.as_string_opt::<i32>() {
                        Some(texts) => texts.value(row).to_owned(),
                        None => "float".to_owned(),
                    },
                },
            };
            let names = batch.schema();
            let fields = names.fields().iter().zip(batch.columns());
            found.push(
                fields
                    .map(|(field, column)| (field.name().clone(), value(column)))
                    .collect(),
            );
        }
    }
    found
}

fn batches(directory: &Path) -> Vec<RecordBatch> {
    let mut files: Vec<PathBuf> = fs::read_dir(directory)
        .map(|list| list.map(|entry| entry.unwrap().path()).collect())
        .unwrap_or_default();
    files.sort();
    files
        .iter()
        .flat_map(|file| read_segment(file).unwrap().batches)
        .collect()
}

fn is(row: &BTreeMap<String, String>, wanted: &[(&str, &str)]) {
    for (column, value) in wanted {
        assert_eq!(&row[*column], value, "{column}");
    }
}

#[test]
fn every_figure_is_in_its_column() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), true);
    let system = rows(dir.path(), "system");
    assert_eq!(system.len(), 5, "the second sample of an instant is none");
    #[rustfmt::skip]
    is(&system[2], &[
        ("time_ns", "158198420000000000"), ("monotonic_ns", "20000000000"), ("run", "1"), ("sample", "2"),
        ("users_in_queue", "2"), ("in_queue_us", "6"), ("q1_us", "2"), ("q2_us", "4"), ("in_transaction_us", "6"),
        ("swap_in_pages", "8000"), ("major_faults", "8000"), ("swap_out_pages", "10000"),
        ("steals_in_queue_pages", "12000"), ("context_switches", "14000"), ("trimmed_pages", "16000"),
        ("swap_sets_in", "-"), ("swap_set_pages_in", "18000"), ("swap_io_us", "9001"), ("users_physically_swapped", "4"),
        ("physical_swaps", "-"), ("page_io_us", "-"), ("frames_pageable", "200"), ("mem_total_bytes", "1048576"),
        ("mem_available_bytes", "204800"), ("mem_free_bytes", "12288"), ("storage_used_bytes", "614400"),
        ("storage_demanded_bytes", "1064960"), ("swap_total_bytes", "409600"), ("swap_free_bytes", "245760"),
        ("tasks_runnable", "1"), ("tasks_blocked", "2"), ("interactive_transactions", "1"),
        ("lock_spin_us", "1500"), ("lock_wait_us", "6005"), ("lock_defers", "18"), ("io_defers", "-"),
        ("storage_main_requests", "71"), ("storage_subpool_requests", "72"), ("storage_blocks_searched", "73"),
        ("storage_manager_us", "74"), ("storage_free_blocks", "75"),
        ("lateness_us", "-"), ("load_average_1", "-"), ("cached_bytes", "-"),
    ]);
    let processors = rows(dir.path(), "processor");
    #[rustfmt::skip]
    is(&processors[5], &[
        ("processor", "1"), ("user_us", "4007"), ("system_us", "9000"), ("lock_spin_us", "1000"), ("idle_us", "12000"), ("iowait_us", "36004"),
        ("page_wait_us", "16002"), ("io_wait_us", "20002"), ("steal_us", "-"),
    ]);
    let locks = rows(dir.path(), "lock");
    assert_eq!(locks.len(), 5, "one for each sample: {locks:?}");
    #[rustfmt::skip]
    is(&locks[2], &[
        ("lock", "SYSTEM"), ("spins", "12"), ("spin_us", "1500"), ("defers", "18"), ("wait_us", "6005"), ("hold_us", "180"),
    ]);
    let devices = rows(dir.path(), "device");
    #[rustfmt::skip]
    is(&devices[2], &[
        ("device", "drum"), ("device_kind", "swap"), ("priority", "1"), ("requests", "10"), ("request_wait_us", "10"),
        ("moved_bytes", "28672"), ("page_reads", "4"), ("queued_us", "1"), ("pend_us", "2"), ("disconnect_us", "3"),
        ("connect_us", "4"), ("size_bytes", "204800"), ("used_bytes", "81920"), ("reads", "-"),
    ]);
    is(
        &devices[3],
        &[
            ("device", "disk"),
            ("device_kind", "block"),
            ("priority", "0"),
            ("size_bytes", "-"),
        ],
    );
    is(
        &rows(dir.path(), "channel")[0],
        &[("channel", "7"), ("busy_us", "9")],
    );
    let users = rows(dir.path(), "user");
    #[rustfmt::skip]
    is(&users[3], &[
        ("user", "user-001"), ("class", "typist"), ("state", "q1"), ("processes", "1"), ("cpu_us", "7000"),
        ("cpu_system_us", "1000"), ("run_delay_us", "2000"), ("page_wait_us", "3000"), ("io_wait_us", "4000"),
        ("io_delay_us", "7000"), ("eligible_us", "5000"), ("transaction_us", "21000"), ("tasks_page_wait", "1"),
        ("tasks_runnable", "0"), ("major_faults", "7"), ("ios", "9"), ("steals", "10"),
        ("resident_bytes", "45056"), ("projected_bytes", "49152"),
    ]);
    is(
        &users[5],
        &[
            ("user", "_compute-1"),
            ("class", "compute"),
            ("tasks_runnable", "1"),
        ],
    );
}

#[test]
fn transactions_end_exactly_and_unended_ones_are_cut() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), true);
    let transactions = rows(dir.path(), "transaction");
    assert_eq!(
        transactions.len(),
        2,
        "the background program's is none: {transactions:?}"
    );
    #[rustfmt::skip]
    is(&transactions[0], &[
        ("user", "user-001"), ("script", "typist"), ("class", "compile"), ("outcome", "ok"), ("interactive", "1"),
        ("step", "1"), ("users", "1"), ("phase", "window"), ("response_us", "1000000"), ("monotonic_ns", "12000000500"),
        ("think_us", "2500000"), ("cpu_us", "120"), ("cpu_system_us", "20"), ("run_delay_us", "3"),
        ("page_wait_us", "4"), ("io_wait_us", "5"), ("eligible_us", "6"), ("page_reads", "7"), ("ios", "8"),
        ("queue_stays", "2"),
    ]);
    #[rustfmt::skip]
    is(&transactions[1], &[
        ("user", "user-002"), ("outcome", "cut"), ("response_us", "-"), ("class", "-"), ("monotonic_ns", "25000000000"),
        ("step", "2"), ("users", "2"), ("phase", "warmup"),
    ]);
    let transitions = rows(dir.path(), "transition");
    assert_eq!(transitions.len(), 4);
    is(
        &transitions[1],
        &[
            ("user", "user-001"),
            ("from_state", "dormant"),
            ("to_state", "q1"),
        ],
    );
}

#[test]
fn without_transactions_their_tables_are_empty_and_the_counters_stay() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), false);
    assert!(rows(dir.path(), "transaction").is_empty() && rows(dir.path(), "transition").is_empty());
    is(
        &rows(dir.path(), "system")[4],
        &[("interactive_transactions", "1")],
    );
}

#[test]
fn windows_are_events_at_their_own_times() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), true);
    let seen: Vec<String> = rows(dir.path(), "event")
        .iter()
        .map(|row| {
            let seconds: i64 = row["monotonic_ns"].parse::<i64>().unwrap() / 1_000_000_000;
            format!(
                "{seconds} {} {} {} {}",
                row["source"], row["event"], row["step"], row["users"]
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            "0 machine step 1 1",
            "10 machine window-start 1 1",
            "20 machine window-end 1 1",
            "20 machine step 2 2",
            "30 machine window-start 2 2",
            "40 machine window-end 2 2",
            "40 machine stopped - -",
        ]
    );
}

#[test]
fn the_description_holds_all_that_makes_the_run_again() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), true);
    let read = |path: &str| -> toml::Table {
        fs::read_to_string(dir.path().join(path))
            .unwrap()
            .parse()
            .unwrap()
    };
    let description = read("recording.toml");
    assert_eq!(description["recording"]["end_reason"].as_str(), Some("complete"));
    assert_eq!(
        description["recording"]["ended"].to_string(),
        "1975-01-06T00:00:40Z"
    );
    assert_eq!(description["host"]["name"].as_str(), Some("made <machine>"));
    assert_eq!(description["host"]["processors"].as_integer(), Some(2));
    assert_eq!(description["host"]["memory_bytes"].as_integer(), Some(1 << 20));
    assert_eq!(
        description["system_under_test"]["kind"].as_str(),
        Some("simulated")
    );
    let simulation = &description["simulation"];
    assert_eq!(simulation["seed"].as_integer(), Some(3));
    assert_eq!(
        simulation["sets"][0].as_str(),
        Some("storage.pageable_frames=200")
    );
    assert_eq!(simulation["workload"].as_str(), Some("# \u{1b}[31m\n"));
    let source = read("sources/machine.toml");
    assert_eq!(source["sampling"]["samples"].as_integer(), Some(5));
    assert_eq!(source["end_reason"].as_str(), Some("complete"));
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    record(one.path(), true);
    record(two.path(), true);
    for table in ["system", "user", "transaction", "event"] {
        let file = format!("segments/{table}/machine-1-0.seg");
        assert_eq!(
            fs::read(one.path().join(&file)).unwrap(),
            fs::read(two.path().join(&file)).unwrap(),
            "{table}"
        );
    }
    for file in ["recording.toml", "sources/machine.toml"] {
        let text = |dir: &Path| fs::read_to_string(dir.join(file)).unwrap();
        assert_eq!(text(one.path()), text(two.path()));
    }
}

#[test]
fn a_recording_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), true);
    let (machine, workload) = (machine(), workload());
    let steps = Steps::of_loads(&[1], s(20.0), s(10.0), s(10.0)).unwrap();
    let again = Recorder::create(Setting {
        directory: dir.path(),
        machine: &machine,
        workload: &workload,
        machine_text: "",
        workload_text: "",
        sets: &[],
        seed: 3,
        replication: 4,
        start_ns: START_NS,
        sample_every: s(10.0),
        steps: &steps,
        transactions: true,
    });
    assert!(again.is_err());
}
