"""The few distributions and tests that fitting and comparing need; nothing here knows of workloads.

References: chi-square and Kolmogorov–Smirnov as in any textbook; Stephens (1970) for the finite-sample
correction; Schwarz (1978) for BIC.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def chi_square_tail(statistic: float, freedom: int) -> float:
    """P(X ≥ statistic) for chi-square with `freedom` degrees: Q(freedom/2, statistic/2)."""
    a, x = freedom / 2, statistic / 2
    if x <= 0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        for n in range(1, 10_000):
            term *= x / (a + n)
            total += term
            if term < total * 1e-15:
                break
        return max(0.0, 1 - front * total)
    # Lentz's continued fraction.
    b = x + 1 - a
    c, d = 1e300, 1 / b
    h = d
    for n in range(1, 10_000):
        step = -n * (n - a)
        b += 2
        d = 1 / (step * d + b)
        c = b + step / c
        h *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return float(front * h)


def normal_tail(z: float) -> float:
    """P(|Z| ≥ |z|)."""
    return math.erfc(abs(z) / math.sqrt(2))


def normal_cdf(z: Floats) -> Floats:
    """P(Z ≤ z), elementwise."""
    return np.array([0.5 * math.erfc(-value / math.sqrt(2)) for value in z.tolist()])


def kolmogorov_distance(sample: Floats, cdf: Callable[[Floats], Floats]) -> float:
    """Largest difference between a sample's distribution and `cdf`; conservative where `cdf` has steps."""
    ordered = np.sort(sample)
    n = len(ordered)
    values, first = np.unique(ordered, return_index=True)
    last = np.append(first[1:], n)
    at = cdf(values)
    before = cdf(np.nextafter(values, -np.inf))
    return float(max(np.max(np.abs(last / n - at)), np.max(np.abs(first / n - before))))


def kolmogorov_tail(distance: float, n: int) -> float:
    """P(D ≥ distance) for n draws from the distribution, after Stephens."""
    x = (math.sqrt(n) + 0.12 + 0.11 / math.sqrt(n)) * distance
    if x < 0.2:
        return 1.0
    total = 2.0 * sum((1.0 if k % 2 else -1.0) * math.exp(-2 * k * k * x * x) for k in range(1, 101))
    return min(max(total, 0.0), 1.0)


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
