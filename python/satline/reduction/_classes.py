"""Load classes [Bard]: 1-2 active users, 3-4, 5-6, …, merged until each has enough observations."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from satline.errors import InputError
from satline.reduction._axes import Axis
from satline.reduction._results import LoadClass
from satline.reduction._statistics import Floats, Integers

BASE_CLASSES = 20
# A class has 50 observations [Bard]; of a short recording fewer, so that there are classes at all.
ENOUGH, FEWEST, WANTED_CLASSES = 50, 3, 8


@dataclass(frozen=True)
class Classing:
    """How classes are made.

    width
        Loads in a class; ``None``: 2 users, or a round width that makes about 20 classes of the range.
    at_least
        Observations that a class must have; smaller ones are merged with their neighbours. ``None``: 50
        [Bard], but so few that about 8 classes can be had.
    equal_count
        Make so many classes of about equal size instead; 0: as many as `at_least` allows, at most 10.
    """

    width: float | None = None
    at_least: int | None = None
    equal_count: int | None = None

    def __post_init__(self) -> None:
        if self.width is not None and not (self.width > 0 and math.isfinite(self.width)):
            raise InputError(f"class width {self.width}", hint="give a width above 0")
        if self.at_least is not None and self.at_least < 1:
            raise InputError(f"{self.at_least} observations in a class", hint="give at least 1")

    @classmethod
    def of(cls, classes: str | None, width: float | None, at_least: int | None) -> Classing:
        """From the options: `classes` is ``equal-count``, ``equal-count:N`` or ``None``."""
        if classes is None:
            return cls(width, at_least)
        kind, _, count = classes.partition(":")
        if kind != "equal-count" or (count and not (count.isascii() and count.isdigit() and int(count) > 0)):
            raise InputError(f"classes {classes!r}", hint="write equal-count or equal-count:10")
        if width is not None:
            raise InputError("classes of equal count have no width", hint="leave one of the two out")
        return cls(None, at_least, min(int(count[:6]), 10_000) if count else 0)


def enough(how: Classing, observations: int) -> int:
    """Observations that a class must have: as asked, else by how many there are."""
    if how.at_least is not None:
        return how.at_least
    return max(FEWEST, min(ENOUGH, observations // WANTED_CLASSES))


def make_classes(
    load: Floats, seconds: Floats, axis: Axis, how: Classing
) -> tuple[tuple[LoadClass, ...], Integers]:
    """The classes, and the class of each observation, −1 where it belongs to none.

    Steps of a study are a class each. An observation without any active user belongs to no class of users.
    """
    finite = np.isfinite(load)
    if axis.users:
        finite &= np.rint(load) >= 1
    if not finite.any():
        return (), np.full(len(load), -1, dtype=np.int64)
    at_least = enough(how, int(finite.sum()))
    if how.equal_count is not None:
        bounds, number = _equal(load, finite, how.equal_count, at_least)
        return _described(bounds, load, number, seconds, labels=(f"{a:g} to {b:g}" for a, b in bounds))
    if axis.name == "users" and how.width is None:
        bounds = distinct_classes(load)
        return _described(bounds, load, assign(load, bounds, exact=True), seconds, width=1)
    whole = axis.users or bool((load[finite] == np.rint(load[finite])).all())
    if axis.users:
        width = how.width or 2
    else:
        low, high = np.percentile(load[finite], [1, 99])
        width = how.width or round_width((high - low) / BASE_CLASSES)
        width = max(1.0, width) if whole else width
    if whole and width != round(width):
        raise InputError(f"class width {width:g}: the load is a whole number", hint="give a whole width")
    if axis.users:
        bounds = merged_classes(load, int(width), at_least)
        return _described(bounds, load, assign(load, bounds, exact=False), seconds, width=width)
    edges = _edges(load[finite], float(width), at_least)
    number = np.where(finite, np.searchsorted(edges[1:-1], load, side="right"), -1).astype(np.int64)
    bounds = list(pairwise(edges.tolist()))
    if whole:
        bounds = [(low, high - 1) for low, high in bounds[:-1]] + [(bounds[-1][0], float(load[finite].max()))]
        return _described(bounds, load, number, seconds)
    words = [f"{low:g} to below {high:g}" for low, high in bounds]
    if load[finite].max() >= edges[-1]:
        words[-1] = f"{edges[-2]:g} to {edges[-1]:g}"
    return _described(bounds, load, number, seconds, labels=words)


def distinct_classes(load: Floats) -> list[tuple[float, float]]:
    """A class for each distinct load: the steps of a study."""
    return [(float(v), float(v)) for v in np.unique(load[np.isfinite(load)])]


def merged_classes(load: Floats, width: int = 2, at_least: int = 50) -> list[tuple[float, float]]:
    """Classes of `width` loads from 1 up; neighbours are merged until each has `at_least` observations.

    What remains at the top without enough of them joins the class below. Load 0 belongs to no class.
    """
    rounded = np.rint(load[np.isfinite(load)])
    base = (rounded[rounded >= 1] - 1) // width
    ends = _merged(base, at_least)
    return [(float(a * width + 1), float(b * width)) for a, b in zip([0.0, *ends], ends, strict=False)]


def _merged(base: Floats, at_least: int) -> list[float]:
    """Ends of the merged classes, in whole base classes (excluded)."""
    cells, counts = np.unique(base, return_counts=True)
    ends: list[float] = []
    size = 0
    for cell, count in zip(cells.tolist(), counts.tolist(), strict=True):
        size += count
        if size >= at_least:
            ends.append(cell + 1)
            size = 0
    if size:
        ends[-1:] = [cells[-1].item() + 1]
    return ends


def round_width(width: float) -> float:
    """The round width (1, 2 or 5 times a power of ten) nearest above `width`; 1 for a range of nothing."""
    if not width > 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width))
    return next((f * power for f in (1, 2, 5) if f * power >= width * (1 - 1e-9)), 10 * power)


def _edges(load: Floats, width: float, at_least: int) -> Floats:
    """Edges of merged classes of a load that is no count of users; the last one holds the greatest load."""
    low, high = np.percentile(load, [1, 99])
    # What lies far out would make any number of empty base classes.
    least, most = math.floor(low / width) - 1, math.floor(high / width) + 1
    base = np.clip(np.floor(load / width), least, most)
    # A quotient is rounded, and so is an edge: what counts is on which side of the edge a load lies.
    cells = np.unique(np.concatenate([base - 1, base, base + 1]))
    place = np.searchsorted([_edge(cell, width) for cell in cells], load, side="right") - 1
    base = np.clip(cells[np.maximum(place, 0)], least, most)
    ends = _merged(base, at_least)
    first = min(float(base.min()) * width, float(load.min()))
    last = ends[-1] * width if load.max() < ends[-1] * width else float(load.max())
    return np.array([first, *(_edge(end, width) for end in ends[:-1]), last])


def _edge(cell: float, width: float) -> float:
    return float(f"{cell * width:.12g}")


def _equal(
    load: Floats, finite: np.ndarray, wanted: int, at_least: int
) -> tuple[list[tuple[float, float]], Integers]:
    """Classes of about equal size; equal loads are never parted."""
    values = load[finite]
    count = wanted or min(10, max(1, len(values) // at_least))
    inner = np.unique(np.quantile(values, np.arange(1, count) / count, method="higher"))
    number = np.full(len(load), -1, dtype=np.int64)
    # Where a cut falls on the least load, nothing lies below it.
    _, number[finite] = np.unique(np.searchsorted(inner, values, side="right"), return_inverse=True)
    classes = range(int(number.max()) + 1)
    return [(float(load[number == k].min()), float(load[number == k].max())) for k in classes], number


def assign(load: Floats, bounds: list[tuple[float, float]], exact: bool) -> Integers:
    """Number of the class of each observation, -1 where it belongs to none."""
    if not bounds:
        return np.full(len(load), -1, dtype=np.int64)
    rounded = load if exact else np.rint(load)
    lows, highs = np.array(bounds).T
    number = np.searchsorted(lows, rounded, side="right") - 1
    number[~(rounded <= highs[number])] = -1
    return number


def _described(
    bounds: list[tuple[float, float]],
    load: Floats,
    number: Integers,
    seconds: Floats,
    width: float | None = None,
    labels: Iterable[str] = (),
) -> tuple[tuple[LoadClass, ...], Integers]:
    """The classes with their counts and lengths; classes of just `width` loads stand at their middle."""
    inside = number >= 0
    counts = np.bincount(number[inside], minlength=len(bounds))
    lengths = np.bincount(number[inside], weights=seconds[inside], minlength=len(bounds))
    means = np.bincount(number[inside], weights=load[inside], minlength=len(bounds)) / np.maximum(counts, 1)
    words = list(labels) or [""] * len(bounds)
    classes = tuple(
        LoadClass(
            float(low),
            float(high),
            (low + high) / 2 if width is not None and high - low + 1 <= width else float(means[k]),
            int(counts[k]),
            float(lengths[k]),
            words[k],
        )
        for k, (low, high) in enumerate(bounds)
    )
    return classes, number
