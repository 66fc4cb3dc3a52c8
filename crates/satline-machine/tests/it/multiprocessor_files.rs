//! `[multiprocessor]`, `[[processor]]` and `[[lock]]` of machine files.

use crate::support::files::{machine, machine_path, spoilt, text};
use satline_machine::configuration::{Interrupts, LockWait, ProcessorRole, Work};

const ATTACHED: &str = "[[processor]]\nrole = \"attached\"\n";

#[test]
fn the_shipped_ones_are_read_as_they_say() {
    let attached = machine(&text(&machine_path("168-AP")), &[]).unwrap().machine;
    let plan = attached.multiprocessor.as_ref().unwrap();
    assert_eq!((plan.units.len(), plan.main()), (2, Some(0)));
    assert_eq!(plan.units[1].role, ProcessorRole::Attached);
    assert!(plan.units[1].channels.is_empty() && plan.units[0].channels.len() == 5);
    assert_eq!(plan.interrupts, Interrupts::Starter);
    // 250 instructions of 0.91 million/s × 3.3.
    assert_eq!(plan.deferred_start.ns(), 83_250);
    let names: Vec<&str> = attached.locks.iter().map(|lock| lock.name.as_str()).collect();
    assert_eq!(names, ["SYSTEM", "DMKFREE", "DISPATCHER"]);
    assert!(attached.locks.iter().all(|lock| lock.wait == LockWait::Spin));
    assert_eq!(attached.locks[2].holds, [(Work::Dispatch, 0.2)]);
    assert!(attached.not_modelled().is_empty());

    let symmetric = machine(&text(&machine_path("3033-MP")), &[]).unwrap().machine;
    let plan = symmetric.multiprocessor.as_ref().unwrap();
    assert_eq!(plan.main(), None);
    assert!(
        symmetric
            .devices
            .iter()
            .all(|device| plan.reaches(0, device) && plan.reaches(1, device))
    );
    let sets = [("processor.1.channels", "[3, 4]")];
    let skewed = machine(&text(&machine_path("3033-MP")), &sets).unwrap().machine;
    let plan = skewed.multiprocessor.as_ref().unwrap();
    let reached = skewed.devices.iter().filter(|device| plan.reaches(1, device));
    assert!(
        reached.clone().count() == 16 && reached.into_iter().all(|device| device.name.starts_with("pack"))
    );
}

#[test]
fn entries_say_how_many_processors_there_are() {
    let own = text(&machine_path("168-AP"));
    // The model of processors.toml has two: the entries go before it, and count of the file does not.
    let three = spoilt(&own, "count = 2\n\n[multi", "\n[multi") + &format!("\n{ATTACHED}count = 3\n");
    assert_eq!(machine(&three, &[]).unwrap().machine.processors.count, 5);
    let alike = own
        .replace("[[processor]]\nrole = \"main\"\n", "")
        .replace(ATTACHED, "");
    let four = machine(&alike, &[("processors.count", "4")]).unwrap().machine;
    let plan = four.multiprocessor.unwrap();
    assert!(
        plan.units.len() == 4
            && plan
                .units
                .iter()
                .all(|unit| unit.role == ProcessorRole::Symmetric)
    );
}

