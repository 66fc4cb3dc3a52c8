//! The control program's free storage: what requests take, under which lock, and the keys of machine files.

use crate::support::files;
use crate::support::machines::{class, kind, machine, run, s, simulation, workload};
use satline_machine::configuration::{
    FreeStoragePlan, LockPlan, LockWait, Machine, Moment, StorageRequest, Workload,
};
use satline_machine::engine::{Distribution, Span};
use satline_machine::policies::listings;
use satline_machine::readings::Reading;

const REQUEST_NS: u64 = 100_000;
const BLOCK_NS: u64 = 10_000;

fn request(at: Moment, until: Option<Moment>, least: u32, most: u32) -> StorageRequest {
    StorageRequest {
        at,
        until,
        blocks: 1,
        doublewords: (least, most),
    }
}

/// A machine whose control program takes time for free storage only.
fn with(subpools: &str, requests: Vec<StorageRequest>) -> Machine {
    let mut made = machine();
    made.free_storage = Some(FreeStoragePlan {
        doublewords: 50_000,
        subpools: subpools.into(),
        lock: None,
        subpool_request: Span::from_ns(1000),
        main_request: Span::from_ns(REQUEST_NS),
        block_searched: Span::from_ns(BLOCK_NS),
        requests,
    });
    made
}

fn users(think_s: f64, cpu_s: f64, io_s: Option<f64>) -> Workload {
    let exponential = |mean_s| Distribution::exponential(mean_s).unwrap();
    let mut work = kind(exponential(cpu_s));
    work.cpu_between_ios = io_s.map(s);
    workload(vec![class(exponential(think_s), vec![work])])
}

fn last(machine: &Machine, workload: &Workload, count: u32, end_s: f64) -> Reading {
    let mut simulation = simulation(machine, workload, count, end_s);
    run(&mut simulation, end_s);
    simulation.audit().unwrap();
    simulation.reading().clone()
}

fn io_blocks() -> Vec<StorageRequest> {
    vec![request(Moment::UserIoStart, Some(Moment::UserIoEnd), 10, 10)]
}

#[test]
fn each_request_takes_its_time_of_the_path_that_makes_it() {
    let reading = last(
        &with("main-chain", io_blocks()),
        &users(1.0, 0.1, Some(0.02)),
        1,
        300.0,
    );
    let system = &reading.system;
    let requests = system.storage_main_requests.unwrap();
    assert!(
        system.user_ios > 500 && requests.abs_diff(2 * system.user_ios) <= 2,
        "{system:?}"
    );
    // One user, one block at a time: a get finds the one free block, a give the one behind.
    assert_eq!(system.storage_blocks_searched, Some(requests));
    let supervisor = reading.processors[0].supervisor_ns;
    let time = requests * (REQUEST_NS + BLOCK_NS);
    assert!(
        time.abs_diff(supervisor) <= REQUEST_NS + BLOCK_NS,
        "{time} {supervisor}"
    );
    assert!(
        system.storage_ns.unwrap() <= supervisor
            && time - system.storage_ns.unwrap() <= 2 * (REQUEST_NS + BLOCK_NS)
    );
    assert_eq!(
        (system.storage_subpool_requests, system.storage_pages_added),
        (Some(0), Some(0))
    );
}

#[test]
fn the_lock_is_held_for_just_that_time() {
    let mut machine = with("main-chain", io_blocks());
    machine.processors.count = 2;
    machine.costs.user_io_start = Span::from_ns(300_000);
    machine.locks = vec![LockPlan {
        name: "DMKFREE".into(),
        wait: LockWait::Spin,
        holds: Vec::new(),
    }];
    machine.free_storage.as_mut().unwrap().lock = Some(0);
    let load = users(0.5, 0.1, Some(0.01));
    let reading = last(&machine, &load, 20, 100.0);
    let sum =
        |of: fn(&satline_machine::readings::LockReading) -> u64| reading.locks.iter().map(of).sum::<u64>();
    let (held, asked) = (sum(|lock| lock.hold_ns), reading.system.storage_ns.unwrap());
    // Paths that are under way have had it, and are not done.
    assert!(
        held >= asked && held - asked < 50 * (REQUEST_NS + BLOCK_NS),
        "{held} {asked}"
    );
    assert!(sum(|lock| lock.spins) > 10, "{:?}", reading.locks);
    machine.free_storage.as_mut().unwrap().lock = None;
    let free = last(&machine, &load, 20, 100.0);
    assert!(free.locks.iter().all(|lock| lock.holds == 0), "no work holds it");
}

