"""A day against its history, and what a history holds, as text and as a page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from satline.history import TOGETHER, ChangedColumn, ChangedRow, HistoryComparison
from satline.present import _numbers
from satline.present._escape import visible
from satline.present.blocks import Block, Headline, Note, Table


def lead(found: HistoryComparison) -> str:
    """The answer in a sentence."""
    against = f"the good day {found.reference}" if found.reference else "the days before"
    if not found.past:
        return f"{found.day}: there are no days before it to compare with."
    if not found.alarms and not found.judged:
        return f"{found.day}: too few days before it to tell whether it is as usual; held against {against}."
    if not found.alarms:
        return f"{found.day} is as days here usually are; held against {against}."
    rows, columns = sum(r.alarm for r in found.rows), sum(c.alarm for c in found.columns)
    parts = [f"{rows} row{'s' * (rows != 1)} that came or went"] if rows else []
    parts += [f"{columns} change{'s' * (columns != 1)} beyond the usual"] if columns else []
    return f"{found.day}: {' and '.join(parts)}; held against {against}."


def notes(found: HistoryComparison) -> list[str]:
    """What the answer rests on."""
    load = f", at equal {found.load.replace('_', ' ')}" if found.load else ""
    days = f"{len(found.past)} past day{'s' * (len(found.past) != 1)}"
    lines = [
        f"{days}; {found.judged:,} columns judged by the same"
        f" hours and kind of day{load}; {found.unjudged:,} have too few days."
    ]
    lines.append("On a host that does not change an alarm comes less than once a week. Hours are UTC's.")
    return [*lines, *(f"Note: {n}." for n in found.notes)]


def row_words(row: ChangedRow) -> str:
    """One row that vanished or appeared."""
    what = "appeared" if row.appeared else "vanished"
    usual = f"{row.usual:.2g} such a day expected"
    return f"{row.row.scope} {visible(row.row.entity)} {what}: {row.variables} columns; {usual}"


def column_words(column: ChangedColumn) -> str:
    """One change of a column: value, forecast, the good day's."""
    if column.unit == TOGETHER:
        words = f"{column.value / max(column.expected, 1e-9):.1f} times as far from the forecast as usual"
    else:
        words = f"{_shown(column.value, column.unit)}; expected {_shown(column.expected, column.unit)}"
        if column.reference is not None:
            words += f", on the good day {_shown(column.reference, column.unit)}"
        size = "it never changed before" if column.never_changed else f"{column.deviate:+.1f} usual errors"
        words += f" ({size})"
    hours = "" if column.part == "0-24" else f" from {column.part.replace('-', ' to ')} h"
    return f"{visible(column.name)}{hours}: {words}"


def _shown(value: float, unit: str) -> str:
    return _numbers.quantity(value, unit)


def comparison_blocks(found: HistoryComparison, *, top: int = 10) -> Iterator[Block]:
    """A comparison: alarms, then what else changed most."""
    yield Headline(lead(found), 1)
    alarms = [row_words(r) for r in found.rows if r.alarm] + [
        column_words(c) for c in found.columns if c.alarm
    ]
    others = [row_words(r) for r in found.rows if not r.alarm]
    others += [column_words(c) for c in found.columns if not c.alarm]
    for heading, lines in (("Beyond what is usual", alarms), ("Within what is usual, most first", others)):
        if lines:
            yield Headline(heading)
        yield from (Note(line, item=True) for line in lines[:top])
        if len(lines) > top:
            yield Note(f"  {len(lines) - top:,} more: --top chooses how many, --json gives all")
    yield Headline("What it rests on")
    yield from (Note(line, "quiet") for line in notes(found))


def page(source: Path, found: HistoryComparison) -> str:
    """The page of a comparison."""
    from satline.present.html import blocks_page

    return blocks_page(source, _page(found))


def _page(found: HistoryComparison) -> Iterator[Block]:
    yield Headline(f"{found.day} against its history", 1)
    yield Note(lead(found), "strong")
    yield from (Note(line, "quiet") for line in notes(found))
    rows: list[tuple[str, ...]] = [("", "what", "hours", "that day", "expected", "good day", "usual errors")]
    for r in found.rows:
        what = f"{r.row.scope} {r.row.entity} {'appeared' if r.appeared else 'vanished'}"
        rows.append(("alarm" if r.alarm else "", what, "", "", "", "", ""))
    for c in found.columns:
        unit = "" if c.unit == TOGETHER else c.unit
        reference = "–" if c.reference is None else _shown(c.reference, unit)
        far = "∞" if c.never_changed else f"{c.deviate:+.1f}"
        values = (_shown(c.value, unit), _shown(c.expected, unit), reference, far)
        rows.append(("alarm" if c.alarm else "", c.name, c.part, *values))
    if len(rows) > 1:
        yield Headline("What changed")
        yield Table.of(rows, text=(1,))
