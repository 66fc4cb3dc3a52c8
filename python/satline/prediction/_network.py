"""A closed queueing network: who goes round, through which stations, with which demands.

Product form is assumed [BCMP: Baskett, Chandy, Muntz, Palacios, JACM 22(2), 1975]: a station serves first
come first served with exponential times that are alike for all classes, or shares its time among all who are
there, or delays everyone alike without a queue.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from satline.errors import InputError

Floats = NDArray[np.float64]
Kind = Literal["queueing", "delay"]


@dataclass(frozen=True)
class Station:
    """Where a customer is served.

    demand_s
        Service demand of each class, in seconds for each transaction: visits × service time.
    kind
        ``queueing``, or ``delay``: everyone is served at once.
    servers
        How many it serves at a time, each at speed 1; not whole where a quota leaves a part of a processor:
        with j present its speed is min(j, servers).
    speeds
        Its speed with 1, 2, … present, in place of `servers`; the last one holds for all more.
    """

    name: str
    demand_s: tuple[float, ...]
    kind: Kind = "queueing"
    servers: float = 1.0
    speeds: tuple[float, ...] | None = None

    @property
    def capacity(self) -> float:
        """The speed it reaches at most; infinite for a delay."""
        if self.kind == "delay":
            return math.inf
        return max(self.speeds) if self.speeds else self.servers

    @property
    def plain(self) -> bool:
        """Is it one server of speed 1, or a delay?"""
        return self.kind == "delay" or (self.speeds is None and self.servers == 1)

    def speed(self, most: int) -> Floats:
        """Its speed with 1 … `most` present, relative to one server."""
        present = np.arange(1.0, most + 1)
        if self.kind == "delay":
            return present
        if self.speeds is None:
            return np.asarray(np.minimum(present, self.servers))
        known = np.asarray(self.speeds, dtype=np.float64)
        return np.asarray(known[np.minimum(np.arange(most), len(known) - 1)])


@dataclass(frozen=True)
class CustomerClass:
    """Users who are alike: how many, and how long each pauses between two transactions (mean, seconds)."""

    name: str
    users: int
    think_s: float


@dataclass(frozen=True)
class Network:
    """Classes of users and the stations they go round.

    Raises
    ------
    InputError
        A negative or infinite time, no station, a station without a demand for each class, or a class that
        neither thinks nor demands anything.
    """

    classes: tuple[CustomerClass, ...]
    stations: tuple[Station, ...]
    title: str = ""

    def __post_init__(self) -> None:
        if not self.classes or not self.stations:
            raise InputError(
                "a network needs a class of users and a station", hint="write [[class]] and [[station]]"
            )
        for names, what in (
            ([c.name for c in self.classes], "class"),
            ([s.name for s in self.stations], "station"),
        ):
            twice = sorted({n for n in names if names.count(n) > 1})
            if twice:
                raise InputError(f"there are two of {what} {twice[0]}", hint="give each a name of its own")
        for station in self.stations:
            _check(station, len(self.classes))
        for number, one in enumerate(self.classes):
            if one.users < 0:
                raise InputError(f"class {one.name}: {one.users} users", hint="give 0 or more")
            if not (math.isfinite(one.think_s) and one.think_s >= 0):
                raise InputError(f"class {one.name}: think time {one.think_s} s", hint="give 0 or more")
            if one.think_s + sum(s.demand_s[number] for s in self.stations) <= 0:
                raise InputError(
                    f"class {one.name} neither thinks nor demands anything", hint="give it a demand"
                )

    @property
    def users(self) -> tuple[int, ...]:
        """Users of each class."""
        return tuple(c.users for c in self.classes)

    @property
    def think_s(self) -> Floats:
        """Think time of each class; a pause at a delay station is not in it."""
        return np.array([c.think_s for c in self.classes])

    @property
    def demand_s(self) -> Floats:
        """Demands: shape (classes, stations)."""
        return np.array([s.demand_s for s in self.stations], dtype=np.float64).T

    def with_users(self, users: Sequence[int]) -> Network:
        """The same network with so many users of each class."""
        made = tuple(replace(c, users=n) for c, n in zip(self.classes, users, strict=True))
        return replace(self, classes=made)


def _check(station: Station, classes: int) -> None:
    name = f"station {station.name}"
    if len(station.demand_s) != classes:
        raise InputError(
            f"{name} has {len(station.demand_s)} demands for {classes} classes",
            hint="give a demand for each class, 0 where it has none",
        )
    if not all(math.isfinite(d) and d >= 0 for d in station.demand_s):
        raise InputError(f"{name}: a demand is negative or no number", hint="give seconds, 0 or more")
    if not (math.isfinite(station.servers) and station.servers > 0):
        raise InputError(f"{name}: {station.servers} servers", hint="give more than 0")
    speeds = station.speeds
    if speeds is not None and (not speeds or not all(math.isfinite(s) and s > 0 for s in speeds)):
        raise InputError(f"{name}: a speed is 0, negative or no number", hint="give more than 0 for each")
