//! A /proc and /sys that the test has made, and a clock that it moves.

use std::cell::Cell;
use std::fs;
use std::path::Path;

use clap::Parser;
use satline_monitor::clockwork::Clock;
use satline_monitor::monitor::{End, Monitor};
use satline_monitor::options::Options;

/// Jumps to whatever is waited for, and then lets the test change the host.
pub struct FalseClock<'a> {
    pub now_ns: Cell<i64>,
    pub at_second: &'a dyn Fn(i64),
}

pub const SECOND: i64 = 1_000_000_000;

impl Clock for FalseClock<'_> {
    fn monotonic_ns(&self) -> i64 {
        self.now_ns.get()
    }

    fn real_ns(&self) -> i64 {
        // From the third second on the clock is five seconds ahead.
        let step = if self.now_ns.get() >= 103 * SECOND {
            5 * SECOND
        } else {
            0
        };
        1_795_251_600 * SECOND + self.now_ns.get() + step
    }

    fn sleep_until(&self, monotonic_ns: i64) {
        self.now_ns.set(monotonic_ns);
        (self.at_second)(monotonic_ns / SECOND - 100);
    }
}

pub fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

const STAT: &str = "cpu  1 2 3\ncpu0 1000 200 300 4000 50 6 7 8 90 10\ncpu1 1 2 3 4 5 6 7 8 0 0\nintr 321 0 5\n\
    ctxt 1234\nbtime 1\nprocesses 55\nprocs_running 2\nprocs_blocked 1\n";
const MEMINFO: &str = "MemTotal: 1000 kB\nMemFree: 200 kB\nMemAvailable: 300 kB\nBuffers: 10 kB\nCached: 20 kB\n\
    SwapCached: 1 kB\nAnonPages: 30 kB\nDirty: 4 kB\nSlab: 50 kB\nSwapTotal: 600 kB\nSwapFree: 500 kB\n";
const VMSTAT: &str = "pswpin 1\npswpout 2\npgfault 3\npgmajfault 4\npgpgin 5\npgpgout 6\nworkingset_refault_anon 7\n\
    workingset_refault_file 8\npgsteal_kswapd 9\npgsteal_direct 10\npgscan_direct 11\noom_kill 12\nzswpin 13\nzswpout 14\n";

/// Fields of a stat line that the test sets; the kernel's order is kept here alone.
#[derive(Clone, Copy, Default)]
struct Task {
    state: char,
    parent: i32,
    flags: u64,
    minor: u64,
    major: u64,
    utime: u64,
    stime: u64,
    child_minor: u64,
    cutime: u64,
    threads: u64,
    start: u64,
    rss: u64,
}

fn put_task(root: &Path, directory: &str, name: &str, task: Task, cpu_ns: u64, delay_ns: u64) {
    let Task {
        state,
        parent,
        flags,
        minor,
        major,
        utime,
        stime,
        child_minor,
        cutime,
        threads,
        start,
        rss,
    } = task;
    let stat = format!(
        "1 ({name}) {state} {parent} 1 1 0 -1 {flags} {minor} {child_minor} {major} 0 {utime} {stime} {cutime} 0 20 0 \
         {threads} 0 {start} 9999 {rss} 1 1\n"
    );
    put(root, &format!("{directory}/stat"), &stat);
    put(
        root,
        &format!("{directory}/schedstat"),
        &format!("{cpu_ns} {delay_ns} 7\n"),
    );
}

