"""Two periods held against each other at equal load, from their observations alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from satline.comparison._blocks import Floats, Integers, Side, choose, make_side
from satline.comparison._matched import Cells, make_cells, make_means, matched
from satline.comparison._observations import USERS
from satline.comparison._periods import Observed
from satline.comparison._results import Estimate, Matched

LEAST_FOR_PLACEBO = 8
Both = tuple[Observed, Observed]


@dataclass(frozen=True)
class Blocks:
    """Which blocks are taken as independent: whole days, pieces of so many hours, else (0) batches."""

    words: str
    days: bool
    hours: int

    @classmethod
    def of(cls, seen: Both) -> Blocks:
        """The longest that both sides have enough of."""
        return cls(*choose((seen[0].day, seen[1].day), (seen[0].hour, seen[1].hour)))


@dataclass(frozen=True)
class Held:
    """The observations in the order of their blocks, and what was found at equal load."""

    seen: Both
    cells: Cells
    sides: tuple[Side, Side]
    matched: Matched | None


def hold(seen: Both, axis: str, at_least: int, blocks: Blocks, seed: int = 0) -> Held:
    """Hold `seen` against each other at equal load on `axis`."""
    seen = seen[0].ordered(blocks.days, blocks.hours), seen[1].ordered(blocks.days, blocks.hours)
    cells = _cells(seen, axis)
    sides = _side(seen[0], cells, 0, blocks, seed), _side(seen[1], cells, 1, blocks, seed)
    if not cells.count:
        return Held(seen, cells, sides, None)
    means = make_means(
        sides,
        cells,
        (seen[0].values, seen[1].values),
        (seen[0].weights, seen[1].weights),
        (seen[0].load, seen[1].load),
    )
    return Held(seen, cells, sides, matched(sides, cells, means, at_least))


def placebo(before: Observed, axis: str, blocks: Blocks) -> Estimate | None:
    """The first half of before held against its second half: there was no change between them.

    ``None`` where there are too few blocks, or no load in common.
    """
    block = before.block(blocks.days, blocks.hours)
    values = np.unique(block)
    if len(values) < LEAST_FOR_PLACEBO:
        return None
    early = block < values[len(values) // 2]
    found = hold((before.part(early), before.part(~early)), axis, 10**9, blocks, seed=1).matched
    return None if found is None else found.relative


def _cells(seen: Both, axis: str) -> Cells:
    # Only where the measure has a value is there anything to compare.
    loads = tuple(np.where(o.weights > 0, o.load, np.nan) for o in seen)
    finite = np.concatenate([v[np.isfinite(v)] for v in loads])
    users = axis in USERS
    whole = users or bool(len(finite) and (finite == np.rint(finite)).all())
    return make_cells((loads[0], loads[1]), whole, users, axis == "users")


def _side(o: Observed, cells: Cells, which: int, blocks: Blocks, seed: int) -> Side:
    away, heavy = _deviations(o, cells.of[which], cells)
    return make_side(o.block(blocks.days, blocks.hours), away, heavy, blocks.days, 2 * seed + which)


def _deviations(o: Observed, cell: Integers, cells: Cells) -> tuple[Floats, Integers]:
    """Of each observation from the mean of its cell, times its weight; and whether its load is in the upper
    half."""
    inside = cell >= 0
    place = np.where(inside, cell, 0)
    count = max(1, cells.count)
    sums = [np.bincount(place[inside], v[inside], count) for v in (o.values, o.weights)]
    mean = sums[0] / np.maximum(sums[1], 1e-300)
    away = np.where(inside, o.values - mean[place] * o.weights, 0.0)
    middle = np.median(cell[inside]) if inside.any() else 0
    return away, (place > middle).astype(np.int64)
