"""Storage for so many: the system within admission as one server, and an eligible set before it [Bard].

Within: the users in queue, n of them, go round processors and devices; u(n), their throughput, is that of a
closed network without think time [Courtois: Decomposability, 1977]. A page is fetched the more often the less
storage each has: with S working sets in storage, n users hold S/n of theirs each, and the demand on the
paging station grows as (n/S)^k for n > S, by the lifetime function of [Belady and Kuehner, CACM 12(5), 1969],
whose k lies between 1.5 and 3. This k is an assumption, not a measurement.

Without: all users think, then need one transaction of a server with the speed u(min(n, admitted)); those
beyond `admitted` are eligible and wait.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from satline.errors import InputError
from satline.prediction._exact import curve_of, exact_curve
from satline.prediction._network import Floats, Network

LIFETIME_EXPONENT = 2.0


@dataclass(frozen=True)
class Storage:
    """What main storage allows.

    working_sets
        How many working sets it holds; ``None``: enough for all.
    admitted
        Users that admission lets in at most; ``None``: all.
    paging
        Name of the station whose demand grows when storage is short; needed with `working_sets`.
    exponent
        k of the lifetime function.
    """

    working_sets: float | None = None
    admitted: int | None = None
    paging: str | None = None
    exponent: float = LIFETIME_EXPONENT


@dataclass(frozen=True)
class MplPoint:
    """The system within admission at one multiprogramming level [Bard].

    throughput
        u(n), transactions per second.
    running_s
        Running time of a transaction, n/u(n).
    utilisation
        Of each station, as part of its capacity.
    """

    mpl: int
    throughput: float
    running_s: float
    utilisation: tuple[float, ...]


@dataclass(frozen=True)
class UsersPoint:
    """The whole system at one number of users.

    mpl, eligible
        Mean users in queue, and held back.
    running_s, waiting_s
        Time of a transaction in queue, n/u(n), and eligible before it, m/u(n) for m eligible.
    """

    users: int
    throughput: float
    response_s: float
    mpl: float
    eligible: float
    running_s: float
    waiting_s: float


def mpl_curve(network: Network, storage: Storage, most: int) -> tuple[MplPoint, ...]:
    """u(n) and running time for multiprogramming levels 1 … `most`.

    Raises
    ------
    InputError
        More than one class; working sets without a paging station.
    """
    return tuple(_within(network, storage, n) for n in range(1, most + 1))


def _within(network: Network, storage: Storage, n: int) -> MplPoint:
    made = _paging(network, storage, n)
    inner = replace(made, classes=(replace(made.classes[0], think_s=0.0, users=n),))
    rate = float(curve_of(inner, n).throughput[-1, 0])
    used = [rate * s.demand_s[0] / s.capacity for s in made.stations]
    return MplPoint(n, rate, n / rate, tuple(used))


def _paging(network: Network, storage: Storage, n: int) -> Network:
    """The network with the paging demand of n users in queue."""
    if len(network.classes) != 1:
        raise InputError("storage is divided among one class of users", hint="write one [[class]]")
    if storage.working_sets is None or n <= storage.working_sets:
        return network
    names = [s.name for s in network.stations]
    if storage.paging not in names:
        raise InputError(
            f"storage: no station {storage.paging} to page to", hint=f"paging is one of {', '.join(names)}"
        )
    more = (n / storage.working_sets) ** storage.exponent
    stations = [
        replace(s, demand_s=(s.demand_s[0] * more,)) if s.name == storage.paging else s
        for s in network.stations
    ]
    return replace(network, stations=tuple(stations))


def users_curve(network: Network, storage: Storage, users: int) -> tuple[UsersPoint, ...]:
    """The whole system with 1 … `users` users.

    By Little's law the mean running time is mpl/X and the mean wait before admission eligible/X, which for n
    in queue and m eligible are [Bard]'s n/u(n) and m/u(n).
    """
    admitted = min(users, storage.admitted or users)
    inner = mpl_curve(network, storage, admitted)
    speed = np.array([p.throughput for p in inner])
    speed = np.concatenate([speed, np.full(users - admitted, speed[-1])])
    made = exact_curve(np.ones((1, 1)), network.think_s, [speed], users, keep=True)
    present: Floats = made.present[0][:, 0, :]
    count = np.arange(users + 1)
    mpl = present @ np.minimum(count, admitted)
    eligible = present @ np.maximum(count - admitted, 0)
    rate, response = made.throughput[:, 0], made.response_s[:, 0]
    return tuple(
        UsersPoint(
            n + 1,
            float(rate[n]),
            float(response[n]),
            float(mpl[n]),
            float(eligible[n]),
            float(mpl[n] / rate[n]),
            float(eligible[n] / rate[n]),
        )
        for n in range(users)
    )
