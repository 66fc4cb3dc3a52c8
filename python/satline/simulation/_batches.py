"""An interval from one long run: batch means whose length is chosen by their autocorrelation.

Own: neither scipy nor statsmodels has batch means.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from satline.simulation._estimate import CONFIDENCE, Estimate
from satline.stats import t_quantile

LEAST = 10
MOST = 40
# One-sided, by von Neumann's ratio. Generous, because the test hardly sees what a few batches hide.
NORMAL_AT_TEST = 0.8416


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
        return Estimate(None, None, 0, "batch means", "nothing happened that it could be measured by")
    mean = float(x.sum() / w.sum())
    happened = int(np.count_nonzero(w))
    if happened < 2 * LEAST:
        return Estimate(mean, None, happened, "batch means", "too short for an interval: run longer")
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
    return Estimate(mean, half, len(means), "batch means", note)
