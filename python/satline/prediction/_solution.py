"""What solving a network yields."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from satline.prediction._network import Floats, Network


@dataclass(frozen=True)
class Accuracy:
    """How far an approximation was from exact results on the shipped grid, at like loads.

    median, p95, worst
        Relative error of a class's throughput; `response_…` that of its response time.
    networks
        How many networks of the grid were at like loads.
    """

    median: float
    p95: float
    worst: float
    response_median: float
    response_p95: float
    response_worst: float
    networks: int


@dataclass(frozen=True)
class Solution:
    """A solved network.

    throughput
        Transactions per second of each class.
    residence_s
        Time of a transaction at each station, queue and service: shape (classes, stations).
    method
        ``exact``, ``linearizer`` or ``schweitzer``.
    accuracy
        The measured error of the method at such loads; ``None``: exact.
    """

    network: Network
    throughput: Floats
    residence_s: Floats
    method: str
    accuracy: Accuracy | None = None

    @property
    def response_s(self) -> Floats:
        """Response time of each class: the sum over stations."""
        return np.asarray(self.residence_s.sum(axis=1))

    @property
    def present(self) -> Floats:
        """Mean users at each station, by Little's law: Q = Σ X R."""
        return self.throughput @ self.residence_s

    @property
    def utilisation(self) -> Floats:
        """Part of each station's capacity in use: U = Σ X D / capacity; 0 for a delay."""
        capacity = [s.capacity for s in self.network.stations]
        return (self.throughput @ self.network.demand_s) / capacity