/// Blocks of many sizes that users keep for as long as they think or wait.
fn mixed() -> Vec<StorageRequest> {
    vec![
        request(Moment::LogOn, Some(Moment::LogOff), 10, 100),
        request(Moment::TransactionEnd, Some(Moment::TransactionStart), 31, 200),
        request(Moment::UserIoStart, Some(Moment::UserIoEnd), 31, 80),
        request(Moment::Dispatch, None, 6, 6),
    ]
}

#[test]
fn storage_falls_into_pieces_and_searches_grow_with_users() {
    let load = users(5.0, 0.05, Some(0.01));
    let searched = |users: u32| {
        let mut machine = with("ten", mixed());
        machine.free_storage.as_mut().unwrap().block_searched = Span::ZERO;
        let system = last(&machine, &load, users, 200.0).system;
        let requests = system.storage_main_requests.unwrap();
        assert!(requests > 1000, "{system:?}");
        system.storage_blocks_searched.unwrap() as f64 / requests as f64
    };
    let (few, many) = (searched(4), searched(60));
    assert!(few < 5.0 && many > 2.0 * few, "{few} {many}");
}

#[test]
fn a_subpool_for_the_new_input_area_saves_its_searches() {
    let load = users(2.0, 0.02, None);
    let per_transaction = |subpools: &str, input: u32| {
        let mut requests = mixed();
        requests.push(request(
            Moment::TransactionStart,
            Some(Moment::TransactionEnd),
            input,
            input,
        ));
        // The other large blocks are not asked for.
        requests.retain(|request| request.doublewords.1 < 100);
        let system = last(&with(subpools, requests), &load, 20, 300.0).system;
        system.storage_main_requests.unwrap() as f64 / system.transactions as f64
    };
    assert!(per_transaction("ten", 28) < 0.1);
    assert!(per_transaction("eleven", 31) < 0.1);
    let long = per_transaction("ten", 31);
    assert!((1.9..2.1).contains(&long), "{long}");
    let all = per_transaction("main-chain", 28);
    assert!(all > 3.9, "dispatches too: {all}");
    assert!(per_transaction("split", 31) < 0.1);
}

#[test]
fn users_who_leave_leave_no_block() {
    let mut machine = with("main-chain", mixed());
    machine.free_storage.as_mut().unwrap().doublewords = 64;
    let load = users(1.0, 0.02, Some(0.01));
    use crate::support::machines::at;
    use satline_machine::model::{Plan, Simulation, Step};
    let step = |from, users| Step {
        from: at(from),
        users,
    };
    let plan = Plan {
        users: 10,
        steps: vec![step(0.0, 10), step(20.0, 0)],
        sample_every: s(1.0),
        end: at(100.0),
        audit: true,
    };
    let streams = satline_machine::engine::Streams::new(3, 0);
    let mut simulation = Simulation::new(&machine, &load, &plan, streams).unwrap();
    simulation.run_until(at(19.0), &mut ());
    let system = simulation.reading().system;
    assert!(
        system.storage_busy > Some(64) && system.storage_pages_added > Some(0),
        "it had to grow"
    );
    simulation.run_until(at(100.0), &mut ());
    simulation.audit().unwrap();
    let system = simulation.reading().system;
    assert_eq!(
        (system.storage_busy, system.storage_free_blocks),
        (Some(0), Some(1))
    );
}

