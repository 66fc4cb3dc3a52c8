"""A sheet as a table: text for the terminal and HTML, CSV, JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from io import StringIO
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from satline.report._escape import cell as shown_cell
from satline.report._escape import visible
from satline.report._plot import shown
from satline.report._sheet import Column, Sheet
from satline.spreadsheet import Writer

_NARROWEST = 12  # a column, so that its heading has not too many lines
_GAP = 2


def table_rows(sheet: Sheet) -> tuple[tuple[str, ...], ...]:
    """A heading row, then a row for each group, or for each variable where the definition says so."""
    scales = [_scale(sheet, column) for column in sheet.columns]
    heads = [_heading(column, scale.label) for column, scale in zip(sheet.columns, scales, strict=True)]
    cells = [
        [shown(one, scale) for one in column.cells]
        for column, scale in zip(sheet.columns, scales, strict=True)
    ]
    rows = [(sheet.axis, "observations", *heads)]
    rows += [
        (row.label, f"{row.observations:,}", *(column[index] for column in cells))
        for index, row in enumerate(sheet.rows)
    ]
    if sheet.definition.body.table.rows == "variables":
        return tuple(zip(*rows, strict=True))
    return tuple(rows)


def _scale(sheet: Sheet, column: Column) -> Any:
    """One scale for all that share a unit, so that columns compare at a glance."""
    same = [c for c in sheet.columns if c.unit == column.unit and c.fixed_unit == column.fixed_unit]
    return max(same, key=lambda c: c.largest).scale


def _heading(column: Column, unit: str) -> str:
    return f"{column.heading}, {visible(unit)}" if unit else column.heading


def print_sheet(sheet: Sheet, console: Console, *, heading: bool = True) -> None:
    """Prints `sheet` no wider than the console: columns that find no room make a further block below."""
    encoding = console.encoding

    def say(words: str, style: str = "") -> None:
        console.print(shown_cell(words, style, encoding=encoding))

    body = sheet.definition.body
    if heading:
        say(body.title, "bold")
        say(body.what, "dim")
        if sheet.selection:
            say(f"Only {sheet.selection}.")
    rows = table_rows(sheet)
    if sheet.columns and sheet.rows:
        for block in blocks(rows, console.width, encoding=encoding):
            console.print()
            console.print(block)
    elif sheet.columns or not sheet.missing:
        console.print()
        say("No observation belongs to any group.")
    notes = [*sheet.missing_notes, *sheet.notes, *([body.note] if body.note else [])]
    if notes:
        console.print()
    for note in notes:
        say(note)


def blocks(rows: Sequence[Sequence[str]], width: int, *, encoding: str = "utf-8") -> Iterator[Table]:
    """Tables no wider than `width`, which together have all columns of `rows`, the first column in each."""
    for columns in _blocks(rows, width):
        yield _block(rows, columns, encoding)


def _blocks(rows: Sequence[Sequence[str]], width: int) -> Iterator[list[int]]:
    """Numbers of the columns of each block; the groups' names begin every one."""
    widths = [_width(rows, number) for number in range(len(rows[0]))]
    block, room = [0], width - widths[0]
    for number in range(1, len(widths)):
        if widths[number] + _GAP > room and len(block) > 1:
            yield block
            block, room = [0], width - widths[0]
        block.append(number)
        room -= widths[number] + _GAP
    yield block


def _width(rows: Sequence[Sequence[str]], number: int) -> int:
    """Of a column: its widest number, or the longest word of its heading."""
    head = max((cell_len(word) for word in rows[0][number].split()), default=0)
    widest = max((cell_len(row[number]) for row in rows[1:]), default=0)
    least = min(cell_len(rows[0][0]), _NARROWEST) if number == 0 else _NARROWEST
    return max(min(head, 24), min(widest, 32), least)


def _block(rows: Sequence[Sequence[str]], columns: Sequence[int], encoding: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for number in columns:
        table.add_column(
            shown_cell(rows[0][number], encoding=encoding),
            justify="left" if number == 0 else "right",
            overflow="fold",
            width=_width(rows, number),
        )
    for row in rows[1:]:
        table.add_row(*(shown_cell(row[number], encoding=encoding) for number in columns))
    return table


def sheets_csv(sheets: Iterable[Sheet]) -> str:
    """One line for each group and variable; numbers in the recording's units, what is missing left empty.

    A variable that is not there at all has one line that says why.
    """
    text = StringIO()
    writer = Writer(text)
    numbers = ("value", "standard_error", "low", "high", "n")
    groups = ("group", "from", "to", "observations", "seconds")
    writer.writerow(["report", *groups, "variable", "label", "statistic", "unit", *numbers, "missing"])
    for sheet in sheets:
        name = sheet.definition.name
        for column in sheet.columns:
            for row, one in zip(sheet.rows, column.cells, strict=True):
                group = (row.label, row.low, row.high, row.observations, row.seconds)
                what = (visible(column.variable), column.label, column.statistic, column.unit)
                found = (one.value, one.error, one.low, one.high, one.n)
                writer.writerow([name, *group, *what, *found, ""])
        for label, reason in sheet.missing:
            writer.writerow([name, *[""] * 6, label, *[""] * 7, reason])
    return text.getvalue()


def sheet_content(sheet: Sheet) -> dict[str, Any]:
    """A sheet for JSON; numbers in the recording's units, what is missing null and told with its reason."""
    body = sheet.definition.body
    return {
        "report": sheet.definition.name,
        "title": body.title,
        "by": sheet.by,
        "axis": sheet.axis_name,
        "observation_s": sheet.observation_s,
        "selection": sheet.selection,
        "groups": [asdict(row) for row in sheet.rows],
        "columns": [
            {
                "variable": column.variable,
                "label": column.label,
                "statistic": column.statistic,
                "unit": column.unit,
                "values": [
                    {"value": c.value, "standard_error": c.error, "low": c.low, "high": c.high, "n": c.n}
                    for c in column.cells
                ],
            }
            for column in sheet.columns
        ],
        "missing": [{"label": label, "reason": reason} for label, reason in sheet.missing],
        "notes": [*sheet.notes, *([body.note] if body.note else [])],
    }
