"""The arms of a simulated study held against the first of them, at equal load, with common random numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from satline.simulation._estimate import Estimate
from satline.simulation._factorial import change
from satline.simulation._simulate import Simulated


@dataclass(frozen=True)
class ArmRow:
    """One measure of two arms at one place (users and varied keys).

    change
        How much more the other has, as a part of the first; with its interval.
    """

    label: Mapping[str, str]
    measure: str
    base: Estimate
    other: Estimate
    change: Estimate


def against(base: Simulated, other: Simulated, names: Sequence[str]) -> list[ArmRow]:
    """A row for each place that both have, and each measure."""
    places = {tuple(point.label.items()): point for point in base.points}
    rows = []
    for point in other.points:
        first = places.get(tuple(point.label.items()))
        if first is None:
            continue
        cut = max(first.truncation, point.truncation)
        count = min(len(first.results), len(point.results))
        for name in names:
            pair = first.values(name, cut)[:count], point.values(name, cut)[:count]
            rows.append(
                ArmRow(dict(point.label), name, first.estimate(name), point.estimate(name), change(*pair))
            )
    return rows
