"""The answer for a network given by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from satline.errors import InputError
from satline.prediction._bounds import Bounds, bounds
from satline.prediction._decomposition import MplPoint, UsersPoint, mpl_curve, users_curve
from satline.prediction._exact import curve_of
from satline.prediction._file import Described
from satline.prediction._network import Network
from satline.prediction._solution import Accuracy
from satline.prediction._solve import Method, solve

MOST_MPL = 100
PARTS = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True)
class StationLine:
    """A station with the network's own users: part of capacity in use, mean users present, time there of a
    transaction of each class."""

    name: str
    utilisation: float
    present: float
    residence_s: tuple[float, ...]


@dataclass(frozen=True)
class ClassLine:
    """A class of users: throughput and response time."""

    name: str
    users: int
    throughput: float
    response_s: float


@dataclass(frozen=True)
class CurveLine:
    """A network of one class at one number of users."""

    users: int
    throughput: float
    response_s: float
    utilisation: tuple[float, ...]


@dataclass(frozen=True)
class NetworkAnswer:
    """Everything that is said of a network.

    method, accuracy
        How it was solved, and the error of an approximation on the shipped grid.
    bounds, curve
        Of one class only; empty otherwise.
    mpl, with_storage
        The decomposition, where the file has [storage]; the rest then leaves storage aside.
    """

    file: str
    title: str
    method: str
    accuracy: Accuracy | None
    classes: tuple[ClassLine, ...]
    stations: tuple[StationLine, ...]
    bounds: Bounds | None = None
    curve: tuple[CurveLine, ...] = ()
    mpl: tuple[MplPoint, ...] = ()
    with_storage: tuple[UsersPoint, ...] = ()


def answer_network(
    described: Described, users: Sequence[int] | None, method: Method, file: str = ""
) -> NetworkAnswer:
    """Solve a network, and its storage constraint where there is one.

    Raises
    ------
    InputError
        Numbers of users for a network of several classes; see `solve` for the rest.
    """
    network = described.network
    if users is not None and len(network.classes) > 1:
        raise InputError(
            f"{len(network.classes)} classes: of which shall there be so many users?",
            hint="set count in each [[users]]",
        )
    made = solve(network, method)
    stations = tuple(
        StationLine(
            s.name, float(made.utilisation[k]), float(made.present[k]), tuple(made.residence_s[:, k].tolist())
        )
        for k, s in enumerate(network.stations)
    )
    classes = tuple(
        ClassLine(c.name, c.users, float(made.throughput[k]), float(made.response_s[k]))
        for k, c in enumerate(network.classes)
    )
    answer = NetworkAnswer(file, network.title, made.method, made.accuracy, classes, stations)
    if len(network.classes) > 1:
        return answer
    count = network.classes[0].users
    rows = sorted({max(1, round(count * part)) for part in PARTS}) if users is None else list(users)
    curve = _curve(network, rows, made.method)
    mpl: tuple[MplPoint, ...] = ()
    held: tuple[UsersPoint, ...] = ()
    if described.storage is not None:
        mpl = mpl_curve(network, described.storage, min(described.storage.admitted or count, count, MOST_MPL))
        points = users_curve(network, described.storage, max(rows))
        held = tuple(points[n - 1] for n in rows)
    return NetworkAnswer(
        file, network.title, made.method, made.accuracy, classes, stations, bounds(network), curve, mpl, held
    )


def _curve(network: Network, rows: Sequence[int], method: str) -> tuple[CurveLine, ...]:
    """The network with each of these numbers of users."""
    demand, capacity = network.demand_s[0], np.array([s.capacity for s in network.stations])
    if method == "exact":
        made = curve_of(network, max(rows))
        found = [(float(made.throughput[n - 1, 0]), float(made.response_s[n - 1, 0])) for n in rows]
    else:
        solved = [solve(network.with_users([n]), method) for n in rows]  # type: ignore[arg-type]
        found = [(float(s.throughput[0]), float(s.response_s[0])) for s in solved]
    return tuple(
        CurveLine(n, rate, response, tuple((rate * demand / capacity).tolist()))
        for n, (rate, response) in zip(rows, found, strict=True)
    )