#[test]
fn wrong_ones_are_refused_with_the_key_and_a_remedy() {
    let good = text(&machine_path("168-AP"));
    let second = |entry: &str| spoilt(&good, ATTACHED, entry);
    let lock = |from: &str, to: &str| spoilt(&good, from, to);
    #[rustfmt::skip]
    let cases = [
        (second("[[processor]]\nrole = \"slave\"\n"), "role is \"slave\"", "give one of main, attached, symmetric"),
        (second("[[processor]]\nrole = \"main\"\n"), "makes a second main one", "one processor"),
        (second(&format!("{ATTACHED}channels = [0]\n")), "channels are given to an attached processor", "symmetric"),
        (second(&format!("{ATTACHED}count = 2\n")), "makes 3 processors, and [processors] has 2", "count in either"),
        (second("[[processor]]\nrole = \"symmetric\"\nchannels = [77]\n"), "has 77, which no device has", "channels of"),
        (second("[[processor]]\nrole = \"symmetric\"\nchannels = 3\n"), "channels is no list", "write channels"),
        (spoilt(&good, "role = \"main\"", "role = \"symmetric\""), "no main one", "role = \"main\""),
        (spoilt(&good, "role = \"main\"", "role = \"main\"\nchannels = [0, 2]"), "without a processor that has a path", "channels"),
        (spoilt(&good, "signal = false", "signal = false\nmain_only = [\"page_faults\"]"), "has \"page_faults\"", "did you mean page_fault?"),
        (spoilt(&good, "signal = false", "signal = false\nmain_only = [\"dispatch\"]"), "has \"dispatch\"", "it can have page_fault"),
        (spoilt(&good, "interrupts = \"starter\"", "interrupts = \"all\""), "interrupts is \"all\"", "give one of starter, any"),
        (spoilt(&good, "signalled_instructions", "signaled_instructions"), "signalled_instructions is missing", "signaled_instructions"),
        (lock("name = \"DMKFREE\"", "name = \"SYSTEM\""), "is \"SYSTEM\" again", "different names"),
        (lock("dispatch = { value = 0.2,", "dispatch = { value = 1.2,"), "dispatch is 1.2", "0 to 1"),
        (lock("queue_add = { value = 0.3,", "queue_ad = { value = 0.3,"), "queue_ad is not known", "did you mean queue_add?"),
        (lock("user_io_end = { value = 0.08,", "user_io_end = { value = 0.98,"), "makes 1.0300 of user_io_end under locks", "add up to at most 1"),
        (lock("name = \"DISPATCHER\"\nwait = \"spin\"", "name = \"DISPATCHER\"\nwait = \"suspend\""), "under a lock that suspends", "wait = \"spin\""),
        (lock("dispatch = { value = 0.2,", "dispatch = { value = 0,"), "holds nothing", "give a part above 0"),
    ];
    for (text, why, hint) in cases {
        let error = machine(&text, &[]).expect_err(why);
        assert!(error.message.contains(why), "{why}: {error}");
        assert!(error.hint.contains(hint), "{hint}: {error}");
    }
    let error = machine(&good, &[("policies.admission", "paging-rate")]).unwrap_err();
    assert!(
        error
            .message
            .contains("scheduler.paging_rate_limit_per_s is missing"),
        "{error}"
    );
    let error = machine(&good, &[("scheduler.paging_rate_limit_per_s", "80")]).unwrap_err();
    assert!(
        error.message.contains("policies.admission is \"classic\""),
        "{error}"
    );
    let sets = [
        ("scheduler.paging_rate_limit_per_s", "80"),
        ("scheduler.paging_rate_divided", "true"),
        ("policies.admission", "paging-rate"),
    ];
    let rate = machine(&good, &sets)
        .unwrap()
        .machine
        .scheduler
        .paging_rate
        .unwrap();
    assert_eq!(
        (rate.limit_per_s, rate.interval.seconds(), rate.divided),
        (80.0, 1.0, true)
    );
    let error = machine(&good, &sets[1..]).unwrap_err();
    assert!(
        error.message.contains("paging_rate_limit_per_s is missing"),
        "{error}"
    );
    let base = text(&machine_path("3081D")) + "\n[[processor]]\nrole = \"main\"\n";
    let error = machine(&base, &[]).unwrap_err();
    assert!(
        error
            .message
            .contains("processor is there, and no table [multiprocessor]"),
        "{error}"
    );
    let many = good.replace(ATTACHED, &format!("{ATTACHED}count = 16\n"));
    let error = machine(&many, &[("processors.count", "17")]).unwrap_err();
    assert!(
        error.message.contains("has 17 processors") && error.hint.contains("at most 16"),
        "{error}"
    );
}
