use proptest::prelude::*;

use super::*;

#[test]
fn states_have_the_letters_of_proc() {
    for (state, exit_state, expected) in [
        (0, 0, b'R'),
        (1, 0, b'S'),
        (2, 0, b'D'),
        (0x402, 0, b'I'),
        (4, 0, b'T'),
        (8, 0, b't'),
        (0x80, 0x10, b'X'),
        (0x80, 0x20, b'Z'),
        (0x40, 0, b'P'),
        (0x1002, 0, b'D'),
        (0x8000, 0, b'D'),
        // New, and never to be woken by anything else.
        (0x800, 0, b'R'),
    ] {
        assert_eq!(
            char::from(letter(state, exit_state)),
            char::from(expected),
            "{state:x}"
        );
    }
}

#[test]
fn time_is_divided_as_it_was_sampled_and_no_part_falls() {
    assert_eq!(divide(100, (30, 10), (0, 0)), (75, 25));
    assert_eq!(
        divide(100, (0, 0), (0, 0)),
        (100, 0),
        "never sampled: all is the user's"
    );
    assert_eq!(divide(100, (0, 5), (0, 0)), (0, 100));
    assert_eq!(divide(100, (5, 0), (0, 0)), (100, 0));
    assert_eq!(divide(100, (30, 10), (60, 40)), (60, 40), "nothing new");
    assert_eq!(
        divide(110, (100, 0), (60, 40)),
        (70, 40),
        "the kernel's part does not fall"
    );
    assert_eq!(divide(110, (0, 100), (60, 40)), (60, 50), "nor the user's");
}

/// Records as the program writes them.
fn thread_bytes(tid: u32, pid: u32, exec_ns: u64) -> Vec<u8> {
    let mut bytes = [tid, pid, 1, 0].map(u32::to_ne_bytes).concat();
    for number in [7, exec_ns, 3, 30, 10, 5, 1, 4096, 8192] {
        bytes.extend(u64::to_ne_bytes(number));
    }
    bytes.extend(b"name\0\0\0\0\0\0\0\0\0\0\0\0");
    bytes
}

fn process_bytes() -> Vec<u8> {
    let mut bytes = [1, 2, 1000, 0].map(u32::to_ne_bytes).concat();
    let mut number = 100;
    bytes.resize_with(PROCESS_BYTES, || {
        number += 1;
        0
    });
    bytes[16..24].copy_from_slice(&50u64.to_ne_bytes());
    bytes[128..136].copy_from_slice(&(-3i64).to_ne_bytes());
    bytes[136..144].copy_from_slice(&9i64.to_ne_bytes());
    bytes
}

#[test]
fn threads_stand_with_their_process_whatever_their_numbers() {
    let bytes = [
        // Numbers have begun again from below: this thread is older than its process' number says.
        thread_bytes(3, 20, 1),
        thread_bytes(10, 10, 100),
        process_bytes(),
        thread_bytes(11, 10, 200),
        thread_bytes(20, 20, 2),
        process_bytes(),
        // Its first thread was not seen.
        thread_bytes(31, 30, 5),
    ]
    .concat();
    let mut pass = Pass::default();
    pass.take(&bytes, false).unwrap();
    let seen: Vec<_> = pass
        .processes()
        .map(|(pid, told)| (pid, told.threads.iter().map(|t| t.tid).collect::<Vec<_>>()))
        .collect();
    assert_eq!(seen, [(10, vec![10, 11]), (20, vec![20, 3])]);
    let (_, told) = pass.processes().next().unwrap();
    assert_eq!(told.threads[0].name(), b"name");
    assert_eq!(told.process.resident_pages, 9, "below zero is zero");
    let times = told.times((0, 0));
    assert_eq!(times.0 + times.1, 350, "with what ended threads used");
    let stat = told.stat(times, 10);
    assert_eq!((stat.minor_faults, stat.threads, stat.session), (10, 2, 2));
    assert!(pass.take(&bytes[..50], false).is_none(), "cut off");
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let mut pass = Pass::default();
        if pass.take(&bytes, false).is_some() {
            for (_, told) in pass.processes() {
                let times = told.times((u64::MAX, 1));
                let _ = (told.stat(times, 0), told.traffic());
            }
        }
    }

    #[test]
    fn divided_time_adds_up_and_never_falls(steps in prop::collection::vec((0u64..1000, 0u64..1000, 0u64..1000), 1..20)) {
        let (mut exec, mut sampled, mut last) = (0, (0, 0), (0, 0));
        for (more, user, system) in steps {
            exec += more;
            sampled = (sampled.0 + user, sampled.1 + system);
            let now = divide(exec, sampled, last);
            prop_assert_eq!(now.0 + now.1, exec);
            prop_assert!(now.0 >= last.0 && now.1 >= last.1);
            last = now;
        }
    }
}

/// The iterator, or why this host does not let it be tried.
fn iterator() -> Option<TaskIterator> {
    match KernelTypes::read().and_then(|kernel| TaskIterator::load(&kernel)) {
        Ok(iterator) => Some(iterator),
        Err(refusal) => {
            eprintln!("skipped: {refusal}; it needs {}", refusal.need);
            None
        }
    }
}

#[test]
fn the_kernel_tells_of_this_process() {
    let Some(mut iterator) = iterator() else { return };
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || receiver.recv());
    let own = i32::try_from(std::process::id()).unwrap();
    let pass = iterator.read().unwrap();
    let (_, told) = pass.processes().find(|&(pid, _)| pid == own).unwrap();
    assert!(told.threads.len() >= 2);
    assert_eq!(told.threads[0].tid, own);
    drop(sender);
    let _ = thread.join().unwrap();
}

#[test]
fn waits_come_behind_the_record_of_a_thread() {
    let mut bytes = thread_bytes(7, 7, 1000);
    bytes.extend(process_bytes());
    bytes.extend(2_u64.to_ne_bytes());
    // Idle (the seventh cause) since 100, until 150; 40 ns of pages before.
    for number in [6, 100, 150, 40, 0, 0, 0, 0, 0, 5, 0, 0, u64::MAX] {
        bytes.extend(u64::to_ne_bytes(number));
    }
    bytes.extend(thread_bytes(8, 7, 1000));
    bytes.extend(1_u64.to_ne_bytes());
    bytes.extend(thread_bytes(9, 7, 1000));
    bytes.extend(0_u64.to_ne_bytes());
    let mut pass = Pass::default();
    pass.take(&bytes, true).unwrap();
    let (_, told) = pass.processes().next().unwrap();
    let marks: Vec<_> = told.threads.iter().map(|thread| thread.waits).collect();
    assert_eq!(marks, [WaitsTold::Sums(0), WaitsTold::GoesOn, WaitsTold::Nothing]);
    let mut sums = told.waits[0];
    let total = sums.total();
    assert_eq!((total.page_ns, total.idle_ns, total.quota_ns), (40, 55, 0));
    let wait = sums.under_way.as_mut().unwrap();
    assert_eq!(wait.go_on(170).idle_ns, 20);
    assert_eq!(wait.go_on(160).idle_ns, 0, "never backwards");
    assert_eq!(wait.go_on(171).idle_ns, 1);
    for end in [10, bytes.len() - 3] {
        assert!(pass.take(&bytes[..end], true).is_none(), "cut off at {end}");
    }
}
