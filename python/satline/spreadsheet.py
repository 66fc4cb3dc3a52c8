"""CSV that a spreadsheet reads as text and numbers, and never as a formula.

A cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return is a formula to a
spreadsheet, and a user, a device or a command may be called so. Such a text gets an apostrophe in front, as
spreadsheets themselves write it; numbers stay numbers.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from typing import Any, TextIO

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")


def harmless(cell: Any) -> Any:
    """The cell, or its text with an apostrophe in front if a spreadsheet would take it for a formula.

    Examples
    --------
    >>> harmless("=cmd|'/C calc'!A1"), harmless("-1.5"), harmless(-1.5)
    ("'=cmd|'/C calc'!A1", '-1.5', -1.5)
    """
    if isinstance(cell, str) and cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


class Writer:
    """Writes rows as `csv.writer` does, with harmless cells."""

    def __init__(self, stream: TextIO) -> None:
        self._writer = csv.writer(stream, lineterminator="\n")

    def writerow(self, row: Iterable[Any]) -> None:
        """One line."""
        self._writer.writerow([harmless(cell) for cell in row])

    def writerows(self, rows: Iterable[Iterable[Any]]) -> None:
        """A line for each."""
        for row in rows:
            self.writerow(row)
