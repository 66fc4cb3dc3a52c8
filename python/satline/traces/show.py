"""Replays as tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satline.present import cell

if TYPE_CHECKING:
    from rich.console import Console

    from satline.traces._replay import Replayed

NAME_COLUMNS = 13
COLUMNS = 9


def tail_words(source: dict[str, object]) -> str | None:
    """What is missing at a source's end, as a sentence."""
    tail = source.get("tail")
    if not isinstance(tail, dict):
        return None
    return f"not read: {tail['bytes']} bytes at the end ({tail['what']})"


def print_replayed(found: Replayed, console: Console, *, misses: bool = False) -> None:
    """Policies down, sizes across; as many tables as the width needs.

    Parameters
    ----------
    misses
        Counts of misses in place of misses in a thousand references.
    """
    from rich.table import Table

    source = found.source
    what = f" of {source['command']}" if source.get("command") else ""
    head = f"{source['trace']}: {found.references:,} references to {found.pages:,} pages{what}"
    console.print(cell(head, encoding=console.encoding))
    words = tail_words(source)
    if words:
        console.print(cell(words, "yellow", encoding=console.encoding))
    unit = "misses" if misses else "misses in 1000 references"
    least = found.pages if misses else 1000 * found.pages / found.references
    first = "first references" if misses else "first references of pages"
    console.print(cell(f"{unit}; {_number(least, misses)} are {first}", "dim", encoding=console.encoding))
    width = COLUMNS + 2
    across = max(1, (min(console.width, 80) - NAME_COLUMNS) // width)
    for begin in range(0, len(found.sizes), across):
        part = slice(begin, begin + across)
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        table.add_column("pages", min_width=NAME_COLUMNS - 2)
        for size in found.sizes[part]:
            table.add_column(f"{size:,}", justify="right", min_width=COLUMNS)
        table.add_row(
            "of footprint", *(f"{size / found.pages:.1%}" for size in found.sizes[part]), style="dim"
        )
        for policy in found.policies:
            values = policy.misses if misses else [1000 * ratio for ratio in policy.miss_ratio]
            mark = "" if policy.bounded else " *"
            table.add_row(policy.name + mark, *(_number(value, misses) for value in values[part]))
        console.print(table)
    if not all(policy.bounded for policy in found.policies):
        console.print(cell("* of this mean size: it varies with the need", "dim", encoding=console.encoding))


def _number(value: float, misses: bool) -> str:
    if misses:
        return f"{value:,}"
    return f"{value:.4g}" if value < 1000 else f"{value:.0f}"
