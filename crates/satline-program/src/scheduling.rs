//! How the monitor and the emulator see to it that they run when a sample or a stimulus is due.

use std::io;

/// What the system allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduling {
    /// SCHED_FIFO, lowest real-time priority: before all ordinary tasks, after all other real-time ones.
    RealTime,
    /// A nice value below 0.
    Nice,
    Ordinary,
}

impl Scheduling {
    /// The word for `[methods] scheduling`.
    pub fn word(self) -> &'static str {
        match self {
            Self::RealTime => "real-time",
            Self::Nice => "nice",
            Self::Ordinary => "ordinary",
        }
    }
}

/// Takes the best that is allowed, for the calling thread only: the thread that compresses and writes has time until the
/// next sample.
pub fn prefer() -> Scheduling {
    // SAFETY: the parameters are valid; the calls concern the calling thread and its future children only.
    unsafe {
        let mut lowest: libc::sched_param = std::mem::zeroed();
        lowest.sched_priority = 1;
        if libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &lowest) == 0 {
            return Scheduling::RealTime;
        }
        // The flag is for the nice value too: children begin with 0.
        let ordinary: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, &ordinary);
        if libc::setpriority(libc::PRIO_PROCESS, 0, -20) == 0 {
            return Scheduling::Nice;
        }
    }
    Scheduling::Ordinary
}

/// Keeps the calling thread, and threads that it starts later, on these processors.
///
/// # Errors
/// None of them exists, or may be used.
pub fn pin(processors: &[usize]) -> io::Result<()> {
    let set = processor_set(processors)?;
    // SAFETY: `set` is a whole cpu_set_t.
    if unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// A set of processors, as the kernel takes it.
///
/// # Errors
/// A number is beyond what a set can hold.
pub fn processor_set(processors: &[usize]) -> io::Result<libc::cpu_set_t> {
    // SAFETY: cpu_set_t is plain bits, and every number is checked against its size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for &processor in processors {
            if processor >= libc::CPU_SETSIZE as usize {
                return Err(io::Error::from_raw_os_error(libc::EINVAL));
            }
            libc::CPU_SET(processor, &mut set);
        }
        Ok(set)
    }
}
