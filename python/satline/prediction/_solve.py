"""One network → its solution, by the method that fits, with the error that the method is known to make."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Literal

from satline.prediction._approximate import linearizer, schweitzer
from satline.prediction._bounds import pressure
from satline.prediction._exact import exact_single
from satline.prediction._lattice import MOST_CELLS, cells, exact_classes
from satline.prediction._network import Network
from satline.prediction._solution import Accuracy, Solution

Method = Literal["auto", "exact", "linearizer", "schweitzer"]
METHODS: tuple[Method, ...] = ("auto", "exact", "linearizer", "schweitzer")
# Bands of load: the part of the busiest station's capacity that all users would take if nobody ever waited.
BANDS = (0.6, 0.9, 1.2, 2.0)
MEASURED = Path(__file__).with_name("accuracy.toml")


def solve(network: Network, method: Method = "auto") -> Solution:
    """Solve a network.

    Parameters
    ----------
    method
        ``auto``: exactly where that is feasible, else by the Linearizer.

    Raises
    ------
    InputError
        Exact analysis is not feasible, or an approximation does not know such a station.
    """
    one = len(network.classes) == 1
    if method == "auto":
        method = "exact" if one or cells(network) <= MOST_CELLS else "linearizer"
    if method == "exact":
        return exact_single(network) if one else exact_classes(network)
    made = linearizer(network) if method == "linearizer" else schweitzer(network)
    known = accuracy(method, network)
    return Solution(network, made.throughput, made.residence_s, method, known)


def band(load: float) -> int:
    """Number of the band of load that `load`, the greatest pressure on a station, lies in."""
    return sum(load >= edge for edge in BANDS)


def accuracy(method: str, network: Network) -> Accuracy | None:
    """The error that `method` made on the shipped grid at loads like this one.

    It was measured with single servers, and with several of speed 1; ``None`` where it was not measured.
    """
    servers = "several" if any(not s.plain for s in network.stations) else "single"
    place = f"{method}-{servers}-{band(float(pressure(network).max()))}"
    return _measured().get(place)


@cache
def _measured() -> dict[str, Accuracy]:
    document = tomllib.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else {}
    names = [f.name for f in fields(Accuracy)]
    return {
        place: Accuracy(**{n: row[n] for n in names}) for place, row in document.items() if place != "made"
    }
