"""Does a verdict rest on one episode, or on two systems taken for one?

A recording at rest is long. In three months an upgrade may move the knee, and one strange day may look like
one. So the same bend must be seen without any one day, and throughput at equal loads must be the same before
and after every point of time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satline.diagnosis._hinge import Floats, Integers, fit
from satline.diagnosis._series import DAY_S, LEAST_DAYS

PARTS = 20
LEFT = 0.25
SURE = 1.95  # sup of a Brownian bridge: passed by chance once in a thousand
SHIFT = 0.1
# Without one part of the recording a change may be less sure (by chance once in four) and smaller.
REST_SURE, REST_SHIFT = 1.0, 0.05


@dataclass(frozen=True)
class Cells:
    """Sums over observations by block (rows, in the order of time) and level (columns)."""

    seconds: Floats
    amount: Floats
    start_s: Floats

    @classmethod
    def of(cls, block: Integers, number: Integers, value: Floats, seconds: Floats, time_s: Floats) -> Cells:
        """Sums of these observations; block and number count from 0 without gaps."""
        rows, columns = int(block.max()) + 1, int(number.max()) + 1
        cell, size = block * columns + number, rows * columns
        start = np.full(rows, np.inf)
        np.minimum.at(start, block, time_s)

        def total(weights: Floats) -> Floats:
            return np.asarray(np.bincount(cell, weights, size).reshape(rows, columns), dtype=np.float64)

        return cls(total(seconds), total(seconds * value), start)

    def parts(self) -> Integers:
        """Part of the time to which each block belongs: half-days where there are four days, else fortieths
        of the recording."""
        half = (self.start_s - self.start_s.min()) // (DAY_S / 2)
        if len(np.unique(half)) < 2 * LEAST_DAYS:
            half = np.arange(len(half)) * 2 * PARTS // len(half)
        return np.asarray(np.unique(half, return_inverse=True)[1], dtype=np.int64)

    def without_one_day(self) -> Iterator[NDArray[np.bool_]]:
        """The blocks left without each day, or twentieth of a shorter recording, in the order of time.

        What is left out begins at every half of these, for trouble does not begin at midnight.
        """
        part = self.parts()
        for first in range(int(part.max())):
            yield (part < first) | (part > first + 1)

    def of_blocks(self, kept: NDArray[np.bool_]) -> Cells:
        """Only these blocks."""
        return Cells(self.seconds[kept], self.amount[kept], self.start_s[kept])


@dataclass(frozen=True)
class Episode:
    """A part of the recording on which a bend rests: without it the bend is gone.

    first, last
        Its blocks, both included; begin_s: when the first begins.
    """

    first: int
    last: int
    begin_s: float
    end_s: float


def rests_on_one_part(
    load: Floats, cells: Cells, weights: Floats, interval: tuple[float, float], ratio: float
) -> Episode | None:
    """The day, or twentieth of a shorter recording, without which the bend is gone; ``None``: there is none.

    The bend is there while enough of the time beyond the `interval` of the breakpoint is left, and a break is
    found with a slope beyond it of less than `ratio` of that before.
    """
    whole = cells.seconds.sum(axis=0)
    beyond = load > interval[1]
    for rest in cells.without_one_day():
        if _gone(load, cells, weights, rest, whole, beyond, ratio):
            out = np.flatnonzero(~rest)
            end = int(out[-1]) + 1
            end_s = float(cells.start_s[end]) if end < len(cells.start_s) else math.inf
            return Episode(int(out[0]), int(out[-1]), float(cells.start_s[out[0]]), end_s)
    return None


def _gone(
    load: Floats,
    cells: Cells,
    weights: Floats,
    rest: NDArray[np.bool_],
    whole: Floats,
    beyond: NDArray[np.bool_],
    ratio: float,
) -> bool:
    """Is the bend gone from what is left?"""
    seconds = cells.seconds[rest].sum(axis=0)
    kept = np.flatnonzero(seconds > 0)
    if len(kept) < 4 or seconds[beyond].sum() < LEFT * whole[beyond].sum():
        return True
    mean = cells.amount[rest].sum(axis=0)[kept] / seconds[kept]
    found = fit(
        load[kept], mean[None, :], weights[kept] * seconds[kept] / whole[kept], origin=False, grid_size=61
    )
    return bool(not found.after[0] < ratio * found.before[0] or found.at[0] >= found.grid[-1])


@dataclass(frozen=True)
class Change:
    """Throughput at equal loads is by this part greater (or less) from `at_s` on."""

    at_s: float
    shift: float


def change(cells: Cells, split: int) -> Change | None:
    """The time at which throughput at equal loads became another for good; ``None``: there is none.

    What is gone without one day, or twentieth of a shorter recording, was an episode.
    """
    found = _step(cells, split)
    if found is None:
        return None
    stays = (
        _step(cells.of_blocks(rest), split, REST_SURE, REST_SHIFT) is not None
        for rest in cells.without_one_day()
    )
    return found if all(stays) else None


def _step(cells: Cells, split: int, sure: float = SURE, least: float = SHIFT) -> Change | None:
    """The surest step of throughput at equal loads.

    The cumulated sum of what blocks bring above what is usual at their loads, levels below and from `split`
    on apart. By chance it keeps within a Brownian bridge. A change counts if it is sure and no trifle.
    """
    usual = cells.amount.sum(axis=0) / np.maximum(cells.seconds.sum(axis=0), 1e-12)
    found: Change | None = None
    for levels in (slice(0, split), slice(split, None)):
        expected = cells.seconds[:, levels] * usual[levels]
        total = expected.sum(axis=1)
        seen = np.flatnonzero(total > 0)
        if len(seen) < 8:
            continue
        excess = (cells.amount[:, levels] - expected).sum(axis=1)[seen]
        base = total[seen]
        path = np.cumsum(excess)
        # each side must hold a tenth of the load
        share = np.cumsum(base) / base.sum()
        allowed = np.flatnonzero((share > 0.1) & (share < 0.9))
        if not len(allowed):
            continue
        at = int(allowed[np.abs(path[allowed]).argmax()])
        before = excess[: at + 1].sum() / base[: at + 1].sum()
        after = excess[at + 1 :].sum() / base[at + 1 :].sum()
        rest = excess - base * np.where(np.arange(len(base)) <= at, before, after)
        spread = np.sqrt((rest**2).sum())
        if abs(path[at]) > sure * spread and abs(after - before) > least * (1 + min(before, after)):
            shift = float((1 + after) / max(1e-9, 1 + before) - 1)
            if found is None or abs(shift) > abs(found.shift):
                found = Change(float(cells.start_s[seen[min(at + 1, len(seen) - 1)]]), shift)
    return found
