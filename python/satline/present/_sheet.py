"""From results to a sheet, which every face of a report reads: rows of groups, columns of numbers.

Numbers keep the recording's own units; faces scale them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from satline.present import _numbers, _words
from satline.present._escape import visible
from satline.present.definition import MEASURES, THROUGHPUT, Definition, Statistic, Variable
from satline.reduction import Curve, Curves, Groups, Point

LONGEST_LABEL = 48
_ROUNDING = 1e-6  # a part this small is what is left of a difference
UNKNOWN = "this recording does not hold it"
_STATISTIC_WORDS: dict[Statistic, str] = {
    "mean": "",
    "p25": "25th percentile",
    "p50": "50th percentile",
    "p75": "75th percentile",
    "p90": "90th percentile",
    "sd": "standard deviation",
    "se": "standard error",
    "n": "count",
    "sum": "total",
    "max": "largest",
    "zero": "part at zero",
    "nonzero": "mean when not zero",
    "rate": "rate",
}


@dataclass(frozen=True)
class Row:
    """One group. `at` is its place: a load, seconds since 1970 by the clock, an hour; ``None``: a name."""

    label: str
    at: float | None
    low: float | None
    high: float | None
    observations: int
    seconds: float


@dataclass(frozen=True)
class Cell:
    """One number, in the column's unit; ``None`` is missing.

    standard_error
        Of a mean, the honest one where there is one.
    low, high
        95 % interval of a percentile.
    n
        How many observations it is from.
    """

    value: float | None
    standard_error: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0


@dataclass(frozen=True)
class Column:
    """One variable's numbers, a cell for each row.

    label
        What it is called, statistic left out; visible text.
    slot
        Which colour and shape it has in a plot, whatever else was recorded.
    fixed_unit
        The unit that the definition asks for, or empty.
    of_row
        It is a part of the sum of its row.
    """

    variable: str
    label: str
    statistic: Statistic
    unit: str
    cells: tuple[Cell, ...]
    slot: int
    draw: Literal["line", "limit", "none"]
    fixed_unit: str = ""
    meaning: str = ""
    of_row: bool = False

    @property
    def heading(self) -> str:
        """Label and statistic."""
        words = _STATISTIC_WORDS[self.statistic]
        return f"{self.label}, {words}" if words else self.label

    @property
    def statistic_words(self) -> str:
        """The statistic by itself; empty for the mean."""
        return _STATISTIC_WORDS[self.statistic]

    @property
    def scale(self) -> _numbers.Scale:
        """How its numbers are shown."""
        return _numbers.chosen_scale(self.unit, self.largest, self.fixed_unit)

    @property
    def largest(self) -> float:
        """The greatest size of its numbers; 0 without any."""
        return max((abs(c.value) for c in self.cells if c.value is not None), default=0.0)


@dataclass(frozen=True)
class Sheet:
    """A report's numbers.

    by
        What the rows are: load, time, hour, user, device.
    axis
        In plain words.
    missing
        Label of each variable that is not there, and why.
    selection
        Which observations and which work count, in words; empty: all.
    """

    definition: Definition
    by: Literal["load", "time", "hour", "user", "device", "lock"]
    axis_name: str
    axis: str
    observation_s: float
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    missing: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()
    selection: str = ""

    @property
    def missing_notes(self) -> list[str]:
        """A sentence for each reason why something is missing."""
        by_reason: dict[str, list[str]] = {}
        for label, reason in self.missing:
            by_reason.setdefault(reason, []).append(label)
        return [f"Missing: {'; '.join(labels)} ({reason})." for reason, labels in by_reason.items()]


def make_sheet(
    definition: Definition, results: Curves | Groups, *, throughput: str | None = None, selection: str = ""
) -> Sheet:
    """What `definition` shows of `results`.

    Parameters
    ----------
    throughput
        The variable by which the verdict judged; by default transactions where there are any, else problem
        state.
    """
    results = _within(results, definition.body.filters.load)
    missing: dict[str, str] = {}
    columns: list[Column] = []
    for slot, variable in enumerate(definition.body.variables):
        columns += _columns(variable, slot, results, throughput, missing)
    parts = [k for k, c in enumerate(columns) if c.of_row]
    for k, column in zip(parts, _parts([columns[k] for k in parts]), strict=True):
        columns[k] = column
    for one in definition.body.lacking:
        missing.setdefault(visible(one.label), visible(one.reason))
    by: Literal["load", "time", "hour", "user", "device", "lock"]
    if isinstance(results, Groups):
        by, name, axis = results.by, str(results.by), _words.GROUP_AXES[results.by]
        rows = tuple(
            Row(visible(g.label, longest=LONGEST_LABEL), g.at, g.low, g.high, g.observations, g.seconds)
            for g in results.classes
        )
    else:
        by, name, axis = "load", results.load_axis, _words.axis_words(results.load_axis)
        rows = tuple(
            Row(_words.load_words(c), c.midpoint, c.low, c.high, c.observations, c.seconds)
            for c in results.classes
        )
    return Sheet(
        definition=definition,
        by=by,
        axis_name=name,
        axis=axis,
        observation_s=results.observation_s,
        rows=rows,
        columns=tuple(columns),
        missing=tuple(missing.items()),
        selection=visible(selection),
        notes=results.notes if isinstance(results, Groups) else (),
    )


def _within(results: Curves | Groups, limits: list[float] | None) -> Curves | Groups:
    """The load classes that lie between the limits."""
    if limits is None or isinstance(results, Groups):
        return results
    kept = [k for k, c in enumerate(results.classes) if limits[0] <= c.midpoint <= limits[1]]
    return replace(
        results,
        classes=tuple(results.classes[k] for k in kept),
        curves={
            name: replace(curve, points=tuple(curve.points[k] for k in kept))
            for name, curve in results.curves.items()
        },
    )


def _columns(
    variable: Variable,
    slot: int,
    results: Curves | Groups,
    throughput: str | None,
    missing: dict[str, str],
) -> Iterator[Column]:
    """The columns of one variable, one for each member of a family; what is missing goes into `missing`."""
    name = variable.name
    label = visible(variable.label) or visible(_words.variable_words(name))
    if name == THROUGHPUT:
        name = throughput or next((m for m in MEASURES if m in results.curves), MEASURES[0])
        label = _words.variable_words(name)
    found = [(name, label, results.curves[name])] if name in results.curves and not variable.split else []
    if not found:
        found = [
            (one, visible(_words.split(one)[1], longest=LONGEST_LABEL), curve)
            for one, curve in results.curves.items()
            if _words.split(one)[0] == name and one != name
        ]
    divisor = None
    if variable.per:
        other = variable.per
        if other == THROUGHPUT:
            other = throughput or next((m for m in MEASURES if m in results.curves), MEASURES[0])
        divisor = results.curves.get(other)
        if divisor is None:
            found, name = [], other
        label = visible(variable.label) or f"{label} per {visible(_words.variable_words(other))}"
    seen = False
    for number, (one, words, curve) in enumerate(found):
        unit = _unit(variable, curve, divisor)
        seconds = [c.seconds for c in results.classes]
        cells = tuple(
            _cell(variable.statistic, point, second, None if divisor is None else divisor.points[index])
            for index, (point, second) in enumerate(zip(curve.points, seconds, strict=True))
        )
        if unit is None:
            missing[label] = f"a total of {curve.unit} has no meaning"
            return
        if all(cell.value is None for cell in cells):
            continue
        seen = True
        yield Column(
            variable=one,
            label=label if variable.per else words,
            statistic=variable.statistic,
            unit=unit,
            cells=cells,
            slot=slot if len(found) == 1 else number,
            draw=variable.draw,
            fixed_unit=variable.unit,
            meaning=curve.meaning,
            of_row=bool(variable.of),
        )
    if not seen:
        unknown = UNKNOWN
        if isinstance(results, Curves) and not results.classes:
            unknown = f"no observation has a load ({_words.axis_words(results.load_axis)})"
        if found and variable.statistic == "nonzero":
            unknown = "it was always 0"
        missing[label] = visible(results.missing.get(name, unknown))


def _unit(variable: Variable, curve: Curve, divisor: Curve | None) -> str | None:
    match variable.statistic:
        case "n":
            return ""
        case "zero":
            return "fraction"
        case "rate":
            return "per second"
    if variable.statistic == "sum":
        return _numbers.total_unit(curve.unit)
    return curve.unit if divisor is None else _numbers.ratio_unit(curve.unit, divisor.unit)


def _cell(statistic: Statistic, point: Point, seconds: float, divisor: Point | None) -> Cell:
    error = _finite(point.honest_error if point.honest_error is not None else point.standard_error)
    mean = _finite(point.mean)
    match statistic:
        case "mean":
            if divisor is None:
                return Cell(mean, error, n=point.n)
            return _ratio(point.n, mean, error, divisor)
        case "sum":
            times = None if error is None else error * seconds
            return Cell(None if mean is None else mean * seconds, times, n=point.n)
        case "sd":
            return Cell(_finite(point.sd), n=point.n)
        case "se":
            return Cell(error, n=point.n)
        case "n":
            return Cell(float(point.n) if point.n else None, n=point.n)
        case "max":
            return Cell(_finite(point.largest), n=point.n)
        case "zero":
            return Cell(None if point.zeros is None else point.zeros / point.n, n=point.n)
        case "nonzero":
            other = point.n - (point.zeros or 0)
            return Cell(None if mean is None or not other else mean * point.n / other, n=other)
        case "rate":
            # A class of work that is known has, where none of it ended, a rate of zero.
            return Cell(point.n / seconds if seconds else None, n=point.n)
    percentile = int(statistic[1:])
    low, high = getattr(point, "percentile_intervals", {}).get(percentile, (None, None))
    return Cell(_finite(point.percentiles.get(percentile)), low=_finite(low), high=_finite(high), n=point.n)


def _parts(columns: list[Column]) -> Iterator[Column]:
    """Each column as a part of the sum of all, row by row: p = x_i / S. Its error takes them as independent:
    var p = ((1 - p)² var x_i + p² Σ_{j≠i} var x_j) / S²."""
    rows = list(zip(*(column.cells for column in columns), strict=True))
    for k, column in enumerate(columns):
        cells = []
        for row in rows:
            total = sum(cell.value for cell in row if cell.value is not None)
            one = row[k]
            if one.value is None or total <= 0:
                cells.append(Cell(None, n=one.n))
                continue
            part = one.value / total
            if abs(part) < _ROUNDING:
                part = 0.0
            errors = [cell.standard_error for cell in row if cell.value is not None]
            if None in errors:
                cells.append(Cell(part, n=one.n))
                continue
            spread = sum((e or 0.0) ** 2 for e in errors) - (one.standard_error or 0.0) ** 2
            error = (
                math.hypot((1 - part) * (one.standard_error or 0.0), part * math.sqrt(max(spread, 0.0)))
                / total
            )
            cells.append(Cell(part, error, n=one.n))
        yield replace(column, cells=tuple(cells), unit="fraction", fixed_unit="%")


def _ratio(n: int, mean: float | None, error: float | None, divisor: Point) -> Cell:
    """Ratio of two means. Its error takes them as independent: too large where they move together."""
    below = _finite(divisor.mean)
    if mean is None or not below:
        return Cell(None)
    ratio = mean / below
    other = divisor.honest_error if divisor.honest_error is not None else divisor.standard_error
    if error is None or (other := _finite(other)) is None:
        return Cell(ratio, n=n)
    return Cell(ratio, math.hypot(error / below, ratio * other / below), n=n)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
