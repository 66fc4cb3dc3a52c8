"""From curves to what a plot draws: scaled numbers, labels, hover titles, and notes on what is missing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from satline.diagnosis._results import Saturation
from satline.reduction._results import Curve, Curves, Point
from satline.report import _numbers, _words
from satline.report._chart_table import THROUGHPUT, Chart
from satline.report._escape import visible

MOST_LINES = 6
PERCENTILES = (90, 75, 50, 25)
_LONGEST_LABEL = 48
_UNKNOWN = "this recording does not hold it"


@dataclass(frozen=True)
class Mark:
    """One point of a line. `y`, `low`, `high` are in the plot's scale; ``None``: nothing to draw.

    shown
        The number for the table.
    title
        What it says when hovered over: label, load, number, unit, observations.
    """

    x: float
    y: float | None
    low: float | None
    high: float | None
    shown: str
    title: str


@dataclass(frozen=True)
class Line:
    """One line, or one layer of a stack; `slot` chooses its colour and shape, whatever else was recorded."""

    label: str
    marks: tuple[Mark, ...]
    slot: int = 0


@dataclass(frozen=True)
class Plot:
    """A plot ready to be drawn; without `lines` there is nothing to draw and `notes` say why.

    limit
        The line that the others are held against, drawn dashed.
    hinge
        Corners (x, y) of the fitted hinge.
    band
        The saturation point, and the ends of its interval.
    rows
        The numbers behind the plot: a heading row, then one row for each load class.
    """

    chart: Chart
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    limit: Line | None = None
    hinge: tuple[tuple[float, float], ...] = ()
    band: tuple[float, float, float] | None = None
    notes: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    span: tuple[float, float] = field(default=(0.0, 1.0))


def prepare(chart: Chart, curves: Curves, saturation: Saturation) -> Plot:
    """What `chart` shows of `curves`. What was not recorded becomes a note, never a line at zero."""
    if chart.series[0][0] == THROUGHPUT:
        throughput = saturation.throughput_variable or "transaction_rate"
        note = chart.note if saturation.at is not None else ""  # without saturation no hinge is drawn
        chart = replace(chart, series=((throughput, _words.variable_words(throughput)),), note=note)
        hinged = True
    else:
        hinged = False
    x_label = _words.axis_words(curves.load_axis)
    notes = [chart.note] if chart.note else []
    missing: dict[str, list[str]] = {}
    found = list(_found(chart, curves, missing))
    notes += [f"Missing: {'; '.join(labels)} ({reason})." for reason, labels in missing.items()]
    unit = found[0][2].unit if found else ""
    for _, label, curve in found:
        if curve.unit != unit:
            notes.append(f"Not drawn, because its unit is another ({visible(curve.unit)}): {label}.")
    found = [series for series in found if series[2].unit == unit]
    if len(found) > MOST_LINES:
        found.sort(key=lambda series: -_largest(chart, series[2]))
        left_out = ", ".join(label for _, label, _ in found[MOST_LINES:])
        notes.append(f"The {MOST_LINES} with the largest values are drawn; left out: {left_out}.")
        found = [(slot, label, curve) for slot, (_, label, curve) in enumerate(found[:MOST_LINES])]
    if not found:
        return Plot(chart, x_label, "", (), notes=tuple(n for n in notes if n != chart.note))

    limit_curve = curves.curves.get(chart.limit[0]) if chart.limit else None
    if limit_curve is not None and limit_curve.unit != unit:
        limit_curve = None
    largest = max(_largest(chart, curve) for _, _, curve in found)
    scale = _numbers.scale(unit, largest)
    lines = tuple(
        line for slot, label, curve in found for line in _lines(chart, slot, label, curve, curves, scale)
    )
    limit = None
    if chart.limit and limit_curve is not None:
        limit = Line(chart.limit[1], _marks(chart.limit[1], limit_curve, curves, scale, None))
    return Plot(
        chart=chart,
        x_label=x_label,
        y_label="times that at the least load" if chart.relative else visible(scale.label) or "number",
        lines=lines,
        limit=limit,
        hinge=_hinge(saturation, unit, scale) if hinged and _same_axis(curves, saturation) else (),
        band=_band(curves, saturation),
        notes=tuple(notes),
        rows=_rows(chart, lines, limit, curves, scale),
        span=_span(curves),
    )


def _found(chart: Chart, curves: Curves, missing: dict[str, list[str]]) -> Iterator[tuple[int, str, Curve]]:
    """Slot, label and curve of each series recorded; labels of the others go into `missing`, by reason."""
    for slot, (variable, label) in enumerate(chart.series):
        if chart.kind == "family":
            members = [
                (visible(_words.split(name)[1] or label, longest=_LONGEST_LABEL), curve)
                for name, curve in curves.curves.items()
                if _words.split(name)[0] == variable and _recorded(curve)
            ]
            yield from ((number, *member) for number, member in enumerate(members))
            if members:
                continue
        elif (curve := curves.curves.get(variable)) is not None and _recorded(curve):
            yield slot, label, curve
            continue
        missing.setdefault(visible(curves.missing.get(variable, _UNKNOWN)), []).append(label)


def _recorded(curve: Curve) -> bool:
    return any(_value(point, None) is not None for point in curve.points)


def _largest(chart: Chart, curve: Curve) -> float:
    values = [abs(y) for p in curve.points if (y := _value(p, _statistic(chart))) is not None]
    return max(values, default=0.0)


def _statistic(chart: Chart) -> int | None:
    """The percentile that sets a plot's scale; ``None`` for the mean."""
    return PERCENTILES[0] if chart.kind == "percentiles" else chart.percentile


