"""The tests that fitting and comparing need where scipy's do not fit; nothing here knows of workloads.

scipy's Kolmogorov–Smirnov test takes every distribution as continuous, while think times have steps; its
chi-square test takes cells as they are, while these put those together that expect too few; its bootstrap
draws single values, while these draw whole sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satline.stats import chi_square_tail

Floats = NDArray[np.float64]


def kolmogorov_distance(sample: Floats, cdf: Callable[[Floats], Floats]) -> float:
    """Largest difference between a sample's distribution and `cdf`; conservative where `cdf` has steps."""
    ordered = np.sort(sample)
    n = len(ordered)
    values, first = np.unique(ordered, return_index=True)
    last = np.append(first[1:], n)
    at = cdf(values)
    before = cdf(np.nextafter(values, -np.inf))
    return float(max(np.max(np.abs(last / n - at)), np.max(np.abs(first / n - before))))


def mean_interval(groups: Sequence[Floats], seed: int = 1, repetitions: int = 1000) -> tuple[float, float]:
    """95 % bootstrap interval of the mean of all values.

    Whole groups are drawn where there are five or more.
    """
    random = np.random.default_rng(seed)
    kept = [group for group in groups if len(group)]
    if len(kept) >= 5:
        sums = np.array([group.sum() for group in kept])
        counts = np.array([len(group) for group in kept])
        drawn = random.integers(0, len(kept), (repetitions, len(kept)))
        means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    else:
        values = np.concatenate(kept)
        repetitions = max(100, min(repetitions, 20_000_000 // len(values)))
        means = values[random.integers(0, len(values), (repetitions, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


@dataclass(frozen=True)
class ChiSquare:
    """A chi-square test; ``freedom`` 0: too few for any."""

    statistic: float
    freedom: int

    @property
    def p(self) -> float | None:
        """None where nothing can be told."""
        return chi_square_tail(self.statistic, self.freedom) if self.freedom > 0 else None


def chi_square(counts: Sequence[float], shares: Sequence[float], least: float = 5.0) -> ChiSquare:
    """Counts against stated shares; cells that expect fewer than `least` are put together."""
    total = sum(counts)
    cells = sorted(zip(shares, counts, strict=True))
    pooled: list[list[float]] = []
    small = [0.0, 0.0]
    for share, count in cells:
        if share * total < least:
            small = [small[0] + share * total, small[1] + count]
        else:
            pooled.append([share * total, count])
    if small[0] >= least or (small[1] > 0 and not pooled):
        pooled.append(small)
    elif small[0] > 0 or small[1] > 0:
        if not pooled:
            return ChiSquare(0.0, 0)
        pooled[0] = [pooled[0][0] + small[0], pooled[0][1] + small[1]]
    if len(pooled) < 2:
        return ChiSquare(0.0, 0)
    return ChiSquare(sum((seen - wanted) ** 2 / wanted for wanted, seen in pooled), len(pooled) - 1)
