"""Courses of single entities over the observations, made from readings held as arrays.

They are what `Histories` makes in SQL, by the same definitions.
"""

from __future__ import annotations

import numpy as np

from satline.diagnosis._partial import Floats, Integers
from satline.reduction import Reduction, Times

ROUNDING_NS = 1000
"""Bounds of observations come as floating-point numbers, exact to the nanosecond for 104 days only."""
FILLED = 0.98
"""Part of an observation for which a counter must have been read for its gain to be that of all of it."""


class Within:
    """The readings of one entity that lie in an observation.

    at, place
        Which readings; the observation of each.
    once
        No observation has two of them.
    elapsed
        Nanoseconds since the reading before, NaN for the first of a run.
    length
        Nanoseconds from begin to end of its observation.
    since
        Nanoseconds from the begin of its observation, or from the reading before where that is later.
    """

    def __init__(self, times: Times, begin: Integers, end: Integers, place: Integers, count: int) -> None:
        """`place`: of each reading its observation, −1 for none; `begin` and `end` of the observations."""
        self.count = count
        at = np.flatnonzero(place >= 0)
        self.place = place[at]
        # A slice where they follow each other: nothing need be copied.
        follow = len(at) and at[-1] - at[0] + 1 == len(at)
        self.at: slice | Integers = slice(int(at[0]), int(at[-1]) + 1) if follow else at
        step = np.diff(self.place)
        self.once = bool((step > 0).all())
        self.everywhere = self.once and len(self.place) == count
        self.same_run = np.diff(times.run) == 0
        elapsed = np.full(len(times), np.nan)
        elapsed[1:] = np.where(self.same_run, np.diff(times.monotonic_ns), np.nan)
        self.elapsed = elapsed[self.at]
        self.length = (end - begin)[self.place].astype(np.float64)
        moment = times.monotonic_ns[self.at] - ROUNDING_NS
        from_begin = (moment - (begin[self.place] - ROUNDING_NS)).astype(np.float64)
        self.since = np.fmin(from_begin, self.elapsed)
        # A reading after a gap tells what was gained in all of it: this observation has its share by time.
        self.part = np.fmin(1.0, self.length / np.fmax(self.elapsed, 1.0))
        self.part_since = self.since / np.fmax(self.elapsed, 1.0)

    def gain(self, values: Floats) -> Floats:
        """By observation what a counter gained, NaN where nothing is known."""
        return self._sum(self._gained(values) * self.part)

    def whole_gain(self, values: Floats) -> Floats:
        """The same, NaN also where a counter fell, or was not read, within an observation."""
        gained = self._gained(values)
        known = np.isfinite(gained)
        if self.once:
            read = known & (self.part_since * self.elapsed >= FILLED * self.length)
            return self._spread(np.where(read, gained * self.part_since, np.nan))
        covered = np.bincount(self.place, np.where(known, self.part_since * self.elapsed, 0), self.count)
        lacking = np.bincount(self.place, ~known, self.count)
        length = np.zeros(self.count)
        length[self.place] = self.length
        return np.where(
            (lacking == 0) & (covered >= FILLED * length), self._sum(gained * self.part_since), np.nan
        )

    def seen_us(self) -> Floats:
        """By observation the time before its readings, each but the first of a run since the one before; NaN
        where there is none."""
        return np.asarray(self._sum(self.elapsed) / 1e3)

    def all_gained(self, values: Floats) -> Floats:
        """By observation what a counter gained in that time, NaN where not all of it is known."""
        gained = self._gained(values)
        lacking = np.bincount(self.place, np.isfinite(self.elapsed) & ~np.isfinite(gained), self.count)
        return np.where(lacking == 0, self._sum(gained), np.nan)

    def mean(self, values: Floats) -> Floats:
        """By observation the mean of a level, NaN where nothing is known."""
        inside = values[self.at]
        if self.once:
            return self._spread(np.array(inside))
        number = np.bincount(self.place, np.isfinite(inside), self.count)
        return np.asarray(self._sum(inside) / np.maximum(number, 1))

    def _gained(self, values: Floats) -> Floats:
        gained = np.full(len(values), np.nan)
        step = values[1:] - values[:-1]
        np.copyto(gained[1:], step, where=self.same_run & (step >= 0))
        return gained[self.at]

    def _sum(self, inside: Floats) -> Floats:
        if self.once:
            return self._spread(inside)
        known = np.isfinite(inside)
        total = np.bincount(self.place, np.where(known, inside, 0), self.count)
        return np.where(np.bincount(self.place, known, self.count) > 0, total, np.nan)

    def _spread(self, inside: Floats) -> Floats:
        if self.everywhere:
            return inside
        course = np.full(self.count, np.nan)
        course[self.place] = inside
        return course


class Observations:
    """The observations of a reduction as stretches of time."""

    def __init__(self, reduction: Reduction) -> None:
        observed = reduction.observations
        self.run, self.begin, self.end = (
            np.asarray(observed[name], dtype=np.float64).astype(np.int64) for name in ("run", "t0", "t1")
        )
        self.order = np.lexsort((self.begin, self.run))
        self._last: tuple[Times, Within] | None = None

    def within(self, times: Times) -> Within:
        """Where the readings of these times lie."""
        if self._last is None or self._last[0] is not times:
            self._last = times, self._within(times)
        return self._last[1]

    def _within(self, times: Times) -> Within:
        place = np.full(len(times), -1, dtype=np.int64)
        runs = self.run[self.order]
        for run, a, b in times.runs:
            low, high = np.searchsorted(runs, [run, run + 1])
            own = self.order[low:high]
            if not len(own):
                continue
            moments = times.monotonic_ns[a:b] - ROUNDING_NS
            at = np.searchsorted(self.begin[own], moments, side="left") - 1
            found = own[np.maximum(at, 0)]
            place[a:b] = np.where((at >= 0) & (moments <= self.end[found]), found, -1)
        return Within(times, self.begin, self.end, place, len(self.run))
