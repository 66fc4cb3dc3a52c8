"""HTML for notebooks. Names in recordings are hostile: whatever is shown passes through `escaped`."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


def escaped(text: object) -> str:
    """Any text for HTML: what would not be seen is shown as an escape, markup is shown as it stands."""
    from satline.present import visible

    return html.escape(visible(text))


def html_table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "", note: str = ""
) -> str:
    """An HTML table; a caption above it, a note below."""
    head = "".join(f"<th>{escaped(one)}</th>" for one in heads)
    body = "".join("<tr>" + "".join(f"<td>{escaped(c)}</td>" for c in row) + "</tr>" for row in rows)
    caption = f"<caption>{escaped(title)}</caption>" if title else ""
    below = f"<p>{escaped(note)}</p>" if note else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def html_lines(lines: Sequence[str]) -> str:
    """Lines of text; the first one in bold."""
    first, *rest = lines
    return "<br>".join([f"<b>{escaped(first)}</b>", *map(escaped, rest)])
