"""Errors of the windows: one model of the variance for all, from the scatter of their blocks.

A window's own few blocks tell its error badly. Over all windows, the logarithm of the relative variance times
the window's length is a line in the logarithms of throughput and of the number of users: a count's relative
variance falls as 1/throughput; scatter may also grow with load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from satline.knee._window import Floats, Window

# How many windows' worth of doubt: standard deviations of the coefficients before anything was seen.
BY_THROUGHPUT, BY_THROUGHPUT_ERROR = -1.0, 0.6
BY_USERS, BY_USERS_ERROR = 0.0, 0.6
USUAL, USUAL_ERROR = np.log(2.0), 1.5  # variance of a count in units of its mean, per window
UNSETTLED = 4.0
ALIKE = 3.0


@dataclass(frozen=True)
class Noise:
    """Relative variance of a window's mean, times its length.

    coefficients
        Constant, by the logarithm of throughput, by the logarithm of users.
    freedom
        Degrees of freedom of the common scale.
    """

    coefficients: tuple[float, float, float]
    freedom: float

    def variance(self, throughput: Floats, users: Floats, seconds: Floats | float) -> Floats:
        """Relative variance of the mean of a window."""
        level, by_throughput, by_users = self.coefficients
        rate = np.log(np.maximum(throughput, 1e-12))
        return np.asarray(np.exp(level + by_throughput * rate + by_users * np.log(users)) / seconds)


def pooled(windows: Sequence[Window], pilot: Floats) -> Noise:
    """The model from all windows; pilot: about what throughput each should have."""
    rows, target, weight = [], [], []
    residuals: list[Floats] = []
    for window, usual in zip(windows, pilot, strict=True):
        count = len(window.throughput)
        if count < 2:
            continue
        square = float(window.throughput.var(ddof=1)) / usual**2 * window.block_s
        # Blocks that resemble each other tell the spread as few would.
        freedom = max(1.0, (count - 1) / ALIKE) if window.spread_is_error else count - 1
        if square <= 0:  # equal counts by chance: the least that may be said of them
            square = 0.3 * window.block_s / (usual**2 * window.seconds * window.block_s)
        rows.append((1.0, np.log(usual), np.log(window.users)))
        # the logarithm of a chi-square of few degrees lies below the logarithm of its mean
        target.append(np.log(square) + 1 / freedom)
        weight.append(freedom / 2)
        residuals.append((window.throughput - window.mean) / max(np.sqrt(square / window.block_s), 1e-12))
    prior = np.array([USUAL, BY_THROUGHPUT, BY_USERS])
    precision = np.diag(1 / np.array([USUAL_ERROR, BY_THROUGHPUT_ERROR, BY_USERS_ERROR]) ** 2)
    if not rows:
        return Noise((float(prior[0]), float(prior[1]), float(prior[2])), 2.0)
    design, w = np.array(rows), np.array(weight)
    normal = design.T @ (design * w[:, None]) + precision
    found = np.linalg.solve(normal, design.T @ (w * np.array(target)) + precision @ prior)
    found[0] += np.log(_inflation(windows))
    return Noise((float(found[0]), float(found[1]), float(found[2])), max(2.0, 2 * float(w.sum())))


def _inflation(windows: Sequence[Window]) -> float:
    """By how much the variance of a mean is greater because successive blocks resemble each other:
    (1 + ρ)/(1 − ρ), ρ pooled over all windows, drawn towards 0 where the blocks are few."""
    above = below = pairs = 0.0
    for window in windows:
        count = len(window.throughput)
        if count < 4 or window.spread_is_error:
            continue
        left = window.throughput - window.throughput.mean()
        square = float(left @ left)
        if square <= 0:
            continue
        # in units of the window's own variance; the mean of few blocks makes ρ too small by about 1/blocks
        above += (float(left[1:] @ left[:-1]) / square + 1 / count) * count
        below += count
        pairs += count - 1
    if not below:
        return 1.0
    rho = above / below * pairs / (pairs + 10)
    rho = float(np.clip(rho, -0.2, 0.7))
    return (1 + rho) / (1 - rho)
