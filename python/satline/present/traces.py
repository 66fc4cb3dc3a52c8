"""Replays of page-reference traces as blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from satline.present.blocks import Block, Column, Note, Table

if TYPE_CHECKING:
    from satline.traces import Replayed


def tail_words(source: dict[str, object]) -> str | None:
    """What is missing at a source's end, as a sentence."""
    tail = source.get("tail")
    if not isinstance(tail, dict):
        return None
    return f"not read: {tail['bytes']} bytes at the end ({tail['what']})"


def replayed(found: Replayed, *, misses: bool = False) -> Iterator[Block]:
    """Policies down, sizes across.

    Parameters
    ----------
    misses
        Counts of misses in place of misses in a thousand references.
    """
    source = found.source
    what = f" of {source['command']}" if source.get("command") else ""
    yield Note(f"{source['trace']}: {found.references:,} references to {found.pages:,} pages{what}")
    if words := tail_words(source):
        yield Note(words, "warning")
    unit = "misses" if misses else "misses in 1000 references"
    least = found.pages if misses else 1000 * found.pages / found.references
    first = "first references" if misses else "first references of pages"
    yield Note(f"{unit}; {_number(least, misses)} are {first}", "quiet")
    columns = (Column("pages", kind="text"), *(Column(f"{size:,}") for size in found.sizes))
    rows = [("of footprint", *(f"{size / found.pages:.1%}" for size in found.sizes))]
    for policy in found.policies:
        values = policy.misses if misses else [1000 * ratio for ratio in policy.miss_ratio]
        rows.append((policy.name + ("" if policy.bounded else " *"), *(_number(v, misses) for v in values)))
    yield Table(columns, tuple(rows))
    if not all(policy.bounded for policy in found.policies):
        yield Note("* of this mean size: it varies with the need", "quiet")


def _number(value: float, misses: bool) -> str:
    if misses:
        return f"{value:,}"
    return f"{value:.4g}" if value < 1000 else f"{value:.0f}"
