//! What a run has added up to so far: all that measures are made of.

use crate::engine::Time;
use crate::readings::{
    ChannelReading, DeviceReading, LockReading, ProcessorReading, Reading, SystemReading, TransactionRecord,
};

/// Sums from the start of the run to `time`.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    pub time: Time,
    pub processors: usize,
    pub system: SystemReading,
    /// Over all processors.
    pub processor: ProcessorReading,
    /// Each by itself, where processors differ or there are locks.
    pub each: Vec<ProcessorReading>,
    /// By lock, over all processors.
    pub locks: Vec<LockReading>,
    pub devices: Vec<DeviceReading>,
    pub channels: Vec<ChannelReading>,
    pub users: UserTotals,
    pub completed: Completed,
    pub io_service: IoService,
}

/// Over all users, background programs excepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UserTotals {
    pub run_ns: u128,
    pub cpu_wait_ns: u128,
    pub page_wait_ns: u128,
    pub io_wait_ns: u128,
    pub eligible_ns: u128,
    pub ios: u64,
}

/// Transactions that ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Completed {
    pub count: u64,
    pub interactive: u64,
    pub response_ns: u128,
    pub interactive_response_ns: u128,
    pub interactive_page_reads: u64,
}

impl Completed {
    pub fn add(&mut self, record: &TransactionRecord) {
        let response = u128::from((record.ended - record.started).ns());
        self.count += 1;
        self.response_ns += response;
        if record.interactive {
            self.interactive += 1;
            self.interactive_response_ns += response;
            self.interactive_page_reads += u64::from(record.page_reads);
        }
    }
}

impl UserTotals {
    /// Sums over the users of a reading.
    pub fn of(reading: &Reading) -> Self {
        let mut sum = Self::default();
        for user in reading.users.iter().filter(|user| !user.background) {
            sum.run_ns += u128::from(user.problem_ns) + u128::from(user.supervisor_ns);
            sum.cpu_wait_ns += u128::from(user.cpu_wait_ns);
            sum.page_wait_ns += u128::from(user.page_wait_ns);
            sum.io_wait_ns += u128::from(user.io_wait_ns);
            sum.eligible_ns += u128::from(user.eligible_ns);
            sum.ios += user.ios;
        }
        sum
    }
}

impl Totals {
    /// Takes in a reading; transactions are added as they end.
    pub fn take(&mut self, reading: &Reading) {
        self.time = reading.time;
        self.processors = reading.processors.len();
        self.system = reading.system;
        self.processor = ProcessorReading::default();
        for one in &reading.processors {
            self.processor.problem_ns += one.problem_ns;
            self.processor.supervisor_ns += one.supervisor_ns;
            self.processor.idle_ns += one.idle_ns;
            self.processor.page_wait_ns += one.page_wait_ns;
            self.processor.io_wait_ns += one.io_wait_ns;
            self.processor.spin_ns += one.spin_ns;
        }
        self.each.clear();
        if reading.system.io_defers.is_some() || !reading.locks.is_empty() {
            self.each.extend_from_slice(&reading.processors);
        }
        self.locks.clear();
        let by_lock = reading.locks.chunks(reading.processors.len().max(1));
        self.locks
            .extend(by_lock.map(|on| on.iter().fold(LockReading::default(), LockReading::plus)));
        self.devices.clone_from(&reading.devices);
        self.channels.clone_from(&reading.channels);
        self.users = UserTotals::of(reading);
        self.io_service.take(&reading.devices, self.users.ios);
    }
}

/// The time that the users' I/Os would have taken without a queue and with free paths.
///
/// In each sample period, over devices d: their number × Σ u_d (disconnect_d + connect_d) / s_d / Σ u_d, with u the I/Os
/// of users and s the start-I/Os that ended.
#[derive(Debug, Clone, Default)]
pub struct IoService {
    before: Vec<DeviceReading>,
    ios: u64,
    total_ns: f64,
}

impl IoService {
    /// Adds the period since the last call.
    pub fn take(&mut self, devices: &[DeviceReading], user_ios: u64) {
        self.before.resize(devices.len(), DeviceReading::default());
        let (mut time_ns, mut ios) = (0.0, 0.0);
        for (now, before) in devices.iter().zip(&self.before) {
            let (own, sios) = (now.user_ios - before.user_ios, now.sios - before.sios);
            if own > 0 && sios > 0 {
                let service =
                    (now.disconnect_ns + now.connect_ns) - (before.disconnect_ns + before.connect_ns);
                time_ns += own as f64 * service as f64 / sios as f64;
                ios += own as f64;
            }
        }
        if ios > 0.0 {
            self.total_ns += (user_ios - self.ios) as f64 * time_ns / ios;
        }
        self.ios = user_ios;
        self.before.clone_from_slice(devices);
    }

    /// ns so far.
    pub fn total_ns(&self) -> f64 {
        self.total_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_is_weighted_by_where_the_users_io_goes() {
        let device = |user_ios, sios, disconnect_ns| DeviceReading {
            user_ios,
            sios,
            disconnect_ns,
            ..DeviceReading::default()
        };
        let mut service = IoService::default();
        service.take(&[device(3, 6, 60), device(1, 1, 50)], 4);
        assert_eq!(service.total_ns(), 3.0 * 10.0 + 50.0);
        // A period without I/O adds nothing; one in which a background program did half adds half.
        service.take(&[device(3, 6, 60), device(1, 1, 50)], 4);
        service.take(&[device(5, 8, 100), device(1, 1, 50)], 5);
        assert_eq!(service.total_ns(), 80.0 + 20.0);
    }
}
