"""From a sheet to what a plot draws: scaled numbers, labels, hover titles, and notes on what is missing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from satline.diagnosis import Saturation
from satline.present import _numbers, _words
from satline.present._escape import visible
from satline.present._sheet import Cell, Column, Row, Sheet
from satline.present.definition import BY_NAME, THROUGHPUT, PlotKind

MOST_LINES = 7
_HINGE = "The line is the fitted hinge; the shaded band is the 95 % interval of the saturation point."


@dataclass(frozen=True)
class Mark:
    """One point of a line. `y`, `low`, `high` are in the plot's scale; ``None``: nothing to draw.

    x
        A load, milliseconds since 1970, or the number of a name.
    shown
        The number for the table.
    title
        What it says when hovered over: label, group, number, unit, count.
    """

    x: float
    y: float | None
    low: float | None
    high: float | None
    shown: str
    title: str


@dataclass(frozen=True)
class Line:
    """One line, or one layer of a stack.

    slot
        Chooses its colour and shape, whatever else was recorded.
    band
        Its interval at each x, as (x, low, high) in the plot's scale, drawn as an area behind it.
    """

    label: str
    marks: tuple[Mark, ...]
    slot: int = 0
    band: tuple[tuple[float, float, float], ...] = ()


@dataclass(frozen=True)
class Plot:
    """A plot ready to be drawn; without `lines` there is nothing to draw and `notes` say why.

    x_type
        number; time: `Mark.x` is milliseconds since 1970; name: it is the place in `names`.
    limit
        The line that the others are held against, drawn dashed.
    hinge
        Corners (x, y) of the fitted hinge.
    band
        The saturation point, and the ends of its interval.
    rows
        The numbers behind the plot: a heading row, then one row for each group.
    """

    name: str
    title: str
    kind: PlotKind
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    x_type: Literal["number", "time", "name"] = "number"
    names: tuple[str, ...] = ()
    log: tuple[str, ...] = ()
    limit: Line | None = None
    hinge: tuple[tuple[float, float], ...] = ()
    band: tuple[float, float, float] | None = None
    notes: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    span: tuple[float, float] = field(default=(0.0, 1.0))


def make_plots(sheet: Sheet, saturation: Saturation | None = None) -> tuple[Plot, ...]:
    """The plots of `sheet`: one for each unit that it shows, at least one."""
    body = sheet.definition.body
    drawn = [c for c in sheet.columns if c.draw == "line" and not _across(sheet, c)]
    units = list(dict.fromkeys(c.unit for c in drawn))
    if not units:
        notes = tuple(sheet.missing_notes) + sheet.notes
        return (Plot(sheet.definition.name, body.title, body.plot.kind, sheet.axis, "", (), notes=notes),)
    plots = []
    for number, unit in enumerate(units):
        same = [c for c in drawn if c.unit == unit]
        limits = [c for c in sheet.columns if c.draw == "limit" and c.unit == unit]
        plot = _plot(sheet, same, limits[0] if limits else None, saturation)
        if len(units) > 1:
            words = same[0].label if len({c.label for c in same}) == 1 else plot.y_label
            words = f"times, {words}" if words in ("s", "ms", "µs") else words
            plot = replace(plot, title=f"{plot.title}: {words}")
        if number:
            # What holds for the whole report is said below the first.
            own = tuple(note for note in plot.notes if note != body.note)
            plot = replace(plot, name=f"{plot.name}-{number + 1}", notes=own)
        else:
            plot = replace(plot, notes=(*plot.notes, *sheet.missing_notes, *sheet.notes))
        plots.append(plot)
    return tuple(plots)


def _across(sheet: Sheet, column: Column) -> bool:
    plot = sheet.definition.body.plot
    return plot.kind == "scatter" and column.variable == plot.x


def _plot(sheet: Sheet, columns: list[Column], limit: Column | None, saturation: Saturation | None) -> Plot:
    body = sheet.definition.body
    hinged = (
        saturation is not None
        and sheet.by == "load"
        and any(v.name == THROUGHPUT for v in body.variables)
        and _same_axis(sheet, saturation)
    )
    across = next((c for c in sheet.columns if _across(sheet, c)), None)
    # The order of the definition gives the colours, so that what is missing changes none; but where its
    # variables lie in several plots, each begins anew.
    alone = across is not None or len({c.unit for c in sheet.columns}) > 1
    notes = [body.note] if body.note else []
    if hinged:
        notes.append(_HINGE)
    if len(columns) > MOST_LINES:
        columns = sorted(columns, key=lambda column: -column.largest)
        left_out = ", ".join(column.label for column in columns[MOST_LINES:])
        notes.append(f"The {MOST_LINES} with the largest values are drawn; left out: {left_out}.")
        columns = [replace(column, slot=slot) for slot, column in enumerate(columns[:MOST_LINES])]
    elif len({c.slot for c in columns}) < len(columns) or max(c.slot for c in columns) >= MOST_LINES or alone:
        columns = [replace(column, slot=slot) for slot, column in enumerate(columns)]
    scale = _numbers.chosen_scale(columns[0].unit, max(c.largest for c in columns), columns[0].fixed_unit)
    # What all lines have in common is said once, not in each line's label.
    one_label = len({c.label for c in columns}) == 1 and len(columns) > 1
    one_statistic = len({c.statistic for c in columns}) == 1
    relative = body.plot.relative
    lines = tuple(
        Line(
            _line_label(c, one_label, one_statistic),
            _marks(sheet, c, scale, across, relative),
            c.slot,
        )
        for c in columns
    )
    limit_line = None if limit is None else Line(limit.label, _marks(sheet, limit, scale, across))
    y_label = visible(scale.label) or "number"
    if len(columns) == 1 and (body.plot.kind == "scatter" or _words.split(columns[0].variable)[1]):
        y_label = f"{columns[0].heading}, {y_label}"
    elif one_statistic and columns[0].statistic_words:
        y_label = f"{columns[0].statistic_words}, {y_label}"
    span = _span(sheet, across)
    return Plot(
        name=sheet.definition.name,
        title=body.title,
        kind=body.plot.kind,
        x_label=sheet.axis if across is None else _heading(across),
        y_label="times that at the least load" if relative else y_label,
        lines=lines,
        x_type="number"
        if across
        else {"time": "time", "load": "number", "hour": "number"}.get(sheet.by, "name"),  # type: ignore[arg-type]
        names=tuple(row.label for row in sheet.rows) if sheet.by in BY_NAME else (),
        log=tuple(body.plot.log),
        limit=limit_line,
        hinge=_hinge(saturation, columns[0].unit, scale) if hinged and saturation else (),
        band=_band(sheet, saturation, span) if across is None else None,
        notes=tuple(notes),
        rows=_rows(sheet, lines, limit_line, scale),
        span=span,
    )


def _line_label(column: Column, one_label: bool, one_statistic: bool) -> str:
    if one_statistic:
        return column.label
    return column.statistic_words or "mean" if one_label else column.heading


def _heading(column: Column) -> str:
    unit = column.scale.label
    return f"{column.heading}, {visible(unit)}" if unit else column.heading


def _marks(
    sheet: Sheet, column: Column, scale: _numbers.Scale, across: Column | None, relative: bool = False
) -> tuple[Mark, ...]:
    """The points of a line; if `relative`, drawn as multiples of the first and shown in their own unit."""
    first = next((cell.value for cell in column.cells if cell.value), None) if relative else None
    factor = scale.factor if first is None else 1.0 / first
    marks = []
    for number, (row, cell) in enumerate(zip(sheet.rows, column.cells, strict=True)):
        quantity = _numbers.quantity(cell.value, column.unit, cell.standard_error)
        place = f"{row.label} {sheet.axis}" if sheet.by == "load" else row.label
        y = None if cell.value is None else cell.value * factor
        low, high = _spread(cell, factor)
        x = _place(sheet, row, number) if across is None else across.cells[number].value
        if x is None:
            y = low = high = None
        marks.append(
            Mark(
                x=0.0 if x is None else x * (1.0 if across is None else across.scale.factor),
                y=y,
                low=low,
                high=high,
                shown="–" if cell.value is None else quantity if relative else shown(cell, scale),
                title=visible(f"{column.heading}, {place}: {quantity}, n = {cell.n}"),
            )
        )
    return tuple(marks)


def shown(cell: Cell, scale: _numbers.Scale) -> str:
    """A cell's number in `scale` without the unit: with its error, or with its interval."""
    if cell.value is None:
        return "–"
    if cell.low is not None and cell.high is not None:
        return _numbers.interval(
            cell.value * scale.factor, cell.low * scale.factor, cell.high * scale.factor, ""
        )
    return _numbers.quantity(
        cell.value * scale.factor,
        "",
        None if cell.standard_error is None else cell.standard_error * scale.factor,
    )