pub fn false_host(root: &Path) {
    let proc = root.join("proc");
    put(&proc, "stat", STAT);
    put(&proc, "meminfo", MEMINFO);
    put(&proc, "vmstat", VMSTAT);
    put(&proc, "loadavg", "1.25 0.50 0.10 2/345 999\n");
    put(
        &proc,
        "pressure/cpu",
        "some avg10=0 avg60=0 avg300=0 total=101\nfull avg10=0 total=9\n",
    );
    put(
        &proc,
        "pressure/memory",
        "some avg10=0 total=102\nfull avg10=0 total=103\n",
    );
    put(
        &proc,
        "pressure/io",
        "some avg10=0 total=104\nfull avg10=0 total=105\n",
    );
    put(
        &proc,
        "locks",
        "1: POSIX  ADVISORY  WRITE 50 fe:00:77 0 EOF\n1: -> POSIX  ADVISORY  WRITE 50 fe:00:77 0 EOF\n",
    );
    put(&proc, "self/schedstat", "1 1 1\n");
    put(&proc, "self/statm", "100 25 1 1 0 1 0\n");
    put(&proc, "sys/kernel/hostname", "false\n");
    put(
        &proc,
        "diskstats",
        "254 0 vda 1 2 3 4 5 6 7 8 9 10 11 12 13\n254 1 vda1 1 2 3 4 5 6 7 8 9 10 11\n\
        7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n253 0 zram0 21 0 22 23 24 0 25 26 27 28 29\n",
    );
    for name in ["vda", "loop0", "zram0"] {
        fs::create_dir_all(root.join("sys/block").join(name)).unwrap();
    }
    put(root, "sys/block/zram0/disksize", "8192\n");
    put(root, "sys/block/zram0/mm_stat", "4000 2000 3000 0 3000 0 0 0 0\n");
    put(
        &proc,
        "swaps",
        "Filename Type Size Used Priority\n/var/my\\040swap file 100 40 -2\n",
    );
    put(
        &proc,
        "net/dev",
        "Inter-| Receive | Transmit\n face |bytes packets errs\n  eth0: 11 12 1 2 0 0 0 0 13 14 3 4 0 0 0 0\n\
        ifb0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
    );
    let mounts = ["cpu", "cpuacct", "memory", "blkio"]
        .map(|c| format!("cgroup /sys/fs/cgroup/{c} cgroup rw,{c} 0 0\n"));
    put(
        &proc,
        "mounts",
        &format!(
            "{}cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
            mounts.concat()
        ),
    );
    let groups = root.join("sys/fs/cgroup");
    for (path, text) in [
        ("cpuacct/load/cpuacct.usage", "1000000\n"),
        ("cpuacct/load/cpuacct.usage_user", "600000\n"),
        ("cpuacct/load/cpuacct.usage_sys", "400000\n"),
        (
            "cpu/load/cpu.stat",
            "nr_periods 5\nnr_throttled 2\nthrottled_time 7000\n",
        ),
        ("cpu/load/cpu.cfs_quota_us", "25000\n"),
        ("cpu/load/cpu.cfs_period_us", "100000\n"),
        ("memory/load/memory.usage_in_bytes", "111\n"),
        ("memory/load/memory.limit_in_bytes", "222\n"),
        ("memory/load/memory.failcnt", "3\n"),
        (
            "memory/load/memory.stat",
            "cache 0\nrss 0\ntotal_swap 4\ntotal_rss 5\ntotal_cache 6\ntotal_pgmajfault 7\n\
            total_workingset_refault_anon 8\ntotal_workingset_refault_file 9\n",
        ),
        (
            "blkio/load/blkio.throttle.io_serviced_recursive",
            "254:0 Read 1\n254:0 Write 2\n7:0 Read 3\nTotal 6\n",
        ),
        (
            "blkio/load/blkio.throttle.io_service_bytes",
            "254:0 Read 10\n254:0 Write 20\nTotal 30\n",
        ),
        (
            "blkio/load/blkio.throttle.read_iops_device",
            "254:0 500\n7:0 400\n",
        ),
        ("blkio/load/blkio.throttle.read_bps_device", "254:0 1000\n"),
        ("blkio/load/blkio.throttle.write_bps_device", "254:0 2000\n"),
        ("cpu/limited/cpu.cfs_quota_us", "50000\n"),
        ("cpu/limited/cpu.cfs_period_us", "100000\n"),
        ("cpu/limited/cgroup.procs", "50\n"),
        ("unified/load/cpu.pressure", "some total=61\n"),
        ("unified/load/memory.pressure", "some total=62\nfull total=63\n"),
        ("unified/load/io.pressure", "some total=64\nfull total=65\n"),
    ] {
        put(&groups, path, text);
    }
    put(root, "etc/passwd", "root:x:0:0::/:/bin/sh\n");
    put(root, "etc/os-release", "PRETTY_NAME=\"False 1\"\n");
}

