"""Load classes [Bard]: 1-2 active users, 3-4, 5-6, …, merged until each has enough observations."""

from __future__ import annotations

import numpy as np

from satline.reduction._results import LoadClass
from satline.reduction._statistics import Floats, Integers


def distinct_classes(load: Floats) -> list[tuple[float, float]]:
    """A class for each distinct load: the steps of a study."""
    return [(float(v), float(v)) for v in np.unique(load[np.isfinite(load)])]


def merged_classes(load: Floats, width: int = 2, at_least: int = 50) -> list[tuple[float, float]]:
    """Classes of `width` loads from 1 up; neighbours are merged until each has `at_least` observations.

    What remains at the top without enough of them joins the class below. Load 0 belongs to no class.
    """
    rounded = np.rint(load[np.isfinite(load)])
    rounded = rounded[rounded >= 1]
    if not len(rounded):
        return []
    base = ((rounded - 1) // width).astype(np.int64)
    counts = np.bincount(base)
    classes: list[tuple[float, float]] = []
    sizes: list[int] = []
    first, size = 0, 0
    for number, count in enumerate(counts):
        size += int(count)
        if size >= at_least:
            classes.append((float(first * width + 1), float((number + 1) * width)))
            sizes.append(size)
            first, size = number + 1, 0
    if size:
        top = float(len(counts) * width)
        if classes:
            classes[-1] = (classes[-1][0], top)
        else:
            classes.append((float(first * width + 1), top))
    return classes


def assign(load: Floats, bounds: list[tuple[float, float]], exact: bool) -> Integers:
    """Number of the class of each observation, -1 where it belongs to none."""
    rounded = load if exact else np.rint(load)
    number = np.full(len(load), -1, dtype=np.int64)
    for k, (low, high) in enumerate(bounds):
        number[(rounded >= low) & (rounded <= high)] = k
    return number


def describe(bounds: list[tuple[float, float]], number: Integers, seconds: Floats) -> tuple[LoadClass, ...]:
    """The classes with their counts and lengths."""
    return tuple(
        LoadClass(low, high, (low + high) / 2, int((number == k).sum()), float(seconds[number == k].sum()))
        for k, (low, high) in enumerate(bounds)
    )
