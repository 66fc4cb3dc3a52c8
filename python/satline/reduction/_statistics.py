"""Statistics of one variable in one load class."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from satline.reduction._results import Point

PERCENTILES = (25, 50, 75, 90)
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

EMPTY = Point(0, None, None, None, None, None, {})


def batch_error(values: Floats, batches: Integers, weights: Floats | None = None) -> float | None:
    """Standard error of a mean of autocorrelated observations, by batch means.

    Observations of one batch (a block of successive ones) may depend on each other as they like; batches are
    taken as independent. With batch totals e_g = Σ w (x − m) over G batches of unequal size,
    SE² = G/(G−1) · Σ e_g² / (Σ w)², which for equal batches is the textbook's batch-means estimate.

    Returns ``None`` with fewer than two batches.
    """
    _, position = np.unique(batches, return_inverse=True)
    groups = int(position.max()) + 1 if len(position) else 0
    if groups < 2:
        return None
    weight = np.ones_like(values) if weights is None else weights
    total = float(weight.sum())
    mean = float((weight * values).sum()) / total
    sums = np.bincount(position, weights=weight * (values - mean), minlength=groups)
    return math.sqrt(groups / (groups - 1) * float((sums**2).sum())) / total


def point(values: Floats, batches: Integers, weights: Floats | None = None) -> Point:
    """Count, mean, standard deviation, both standard errors and percentiles of the values that are not
    missing.

    `values`, `batches` and `weights` have one entry per observation; a missing value is NaN. The honest
    error is never below the textbook's: chance alone would otherwise make few batches look better than
    independence.
    """
    good = np.isfinite(values)
    if weights is not None:
        good &= np.isfinite(weights) & (weights > 0)
        weights = weights[good]
    values, batches = values[good], batches[good]
    n = len(values)
    if n == 0:
        return EMPTY
    mean = float(values.mean()) if weights is None else float(np.average(values, weights=weights))
    percentiles = dict(zip(PERCENTILES, (float(p) for p in np.percentile(values, PERCENTILES)), strict=True))
    if n == 1:
        return Point(1, mean, None, None, None, None, percentiles)
    if weights is None:
        sd = float(values.std(ddof=1))
        textbook = sd / math.sqrt(n)
    else:
        sd = math.sqrt(float(np.average((values - mean) ** 2, weights=weights)) * n / (n - 1))
        textbook = sd * math.sqrt(float((weights**2).sum())) / float(weights.sum())
    honest = batch_error(values, batches, weights)
    if honest is not None:
        honest = max(honest, textbook)
    effective = None
    if honest is not None:
        effective = n * (textbook / honest) ** 2 if honest > 0 else float(n)
    return Point(n, mean, sd, textbook, honest, effective, percentiles)
