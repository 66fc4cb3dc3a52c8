"""Correlation of two variables with load taken out."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LAGS = 4
LEAST_FREEDOM = 6
"""Fewer independent blocks than this beyond what the load takes up show nothing."""


@dataclass(frozen=True)
class Partial:
    """A partial correlation with its 95 % interval (Fisher's z) and two-sided p-value.

    blocks
        Blocks of successive observations that it rests on; blocks are taken as independent.
    """

    value: float
    low: float
    high: float
    p: float
    blocks: int

    @property
    def error(self) -> float:
        """Standard error, from the interval."""
        return (self.high - self.low) / (2 * 1.96)


def residuals(value: Floats, load: Floats, number: Integers) -> Floats:
    """What load does not explain: `value` less its class mean and less its regression on load and load².

    Many variables grow with load, seldom along a parabola: the class means take out any course at all, the
    regression what is left of it within a class. NaN stays NaN, and so does what belongs to no class.
    """
    left = np.where(number >= 0, value, np.nan)
    good = np.isfinite(left) & np.isfinite(load)
    if not good.any():
        return np.full(len(value), np.nan)
    n = number[good]
    columns = np.stack([left[good], load[good], load[good] ** 2], axis=1)
    counts = np.maximum(1, np.bincount(n))
    for k in range(columns.shape[1]):
        columns[:, k] -= (np.bincount(n, weights=columns[:, k]) / counts)[n]
    scale = np.maximum(np.abs(columns[:, 1:]).max(axis=0), 1e-12)
    within = columns[:, 1:] / scale
    fitted, *_ = np.linalg.lstsq(within, columns[:, 0], rcond=1e-6)
    found = np.full(len(value), np.nan)
    found[good] = columns[:, 0] - within @ fitted
    return found


def ranks(values: Floats) -> Floats:
    """Ranks of the finite values, ties sharing their mean; NaN stays NaN. One outlier then decides nothing.

    Own: `scipy.stats`, which has them, takes half a second of CPU time to load.
    """
    found = np.full(len(values), np.nan)
    good = np.isfinite(values)
    _, position, counts = np.unique(values[good], return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    found[good] = (ends - (counts - 1) / 2)[position.ravel()]
    return found


def partial_correlation(
    a: Floats, b: Floats, load: Floats, number: Integers, batches: Integers, *, single: bool = False
) -> Partial | None:
    """Correlation of `a` and `b` at equal load, over means of blocks of successive observations.

    Parameters
    ----------
    number, batches
        Load class (−1: none) and block of each observation.
    single
        Where there are too few blocks, take single observations, as many as are independent for this pair: by
        Bartlett's formula n / (1 + 2 Σ ρa(k) ρb(k)), with the autocorrelations at the first lags.

    Returns
    -------
    ``None`` where there are too few blocks, or one of the two does not vary at equal load.

    With k parameters taken by the load and G blocks, atanh(r) has the standard error 1/√(G − k − 3).
    """
    both = np.isfinite(a) & np.isfinite(b) & np.isfinite(load) & (number >= 0)
    if both.sum() < LEAST_FREEDOM:
        return None
    left = [residuals(np.where(both, v, np.nan), load, number)[both] for v in (a, b)]
    for rest, value in zip(left, (a, b), strict=True):
        if not rest.std() > 1e-9 * max(1e-300, float(np.abs(value[both]).max())):
            return None
    _, block = np.unique(batches[both], return_inverse=True)
    block = block.ravel()
    counts = np.bincount(block)
    taken = len(np.unique(number[both])) + 1
    freedom: float = len(counts) - taken - 3
    if freedom < LEAST_FREEDOM and single:
        block = np.arange(len(left[0]))
        counts = np.ones(len(left[0]), dtype=np.int64)
        freedom = _independent(*left) - taken - 3
    if freedom < LEAST_FREEDOM:
        return None
    x, y = (np.bincount(block, weights=v) / counts for v in left)
    x, y = x - np.average(x, weights=counts), y - np.average(y, weights=counts)
    size = math.sqrt(float((counts * x * x).sum()) * float((counts * y * y).sum()))
    if not size > 0:
        return None
    r = float((counts * x * y).sum()) / size
    r = max(-0.999999, min(0.999999, r))
    z, error = math.atanh(r), 1 / math.sqrt(freedom)
    p = math.erfc(abs(z) / error / math.sqrt(2))
    return Partial(r, math.tanh(z - 1.96 * error), math.tanh(z + 1.96 * error), p, len(counts))


def _independent(a: Floats, b: Floats) -> float:
    """How many independent pairs two courses are worth."""
    length = len(a)
    together = 0.0
    for lag in range(1, min(LAGS, length // 4) + 1):
        together += float(np.prod([(v[:-lag] * v[lag:]).sum() / (v * v).sum() for v in (a, b)]))
    return length / max(1.0, 1 + 2 * together)
