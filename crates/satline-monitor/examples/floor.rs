//! The floor under any monitor of processes: read `/proc/PID/stat` and `schedstat` of all with kept descriptors, make
//! nothing of them. `floor SAMPLES INTERVAL_MS`; benches/monitor/run.py compares.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|a| a.parse::<u64>().expect("a number"));
    let samples = arguments.next().expect("usage: floor SAMPLES INTERVAL_MS");
    let interval = Duration::from_millis(arguments.next().expect("usage: floor SAMPLES INTERVAL_MS"));
    raise_limit();
    let mut files = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
        if entry
            .file_name()
            .to_string_lossy()
            .bytes()
            .all(|b| b.is_ascii_digit())
        {
            // A process that has ended meanwhile is left out.
            files.extend(
                ["stat", "schedstat"]
                    .iter()
                    .filter_map(|n| File::open(entry.path().join(n)).ok()),
            );
        }
    }
    let mut buffer = [0u8; 4096];
    let mut bytes = 0;
    for sample in 0..samples {
        if sample > 0 {
            std::thread::sleep(interval);
        }
        bytes += files
            .iter()
            .map(|file| file.read_at(&mut buffer, 0).unwrap_or(0))
            .sum::<usize>();
    }
    println!("{{\"files\":{},\"bytes\":{bytes}}}", files.len());
}

fn raise_limit() {
    // SAFETY: `limit` is valid for both calls.
    unsafe {
        let mut limit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
    }
}
