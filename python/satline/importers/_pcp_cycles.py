"""Logging cycles: which of an archive's instants belong together.

pmlogger writes the metrics of a group with one record, and the groups of one interval one after the other,
some milliseconds or seconds apart. A metric may be in several groups. All records of one pass are one cycle.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satline.importers._sink import Floats, Integers

# Between the distances within a cycle and those between cycles no distance lies in a range of this ratio …
_CLEAR_RATIO = 8.0
# … but for this part of them (a record that came late).
_STRAY = 0.02
# A cycle takes at most this part of the interval.
_LONGEST = 0.1
# Three instants or more at equal distances, of half a second or more, are readings of their own and not the
# groups of one cycle. Each may have groups of its own, closer together than that.
_EVEN_RATIO, _EVEN_NS = 1.5, 0.5e9
_STEP = 1.25


@dataclass(frozen=True)
class Cycles:
    """Logging cycles of an archive.

    first_ns
        First instant of each cycle, in order of time, shape (cycles,).
    """

    first_ns: Integers

    def of(self, time_ns: Integers) -> Integers:
        """Number of the cycle that each instant belongs to, shape (instants,)."""
        return np.asarray(np.searchsorted(self.first_ns, time_ns, "right") - 1, dtype=np.int64)


def find_cycles(instants: Integers, marks_ns: Integers) -> Cycles:
    """Cycles of the instants at which anything was logged.

    Parameters
    ----------
    instants
        ns since 1970 UTC, in order, each once.
    marks_ns
        Where the archive says that nothing is known of the time between; no cycle crosses one.

    Returns
    -------
    Cycles of one instant each, where no distance parts those within a cycle from those between.
    """
    if len(instants) < 3:
        return Cycles(instants)
    distance = np.diff(instants).astype(np.float64)
    marked = np.diff(np.searchsorted(np.sort(marks_ns), instants)) > 0
    known = np.sort(distance[~marked])
    if not len(known):
        return Cycles(instants)
    for limit in _limits(known):
        starts = np.append(True, (distance > limit) | marked)
        if _are_cycles(instants, starts, marked):
            return Cycles(instants[starts])
    return Cycles(instants)


def _limits(known: Floats) -> list[float]:
    """Distances that may part cycles, those with the widest ratio between their neighbours first."""
    found = []
    for limit in np.exp(np.arange(np.log(known[0]), np.log(known[-1]), np.log(_STEP))):
        low, high = np.searchsorted(known, [limit / _CLEAR_RATIO**0.5, limit * _CLEAR_RATIO**0.5])
        if low and high < len(known) and high - low <= _STRAY * len(known):
            found.append((known[high] / known[low - 1], float(limit)))
    return [limit for _, limit in sorted(found, reverse=True)]


def _are_cycles(instants: Integers, starts: NDArray[np.bool_], marked: NDArray[np.bool_]) -> bool:
    """Are the stretches that begin at `starts` short against their distance, and no bursts of readings?"""
    first = np.flatnonzero(starts)
    last = np.append(first[1:], len(instants)) - 1
    apart = np.diff(instants[first])[~marked[first[1:] - 1]]
    span = instants[last] - instants[first]
    if not len(apart) or np.quantile(span, 1 - _STRAY) > _LONGEST * np.median(apart):
        return False
    several = first[last - first >= 2]
    if not len(several):
        return True
    ends = last[last - first >= 2]
    even = [_are_readings(instants[a : b + 1]) for a, b in zip(several, ends, strict=True)]
    return float(np.mean(even)) <= 0.5


def _are_readings(instants: Integers) -> bool:
    """Are the instants of one stretch, or groups of them, at equal distances?"""
    parts = np.append(True, np.diff(instants) >= _EVEN_NS)
    apart = np.diff(instants[parts])
    return len(apart) >= 2 and bool(apart.max() <= _EVEN_RATIO * apart.min())
