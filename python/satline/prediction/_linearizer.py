"""The Linearizer [Chandy and Neuse, CACM 25(2), 1982].

Bard and Schweitzer take a class's share of a queue, Q_ik / N_i, to be the same with one user less. The
Linearizer solves the network with one user of each class less too, and takes only the change of the shares,
F_ikc = Q_ik(N − e_c) / (N_i − δ_ic) − Q_ik(N) / N_i, to be the same: twice.
"""

from __future__ import annotations

import numpy as np

from satline.prediction._network import Floats, Network
from satline.prediction._schweitzer import core, even_start, seidmann
from satline.prediction._solution import Solution

UPDATES = 2


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
