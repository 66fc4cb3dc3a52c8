"""Blocks as Markdown, tables as CSV and as HTML: in each, no text of a table is more than text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO

from markupsafe import Markup, escape

from satline.present._escape import visible
from satline.present.blocks import Block, Curve, Headline, Note, Table, Tiles
from satline.spreadsheet import Writer

_MARK = re.compile(r"[\\|*`<>\[\]#]|(?<!\w)_|_(?!\w)")
_CODE = re.compile(r"(`[^`|]+`)")


def markdown(blocks: Iterable[Block]) -> str:
    """A page of these blocks."""
    parts: list[list[str]] = []
    listed = False
    for block in blocks:
        lines = list(_lines(block))
        item = isinstance(block, Note) and block.item
        if item and listed:
            parts[-1] += lines
        elif lines:
            parts.append(lines)
        listed = item
    return "\n\n".join("\n".join(lines) for lines in parts) + "\n"


def _lines(block: Block) -> Iterator[str]:
    if isinstance(block, Headline):
        yield f"{'#' * block.level} {plain(block.words)}"
    elif isinstance(block, Note):
        yield ("- " if block.item else "") + plain(block.words)
    elif isinstance(block, Tiles):
        yield from (f"- {plain(name)}: {plain(value)}" for name, value in block.pairs)
    elif isinstance(block, Curve) and block.file:
        yield f"![{plain(block.plot.title)}]({block.file})"
    else:
        table = block.table() if isinstance(block, Curve) else block
        if table is not None:
            yield _row(table.headings)
            yield "|" + "|".join(" --- " if c.kind == "text" else " ---: " for c in table.columns) + "|"
            yield from map(_row, table.cells())


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(plain, cells)) + " |"


def plain(words: str) -> str:
    """Text that Markdown takes as no markup, in one line; what stands between backticks is code."""
    parts = _CODE.split(visible(" ".join(words.split())))
    return "".join(part if k % 2 else _MARK.sub(r"\\\g<0>", part) for k, part in enumerate(parts))


def csv_text(table: Table) -> str:
    """The table as CSV without formulas; numbers stay whole, what is missing is empty."""
    text = StringIO()
    writer = Writer(text)
    writer.writerow(map(visible, table.headings))
    for row in table.rows:
        writer.writerow(visible(one) if isinstance(one, str) else one for one in row)
    return text.getvalue()


def html_table(table: Table, *, title: str = "", style: str = "", scope: bool = True) -> Markup:
    """The table as HTML; `style`: its class in the style sheet; `scope`: that of head cells is told."""
    kind = Markup(' class="{}"').format(style) if style else ""
    caption = Markup("<caption>{}</caption>").format(visible(title)) if title else ""
    th = Markup('<th scope="col">{}</th>' if scope else "<th>{}</th>")
    head = Markup("").join(th.format(visible(one)) for one in table.headings)
    body = Markup("\n").join(
        Markup("<tr>{}</tr>").format(Markup("").join(_td(one) for one in row)) for row in table.cells()
    )
    return Markup("<table{}>{}\n<thead><tr>{}</tr></thead>\n<tbody>{}</tbody>\n</table>").format(
        kind, caption, head, body
    )


def _td(text: str) -> Markup:
    return Markup("<td>") + escape(visible(text)) + Markup("</td>")
