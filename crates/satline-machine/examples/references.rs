//! What page references cost, and what a small paging system does: one JSON line each; times are processor times.

#[path = "../tests/support/mod.rs"]
mod support;

use satline_machine::engine::{Span, Streams, Time, run};
use satline_machine::references::{Kind, Program};
use satline_machine::storage::Memory;
use support::small_system::{SmallSystem, locality, machine, ms, workload};

fn main() {
    programs_alone();
    storage_without_faults();
    for policy in ["core-table-scan", "lru", "fifo", "random"] {
        small_system(policy);
    }
}

/// Processor time of this thread, so that other work on the host does not count.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("a Linux kernel with schedstat");
    let ns = text.split(' ').next().and_then(|first| first.parse::<f64>().ok());
    ns.expect("schedstat begins with the time on the processor, ns") * 1e-9
}

/// 300 programs, everything present.
fn programs_alone() {
    let workload = workload(locality());
    let kind = Kind::new(&workload.classes[0].transactions[0], 1.0).unwrap();
    let streams = Streams::new(1, 0);
    let mut programs: Vec<Program> = (0..300)
        .map(|user| Program::new(60, 10, false, &streams, user))
        .collect();
    let (mut touches, mut calls) = (0_u64, 0_u64);
    let begun = cpu_s();
    for _ in 0..300 {
        for program in &mut programs {
            program.begin(&kind, ms(100.0));
            for _ in 0..10 {
                program.until_missing(&kind, ms(10.0), |_| true);
                program.run(ms(10.0), |_| true, |_, _, _| touches += 1);
                calls += 1;
            }
            program.end();
        }
    }
    let seconds = cpu_s() - begun;
    let line = serde_json::json!({
        "case": "programs alone", "touches": touches, "calls": calls,
        "touches_per_s": touches as f64 / seconds, "ns_per_touch": seconds * 1e9 / touches as f64,
    });
    println!("{line}");
}

/// One program through storage, which has room for all of it: bits and books are kept.
fn storage_without_faults() {
    let (machine, workload) = (machine(20_000), workload(locality()));
    let (mut system, mut calendar) = SmallSystem::start(&machine, &workload, 1, Streams::new(1, 0)).unwrap();
    run(
        &mut system,
        &mut calendar,
        Time::START + Span::from_seconds(100.0),
    );
    let SmallSystem {
        memory, subsystem, ..
    } = &mut system;
    let before = reads(memory);
    let (mut touches, transactions) = (0_u64, 100_000);
    let begun = cpu_s();
    for _ in 0..transactions {
        memory.begin_transaction(0, 0, ms(100.0));
        memory.queue_add(0, true, subsystem, &mut calendar);
        for _ in 0..10 {
            memory.until_fault(0, ms(10.0));
            memory.ran(0, ms(10.0));
        }
        memory.queue_drop(0, true, subsystem, &mut calendar);
        touches += u64::from(memory.projected(0)) + 3;
        memory.end_transaction(0);
    }
    let seconds = cpu_s() - begun;
    let line = serde_json::json!({
        "case": "storage without faults", "touches": touches, "page_reads": reads(memory) - before,
        "touches_per_s": touches as f64 / seconds, "ns_per_touch": seconds * 1e9 / touches as f64,
    });
    println!("{line}");
}

fn reads(memory: &Memory) -> u64 {
    memory.page_reads(0)
}

/// 12 users on 300 frames; devices and calendar included.
fn small_system(policy: &str) {
    let mut machine = machine(300);
    machine.policies.replacement = policy.into();
    let (mut system, mut calendar) =
        SmallSystem::start(&machine, &workload(locality()), 12, Streams::new(1, 0)).unwrap();
    let begun = cpu_s();
    let events = run(
        &mut system,
        &mut calendar,
        Time::START + Span::from_seconds(2000.0),
    );
    let seconds = cpu_s() - begun;
    let reading = system.reading();
    let per_transaction = |count: u64| count as f64 / system.transactions as f64;
    let line = serde_json::json!({
        "case": policy, "events_per_s": events as f64 / seconds, "simulated_s_per_cpu_s": 2000.0 / seconds,
        "transactions": system.transactions,
        "page_reads_per_transaction": per_transaction(reading.page_reads),
        "page_writes_per_transaction": per_transaction(reading.page_writes),
        "reclaims_per_transaction": per_transaction(reading.reclaims),
        "steals_per_transaction": per_transaction(reading.steals),
        "frames_scanned_per_page_read": reading.frames_scanned as f64 / reading.page_reads as f64,
    });
    println!("{line}");
}
