"""Does a variable change with load, or can nobody tell? [Bard]

If no trend is clear, there are too few data (bars overlap) or there is scatter in the system itself (bars are
small, means differ).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Literal

import numpy as np

from satline.reduction._results import Curve, Point
from satline.reduction._statistics import variance_seen

Kind = Literal[
    "rises", "falls", "rises-then-falls", "falls-then-rises", "flat", "scatter", "too-few-data", "one-class"
]
_WORDS = {
    "rises": "rises",
    "falls": "falls",
    "rises-then-falls": "rises, then falls",
    "falls-then-rises": "falls, then rises",
    "scatter": "scatter in the system itself: bars are small, means differ without order",
    "one-class": "too few data: fewer than two load classes have an error that is known",
}
ERROR_RATE = 0.05
FLAT_PART = 0.25


@dataclass(frozen=True)
class Trend:
    """How a variable goes with load.

    bound
        The means of no two classes differ by more than this, with 95 % confidence for all of them together;
        ``None`` where nothing bounds it.
    """

    kind: Kind
    unit: str = ""
    bound: float | None = None

    @property
    def words(self) -> str:
        """The trend in plain words."""
        bound = "" if self.bound is None else f"{self.bound:.3g} {self.unit}".rstrip()
        if self.kind == "flat":
            return (
                f"flat: it surely changes by less than {bound}" if self.bound else "flat: it does not change"
            )
        if self.kind == "too-few-data":
            return f"too few data: bars overlap, a change of {bound} is not ruled out"
        return _WORDS[self.kind]


def trend(curve: Curve) -> Trend:
    """Judge the class means of `curve` by their honest errors, by the textbook's where there are none.

    All pairs of classes are compared, and the means with a straight line; the chance of any wrong difference
    is at most 5 % in all. Without a difference it is flat when none greater than a quarter of the mean is
    left possible.
    """
    usable = [m for p in curve.points if (m := _mean(p)) is not None]
    if len(usable) < 2:
        return Trend("one-class", curve.unit)
    pairs = list(combinations(range(len(usable)), 2))
    critical = NormalDist().inv_cdf(1 - ERROR_RATE / 2 / (len(pairs) + 1))
    up = np.zeros((len(usable), len(usable)), dtype=bool)
    down = up.copy()
    bound = 0.0
    for i, j in pairs:
        weights = np.zeros(len(usable))
        weights[i], weights[j] = -1, 1
        difference, error, freedom = _contrast(usable, weights)
        up[i, j], down[i, j] = (_surely(s * difference, error, freedom, critical) for s in (1, -1))
        bound = max(bound, abs(difference) + error * _t_of(critical, freedom))
    place = np.arange(len(usable)) - (len(usable) - 1) / 2
    line = _contrast(usable, place)
    rises = bool(up.any()) or _surely(line[0], line[1], line[2], critical)
    falls = bool(down.any()) or _surely(-line[0], line[1], line[2], critical)
    if rises and falls:
        turns = (_one_after(up, down), _one_after(down, up))
        kinds: dict[tuple[bool, bool], Kind] = {
            (True, False): "rises-then-falls",
            (False, True): "falls-then-rises",
        }
        return Trend(kinds.get(turns, "scatter"), curve.unit, bound)
    if rises or falls:
        return Trend("rises" if rises else "falls", curve.unit, bound)
    size = abs(float(np.mean([m.mean for m in usable])))
    return Trend("flat" if bound <= FLAT_PART * size else "too-few-data", curve.unit, bound)


@dataclass(frozen=True)
class _Mean:
    mean: float
    error: float
    freedom: float


def _mean(p: Point) -> _Mean | None:
    """A mean with its error; ``None`` where too few observations tell the error."""
    error = p.honest_error if p.honest_error is not None else p.standard_error
    freedom = (p.batches if p.batches is not None else p.n) - 1
    if p.mean is None or error is None or freedom < 1 or (error == 0 and p.n < 10):
        return None
    if p.batches is not None and p.effective_n is not None:
        error /= math.sqrt(variance_seen(p.effective_n, p.batches))
    return _Mean(p.mean, error, freedom)


def _contrast(means: list[_Mean], weights: np.ndarray) -> tuple[float, float, float]:
    """Weighted sum of means, its standard error, and its degrees of freedom (Welch, Satterthwaite)."""
    value = sum(w * m.mean for w, m in zip(weights, means, strict=True))
    parts = [(w * m.error) ** 2 for w, m in zip(weights, means, strict=True)]
    total = sum(parts)
    below = sum(v**2 / m.freedom for v, m in zip(parts, means, strict=True))
    return float(value), math.sqrt(total), total**2 / below if below > 0 else math.inf


def _surely(difference: float, error: float, freedom: float, critical: float) -> bool:
    """Is the difference above zero by more than chance?"""
    if error == 0:
        return difference > 0
    return difference / error > _t_of(critical, freedom)


def _t_of(z: float, freedom: float) -> float:
    """Quantile of Student's t where the normal distribution has `z`, by Wallace's approximation (1959)."""
    if freedom > 1e6:
        return z
    scaled = z * (8 * freedom + 3) / (8 * freedom + 1)
    return math.sqrt(freedom * math.expm1(min(600.0, scaled**2 / freedom)))


def _one_after(first: np.ndarray, second: np.ndarray) -> bool:
    """Is a sure difference of the `second` kind wholly above one of the `first` kind?"""
    ends = np.flatnonzero(first.any(axis=0))
    starts = np.flatnonzero(second.any(axis=1))
    return bool(len(ends) and len(starts) and ends.min() <= starts.max())
