"""Exact mean value analysis of one class, for many sets of demands at once. Own: scipy has no queueing.

[Reiser and Lavenberg, JACM 27(2), 1980]: with n users, R_k(n) = D_k (1 + Q_k(n − 1)), X(n) = n / (Z + Σ R_k),
Q_k(n) = X(n) R_k(n).

A station whose speed α depends on how many are there needs the probabilities p(j | n) of them:
R(n) = D Σ_j j / α(j) · p(j − 1 | n − 1), p(j | n) = X(n) D / α(j) · p(j − 1 | n − 1). The textbook takes
p(0 | n) = 1 − Σ p(j | n), whose cancellation near saturation gives negative probabilities, and soon nonsense.
Here it is p(0 | n) = p(0 | n − 1) · X(n) / X⁻(n), where X⁻ is the throughput of the network without that
station [Reiser, Performance Evaluation 1(1), 1981]: products of positive numbers only, so that nothing
cancels, and probabilities, so that nothing overflows. The price is one more network for each set of such
stations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from satline.errors import InputError
from satline.prediction._network import Floats, Network
from satline.prediction._solution import Solution

MOST_DEPENDENT = 8
MOST_CELLS = 2_000_000_000


@dataclass(frozen=True)
class Curve:
    """A closed system of one class with 1 … N users, for each of B sets of parameters.

    throughput
        Shape (N, B), transactions per second.
    residence_s
        Shape (N, B, stations).
    present
        Where asked for, of each load-dependent station: the chance of j users there, shape (N, B, N + 1).
    """

    throughput: Floats
    residence_s: Floats
    present: dict[int, Floats] = field(default_factory=dict)

    @property
    def response_s(self) -> Floats:
        """Shape (N, B)."""
        return np.asarray(self.residence_s.sum(axis=2))


def exact_curve(
    demand_s: Floats,
    think_s: Floats,
    speeds: Sequence[Floats | None],
    users: int,
    *,
    keep: bool = False,
) -> Curve:
    """Solve a network of one class for every number of users up to `users`.

    Parameters
    ----------
    demand_s
        Shape (B, stations).
    think_s
        Shape (B,): the pause between transactions.
    speeds
        Of each station its speed with 1 … `users` present, shape (users,) or (B, users); ``None``: one
        server of speed 1.
    keep
        Keep the probabilities of load-dependent stations.

    Raises
    ------
    InputError
        More load-dependent stations, or more users of them, than can be solved.
    """
    sets, stations = demand_s.shape
    dependent = {k: _Dependent.of(s, sets, users, keep) for k, s in enumerate(speeds) if s is not None}
    if len(dependent) > MOST_DEPENDENT:
        raise InputError(
            f"{len(dependent)} load-dependent stations; exact analysis takes {MOST_DEPENDENT}",
            hint="join stations that are alike, or give those that never fill one server as one",
        )
    width = stations + sum(d.pace.shape[1] for d in dependent.values())
    if users * sets * (width * 2 ** len(dependent) + keep * users) > MOST_CELLS:
        raise InputError(f"{users} users are too many to solve exactly", hint="give fewer users")
    known: dict[frozenset[int], Curve] = {}

    def solved(without: frozenset[int]) -> Curve:
        if without not in known:
            here = {k: d for k, d in dependent.items() if k not in without}
            smaller = {k: solved(without | {k}).throughput for k in here}
            demand = np.where(np.isin(np.arange(stations), list(without)), 0.0, demand_s)
            known[without] = _solve(demand, think_s, here, users, smaller, keep and not without)
        return known[without]

    return solved(frozenset())


@dataclass(frozen=True)
class _Dependent:
    """A station whose speed α depends on how many are there.

    R(n) = D [(1 + Q(n − 1)) tail + Σ_j more_j p(j − 1 | n − 1)]: where the speed stays at its greatest from
    some j on, tail is its reciprocal, and only the probabilities below count.
    """

    pace: Floats
    more: Floats
    tail: Floats

    @classmethod
    def of(cls, speed: Floats, sets: int, users: int, keep: bool) -> _Dependent:
        pace = np.broadcast_to(np.asarray(speed, dtype=np.float64), (sets, users))
        present, last = np.arange(1, users + 1), pace[:, -1:]
        if keep or (pace > last).any():
            return cls(pace, present / pace, np.zeros((sets, 1)))
        width = max(1, int((pace < last).sum(axis=1).max(initial=0)))
        return cls(pace[:, :width], (present / pace - present / last)[:, :width], 1 / last)


def _solve(
    demand: Floats,
    think: Floats,
    dependent: dict[int, _Dependent],
    users: int,
    smaller: dict[int, Floats],
    keep: bool,
) -> Curve:
    sets, stations = demand.shape
    queue = np.zeros((sets, stations))
    chance = {k: np.eye(1, d.pace.shape[1] + keep).repeat(sets, axis=0) for k, d in dependent.items()}
    throughput, residences = np.empty((users, sets)), np.empty((users, sets, stations))
    kept = {k: np.zeros((users, sets, users + 1)) for k in dependent} if keep else {}
    for n in range(1, users + 1):
        residence = demand * (1 + queue)
        for k, d in dependent.items():
            more = (d.more * chance[k][:, : d.more.shape[1]]).sum(axis=1)
            residence[:, k] = demand[:, k] * ((1 + queue[:, k]) * d.tail[:, 0] + more)
        with np.errstate(divide="ignore", over="ignore"):
            rate = np.asarray(n / (think + residence.sum(axis=1)))
        finite = np.where(np.isfinite(rate), rate, 0.0)  # infinite where nothing is left to wait for
        for k, d in dependent.items():
            p, width = chance[k], chance[k].shape[1] - 1
            p[:, 1:] = (finite * demand[:, k])[:, None] / d.pace[:, :width] * p[:, :-1]
            p[:, 0] *= np.where(np.isfinite(rate), rate / smaller[k][n - 1], 1.0)
            if keep:
                kept[k][n - 1] = p
        queue = finite[:, None] * residence
        throughput[n - 1], residences[n - 1] = rate, residence
    return Curve(throughput, residences, kept)


def curve_of(network: Network, users: int | None = None, *, keep: bool = False) -> Curve:
    """`exact_curve` of a network of one class; its delay stations are part of the pause, their residence is
    given all the same."""
    if len(network.classes) != 1:
        raise InputError(f"the network has {len(network.classes)} classes, not one", hint="use exact_classes")
    one, most = network.classes[0], network.classes[0].users if users is None else users
    delay = np.array([s.kind == "delay" for s in network.stations])
    demand = network.demand_s
    made = exact_curve(
        np.where(delay, 0.0, demand),
        np.array([one.think_s + float(demand[0, delay].sum())]),
        [None if s.plain else s.speed(most) for s in network.stations],
        most,
        keep=keep,
    )
    return Curve(made.throughput, made.residence_s + np.where(delay, demand, 0.0), made.present)


def exact_single(network: Network) -> Solution:
    """The network of one class, solved exactly."""
    users = network.classes[0].users
    if users == 0:
        return Solution(network, np.zeros(1), network.demand_s, "exact")
    made = curve_of(network)
    return Solution(network, made.throughput[-1], made.residence_s[-1], "exact")
