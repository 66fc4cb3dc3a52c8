"""Trade-off curves: the measure against throughput, a point for each class of load [TB84]."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from satline.comparison._blocks import Floats, Integers, Scatter, Side, estimate, in_parts
from satline.comparison._matched import MOST_CLASSES, Cells, span
from satline.comparison._periods import Observed
from satline.comparison._results import AtEqual, BandPoint, CurvePoint, TradeOff

LEAST_IN_POINT = 10
LEVELS = 5
BAND_LEVELS = 24


@dataclass(frozen=True)
class _Curve:
    """Replicates of both coordinates, shape (replicates + 1, points); the first row is what was seen."""

    x: Floats
    y: Floats
    points: tuple[CurvePoint, ...]
    scatter: Scatter


def trade_off(
    sides: tuple[Side, Side],
    cells: Cells,
    seen: tuple[Observed, Observed],
    variable: str,
    unit: str,
    at_least: int,
) -> TradeOff | None:
    """Both curves, and how far they lie apart at equal throughput and at an equal measure."""
    if not all((o.worked > 0).any() for o in seen) or not cells.count:
        return None
    starts = _starts(cells, at_least)
    curves = [_curve(side, of, o, cells, starts) for side, of, o in zip(sides, cells.of, seen, strict=True)]
    both = curves[0], curves[1]
    across = _at_equal(_up_to_peak(both[0]), _up_to_peak(both[1]), swap=False)
    along = _at_equal(*both, swap=True)
    why = ""
    if any(c.x.shape[1] < 2 for c in both):
        why = "a curve needs two classes of load on each side"
    elif not across:
        why = "the curves have no throughput in common"
    bands = _band(both[0]), _band(both[1])
    return TradeOff(variable, unit, both[0].points, both[1].points, tuple(across), tuple(along), why, bands)


def _starts(cells: Cells, at_least: int) -> Integers:
    """First cell of each class: both sides together, neighbours merged until there are enough."""
    counts = sum(np.bincount(of[of >= 0], minlength=cells.count) for of in cells.of)
    if cells.steps:
        return np.arange(cells.count)
    target = max(float(at_least), float(np.sum(counts)) / MOST_CLASSES)
    starts, size = [0], 0.0
    for cell, count in enumerate(np.asarray(counts).tolist()):
        if size >= target:
            starts.append(cell)
            size = 0.0
        size += count
    if size < target / 2 and len(starts) > 1:
        starts.pop()
    return np.array(starts, dtype=np.int64)


def _curve(side: Side, of: Integers, o: Observed, cells: Cells, starts: Integers) -> _Curve:
    load = np.where(np.isfinite(o.load), o.load, 0.0) * o.seconds
    totals = side.totals(of, cells.count, o.values, o.weights, o.work, o.worked, load, o.seconds)
    totals = np.add.reduceat(totals, starts, axis=1)
    counts = np.add.reduceat(np.bincount(of[of >= 0], minlength=cells.count), starts)
    drawn = side.replicate(totals)
    good = (counts >= LEAST_IN_POINT) & (drawn[0, :, 1] > 0) & (drawn[0, :, 3] > 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        x, y = drawn[..., 2] / drawn[..., 3], drawn[..., 0] / drawn[..., 1]
    ends = [*(starts[1:] - 1).tolist(), cells.count - 1]
    points = []
    for k in np.flatnonzero(good):
        scatter = [side.scatter(totals[:, k, 1])]
        low, high = cells.low[starts[k]], cells.high[ends[k]]
        points.append(
            CurvePoint(
                label=span(float(low), float(high)),
                load=float(drawn[0, k, 4] / drawn[0, k, 5]),
                observations=int(counts[k]),
                throughput=estimate(float(x[0, k]), [x[1:, k]], scatter),
                measure=estimate(float(y[0, k]), [y[1:, k]], scatter),
            )
        )
    # A class that a replicate lacks is as it was seen.
    x, y = (np.where(np.isfinite(v), v, v[0]) for v in (x[:, good], y[:, good]))
    return _Curve(x, y, tuple(points), side.scatter(totals[:, good, 1]))


def _up_to_peak(curve: _Curve) -> _Curve:
    """Without what lies beyond the greatest throughput: there one throughput has two responses."""
    if not curve.x.shape[1]:
        return curve
    last = int(np.argmax(curve.x[0])) + 1
    return _Curve(curve.x[:, :last], curve.y[:, :last], curve.points[:last], curve.scatter)


def _band(curve: _Curve) -> tuple[BandPoint, ...]:
    """The interval of the measure at each throughput, up to the greatest."""
    part = _up_to_peak(curve)
    if part.x.shape[1] < 2:
        return ()
    # Not where a point has no interval.
    told = [k for k, p in enumerate(part.points) if p.measure.low is not None]
    if len(told) < 2:
        return ()
    x, y = _in_order(part.x, part.y)
    ends = float(part.x[0, told].min()), float(part.x[0, told].max())
    found = []
    for at in np.linspace(*ends, BAND_LEVELS).tolist():
        drawn = _between(x, y, at)
        if not drawn[0] > 0:
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            logs = np.log(np.where(drawn > 0, drawn, np.nan))
        one = in_parts(estimate(float(logs[0]), [logs[1:]], [part.scatter]), np.exp)
        if one.low is not None and one.high is not None:
            found.append(BandPoint(at, one.value, one.low, one.high))
    return tuple(found)


def _at_equal(a: _Curve, b: _Curve, *, swap: bool) -> list[AtEqual]:
    """Where both curves are at the same x; with `swap` at the same y."""
    pairs = [(c.y, c.x) if swap else (c.x, c.y) for c in (a, b)]
    if any(x.shape[1] < 2 for x, _ in pairs):
        return []
    low = max(float(x[0].min()) for x, _ in pairs)
    high = min(float(x[0].max()) for x, _ in pairs)
    if not high > low:
        return []
    # Not the very ends, where a replicate's curve may not reach.
    found = []
    pairs = [_in_order(x, y) for x, y in pairs]
    for at in np.linspace(low + 0.1 * (high - low), high - 0.1 * (high - low), LEVELS):
        before, after = (_between(x, y, float(at)) for x, y in pairs)
        if not (before[0] > 0 and after[0] > 0):
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            logs = [np.log(np.where(v[1:] > 0, v[1:], np.nan)) for v in (before, after)]
        size = math.log(after[0] / before[0])
        relative = in_parts(estimate(size, logs, [a.scatter, b.scatter]))
        found.append(AtEqual(float(at), float(before[0]), float(after[0]), relative))
    return found


def _in_order(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Each row's points in the order of x.

    Points that noise has put in the wrong order change places: it brings a curve that is known to rise nearer
    to the truth.
    """
    order = np.argsort(x, axis=1, kind="stable")
    return np.take_along_axis(x, order, axis=1), np.take_along_axis(y, order, axis=1)


def _between(x: Floats, y: Floats, at: float) -> Floats:
    """Each row's y at x = `at`, by straight lines between its points, which are in the order of x."""
    right = np.clip((x < at).sum(axis=1), 1, x.shape[1] - 1)
    rows = np.arange(len(x))
    x0, x1, y0, y1 = x[rows, right - 1], x[rows, right], y[rows, right - 1], y[rows, right]
    width = np.where(x1 > x0, x1 - x0, 1.0)
    return np.asarray(y0 + (y1 - y0) * np.clip(np.where(x1 > x0, (at - x0) / width, 0.5), 0.0, 1.0))
