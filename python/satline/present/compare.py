"""A comparison as blocks: the answer, trade-off curves, equal loads and hours, the numbers behind them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from satline.comparison import BandPoint, Comparison, CurvePoint, Estimate
from satline.comparison.expansion import Expansion
from satline.present import _compare_words as words
from satline.present import _numbers
from satline.present._escape import visible
from satline.present._plot import Line, Mark, Plot
from satline.present._words import sentence
from satline.present.blocks import Block, Curve, Headline, Note, Table
from satline.present.html import blocks_page, write_page

LONGEST_LABEL = 32
_BARS = "Bars are 95 % intervals."


def write_comparison(path: Path, found: Comparison, *, now: datetime | None = None) -> None:
    """Writes the page to `path`, replacing what is there in one step.

    Raises
    ------
    InputError
        `path` cannot be written.
    """
    write_page(path, render_comparison(found, now=now))


def render_comparison(found: Comparison, *, now: datetime | None = None) -> str:
    """The page as text; it opens without a network and without scripts."""
    every = dict.fromkeys((*found.before.recordings, *found.after.recordings))
    return blocks_page(Path(", ".join(every)), _page(found), now=now)


def _page(found: Comparison) -> Iterator[Block]:
    yield Headline(sentence(found.headline), 1)
    yield Note("Before and after, held against each other at equal load." + _only(found), "strong")
    before, after = ", ".join(found.before.recordings), ", ".join(found.after.recordings)
    yield Note(f"Before: {before}. After: {after}.", "quiet")
    if found.notes:
        yield Headline("What weakens the answer")
        yield from (Note(f"{sentence(note)}.", item=True) for note in found.notes)
    drawn = plots(found)
    if drawn:
        yield Headline("Curves")
        yield from map(Curve, drawn)
    yield from _tables(found, full=True)
    yield Headline("How to read it")
    yield Note(
        f"Independent pieces of time: {found.blocks}. Intervals come from drawing these anew; what happens"
        " within one may resemble itself as it likes. At equal load means: cells of nearly one load are held"
        " against each other, and weighed alike on both sides. What was not measured is missing, never zero.",
        "quiet",
    )


def comparison_blocks(found: Comparison, *, full: bool = False) -> Iterator[Block]:
    """The answer first, then what it rests on; with `full` also the points of the curves."""
    yield Headline(f"{sentence(found.headline)}.", 1)
    if only := _only(found):
        yield Note(only.strip())
    yield from (Note(f"{sentence(note)}.", "warning", item=True) for note in found.notes)
    yield from _tables(found, full)


def expansion_blocks(found: Expansion) -> Iterator[Block]:
    """Expansion factors, and what they are held against."""
    if found.filters:
        yield Note(f"Only {found.filters}.")
    yield Table.of(words.expansion_rows(found))
    if "service" in found.methods.values():
        yield Note("Alone: processor time, and service of the I/Os without queueing.")
    light = [kind or "all" for kind, method in found.methods.items() if method == "lightest"]
    if light:
        yield Note(
            f"Alone, of {', '.join(light)}: the response at the lightest load seen, as what transactions need"
            " was not recorded; at that load they were hardly alone."
        )


def _only(found: Comparison) -> str:
    return f" Only {found.filters}." if found.filters else ""


def _tables(found: Comparison, full: bool) -> Iterator[Block]:
    across, along = words.equal_rows(found)
    intervals = "Intervals are 95 %; p is after Holm's correction for all classes, that of all by itself."
    tables = [
        ("The two periods", words.period_rows(found), ()),
        (f"At equal load: {found.measure_words}", words.matched_rows(found), (intervals + _outside(found),)),
        ("At equal throughput (trade-off curve)", across, ()),
        (f"At equal {found.measure_words}", along, ()),
        ("Points of the trade-off curves", words.curve_rows(found) if full else [], ()),
        ("Hour by hour", words.hour_rows(found), tuple(words.hour_words(found))),
        ("Processor time for the work", [row if full else row[:-1] for row in words.work_rows(found)], ()),
        ("What changed", words.change_rows(found), (found.confounded,) if found.confounded else ()),
    ]
    for title, rows, notes in tables:
        if rows:
            yield Headline(sentence(title))
            last = len(rows[0]) - 1
            yield Table.of(rows, text=(0, last) if rows[0][last] == "what" else (0,))
            yield from (Note(sentence(note)) for note in notes)
        if title.endswith("(trade-off curve)") and found.trade_off is not None and found.trade_off.why_not:
            yield Headline("Trade-off curve")
            yield Note(f"Nothing at equal throughput: {found.trade_off.why_not}.")
    if found.lacking:
        yield Headline("Not compared")
        yield from (Note(f"{sentence(one)}.", item=True) for one in found.lacking)


def _outside(found: Comparison) -> str:
    if found.matched is None or max(found.matched.outside) < 0.005:
        return ""
    before, after = found.matched.outside
    parts = f"{before * 100:.0f} % of before, {after * 100:.0f} % of after"
    return f" Not compared, as the other side lacks the load: {parts}."


def plots(found: Comparison) -> tuple[Plot, ...]:
    """The plots that there is something for."""
    made = (_trade_off(found), _equal(found), _differences(found), _hours(found))
    return tuple(plot for plot in made if plot is not None)


def _trade_off(found: Comparison) -> Plot | None:
    curves = found.trade_off
    if curves is None or not (curves.before or curves.after):
        return None
    factor = words.throughput_factor(curves)
    every = [p.measure for p in (*curves.before, *curves.after)]
    scale = _numbers.scale(found.unit, max(_top(e) for e in every))

    def marks(side: str, points: tuple[CurvePoint, ...]) -> tuple[Mark, ...]:
        return tuple(
            _mark(p.throughput.value * factor, p.measure, scale, f"{side}, {p.label} {found.load_words}")
            for p in points
        )

    def band(points: tuple[BandPoint, ...]) -> tuple[tuple[float, float, float], ...]:
        return tuple((p.throughput * factor, p.low * scale.factor, p.high * scale.factor) for p in points)

    lines = (
        Line("before", marks("before", curves.before), 0, band(curves.bands[0])),
        Line("after", marks("after", curves.after), 1, band(curves.bands[1])),
    )
    top = max(m.x for line in lines for m in line.marks)
    return _plot(
        found,
        "trade-off",
        "Trade-off curve",
        "scatter",
        words.throughput_words(curves),
        scale,
        lines,
        (0.0, top * 1.05 or 1.0),
        (
            "Bands are 95 % intervals at each throughput, up to the greatest; bars those of the points.",
            "A point for each class of load. A change that helps moves the curve down and right [TB84].",
        ),
        words.curve_rows(found),
    )


def _equal(found: Comparison) -> Plot | None:
    """Class means of the trade-off's classes against load."""
    curves = found.trade_off
    if curves is None or not (curves.before or curves.after):
        return None
    every = [p.measure for p in (*curves.before, *curves.after)]
    scale = _numbers.scale(found.unit, max(_top(e) for e in every))
    lines = tuple(
        _banded(
            side,
            tuple(_mark(p.load, p.measure, scale, f"{side}, {p.label} {found.load_words}") for p in points),
            slot,
        )
        for slot, (side, points) in enumerate((("before", curves.before), ("after", curves.after)))
    )
    top = max(m.x for line in lines for m in line.marks)
    return _plot(
        found,
        "load",
        "Against load",
        "lines",
        found.load_words,
        scale,
        lines,
        (0.0, top * 1.05 or 1.0),
        ("Bands are 95 % intervals at each load.",),
        words.curve_rows(found),
    )


