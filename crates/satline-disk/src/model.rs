//! How long a request takes: pure functions of time, place and length, in nanoseconds.

use clap::Args;

const SECOND_NS: f64 = 1e9;

/// A request as the disk sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    pub offset: u64,
    pub bytes: u32,
    pub write: bool,
}

/// A disk that takes requests, and says which waiting one it serves next and when that one is done.
#[derive(Clone, Debug)]
pub enum Disk {
    Network(NetworkDisk),
    Rotating(RotatingDisk),
}

impl Disk {
    /// When the disk can begin another request.
    pub fn free_ns(&self) -> u64 {
        match self {
            Disk::Network(disk) => disk.free_ns,
            Disk::Rotating(disk) => disk.free_ns,
        }
    }

    /// Which of the waiting requests, in order of arrival, comes next.
    pub fn next(&self, waiting: &[Request]) -> usize {
        match self {
            Disk::Network(_) => 0,
            Disk::Rotating(disk) => disk.next(waiting),
        }
    }

    /// Begins a request at `now_ns`, which is not before `free_ns`; when it is done.
    pub fn begin(&mut self, now_ns: u64, request: Request) -> u64 {
        match self {
            Disk::Network(disk) => disk.begin(now_ns, request),
            Disk::Rotating(disk) => disk.begin(now_ns, request),
        }
    }
}

fn above_zero(value: f64, flag: &str) -> Result<f64, String> {
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(format!("--{flag} {value} is not above 0"))
    }
}

/// A disk behind a network, as clouds sell them.
#[derive(Args, Clone, Debug)]
pub struct Network {
    /// Time of each request, which any number may spend at once
    #[arg(long, value_name = "US", default_value_t = 300.0)]
    latency_us: f64,
    /// The same of a write, where it is another: an array with parity reads before it writes
    #[arg(long, value_name = "US")]
    write_latency_us: Option<f64>,
    /// Requests begun per second; one of more than 256 KiB counts as several
    #[arg(long, value_name = "N", default_value_t = 3000.0)]
    iops: f64,
    /// Bytes per second
    #[arg(long, value_name = "N", default_value_t = 125e6)]
    bytes_per_second: f64,
}

impl Network {
    pub fn disk(&self) -> Result<Disk, String> {
        let latency_ns = above_zero(self.latency_us, "latency-us")? * 1e3;
        let write_latency_ns = match self.write_latency_us {
            Some(latency_us) => above_zero(latency_us, "write-latency-us")? * 1e3,
            None => latency_ns,
        };
        Ok(Disk::Network(NetworkDisk {
            latency_ns,
            write_latency_ns,
            io_ns: SECOND_NS / above_zero(self.iops, "iops")?,
            byte_ns: SECOND_NS / above_zero(self.bytes_per_second, "bytes-per-second")?,
            free_ns: 0,
        }))
    }
}

/// Largest request that counts as one against the limit.
const ONE_IO_BYTES: u32 = 256 << 10;

#[derive(Clone, Debug)]
pub struct NetworkDisk {
    latency_ns: f64,
    write_latency_ns: f64,
    io_ns: f64,
    byte_ns: f64,
    free_ns: u64,
}

impl NetworkDisk {
    fn begin(&mut self, now_ns: u64, request: Request) -> u64 {
        let ios = f64::from(request.bytes.div_ceil(ONE_IO_BYTES).max(1));
        let transfer_ns = f64::from(request.bytes) * self.byte_ns;
        self.free_ns = now_ns + (ios * self.io_ns).max(transfer_ns) as u64;
        let latency_ns = if request.write {
            self.write_latency_ns
        } else {
            self.latency_ns
        };
        now_ns + (latency_ns + transfer_ns) as u64
    }
}

/// A disk of turning platters with one arm. A queue is served in one sweep upwards, then from the lowest again.
#[derive(Args, Clone, Debug)]
pub struct Rotating {
    /// Turns per minute
    #[arg(long, value_name = "N", default_value_t = 7200.0)]
    rpm: f64,
    /// Bytes that pass the head in a turn
    #[arg(long, value_name = "N", default_value_t = 1e6)]
    track_bytes: f64,
    /// The shortest seek
    #[arg(long, value_name = "MS", default_value_t = 0.8)]
    settle_ms: f64,
    /// Further time of a seek over the whole disk; over a part of it, times the square root of that part
    #[arg(long, value_name = "MS", default_value_t = 15.0)]
    stroke_ms: f64,
    /// Size of the whole disk, of which this one is the beginning
    #[arg(long, value_name = "N", default_value_t = 1e12)]
    whole_bytes: f64,
}

impl Rotating {
    pub fn disk(&self) -> Result<Disk, String> {
        Ok(Disk::Rotating(RotatingDisk {
            turn_ns: 60.0 * SECOND_NS / above_zero(self.rpm, "rpm")?,
            track_bytes: above_zero(self.track_bytes, "track-bytes")?,
            settle_ns: above_zero(self.settle_ms, "settle-ms")? * 1e6,
            stroke_ns: above_zero(self.stroke_ms, "stroke-ms")? * 1e6,
            whole_bytes: above_zero(self.whole_bytes, "whole-bytes")?,
            head: 0,
            free_ns: 0,
        }))
    }
}

#[derive(Clone, Debug)]
pub struct RotatingDisk {
    turn_ns: f64,
    track_bytes: f64,
    settle_ns: f64,
    stroke_ns: f64,
    whole_bytes: f64,
    head: u64,
    free_ns: u64,
}

impl RotatingDisk {
    fn next(&self, waiting: &[Request]) -> usize {
        let places = waiting.iter().enumerate();
        // One that the head has passed waits for the next sweep.
        let found = places.min_by_key(|(_, request)| (request.offset < self.head, request.offset));
        found.map_or(0, |(place, _)| place)
    }

    fn begin(&mut self, now_ns: u64, request: Request) -> u64 {
        let place = (request.offset as f64 % self.track_bytes) / self.track_bytes;
        let ahead = request.offset.checked_sub(self.head).map(|bytes| bytes as f64);
        let positioning_ns = match ahead {
            // The head reads on into the drive's buffer while nothing else is asked for.
            Some(bytes) if bytes < self.track_bytes => {
                let idle_ns = now_ns.saturating_sub(self.free_ns) as f64;
                (bytes / self.track_bytes * self.turn_ns - idle_ns).max(0.0)
            }
            _ => {
                let distance = request.offset.abs_diff(self.head) as f64 / self.whole_bytes;
                let seek_ns = self.settle_ns + self.stroke_ns * distance.min(1.0).sqrt();
                let angle = ((now_ns as f64 + seek_ns) % self.turn_ns) / self.turn_ns;
                seek_ns + (place - angle).rem_euclid(1.0) * self.turn_ns
            }
        };
        let transfer_ns = f64::from(request.bytes) / self.track_bytes * self.turn_ns;
        self.head = request.offset + u64::from(request.bytes);
        self.free_ns = now_ns + (positioning_ns + transfer_ns) as u64;
        self.free_ns
    }
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
