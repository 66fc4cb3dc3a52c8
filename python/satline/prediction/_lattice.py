"""Exact mean value analysis of several classes, over the lattice of all populations up to the network's.

[Reiser and Lavenberg 1980]: R_ck(n) = D_ck (1 + Q_k(n − e_c)), X_c(n) = n_c / (Z_c + Σ_k R_ck). Stations
whose speed depends on how many are there are treated as in `_exact`:
p(j | n) = Σ_c X_c(n) D_c / α(j) · p(j − 1 | n − e_c), and p(0 | n) = p(0 | n − e_c) · X_c(n) / X⁻_c(n) for
any class c that is there.

All populations with the same total are solved together. Work and storage grow with the product of the
classes' users, so that there is a limit; beyond it an approximation answers.
"""

from __future__ import annotations

import math

import numpy as np

from satline.errors import InputError
from satline.prediction._network import Floats, Network
from satline.prediction._solution import Solution

MOST_CELLS = 20_000_000


def cells(network: Network) -> int:
    """How many numbers the lattice keeps."""
    users = network.users
    dependent = sum(not s.plain for s in network.stations)
    each = len(network.stations) + len(users) + dependent * (sum(users) + 1)
    return math.prod(n + 1 for n in users) * each * (1 << dependent)


def exact_classes(network: Network) -> Solution:
    """The network solved exactly.

    Raises
    ------
    InputError
        The lattice would be too large.
    """
    if cells(network) > MOST_CELLS:
        size = " × ".join(f"{n + 1}" for n in network.users)
        raise InputError(
            f"exact analysis of {len(network.users)} classes needs all {size} populations: too many",
            hint="use the method linearizer, or join classes that are alike",
        )
    return _Lattice(network).solution()


class _Lattice:
    def __init__(self, network: Network) -> None:
        self.network = network
        self.users = np.array(network.users)
        self.demand, self.think = network.demand_s, network.think_s
        self.strides = np.array(
            [math.prod(int(n) + 1 for n in self.users[c + 1 :]) for c in range(len(self.users))]
        )
        sizes = tuple(int(n) + 1 for n in self.users)
        self.points = np.indices(sizes).reshape(len(sizes), -1).T
        order = np.argsort(self.points.sum(axis=1), kind="stable")
        self.levels = np.split(order, np.flatnonzero(np.diff(self.points[order].sum(axis=1))) + 1)[1:]
        self.most = int(self.users.sum())
        self.dependent = [k for k, s in enumerate(network.stations) if not s.plain]
        self.delay = np.array([s.kind == "delay" for s in network.stations])
        self.speed = {k: network.stations[k].speed(max(1, self.most)) for k in self.dependent}
        self.known: dict[frozenset[int], Floats] = {}
        self.residence_s = self.demand.copy()

    def solution(self) -> Solution:
        throughput = self._throughput(frozenset())[-1]
        return Solution(self.network, throughput, self.residence_s, "exact")

    def _throughput(self, without: frozenset[int]) -> Floats:
        """Throughput of each class at every population, without some stations."""
        if without not in self.known:
            here = [k for k in self.dependent if k not in without]
            self.known[without] = self._solve(without, {k: self._throughput(without | {k}) for k in here})
        return self.known[without]

    def _solve(self, without: frozenset[int], smaller: dict[int, Floats]) -> Floats:
        gone = np.isin(np.arange(len(self.network.stations)), list(without))
        demand = np.where(gone, 0.0, self.demand)
        queue = np.zeros((len(self.points), len(gone)))
        rates = np.zeros((len(self.points), len(self.users)))
        chance = {k: np.zeros((len(self.points), self.most + 1)) for k in smaller}
        for p in chance.values():
            p[0, 0] = 1.0
        for at in self.levels:
            for c, stride in enumerate(self.strides):
                there = at[self.points[at, c] > 0]
                residence = demand[c] * (1 + np.where(self.delay, 0.0, queue[there - stride]))
                for k, p in chance.items():
                    weight = np.arange(1, self.most + 1) / self.speed[k]
                    residence[:, k] = demand[c, k] * (p[there - stride, :-1] @ weight)
                with np.errstate(divide="ignore", over="ignore"):
                    rate = self.points[there, c] / (self.think[c] + residence.sum(axis=1))
                rates[there, c] = rate
                rate = np.where(np.isfinite(rate), rate, 0.0)
                queue[there] += rate[:, None] * residence
                for k, p in chance.items():
                    p[there, 1:] += (rate * demand[c, k])[:, None] / self.speed[k] * p[there - stride, :-1]
                    own, other = rates[there, c], smaller[k][there, c]
                    with np.errstate(invalid="ignore"):
                        part = np.where(np.isfinite(own), own / other, 1.0)
                    p[there, 0] = p[there - stride, 0] * part
                if not without and len(at) == 1 and len(there) and at[0] == len(self.points) - 1:
                    self.residence_s[c] = residence[0]
        return rates
