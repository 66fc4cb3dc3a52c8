//! What is counted of tasks.

use satline_program::parse::Stat;

use crate::ebpf::waits::Waited;

/// Counters that can be added up over tasks. Times in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    pub cpu_ns: u64,
    pub system_ns: u64,
    pub run_delay_ns: u64,
    pub io_delay_ns: u64,
    pub page_delay_ns: u64,
    pub major_faults: u64,
    pub minor_faults: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub exits: u64,
    /// By cause, where the programs at context switches tell it.
    pub waited: Waited,
}

impl Totals {
    fn zip(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            cpu_ns: f(self.cpu_ns, other.cpu_ns),
            system_ns: f(self.system_ns, other.system_ns),
            run_delay_ns: f(self.run_delay_ns, other.run_delay_ns),
            io_delay_ns: f(self.io_delay_ns, other.io_delay_ns),
            page_delay_ns: f(self.page_delay_ns, other.page_delay_ns),
            major_faults: f(self.major_faults, other.major_faults),
            minor_faults: f(self.minor_faults, other.minor_faults),
            read_bytes: f(self.read_bytes, other.read_bytes),
            write_bytes: f(self.write_bytes, other.write_bytes),
            exits: f(self.exits, other.exits),
            waited: self.waited.zip(other.waited, &f),
        }
    }

    /// Adds; a sum stays at the largest number rather than wrap.
    pub fn add(&mut self, other: Self) {
        *self = self.zip(other, u64::saturating_add);
    }

    /// What has come since `earlier`; nothing where a counter fell.
    pub fn since(self, earlier: Self) -> Self {
        self.zip(earlier, u64::saturating_sub)
    }

    /// The larger of each.
    pub fn max(self, other: Self) -> Self {
        self.zip(other, u64::max)
    }
}

/// A command name as the kernel gives it, kept in place: names change rarely and are compared at each reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    bytes: [u8; 31],
    length: u8,
}

impl Name {
    /// The first 31 bytes; only kernel workers have names that long.
    pub fn new(text: &[u8]) -> Self {
        let mut bytes = [0; 31];
        let length = text.len().min(bytes.len());
        bytes[..length].copy_from_slice(&text[..length]);
        Self {
            bytes,
            length: length as u8,
        }
    }

    /// Text for the recording; bytes that are not UTF-8 become the replacement character.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes[..usize::from(self.length)])
    }

    /// Whether it begins with this text.
    pub fn begins_with(&self, text: &[u8]) -> bool {
        self.bytes[..usize::from(self.length)].starts_with(text)
    }

    /// Whether it is this text.
    pub fn is(&self, text: &[u8]) -> bool {
        &self.bytes[..usize::from(self.length)] == text
    }
}

/// What children of a process that were waited for have used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Children {
    pub user_ticks: u64,
    pub system_ticks: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
}

impl Children {
    /// As `/proc/PID/stat` of the parent has them.
    pub fn of(parent: &Stat) -> Self {
        Self {
            user_ticks: parent.children_user_ticks,
            system_ticks: parent.children_system_ticks,
            minor_faults: parent.children_minor_faults,
            major_faults: parent.children_major_faults,
        }
    }

    fn zip(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            user_ticks: f(self.user_ticks, other.user_ticks),
            system_ticks: f(self.system_ticks, other.system_ticks),
            minor_faults: f(self.minor_faults, other.minor_faults),
            major_faults: f(self.major_faults, other.major_faults),
        }
    }

    /// What has come since `earlier`; nothing where a counter fell.
    pub fn since(self, earlier: Self) -> Self {
        self.zip(earlier, u64::saturating_sub)
    }

    /// The sum.
    pub fn plus(self, other: Self) -> Self {
        self.zip(other, u64::saturating_add)
    }
}
