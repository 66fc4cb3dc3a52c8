//! The kernel's programs: objects are those of their sources, and the iterator tells what `/proc` tells.
//!
//! What needs the right to load programs says so where it is skipped.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use satline_monitor::accounting::{ExitMethod, ProcessTable, ScanOptions};
use satline_monitor::counters::Totals;
use satline_monitor::ebpf::contention::{Contention, KernelLocks};
use satline_monitor::ebpf::object::KernelTypes;
use satline_monitor::ebpf::tasks::{TaskIterator, Told};
use satline_monitor::ebpf::waits::{HeldCause, ThreadWaits, Waited, Waits};
use satline_monitor::files::{self, DescriptorBudget, Roots};
use satline_monitor::plausible::Times;
use satline_monitor::users::{UserDefinition, Users};
use satline_program::parse::{self, Stat};

/// The compiler that made them: another may write the same program differently.
const COMPILER: &str = "14";

/// Tests look at this process, its threads and its children: not while another has some of its own.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn compiler_version() -> Option<String> {
    let said = Command::new("clang").arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let behind = text.split("version ").nth(1)?;
    Some(behind.split('.').next()?.to_owned())
}

#[test]
fn objects_are_those_of_their_sources() {
    let _alone = alone();
    let Some(version) = compiler_version().filter(|_| Path::new("/usr/include/bpf/bpf_helpers.h").exists())
    else {
        eprintln!("skipped: there is no clang, or no libbpf-dev");
        return;
    };
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("ebpf");
    let made = tempfile::tempdir().unwrap();
    let built = Command::new(sources.join("build.sh"))
        .arg(made.path())
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let mut objects = 0;
    for entry in std::fs::read_dir(made.path()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        let committed = std::fs::read(sources.join(name)).unwrap();
        objects += 1;
        if version == COMPILER {
            assert!(
                committed == std::fs::read(&path).unwrap(),
                "{}: run `make ebpf`",
                name.display()
            );
        }
    }
    assert!(objects > 0);
    if version != COMPILER {
        eprintln!("compiled, but not compared: clang is {version}, not {COMPILER}");
    }
}

const NS_PER_TICK: u64 = 10_000_000;

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

/// What one source says of a process: `stat`, its name, the scheduler's counters by thread, bytes read and written.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Said {
    stat: Stat,
    name: Vec<u8>,
    threads: BTreeMap<i32, (u64, u64)>,
    traffic: (u64, u64),
}

fn said_by_kernel(told: &Told<'_>) -> Said {
    Said {
        stat: told.stat(told.times((0, 0)), NS_PER_TICK),
        name: told.threads[0].name().to_vec(),
        threads: told
            .threads
            .iter()
            .map(|t| (t.tid, (t.exec_ns, t.run_delay_ns)))
            .collect(),
        traffic: told.traffic(),
    }
}

fn said_by_proc(pid: i32) -> Option<Said> {
    let directory = Path::new("/proc").join(pid.to_string());
    let text = files::read(&directory.join("stat"))?;
    let mut stat = parse::stat(&text)?;
    let name = text[stat.name.0..stat.name.1].to_vec();
    stat.name = (0, 0);
    let mut threads = BTreeMap::new();
    for entry in std::fs::read_dir(directory.join("task")).ok()? {
        let path = entry.ok()?.path();
        let tid = path.file_name()?.to_str()?.parse().ok()?;
        let (cpu_ns, delay_ns, _) = parse::schedstat(&files::read(&path.join("schedstat"))?)?;
        threads.insert(tid, (cpu_ns, delay_ns));
    }
    let io = files::read(&directory.join("io"))?;
    let bytes = |key| u64::try_from(parse::value_of(&io, key)?).ok();
    Some(Said {
        stat,
        name,
        threads,
        traffic: (bytes("read_bytes")?, bytes("write_bytes")?),
    })
}