#[test]
fn the_shipped_machine_is_read_as_it_says() {
    let file = files::machine(&files::text(&files::machine_path("168-AP-free-storage")), &[]).unwrap();
    let plan = file.machine.free_storage.unwrap();
    assert_eq!(
        (plan.doublewords, plan.subpools.as_str(), plan.lock),
        (65_536, "ten", Some(1))
    );
    // 20 instructions of 0.91 million/s × 3.3.
    assert_eq!(plan.subpool_request.ns(), 6_660);
    assert_eq!(plan.requests.len(), 7);
    assert_eq!(
        plan.requests[1],
        request(Moment::TransactionStart, Some(Moment::TransactionEnd), 28, 28)
    );
    assert_eq!(plan.requests[6], request(Moment::Dispatch, None, 6, 6));
    assert_eq!(
        (plan.requests[0].blocks, plan.requests[0].doublewords),
        (6, (10, 90))
    );
    assert!(file.machine.locks[1].holds.is_empty());
    let sets = [
        ("free_storage.subpools", "eleven"),
        ("free_storage.request.1.doublewords", "31"),
    ];
    let text = files::text(&files::machine_path("168-AP-free-storage"));
    let plan = files::machine(&text, &sets)
        .unwrap()
        .machine
        .free_storage
        .unwrap();
    assert_eq!(
        (plan.subpools.as_str(), plan.requests[1].doublewords),
        ("eleven", (31, 31))
    );
    let listing = listings()
        .into_iter()
        .find(|listing| listing.key == "subpools")
        .unwrap();
    let names: Vec<&str> = listing.policies.iter().map(|policy| policy.0).collect();
    assert_eq!(
        (listing.table, names),
        ("free_storage", vec!["main-chain", "ten", "eleven", "split"])
    );
}

#[test]
fn wrong_keys_are_refused_with_the_key_and_a_remedy() {
    let good = files::text(&files::machine_path("168-AP-free-storage"));
    #[rustfmt::skip]
    let cases = [
        ("subpools = \"ten\"", "subpools = \"twelve\"", "subpools is \"twelve\"", "give one of main-chain, ten, eleven, split"),
        ("value = 65_536", "value = 999_999", "doublewords is 999999: main storage less the pageable frames is 1425408 bytes", "give fewer"),
        ("lock = \"DMKFREE\"", "lock = \"DMKFRE\"", "holds is missing", "holds"),
        ("lock = \"DMKFREE\"", "lock = \"NONE\"", "holds is missing", "holds"),
        ("lock = \"DMKFREE\"", "locks = \"DMKFREE\"", "holds is missing", "holds"),
        ("name = \"DMKFREE\"\nwait = \"spin\"", "name = \"DMKFREE\"\nwait = \"suspend\"", "which suspends", "wait = \"spin\""),
        ("name = \"DMKFREE\"\nwait = \"spin\"", "name = \"OTHER\"\nwait = \"spin\"\nholds = { storage = { value = 0.1, source = \"x\" } }", "no [[lock]] has that name", "add the lock"),
        ("block_searched_instructions", "block_search_instructions", "block_searched_instructions is missing", "block_search_instructions"),
        ("at = \"page_fault\"", "at = \"page_faults\"", "at is \"page_faults\"", "did you mean page_fault?"),
        ("until = \"page_in_end\"", "until = \"queue_drop\"", "until is \"queue_drop\"", "give one of at_once, page_in_end"),
        ("until = \"page_in_end\"\n", "", "until is missing", ""),
        ("most_doublewords = { value = 60", "most_doublewords = { value = 7", "is less than doublewords = 8", "at least as many"),
        ("doublewords = { value = 6, source = \"assumed: a work area\" }", "doublewords = 6", "has no source", "write doublewords"),
        ("blocks = { value = 6", "blocks = { value = 0", "blocks is 0", "1 to 1000"),
    ];
    for (from, to, why, hint) in cases {
        let error = files::machine(&files::spoilt(&good, from, to), &[])
            .map(|_| ())
            .expect_err(why);
        assert!(error.message.contains(why), "{why}: {error}");
        assert!(error.hint.contains(hint), "{hint}: {error}");
    }
    let none = good.split("[[free_storage.request]]").next().unwrap();
    let error = files::machine(none, &[]).unwrap_err();
    assert!(
        error.message.contains("request is missing") && error.hint.contains("add [[free_storage.request]]"),
        "{error}"
    );
}