def _banded(label: str, marks: tuple[Mark, ...], slot: int) -> Line:
    """A line in the order of x with its interval as a band."""
    band = [
        (m.x, m.low, m.high)
        for m in sorted(marks, key=lambda m: m.x)
        if m.low is not None and m.high is not None
    ]
    return Line(label, marks, slot, tuple(band) if len(band) > 1 else ())


def _differences(found: Comparison) -> Plot | None:
    """The difference in each class of equal load, in percent where there is one."""
    if found.matched is None or not found.matched.classes:
        return None
    relative = all(c.relative is not None for c in found.matched.classes)
    estimates = [(c.relative if relative else c.difference) or c.difference for c in found.matched.classes]
    top = max(_top(e) for e in estimates)
    scale = _numbers.Scale(100.0, "%") if relative else _numbers.scale(found.unit, top)
    marks = tuple(
        _mark(c.at, e, scale, f"{c.label} {found.load_words}")
        for c, e in zip(found.matched.classes, estimates, strict=True)
    )
    last = max(m.x for m in marks) * 1.05 or 1.0
    zero = tuple(Mark(x, 0.0, None, None, "0", "no difference") for x in (0.0, last))
    made = _plot(
        found,
        "difference",
        "Difference at equal load",
        "lines",
        found.load_words,
        scale,
        (Line("after − before", marks, 2),),
        (0.0, last),
        (f"{_BARS} The dashed line is no difference.",),
        words.matched_rows(found),
    )
    label = f"difference, {scale.label}" if scale.label else "difference"
    from dataclasses import replace

    return replace(made, y_label=label, limit=Line("no difference", zero))


def _hours(found: Comparison) -> Plot | None:
    if found.hours is None:
        return None
    hours = found.hours.hours
    scale = _numbers.scale(found.unit, max(abs(v) for h in hours for v in (h.before, h.after)))
    lines = tuple(
        Line(
            side,
            tuple(
                _mark(h.hour + 0.5, Estimate(value), scale, f"{side}, hour {h.hour:02d}")
                for h in hours
                for value in ((h.before, h.after)[slot],)
            ),
            slot,
        )
        for slot, side in enumerate(("before", "after"))
    )
    return _plot(
        found,
        "hours",
        "Hour by hour",
        "lines",
        f"hour of the day ({found.hours.timezone})",
        scale,
        lines,
        (0.0, 24.0),
        ("At whatever load there was in each hour.",),
        words.hour_rows(found),
    )


def _plot(
    found: Comparison,
    name: str,
    title: str,
    kind: str,
    x_label: str,
    scale: _numbers.Scale,
    lines: tuple[Line, ...],
    span: tuple[float, float],
    notes: tuple[str, ...],
    rows: words.Rows,
) -> Plot:
    what = visible(found.measure_words, longest=LONGEST_LABEL)
    y_label = f"{what}, {scale.label}" if scale.label else what
    return Plot(
        name=name,
        title=title,
        kind=kind,  # type: ignore[arg-type]
        x_label=visible(x_label),
        y_label=visible(y_label),
        lines=lines,
        notes=notes,
        rows=tuple(rows),
        span=span,
    )


def _mark(x: float, found: Estimate, scale: _numbers.Scale, label: str) -> Mark:
    low, high = (None if end is None else end * scale.factor for end in (found.low, found.high))
    shown = _numbers.number(found.value * scale.factor)
    return Mark(
        x=x,
        y=found.value * scale.factor,
        low=low,
        high=high,
        shown=shown,
        title=visible(f"{label}: {_numbers.joined(shown, scale.label)}"),
    )


def _top(found: Estimate) -> float:
    return max(abs(v) for v in (found.value, found.low or 0.0, found.high or 0.0))