/// Ends a child with the test.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn all_by_kernel(iterator: &mut TaskIterator) -> BTreeMap<i32, Said> {
    let pass = iterator.read().unwrap();
    pass.processes()
        .map(|(pid, told)| (pid, said_by_kernel(&told)))
        .collect()
}

#[test]
fn the_iterator_tells_what_proc_tells() {
    let _alone = alone();
    let Some(mut iterator) = iterator() else { return };
    let worker = Command::new("sh")
        .args([
            "-c",
            "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; cat /etc/passwd | wc -l; sleep 1000",
        ])
        .stdout(Stdio::null())
        .spawn();
    let worker = Ending(worker.unwrap());
    let worked = || said_by_proc(worker.0.id() as i32).is_some_and(|s| s.stat.children_minor_faults > 0);
    while !worked() {
        std::thread::sleep(Duration::from_millis(10));
    }
    // Others move now and then: those that did not, between two passes with /proc in between, must be told alike, and there are
    // always some that did not.
    let mut compared = 0;
    for _ in 0..5 {
        let before = all_by_kernel(&mut iterator);
        let by_proc: BTreeMap<i32, Option<Said>> =
            before.keys().map(|&pid| (pid, said_by_proc(pid))).collect();
        let after = all_by_kernel(&mut iterator);
        for (pid, said) in &before {
            let (Some(Some(by_proc)), Some(after)) = (by_proc.get(pid), after.get(pid)) else {
                continue;
            };
            if said != after {
                // It moved: what only rises lies between.
                let between = |of: fn(&Said) -> u64| of(said) <= of(by_proc) && of(by_proc) <= of(after);
                if said.stat.start_ticks == after.stat.start_ticks
                    && said.threads.keys().eq(after.threads.keys())
                {
                    assert!(between(|s| s.stat.minor_faults), "{said:?} {by_proc:?} {after:?}");
                    assert!(
                        between(|s| s.threads.values().map(|t| t.0).sum()),
                        "{said:?} {by_proc:?}"
                    );
                    assert!(between(|s| s.traffic.0), "{said:?} {by_proc:?}");
                }
                continue;
            }
            let mut by_proc = by_proc.clone();
            if said.stat.kernel_thread {
                // What a worker works for stands behind its name there, and its storage is on loan.
                assert!(by_proc.name.starts_with(&said.name), "{said:?} {by_proc:?}");
                by_proc.name.clone_from(&said.name);
            }
            assert_eq!(said, &by_proc);
            compared += 1;
        }
    }
    assert!(compared >= 5, "{compared}");
}

fn table(by_kernel: Option<TaskIterator>) -> ProcessTable {
    let scan = ScanOptions {
        exits: ExitMethod::WaitedChildren,
        delays: false,
        schedstat: true,
        ns_per_tick: NS_PER_TICK,
    };
    let mut table = ProcessTable::open(Path::new("/proc"), DescriptorBudget::of(64), scan).unwrap();
    if let Some(iterator) = by_kernel {
        table.use_iterator(iterator);
    }
    table
}

fn burn(time: Duration) {
    let start = Instant::now();
    let mut pages = Vec::new();
    while start.elapsed() < time {
        pages.push(vec![1u8; 1 << 16]);
        if pages.len() > 64 {
            pages.clear();
        }
    }
}

