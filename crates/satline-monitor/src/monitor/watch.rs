//! Control groups, devices and thermometers, which come and go during a run.

use std::io::Write;

use satline_program::{clock, harmless};

use crate::cgroup::{self, WatchedGroup};
use crate::clockwork::Clock;
use crate::limited::Membership;
use crate::population::Population;
use crate::queues;
use crate::recorder::Stamp;
use crate::system::{self, Place, SystemReading};
use crate::thermometer::ThermometerReading;

use super::Monitor;

impl<C: Clock> Monitor<C> {
    pub(super) fn watch_groups(&mut self, at: Stamp) {
        let mut named = self.groups.clone();
        named.extend(
            self.parents
                .iter()
                .flat_map(|parent| parent.children(&self.hierarchies)),
        );
        if self.limited.is_due(at.monotonic_ns) {
            self.search_groups(at, &named);
        }
        for group in &named {
            if let Some(values) = self.read_group(at, group) {
                if self.groups_looked_at.insert(group.name.clone()) {
                    self.missing
                        .extend(cgroup::missing(&group.name, &values, &self.missing));
                }
                self.recorder.cgroup(at, &group.name, &values);
            }
        }
        // A group that was found has what its limit's hierarchy gives, and nobody asked for more.
        for group in self.limited.groups().to_vec() {
            if let Some(values) = self.read_group(at, &group) {
                self.recorder.cgroup(at, &group.name, &values);
            }
        }
    }

    fn read_group(&mut self, at: Stamp, group: &WatchedGroup) -> Option<Vec<Option<i64>>> {
        let mut values = group.read(&self.hierarchies)?;
        for (value, column) in values.iter_mut().zip(cgroup::COLUMNS) {
            if let Some(raw) = value.filter(|_| column.starts_with("pressure_")) {
                let (clocks, ledger) = (&mut self.pressures, &mut self.table.ledger);
                *value = Some(clocks.repair(&group.name, column, raw, at.monotonic_ns, ledger));
            }
        }
        Some(values)
    }

    /// Looks for groups with a limit in force, and who is in which group.
    fn search_groups(&mut self, at: Stamp, named: &[WatchedGroup]) {
        let before_us = clock::own_cpu_us();
        if !self.options.named_cgroups_only {
            self.missing.extend(self.limited.search(&self.hierarchies, named));
        }
        let groups = [named, self.limited.groups()].concat();
        self.members = Membership::read(&groups, &self.hierarchies);
        let cost_us = clock::own_cpu_us() - before_us;
        self.limited.searched(at.monotonic_ns, cost_us);
    }

    pub(super) fn repair_pressures(&mut self, at: Stamp, reading: &mut SystemReading) {
        for (value, signal) in reading.values.iter_mut().zip(system::SIGNALS) {
            if let (Some(raw), Place::Pressure(..)) = (*value, signal.place) {
                let (clocks, ledger) = (&mut self.pressures, &mut self.table.ledger);
                *value = Some(clocks.repair("", signal.column, raw, at.monotonic_ns, ledger));
            }
        }
    }

    /// Says what waits in front of the processes of the busiest threads.
    pub(super) fn watch_queues(&mut self, at: Stamp, population: &mut Population) {
        let busiest = &population.busiest[..population.busiest.len().min(queues::PROCESSES)];
        if busiest.is_empty() || !self.queues.is_due(at.monotonic_ns) {
            return;
        }
        let before_us = clock::own_cpu_us();
        let waiting = self.queues.waiting(busiest);
        for task in &mut population.tasks {
            let pid = i32::try_from(task.pid).unwrap_or(0);
            task.waiting_requests = waiting.get(&pid).copied();
        }
        let cost_us = clock::own_cpu_us() - before_us;
        self.queues.looked(at.monotonic_ns, cost_us);
    }

    pub(super) fn watch_devices(&mut self, at: Stamp) {
        let mut devices = self.devices.read(&self.roots);
        devices.extend(self.nfs.read(&self.roots, at.monotonic_ns));
        let names: Vec<String> = devices
            .iter()
            .map(|d| format!("{} ({})", d.name, d.kind))
            .collect();
        if let Some(before) = &self.device_names {
            for name in names.iter().filter(|name| !before.contains(name)) {
                self.recorder.event(at, "device-appeared", None, Some(name));
            }
            for name in before.iter().filter(|name| !names.contains(name)) {
                self.recorder.event(at, "device-gone", None, Some(name));
            }
        }
        self.device_names = Some(names);
        self.recorder.devices(at, &devices);
    }

    pub(super) fn look_after_thermometers(&mut self) {
        let at = self.stamp();
        for reading in self.thermometers.poll(at.time_ns, at.monotonic_ns) {
            self.take_thermometer(&reading);
        }
    }

    pub(super) fn take_thermometer(&mut self, reading: &ThermometerReading) {
        if let Some(failure) = &reading.failure {
            // Unlike eprintln!, no panic where standard error is closed.
            let _ = writeln!(
                std::io::stderr(),
                "satline-monitor: thermometer {}: {failure}",
                reading.thermometer
            );
        }
        self.recorder.thermometer(reading);
        let Some(elapsed_us) = reading.elapsed_us else {
            return;
        };
        let watch = self.alarms.entry(reading.thermometer.clone()).or_default();
        let Some(alarm) = watch.take(elapsed_us) else {
            return;
        };
        let event = if alarm.slow { "probe-slow" } else { "probe-usual" };
        let words = alarm.words(&reading.thermometer);
        let at = self.stamp();
        self.recorder
            .event(at, event, Some(alarm.now_us as f64 / 1e6), Some(&words));
        if self.options.tell_alarms {
            // Whoever has listened may be gone: the recording goes on.
            let _ = writeln!(std::io::stdout(), "{}", harmless(&words));
        }
    }
}
