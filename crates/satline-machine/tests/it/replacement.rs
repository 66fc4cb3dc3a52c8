//! Replacement policies at work in a small system.

use crate::support::small_system::{SmallSystem, locality, machine, ms, outcome, workload};
use proptest::prelude::*;
use satline_machine::configuration::Locality;
use satline_machine::engine::{Streams, Time, run};
use satline_machine::policies::replacement::POLICIES;
use satline_machine::policies::slot;
use satline_machine::readings::SystemReading;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Whatever the policy and the load: books agree at every completion, work goes on, and a run repeats.
    #[test]
    fn all_books_agree_all_the_time(
        policy in 0..POLICIES.len(), slot in 0..slot::POLICIES.len(), frames in 1..150_u32, users in 1..15_u32,
        most in 1..16_u32, pages in 1.0..50.0_f64, changed in 0.0..=1.0_f64, shared in 0..12_u32, minimum in 0..9_u32,
        repeatability in 0.0..=1.0_f64, seed: u64,
    ) {
        let mut machine = machine(frames);
        machine.policies.replacement = POLICIES[policy].name.into();
        machine.policies.slot = slot::POLICIES[slot].name.into();
        machine.paging.most_pages_per_sio = most;
        machine.storage.free_list_minimum = minimum;
        let workload = workload(Locality {
            working_set_pages: pages,
            changed,
            repeatability,
            shared_pages: shared,
            ..locality()
        });
        let reading = |checks| -> (SystemReading, u64) {
            let (mut system, mut calendar) =
                SmallSystem::start(&machine, &workload, users, Streams::new(seed, 0)).unwrap();
            system.checks = checks;
            run(&mut system, &mut calendar, Time::START + ms(3000.0));
            (system.reading(), system.transactions)
        };
        let (first, transactions) = reading(true);
        prop_assert_eq!((first, transactions), reading(false));
        prop_assert!(first.in_queue_pages <= first.frames);
        // Faults lead to pages: nobody is stuck.
        prop_assert!(first.page_reads > 0 || first.page_faults <= u64::from(users));
        prop_assert!(first.page_reads + first.reclaims <= first.page_faults + 1);
    }
}

#[test]
fn what_knows_more_of_references_reads_fewer_pages() {
    let reads = |policy: &str| {
        let mut machine = machine(250);
        machine.policies.replacement = policy.into();
        let locality = Locality {
            working_set_pages: 30.0,
            ..locality()
        };
        let runs = (0..3).map(|seed| outcome(&machine, &workload(locality.clone()), 12, seed, 50.0));
        let runs: Vec<_> = runs.collect();
        let reads: u64 = runs.iter().map(|run| run.1.page_reads).sum();
        let transactions: u64 = runs.iter().map(|run| run.0.transactions).sum();
        reads as f64 / transactions as f64
    };
    let [scan, lru, fifo, random] = ["core-table-scan", "lru", "fifo", "random"].map(reads);
    // Not S3-FIFO: what was touched often stays for three rounds of its main queue, and working sets here change sooner.
    for policy in [
        "two-list",
        "multi-generational",
        "working-set-sampling",
        "arc",
        "sieve",
    ] {
        let reads = reads(policy);
        assert!(reads < fifo * 0.97, "{policy} {reads}, fifo {fifo}");
    }
    assert!(lru < fifo * 0.95, "lru {lru}, fifo {fifo}");
    assert!(scan < fifo * 0.97, "scan {scan}, fifo {fifo}");
    assert!(lru < random * 0.95, "lru {lru}, random {random}");
}

#[test]
fn reads_per_transaction_rise_as_storage_shrinks_and_vanish_where_all_fits() {
    let reads = |frames| {
        let (system, reading) = outcome(&machine(frames), &workload(locality()), 10, 1, 120.0);
        reading.page_reads as f64 / system.transactions as f64
    };
    // Ten users of 60 pages and 10 shared ones fit.
    let [small, middle, all] = [100, 300, 700].map(reads);
    assert!(
        small > 1.5 * middle && middle > 1.5 * all,
        "{small}, {middle}, {all}"
    );
    let (_, reading) = outcome(&machine(700), &workload(locality()), 10, 1, 120.0);
    assert!(reading.page_reads <= 610);
    assert_eq!((reading.steals, reading.page_writes), (0, 0));
}