/// Three tables scan one after the other, that by the iterator in the middle: so its totals lie between those of the others,
/// whatever moves, and whatever threads begin and end.
#[test]
fn users_are_charged_alike_while_threads_come_and_go() {
    let _alone = alone();
    let Some(iterator) = iterator() else { return };
    let list = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(list.path(), format!("{}\tme\n", std::process::id())).unwrap();
    let definition = || UserDefinition::Emulated(list.path().to_owned());
    let roots = || Roots {
        proc: "/proc".into(),
        sys: "/sys".into(),
    };
    let mut tables = [None, Some(iterator), None].map(|iterator| {
        let users = Users::new(definition(), roots(), Path::new("/etc/passwd"), 0);
        (table(iterator), users)
    });
    let start = Instant::now();
    let now = || i64::try_from(start.elapsed().as_nanos()).unwrap();
    let mut before_ns = i64::MIN;
    let mut scan = || {
        let totals = tables.each_mut().map(|(table, users)| {
            let at_ns = now();
            let times = Times {
                before_ns,
                at_ns,
                boot_ahead_ns: 0,
                clock: &now,
            };
            table.scan(users, &mut None, &times).unwrap();
            assert_eq!(table.take_iterator_failure(), None);
            let me = users.names().iter().position(|name| name == "me").unwrap();
            table.totals(me)
        });
        before_ns = now();
        totals
    };
    // The second base is made while nothing but this runs.
    scan();
    scan();
    let base = scan();
    let (sender, receiver) = mpsc::channel::<()>();
    let stays = std::thread::spawn(move || {
        burn(Duration::from_millis(50));
        receiver.recv()
    });
    for _ in 0..3 {
        let ends: Vec<_> = (0..3)
            .map(|_| std::thread::spawn(|| burn(Duration::from_millis(40))))
            .collect();
        ends.into_iter().for_each(|thread| thread.join().unwrap());
        let child = Command::new("sh")
            .args(["-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"])
            .status();
        assert!(child.unwrap().success());
        let [first, by_kernel, last] = scan();
        let gains = |place: usize, totals: Totals| totals.since(base[place]);
        let (first, by_kernel, last) = (gains(0, first), gains(1, by_kernel), gains(2, last));
        // The bases were made one after the other too: by so much may a gain be less than that of a table scanned before.
        let apart = base[2].since(base[0]);
        for (name, of) in [
            ("cpu", (|t: &Totals| t.cpu_ns) as fn(&Totals) -> u64),
            ("system", |t| t.system_ns),
            ("minor faults", |t| t.minor_faults),
            ("exits", |t| t.exits),
        ] {
            let slack = of(&apart)
                + if name == "minor faults" || name == "exits" {
                    0
                } else {
                    2 * NS_PER_TICK
                };
            let (first, by_kernel, last) = (of(&first), of(&by_kernel), of(&last));
            assert!(
                by_kernel + slack >= first && by_kernel <= last + slack,
                "{name}: {first} {by_kernel} {last}, give or take {slack}"
            );
        }
        assert!(by_kernel.cpu_ns > 0 && by_kernel.minor_faults > 0);
    }
    drop(sender);
    let _ = stays.join().unwrap();
}

/// The monotonic clock and that which starts of threads are told in, ns.
fn clock(which: libc::clockid_t) -> u64 {
    // SAFETY: the structure is plain data that the call fills.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(which, &mut time);
        time
    };
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// A thread that waits for one thing until it is let go.
struct Waiter {
    cause: &'static str,
    tid: i32,
    of: fn(&Waited) -> u64,
    thread: std::thread::JoinHandle<()>,
}

fn waiter(cause: &'static str, of: fn(&Waited) -> u64, wait: impl FnOnce() + Send + 'static) -> Waiter {
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        // SAFETY: the call only returns a number.
        sender.send(unsafe { libc::gettid() }).unwrap();
        wait();
    });
    Waiter {
        cause,
        tid: receiver.recv().unwrap(),
        of,
        thread,
    }
}

fn sleeps(tid: i32) -> bool {
    let text = files::read(&Path::new("/proc/self/task").join(tid.to_string()).join("stat"));
    text.and_then(|text| parse::stat(&text))
        .is_some_and(|stat| stat.state == b'S')
}

/// The ends to read from and to write to.
fn pipe() -> (std::fs::File, std::fs::File) {
    let mut ends = [0; 2];
    // SAFETY: the kernel makes two descriptors, and nobody else knows them.
    unsafe {
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC), 0);
        (
            std::fs::File::from_raw_fd(ends[0]),
            std::fs::File::from_raw_fd(ends[1]),
        )
    }
}

fn open_lock(path: &Path) -> std::fs::File {
    std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap()
}

