"""A sheet as a table: text for the terminal and HTML, CSV, JSON."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO
from typing import Any

from rich.console import Console

from satline.present._escape import cell as shown_cell
from satline.present._escape import visible
from satline.present._plot import shown
from satline.present._sheet import Column, Sheet
from satline.present._text import print_table
from satline.present.blocks import Table
from satline.spreadsheet import Writer


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
        console.print()
        print_table(Table.of(rows), console)
    elif sheet.columns or not sheet.missing:
        console.print()
        say("No observation belongs to any group.")
    notes = [*sheet.missing_notes, *sheet.notes, *([body.note] if body.note else [])]
    if notes:
        console.print()
    for note in notes:
        say(note)


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
                found = (one.value, one.standard_error, one.low, one.high, one.n)
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
        "groups": sheet.rows,
        "columns": [
            {
                "variable": column.variable,
                "label": column.label,
                "statistic": column.statistic,
                "unit": column.unit,
                "values": column.cells,
            }
            for column in sheet.columns
        ],
        "missing": [{"label": label, "reason": reason} for label, reason in sheet.missing],
        "notes": [*sheet.notes, *([body.note] if body.note else [])],
    }
