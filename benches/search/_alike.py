"""Widths at equal coverage: of two methods whose intervals do not hold the truth equally often, the one that
claims too much looks the narrower.

Each interval is stretched about its value, in the logarithm, by the factor of its method at which 95 % hold
the knee. The factors of one half of the systems are used for the other half, so that no interval has a part
in its own factor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

COVERAGE = 0.95


@dataclass(frozen=True)
class Interval:
    """An interval of a knee, what is true, and how far the limits reach."""

    low: float
    value: float
    high: float
    knee: float
    most: float

    @property
    def needed(self) -> float:
        """By what factor it must be stretched to hold the knee; below 1: it holds it with room to spare."""
        far = math.log(self.knee / self.value)
        side = math.log(self.value / self.low) if far < 0 else math.log(self.high / self.value)
        return abs(far) / max(side, 1e-9)

    def width(self, factor: float) -> float:
        """Of the interval stretched, as far as the limits reach."""
        low = self.value * (self.low / self.value) ** factor
        high = self.value * (self.high / self.value) ** factor if math.isfinite(self.high) else math.inf
        return min(high, self.most) - min(low, self.most)


@dataclass(frozen=True)
class Alike:
    """Two methods' intervals at the same coverage.

    ratio
        Median of the first's width by the second's, with its 95 % interval over systems; factors: by what
        each method's intervals were stretched, in the mean over both halves; coverage: what the stretched
        intervals then hold.
    """

    ratio: tuple[float, float, float]
    factors: tuple[float, float]
    coverage: tuple[float, float]
    systems: int


def alike(pairs: Sequence[tuple[Interval, Interval]], seed: int = 1) -> Alike | None:
    """Compare systems for which both methods tell an interval; ``None``: too few to tell a coverage."""
    if len(pairs) < 40:
        return None
    needed = np.array([[one.needed for one in pair] for pair in pairs])
    even = np.arange(len(pairs)) % 2 == 0
    factors = np.empty_like(needed)
    for half in (even, ~even):
        factors[half] = np.quantile(needed[~half], COVERAGE, axis=0)
    ratios = np.array(
        [
            first.width(own[0]) / max(second.width(own[1]), 1e-9)
            for (first, second), own in zip(pairs, factors, strict=True)
        ]
    )
    random = np.random.default_rng(seed)
    medians = np.median(ratios[random.integers(0, len(ratios), (2000, len(ratios)))], axis=1)
    low, high = np.percentile(medians, [2.5, 97.5])
    mean, held = factors.mean(axis=0), (needed <= factors).mean(axis=0)
    return Alike(
        (float(np.median(ratios)), float(low), float(high)),
        (float(mean[0]), float(mean[1])),
        (float(held[0]), float(held[1])),
        len(pairs),
    )