fn record_lock(file: &std::fs::File) {
    // SAFETY: the structure is plain data, and the descriptor is open.
    unsafe {
        let mut lock: libc::flock = std::mem::zeroed();
        (lock.l_type, lock.l_whence) = (libc::F_WRLCK as i16, libc::SEEK_SET as i16);
        assert_eq!(libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLKW, &lock), 0);
    }
}

fn file_lock(file: &std::fs::File) {
    // SAFETY: the descriptor is open.
    assert_eq!(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) }, 0);
}

#[test]
fn waits_have_their_causes_and_add_up() {
    let _alone = alone();
    let waits = KernelTypes::read().and_then(|kernel| Waits::load(&kernel));
    let mut waits = match waits {
        Ok(waits) => waits,
        Err(refusal) => return eprintln!("skipped: {refusal}; it needs {}", refusal.need),
    };
    let Some(mut iterator) = iterator() else { return };
    let (flocked, locked) = (
        tempfile::NamedTempFile::new().unwrap(),
        tempfile::NamedTempFile::new().unwrap(),
    );
    let (held, held_too) = (open_lock(flocked.path()), open_lock(locked.path()));
    file_lock(&held);
    record_lock(&held_too);
    let mutex = Arc::new(Mutex::new(()));
    let guard = mutex.lock().unwrap();
    let (mut from_pipe, into_pipe) = pipe();
    let (mut from_socket, into_socket) = std::os::unix::net::UnixStream::pair().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut from_host = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (into_host, _) = listener.accept().unwrap();
    let (stop, stopped) = pipe();
    let (own_mutex, flock_path, lock_path) =
        (mutex.clone(), flocked.path().to_owned(), locked.path().to_owned());
    let waiters = [
        waiter("futex", |w| w.futex_ns, move || drop(own_mutex.lock())),
        waiter(
            "flock",
            |w| w.file_lock_ns,
            move || file_lock(&open_lock(&flock_path)),
        ),
        waiter(
            "fcntl",
            |w| w.file_lock_ns,
            move || record_lock(&open_lock(&lock_path)),
        ),
        waiter("pipe", |w| w.local_ns, move || _ = from_pipe.read(&mut [0])),
        waiter("socket", |w| w.local_ns, move || _ = from_socket.read(&mut [0])),
        waiter("host", |w| w.local_ns, move || _ = from_host.read(&mut [0])),
        waiter(
            "events",
            |w| w.idle_ns,
            move || {
                let mut wanted = libc::pollfd {
                    fd: stop.as_raw_fd(),
                    events: libc::POLLIN,
                    revents: 0,
                };
                // SAFETY: there is one structure.
                unsafe { libc::poll(&mut wanted, 1, -1) };
            },
        ),
    ];
    while !waiters.iter().all(|waiter| sleeps(waiter.tid)) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let asleep = Instant::now();
    std::thread::sleep(Duration::from_millis(300));
    // They sleep: nothing of theirs moves but the wait.
    let least_ns = u64::try_from(asleep.elapsed().as_nanos()).unwrap();
    let before_ns = clock(libc::CLOCK_BOOTTIME);
    let mut found = BTreeMap::new();
    let lost = waits
        .read(|thread| _ = found.insert(thread.tid, thread.waited))
        .unwrap();
    let after_ns = clock(libc::CLOCK_BOOTTIME);
    assert_eq!(lost, 0);
    let own = i32::try_from(std::process::id()).unwrap();
    let pass = iterator.read().unwrap();
    let (_, told) = pass.processes().find(|&(pid, _)| pid == own).unwrap();
    for waiter in &waiters {
        let waited = found[&waiter.tid];
        let record = told.threads.iter().find(|t| t.tid == waiter.tid).unwrap();
        let lived = (before_ns - record.start_ns, after_ns - record.start_ns);
        let wait_ns = (waiter.of)(&waited);
        assert!(
            (least_ns..=lived.1).contains(&wait_ns),
            "{}: {wait_ns} of {least_ns} to {} {waited:?}",
            waiter.cause,
            lived.1
        );
        let sum = record.exec_ns + record.run_delay_ns + waited.total_ns();
        let slack = lived.1 / 100 + 5_000_000;
        assert!(
            sum + slack >= lived.0 && sum <= lived.1 + slack,
            "{}: {sum} of {lived:?}: {record:?} {waited:?}",
            waiter.cause
        );
    }
    let tids: Vec<i32> = waiters.iter().map(|waiter| waiter.tid).collect();
    drop((guard, held, held_too, into_pipe, into_socket, into_host, stopped));
    waiters
        .into_iter()
        .for_each(|waiter| waiter.thread.join().unwrap());
    // All were let go by this process itself.
    let mut ended_by = BTreeMap::new();
    let of_own = |pid| pid == own;
    waits
        .read_pairs(|pair| {
            if of_own(pair.waiter.pid) && of_own(pair.holder.pid) {
                assert_eq!(pair.waiter.uid, pair.holder.uid);
                *ended_by.entry(pair.cause).or_insert(0) += pair.waited_ns;
            }
        })
        .unwrap();
    for (cause, count) in [
        (HeldCause::Futex, 1),
        (HeldCause::FileLock, 2),
        (HeldCause::Local, 3),
    ] {
        let ns = ended_by.get(&cause).copied().unwrap_or_default();
        assert!(ns >= count * least_ns, "{cause:?}: {ns} of {count} × {least_ns}");
    }
    waits
        .read_pairs(|pair| assert!(!of_own(pair.waiter.pid) || pair.waited_ns < least_ns))
        .unwrap();
    // Their sums are told once more, and then no longer.
    let mut ended = BTreeMap::new();
    let mut take = |thread: &ThreadWaits| {
        if thread.ended.is_some() {
            *ended.entry(thread.tid).or_insert(0) += 1;
        }
    };
    waits.read(&mut take).unwrap();
    waits.read(&mut take).unwrap();
    assert!(
        tids.iter().all(|tid| ended.get(tid) == Some(&1)),
        "{tids:?} {ended:?}"
    );
}

