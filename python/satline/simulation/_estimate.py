"""An estimate with its interval, and differences under common random numbers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from satline.stats import t_quantile

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval.

    value
        ``None``: nothing to estimate from.
    low, high
        Ends of the interval; ``None``: the data give none.
    n
        Replications or batches that it rests on.
    method
        ``replications``, ``batch means`` or ``difference``.
    note
        Why the interval is missing or may be too narrow; empty otherwise.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    method: str
    note: str = ""

    @classmethod
    def around(cls, value: float, half_width: float, n: int, method: str, note: str = "") -> Estimate:
        """value ± half_width."""
        return cls(value, value - half_width, value + half_width, n, method, note)

    @property
    def half_width(self) -> float | None:
        """Half the interval, which need not be symmetric."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2.0


def mean_interval(
    values: Sequence[float], method: str, note: str = "", confidence: float = CONFIDENCE
) -> Estimate:
    """Mean of independent values with its interval, x̄ ± t(n − 1) s/√n; none for fewer than two."""
    n = len(values)
    if n == 0:
        return Estimate(None, None, None, 0, method, note)
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(mean, None, None, 1, method, note or "one value has no interval")
    variance = math.fsum((x - mean) ** 2 for x in values) / (n - 1)
    return Estimate.around(mean, t_quantile(confidence, n - 1) * math.sqrt(variance / n), n, method, note)


@dataclass(frozen=True)
class Difference:
    """How much more `b` has than `a`, replication by replication.

    difference
        b − a with its interval.
    relative
        (b − a) as a part of the mean of a; ``None`` where that is 0.
    variance_reduction
        What the common random numbers saved, 1 − Var(b − a)/(Var a + Var b): 0.9 says that independent
        runs would have needed ten times as many. Negative where they harm; ``None`` where nothing varies.
    """

    difference: Estimate
    relative: float | None
    variance_reduction: float | None

    @property
    def sure(self) -> bool:
        """The interval does not hold 0."""
        value, half = self.difference.value, self.difference.half_width
        return value is not None and half is not None and abs(value) > half


def paired(a: Sequence[float | None], b: Sequence[float | None]) -> Difference:
    """Difference b − a of runs that had the same random numbers pair by pair.

    A pair in which either is missing is left out.

    Raises
    ------
    ValueError
        They are not of equal number.
    """
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    differences = [y - x for x, y in pairs]
    estimate = mean_interval(differences, "difference")
    reduction = None
    if len(pairs) > 1:
        apart = statistics.variance(x for x, _ in pairs) + statistics.variance(y for _, y in pairs)
        reduction = 1.0 - statistics.variance(differences) / apart if apart > 0.0 else None
    mean = math.fsum(x for x, _ in pairs) / len(pairs) if pairs else 0.0
    relative = None if estimate.value is None or mean == 0.0 else estimate.value / mean
    return Difference(estimate, relative, reduction)
