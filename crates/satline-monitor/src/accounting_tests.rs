use std::fs;

use satline_program::clock::own_cpu_us;

use super::*;
use crate::ebpf::object::KernelTypes;
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

const SECOND: i64 = 1_000_000_000;

/// A scan so many seconds after boot.
fn scan(table: &mut ProcessTable, users: &mut Users, second: i64) {
    let times = Times {
        before_ns: (second - 1) * SECOND,
        at_ns: second * SECOND,
        boot_ahead_ns: 0,
        clock: &|| second * SECOND,
    };
    table.scan(users, &mut None, &times).unwrap();
}

/// Gives a process the delays that its account would tell in that scan.
fn delays(table: &mut ProcessTable, pid: i32, second: i64, io_ns: i64, page_ns: i64) {
    let times = Times {
        before_ns: (second - 1) * SECOND,
        at_ns: second * SECOND,
        boot_ahead_ns: 0,
        clock: &|| second * SECOND,
    };
    let mut reader = Reader {
        directory: 0,
        budget: &mut table.budget,
        buffer: &mut table.buffer,
        scan: table.scan,
        ns_per_tick: 10_000_000,
        schedstat: true,
        thread_ends: true,
        history_counts: true,
        waits_count: true,
        times: &times,
        ledger: &mut table.ledger,
        told: None,
    };
    let process = table.processes.get_mut(pid).unwrap();
    process.take_delays(io_ns as u64, page_ns as u64, false, &mut reader);
}

fn left_out(table: &ProcessTable) -> Vec<(&'static str, u64, i64)> {
    let entries = table.ledger.entries();
    entries.map(|e| (e.signal, e.count, e.largest_us)).collect()
}

#[test]
fn a_thread_that_ends_while_its_process_is_read_counts_once() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    put(root, "70", 5, 2, 1_000);
    put(root, "70/task/70", 5, 2, 1_000);
    put(root, "70/task/71", 6, 2, 400);
    let (mut table, mut users) = table(root);
    scan(&mut table, &mut users, 1);
    put(root, "70/task/71", 6, 2, 500);
    scan(&mut table, &mut users, 2);
    assert_eq!(table.totals(HOST).cpu_ns, 100);
    // It has gone when the process is read, and its account is read after that.
    fs::remove_dir_all(root.join("70/task/71")).unwrap();
    scan(&mut table, &mut users, 3);
    let task = Account {
        pid: 71,
        tgid: Some(70),
        cpu_ns: 530,
        ..Account::default()
    };
    table.take_exit(&Exit { task, process: None });
    scan(&mut table, &mut users, 4);
    assert_eq!(table.totals(HOST).cpu_ns, 130);
}

#[test]
fn an_old_process_that_could_not_be_read_for_a_while_brings_no_history() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    put(root, "70", 5, 1, 1_000);
    put(root, "80", 9, 1, 1_000);
    let (mut table, mut users) = table(root);
    scan(&mut table, &mut users, 1);
    fs::remove_dir_all(root.join("70")).unwrap();
    scan(&mut table, &mut users, 2);
    put(root, "70", 5, 1, 1_200);
    put(root, "90", 12, 1, 300);
    scan(&mut table, &mut users, 3);
    assert_eq!(table.totals(HOST).cpu_ns, 300, "of the one that is new alone");
}

#[test]
fn a_wait_as_long_as_the_host_is_up_is_left_out_and_counted() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    put(root, "70", 69_000, 1, 1_000);
    let (mut table, mut users) = table(root);
    scan(&mut table, &mut users, 695);
    put(root, "70", 69_000, 1, 2_000);
    scan(&mut table, &mut users, 696);
    delays(&mut table, 70, 696, SECOND / 5, SECOND / 10);
    put(root, "70", 69_000, 1, 3_000);
    scan(&mut table, &mut users, 697);
    // A start stamp of zero in the one, twice the time in the other, which nested waits can give.
    delays(
        &mut table,
        70,
        697,
        SECOND / 5 + 697 * SECOND,
        SECOND / 10 + 2 * SECOND,
    );
    put(root, "70", 69_000, 1, 4_000);
    scan(&mut table, &mut users, 698);
    delays(
        &mut table,
        70,
        698,
        SECOND / 2 + 697 * SECOND,
        SECOND / 10 + 2 * SECOND,
    );
    scan(&mut table, &mut users, 699);
    let totals = table.totals(HOST);
    assert_eq!(
        totals.io_delay_ns,
        (SECOND / 2) as u64,
        "before and after the leap"
    );
    assert_eq!(totals.page_delay_ns, (2 * SECOND + SECOND / 10) as u64);
    assert_eq!(left_out(&table), [("user.io_delay_us", 1, 697_000_000)]);
}

#[test]
fn a_wait_that_ends_after_minutes_counts_whole() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    put(root, "70", 1_000, 1, 1_000);
    let (mut table, mut users) = table(root);
    scan(&mut table, &mut users, 100);
    put(root, "70", 1_000, 1, 2_000);
    (101..400).for_each(|second| scan(&mut table, &mut users, second));
    delays(&mut table, 70, 399, 0, 0);
    put(root, "70", 1_000, 1, 3_000);
    scan(&mut table, &mut users, 400);
    delays(&mut table, 70, 400, 298 * SECOND, 0);
    scan(&mut table, &mut users, 401);
    assert_eq!(table.totals(HOST).io_delay_ns, 298 * SECOND as u64);
    assert_eq!(left_out(&table), []);
}

