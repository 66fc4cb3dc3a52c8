"""A free constant between its ends: from 0 to 1 for the fit, a setting for the machine, a place in a file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from satline.simulation.calibration._file import Constant

OF_WORKLOAD = "workload."
DIGITS = 4
Place = tuple[int | str, ...]


@dataclass(frozen=True)
class Axis:
    """One constant, and where it starts."""

    constant: Constant
    start: float

    @property
    def low(self) -> float:
        """Least value."""
        return self.constant.range[0]

    @property
    def high(self) -> float:
        """Greatest value."""
        return self.constant.range[1]

    def value(self, at: float) -> float:
        """The value at a part of the range, 0 to 1, rounded to what is set: four digits, or whole."""
        if self.constant.scale == "log":
            value = self.low * (self.high / self.low) ** at
        else:
            value = self.low + at * (self.high - self.low)
        value = float(round(value)) if self.constant.whole else float(f"{value:.{DIGITS}g}")
        return min(max(value, self.low), self.high)

    def place(self, value: float) -> float:
        """The part of the range at which the value lies."""
        if self.constant.scale == "log":
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def per_range(self, value: float) -> float:
        """d value / d place."""
        if self.constant.scale == "log":
            return value * math.log(self.high / self.low)
        return self.high - self.low

    def settings(self, value: float) -> list[tuple[str, str]]:
        """Keys and the texts that they get."""
        return [(key, number_text(self.at_key(key, value))) for key in self.constant.keys]

    def at_key(self, key: str, value: float) -> float:
        """What stands at this key when the constant has that value."""
        return value * self.constant.keys[key]


def axis(
    constant: Constant, machine: Mapping[str, Any], workload: Mapping[str, Any], sets: Mapping[str, Any]
) -> Axis:
    """The constant as the files have it.

    Raises
    ------
    ValueError
        It is not there, no number, or its range is none; after a ``;`` the remedy.
    """
    low, high = constant.range
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"the range {low:g} to {high:g} is none; give the least value, then the greatest")
    if constant.scale == "log" and low <= 0:
        raise ValueError(f"a logarithmic range from {low:g}; begin above 0")
    files = {}
    for key in constant.keys:
        if key in sets:
            raise ValueError(f"{key} is in [set] too; a constant is free or set")
        of_workload = key.startswith(OF_WORKLOAD)
        tree = workload if of_workload else machine
        files[key] = _number(tree, find(tree, key.removeprefix(OF_WORKLOAD)), key)
    start = constant.start
    if start is None:
        start = files[constant.key[0]]
    if not low <= start <= high:
        raise ValueError(f"its start {start:g} is outside {low:g} to {high:g}; widen the range or give start")
    return Axis(constant, start)


def find(tree: Any, key: str) -> Place:
    """The place of a dotted key in a parsed file; entries of a list go by name or number.

    Raises
    ------
    ValueError
        There is no such key.
    """
    place: Place = ()
    at = tree
    for part in key.split("."):
        step: int | str = part
        if isinstance(at, list):
            names = [one.get("name") if isinstance(one, dict) else None for one in at]
            step = int(part) if part.isdecimal() else names.index(part) if part in names else -1
        try:
            if step == -1:
                raise KeyError
            at = at[step]
        except (KeyError, IndexError, TypeError):
            raise ValueError(f"{key}: the file has no {part!r} there; write it into the file first") from None
        place += (step,)
    return place


def at_place(tree: Any, place: Place) -> Any:
    """What stands at a place."""
    for step in place:
        tree = tree[step]
    return tree


def _number(tree: Mapping[str, Any], place: Place, key: str) -> float:
    found = at_place(tree, place)
    if isinstance(found, dict):
        found = found.get("value")
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise ValueError(f"{key} is no number; name one, as in think_s.exponential")
    return float(found)


def number_text(value: float) -> str:
    """A number as it is set and written: four digits at least, whole ones without a point."""
    short = float(f"{value:.{DIGITS + 2}g}")
    return str(int(short)) if short.is_integer() and abs(short) < 1e15 else repr(short)
