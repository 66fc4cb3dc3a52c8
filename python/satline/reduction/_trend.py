"""Does a variable change with load, or can nobody tell? [Bard]

If no trend is clear, there are too few data (bars overlap) or there is scatter in the system itself (bars are
small, means differ).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from satline.reduction._results import Curve, Point
from satline.reduction._statistics import Floats, Integers, variance_seen

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
    first, second = np.triu_indices(len(usable), 1)
    # A row for each pair of classes, and the straight line last.
    weights = np.zeros((len(first) + 1, len(usable)))
    rows = np.arange(len(first))
    weights[rows, first], weights[rows, second] = -1, 1
    weights[-1] = np.arange(len(usable)) - (len(usable) - 1) / 2
    difference, reach = _contrasts(usable, weights)
    up, down = difference > reach, -difference > reach
    rises, falls = bool(up.any()), bool(down.any())
    bound = float((np.abs(difference) + reach)[:-1].max())
    if rises and falls:
        turns = (
            _one_after(second[up[:-1]], first[down[:-1]]),
            _one_after(second[down[:-1]], first[up[:-1]]),
        )
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


def _contrasts(means: list[_Mean], weights: Floats) -> tuple[Floats, Floats]:
    """Weighted sums of the means, one for each row of `weights`, and how far chance alone takes each of them
    with `ERROR_RATE` in all: by Student's t with the degrees of freedom of Welch and Satterthwaite."""
    from scipy.special import stdtrit

    mean, error, freedom = np.array([(m.mean, m.error, m.freedom) for m in means]).T
    parts = (weights * error) ** 2
    total = parts.sum(axis=1)
    share = parts / np.where(total > 0, total, 1.0)[:, None]
    together = 1.0 / np.where(total > 0, (share**2 / freedom).sum(axis=1), 1.0)
    t = -stdtrit(together, ERROR_RATE / 2 / len(weights))
    # Less the first mean, which changes no sum: means that are all alike then differ by nothing at all.
    return weights @ (mean - mean[0]), np.sqrt(total) * t


def _one_after(ends: Integers, starts: Integers) -> bool:
    """Does one sure difference begin where or after another of the opposite kind ends?"""
    return bool(len(ends) and len(starts) and ends.min() <= starts.max())
