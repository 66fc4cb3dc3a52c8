"""Closed networks of several chains, for many sets of demands at once, where some work goes before other.

A customer of chain h at station k stays

    R_hk = S_hk (1 + Σ_j M_kj A_hj) / (1 − Σ_i X_i B_ik)

with S what it needs there, A_hj the customers that it finds at station j, M which stations' customers are
before it (its own station's; of the second of two queues before one server also the first's), and B what goes
before all who wait there: for the second queue the work of the first, by preemptive priority [Bryant,
Krzesinski, Lakshmi, Chandy, ACM TOCS 2(4), 1984], and on a device what nobody waits for, which takes its part
as an open class would [Lazowska et al. 1984, ch. 7 and 11]. Without either this is product form.

A is approximated by Bard and Schweitzer, A_hk = Σ_i (N_i − δ_ih) (Q_ik / N_i + F_ikh) with F = 0, or with the
Linearizer's F (_schweitzer.py, _linearizer.py). For given throughputs the queues are then the solution of a
linear system, so that only X_h = N_h / (Z_h + Σ_k R_hk) is left to be solved, by Newton's method; own, since
it is for all sets at once, and `scipy.optimize` for one. Repetition,
which the other two use, does not settle where what goes before takes nearly all of a station.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satline.errors import SatlineError
from satline.prediction._network import Floats

Booleans = NDArray[np.bool_]
TOLERANCE = 1e-9
MOST_ROUNDS, MOST_HALVINGS = 60, 30
BEGIN, LEAST_PART = 0.9, 0.2
LEAST_USERS = 4
DIFFERENCE = 1e-7
UPDATES = 2


@dataclass(frozen=True)
class Chains:
    """Demands by set, chain and station.

    needed, before
        S and B, shape (sets, chains, stations).
    found
        M, shape (stations, stations): a station that is behind another has none behind itself.
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
    """Throughput of each chain, shape (sets, chains); its queues, and the stretch R/S at each station, shape
    (sets, chains, stations)."""

    rate: Floats
    queue: Floats
    stretch: Floats


def approximate(network: Chains, users: Floats) -> Solved:
    """By Bard and Schweitzer."""
    return _Solver(network, users, None).solved()


def refined(network: Chains, users: Floats) -> Solved:
    """By the Linearizer."""
    shift, made = None, approximate(network, users)
    for _ in range(UPDATES):
        shift = _shift(network, users, shift, made)
        made = _Solver(network, users, shift).solved()
    return made


def _shift(network: Chains, users: Floats, shift: Floats | None, made: Solved) -> Floats:
    """F: how a chain's share of a queue changes when a user of each chain is taken away."""
    sets, chains, stations = made.queue.shape
    found = np.zeros((sets, chains, stations, chains))
    for c in range(chains):
        if users[c] < 1:
            continue
        fewer = users - np.eye(chains)[c]
        less = _Solver(network, fewer, shift).solved()
        there = fewer > 0
        gained = less.queue[:, there] / fewer[there, None] - made.queue[:, there] / users[there, None]
        found[..., c][:, there] = gained
    return found


