"""A line of a terminal as it stands after editing: what was typed, read off what the shell showed."""

from __future__ import annotations

import re

# Operating system commands and other strings; control sequences; other escapes.
ESCAPE = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b]*\x1b\\|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]"
)
_LONGEST = 20_000


def plain(text: str) -> str:
    """Text without escapes and control characters, line ends excepted."""
    return re.sub(r"[\x00-\x09\x0b-\x1f\x7f]", "", ESCAPE.sub("", text))


def typed_line(shown: str, columns: int, start: int = 0) -> str:
    """The line that stands after `shown` was written from column `start` on, without what stood before it.

    A shell shows the line as it is edited: with backspaces, erasures, insertions and redrawing, over several
    rows when it is long. A row's line end within is a line end typed.
    """
    cells: dict[int, str] = {}
    ended: set[int] = set()
    at = start
    position = 0
    shown = shown[:_LONGEST]
    while position < len(shown):
        escape = ESCAPE.match(shown, position)
        if escape:
            at = _move(cells, at, escape[0], columns)
            position = escape.end()
            continue
        sign = shown[position]
        position += 1
        if sign == "\r":
            at -= at % columns
        elif sign == "\n":
            ended.add(at // columns)
            at += columns
        elif sign == "\b":
            at = max(at - 1, 0)
        elif sign >= " " and sign != "\x7f":
            cells[at] = sign
            at += 1
    last = max(cells, default=-1)
    rows = []
    for row in range(start // columns, last // columns + 1):
        first = start if row == start // columns else row * columns
        text = "".join(cells.get(cell, " ") for cell in range(first, min((row + 1) * columns, last + 1)))
        # A row that no line end ended goes on in the next one.
        rows.append(text.rstrip() + "\n" if row in ended else text)
    return "".join(rows).strip()


def _move(cells: dict[int, str], at: int, escape: str, columns: int) -> int:
    found = re.fullmatch(r"\x1b\[(\d{0,4})(?:;\d*)*([A-Za-z@])", escape)
    if not found:
        return at
    count, kind = int(found[1] or 0), found[2]
    step = max(count, 1)
    end = at - at % columns + columns
    if kind == "A":
        return max(at - step * columns, 0)
    if kind == "B":
        return at + step * columns
    if kind == "C":
        return min(at + step, end - 1)
    if kind == "D":
        return max(at - step, at - at % columns)
    if kind == "G":
        return at - at % columns + min(step, columns) - 1
    if kind in "KJ" and count == 0:
        for cell in [cell for cell in cells if cell >= at and (kind == "J" or cell < end)]:
            del cells[cell]
    if kind == "P":
        row = [cells.pop(cell, " ") for cell in range(at, end)][step:]
        cells.update((at + index, sign) for index, sign in enumerate(row) if sign != " " or index == 0)
        _fill(cells, at, end)
    if kind == "@":
        row = [cells.pop(cell, "") for cell in range(at, end)]
        cells.update((at + step + i, sign) for i, sign in enumerate(row) if sign and at + step + i < end)
    return at


def _fill(cells: dict[int, str], at: int, end: int) -> None:
    last = max((cell for cell in cells if at <= cell < end), default=at - 1)
    for cell in range(at, last):
        cells.setdefault(cell, " ")