def _value(point: Point, percentile: int | None) -> float | None:
    value = point.mean if percentile is None else point.percentiles.get(percentile)
    return value if value is not None and math.isfinite(value) else None


def _lines(
    chart: Chart, slot: int, label: str, curve: Curve, curves: Curves, scale: _numbers.Scale
) -> Iterator[Line]:
    if chart.kind != "percentiles":
        marks = _marks(label, curve, curves, scale, chart.percentile, relative=chart.relative)
        yield Line(label, marks, slot)
        return
    for slot, percentile in enumerate(PERCENTILES):
        name = f"{percentile}th percentile"
        yield Line(name, _marks(f"{label}, {name}", curve, curves, scale, percentile), slot)


def _marks(
    label: str,
    curve: Curve,
    curves: Curves,
    scale: _numbers.Scale,
    percentile: int | None,
    *,
    relative: bool = False,
) -> tuple[Mark, ...]:
    """The points of a line; if `relative`, drawn as multiples of the first and shown in their own unit."""
    values = [_value(point, percentile) for point in curve.points]
    first = next((v for v in values if v), None) if relative else None
    factor = scale.factor if first is None else 1.0 / first
    marks = []
    for load_class, point, value in zip(curves.classes, curve.points, values, strict=True):
        error = _error(point) if percentile is None else None
        load = f"{_words.load_words(load_class)} {_words.axis_words(curves.load_axis)}"
        quantity = _numbers.quantity(value, curve.unit, error)
        y = None if value is None else value * factor
        spread = None if error is None else error * factor
        marks.append(
            Mark(
                x=load_class.midpoint,
                y=y,
                low=None if y is None or spread is None else y - spread,
                high=None if y is None or spread is None else y + spread,
                shown="–" if y is None else quantity if relative else _numbers.quantity(y, "", spread),
                title=visible(f"{label}, {load}: {quantity}, n = {point.n}"),
            )
        )
    return tuple(marks)


def _error(point: Point) -> float | None:
    error = point.honest_error if point.honest_error is not None else point.standard_error
    return error if error is not None and math.isfinite(error) else None


def _same_axis(curves: Curves, saturation: Saturation) -> bool:
    return saturation.at is not None and saturation.load_axis == curves.load_axis


def _band(curves: Curves, saturation: Saturation) -> tuple[float, float, float] | None:
    if saturation.at is None or not _same_axis(curves, saturation):
        return None
    # An interval may reach beyond the loads seen; the plot does not.
    first, last = _span(curves)
    at, low, high = (
        min(max(x, first), last) for x in (saturation.at.value, saturation.at.low, saturation.at.high)
    )
    return at, low, high


def _span(curves: Curves) -> tuple[float, float]:
    """The loads that the plots show: from 0 to a little beyond the last class."""
    last = max((max(c.midpoint * 1.05, c.high) for c in curves.classes), default=1.0)
    return 0.0, last or 1.0


def _hinge(saturation: Saturation, unit: str, scale: _numbers.Scale) -> tuple[tuple[float, float], ...]:
    """The two straight lines of the fit: throughput = level + slope x (load - saturation load)."""
    at, level = saturation.at, saturation.throughput_at
    before, after = saturation.slope_before, saturation.slope_after
    low, high = saturation.range_low, saturation.range_high
    if at is None or level is None or before is None or after is None or low is None or high is None:
        return ()
    if level.unit not in ("", unit):
        return ()
    corners = [
        (low, level.value + before.value * (low - at.value)),
        (at.value, level.value),
        (high, level.value + after.value * (high - at.value)),
    ]
    return tuple((x, max(y, 0.0) * scale.factor) for x, y in corners)


def _rows(
    chart: Chart, lines: tuple[Line, ...], limit: Line | None, curves: Curves, scale: _numbers.Scale
) -> tuple[tuple[str, ...], ...]:
    every = lines if limit is None else (*lines, limit)
    unit = f", {visible(scale.label)}" if scale.label and not chart.relative else ""
    rows = [(_words.axis_words(curves.load_axis), "observations", *(line.label + unit for line in every))]
    for index, load_class in enumerate(curves.classes):
        cells = (line.marks[index].shown for line in every)
        rows.append((_words.load_words(load_class), f"{load_class.observations:,}", *cells))
    return tuple(rows)
