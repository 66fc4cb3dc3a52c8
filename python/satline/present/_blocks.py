"""Rows of texts as tables of a terminal, each no wider than it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.table import Table

from satline.present._escape import cell as shown_cell

_NARROWEST = 12  # a column, so that its heading has not too many lines
_GAP = 2


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