#[test]
fn threads_that_sleep_allow_no_wait_to_those_that_run() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    put(root, "70", 1_000, 3, 1_000);
    for (tid, start) in [(70, 1_000), (71, 1_000), (72, 1_000)] {
        put(root, &format!("70/task/{tid}"), start, 3, 1_000);
    }
    let (mut table, mut users) = table(root);
    for second in 600..610 {
        put(root, "70", 1_000, 3, second as u64 * 1_000);
        scan(&mut table, &mut users, second);
        delays(&mut table, 70, second, 0, 0);
    }
    put(root, "70", 1_000, 3, 700_000);
    scan(&mut table, &mut users, 610);
    delays(&mut table, 70, 610, 610 * SECOND, 0);
    // One of the others wakes: it may have waited since the beginning.
    put(root, "70", 1_000, 3, 710_000);
    put(root, "70/task/71", 1_000, 3, 2_000);
    scan(&mut table, &mut users, 611);
    delays(&mut table, 70, 611, 1_200 * SECOND, 0);
    scan(&mut table, &mut users, 612);
    assert_eq!(table.totals(HOST).io_delay_ns, 590 * SECOND as u64);
    assert_eq!(left_out(&table), [("user.io_delay_us", 1, 610_000_000)]);
}

#[test]
fn the_account_of_a_task_that_nobody_saw_is_held_against_its_life() {
    let root = tempfile::tempdir().unwrap();
    let (mut table, mut users) = table(root.path());
    scan(&mut table, &mut users, 800);
    for (pid, block_delay_ns) in [(90, 300_000_000), (91, 800_000_000_000)] {
        let task = Account {
            pid,
            tgid: Some(pid),
            elapsed_us: 400_000,
            cpu_ns: 50_000_000,
            run_delay_ns: block_delay_ns,
            block_delay_ns,
            ..Account::default()
        };
        table.take_exit(&Exit { task, process: None });
    }
    scan(&mut table, &mut users, 801);
    let totals = table.totals(HOST);
    assert_eq!((totals.exits, totals.cpu_ns), (2, 100_000_000));
    assert_eq!(
        (totals.io_delay_ns, totals.run_delay_ns),
        (300_000_000, 300_000_000)
    );
    let signals = [
        ("user.io_delay_us", 1, 800_000_000),
        ("user.run_delay_us", 1, 800_000_000),
    ];
    assert_eq!(left_out(&table), signals);
}

#[test]
fn processor_time_and_run_delay_beyond_the_interval_are_left_out() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    put(root, "70", 1_000, 1, 1_000);
    let (mut table, mut users) = table(root);
    for second in 100..104 {
        let cpu_ns = (second as u64 - 99) * 990_000_000;
        put(
            root,
            "70",
            1_000,
            1,
            if second < 103 { cpu_ns } else { cpu_ns + (1 << 40) },
        );
        scan(&mut table, &mut users, second);
    }
    assert_eq!(
        table.totals(HOST).cpu_ns,
        2 * 990_000_000,
        "the first is the base, the last a leap"
    );
    assert_eq!(left_out(&table).len(), 1);
}

/// Both tell the same counters: taking turns neither loses nor doubles anything.
#[test]
fn files_go_on_where_the_iterator_stops() {
    let loaded = KernelTypes::read().and_then(|kernel| TaskIterator::load(&kernel));
    let iterator = match loaded {
        Ok(iterator) => iterator,
        Err(refusal) => return eprintln!("skipped: {refusal}; it needs {}", refusal.need),
    };
    let list = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(list.path(), format!("{}\tme\n", std::process::id())).unwrap();
    let roots = Roots {
        proc: "/proc".into(),
        sys: "/sys".into(),
    };
    let definition = UserDefinition::Emulated(list.path().to_owned());
    let mut users = Users::new(definition, roots, Path::new("/etc/passwd"), 0);
    let options = ScanOptions {
        exits: ExitMethod::WaitedChildren,
        delays: false,
        schedstat: true,
        ns_per_tick: 10_000_000,
    };
    let mut table = ProcessTable::open(Path::new("/proc"), DescriptorBudget::of(64), options).unwrap();
    table.use_iterator(iterator);
    // Long after any process here began.
    let mut second = 10_000_000;
    let mut scan = |table: &mut ProcessTable| {
        second += 1;
        scan(table, &mut users, second);
        let me = users.names().iter().position(|name| name == "me").unwrap();
        table.totals(me)
    };
    // Anything read anew would be all that this process has ever used.
    let burnt_us = own_cpu_us() + 500_000;
    while own_cpu_us() < burnt_us {}
    scan(&mut table);
    let before_us = own_cpu_us();
    let told = scan(&mut table);
    table.iterator = None;
    let by_files = scan(&mut table);
    let spent_us = u64::try_from(own_cpu_us() - before_us).unwrap();
    let gain = by_files.since(told);
    // Ticks come late, and other tests of this process have children.
    assert!(gain.cpu_ns / 1000 <= spent_us + 250_000, "{gain:?} {spent_us}");
    assert!(by_files.cpu_ns >= told.cpu_ns && by_files.minor_faults >= told.minor_faults);
    assert!(
        table
            .processes()
            .any(|process| process.pid == std::process::id() as i32)
    );
}
