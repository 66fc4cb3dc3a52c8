//! Clocks: real elapsed time, the process's own processor time, another process's processor time.

use libc::{clockid_t, timespec};

/// Reads `clock` in nanoseconds; `None` if the kernel does not have it (the process has gone).
pub fn read_ns(clock: clockid_t) -> Option<u64> {
    let mut time = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the answer.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) } != 0;
    (!failed).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub fn elapsed_ns() -> u64 {
    read_ns(libc::CLOCK_MONOTONIC).expect("every Linux has CLOCK_MONOTONIC")
}

/// Processor time of this process in nanoseconds.
pub fn own_cpu_ns() -> u64 {
    read_ns(libc::CLOCK_PROCESS_CPUTIME_ID).expect("every Linux has CLOCK_PROCESS_CPUTIME_ID")
}

/// Processor time of the process `pid` in nanoseconds; `None` once it has gone.
pub fn cpu_ns_of(pid: libc::pid_t) -> Option<u64> {
    let mut clock: clockid_t = 0;
    // SAFETY: `clock` is a valid place for the answer.
    if unsafe { libc::clock_getcpuclockid(pid, &mut clock) } != 0 {
        return None;
    }
    read_ns(clock)
}
