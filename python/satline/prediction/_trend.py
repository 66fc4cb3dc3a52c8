"""Demands that change with load: seeks that grow where users come between one another, and paging.

What a unit of work needs of a resource is regressed, its paging part on load, the rest on the logarithm of
load: seeks grow ever less, for an arm cannot do more than go elsewhere each time. Between the loads seen
these lines hold. Beyond them the rest goes on to 2M of the heaviest load M, of the draws to between M and
4M, and then stays (2 was chosen after the simulated workload io-heavy); paging goes on, for idle users'
pages are the sooner gone, the more the others fetch:

    p(N) = p(c) + b (N − c) up to M, then p(M) + b (N − M) (N/M)^q

with q = 0. That it goes on so is an assumption: q is drawn evenly from −1 to 1, so that the interval holds
at twice the loads seen from half the growth to twice of it. With f times the storage, N users page as N/f
users do now, as far as each has the same storage; of the draws as N/f^e, e from ½ to 1½.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from satline.diagnosis import fit_hinge
from satline.prediction._network import Floats

BEND = 1.0
LEAST = 0.02
LEAST_CLASSES = 3


@dataclass(frozen=True)
class Trend:
    """How a demand changes with load; arrays are by draw.

    rest, paging
        Slope of what is not paging over the logarithm of load, and of what is over load, s per user.
    paged
        Paging part of the mean demand, s; of processors as much as may be taken away.
    centre, middle
        Means by work, of load and of its logarithm.
    low, high
        The lightest and the heaviest load seen.
    storage
        Main storage, in times what there was.
    """

    rest: Floats
    paging: Floats
    paged: Floats
    centre: Floats
    middle: Floats
    low: float
    high: float
    bend: Floats
    storage: float = 1.0

    def more(self, users: Floats) -> Floats:
        """What to add to the mean demand for so many users, s."""
        rest = self.rest * (np.log(np.clip(users, self.low, self.high * 2 ** (1 + self.bend))) - self.middle)
        return np.asarray(rest + self.more_paging(users))

    def more_paging(self, users: Floats) -> Floats:
        """The paging part of it, s."""
        here = users / self.storage ** (1 + self.bend / 2)
        within = self.paging * (np.minimum(here, self.high) - self.centre)
        share = np.maximum(here / self.high, 1.0)
        beyond = self.paging * (share - 1) * self.high * share**self.bend
        return np.asarray(np.maximum(within + beyond, -self.paged))

    def first(self, draws: int) -> Trend:
        """The same with so many draws only."""
        names = ("rest", "paging", "paged", "centre", "middle", "bend")
        return replace(self, **{name: getattr(self, name)[: draws + 1] for name in names})

    def faster(self, factor: float) -> Trend:
        """Of a resource so many times as fast."""
        return replace(self, rest=self.rest / factor, paging=self.paging / factor, paged=self.paged / factor)


def bends(draws: int, seed: int = 3) -> Floats:
    """q of each draw; of the estimate 0. One for all resources: they page together."""
    made = np.random.default_rng(seed).uniform(-BEND, BEND, draws)
    made[0] = 0.0
    return made


def slope(each: Floats, load: Floats, work: Floats) -> tuple[Floats, Floats]:
    """Slope over `load` of what is given by class, weighted by work, and mean `load` by work; by draw."""
    total = np.maximum(work.sum(axis=1), 1e-300)
    centre = (work @ load) / total
    away = load - centre[:, None]
    mean = (work * each).sum(axis=1) / total
    spread = np.maximum((work * away**2).sum(axis=1), 1e-300)
    return np.asarray((work * away * (each - mean[:, None])).sum(axis=1) / spread), np.asarray(centre)


def sure(draws: Floats) -> bool:
    """Is it surely not 0: do 99 of 100 draws lie on one side, with the estimate?"""
    low, high = np.percentile(draws[1:], [0.5, 99.5])
    return bool((draws[0] > 0 and low > 0) or (draws[0] < 0 and high < 0))


def bend_loads(seen: list[int], reach: int) -> list[int]:
    """The loads that were recorded, where they reach far enough, else some up to `reach`."""
    if len(seen) >= 4 and seen[-1] >= 0.7 * reach:
        return seen
    return [int(n) for n in np.unique(np.linspace(1, reach, 16).round())]


def bend(rate: Floats, users: Sequence[int]) -> Floats:
    """Where a broken line through throughput at these loads bends, by draw; `rate` is by load and draw."""
    means = rate.T
    weights = 1 / np.maximum(means[0], 0.2 * means[0].max())
    return fit_hinge(np.array(users, dtype=np.float64), means, weights, origin=True).at
