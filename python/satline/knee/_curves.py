"""Shapes of throughput against the number of users, each with the place where its asymptotes cross.

All have slope 1 at few users: throughput is the rate of a user alone times the shape. With K the knee:

hinge
    g(N) = N − (1 − r) σ ln(1 + e^((N − K)/σ)), σ = q √K: slope 1 below the knee and r beyond, rounded over
    σ. q = 0 is a broken line; queues of a closed system round the knee over about √K.
fall
    The same with r = 0, divided by 1 + l (N − K)/K beyond the knee (rounded alike): work that every further
    user adds, as paging does.
power
    g(N) = N / (1 + (N/K)^p)^(1/p): reaches its ceiling more slowly.
law
    The universal scalability law g(N) = N / (1 + s (N − 1) + k N (N − 1)) with k = h s²: K is its greatest
    value, 1/s for h = 0 [Gunther: Guerrilla Capacity Planning, 2007].
straight
    g(N) = N.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from satline.knee._window import Floats, Integers

HINGE, POWER, LAW, STRAIGHT, FALL = range(5)


@dataclass(frozen=True)
class Curves:
    """Many shapes: one value of each array a shape.

    knee
        K, infinite for a straight line.
    round
        q of a hinge, p of a power, h of a law.
    slope
        r of a hinge: the slope beyond the knee relative to that before; l of a fall.
    """

    family: Integers
    knee: Floats
    round: Floats
    slope: Floats

    def take(self, index: Integers) -> Curves:
        """Those of these numbers."""
        return Curves(self.family[index], self.knee[index], self.round[index], self.slope[index])

    def __len__(self) -> int:
        return len(self.family)

    def at(self, users: Floats) -> tuple[Floats, Floats]:
        """Value of each shape at each number of users, and by what part of 1 % it grows where the capacity
        grows by 1 % (the elasticity): shapes (curves, users).

        users
            The same for all curves, shape (users,), or each curve's own, shape (curves, users).
        """
        own_users = np.broadcast_to(users, (len(self), users.shape[-1]))
        value = own_users.copy()
        stretch = np.zeros_like(value)
        for family, shape in ((HINGE, _hinge), (POWER, _power), (LAW, _law), (FALL, _fall)):
            own = np.flatnonzero(self.family == family)
            if len(own):
                knee, bend, slope = (x[own][:, None] for x in (self.knee, self.round, self.slope))
                value[own], stretch[own] = shape(own_users[own], knee, bend, slope)
        return value, stretch


def _width(knee: Floats, bend: Floats) -> Floats:
    """σ of a rounded knee."""
    return np.minimum(np.maximum(bend * np.sqrt(knee), 1e-3 * knee), knee / 4)


def _beyond(users: Floats, knee: Floats, width: Floats) -> tuple[Floats, Floats]:
    """Users beyond the knee, rounded, and its derivative."""
    return (
        np.asarray(width * (np.logaddexp(0.0, (users - knee) / width) - np.logaddexp(0.0, -knee / width))),
        1 / (1 + np.exp(-np.clip((users - knee) / width, -50, 50))),
    )


def _hinge(users: Floats, knee: Floats, bend: Floats, slope: Floats) -> tuple[Floats, Floats]:
    more, rising = _beyond(users, knee, _width(knee, bend))
    # a system that falls keeps some throughput, however many users there are
    value = np.maximum(users - (1 - slope) * more, 0.05 * np.minimum(users, knee))
    return value, np.clip((1 - slope) * knee * rising / value, 0.0, 1.5)


def _fall(users: Floats, knee: Floats, bend: Floats, slope: Floats) -> tuple[Floats, Floats]:
    more, rising = _beyond(users, knee, _width(knee, bend))
    lost = 1 + slope * more / knee
    value = np.maximum(users - more, 1e-9)
    # where the capacity grows, the knee moves away and less is lost
    return value / lost, np.clip(knee * rising / value + slope * users * rising / knee / lost, 0.0, 1.5)


def _power(users: Floats, knee: Floats, bend: Floats, _slope: Floats) -> tuple[Floats, Floats]:
    ratio = np.exp(np.clip(bend * np.log(users / knee), -60, 60))
    return users / (1 + ratio) ** (1 / bend), ratio / (1 + ratio)


def _law(users: Floats, knee: Floats, bend: Floats, _slope: Floats) -> tuple[Floats, Floats]:
    # greatest value of N / (1 + sN + hs²N²) is 1 / (s (1 + 2√h)): s follows from the knee
    s = 1 / (knee * (1 + 2 * np.sqrt(bend)))
    fewer = users - 1
    lost = s * fewer + bend * s**2 * users * fewer
    value = users / (1 + lost)
    return value, (s * fewer + 2 * bend * s**2 * users * fewer) / (1 + lost)
