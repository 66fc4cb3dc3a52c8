//! What a context switch costs: two processes on one processor hand a byte to and fro.
//!
//!     switches [ROUND_TRIPS]
//!
//! Prints ns of processor time of both per switch, its wakeup and both calls included: what programs at context switches add is the
//! difference of two runs.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;

fn pin_to_first() -> std::io::Result<()> {
    // SAFETY: the set is plain data that the calls fill and read.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        let size = size_of::<libc::cpu_set_t>();
        if libc::sched_getaffinity(0, size, &mut allowed) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        let first = (0..libc::CPU_SETSIZE as usize).find(|&n| libc::CPU_ISSET(n, &allowed));
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(first.unwrap_or(0), &mut one);
        if libc::sched_setaffinity(0, size, &one) != 0 {
            return Err(std::io::Error::last_os_error());
        }
    }
    Ok(())
}

/// The ends to read from and to write to.
fn pipe() -> std::io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: the kernel makes two descriptors, and nobody else knows them.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok((File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])))
    }
}

fn cpu_ns() -> f64 {
    // SAFETY: the structure is plain data that the call fills.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time);
        time
    };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn main() -> std::io::Result<()> {
    let given = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let round_trips: u32 = given.unwrap_or(300_000);
    pin_to_first()?;
    let ((mut from_there, mut into_here), (mut from_here, mut into_there)) = (pipe()?, pipe()?);
    // SAFETY: nothing else runs in this process yet.
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(std::io::Error::last_os_error());
    }
    let mut byte = [0];
    if child == 0 {
        drop(into_there);
        while from_here.read(&mut byte)? == 1 {
            into_here.write_all(&byte)?;
        }
        // What it used, behind the last byte.
        return into_here.write_all(&cpu_ns().to_ne_bytes());
    }
    drop(into_here);
    let start = cpu_ns();
    for _ in 0..round_trips {
        into_there.write_all(&byte)?;
        from_there.read_exact(&mut byte)?;
    }
    let own = cpu_ns() - start;
    drop(into_there);
    let mut other = [0; 8];
    from_there.read_exact(&mut other)?;
    println!(
        "{:.1}",
        (own + f64::from_ne_bytes(other)) / f64::from(round_trips) / 2.0
    );
    // SAFETY: the child is ours and waited for once.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    Ok(())
}
