use std::fs;

use super::*;
use crate::files::Roots;
use crate::taskstats::Account;
use crate::users::UserDefinition;

fn put(root: &Path, directory: &str, start: u64, threads: u64, cpu_ns: u64) {
    let directory = root.join(directory);
    fs::create_dir_all(&directory).unwrap();
    let stat = format!("1 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 {start} 9 1 1 1\n");
    fs::write(directory.join("stat"), stat).unwrap();
    fs::write(directory.join("schedstat"), format!("{cpu_ns} 0 1\n")).unwrap();
}

fn table(root: &Path) -> (ProcessTable, Users) {
    let options = ScanOptions {
        exits: ExitMethod::TaskStats,
        delays: false,
        schedstat: true,
        ns_per_tick: 10_000_000,
    };
    let table = ProcessTable::open(root, DescriptorBudget::of(100), options).unwrap();
    let roots = Roots {
        proc: root.into(),
        sys: root.into(),
    };
    let list = UserDefinition::Emulated(root.join("none"));
    (table, Users::new(list, roots, &root.join("passwd"), 1))
}

#[test]
fn a_thread_that_ends_while_its_process_is_read_counts_once() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    put(root, "70", 5, 2, 1_000);
    put(root, "70/task/70", 5, 2, 1_000);
    put(root, "70/task/71", 6, 2, 400);
    let (mut table, mut users) = table(root);
    table.scan(&mut users, &mut None).unwrap();
    put(root, "70/task/71", 6, 2, 500);
    table.scan(&mut users, &mut None).unwrap();
    assert_eq!(table.totals(HOST).cpu_ns, 100);
    // It has gone when the process is read, and its account is read after that.
    fs::remove_dir_all(root.join("70/task/71")).unwrap();
    table.scan(&mut users, &mut None).unwrap();
    let task = Account {
        pid: 71,
        tgid: Some(70),
        cpu_ns: 530,
        ..Account::default()
    };
    table.take_exit(&Exit { task, process: None });
    table.scan(&mut users, &mut None).unwrap();
    assert_eq!(table.totals(HOST).cpu_ns, 130);
}

#[test]
fn an_old_process_that_could_not_be_read_for_a_while_brings_no_history() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    put(root, "70", 5, 1, 1_000);
    put(root, "80", 9, 1, 1_000);
    let (mut table, mut users) = table(root);
    table.scan(&mut users, &mut None).unwrap();
    fs::remove_dir_all(root.join("70")).unwrap();
    table.scan(&mut users, &mut None).unwrap();
    put(root, "70", 5, 1, 1_200);
    put(root, "90", 12, 1, 300);
    table.scan(&mut users, &mut None).unwrap();
    assert_eq!(table.totals(HOST).cpu_ns, 300, "of the one that is new alone");
}
