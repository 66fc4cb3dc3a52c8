//! Where users' I/O goes: file devices by skew, and a user's place on them.

use rand::RngExt;
use satline_program::Error;

use crate::configuration::{Machine, Role, TransactionKind};
use crate::devices::{MAX_PAGES, Pages, Request};
use crate::engine::Stream;

/// A device that holds files.
#[derive(Debug)]
pub struct FileDevice {
    /// Its place in the machine's devices.
    pub unit: usize,
    /// First cylinder and number, of those that no page area takes.
    cylinders: Vec<(u32, u32)>,
    count: u32,
    slots: u32,
}

impl FileDevice {
    /// The file devices of a machine, in its order.
    pub fn all(machine: &Machine) -> Vec<Self> {
        let files = |unit: &usize| machine.devices[*unit].role != Role::Paging;
        (0..machine.devices.len())
            .filter(files)
            .map(|unit| {
                let cylinders = file_cylinders(machine, unit);
                Self {
                    unit,
                    count: cylinders.iter().map(|range| range.1).sum(),
                    cylinders,
                    slots: machine.devices[unit].model.slots_per_cylinder(),
                }
            })
            .filter(|device| device.count > 0)
            .collect()
    }

    /// The n-th cylinder that holds files.
    fn cylinder(&self, mut n: u32) -> u32 {
        for &(first, count) in &self.cylinders {
            if n < count {
                return first + n;
            }
            n -= count;
        }
        unreachable!("within the file cylinders")
    }
}

/// Runs of cylinders, (first, number), that no page area takes.
fn file_cylinders(machine: &Machine, unit: usize) -> Vec<(u32, u32)> {
    let mut areas: Vec<(u32, u32)> = machine
        .paging
        .areas
        .iter()
        .filter(|area| area.device == unit)
        .map(|area| {
            (
                area.first_cylinder,
                area.first_cylinder.saturating_add(area.cylinders),
            )
        })
        .collect();
    areas.sort_unstable();
    let end = machine.devices[unit].model.cylinders();
    areas.push((end, end));
    let mut from = 0;
    let mut free = Vec::new();
    for (first, next) in areas {
        if first > from {
            free.push((from, first - from));
        }
        from = from.max(next);
    }
    free
}

/// The I/O of a kind of transaction.
#[derive(Debug)]
pub struct Pattern {
    /// Of the file devices in order: weights of each and those before it, as a part of all.
    reached: Vec<f64>,
    span_cylinders: u32,
    blocks: u32,
}

impl Pattern {
    /// # Errors
    /// There is I/O and no device for it, or its blocks are too many.
    pub fn new(machine: &Machine, class: &str, kind: &TransactionKind) -> Result<Self, Error> {
        let place = || format!("class {class:?}, transaction {:?}", kind.name);
        let files = FileDevice::all(machine);
        if kind.cpu_between_ios.is_some() {
            if files.is_empty() {
                return Err(Error::input(
                    format!(
                        "{} does I/O, and machine {:?} has no device for files",
                        place(),
                        machine.name
                    ),
                    "add a device with role \"files\", or leave cpu_between_ios out",
                ));
            }
            let most = files
                .iter()
                .map(|device| device.slots as usize)
                .min()
                .unwrap_or(0)
                .min(MAX_PAGES);
            if !(1..=most).contains(&(kind.io.blocks as usize)) {
                return Err(Error::input(
                    format!("{}: {} blocks in one I/O", place(), kind.io.blocks),
                    format!("on this machine's file devices 1 to {most} are possible"),
                ));
            }
        }
        let weights: Vec<f64> = (1..=files.len())
            .map(|rank| (rank as f64).powf(-kind.io.skew))
            .collect();
        let total: f64 = weights.iter().sum();
        let reached = weights.iter().scan(0.0, |sum, weight| {
            *sum += weight / total;
            Some(*sum)
        });
        Ok(Self {
            reached: reached.collect(),
            span_cylinders: kind.io.span_cylinders.max(1),
            blocks: kind.io.blocks,
        })
    }

    /// The next I/O of a user whose files begin at this part of a device: which of the devices, and the request.
    #[inline]
    pub fn draw(&self, devices: &[FileDevice], home: f64, tag: u32, stream: &mut Stream) -> (usize, Request) {
        let wanted: f64 = stream.random();
        let found = self.reached.iter().position(|reached| wanted < *reached);
        let which = found.unwrap_or(devices.len() - 1);
        let device = &devices[which];
        let span = self.span_cylinders.min(device.count);
        let begin = (home * f64::from(device.count - span + 1)) as u32;
        let cylinder = device.cylinder(begin + stream.random_range(0..span));
        let slot = stream.random_range(0..=device.slots - self.blocks);
        let request = Request {
            tag,
            cylinder,
            pages: Pages::block(slot as u16, self.blocks as usize),
        };
        (which, request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Streams;

    #[test]
    fn files_lie_around_the_page_areas() {
        let device = FileDevice {
            unit: 0,
            cylinders: vec![(0, 3), (10, 2)],
            count: 5,
            slots: 24,
        };
        let all: Vec<u32> = (0..5).map(|n| device.cylinder(n)).collect();
        assert_eq!(all, [0, 1, 2, 10, 11]);
    }

    #[test]
    fn a_users_requests_stay_within_his_span() {
        let device = FileDevice {
            unit: 0,
            cylinders: vec![(100, 50)],
            count: 50,
            slots: 24,
        };
        let pattern = Pattern {
            reached: vec![1.0],
            span_cylinders: 5,
            blocks: 4,
        };
        let mut stream = Streams::new(1, 0).stream(0, "io place");
        for (home, first) in [(0.0, 100), (0.5, 123), (0.999, 145)] {
            for _ in 0..200 {
                let (_, request) = pattern.draw(std::slice::from_ref(&device), home, 1, &mut stream);
                assert!((first..first + 5).contains(&request.cylinder), "{request:?}");
                assert!(request.pages.slots().iter().all(|&slot| slot < 24));
            }
        }
    }
}
