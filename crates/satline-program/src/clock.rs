//! The kernel's clocks.

use libc::{clockid_t, timespec};

/// Nanoseconds in a second.
pub const SECOND_NS: i64 = 1_000_000_000;

/// `None`: the kernel does not have it, or the process whose time it is has gone.
fn read_ns(clock: clockid_t) -> Option<i64> {
    let mut time = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the answer.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) } != 0;
    (!failed).then_some(time.tv_sec * SECOND_NS + time.tv_nsec)
}

fn certain_ns(clock: clockid_t) -> i64 {
    read_ns(clock).expect("every Linux has this clock")
}

/// CLOCK_MONOTONIC, ns.
pub fn monotonic_ns() -> i64 {
    certain_ns(libc::CLOCK_MONOTONIC)
}

/// CLOCK_BOOTTIME, ns: monotonic time and the time for which the host was suspended.
pub fn boot_ns() -> i64 {
    certain_ns(libc::CLOCK_BOOTTIME)
}

/// Real time, ns since 1970-01-01 UTC.
pub fn real_ns() -> i64 {
    certain_ns(libc::CLOCK_REALTIME)
}

/// Processor time of this process so far, ns.
pub fn own_cpu_ns() -> i64 {
    certain_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Processor time of this process so far, µs.
pub fn own_cpu_us() -> i64 {
    own_cpu_ns() / 1000
}

/// Processor time of another process so far, µs; `None`: it has gone.
pub fn cpu_us_of(pid: libc::pid_t) -> Option<i64> {
    cpu_ns_of(pid).map(|ns| ns / 1000)
}

/// The same in ns.
pub fn cpu_ns_of(pid: libc::pid_t) -> Option<i64> {
    let mut clock: clockid_t = 0;
    // SAFETY: `clock` is a valid place for the answer.
    let found = unsafe { libc::clock_getcpuclockid(pid, &mut clock) } == 0;
    found.then_some(clock).and_then(read_ns)
}

/// Seconds as nanoseconds; not-a-number and negative are 0.
pub fn seconds_to_ns(seconds: f64) -> i64 {
    (seconds.max(0.0) * SECOND_NS as f64) as i64
}
