"""Time series with labels, and the grid of readings they are put on.

The samples of one scrape are one reading, also where a source staggers their times within the scrape.
"""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from satline.importers._sink import Floats, Integers

# What a file that is cut or damaged raises while it is decompressed.
BROKEN = (OSError, EOFError, lzma.LZMAError, zlib.error)
LATEST_MS = 9_200_000_000_000  # the year 2261, beyond which nanoseconds leave 64 bits


@dataclass(frozen=True)
class Series:
    """One series: times in ms since 1970 that rise, and the value at each, none of them NaN."""

    name: str
    labels: Mapping[str, str]
    time_ms: Integers
    value: Floats

    def label(self, *names: str) -> str:
        """The first of these labels that is not empty, else an empty text."""
        return next((self.labels[n] for n in names if self.labels.get(n)), "")


@dataclass
class Collection:
    """Gathers samples by series, in any order and in any number of parts."""

    _parts: dict[tuple[str, tuple[tuple[str, str], ...]], list[tuple[Integers, Floats]]] = field(
        default_factory=dict
    )

    def add(
        self, name: str, labels: Mapping[str, str], time_ms: Sequence[int] | Integers, value: object
    ) -> None:
        """Add samples of one series."""
        key = (name, tuple(sorted((k, v) for k, v in labels.items() if k != "__name__")))
        times = np.asarray(time_ms, dtype=np.int64)
        self._parts.setdefault(key, []).append((times, np.asarray(value, dtype=np.float64)))

    def series(self, start_ms: int | None = None, end_ms: int | None = None) -> list[Series]:
        """All series that have values in [start, end), each in order of time.

        Staleness markers and other NaN are no values. Of several samples at one time the last counts.
        """
        made = []
        for (name, labels), parts in self._parts.items():
            time = np.concatenate([t for t, _ in parts])
            value = np.concatenate([v for _, v in parts])
            good = np.isfinite(value) & (time >= (start_ms or 0)) & (time < (end_ms or LATEST_MS))
            time, value = time[good], value[good]
            if len(time) > 1 and not (np.diff(time) > 0).all():
                order = np.argsort(time, kind="stable")
                time, value = time[order], value[order]
                last = np.append(np.diff(time) > 0, True)
                time, value = time[last], value[last]
            if len(time):
                made.append(Series(name, dict(labels), time, value))
        return made


def interval_of(series: Iterable[Series]) -> float:
    """The usual time between two samples of a series in ms: the median over the longest; 0 if unknown."""
    longest = max(series, key=lambda s: len(s.time_ms), default=None)
    if longest is None or len(longest.time_ms) < 2:
        return 0.0
    return float(np.median(np.diff(longest.time_ms)))


def make_grid(series: Iterable[Series]) -> tuple[Integers, float]:
    """Times of the readings in ms, and half the usual time between two of them.

    The longest series gives the readings; samples of others that are further than half an interval from all
    of these are readings of their own.
    """
    ordered = sorted(series, key=lambda s: -len(s.time_ms))
    half = interval_of(ordered[:1]) / 2
    grid: Integers = np.zeros(0, dtype=np.int64)
    seen: set[bytes] = set()
    for one in ordered:
        if (same := one.time_ms.tobytes()) in seen:
            continue
        seen.add(same)
        distance = np.abs(one.time_ms - grid[_nearest(grid, one.time_ms)]) if len(grid) else None
        new = one.time_ms if distance is None else one.time_ms[distance > half]
        if len(new):
            grid = np.union1d(grid, new)
    return grid, half


def on_grid(one: Series, grid: Integers, half: float) -> Floats:
    """The series' value at each reading, NaN where it has none within half an interval."""
    if len(one.time_ms) == len(grid) and np.array_equal(one.time_ms, grid):
        return one.value
    values = np.full(len(grid), np.nan)
    if len(grid):
        at = _nearest(grid, one.time_ms)
        near = np.abs(one.time_ms - grid[at]) <= half
        values[at[near]] = one.value[near]
    return values


def _nearest(grid: Integers, time: Integers) -> Integers:
    right = np.clip(np.searchsorted(grid, time), 1, max(1, len(grid) - 1))
    left = right - 1
    right = np.minimum(right, len(grid) - 1)
    return np.where(time - grid[left] <= grid[right] - time, left, right)


def merged(parts: Sequence[Series]) -> Series:
    """One series of several that count the same: renamed, or gathered by two collectors at once.

    Where they overlap the longest counts: two collectors' samples are never mixed.
    """
    if len(parts) == 1:
        return parts[0]
    ordered = sorted(parts, key=lambda s: -len(s.time_ms))
    time, value = ordered[0].time_ms, ordered[0].value
    spans = [(time[0], time[-1])]
    for one in ordered[1:]:
        free = np.ones(len(one.time_ms), dtype=bool)
        for first, last in spans:
            free &= (one.time_ms < first) | (one.time_ms > last)
        if free.any():
            spans.append((one.time_ms[free][0], one.time_ms[free][-1]))
            time = np.concatenate([time, one.time_ms[free]])
            value = np.concatenate([value, one.value[free]])
    order = np.argsort(time, kind="stable")
    return Series(ordered[0].name, ordered[0].labels, time[order], value[order])


def accumulated(one: Series) -> Series:
    """The amount that a counter has grown since its first sample; after a reset it grew by its new value."""
    steps = np.diff(one.value)
    grown = np.where(steps >= 0, steps, one.value[1:])
    return Series(one.name, one.labels, one.time_ms, np.concatenate([[0.0], np.cumsum(grown)]))


def filled(values: Floats) -> Floats:
    """The latest value so far at each reading; 0 before the first."""
    index = np.where(np.isfinite(values), np.arange(len(values)), -1)
    index = np.maximum.accumulate(index)
    return np.where(index >= 0, values[np.maximum(index, 0)], 0.0)
