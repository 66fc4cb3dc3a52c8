"""How likely the windows are under each of many shapes, what is linear integrated out.

A window's throughput, in units of a pilot curve m_j, is

    y_j / m_j = a g(N_j)/m_j · (1 + e_j δ(t_j)) + error,

with the rate a of a user alone, and a drift δ of the host over the study, steady and bent (Legendre's
polynomials of degree 1 and 2), whose mean is nothing, so that the knee is that of the study's mean. Where
the CPU limits and others took more or less of it, g(N) stands for c g(N/c), c relative to its mean. What
drifts is the capacity alone or all throughput (`whole` from 0 to 1): e_j = whole + (1 − whole) × elasticity.
a and the waves are linear and have a closed form; the errors are of Student's t, so that a single bad window
does not carry the fit: its weights are found by iteration for each shape (Laplace's approximation).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from satline.knee._curves import Curves
from satline.knee._window import Floats

TAILS = 5.0  # degrees of freedom of the windows' errors
# Student's t that tells as much of its centre as the normal distribution of variance 1 has this scale.
CORE = (TAILS + 1) / (TAILS + 3)
ROUNDS = 3
WAVES = 2


@dataclass(frozen=True)
class Data:
    """The windows as arrays: users, middle (seconds), throughput, pilot, relative variance of the mean by its
    blocks, and the capacity relative to the study's mean."""

    users: Floats
    middle_s: Floats
    mean: Floats
    pilot: Floats
    variance: Floats
    capacity: Floats

    @property
    def span_s(self) -> float:
        """From the first window's middle to the last's."""
        return max(1.0, float(self.middle_s.max() - self.middle_s.min()))

    def waves(self, time_s: Floats) -> Floats:
        """Legendre's polynomials of the first degrees over the study: shape (times, waves). Each has mean 0;
        the first is a steady drift from −1 to 1."""
        place = 2 * (time_s - self.middle_s.min()) / self.span_s - 1
        return np.stack([place, (3 * place**2 - 1) / 2], axis=1)


@dataclass(frozen=True)
class Nuisance:
    """What is not asked for, one value a shape.

    between
        Standard deviation between windows that their blocks do not show, relative to throughput.
    scale
        By what factor the blocks' variance is off.
    drift
        Standard deviation of the host's drift over five minutes, relative.
    whole
        0: the capacity drifts, 1: all throughput.
    swell
        Logarithm of the factor by which blocks tell too small a variance of saturated windows: what completes
        in some seconds is a Poisson process there, in minutes it varies with the commands drawn.
    """

    between: Floats
    scale: Floats
    drift: Floats
    whole: Floats
    swell: Floats

    def take(self, index: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Nuisance:
        """Those of these numbers."""
        return Nuisance(
            self.between[index], self.scale[index], self.drift[index], self.whole[index], self.swell[index]
        )

    def variance(self, by_blocks: Floats, stretch: Floats) -> Floats:
        """Variance of a window's mean, relative, from that by its blocks and the elasticity there: shape
        (shapes, windows)."""
        swollen = np.exp(self.swell[:, None] * np.minimum(stretch, 1.0))
        return np.asarray(by_blocks * self.scale[:, None] * swollen + self.between[:, None] ** 2)


@dataclass(frozen=True)
class Fitted:
    """Logarithm of the likelihood of each shape, and its linear part: mean (shapes, 1 + waves) and inverse
    covariance (shapes, 1 + waves, 1 + waves)."""

    log_likelihood: Floats
    linear: Floats
    precision: Floats
    weights: Floats


def wave_error(drift: Floats, span_s: float) -> Floats:
    """Standard deviation of each wave's size: a bent drift is half as large as a steady one, and both grow as
    a random walk, as √time."""
    size = drift * np.sqrt(span_s / 300.0)
    return np.asarray(size[:, None] / np.arange(1, WAVES + 1))


def evidence(data: Data, curves: Curves, nuisance: Nuisance) -> Fitted:
    """The likelihood of each of the shapes."""
    value, stretch = curves.at(data.users / data.capacity)
    value = value * data.capacity / data.pilot
    exposed = nuisance.whole[:, None] + (1 - nuisance.whole[:, None]) * stretch
    waves = data.waves(data.middle_s)
    rows = np.concatenate([value[:, :, None], (value * exposed)[:, :, None] * waves], axis=2)
    seen = data.mean / data.pilot
    variance = CORE * nuisance.variance(data.variance, stretch)
    weight = 1 / variance
    prior = np.zeros((len(curves), 1 + WAVES))
    prior[:, 1:] = 1 / wave_error(nuisance.drift, data.span_s) ** 2
    usual = weight
    for step in range(ROUNDS):
        weighted = rows * weight[:, :, None]
        normal = np.matmul(weighted.transpose(0, 2, 1), rows)
        pull = np.matmul(weighted.transpose(0, 2, 1), seen)
        # the waves' sizes are a times the drift: a is set to 1 for their prior after the first round
        if step == 0:
            rate = pull[:, 0] / normal[:, 0, 0]
        diagonal = prior / np.maximum(rate[:, None], 1e-9) ** 2
        for k in range(1 + WAVES):
            normal[:, k, k] += diagonal[:, k]
        linear = np.linalg.solve(normal, pull[:, :, None])[:, :, 0]
        error = seen - np.matmul(rows, linear[:, :, None])[:, :, 0]
        square = error**2 / variance
        weight = (TAILS + 1) / (TAILS + square) * usual
    determinant = np.linalg.det(normal)
    likelihood = -0.5 * np.log(variance).sum(axis=1) - (TAILS + 1) / 2 * np.log1p(square / TAILS).sum(axis=1)
    likelihood -= 0.5 * (diagonal * linear**2).sum(axis=1)
    likelihood += 0.5 * np.log(np.where(diagonal[:, 1:] > 0, diagonal[:, 1:], 1)).sum(axis=1)
    likelihood -= 0.5 * np.log(np.maximum(determinant, 1e-300))
    # flat in the logarithm of the rate
    likelihood -= np.log(np.maximum(linear[:, 0], 1e-9))
    likelihood = np.where(linear[:, 0] > 0, likelihood, -np.inf)
    return Fitted(likelihood, linear, normal, weight)
