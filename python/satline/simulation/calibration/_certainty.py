"""How sure the fitted constants are, and what stands against the targets that were missed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from satline.simulation._estimate import CONFIDENCE
from satline.simulation.calibration._evaluate import Floats, Tried
from satline.simulation.calibration._fit import DEVIATION, Goal, Slopes, promised
from satline.stats import t_quantile

IDENTIFIED = 0.5
AT_END = 1e-6
SURE = 2.0


@dataclass(frozen=True)
class Certainty:
    """Of one constant, in parts of its range.

    deviation
        Standard error of the place; ``None``: it is not identified, or at an end.
    resolution
        Share of what is known of it that comes from the targets, 0 to 1; the rest is its start.
    end
        -1 or 1 where it lies at its least or greatest value.
    """

    deviation: float | None
    resolution: float
    end: int

    @property
    def identified(self) -> bool:
        """Do the targets say more of it than its start does?"""
        return self.resolution >= IDENTIFIED


def certainties(goal: Goal, slopes: Slopes, noise: Floats, measured: Floats) -> list[Certainty]:
    """Standard errors of the constants to first order.

    With J the slopes, W = diag(w / τ²), P = ¼² I what was thought before, Σ the covariance of the errors (of
    the simulated means by their replications and of the measured values):
    G = (JᵀWJ + ρP⁻¹)⁻¹JᵀW, R = GJ, Cov = GΣGᵀ + (I − R)P(I − R)ᵀ.
    The second part is what the ridge hides: a constant that no target moves keeps the whole of P.
    Slopes within twice their standard error count as none. A constant at an end is no longer free.

    Parameters
    ----------
    noise
        Relative errors of independent replications at the fitted constants, replications × targets.
    measured
        Relative standard errors of the measured values.
    """
    place = slopes.at.place
    ends = [-1 if x < AT_END else 1 if x > 1.0 - AT_END else 0 for x in place]
    free = [j for j, end in enumerate(ends) if end == 0]
    slope = np.where(np.abs(slopes.slope) > SURE * slopes.error, slopes.slope, 0.0)[:, free]
    weighted = slope.T * goal.scale**2
    gain = np.linalg.solve(weighted @ slope + goal.ridge / DEVIATION**2 * np.eye(len(free)), weighted)
    resolution = gain @ slope
    covariance = np.atleast_2d(np.cov(noise, rowvar=False)) / len(slopes.at.errors) + np.diag(measured**2)
    left = np.eye(len(free)) - resolution
    whole = gain @ covariance @ gain.T + DEVIATION**2 * left @ left.T
    found = [Certainty(None, 1.0, end) for end in ends]
    for number, j in enumerate(free):
        share = float(resolution[number, number])
        known = share >= IDENTIFIED
        found[j] = Certainty(float(np.sqrt(whole[number, number])) if known else None, share, 0)
    return found


def half_width(certainty: Certainty, replications: int) -> float | None:
    """Half of the 95 % interval in parts of the range."""
    deviation = certainty.deviation
    return None if deviation is None else t_quantile(CONFIDENCE, replications - 1) * deviation


@dataclass(frozen=True)
class Obstacle:
    """Why a target was missed.

    nearest
        Relative error nearest to 0 at any point tried, or that the slopes promise within the ranges.
    costs
        With this target met, to first order: relative errors of others that then miss, by number; empty where
        it is out of reach.
    reachable
        Some point tried meets it, or the slopes say that one does.
    """

    nearest: float
    reachable: bool
    costs: dict[int, float]


def obstacle(goal: Goal, slopes: Slopes, tried: list[Tried], target: int) -> Obstacle:
    """What stands against one target."""
    slope, place, error = slopes.slope, slopes.at.place, slopes.at.error
    low, high = -place, 1.0 - place
    sure = np.where(np.abs(slope) > SURE * slopes.error, slope, 0.0)
    ends = np.stack([sure[target] * low, sure[target] * high])
    reach = (error[target] + ends.min(axis=0).sum(), error[target] + ends.max(axis=0).sum())
    by_slopes = float(min(max(0.0, reach[0]), reach[1]))
    nearest = min([by_slopes, *(float(one.error[target]) for one in tried)], key=abs)
    if abs(nearest) > goal.tolerance[target]:
        return Obstacle(nearest, False, {})
    weight = goal.weight.copy()
    weight[target] *= 1e4
    harder = Goal(goal.tolerance, weight, goal.start, goal.ridge)
    then = error + slope @ promised(harder, slopes, low, high)
    costs = {
        i: float(then[i])
        for i in range(len(then))
        if i != target and abs(then[i]) > goal.tolerance[i] and abs(then[i]) > abs(error[i])
    }
    return Obstacle(nearest, True, costs)
