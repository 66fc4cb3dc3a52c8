"""The universal scalability law, fitted to throughput by load.

X(N) = λ N / (1 + σ (N − 1) + κ N (N − 1)): λ is what one user gets alone, σ the part of the work that
is done one at a time (contention), κ what each pair of users costs (coherency). With κ > 0 throughput has a
peak at N* = √((1 − σ)/κ) [Gunther: Guerrilla Capacity Planning, 2007]. A peak beyond the loads seen is
extrapolated, and no evidence of one.

The steps are own, since they are made for all replicates at once; `scipy.optimize` fits one at a time.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from satline.diagnosis._hinge import Floats
from satline.diagnosis._results import Estimate, UslFit

ROUNDS = 60
NO_PEAK = 1e9


def fit_usl(load: Floats, means: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Weighted least squares with σ, κ ≥ 0, for each row of `means` (shape: replicates × levels).

    Levenberg and Marquardt's steps for all rows at once; a parameter at its bound stays there while its
    gradient points outwards. Begins at the line N/X = (1 + σ (N − 1) + κ N (N − 1))/λ. A level without any
    load is left out: there X is 0 whatever the parameters are.

    Returns
    -------
    Parameters λ, σ, κ (shape: replicates × 3) and the weighted sums of squares left over.
    """
    some = load > 0
    load, means, weights = load[some], means[:, some], weights[some]
    one, pair = load - 1, load * (load - 1)
    safe = np.maximum(means, 1e-9 * np.abs(means).max())
    root = np.sqrt(weights)
    bend = np.stack([np.ones_like(load), one, pair], axis=1)
    # relative errors of X and of N/X are alike, so that these weights make the start a near solution
    relative = root * safe.mean(axis=0) ** 2 / load
    start = (np.linalg.pinv(bend * relative[:, None]) @ (relative * load / safe).T).T
    scale = np.maximum(start[:, 0], (load / safe).min(axis=1))
    found = np.stack([1 / scale, np.maximum(start[:, 1] / scale, 0), np.maximum(start[:, 2] / scale, 0)], 1)

    def shape(p: Floats) -> Floats:
        return np.asarray(load / (1 + p[:, 1:2] * one + p[:, 2:] * pair))

    def left(p: Floats) -> Floats:
        return np.asarray(((root * (means - p[:, :1] * shape(p))) ** 2).sum(axis=1))

    best, damping = left(found), np.full(len(means), 1e-3)
    for _ in range(ROUNDS):
        curve = shape(found)
        slope = -found[:, :1] * curve**2 / load
        jacobian = np.stack([curve, slope * one, slope * pair], axis=2) * root[:, None]
        error = root * (means - found[:, :1] * curve)
        gradient = np.einsum("rlp,rl->rp", jacobian, error)
        normal = np.einsum("rlp,rlq->rpq", jacobian, jacobian)
        stuck = (found <= 0) & (gradient < 0)
        gradient = np.where(stuck, 0, gradient)
        normal = np.where(stuck[:, :, None] | stuck[:, None, :], 0, normal)
        diagonal = np.einsum("rpp->rp", normal)
        extra = np.where(stuck, 1.0, damping[:, None] * diagonal + 1e-300)
        step = np.linalg.solve(normal + extra[:, :, None] * np.eye(3), gradient[:, :, None])[:, :, 0]
        tried = np.maximum(found + step, [1e-300, 0, 0])
        now = left(tried)
        better = now <= best
        gain = best - now
        found = np.where(better[:, None], tried, found)
        best = np.where(better, now, best)
        damping = np.clip(np.where(better, damping / 5, damping * 4), 1e-12, 1e12)
        if (np.abs(gain) <= 1e-12 * best + 1e-300).all():
            break
    return found, best


def peak_of(found: Floats) -> Floats:
    """Load of the greatest throughput, √((1 − σ)/κ), by row; `NO_PEAK` without coherency."""
    contention, coherency = np.minimum(found[:, 1], 1), np.maximum(found[:, 2], 1e-30)
    return np.asarray(np.minimum(np.sqrt((1 - contention) / coherency), NO_PEAK))


def usl(
    load: Floats, means: Floats, weights: Floats, unit: str, broken_line: tuple[float, int]
) -> UslFit | None:
    """The fit to the first row of `means`, intervals from the others; ``None`` where it cannot be made.

    broken_line
        Weighted sum of squares that a broken line leaves over, and its number of parameters.
    """
    count = int((load > 0).sum())
    if not (means[0] > 0).all() or load[0] < 0 or count < 4:
        return None
    found, left = fit_usl(load, means, weights)
    if not np.isfinite(found).all():
        return None

    def estimate(values: Floats, of: str) -> Estimate:
        low, high = np.percentile(values, [2.5, 97.5])
        centre = float(values[0])
        return Estimate(centre, min(centre, float(low)), max(centre, float(high)), of)

    peaks = peak_of(found)
    peak = estimate(peaks, "users") if peaks[0] < NO_PEAK else None
    # Between a peak and none there is nothing to interpolate.
    if peak is not None and np.percentile(peaks, 97.5, method="higher") >= NO_PEAK:
        peak = replace(peak, high=math.inf)
    return UslFit(
        estimate(found[:, 0], unit + " per user"),
        estimate(found[:, 1], "fraction"),
        estimate(found[:, 2], "per user"),
        peak,
        peak_in_range=peak is not None and peak.high <= float(load[-1]),
        better_than_broken_line=bool(
            left[0] / max(1, count - 3) < broken_line[0] / max(1, len(load) - broken_line[1])
        ),
    )
