"""Differences at equal load: cells of nearly one load, in which both sides are held against each other."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace

import numpy as np

from satline.comparison._blocks import Floats, Integers, Side, detectable, estimate, in_parts
from satline.comparison._results import Matched, MatchedClass
from satline.stats import holm

MOST_CELLS = 30
IN_CELL = 10
MOST_CLASSES = 12
LITTLE = 0.1


@dataclass(frozen=True)
class Cells:
    """Narrow cells of load.

    low, high
        Ends of each; of a count of users both belong to it.
    of
        The cell of each observation of each side, −1 for none.
    steps
        Each is a step of a study, and a class by itself.
    """

    low: Floats
    high: Floats
    of: tuple[Integers, Integers]
    steps: bool

    @property
    def count(self) -> int:
        """Number of cells."""
        return len(self.low)


def make_cells(loads: tuple[Floats, Floats], whole: bool, users: bool, steps: bool) -> Cells:
    """Cells over all loads seen: single loads where there are enough observations, else wider ones.

    Parameters
    ----------
    whole
        The loads are whole numbers.
    users
        They are users: where none was active there is no load.
    steps
        They are those of a study: each is a cell.
    """
    fit = [np.isfinite(load) & ((np.rint(load) >= 1) if users else True) for load in loads]
    both = np.concatenate([load[good] for load, good in zip(loads, fit, strict=True)])
    empty = np.zeros(0)
    if not len(both):
        return Cells(empty, empty, tuple(np.full(len(v), -1, dtype=np.int64) for v in loads), steps)  # type: ignore[arg-type]
    most = max(1, min(MOST_CELLS, min(int(good.sum()) for good in fit) // IN_CELL))
    if steps:
        low = high = np.unique(both)
        number = [np.searchsorted(low, load) for load in loads]
    elif whole:
        first, last = float(np.rint(both).min()), float(np.rint(both).max())
        # What lies far out must not widen all cells.
        near = np.percentile(both, [1, 99])
        width = max(1.0, math.ceil((near[1] - near[0] + 1) / most))
        low = np.arange(first, last + 1, width) if (last - first) / width < 1e4 else np.array([first])
        high = np.minimum(low + width - 1, last)
        number = [np.searchsorted(low, np.rint(load), side="right") - 1 for load in loads]
    else:
        # Of equal size: such loads mostly crowd at one end of their range.
        edges = np.unique(np.quantile(both, np.linspace(0, 1, most + 1)))
        edges = edges if len(edges) > 1 else np.repeat(edges, 2)
        low, high = edges[:-1], edges[1:]
        number = [np.clip(np.searchsorted(edges[1:-1], v, side="right"), 0, len(low) - 1) for v in loads]
    of = tuple(np.where(g, n, -1).astype(np.int64) for g, n in zip(fit, number, strict=True))
    return Cells(low, high, of, steps)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Means:
    """Sums by replicate and cell of the measure's numerator, its weight, and load times weight."""

    sums: tuple[Floats, Floats]
    totals: tuple[Floats, Floats]


def make_means(
    sides: tuple[Side, Side],
    cells: Cells,
    values: tuple[Floats, Floats],
    weights: tuple[Floats, Floats],
    loads: tuple[Floats, Floats],
) -> Means:
    """Sums of the measure (`values` are sums, `weights` what they are divided by) in each cell."""
    totals = tuple(
        s.totals(c, cells.count, v, w, w * np.where(np.isfinite(load), load, 0.0), (w > 0).astype(np.float64))
        for s, c, v, w, load in zip(sides, cells.of, values, weights, loads, strict=True)
    )
    return Means(
        tuple(s.replicate(t) for s, t in zip(sides, totals, strict=True)),  # type: ignore[arg-type]
        totals,  # type: ignore[arg-type]
    )


def common(means: Means) -> Floats:
    """Weight of each cell, n m/(n + m) of both sides' weights; 0 where one side has nothing.

    With these weights the difference of two samples of equal scatter has the least variance. Scatter grows
    with the mean: where all means are positive the weight is divided by it, so that a percent at light load
    counts as much as a percent at heavy load, and a few moments of overload do not decide.
    """
    a, b = (sums[0, :, 1] for sums in means.sums)
    both = np.where((a > 0) & (b > 0), a * b / np.maximum(a + b, 1e-300), 0.0)
    pooled = means.sums[0][0] + means.sums[1][0]
    cell = pooled[:, 0] / np.maximum(pooled[:, 1], 1e-300)
    if not both.any() or (cell[both > 0] < 0).any():
        return np.asarray(both)
    # Next to nothing there is no percent.
    typical = float((both * cell).sum() / both.sum())
    return np.asarray(both / (cell + LITTLE * typical)) if typical > 0 else np.asarray(both)


def slopes(means: Means, weight: Floats) -> tuple[Floats, Floats]:
    """Of each cell: the mean load of both sides, and how steeply the measure rises with load there."""
    pooled = means.sums[0][0] + means.sums[1][0]
    have = weight > 0
    load = pooled[:, 2] / np.maximum(pooled[:, 1], 1e-300)
    value = pooled[:, 0] / np.maximum(pooled[:, 1], 1e-300)
    slope = np.zeros(len(load))
    at = np.flatnonzero(have)
    if len(at) >= 3 and (np.diff(load[at]) > 0).all():
        # Over five cells: single ones are noisy.
        for place, cell in enumerate(at):
            near = at[max(0, place - 2) : place + 3]
            size = pooled[near, 1]
            away = load[near] - np.average(load[near], weights=size)
            square = float((size * away**2).sum())
            slope[cell] = float((size * away * value[near]).sum()) / square if square > 0 else 0.0
    return load, slope