/// Threads that write to the end of one file wait for its lock in the kernel.
#[test]
fn waits_for_locks_of_the_kernel_are_counted() {
    const WRITERS: u64 = 4;
    let _alone = alone();
    let contention = KernelTypes::read().and_then(|kernel| Contention::load(&kernel));
    let mut contention = match contention {
        Ok(contention) => contention,
        Err(refusal) => return eprintln!("skipped: {refusal}; it needs {}", refusal.need),
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    let writing = |kinds: Vec<KernelLocks>| {
        let kind = kinds
            .into_iter()
            .find(|kind| kind.name == "kernel: semaphores, writing");
        kind.map(|kind| (kind.waited_ns, kind.count)).unwrap()
    };
    let before = writing(contention.read().unwrap().0);
    let start = Instant::now();
    // As often as it takes: whether they meet is a matter of chance.
    for round in 1.. {
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| {
                let mut own = std::fs::OpenOptions::new()
                    .append(true)
                    .open(file.path())
                    .unwrap();
                std::thread::spawn(move || {
                    let piece = vec![1u8; 1 << 18];
                    (0..20).for_each(|_| own.write_all(&piece).unwrap());
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        file.as_file().set_len(0).unwrap();
        let after = writing(contention.read().unwrap().0);
        if after.1 > before.1 && after.0 > before.0 {
            break;
        }
        assert!(round < 200, "{before:?} {after:?}");
    }
    let (kinds, _) = contention.read().unwrap();
    let most_ns = u64::try_from(start.elapsed().as_nanos()).unwrap();
    // Others on the host wait too, but not by thousands.
    for kind in kinds {
        assert!(kind.waited_ns < 1000 * most_ns, "{kind:?} in {most_ns}");
    }
}

/// A monitor that is killed leaves nothing in the kernel.
#[test]
fn nothing_stays_attached_after_a_kill() {
    let _alone = alone();
    if let Err(refusal) = KernelTypes::read().and_then(|kernel| Waits::load(&kernel)) {
        return eprintln!("skipped: {refusal}; it needs {}", refusal.need);
    }
    let directory = tempfile::tempdir().unwrap();
    let monitor = Command::new(env!("CARGO_BIN_EXE_satline-monitor"))
        .arg("--recording")
        .arg(directory.path().join("r.satline"))
        .args(["--waits", "--source", "ebpf", "--ordinary-priority"])
        .spawn();
    let mut monitor = Ending(monitor.unwrap());
    let descriptors = Path::new("/proc").join(monitor.0.id().to_string()).join("fdinfo");
    let links = || {
        let entries = std::fs::read_dir(&descriptors).into_iter().flatten().flatten();
        let told = entries.filter_map(|entry| files::read(&entry.path()));
        told.filter_map(|text| parse::value_of(&text, "link_id"))
            .collect::<Vec<_>>()
    };
    // The iterators of tasks and waits, three tracepoints, and two of locks.
    while links().len() < 7 {
        assert!(monitor.0.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(20));
    }
    let links = links();
    assert!(links.iter().all(|&link| is_there(link)));
    monitor.0.kill().unwrap();
    monitor.0.wait().unwrap();
    // The kernel takes things apart a moment later.
    let start = Instant::now();
    while links.iter().any(|&link| is_there(link)) {
        assert!(start.elapsed() < Duration::from_secs(60), "{links:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether an attachment of that number is in the kernel.
fn is_there(link: i64) -> bool {
    const LINK_GET_FD_BY_ID: libc::c_int = 30;
    let attributes = [link, 0];
    // SAFETY: the kernel reads the number and nothing else.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            LINK_GET_FD_BY_ID,
            attributes.as_ptr(),
            size_of_val(&attributes),
        )
    };
    if descriptor < 0 {
        return false;
    }
    // SAFETY: the kernel has made the descriptor for this call.
    unsafe { libc::close(i32::try_from(descriptor).unwrap()) };
    true
}

/// Without the right to load programs all goes on from `/proc`, and the recording says so; asked for, it is an error.
#[test]
fn an_ordinary_user_has_proc_and_is_told_why() {
    let _alone = alone();
    const NOBODY: u32 = 65534;
    // SAFETY: the call only returns a number.
    if unsafe { libc::geteuid() } != 0 {
        return eprintln!("skipped: only root can run the monitor as somebody else");
    }
    let directory = tempfile::tempdir().unwrap();
    let everybody = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(directory.path(), everybody).unwrap();
    // Where it was built, others may not look.
    let monitor = directory.path().join("satline-monitor");
    std::fs::copy(env!("CARGO_BIN_EXE_satline-monitor"), &monitor).unwrap();
    let run = |arguments: &[&str]| {
        Command::new(&monitor)
            .args([
                "--recording",
                "r.satline",
                "--interval",
                "100ms",
                "--duration",
                "150ms",
            ])
            .args(arguments)
            .current_dir(directory.path())
            .uid(NOBODY)
            .gid(NOBODY)
            .output()
            .unwrap()
    };
    let asked = run(&["--source", "ebpf"]);
    let said = String::from_utf8_lossy(&asked.stderr);
    assert_eq!(asked.status.code(), Some(2), "{said}");
    assert!(said.contains("CAP_BPF"), "{said}");
    let ended = run(&["--waits"]);
    assert!(
        ended.status.success(),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
    let source = std::fs::read_to_string(directory.path().join("r.satline/sources/monitor.toml")).unwrap();
    let source: toml::Table = source.parse().unwrap();
    assert_eq!(source["methods"]["tasks"].as_str(), Some("proc"));
    assert_eq!(source["fallbacks"][0]["method"].as_str(), Some("tasks: ebpf"));
    let missing = source["missing"].as_array().unwrap().iter();
    let waits = missing.filter(|m| m["signal"].as_str() == Some("user: waits by cause"));
    assert_eq!(waits.count(), 1);
}
