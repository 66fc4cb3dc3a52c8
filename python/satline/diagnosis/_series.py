"""What a verdict on saturation is made from, its load levels, and its independent blocks of observations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from satline.diagnosis._hinge import Floats, Integers, Levels, make_levels
from satline.stats import NORMAL_97_5

LEAST_IN_LEVEL = 12
MOST_LEVELS = 60
DAY_S = 86400.0
LEAST_DAYS = 4
LEAST_BLOCKS = 16


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


def lengthen(batches: Integers, deviations: Floats, groups: Integers) -> tuple[Integers, float]:
    """Blocks joined in pairs, again and again, until their totals no longer resemble those of the next.

    The first-order autocorrelation of B independent totals has the standard error 1/√B; joining ends where
    it is not above 1.3 of these, or fewer than `LEAST_BLOCKS` would be left.

    Parameters
    ----------
    batches
        Block of each observation, numbered in the order of time.
    deviations
        Of each observation from what is usual at its load, weighted by its length; 0 where missing.
    groups
        0 for light loads, 1 for heavy: what is independent in sum need not be so in each.

    Returns
    -------
    The blocks, and how much wider than theirs the intervals must be for the autocorrelation r that is left:
    √(1 + 2 r).
    """
    _, block = np.unique(batches, return_inverse=True)
    while True:
        count = int(block.max()) + 1
        totals = np.bincount(block * 2 + groups, deviations, 2 * count).reshape(count, 2)
        square = float((totals**2).sum())
        alike = float((totals[1:] * totals[:-1]).sum()) / square if square > 0 else 0.0
        if count < 2 * LEAST_BLOCKS or alike <= 1.3 / np.sqrt(count):
            return np.asarray(block, dtype=np.int64), float(np.sqrt(1 + 2 * max(0.0, alike)))
        block = block // 2


def student(freedom: float) -> float:
    """How much wider than the normal distribution's a 95 % interval of Student's t is.

    By the expansion of Cornish and Fisher, good to 1 % from 4 degrees of freedom on. Own: every diagnosis
    asks for it, and so does `satline info`, which would have to load scipy for this number alone.
    """
    z = NORMAL_97_5
    more = (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return 1 + more / z