def level(sums: Floats, weight: Floats, load: Floats, slope: Floats) -> Floats:
    """Mean of each replicate with the cells weighted by `weight`, each cell's mean brought to its load."""
    there = (sums[..., 1] > 0) & (weight > 0)
    size = np.where(there, sums[..., 1], 1.0)
    cell = np.where(there, sums[..., 0] / size - slope * (sums[..., 2] / size - load), 0.0)
    used = np.where(there, weight, 0.0)
    whole = used.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((cell * used).sum(axis=-1) / whole)


def matched(sides: tuple[Side, Side], cells: Cells, means: Means, at_least: int) -> Matched | None:
    """Differences by class of load, and over all of the common loads; ``None`` without a common load."""
    weight = common(means)
    if not (weight > 0).any():
        return None
    load, slope = slopes(means, weight)
    classes = [
        _one(sides, cells, means, group, weight, load, slope)
        for group in _classes(means, weight, at_least, cells)
    ]
    chances = [c.difference.chance for c in classes]
    told = [c for c in chances if c is not None]
    adjusted = iter(holm(told))
    classes = [c if c.difference.chance is None else replace(c, chance=next(adjusted)) for c in classes]
    inside = np.flatnonzero(weight > 0)
    whole = _one(sides, cells, means, inside, weight, load, slope)
    lost = [1 - float(sums[0, inside, 3].sum()) / max(1.0, float(sums[0, :, 3].sum())) for sums in means.sums]
    # The logarithm's error gives the part; where there is none, the difference itself.
    found = whole.relative if whole.relative is not None else whole.difference
    least = detectable(found)
    return Matched(
        low=whole.low,
        high=whole.high,
        classes=tuple(classes),
        before=whole.before,
        after=whole.after,
        difference=whole.difference,
        relative=whole.relative,
        outside=(lost[0], lost[1]),
        detectable=None if least is None else math.expm1(least) if whole.relative is not None else least,
    )


def span(low: float, high: float) -> str:
    """A range of loads: ``3–24``, ``0.12–0.3``."""
    a, b = (f"{v:.0f}" if v == round(v) else f"{v:.3g}" for v in (low, high))
    return a if a == b else f"{a}–{b}"


def _classes(means: Means, weight: Floats, at_least: int, cells: Cells) -> list[Integers]:
    """Cells of each class: neighbours are merged until both sides have enough observations."""
    have = np.flatnonzero(weight > 0)
    counts = np.stack([sums[0, have, 3] for sums in means.sums])
    target = max(float(at_least), float(counts.sum(axis=1).min()) / MOST_CLASSES)
    if cells.steps:
        return list(have[:, None])
    groups: list[list[int]] = [[]]
    size = np.zeros(2)
    for cell, count in zip(have.tolist(), counts.T, strict=True):
        groups[-1].append(cell)
        size = size + count
        if size.min() >= target:
            groups.append([])
            size = np.zeros(2)
    if len(groups) > 1:
        rest = groups.pop()
        groups[-1] += rest
    return [np.array(g, dtype=np.int64) for g in groups if g]


def _shares(sums: Floats, weight: Floats) -> Floats:
    """Part of each cell in the weighted mean."""
    part = weight * np.abs(sums[:, 0]) / np.maximum(sums[:, 1], 1e-300)
    whole = float(part.sum())
    return np.asarray(part / whole if whole > 0 else weight / weight.sum())


def _one(
    sides: tuple[Side, Side],
    cells: Cells,
    means: Means,
    group: Integers,
    weight: Floats,
    load: Floats,
    slope: Floats,
) -> MatchedClass:
    """Both sides over the cells of `group`, weighted alike."""
    levels = [level(s[:, group], weight[group], load[group], slope[group]) for s in means.sums]
    before, after = (float(v[0]) for v in levels)
    scatters = [
        side.scatter(totals[:, group, 1], _shares(sums[0, group], weight[group]))
        for side, totals, sums in zip(sides, means.totals, means.sums, strict=True)
    ]
    drawn = levels[0][1:], levels[1][1:]
    difference = estimate(after - before, drawn, scatters)
    relative = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        if before > 0 and after > 0 and all((np.nan_to_num(v, nan=1.0) > 0).all() for v in drawn):
            logs = np.log(drawn[0]), np.log(drawn[1])
            relative = in_parts(estimate(math.log(after / before), logs, scatters))
    low, high = float(cells.low[group[0]]), float(cells.high[group[-1]])
    used = weight[group]
    return MatchedClass(
        label=span(low, high),
        low=low,
        high=high,
        at=float((load[group] * used).sum() / used.sum()),
        observations=tuple(int(s[0, group, 3].sum()) for s in means.sums),  # type: ignore[arg-type]
        before=before,
        after=after,
        difference=difference,
        relative=relative,
        chance=None,
    )
