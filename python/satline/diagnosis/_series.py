"""What a verdict on saturation is made from, and its load levels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from satline.diagnosis._blocks import lengthen
from satline.diagnosis._hinge import Floats, Integers, Levels, make_levels

LEAST_IN_LEVEL = 12
MOST_LEVELS = 60
DAY_S = 86400.0
LEAST_DAYS = 4


@dataclass(frozen=True)
class Series:
    """What a verdict is made from, one value per observation, NaN where missing.

    number
        Level of each observation; batches: block of successive observations.
    in_transaction
        Users in a transaction; ``None`` when there are no transactions.
    think_s
        Mean time a user waits before a line; ``None``: unknown.
    contended
        For recordings without transactions: does anything show a queue in the topmost classes?
    closed
        The loads are those that a study intended: no users, no throughput.
    time_s
        When each observation began, in seconds since 1970; ``None``: they follow each other without gaps.
    counted
        Throughput is the number of completed transactions.
    work_kept
        Part of the throughput at light load that users keep at the top load, each counted by the work they
        do; ``None``: not known.
    """

    load: Floats
    number: Integers
    throughput: Floats
    seconds: Floats
    batches: Integers
    in_transaction: Floats | None = None
    think_s: float | None = None
    contended: bool | None = None
    closed: bool = True
    time_s: Floats | None = None
    counted: bool = True
    work_kept: float | None = None

    @property
    def usable(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Observations with a level and a throughput."""
        return np.asarray((self.number >= 0) & np.isfinite(self.throughput))

    @property
    def began_s(self) -> Floats:
        """When each observation began."""
        return np.cumsum(self.seconds) - self.seconds if self.time_s is None else self.time_s


def levels_of(
    series: Series, value: Floats, replicates: int, seed: int, effects: Floats | None = None
) -> Levels:
    """Means of `value` by level, with replicates."""
    return make_levels(
        series.number,
        series.load,
        value,
        series.seconds,
        series.batches,
        nested=series.closed,
        effects=effects,
        replicates=replicates,
        seed=seed,
    )


def time_of_day(series: Series) -> Floats | None:
    """Two waves a day, as sine and cosine: ``None`` if the recording holds too few days to tell the time of
    day from the load."""
    began = series.began_s
    if began.max() - began.min() < LEAST_DAYS * DAY_S:
        return None
    angle = 2 * np.pi * began / DAY_S
    return np.stack([np.cos(angle), np.sin(angle), np.cos(2 * angle), np.sin(2 * angle)], axis=1)


def finer(series: Series) -> Integers:
    """Levels of single loads in place of classes, as far as the observations suffice; −1 stays −1.

    A class that holds the knee has a mean below the broken line; over single loads the line is exact.
    """
    inside = series.usable
    load = series.load[inside]
    least = max(LEAST_IN_LEVEL, len(load) // (4 * MOST_LEVELS))
    # A load average or a mean queue is no whole number: nearly every observation has a load of its own.
    whole = np.rint(load)
    if np.abs(load - whole).max() < 1e-6:
        load = whole
    values, index, counts = np.unique(load, return_inverse=True, return_counts=True)
    level = np.zeros(len(values), dtype=np.int64)
    number, size = 0, 0
    for k, count in enumerate(counts):
        if size >= least and counts[k:].sum() >= least:
            number, size = number + 1, 0
        level[k] = number
        size += int(count)
    made = np.full(len(series.number), -1, dtype=np.int64)
    made[inside] = level[index]
    return made


def independent(series: Series) -> tuple[Integers, float]:
    """Blocks of a recording at rest that are long enough to be taken as independent, and by what factor to
    widen intervals for what they still have in common."""
    inside = series.usable
    number = np.unique(series.number[inside], return_inverse=True)[1]
    seconds, value = series.seconds[inside], series.throughput[inside]
    length = np.bincount(number, seconds)
    mean = np.bincount(number, seconds * value) / length
    spread = np.sqrt(np.bincount(number, seconds * (value - mean[number]) ** 2) / length)
    # each level's deviations in units of its own spread, so that the noisiest does not speak for all
    deviations = seconds * (value - mean[number]) / np.maximum(spread, 1e-3 * spread.max() + 1e-300)[number]
    heavy = (number > number.max() / 2).astype(np.int64)
    blocks = np.full(len(series.number), -1, dtype=np.int64)
    blocks[inside], widen = lengthen(series.batches[inside], deviations, heavy)
    return blocks, widen
