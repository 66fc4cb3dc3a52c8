"""One long run: where its warm-up ends (MSER-5), and batch means whose length is chosen by autocorrelation.

Own: neither scipy nor statsmodels has either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from satline.simulation._estimate import CONFIDENCE, Estimate
from satline.stats import t_quantile

BATCH = 5
LEAST = 10
MOST = 40
# One-sided, by von Neumann's ratio. Generous, because the test hardly sees what a few batches hide.
NORMAL_AT_TEST = 0.8416


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


def batch_means(amounts: ArrayLike, weights: ArrayLike | None = None) -> Estimate:
    """Mean of an autocorrelated series with its 95 % interval.

    The series is cut into b batches of equal length; b is the greatest of 40 … 10 whose means von Neumann's
    ratio does not find alike, with q = Σ (x̄_{i+1} − x̄_i)² / Σ (x̄_i − x̄)² and
    z = (q/2 − 1) √((b² − 1)/(b − 2)), at one sided 20 %. Then mean ± t(b − 1) · s/√b · √((1 + r)/(1 − r)),
    where r ≥ 0 is what is left of their autocorrelation.

    Parameters
    ----------
    amounts
        One per observation; NaN where missing.
    weights
        For a ratio m = Σ amounts / Σ weights, as a mean response: the interval is of the residuals
        (amount − m · weight) / w̄. Without weights it is a plain mean.
    """
    x = np.asarray(amounts, dtype=np.float64)
    w = np.ones_like(x) if weights is None else np.asarray(weights, dtype=np.float64)
    good = np.isfinite(x) & np.isfinite(w)
    x, w = np.where(good, x, 0.0), np.where(good, w, 0.0)
    if not w.sum() > 0.0:
        return Estimate(None, None, None, 0, "batch means", "nothing happened that it could be measured by")
    mean = float(x.sum() / w.sum())
    happened = int(np.count_nonzero(w))
    if happened < 2 * LEAST:
        return Estimate(mean, None, None, happened, "batch means", "too short for an interval: run longer")
    residual = (x - mean * w) / w.mean()
    for count in range(min(MOST, len(x) // 2), LEAST - 1, -1):
        means = _cut(residual, count)
        if not _alike(means):
            return _estimate(mean, means, "")
    return _estimate(mean, _cut(residual, LEAST), "batches still resemble each other: run longer")


def _cut(residual: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Means of `count` batches of equal length; what does not fill one is left out at the front."""
    length = len(residual) // count
    means: NDArray[np.float64] = (
        residual[len(residual) - length * count :].reshape(count, length).mean(axis=1)
    )
    return means


def _alike(means: NDArray[np.float64]) -> bool:
    b = len(means)
    spread = float(((means - means.mean()) ** 2).sum())
    if spread <= 0.0:
        return False
    ratio = float((np.diff(means) ** 2).sum()) / spread
    return (ratio / 2.0 - 1.0) * math.sqrt((b * b - 1.0) / (b - 2.0)) < -NORMAL_AT_TEST


def _estimate(mean: float, means: NDArray[np.float64], note: str) -> Estimate:
    half = t_quantile(CONFIDENCE, len(means) - 1) * float(means.std(ddof=1)) / math.sqrt(len(means))
    centred = means - means.mean()
    square = float((centred**2).sum())
    alike = float((centred[1:] * centred[:-1]).sum()) / square if square > 0.0 else 0.0
    r = min(max(alike, 0.0), 0.8)
    half *= math.sqrt((1.0 + r) / (1.0 - r))
    return Estimate.around(mean, half, len(means), "batch means", note)
