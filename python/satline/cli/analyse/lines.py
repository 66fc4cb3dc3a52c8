"""Text of predictions: columns, paragraphs and items, in 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 80


def columns(rows: Sequence[Sequence[str]], left: int = 0) -> list[str]:
    """Rows in columns, the first `left` of them to the left, the others to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            c.ljust(w) if k < left else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return lines


def wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_on_hyphens=False)


def items(texts: Sequence[str]) -> list[str]:
    return [
        line
        for text in texts
        for line in textwrap.wrap(
            text, WIDTH, initial_indent="  – ", subsequent_indent="    ", break_on_hyphens=False
        )
    ]
