//! The kernel's task iterator alone: reads all tasks and makes records of them, nothing more. `iterator SAMPLES INTERVAL_MS`;
//! benches/monitor/run.py compares it with the floor.

use std::time::Duration;

use satline_monitor::ebpf::object::KernelTypes;
use satline_monitor::ebpf::tasks::TaskIterator;

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|a| a.parse::<u64>().expect("a number"));
    let samples = arguments.next().expect("usage: iterator SAMPLES INTERVAL_MS");
    let interval = Duration::from_millis(arguments.next().expect("usage: iterator SAMPLES INTERVAL_MS"));
    let loaded = KernelTypes::read().and_then(|kernel| TaskIterator::load(&kernel));
    let mut iterator = loaded.expect("the kernel's iterator, which needs root");
    let mut threads = 0;
    for sample in 0..samples {
        if sample > 0 {
            std::thread::sleep(interval);
        }
        let pass = iterator.read().expect("a whole pass");
        threads += pass
            .processes()
            .map(|(_, told)| told.threads.len())
            .sum::<usize>();
    }
    println!("{{\"threads\":{threads}}}");
}
