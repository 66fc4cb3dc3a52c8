"""Blocks in a terminal: nothing is wider than it, and no name in them is obeyed by it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Drawn
from rich.text import Text

from satline.present._escape import cell, visible
from satline.present.blocks import Block, Column, Curve, Headline, Note, Table, Tiles

_GAP = 2
_WIDEST = 100  # of a line of text
_UNBROKEN = "\ue000"
_LONGEST = 44  # of a column, where further ones stand beside it
_HEAD = 24  # of a heading in one line, where there is room
_LEAST = 16  # of names that are broken so that the numbers stay beside them
_STYLES = {"plain": "", "strong": "bold", "quiet": "dim", "warning": "yellow"}

Layout = list[tuple[int, int]]


def print_blocks(blocks: Iterable[Block], console: Console) -> None:
    """Prints blocks one below the other, an empty line before a heading and around a table."""
    apart = True  # nothing stands above, or an empty line
    for block in blocks:
        shown = block.table() if isinstance(block, Curve) else block
        if isinstance(shown, Note):
            say(shown.words, console, _STYLES[shown.tone], lead="– " if shown.item else "")
            apart = False
        elif shown is not None:
            if not apart:
                console.print()
            apart = True
            if isinstance(shown, Headline):
                say(shown.words, console, "bold" if shown.level == 1 else "bold cyan")
            else:
                print_table(shown, console)
                console.print()


def say(words: str, console: Console, style: str = "", *, lead: str = "", width: int | None = None) -> None:
    """Prints `words` after `lead`, further lines below the first; a number stays beside its sign."""
    lead = cell(lead, encoding=console.encoding).plain
    text = cell(words, style, encoding=console.encoding)
    # rich breaks lines at no-break spaces too: something else stands in for them meanwhile.
    for space in ("\N{NO-BREAK SPACE}%", " %", " ×", "\N{NO-BREAK SPACE}"):
        text.plain = text.plain.replace(space, _UNBROKEN + space[1:])
    room = max((width or min(console.width, _WIDEST)) - cell_len(lead), 20)
    for line in text.wrap(console, room, overflow="fold"):
        line.plain = line.plain.replace(_UNBROKEN, " ")
        line.rstrip()
        console.print(Text(lead) + line, soft_wrap=True)
        lead = " " * cell_len(lead)


def print_table(table: Table | Tiles, console: Console, *, width: int | None = None, indent: int = 0) -> None:
    """Prints a table as narrow as its cells.

    Where it is wider than `width` (the console's), names are broken; where that is not enough, further
    columns stand below, beside the first one again.
    """
    if isinstance(table, Tiles):
        table = Table((Column("", "", "text"), Column("", "", "text")), table.pairs)
    heads = [visible(head) for head in table.headings]
    rows = [[visible(one) for one in row] for row in table.cells()]  # as wide as they are shown
    room = (width or console.width) - indent
    for layout in _layouts(table, heads, rows, room):
        drawn = Drawn(
            box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold", show_header=any(heads)
        )
        for place, wide in layout:
            drawn.add_column(
                cell(heads[place], encoding=console.encoding),
                justify="left" if table.columns[place].kind == "text" else "right",
                overflow="fold",
                width=wide,
            )
        for row in rows:
            drawn.add_row(*(cell(row[place], encoding=console.encoding) for place, _ in layout))
        console.print(Padding(drawn, (0, 0, 0, indent), expand=False), width=room + indent)


def _layouts(
    table: Table, heads: Sequence[str], rows: Sequence[Sequence[str]], room: int
) -> Iterator[Layout]:
    """Columns and their widths, of one table or of several that together have all columns."""
    cells = [max((cell_len(row[k]) for row in rows), default=0) for k in range(len(heads))]
    words = [max((cell_len(word) for word in head.split()), default=0) for head in heads]
    last = len(heads) - 1
    # A heading may break between words, a name anywhere, a number nowhere.
    tight = [
        max(word, min(wide, _LONGEST if k < last or len(heads) > 2 else wide))
        for k, (word, wide) in enumerate(zip(words, cells, strict=True))
    ]
    loose = [max(min(cell_len(head), _HEAD), wide) for head, wide in zip(heads, tight, strict=True)]
    for widths in (loose, tight):
        if _whole(widths) <= room:
            yield list(enumerate(widths))
            return
    for place, column in reversed(list(enumerate(table.columns))):
        if column.kind == "text":
            least = max(words[place], _LEAST)
            tight[place] = max(min(tight[place], least), tight[place] - max(0, _whole(tight) - room))
    if _whole(tight) <= room:
        yield list(enumerate(tight))
        return
    yield from _below(tight, room)


def _whole(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _below(widths: Sequence[int], room: int) -> Iterator[Layout]:
    """As many columns as fit beside the first one, then the next ones."""
    first = (0, min(widths[0], room))
    layout, left = [first], room - widths[0]
    for place in range(1, len(widths)):
        if widths[place] + _GAP > left and len(layout) > 1:
            yield layout
            layout, left = [first], room - widths[0]
        layout.append((place, min(widths[place], max(1, left - _GAP))))
        left -= widths[place] + _GAP
    yield layout
