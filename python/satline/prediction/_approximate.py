"""The approximations: that of Bard and Schweitzer, and the Linearizer.

An arriving user of class c finds at a station Q_k(N − e_c), approximated from the queues at N itself:
Q_ik(N − e_c) ≈ (N_i − δ_ic) (Q_ik / N_i + F_ikc), with F = 0 here [Bard 1979; Schweitzer 1979]. Solved by
repetition. Several servers are taken apart into one of speed m and a delay [Seidmann, Schweitzer,
Shalev-Oren 1987]: D/m queueing, D (m − 1)/m delay.

The Linearizer [Chandy and Neuse, CACM 25(2), 1982] solves the network with one user of each class less too,
and takes only the change of the shares, F_ikc = Q_ik(N − e_c) / (N_i − δ_ic) − Q_ik(N) / N_i, to be the same:
twice.
"""

from __future__ import annotations

import numpy as np

from satline.errors import InputError, SatlineError
from satline.prediction._network import Floats, Network
from satline.prediction._solution import Solution

TOLERANCE = 1e-10
MOST_ROUNDS = 100_000
UPDATES = 2


def seidmann(network: Network) -> tuple[Floats, Floats]:
    """Demand at servers, and delay, both of shape (classes, stations).

    Raises
    ------
    InputError
        A station with speeds of its own, for which there is no such approximation.
    """
    demand = network.demand_s
    served, delayed = demand.copy(), np.zeros_like(demand)
    for k, station in enumerate(network.stations):
        if station.kind == "delay":
            served[:, k], delayed[:, k] = 0.0, demand[:, k]
        elif station.speeds is not None:
            raise InputError(
                f"station {station.name} has speeds of its own, which only exact analysis takes",
                hint="use the method exact, or give a number of servers",
            )
        else:
            m = station.servers
            served[:, k] = demand[:, k] / m
            delayed[:, k] = demand[:, k] * max(0.0, m - 1) / m
    return served, delayed


def core(
    served: Floats, pause: Floats, users: Floats, shift: Floats, start: Floats
) -> tuple[Floats, Floats, Floats]:
    """Queues, throughputs and residences that agree with each other.

    Parameters
    ----------
    served
        Demands at servers, shape (classes, stations).
    pause
        Think time and delays, by class.
    shift
        F of the Linearizer, shape (classes i, stations, classes c): how a class's share of a queue changes
        when a user of class c is taken away.
    start
        Queues to begin with.
    """
    queue, classes = start, len(users)
    one = np.eye(classes)
    safe = np.maximum(users, 1e-300)
    fewer = np.maximum(users[:, None] - one, 0.0)  # (i, c): users of class i without one of class c
    for _ in range(MOST_ROUNDS):
        share = (queue / safe[:, None])[:, :, None] + shift
        found = np.einsum("ic,ikc->ck", fewer, np.maximum(share, 0.0))
        residence = served * (1 + found)
        rate = users / np.maximum(pause + residence.sum(axis=1), 1e-300)
        now = rate[:, None] * residence
        change = float(np.abs(now - queue).max(initial=0.0))
        queue = now
        if change <= TOLERANCE * max(1.0, float(users.sum())):
            return queue, rate, residence
    raise SatlineError("the approximation does not settle", hint="use the method exact, with fewer users")


def even_start(served: Floats, users: Floats) -> Floats:
    """Each class's users spread evenly over the stations it visits."""
    visited = served > 0
    return np.asarray(users[:, None] * visited / np.maximum(visited.sum(axis=1, keepdims=True), 1))


def schweitzer(network: Network) -> Solution:
    """The network by Bard and Schweitzer's approximation."""
    served, delayed = seidmann(network)
    users = np.array(network.users, dtype=np.float64)
    shift = np.zeros((len(users), served.shape[1], len(users)))
    pause = network.think_s + delayed.sum(axis=1)
    _, rate, residence = core(served, pause, users, shift, even_start(served, users))
    return Solution(network, rate, residence + delayed, "schweitzer")


def linearizer(network: Network) -> Solution:
    """The network by the Linearizer."""
    served, delayed = seidmann(network)
    users = np.array(network.users, dtype=np.float64)
    pause = network.think_s + delayed.sum(axis=1)
    shift = np.zeros((len(users), served.shape[1], len(users)))
    queue, rate, residence = core(served, pause, users, shift, even_start(served, users))
    for _ in range(UPDATES):
        shift = _shift(served, pause, users, shift, queue)
        queue, rate, residence = core(served, pause, users, shift, queue)
    return Solution(network, rate, residence + delayed, "linearizer")


def _shift(served: Floats, pause: Floats, users: Floats, shift: Floats, queue: Floats) -> Floats:
    """F from the network with one user of each class less."""
    made = np.zeros_like(shift)
    share = queue / np.maximum(users, 1e-300)[:, None]
    for c in range(len(users)):
        if users[c] < 1:
            continue
        fewer = users - np.eye(len(users))[c]
        less, _, _ = core(served, pause, fewer, shift, queue * (fewer / np.maximum(users, 1e-300))[:, None])
        there = fewer > 0
        made[there, :, c] = less[there] / fewer[there, None] - share[there]
    return made
