//! The measures of a period: the difference of two totals, in the units in which people speak of them.
//!
//! A measure is one line in [`MEASURES`]; what every device and channel has follows them.

use super::totals::Totals;
use crate::readings::{DeviceReading, LockReading, ProcessorReading};

/// Two totals, and the time between them.
#[derive(Debug, Clone, Copy)]
pub struct Period<'a> {
    pub before: &'a Totals,
    pub after: &'a Totals,
}

/// Something of a period; `None` where it is not defined.
pub type Measure = fn(&Period<'_>) -> Option<f64>;

/// Those of the whole machine.
#[rustfmt::skip]
pub const MEASURES: &[(&str, Measure)] = &[
    ("throughput_per_s", |p| p.rate(|t| t.completed.count)),
    ("interactive_throughput_per_s", |p| p.rate(|t| t.completed.interactive)),
    ("response_s", |p| p.mean_s(|t| t.completed.response_ns, |t| t.completed.count)),
    ("interactive_response_s", |p| p.mean_s(|t| t.completed.interactive_response_ns, |t| t.completed.interactive)),
    ("noninteractive_response_s", |p| p.mean_s(
        |t| t.completed.response_ns - t.completed.interactive_response_ns,
        |t| t.completed.count - t.completed.interactive)),
    ("problem_fraction", |p| p.of_processors(|t| t.processor.problem_ns)),
    ("supervisor_fraction", |p| p.of_processors(|t| t.processor.supervisor_ns)),
    ("idle_fraction", |p| p.of_processors(|t| t.processor.idle_ns)),
    ("page_wait_fraction", |p| p.of_processors(|t| t.processor.page_wait_ns)),
    ("io_wait_fraction", |p| p.of_processors(|t| t.processor.io_wait_ns)),
    ("mpl", |p| p.level(|t| t.system.q1_ns + t.system.q2_ns)),
    ("q1", |p| p.level(|t| t.system.q1_ns)),
    ("q2", |p| p.level(|t| t.system.q2_ns)),
    ("eligible", |p| p.level(|t| t.system.q1_candidates_ns + t.system.q2_candidates_ns)),
    ("in_transaction", |p| p.level(|t| t.system.in_transaction_ns)),
    ("page_reads_per_s", |p| p.rate(|t| t.system.page_reads)),
    ("page_writes_per_s", |p| p.rate(|t| t.system.page_writes)),
    ("page_reads_fast_per_s", |p| p.rate(|t| t.system.page_reads_fast)),
    ("steals_per_s", |p| p.rate(|t| t.system.steals)),
    ("page_reads_per_interactive_transaction", |p| p.ratio(
        p.gain(|t| t.completed.interactive_page_reads) as f64, p.gain(|t| t.completed.interactive) as f64)),
    ("paging_sios_per_s", |p| p.rate(|t| t.system.paging_sios)),
    ("page_in_sios_per_s", |p| p.rate(|t| t.system.page_in_sios)),
    ("page_out_sios_per_s", |p| p.rate(|t| t.system.page_out_sios)),
    ("pages_per_page_in_sio", |p| p.ratio(
        p.gain(|t| t.system.page_reads) as f64, p.gain(|t| t.system.page_in_sios) as f64)),
    ("pages_per_page_out_sio", |p| p.ratio(
        p.gain(|t| t.system.page_writes) as f64, p.gain(|t| t.system.page_out_sios) as f64)),
    ("flushed_pages_per_s", |p| p.rate(|t| t.system.flushed_pages)),
    ("flush_reclaims_per_s", |p| p.rate(|t| t.system.flush_reclaims)),
    ("frames_scanned_per_s", |p| p.rate(|t| t.system.frames_scanned)),
    // The replacement policy's, each over all frames.
    ("scan_sweeps_per_s", |p| p.ratio(
        p.gain(|t| t.system.frames_scanned) as f64, f64::from(p.after.system.frames) * p.seconds())),
    ("user_ios_per_s", |p| p.rate(|t| t.system.user_ios)),
    ("page_io_ms", |p| p.page_io_ms()),
    ("page_service_ms", |p| p.page_service_ms()),
    ("dispatches_per_s", |p| p.rate(|t| t.system.dispatches)),
    ("q1_drops_per_s", |p| p.rate(|t| t.system.q1_drops)),
    ("q2_drops_per_s", |p| p.rate(|t| t.system.q2_drops)),
    // Expansion factor [TB84]: time in transactions / (processor time + time of I/O without queueing).
    ("expansion", |p| p.ratio(
        p.gain_ns(|t| t.system.in_transaction_ns),
        p.gain_ns(|t| t.users.run_ns) + p.after.io_service.total_ns() - p.before.io_service.total_ns())),
    ("share_run", |p| p.of_transactions(|t| t.users.run_ns)),
    ("share_cpu_wait", |p| p.of_transactions(|t| t.users.cpu_wait_ns)),
    ("share_page_wait", |p| p.of_transactions(|t| t.users.page_wait_ns)),
    ("share_io_wait", |p| p.of_transactions(|t| t.users.io_wait_ns)),
    ("share_eligible", |p| p.of_transactions(|t| t.users.eligible_ns)),
];

/// Those of a machine that drops users from queue against their will.
#[rustfmt::skip]
const INVOLUNTARY: &[(&str, Measure)] = &[
    ("involuntary_drops_per_s", |p| p.rate(|t| of(t.system.involuntary_drops))),
];

/// Those of a machine that swaps working sets; others have none of them.
#[rustfmt::skip]
pub const SWAPPING: &[(&str, Measure)] = &[
    ("swap_sets_in_per_s", |p| p.rate(|t| of(t.system.swap_sets_in))),
    ("swap_sets_out_per_s", |p| p.rate(|t| of(t.system.swap_sets_out))),
    ("swap_pages_in_per_s", |p| p.rate(|t| of(t.system.swap_pages_in))),
    ("swap_pages_out_per_s", |p| p.rate(|t| of(t.system.swap_pages_out))),
    // Pages that were read one by one: those that no set brought.
    ("demand_page_reads_per_s", |p| p.rate(|t| t.system.page_reads - of(t.system.swap_pages_in))),
    ("swap_faults_per_s", |p| p.rate(|t| of(t.system.swap_faults))),
    ("trimmed_pages_per_s", |p| p.rate(|t| of(t.system.trimmed_pages))),
    ("prepaged_pages_per_s", |p| p.rate(|t| of(t.system.prepaged_pages))),
    ("prepage_error_fraction", |p| p.ratio(
        p.gain(|t| of(t.system.prepage_errors)) as f64, p.gain(|t| of(t.system.prepaged_pages)) as f64)),
    ("reclaimed_swap_pages_per_s", |p| p.rate(|t| of(t.system.swap_pages_reclaimed))),
    ("logical_swaps_per_s", |p| p.rate(|t| of(t.system.logical_swaps))),
    ("logical_return_fraction", |p| p.ratio(
        p.gain(|t| of(t.system.logical_returns)) as f64, p.gain(|t| of(t.system.logical_swaps)) as f64)),
    ("physical_swaps_per_s", |p| p.rate(|t| of(t.system.physical_swaps))),
    ("swap_sios_per_s", |p| p.rate(|t| of(t.system.swap_sios))),
    ("pages_per_swap_sio", |p| p.ratio(
        p.gain(|t| of(t.system.swap_pages_in) + of(t.system.swap_pages_out)) as f64, p.gain(|t| of(t.system.swap_sios)) as f64)),
    ("swap_io_ms", |p| p.ratio(
        p.gain_ns(|t| t.system.swap_io_ns.unwrap_or(0)) * 1e-6, p.gain(|t| of(t.system.swap_sios)) as f64)),
];

/// Those of a machine that reads pages before they are asked for.
#[rustfmt::skip]
const AHEAD: &[(&str, Measure)] = &[
    ("pages_read_ahead_per_s", |p| p.rate(|t| of(t.system.ahead_pages))),
    // Of those whose fate is known.
    ("read_ahead_used_fraction", |p| p.ratio(
        p.gain(|t| of(t.system.ahead_used)) as f64,
        p.gain(|t| of(t.system.ahead_used) + of(t.system.ahead_wasted)) as f64)),
];

/// Those of a machine that moves pages between tiers.
#[rustfmt::skip]
const MIGRATION: &[(&str, Measure)] = &[
    ("migrated_pages_per_s", |p| p.rate(|t| of(t.system.migrated_pages))),
    // Of what users read: what is read to be moved comes from the fast tier.
    ("fast_read_fraction", |p| p.ratio(
        p.gain(|t| t.system.page_reads_fast - of(t.system.migrated_pages)) as f64,
        p.gain(|t| t.system.page_reads - of(t.system.migrated_pages)) as f64)),
];

/// Those of a machine whose processors differ.
#[rustfmt::skip]
const MULTIPROCESSOR: &[(&str, Measure)] = &[
    ("io_defers_per_s", |p| p.rate(|t| of(t.system.io_defers))),
    ("left_to_main_per_s", |p| p.rate(|t| of(t.system.left_to_main))),
    // From being put off to its begin where it can be done.
    ("defer_wait_ms", |p| p.ratio(
        p.gain_ns(|t| t.system.deferred_ns.unwrap_or(0)) * 1e-6,
        p.gain(|t| of(t.system.io_defers) + of(t.system.left_to_main)) as f64)),
    ("signals_per_s", |p| p.rate(|t| of(t.system.signals))),
    ("user_switches_per_s", |p| p.rate(|t| of(t.system.user_switches))),
    ("processor_moves_per_s", |p| p.rate(|t| of(t.system.processor_moves))),
];

/// Those of a machine with locks.
#[rustfmt::skip]
const LOCKS: &[(&str, Measure)] = &[
    ("lock_spin_fraction", |p| p.of_processors(|t| t.processor.spin_ns)),
];

/// Those of a machine whose free storage is its own: requests are those of getting a block and of giving it back.
#[rustfmt::skip]
const FREE_STORAGE: &[(&str, Measure)] = &[
    ("storage_manager_fraction", |p| p.of_processors(|t| of(t.system.storage_ns))),
    ("storage_main_requests_per_s", |p| p.rate(|t| of(t.system.storage_main_requests))),
    ("storage_subpool_requests_per_s", |p| p.rate(|t| of(t.system.storage_subpool_requests))),
    ("storage_blocks_per_main_request", |p| p.ratio(
        p.gain(|t| of(t.system.storage_blocks_searched)) as f64, p.gain(|t| of(t.system.storage_main_requests)) as f64)),
    // At the period's end.
    ("storage_free_blocks", |p| p.after.system.storage_free_blocks.map(f64::from)),
    ("storage_busy_doublewords", |p| p.after.system.storage_busy.map(|busy| busy as f64)),
    ("storage_pages_added_per_s", |p| p.rate(|t| of(t.system.storage_pages_added))),
];

/// Something of one of many.
type OfOne = fn(&Period<'_>, usize) -> Option<f64>;

/// Of each processor, where they differ or there are locks.
#[rustfmt::skip]
const OF_PROCESSOR: &[(&str, OfOne)] = &[
    ("processor_problem", |p, k| p.of_processor(k, |one| one.problem_ns)),
    ("processor_supervisor", |p, k| p.of_processor(k, |one| one.supervisor_ns)),
    ("processor_spin", |p, k| p.of_processor(k, |one| one.spin_ns)),
    ("processor_dispatches_per_s", |p, k| p.processor_rate(k, |one| one.dispatches)),
    ("processor_page_waits_per_s", |p, k| p.processor_rate(k, |one| one.page_waits)),
    ("processor_io_defers_per_s", |p, k| p.processor_rate(k, |one| one.io_defers)),
];

/// Of each lock.
#[rustfmt::skip]
const OF_LOCK: &[(&str, OfOne)] = &[
    // Part of all processors' time.
    ("lock_spin", |p, k| p.ratio(
        p.lock(k, |lock| lock.spin_ns) * 1e-9, p.seconds() * p.after.processors as f64)),
    ("lock_held", |p, k| p.ratio(p.lock(k, |lock| lock.hold_ns) * 1e-9, p.seconds())),
    // Of the times that it was asked for by one who would spin and had it in the end.
    ("lock_spin_probability", |p, k| p.ratio(p.lock(k, |lock| lock.spins), p.lock(k, |lock| lock.holds))),
    ("lock_defers_per_s", |p, k| p.ratio(p.lock(k, |lock| lock.defers), p.seconds())),
    ("lock_wait_ms", |p, k| p.ratio(p.lock(k, |lock| lock.wait_ns) * 1e-6, p.lock(k, |lock| lock.defers))),
];

/// The measures that only some machines have.
fn extras(totals: &Totals) -> impl Iterator<Item = &'static (&'static str, Measure)> {
    let system = &totals.system;
    [
        (INVOLUNTARY, system.involuntary_drops.is_some()),
        (SWAPPING, swaps(totals)),
        (AHEAD, system.ahead_pages.is_some()),
        (MIGRATION, system.migrated_pages.is_some()),
        (MULTIPROCESSOR, system.io_defers.is_some()),
        (LOCKS, !totals.locks.is_empty()),
        (FREE_STORAGE, system.storage_main_requests.is_some()),
    ]
    .into_iter()
    .filter(|(_, has)| *has)
    .flat_map(|(measures, _)| measures)
}

/// A counter that only some machines have.
fn of(counter: Option<u64>) -> u64 {
    counter.unwrap_or(0)
}

/// Whether the machine swaps working sets.
fn swaps(totals: &Totals) -> bool {
    totals.system.swap_sets_in.is_some()
}

impl Period<'_> {
    pub fn seconds(&self) -> f64 {
        (self.after.time - self.before.time).seconds()
    }

    fn gain(&self, of: fn(&Totals) -> u64) -> u64 {
        of(self.after) - of(self.before)
    }

    fn gain_ns(&self, of: fn(&Totals) -> u128) -> f64 {
        (of(self.after) - of(self.before)) as f64
    }

    fn ratio(&self, above: f64, below: f64) -> Option<f64> {
        (below > 0.0).then(|| above / below)
    }

    fn rate(&self, of: fn(&Totals) -> u64) -> Option<f64> {
        self.ratio(self.gain(of) as f64, self.seconds())
    }

    /// Mean of a level from its integral.
    fn level(&self, of: fn(&Totals) -> u128) -> Option<f64> {
        self.ratio(self.gain_ns(of) * 1e-9, self.seconds())
    }

    fn mean_s(&self, time: fn(&Totals) -> u128, count: fn(&Totals) -> u64) -> Option<f64> {
        self.ratio(self.gain_ns(time) * 1e-9, self.gain(count) as f64)
    }

    /// Part of elapsed time × processors.
    fn of_processors(&self, of: fn(&Totals) -> u64) -> Option<f64> {
        self.ratio(
            self.gain(of) as f64 * 1e-9,
            self.seconds() * self.after.processors as f64,
        )
    }

    fn of_processor(&self, number: usize, of: fn(&ProcessorReading) -> u64) -> Option<f64> {
        let gain = of(&self.after.each[number]) - of(&self.before.each[number]);
        self.ratio(gain as f64 * 1e-9, self.seconds())
    }

    fn processor_rate(&self, number: usize, of: fn(&ProcessorReading) -> u64) -> Option<f64> {
        let gain = of(&self.after.each[number]) - of(&self.before.each[number]);
        self.ratio(gain as f64, self.seconds())
    }

    fn lock(&self, number: usize, of: fn(&LockReading) -> u64) -> f64 {
        (of(&self.after.locks[number]) - of(&self.before.locks[number])) as f64
    }

    /// Part of the users' time in transactions.
    fn of_transactions(&self, of: fn(&Totals) -> u128) -> Option<f64> {
        self.ratio(self.gain_ns(of), self.gain_ns(|t| t.system.in_transaction_ns))
    }

    /// Mean response of a start-I/O for pages, those of swap sets excepted; where a device also serves files, its mean
    /// over all.
    fn page_io_ms(&self) -> Option<f64> {
        if swaps(self.after) {
            let sios = self.gain(|t| t.system.paging_sios - of(t.system.swap_sios));
            return self.ratio(
                self.gain_ns(|t| t.system.page_io_ns.unwrap_or(0)) * 1e-6,
                sios as f64,
            );
        }
        self.over_paging_devices(Period::device_response_ms)
    }

    /// The same without the queue before the device; swap sets are not told apart there.
    fn page_service_ms(&self) -> Option<f64> {
        match swaps(self.after) {
            true => None,
            false => self.over_paging_devices(Period::device_service_ms),
        }
    }

    fn over_paging_devices(&self, of: fn(&Self, usize) -> Option<f64>) -> Option<f64> {
        let (mut time_ms, mut sios) = (0.0, 0.0);
        for device in 0..self.after.devices.len() {
            let pages = self.device(device, |d| d.page_sios.into());
            if let Some(response) = of(self, device) {
                time_ms += pages * response;
                sios += pages;
            }
        }
        self.ratio(time_ms, sios)
    }

    fn device(&self, number: usize, of: fn(&DeviceReading) -> u128) -> f64 {
        let before = self.before.devices.get(number).map_or(0, of);
        (of(&self.after.devices[number]) - before) as f64
    }

    /// Part of the time in which the device had a request.
    pub fn device_busy(&self, number: usize) -> Option<f64> {
        self.ratio(self.device(number, |d| d.busy_ns) * 1e-9, self.seconds())
    }

    /// Mean time of a request in queue and service.
    pub fn device_response_ms(&self, number: usize) -> Option<f64> {
        let time = |d: &DeviceReading| d.queue_ns + d.pend_ns + d.disconnect_ns + d.connect_ns;
        self.ratio(
            self.device(number, time) * 1e-6,
            self.device(number, |d| d.sios.into()),
        )
    }

    /// Mean time of a request once the device has accepted it.
    fn device_service_ms(&self, number: usize) -> Option<f64> {
        let time = |d: &DeviceReading| d.pend_ns + d.disconnect_ns + d.connect_ns;
        self.ratio(
            self.device(number, time) * 1e-6,
            self.device(number, |d| d.sios.into()),
        )
    }

    /// Part of the time in which the channel was held.
    pub fn channel_busy(&self, number: usize) -> Option<f64> {
        let before = self.before.channels.get(number).map_or(0, |c| c.busy_ns);
        self.ratio(
            (self.after.channels[number].busy_ns - before) as f64 * 1e-9,
            self.seconds(),
        )
    }
}

