"""Where the warm-up ends: MSER-5. Own: neither scipy nor statsmodels has it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

BATCH = 5


@dataclass(frozen=True)
class Truncation:
    """The part of a series that is left out.

    batches
        Leading batches of five that are left out.
    of
        Batches in all.
    valid
        The point lies in the first half. Otherwise the series is too short to tell: run longer.
    """

    batches: int
    of: int
    valid: bool


def mser(batches: ArrayLike) -> Truncation:
    """Truncation point of a series of means of five successive observations.

    d minimises the squared standard error of what is left, Σ_{i>d} (x_i − x̄_d)² / (n − d)², over all d that
    leave at least five batches; the earliest such d. A point in the second half says that no steady
    state was seen, and is invalid [White, Cobb and Spratt 2000]. Missing batches (NaN) do not count.
    """
    x = np.asarray(batches, dtype=np.float64)
    n = len(x)
    if n == 0:
        return Truncation(0, 0, False)
    good = np.isfinite(x)
    if not good.any():
        return Truncation(0, n, True)
    # Away from the mean, so that small spreads of large numbers keep their digits.
    centred = np.where(good, x - x[good].mean(), 0.0)
    count = np.cumsum(good[::-1])[::-1].astype(np.float64)
    total = np.cumsum(centred[::-1])[::-1]
    squares = np.cumsum((centred**2)[::-1])[::-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.maximum(squares - total**2 / count, 0.0)
        error = spread / count**2
    # What is left of rounding must not choose between batches that are all alike.
    error[spread <= 1e-12 * squares + 1e-24 * float(np.square(x[good]).sum())] = 0.0
    allowed = count >= min(5, int(good.sum()))
    d = int(np.argmin(np.where(allowed, error, np.inf)))
    return Truncation(d, n, n >= 2 * BATCH and d <= n // 2)
