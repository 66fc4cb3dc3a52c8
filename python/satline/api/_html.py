"""HTML for notebooks. Names in recordings are hostile: whatever is shown passes through `escaped`."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


def escaped(text: object) -> str:
    """Any text for HTML: what would not be seen is shown as an escape, markup is shown as it stands."""
    from satline.present import visible

    return html.escape(visible(text))


def table_html(
    heads: Sequence[str], rows: Iterable[Sequence[str | int]], *, title: str = "", note: str = ""
) -> str:
    """An HTML table; a caption above it, a note below."""
    from satline.present import Table, html_table

    below = f"<p>{escaped(note)}</p>" if note else ""
    return str(html_table(Table.of([heads, *rows]), title=title, scope=False)) + below


def html_lines(lines: Sequence[str]) -> str:
    """Lines of text; the first one in bold."""
    first, *rest = lines
    return "<br>".join([f"<b>{escaped(first)}</b>", *map(escaped, rest)])