/// The names of all measures of a machine, in the order of [`values`].
pub fn names(totals: &Totals, devices: &[String], locks: &[String]) -> Vec<String> {
    let own = MEASURES.iter().map(|(name, _)| (*name).to_owned());
    let channels = totals
        .channels
        .iter()
        .map(|c| format!("channel_busy:{}", c.channel));
    let busy = devices.iter().map(|name| format!("device_busy:{name}"));
    let response = devices.iter().map(|name| format!("device_response_ms:{name}"));
    let extras = extras(totals).map(|(name, _)| (*name).to_owned());
    own.chain(channels)
        .chain(busy)
        .chain(response)
        .chain(extras)
        .chain(of_each(totals).map(|(kind, which, _)| match which {
            Which::Processor(number) => format!("{kind}:{number}"),
            Which::Lock(number) => format!("{kind}:{}", locks[number]),
        }))
        .collect()
}

/// All measures of a period.
pub fn values<'a>(period: &'a Period<'a>) -> impl Iterator<Item = Option<f64>> + 'a {
    let devices = period.after.devices.len();
    let own = MEASURES.iter().map(|(_, measure)| measure(period));
    let channels = (0..period.after.channels.len()).map(|k| period.channel_busy(k));
    let busy = (0..devices).map(|k| period.device_busy(k));
    own.chain(channels)
        .chain(busy)
        .chain((0..devices).map(|k| period.device_response_ms(k)))
        .chain(extras(period.after).map(|(_, measure)| measure(period)))
        .chain(of_each(period.after).map(|(_, which, measure)| {
            let (Which::Processor(number) | Which::Lock(number)) = which;
            measure(period, number)
        }))
}

#[derive(Clone, Copy)]
enum Which {
    Processor(usize),
    Lock(usize),
}

/// What single processors and locks have.
fn of_each(totals: &Totals) -> impl Iterator<Item = (&'static str, Which, OfOne)> {
    let (processors, locks) = (totals.each.len(), totals.locks.len());
    let processors = OF_PROCESSOR
        .iter()
        .flat_map(move |&(kind, of)| (0..processors).map(move |k| (kind, Which::Processor(k), of)));
    let locks = OF_LOCK
        .iter()
        .flat_map(move |&(kind, of)| (0..locks).map(move |k| (kind, Which::Lock(k), of)));
    processors.chain(locks)
}
