"""Closed networks of several chains, for many sets of demands at once, where some work goes before other.

A customer of chain h at station k stays

    R_hk = S_hk (1 + Σ_j M_kj A_hj) / (1 − Σ_i X_i B_ik)

with S what it needs there, A_hj the customers that it finds at station j, M which stations' customers are
before it (its own station's; of the second of two queues before one server also the first's), and B what goes
before all who wait there: for the second queue the work of the first, by preemptive priority [Bryant,
Krzesinski, Lakshmi, Chandy, ACM TOCS 2(4), 1984], and on a device what nobody waits for, which takes its part
as an open class would [Lazowska et al. 1984, ch. 7 and 11]. Without either this is product form.

A is approximated from the queues by Bard and Schweitzer, or by the Linearizer; this is the core of
_schweitzer.py and _linearizer.py with B and M, for many sets of demands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from satline.errors import SatlineError
from satline.prediction._network import Floats

TOLERANCE = 1e-7
MOST_ROUNDS = 20_000
MOST_BEFORE = 0.998
UPDATES = 2


@dataclass(frozen=True)
class Chains:
    """Demands by set, chain and station.

    needed, before
        S and B, shape (sets, chains, stations).
    found
        M, shape (stations, stations).
    pause_s
        Think time and delays, shape (sets, chains).
    """

    needed: Floats
    before: Floats
    found: Floats
    pause_s: Floats

    def only(self, number: int) -> Chains:
        """One set alone."""
        one = slice(number, number + 1)
        return Chains(self.needed[one], self.before[one], self.found, self.pause_s[one])


@dataclass(frozen=True)
class Solved:
    """Throughput of each chain, shape (sets, chains), and the stretch R/S at each station, shape (sets,
    chains, stations)."""

    rate: Floats
    stretch: Floats
    queue: Floats


def approximate(network: Chains, users: Floats, start: Solved | None = None) -> Solved:
    """By Bard and Schweitzer, from the queues of `start` where given."""
    return _core(network, users, None, _start(network, users) if start is None else start)


def refined(network: Chains, users: Floats) -> Solved:
    """By the Linearizer."""
    shift = None
    made = approximate(network, users)
    for _ in range(UPDATES):
        shift = _shift(network, users, shift, made)
        made = _core(network, users, shift, made)
    return made


def _start(network: Chains, users: Floats) -> Solved:
    """Nobody waits."""
    alone = network.needed
    rate = users / np.maximum(network.pause_s + alone.sum(axis=2), 1e-300)
    # no faster than the slowest station
    full = np.einsum("bh,bhk->bk", rate, alone).max(axis=1, initial=0.0)
    rate = rate / np.maximum(full, 1.0)[:, None]
    return Solved(rate, np.ones_like(alone), rate[:, :, None] * alone)


def _core(network: Chains, users: Floats, shift: Floats | None, start: Solved) -> Solved:
    rate, queue = start.rate, start.queue
    safe = np.maximum(users, 1e-300)
    fewer = np.maximum(users[:, None] - np.eye(len(users)), 0.0)
    scale = max(1.0, float(users.sum()))
    for _ in range(MOST_ROUNDS):
        share = queue / safe[:, None]
        if shift is None:
            arrival = np.einsum("ic,bik->bck", fewer, share)
        else:
            arrival = np.einsum("ic,bikc->bck", fewer, np.maximum(share[..., None] + shift, 0.0))
        taken = np.clip(np.einsum("bh,bhk->bk", rate, network.before), 0.0, MOST_BEFORE)
        stretch = (1 + arrival @ network.found.T) / (1 - taken)[:, None, :]
        residence = network.needed * stretch
        asked = users / np.maximum(network.pause_s + residence.sum(axis=2), 1e-300)
        # halfway: more throughput leaves less beside what goes before, and the repetition would swing
        now_rate = (rate + asked) / 2
        now = now_rate[:, :, None] * residence
        change = max(
            float(np.abs(now - queue).max(initial=0.0)) / scale,
            float((np.abs(asked - rate) / np.maximum(asked, 1e-300)).max(initial=0.0)),
        )
        rate, queue = now_rate, now
        if change <= TOLERANCE:
            return Solved(rate, stretch, queue)
    raise SatlineError(
        "the approximation of several classes does not settle", hint="predict without --by-class"
    )


def _shift(network: Chains, users: Floats, shift: Floats | None, made: Solved) -> Floats:
    """F: how a chain's share of a queue changes when a user of each chain is taken away."""
    sets, chains, stations = made.queue.shape
    found = np.zeros((sets, chains, stations, chains))
    safe = np.maximum(users, 1e-300)
    for c in range(chains):
        if users[c] < 1:
            continue
        fewer = users - np.eye(chains)[c]
        part = (fewer / safe)[None, :]
        begin = Solved(made.rate * part, made.stretch, made.queue * part[:, :, None])
        less = _core(network, fewer, shift, begin)
        there = fewer > 0
        gained = less.queue[:, there] / fewer[there, None] - made.queue[:, there] / users[there, None]
        found[..., c][:, there] = gained
    return found
