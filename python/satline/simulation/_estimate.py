"""An estimate with its interval, and Student's t without a library that takes a second to import."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

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
    return Estimate(mean, t_quantile(n - 1, confidence) * math.sqrt(variance / n), n, method, note)


@lru_cache(maxsize=4096)
def t_quantile(freedom: int, confidence: float = CONFIDENCE) -> float:
    """t with P(|T| ≤ t) = `confidence` for `freedom` degrees of freedom, by bisection of the exact integral.

    >>> round(t_quantile(4), 3), round(t_quantile(29), 3)
    (2.776, 2.045)
    """
    if freedom < 1:
        raise ValueError(f"{freedom} degrees of freedom")
    low, high = 0.0, 1.0
    while _within(high, freedom) < confidence:
        high *= 2.0
    while high - low > 1e-12 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if _within(middle, freedom) < confidence else (low, middle)
    return (low + high) / 2.0


def _within(t: float, freedom: int) -> float:
    """P(|T| ≤ t): with θ = atan(t/√ν), a finite sum for whole ν.

    ν odd: 2/π (θ + sin θ (cos θ + 2/3 cos³ θ + …)); ν even: sin θ (1 + 1/2 cos² θ + 1·3/(2·4) cos⁴ θ + …)
    [Abramowitz and Stegun 26.7.3, 26.7.4].
    """
    if freedom > 10_000:  # the normal distribution, good to 1e-4 there
        return math.erf(t / math.sqrt(2.0))
    angle = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2 == 1
    term, total = (cosine if odd else 1.0), 0.0
    if freedom > 1:
        for k in range(2 if odd else 1, freedom - 1, 2):
            total += term
            term *= cosine * cosine * k / (k + 1)
        total += term
    return 2.0 / math.pi * (angle + sine * total) if odd else sine * total
