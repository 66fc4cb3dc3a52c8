"""Statistics of one variable in load classes.

They are made column by column with numpy: rows are put in order of class once, and every variable then costs
one pass. In SQL the intervals of percentiles, whose positions differ by class and variable, took three times
as long.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from satline.reduction._results import Point

PERCENTILES = (25, 50, 75, 90)
CONFIDENCE = 0.95
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Of more numbers OpenBLAS makes a sum in several threads.
_ALONE = 10_000

EMPTY = Point(0, None, None, None, None, None, {})


class Grouped:
    """Rows in order of class, and within a class of batch.

    Parameters
    ----------
    number
        Class of each row, −1 for none.
    batches
        Block of successive rows to which each belongs: blocks are taken as independent.
    count
        Number of classes.
    """

    def __init__(self, number: Integers, batches: Integers, count: int) -> None:
        inside = np.flatnonzero(number >= 0)
        # numpy sorts small integers by radix, many times faster than large ones.
        small = number[inside].astype(np.int16 if count < 2**15 else np.int64)
        order = inside[np.argsort(small, kind="stable")]
        batch = batches[order]
        self._edges = np.concatenate([[0], np.cumsum(np.bincount(small, minlength=count))]).astype(np.int64)
        for a, b in zip(self._edges[:-1], self._edges[1:], strict=True):
            if (np.diff(batch[a:b]) < 0).any():
                again = np.argsort(batch[a:b], kind="stable")
                order[a:b], batch[a:b] = order[a:b][again], batch[a:b][again]
        whole = len(order) == len(number) and bool((np.diff(order) == 1).all())
        self._order = None if whole else order
        self._starts = [
            np.concatenate([[0], np.flatnonzero(np.diff(batch[a:b])) + 1]).astype(np.int64)
            for a, b in zip(self._edges[:-1], self._edges[1:], strict=True)
        ]

    def points(self, values: Floats, weights: Floats | None = None) -> tuple[Point, ...]:
        """A point for each class; `values` and `weights` have one entry per row, NaN where missing."""
        if self._order is not None:
            values = values[self._order]
            weights = None if weights is None else weights[self._order]
        return tuple(
            _point(values[a:b], starts, None if weights is None else weights[a:b])
            for a, b, starts in zip(self._edges[:-1], self._edges[1:], self._starts, strict=True)
        )


def point(values: Floats, batches: Integers, weights: Floats | None = None) -> Point:
    """Count, mean, standard deviation, both standard errors and percentiles of the values that are not
    missing.

    `values`, `batches` and `weights` have one entry per observation; a missing value is NaN. The honest
    error is never below the textbook's: chance alone would otherwise make few batches look better than
    independence.
    """
    return Grouped(np.zeros(len(values), dtype=np.int64), batches, 1).points(values, weights)[0]


def _batch_error(sums: Floats, total: float) -> float:
    """Standard error of a mean of autocorrelated observations, by batch means.

    Observations of one batch (a block of successive ones) may depend on each other as they like; batches are
    taken as independent. With batch totals e_g = Σ w (x − m) over G batches of unequal size,
    SE² = G/(G−1) · Σ e_g² / (Σ w)², which for equal batches is the textbook's batch-means estimate.
    """
    groups = len(sums)
    return math.sqrt(groups / (groups - 1) * float((sums**2).sum())) / total


def _dot(a: Floats, b: Floats) -> float:
    """Sum of products, in equal parts that numpy's library of linear algebra leaves to one thread.

    Its threads wait busily for each other: 10 ms of processor time, not of a few µs, where others want the
    processors too. And its last digits then depend on how many there are.
    """
    size = -(-len(a) // max(1, -(-len(a) // _ALONE)))
    parts = range(0, len(a), max(1, size))
    return sum(float(np.dot(a[k : k + size], b[k : k + size])) for k in parts)


def _point(values: Floats, starts: Integers, weights: Floats | None) -> Point:
    """The point of one class; a batch begins at each of `starts`."""
    good = np.isfinite(values)
    if weights is not None:
        good &= np.isfinite(weights) & (weights > 0)
    n = int(np.count_nonzero(good))
    if n == 0:
        return EMPTY
    if n < len(values):
        present = np.add.reduceat(good, starts, dtype=np.int64)
        values = values[good]
        weights = None if weights is None else weights[good]
        starts = np.concatenate([[0], np.cumsum(present)[:-1]])[present > 0]
    mean = float(values.mean()) if weights is None else float(np.average(values, weights=weights))
    largest, zeros = float(values.max()), n - int(np.count_nonzero(values))
    if n == 1:
        of_one = dict.fromkeys(PERCENTILES, mean)
        return Point(1, mean, None, None, None, None, of_one, largest=largest, zeros=zeros)
    away = values - mean
    if weights is None:
        total = float(n)
        sd = math.sqrt(_dot(away, away) / (n - 1))
        textbook = sd / math.sqrt(n)
    else:
        total = float(weights.sum())
        weighted = weights * away
        sd = math.sqrt(_dot(weighted, away) / total * n / (n - 1))
        textbook = sd * math.sqrt(_dot(weights, weights)) / total
        away = weighted
    honest = effective = None
    if len(starts) > 1:
        honest = max(
            textbook, _batch_error(np.asarray(np.add.reduceat(away, starts), dtype=np.float64), total)
        )
        effective = n * (textbook / honest) ** 2 if honest > 0 else float(n)
    groups = len(starts) if effective is not None else None
    percentiles, intervals = _percentiles(values, effective, groups)
    return Point(n, mean, sd, textbook, honest, effective, percentiles, intervals, groups, largest, zeros)


def _percentiles(
    values: Floats, effective: float | None, batches: int | None
) -> tuple[dict[int, float], dict[int, tuple[float | None, float | None]]]:
    """Percentiles, and their intervals from order statistics; no interval where no effective n is known."""
    n = len(values)
    ends: dict[int, tuple[int | None, int | None]] = {}
    if effective is not None and batches is not None:
        independent = max(1, int(effective * variance_seen(effective, batches)))
        for p in PERCENTILES:
            low, high = order_statistics(independent, p / 100)
            ends[p] = (
                None if low is None else max(0, math.floor(low * (n + 1)) - 1),
                None if high is None else min(n - 1, math.ceil(high * (n + 1)) - 1),
            )
    at = {p: p / 100 * (n - 1) for p in PERCENTILES}
    # To find some twenty places in part-ordered values takes several times as long.
    ordered = np.sort(values)

    def between(place: float) -> float:
        below, above = float(ordered[math.floor(place)]), float(ordered[math.ceil(place)])
        return below + (above - below) * (place - math.floor(place))

    def there(place: int | None) -> float | None:
        return None if place is None else float(ordered[place])

    return (
        {p: between(v) for p, v in at.items()},
        {p: (there(low), there(high)) for p, (low, high) in ends.items()},
    )


def variance_seen(effective: float, batches: int) -> float:
    """The part of the variance of a mean that batch means see: less than 1 where batches are short against
    the autocorrelation. The effective n that they give is too large by as much.

    With an autocorrelation time of T observations, batches of length L see about 1 − u, u = T / 2L. As the
    effective n shows T (1 − u), u (1 − u) = batches / (2 effective n); where batches are too short to tell, u
    is taken as ½.
    """
    product = batches / (2 * max(effective, 1e-9))
    return (1 + math.sqrt(max(0.0, 1 - 4 * product))) / 2


@lru_cache(maxsize=4096)
def order_statistics(n: int, p: float) -> tuple[float | None, float | None]:
    """Which order statistics, as j / (n + 1), of n independent values enclose the p-quantile with 95 %.

    The number of values below the quantile is binomial, whatever the distribution: the quantile lies above
    the j-th value unless fewer than j are below it. ``None`` for an end that n values cannot bound. Own:
    every reduction asks for it, and summing the chances is shorter than loading scipy for them.
    """
    tail = (1 - CONFIDENCE) / 2
    if n > 2000:
        spread = 1.959963984540054 * math.sqrt(n * p * (1 - p))
        return (n * p - spread) / (n + 1), (n * p + spread + 1) / (n + 1)
    k = np.arange(1, n + 1)
    steps = np.log((n - k + 1) / k * (p / (1 - p)))
    below = np.cumsum(np.exp(n * math.log(1 - p) + np.concatenate([[0.0], np.cumsum(steps)])))
    low = int(np.searchsorted(below, tail, side="right"))  # the greatest j with P(fewer than j) ≤ tail
    high = int(np.searchsorted(below, 1 - tail, side="left")) + 1
    return (low / (n + 1) if low >= 1 else None, high / (n + 1) if high <= n else None)