class _Solver:
    """A network with so many users in each chain, and F."""

    def __init__(self, network: Chains, users: Floats, shift: Floats | None) -> None:
        self.network, self.users = network, users
        self.active = (users > 0).astype(np.float64)
        fewer = np.maximum(users[:, None] - np.eye(len(users)), 0.0)
        # what part of the customers of a chain (second) one that comes (first) finds
        self.part = (fewer / np.maximum(users, 1e-300)[:, None]).T
        self.more = np.zeros_like(network.needed)
        if shift is not None:
            self.more = np.einsum("ic,bikc->bck", fewer, shift)
        self.behind = network.found - np.eye(len(network.found))
        self.second = np.flatnonzero(self.behind.any(axis=1))

    def solved(self) -> Solved:
        """Raises SatlineError where nothing is found."""
        rate = self._found(self._begin())
        if rate is None and self.users.sum() > LEAST_USERS:
            # from a system of half as many users, which is easier
            fewer = self.users / 2
            half = _Solver(self.network, fewer, None)
            rate = self._found(self._possible(half.solved().rate))
        if rate is None:
            raise SatlineError(
                f"the approximation does not settle with {self.users.sum():g} users",
                hint="ask for fewer users",
            )
        queue, stretch, _ = self._queues(rate)
        return Solved(rate, queue, stretch)

    def _found(self, rate: Floats) -> Floats | None:
        """The throughputs, by Newton's method from these; ``None`` where it does not settle."""
        error = self._error(rate)[0]
        for _ in range(MOST_ROUNDS):
            if (np.abs(error) <= TOLERANCE * np.maximum(rate, 1e-300)).all():
                return rate
            try:
                way = np.asarray(np.linalg.solve(self._slope(rate, error), -error[:, :, None])[:, :, 0])
            except np.linalg.LinAlgError:
                return None
            rate, error = self._forward(rate, error, way)
        return None

    def _begin(self) -> Floats:
        """Throughput without waits, lowered where no station could carry it."""
        network = self.network
        rate = self.users / np.maximum(network.pause_s + network.needed.sum(axis=2), 1e-300)
        full = np.einsum("bh,bhk->bk", rate, network.needed + network.before).max(axis=1, initial=0.0)
        return np.asarray(rate * np.minimum(1.0, BEGIN / np.maximum(full, 1e-300))[:, None])

    def _possible(self, rate: Floats) -> Floats:
        """Lowered where no station could carry it."""
        for _ in range(MOST_HALVINGS):
            good = self._error(rate)[1]
            if good.all():
                break
            rate = np.where(good[:, None], rate, 0.99 * rate)
        return rate

    def _queues(self, rate: Floats) -> tuple[Floats, Floats, Booleans]:
        """Queues and stretches that go with these throughputs, and of which sets they are possible."""
        network = self.network
        left = 1 - np.einsum("bh,bhk->bk", rate, network.before)
        room = np.maximum(left, 1e-12)[:, None, :]
        load = rate[:, :, None] * network.needed / room
        queue = self._linear(load, 1 + self.more)
        arrival = np.einsum("hi,bik->bhk", self.part, queue) + self.more
        if len(self.second):
            extra = np.einsum("kj,bhj->bhk", self.behind[self.second], arrival)
            some = self.second
            queue[:, :, some] = self._linear(load[:, :, some], 1 + self.more[:, :, some] + extra)
            arrival[:, :, some] = (
                np.einsum("hi,bik->bhk", self.part, queue[:, :, some]) + self.more[:, :, some] + extra
            )
        good = (left > 0).all(axis=1) & (queue >= -1e-12).all(axis=(1, 2))
        # F may take away more than there is
        return queue, np.maximum(1 + arrival, 1.0) / room, good

    def _linear(self, load: Floats, start: Floats) -> Floats:
        """Q_hk = load_hk (start_hk + Σ_i part_hi Q_ik)."""
        if load.shape[1] == 1:
            return np.asarray(load * start / (1 - load * self.part[0, 0]))
        if load.shape[1] == 2:
            one, two = load[:, 0] * start[:, 0], load[:, 1] * start[:, 1]
            (a, b), (c, d) = self.part
            own = 1 - load[:, 0] * a, 1 - load[:, 1] * d
            cross = load[:, 0] * b, load[:, 1] * c
            size = own[0] * own[1] - cross[0] * cross[1]
            queues = own[1] * one + cross[0] * two, own[0] * two + cross[1] * one
            return np.asarray(np.stack(queues, axis=1) / size[:, None])
        matrix = np.eye(load.shape[1]) - load.transpose(0, 2, 1)[..., None] * self.part
        right = (load * start).transpose(0, 2, 1)[..., None]
        return np.asarray(np.linalg.solve(matrix, right)[..., 0].transpose(0, 2, 1))

    def _error(self, rate: Floats) -> tuple[Floats, Booleans]:
        """N / (Z + R) − X, which stays smooth up to where a station is full; of which sets it is known."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            _, stretch, good = self._queues(rate)
            residence = (self.network.needed * stretch).sum(axis=2)
            asked = self.users / np.maximum(self.network.pause_s + residence, 1e-300)
        return np.asarray(asked - rate), good

    def _slope(self, rate: Floats, error: Floats) -> Floats:
        """Its derivatives: shape (sets, chains, chains)."""
        chains = rate.shape[1]
        columns = []
        for h in range(chains):
            by = DIFFERENCE * np.maximum(rate[:, h], 1e-9)
            near = rate.copy()
            near[:, h] -= by
            columns.append((error - self._error(near)[0]) / by[:, None])
        return np.stack(columns, axis=2)

    def _forward(self, rate: Floats, error: Floats, way: Floats) -> tuple[Floats, Floats]:
        """As far on the way as the error falls and the throughputs are possible."""
        size = np.abs(error).max(axis=1)
        step = np.ones(len(rate))
        for _ in range(MOST_HALVINGS):
            new = np.maximum(rate + step[:, None] * way, LEAST_PART * rate) * self.active
            now, good = self._error(new)
            better = good & (np.abs(now).max(axis=1) <= size * (1 - 1e-4 * step))
            better |= size <= TOLERANCE * rate.min(axis=1, where=self.active > 0, initial=np.inf)
            if better.all():
                break
            step = np.where(better, step, step / 2)
        return new, now
