"""One archive's values as columns of the catalogue's tables, at the instants of one grid.

An archive logs its metrics in groups, each at its own instants, some milliseconds or minutes apart. A logging
cycle gives one reading, which stands at the instant of the processors' record in it, and takes of each metric
the value nearest to this instant, if it lies within a quarter of the interval. A counter that was logged
earlier or later than the reading tells of an interval that is shifted but as long; where it is not as long
within 1 %, because the distance between the groups changed, the counter is interpolated to the instant of the
reading between two values of its own. So is one that was logged more rarely than the readings are taken.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from satline.importers import _pcp_map as pcp_map
from satline.importers._pcp_cycles import Cycles, find_cycles
from satline.importers._pcp_reader import Archive
from satline.importers._sink import Floats, Integers

_SLOWER = 1.5
# By how much of the interval the distance of a counter from its reading may change.
_SHIFT = 0.01
_HOLE = 2.5
# How much faster than ever else a counter may be where it is taken to have turned over.
_FASTER = 16.0
# Columns that say what a device is, not what it did.
_NO_USE = ("priority", "speed_bytes_per_s")


@dataclass(frozen=True)
class Grid:
    """Instants of the readings.

    by_process
        Where the processes were logged more rarely than the rest, so that the readings are those of the
        processes: the interval of the rest, ns.
    """

    time_ns: Integers
    interval_ns: float
    by_process: float | None = None

    @property
    def tolerance_ns(self) -> float:
        """How far a value may lie from the instant of its reading."""
        return (self.by_process or self.interval_ns) / 4

    def nearest(self, time_ns: Integers) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Index of the time nearest to each reading, and whether it is near enough; shape (readings,)."""
        if not len(time_ns):
            return np.zeros(len(self.time_ns), dtype=np.int64), np.zeros(len(self.time_ns), dtype=bool)
        after = np.clip(np.searchsorted(time_ns, self.time_ns), 0, len(time_ns) - 1)
        before = np.maximum(after - 1, 0)
        earlier = np.abs(self.time_ns - time_ns[before]) <= np.abs(time_ns[after] - self.time_ns)
        index = np.where(earlier, before, after)
        return index, np.abs(time_ns[index] - self.time_ns) <= self.tolerance_ns


def archive_cycles(archive: Archive) -> Cycles:
    """Logging cycles of everything that is logged again and again."""
    once = {*pcp_map.FACTS, *pcp_map.CONSTANT}
    records = [np.array(s.record_ns, dtype=np.int64) for n, s in archive.series.items() if n not in once]
    instants = np.unique(np.concatenate([np.array([], dtype=np.int64), *records]))
    return find_cycles(instants, np.array(archive.marks_ns, dtype=np.int64))


def make_grid(archive: Archive, cycles: Cycles) -> Grid:
    """Instants of the readings: those at which the processors were logged, one of each cycle, and the rest
    where they were not; those of the processes where they were logged more rarely, so that users and
    processors are seen over the same observations."""
    once = {*pcp_map.FACTS, *pcp_map.CONSTANT}
    of_users = {*pcp_map.hostile_metrics(), *once}
    names = [n for n in archive.series if n not in of_users]
    if not any(len(archive.series[n].time) for n in names):
        # Nothing but processes or control groups: the readings are theirs.
        names = [n for n in archive.series if n in of_users and n not in once]
    records = {n: np.unique(np.array(archive.series[n].record_ns, dtype=np.int64)) for n in names}
    logged = {n: np.unique(cycles.of(r)) for n, r in records.items() if len(r)}
    # Those of the processors first: what was logged oftener is taken when they were; their rates are exact.
    order = sorted(logged, key=lambda n: (len(logged[n]) < 2 or ".cpu." not in n, -len(logged[n]), n))
    if not order:
        return Grid(np.array([], dtype=np.int64), 0.0)
    instant = np.full(len(cycles.first_ns), -1, dtype=np.int64)
    for name in reversed(order):
        # of several in one cycle the first
        instant[cycles.of(records[name][::-1])] = records[name][::-1]
    times = instant[logged[order[0]]]
    interval = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    for name in order[1:]:
        others = instant[logged[name]]
        if interval and len(others) > 1:
            grid = Grid(others, interval * 3)  # 0.75 of the interval away from any reading
            _, covered = grid.nearest(times)
            if not covered.all():
                times = np.unique(np.concatenate([times, others[~covered]]))
    processes = archive.get(pcp_map.PROCESS_VALUES["utime"])
    if processes is not None and archive.get(pcp_map.PROCESS_ATTRIBUTES["user_name"]) is not None:
        seen = cycles.first_ns[np.unique(cycles.of(np.array(processes.record_ns)))]
        slow = float(np.median(np.diff(seen))) if len(seen) > 1 else 0.0
        if slow > _SLOWER * interval > 0:
            index, near = Grid(seen, interval).nearest(times)
            if near.any():
                taken = times[index[near]]
                return Grid(np.unique([*_without(times, taken, slow), *taken]), slow, interval)
    return Grid(times, interval)


