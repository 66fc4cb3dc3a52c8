"""A comparison of two periods as a result: a row for each class of equal load."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from satline.api._charts import Dot, below_each_other, line_chart
from satline.api._columns import Column, Frame, finite, made_table
from satline.api._result import Result
from satline.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from satline.api._recording import OpenRecording
    from satline.comparison import Comparison, CurvePoint, Estimate
    from satline.recording import Recording
    from satline.reduction import Filters

    Side: TypeAlias = OpenRecording | str | Path


class Compared(Result["Comparison"]):
    """Two periods held against each other at equal load [TB84]; made by `compare`.

    Its table has a row for each class of load that both periods have: the means before and after at the same
    mixture of loads, and their difference with its 95 % interval.
    """

    result: Comparison

    @property
    def headline(self) -> str:
        """The answer in one sentence."""
        return self.result.headline

    @property
    def outcome(self) -> str:
        """``fell``, ``rose``, ``no-difference`` or ``cannot-tell``, of the measure at equal load."""
        return self.result.outcome

    def lines(self) -> list[str]:
        """The headline, what was compared, and what weakens the answer."""
        found = self.result
        counts = f"{found.before.observations} and {found.after.observations} observations"
        what = f"{found.measure_words}{f', {found.unit}' if found.unit else ''} against {found.load_words}"
        notes = [f"weakened by: {text}" for text in found.notes]
        confounded = [found.confounded] if found.confounded else []
        return [found.headline, f"{what}; {counts}", *confounded, *notes]

    def overall(self) -> Frame:
        """One row: the difference over all loads that both periods have, and the plain means without it."""
        found, matched, unit = self.result, self.result.matched, self.result.unit
        columns = [
            Column("measure", "text"),
            Column("load_low", unit=found.load_words),
            Column("load_high", unit=found.load_words),
            Column("before", unit=unit),
            Column("after", unit=unit),
            *_difference_columns(unit),
            Column("detectable", meaning="relative difference that would have been found 4 times in 5"),
            Column("raw_before", unit=unit, meaning="mean whatever the load"),
            Column("raw_after", unit=unit, meaning="mean whatever the load"),
        ]

        def make() -> pa.Table:
            rows = []
            if matched is not None:
                differences = _difference(matched.difference, matched.relative)
                ends = (matched.low, matched.high, matched.before, matched.after)
                raw = (found.before.raw, found.after.raw)
                rows.append((found.measure, *ends, *differences, matched.detectable, *raw))
            return made_table(columns, rows)

        return Frame("Difference at equal load", make)

    def trade_off(self) -> Frame:
        """The measure against throughput, both with 95 % intervals: a row for each period and class of load.

        Empty where no throughput is in all recordings.
        """
        curves, unit = self.result.trade_off, self.result.unit
        other = curves.unit if curves is not None else ""
        columns = [
            Column("period", "text"),
            Column("load", unit=self.result.load_words),
            Column("observations", "int"),
            *(Column(f"throughput{end}", unit=other) for end in ("", "_low", "_high")),
            *(Column(f"measure{end}", unit=unit) for end in ("", "_low", "_high")),
        ]

        def row(period: str, p: CurvePoint) -> tuple[object, ...]:
            x, y = p.throughput, p.measure
            return (period, p.load, p.observations, x.value, x.low, x.high, y.value, y.low, y.high)

        def make() -> pa.Table:
            sides = (("before", curves.before), ("after", curves.after)) if curves is not None else ()
            return made_table(columns, [row(period, p) for period, points in sides for p in points])

        return Frame("Trade-off", make)

    def plot(self) -> Any:
        """An `altair.Chart` of the measure against load, before and after, and of the difference below it.

        Bars at the difference are 95 % intervals.

        Raises
        ------
        InputError
            The two periods have no load in common.
        """
        found = self.result
        if found.matched is None:
            raise InputError(
                "nothing to draw: the periods have no load in common", hint=f"instead: {found.headline}"
            )
        unit = f", {found.unit}" if found.unit else ""
        classes = found.matched.classes
        means = [
            Dot(period, one.at, finite(value))
            for one in classes
            for period, value in (("before", one.before), ("after", one.after))
        ]
        differences = [
            Dot(
                "after − before",
                one.at,
                finite(one.difference.value),
                finite(one.difference.low),
                finite(one.difference.high),
            )
            for one in classes
        ]
        return below_each_other(
            [
                line_chart(means, found.load_words, f"{found.measure_words}{unit}"),
                line_chart(differences, found.load_words, f"after − before{unit}"),
            ]
        )

    def _table(self) -> pa.Table:
        found = self.result
        columns = [
            Column("load_low", unit=found.load_words),
            Column("load_high", unit=found.load_words),
            Column("load", unit=found.load_words, meaning="mean load of the class"),
            Column("observations_before", "int"),
            Column("observations_after", "int"),
            Column("before", unit=found.unit),
            Column("after", unit=found.unit),
            *_difference_columns(found.unit),
            Column("chance", meaning="of as large a difference where there is none, after Holm's correction"),
        ]
        classes = found.matched.classes if found.matched is not None else ()
        return made_table(
            columns,
            [
                (
                    *(c.low, c.high, c.at, *c.observations, c.before, c.after),
                    *(*_difference(c.difference, c.relative), c.chance),
                )
                for c in classes
            ],
        )


def compare(
    before: Side | Sequence[Side],
    after: Side | Sequence[Side] = (),
    *,
    at: datetime | float | None = None,
    annotation: str | None = None,
    measure: str | None = None,
    load_axis: str | None = None,
    throughput: str | None = None,
    filters: Filters | None = None,
    class_observations: int | None = None,
) -> Compared:
    """Hold two periods against each other at equal load: did a change help?

    Parameters
    ----------
    before, after
        A recording, a directory of recordings, a pattern such as ``week44-*.satline``, or several of them.
        With `at` or `annotation` there is no `after`: one recording is cut in two.
    at
        Moment of the cut: an aware datetime, or seconds since 1970 UTC.
    annotation
        Cut at the annotation that holds this text.
    measure
        What to compare: a variable, or ``VARIABLE@USER``, ``VARIABLE@DEVICE``; default: the best that all
        recordings have.
    load_axis, filters
        As for `OpenRecording.reduce`.
    throughput
        Of the trade-off curve; default: problem state.
    class_observations
        Observations that a class of load must have on each side; default 50.

    Raises
    ------
    InputError
        A recording stands on both sides, lacks what is asked for, or has no observation on its side.
    """
    from satline.comparison import Options
    from satline.comparison import compare as held

    first, second = _opened(before), _opened(after)
    cut_s = _moment(first, at, annotation)
    if cut_s is not None and (len(first) != 1 or second):
        raise InputError("at and annotation cut one recording", hint="leave `after` out, or the cut")
    if cut_s is None and not (first and second):
        raise InputError(
            "two periods are compared", hint="give `before` and `after`, or cut one recording with at="
        )
    least = {} if class_observations is None else {"at_least": class_observations}
    options = Options(load_axis, measure, throughput, filters, **least)
    return Compared(held(first, second, options, at_s=cut_s))


def _opened(side: Side | Sequence[Side]) -> list[Recording]:
    from satline.comparison import find_recordings
    from satline.recording import Recording

    found: list[Recording] = []
    several = isinstance(side, Sequence) and not isinstance(side, str)
    for one in cast("Sequence[Side]", side if several else [side]):
        if isinstance(one, str | Path):
            found += [Recording.open(path) for path in find_recordings([str(one)])]
        else:
            found.append(one.recording)
    return found


def _moment(first: Sequence[Recording], at: datetime | float | None, annotation: str | None) -> float | None:
    from satline.comparison import moment_of

    if at is not None and annotation is not None:
        raise InputError("at and annotation exclude each other", hint="give one of them")
    if annotation is not None and first:
        return moment_of(first[0], annotation)
    if isinstance(at, datetime):
        if at.tzinfo is None:
            raise InputError(
                f"at={at.isoformat()} has no time zone", hint="write datetime(2026, 11, 1, 12, tzinfo=UTC)"
            )
        return at.timestamp()
    return at


def _difference_columns(unit: str) -> list[Column]:
    ends = ("", "_low", "_high")
    return [
        *(Column(f"difference{end}", unit=unit) for end in ends),
        *(Column(f"relative{end}", unit="fraction", meaning="difference, of before") for end in ends),
    ]


def _difference(difference: Estimate, relative: Estimate | None) -> tuple[float | None, ...]:
    part = (None, None, None) if relative is None else (relative.value, relative.low, relative.high)
    return (difference.value, difference.low, difference.high, *part)