def _spread(cell: Cell, factor: float) -> tuple[float | None, float | None]:
    """The ends of the bar: ±1 standard error of a mean. A percentile has none: two kinds would confuse."""
    if cell.value is None or cell.standard_error is None:
        return None, None
    return (cell.value - cell.standard_error) * factor, (cell.value + cell.standard_error) * factor


def _place(sheet: Sheet, row: Row, number: int) -> float:
    if row.at is None:
        return float(number)
    return row.at * 1000.0 if sheet.by == "time" else row.at


def _same_axis(sheet: Sheet, saturation: Saturation) -> bool:
    return saturation.at is not None and saturation.load_axis == sheet.axis_name


def _band(
    sheet: Sheet, saturation: Saturation | None, span: tuple[float, float]
) -> tuple[float, float, float] | None:
    if saturation is None or saturation.at is None or sheet.by != "load" or not _same_axis(sheet, saturation):
        return None
    # An interval may reach beyond the loads seen; the plot does not.
    first, last = span
    at, low, high = (
        min(max(x, first), last) for x in (saturation.at.value, saturation.at.low, saturation.at.high)
    )
    return at, low, high


def _span(sheet: Sheet, across: Column | None) -> tuple[float, float]:
    """What the x axis shows: loads from 0 to a little beyond the last class, times and hours as they are."""
    if across is not None:
        return 0.0, across.largest * across.scale.factor * 1.05 or 1.0
    if sheet.by == "load":
        last = max((max((r.at or 0.0) * 1.05, r.high or 0.0) for r in sheet.rows), default=1.0)
        least = min((r.low or 0.0 for r in sheet.rows), default=0.0)
        return min(0.0, least), last or 1.0
    if sheet.by == "hour":
        return 0.0, 24.0
    ends = [1000.0 * end for row in sheet.rows for end in (row.low, row.high) if end is not None]
    return min(ends, default=0.0), max(ends, default=1.0)


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
    sheet: Sheet, lines: tuple[Line, ...], limit: Line | None, scale: _numbers.Scale
) -> tuple[tuple[str, ...], ...]:
    every = lines if limit is None else (*lines, limit)
    relative = sheet.definition.body.plot.relative
    unit = f", {visible(scale.label)}" if scale.label and not relative else ""
    rows = [(sheet.axis, "observations", *(line.label + unit for line in every))]
    for index, row in enumerate(sheet.rows):
        cells = (line.marks[index].shown for line in every)
        rows.append((row.label, f"{row.observations:,}", *cells))
    return tuple(rows)
