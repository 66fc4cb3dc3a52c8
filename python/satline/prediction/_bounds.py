"""Bounds of a closed system of one class that need no solution.

Asymptotic bounds [Muntz and Wong 1974; Denning and Buzen 1978]: X ≤ min(1/D_max, N/(D + Z)),
X ≥ N/(N D + Z), with D = Σ D_k; saturation at N* = (D + Z)/D_max.

Balanced job bounds [Zahorjan, Sevcik, Eager, Galler, CACM 25(2), 1982; with think time: Lazowska et al.,
Quantitative System Performance, 1984, ch. 5]:
N / (D + Z + (N − 1) D_max / (1 + Z/(N D))) ≤ X ≤ min(1/D_max, N / (D + Z + (N − 1) D_mean / (1 + Z/D))).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from satline.errors import InputError
from satline.prediction._network import Floats, Network


@dataclass(frozen=True)
class Bounds:
    """Between which throughput (per second) and response time (seconds) must lie.

    saturation_users
        N*, where the asymptotes cross.
    balanced_low, balanced_high
        Balanced job bounds of throughput; ``None`` where a station is not a single server of speed 1.
    """

    users: int
    saturation_users: float
    throughput_low: float
    throughput_high: float
    response_low_s: float
    response_high_s: float
    balanced_low: float | None
    balanced_high: float | None


def alone_s(network: Network) -> Floats:
    """Time of a transaction that never waits, of each class at each station: D / α(1)."""
    return np.asarray(network.demand_s / np.array([s.speed(1)[0] for s in network.stations]))


def pressure(network: Network) -> Floats:
    """What part of each station's capacity all users would take if nobody ever waited:
    Σ_c N_c D_ck / (Z_c + D_c) / capacity_k. Of one class the greatest is N / N*."""
    capacity = np.array([s.capacity for s in network.stations])
    rate = np.array(network.users) / (network.think_s + alone_s(network).sum(axis=1))
    return np.asarray(rate @ network.demand_s / capacity)


def saturation_users(network: Network) -> float:
    """N* = (D + Z) / max(D_k / capacity_k) of a class; infinite where nothing can queue."""
    most = float(pressure(network.with_users([1])).max())
    return 1 / most if most > 0 else math.inf


def bounds(network: Network) -> Bounds:
    """The bounds of a network of one class with at least one user."""
    if len(network.classes) != 1 or network.users[0] < 1:
        raise InputError("bounds are of one class with users", hint="give one class")
    n = network.users[0]
    queueing = [s for s in network.stations if s.kind == "queueing"]
    pause = float(network.think_s[0]) + sum(s.demand_s[0] for s in network.stations if s.kind == "delay")
    demands = np.array([s.demand_s[0] for s in queueing])
    speeds = [s.speed(n) for s in queueing]
    present = np.arange(1, n + 1)
    # nobody is served faster than at the best share of a station's speed, nor slower than after all others
    least = float(sum(d * (present / a).min() for d, a in zip(demands, speeds, strict=True)))
    most = float(sum(d * n / a.min() for d, a in zip(demands, speeds, strict=True)))
    slots = [d / s.capacity for d, s in zip(demands, queueing, strict=True)]
    ceiling = 1 / max(slots) if max(slots, default=0.0) > 0 else math.inf
    high, low = min(ceiling, n / (pause + least)), n / (pause + most)
    balanced_low = balanced_high = None
    total = float(demands.sum())
    if total > 0 and all(s.plain for s in queueing):
        spread = total + pause + (n - 1) * float(demands.max()) / (1 + pause / (n * total))
        even = total + pause + (n - 1) * float(demands.mean()) / (1 + pause / total)
        balanced_low, balanced_high = n / spread, min(ceiling, n / even)
    inner = pause - float(network.think_s[0])
    return Bounds(
        users=n,
        saturation_users=saturation_users(network),
        throughput_low=low,
        throughput_high=high,
        response_low_s=max(least + inner, n / ceiling - float(network.think_s[0])),
        response_high_s=most + inner,
        balanced_low=balanced_low,
        balanced_high=balanced_high,
    )
