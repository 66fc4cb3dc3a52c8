"""Differences under common random numbers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from satline.simulation._estimate import Estimate, mean_interval


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