const SHELL: Task = Task {
    state: 'S',
    parent: 1,
    flags: 0,
    minor: 100,
    major: 10,
    utime: 50,
    stime: 20,
    child_minor: 0,
    cutime: 0,
    threads: 1,
    start: 300,
    rss: 4,
};

/// Second 0: a shell with history. 1: it has used more and waits for a page; a server of two threads appears, and a kernel
/// thread. 2: the server's main thread has been busy; the shell has waited for a child nobody saw. 3: the server is gone.
pub fn second(root: &Path, second: i64) {
    let proc = root.join("proc");
    match second {
        0 => {
            put_task(&proc, "50", "sh", SHELL, 700_000_000, 5_000_000);
            put(&proc, "50/io", "rchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\n");
        }
        1 => {
            let shell = Task {
                state: 'D',
                minor: 130,
                major: 12,
                utime: 60,
                stime: 25,
                ..SHELL
            };
            put_task(&proc, "50", "sh", shell, 850_000_000, 7_000_000);
            put(&proc, "50/io", "rchar: 1\nread_bytes: 12288\nwrite_bytes: 8192\n");
            let server = Task {
                state: 'R',
                parent: 50,
                minor: 9,
                utime: 3,
                stime: 1,
                threads: 2,
                start: 900,
                rss: 2,
                ..SHELL
            };
            put_task(&proc, "60", "se(rv) er", server, 30_000_000, 1_000_000);
            put_task(&proc, "60/task/60", "se(rv) er", server, 30_000_000, 1_000_000);
            put_task(
                &proc,
                "60/task/61",
                "worker",
                Task {
                    state: 'S',
                    start: 901,
                    ..server
                },
                10_000_000,
                2_000_000,
            );
            put(&proc, "60/io", "read_bytes: 0\nwrite_bytes: 0\n");
            put_task(
                &proc,
                "2",
                "kthreadd",
                Task {
                    flags: 0x20_0000,
                    parent: 0,
                    ..SHELL
                },
                5,
                5,
            );
        }
        2 => {
            // In uninterruptible wait without a page fault or a block read: as who writes to a full disk.
            let shell = Task {
                state: 'D',
                minor: 130,
                major: 12,
                utime: 60,
                stime: 25,
                child_minor: 6,
                cutime: 8,
                ..SHELL
            };
            put_task(&proc, "50", "sh", shell, 850_000_000, 7_000_000);
            let server = Task {
                state: 'R',
                parent: 50,
                minor: 9,
                utime: 43,
                stime: 1,
                threads: 2,
                start: 900,
                rss: 2,
                ..SHELL
            };
            put_task(&proc, "60", "se(rv) er", server, 430_000_000, 1_000_000);
            put_task(&proc, "60/task/60", "se(rv) er", server, 430_000_000, 1_000_000);
        }
        3 => fs::remove_dir_all(proc.join("60")).unwrap(),
        _ => {}
    }
}

pub fn record(root: &Path, seconds: &str, extra: &[&str]) -> End {
    let path = |name: &str| root.join(name).display().to_string();
    let (recording, proc, sys, etc) = (path("r.satline"), path("proc"), path("sys"), path("etc"));
    let fixed = [
        "satline-monitor",
        "--recording",
        &recording,
        "--proc",
        &proc,
        "--sys",
        &sys,
        "--etc",
        &etc,
        "--duration",
        seconds,
        "--ordinary-priority",
    ];
    let options = Options::parse_from(fixed.iter().chain(extra));
    let clock = FalseClock {
        now_ns: Cell::new(100 * SECOND),
        at_second: &|n| second(root, n),
    };
    Monitor::open(options, clock).unwrap().run(|| None).unwrap()
}
