//! Prints the lines that end at this host's terminals, for so many seconds: `terminals [SECONDS]`. Needs root.

use std::path::Path;
use std::time::{Duration, Instant};

use satline_monitor::ebpf::object::KernelTypes;
use satline_monitor::ebpf::terminals::Terminals;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(10), |text| text.parse())?;
    let mut terminals = Terminals::load(&KernelTypes::read()?, true)?;
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(200));
        let lost = terminals.read(|line| println!("{line:?}"))?;
        if lost > 0 {
            println!("lost: {lost}");
        }
    }
    terminals.forget(Path::new("/proc"), true, |line| println!("under way: {line:?}"))?;
    Ok(())
}
