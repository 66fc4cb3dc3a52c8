"""An estimate with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from satline.stats import t_quantile

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval, value ± half_width.

    value
        ``None``: nothing to estimate from.
    half_width
        ``None``: the data give no interval.
    n
        Replications or batches that it rests on.
    method
        ``replications``, ``batch means`` or ``difference``.
    note
        Why the interval is missing or may be too narrow; empty otherwise.
    """

    value: float | None
    half_width: float | None
    n: int
    method: str
    note: str = ""

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        return None if self.value is None or self.half_width is None else self.value - self.half_width

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        return None if self.value is None or self.half_width is None else self.value + self.half_width


def mean_interval(
    values: Sequence[float], method: str, note: str = "", confidence: float = CONFIDENCE
) -> Estimate:
    """Mean of independent values with its interval, x̄ ± t(n − 1) s/√n; none for fewer than two."""
    n = len(values)
    if n == 0:
        return Estimate(None, None, 0, method, note)
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(mean, None, 1, method, note or "one value has no interval")
    variance = math.fsum((x - mean) ** 2 for x in values) / (n - 1)
    return Estimate(mean, t_quantile(confidence, n - 1) * math.sqrt(variance / n), n, method, note)