def _without(times: Integers, taken: Integers, distance: float) -> Integers:
    """Of `times` those about `distance` apart before the first of `taken` and after the last: what was logged
    there is not to be lost because the processes were not."""
    before = round((taken[0] - times[0]) / distance) if distance else 0
    after = round((times[-1] - taken[-1]) / distance) if distance else 0
    wanted = [taken[0] - k * distance for k in range(1, before + 1)]
    wanted += [taken[-1] + k * distance for k in range(1, after + 1)]
    near = [int(np.argmin(np.abs(times - at))) for at in wanted]
    return np.asarray(times[near], dtype=np.int64)


@dataclass
class Columns:
    """Columns of one archive at the instants of `grid`; `runs` are its stretches without a restart."""

    archive: Archive
    grid: Grid
    runs: list[slice] = field(default_factory=list)

    def scalar(
        self, choices: pcp_map.Choices, prefix: str = "", instance: int | None = None
    ) -> Floats | None:
        """The first choice that has values; None where none has."""
        for choice in choices:
            total: Floats | None = None
            for sign, metric in pcp_map.terms(choice, prefix):
                found = dict(self._instances(metric, instance)).get("")
                total = None if found is None else sign * found + (0 if total is None else total)
                if total is None:
                    break
            if total is not None:
                return total
        return None

    def summed(self, choices: pcp_map.Choices) -> Floats | None:
        """Sum over the instances of the first choice that has values; None where none has. A reading that
        lacks any of them has none."""
        for choice in choices:
            found = [values for _, values in self._instances(choice)]
            if found:
                return np.asarray(np.sum(found, axis=0))
        return None

    def instances(self, metric: str) -> list[tuple[str, Floats]]:
        """Name and values at the readings of each instance: counts, or in microseconds or bytes."""
        return list(self._instances(metric))

    def entities(self, columns: dict[str, pcp_map.Choices], prefix: str) -> dict[str, dict[str, Floats]]:
        """By entity and column, the values at the readings."""
        made: dict[str, dict[str, Floats]] = {}
        for column, choices in columns.items():
            for choice in choices:
                parts = [(s, dict(self._instances(m))) for s, m in pcp_map.terms(choice, prefix)]
                if not all(found for _, found in parts):
                    continue
                for entity in parts[0][1]:
                    values = [s * found[entity] for s, found in parts if entity in found]
                    if len(values) == len(parts):
                        made.setdefault(entity, {})[column] = np.sum(values, axis=0)
                break
        return made

    def _instances(self, metric: str, instance: int | None = None) -> Iterator[tuple[str, Floats]]:
        """Name and values of each instance; of a metric without instances the name is empty."""
        series = self.archive.get(metric)
        if series is None or self.archive.metrics[metric].text:
            return
        known = self.archive.metrics[metric]
        time, number, name, value = series.arrays()
        scale = pcp_map.EACH.get(metric, known.scale)
        if instance is not None:
            groups = [("", number == instance)]
        else:
            labels = np.where(name >= 0, name, -2 - number)  # no instance: -1
            groups = [(self._label(int(k)), labels == k) for k in np.unique(labels)]
        for label, mask in groups:
            times, values = time[mask], value[mask]
            if known.bits:
                values = self._unwrapped(times, values, known.bits)
            index, near = self.grid.nearest(times)
            if metric in pcp_map.CONSTANT:
                # The value before the first time it was logged was no other than the first.
                index = np.clip(np.searchsorted(times, self.grid.time_ns, "right") - 1, 0, len(times) - 1)
                near = np.full(len(self.grid.time_ns), True)
            if not len(times):
                yield label, np.full(len(index), np.nan)
                continue
            taken = values[index]
            if known.counter:
                taken, near = self._shifted(times, values, index, near)
            yield label, np.where(near, taken, np.nan) * scale

    def _shifted(
        self, times: Integers, values: Floats, index: NDArray[np.int64], near: NDArray[np.bool_]
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """A counter's value for each reading, and whether there is one: the nearest; interpolated where
        distances change, or where it was logged more rarely than the readings are taken."""
        taken = values[index]
        away = (times[index] - self.grid.time_ns)[near]
        if len(times) < 2:
            return taken, near
        own = float(np.median(np.diff(times)))
        rare = own > _SLOWER * self.grid.interval_ns > 0
        if not rare and (len(away) < 2 or np.abs(np.diff(away)).max() <= _SHIFT * self.grid.interval_ns):
            return taken, near
        after = np.clip(np.searchsorted(times, self.grid.time_ns), 1, len(times) - 1)
        length = times[after] - times[after - 1]
        part = (self.grid.time_ns - times[after - 1]) / np.maximum(length, 1)
        grown = values[after] - values[after - 1]
        run = self._run_of(times)
        sure = (part >= 0) & (part <= 1) & (grown >= 0) & (run[after] == run[after - 1])
        sure &= length <= _HOLE * own
        return np.where(sure, values[after - 1] + part * grown, taken), near | sure if rare else near

    def _run_of(self, times: Integers) -> NDArray[np.int64]:
        """Number of the run of each instant, from 1."""
        starts = np.array([self.grid.time_ns[r.start] for r in self.runs], dtype=np.int64)
        return np.searchsorted(starts, times + int(self.grid.tolerance_ns), "right")

    def _label(self, key: int) -> str:
        if key >= 0:
            return self.archive.texts[key]
        return "" if key == -1 else str(-2 - key)

    def _unwrapped(self, times: Integers, values: Floats, bits: int) -> Floats:
        """Add a turn wherever a counter of so many bits fell from its upper half to its lower in one run.

        A counter that was set to 0 falls so too. It is no turn where that would make it much faster than it
        ever was: a rate that nobody had would be taken for one that was carried.
        """
        span = 2.0**bits
        fell = np.zeros(len(values))
        fell[1:] = (values[:-1] >= span / 2) & (values[1:] < span / 2)
        fell[1:] *= values[1:] - values[:-1] + span < span / 2
        steps = np.diff(values) / np.maximum(np.diff(times), 1)
        rose = steps[steps > 0]
        if fell.any() and len(rose):
            turned = (values[1:] - values[:-1] + span) / np.maximum(np.diff(times), 1)
            fell[1:] *= turned <= _FASTER * rose.max()
        run = self._run_of(times)
        fell[1:] *= run[1:] == run[:-1]
        return values + span * np.cumsum(fell)


def find_runs(archive: Archive, grid: Grid) -> tuple[list[slice], int]:
    """Stretches of readings without a restart, and how many of the cuts were restarts of the system.

    A restart of the system is a fall of its up-time; a mark says that pmlogger or pmcd was away.
    """
    times = grid.time_ns
    cuts = {int(np.searchsorted(times, mark)) for mark in archive.marks_ns}
    boots: set[int] = set()
    uptime = archive.get(pcp_map.UPTIME)
    if uptime is not None:
        at, _, _, value = uptime.arrays()
        for i in np.flatnonzero(np.diff(value) < 0):
            # The restart lies up-time before the first value after it.
            boot = at[i + 1] - int(value[i + 1] * 1e9)
            boots.add(int(np.searchsorted(times, max(boot, at[i] + 1))))
    edges = sorted({0, len(times)} | {c for c in cuts | boots if 0 < c < len(times)})
    return [slice(a, b) for a, b in itertools.pairwise(edges) if b > a], len(boots)


def used(columns: dict[str, Floats]) -> bool:
    """Did the device do or hold anything? One that the kernel only made ready did not."""
    return any(np.nansum(np.abs(v)) > 0 for c, v in columns.items() if c not in _NO_USE)
