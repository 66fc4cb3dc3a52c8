//! The clocks that stamp stimulus and response.

/// Nanoseconds in a second.
pub const SECOND_NS: i64 = 1_000_000_000;

fn read(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec; the three clocks used here exist on every Linux.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec * SECOND_NS + time.tv_nsec
}

/// CLOCK_MONOTONIC, ns.
pub fn monotonic_ns() -> i64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Real time, ns since 1970-01-01 UTC.
pub fn real_ns() -> i64 {
    read(libc::CLOCK_REALTIME)
}

/// Processor time of this process so far, us.
pub fn process_cpu_us() -> i64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID) / 1000
}

/// Processor time of another process so far, us; None: it is gone.
pub fn cpu_us_of(pid: i32) -> Option<i64> {
    let (mut clock, mut time) = (
        0,
        libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        },
    );
    // SAFETY: both pointers are valid; a process that is gone is an error.
    let found = unsafe {
        libc::clock_getcpuclockid(pid, &mut clock) == 0 && libc::clock_gettime(clock, &mut time) == 0
    };
    found.then(|| (time.tv_sec * SECOND_NS + time.tv_nsec) / 1000)
}

/// Seconds as nanoseconds; not-a-number and negative are 0.
pub fn seconds_to_ns(seconds: f64) -> i64 {
    (seconds.max(0.0) * SECOND_NS as f64) as i64
}
