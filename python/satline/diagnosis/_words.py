"""Numbers as an answer prints them, and bounds without a capacity in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from satline.diagnosis._results import Carried

_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
MOST_SAID, MOST_NEEDS = 4, 3
# Fewer observations than this have no 95 % of the time.
_FEW = 20


def two_digits(value: float) -> str:
    """A number to two digits."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    # Of the rounded number: 0.996 has two digits as 1.0.
    places = max(0, 1 - math.floor(math.log10(abs(float(f"{value:.1e}")))))
    return f"{value:.{places}f}" if abs(value) < 100 else f"{float(f'{value:.2g}'):,.0f}"


def percent(part: float) -> str:
    """A part of one as a percentage to two digits; never 0 for what is not 0, nor 100 for what is less."""
    shown = 100 * part
    if 0 < shown < 0.01:
        return "less than 0.01 %"
    if 99.5 <= shown < 100:
        return "nearly 100 %"
    return f"{two_digits(shown)} %"


def span_words(seconds: float) -> str:
    """A length of time to two digits in its best unit."""
    for unit, size_s in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size_s:
            return f"{two_digits(seconds / size_s)} {unit}"
    return f"{two_digits(seconds)} s"


def size(value: float) -> str:
    """Bytes to two digits in their best unit."""
    unit, name = next(((u, n) for u, n in _UNITS if value >= u), (1.0, "B"))
    return f"{two_digits(value / unit)} {name}"


def bounds_words(rows: Sequence[Carried]) -> str:
    """What tells most of them, in a sentence that claims no use."""
    groups = [list(own) for _, own in groupby(rows, key=lambda row: (row.resource, row.kind))]
    return "; ".join(_of_one(own) for own in _first_of_each(groups)[:MOST_SAID])


def _kind_of(row: Carried) -> str:
    """Disks are alike, and so are interfaces."""
    return row.resource.partition(" ")[0] if row.component in ("io", "network") else row.resource


def _first_of_each(groups: list[list[Carried]]) -> list[list[Carried]]:
    """The busiest disk and interface alone, and the other rows."""
    found: dict[tuple[str, str], list[Carried]] = {}
    for own in groups:
        found.setdefault((_kind_of(own[0]), own[0].kind), own)
    return list(found.values())


def _of_one(rows: Sequence[Carried]) -> str:
    """The rows of one resource and kind."""
    first = rows[0]
    if first.kind == "level":
        parts = [f"{amount(row.mean, row.unit)}{_most(row)}" for row in rows]
        return f"{first.resource}: {', '.join(parts)}" if first.component == "network" else ", ".join(parts)
    if first.kind == "free":
        return f"{first.resource}: at least {amount(first.usual, first.unit)} {first.what} {_time(first)}"
    if first.kind == "at least":
        over = span_words(first.over_s)
        return f"{first.resource}: at least {amount(first.extreme, first.unit)} (over {over})"
    if first.kind == "at most":
        return f"{first.resource}: at most {amount(first.usual, first.unit)} {first.what} {_time(first)}"
    if all(row.extreme == 0 for row in rows):
        return f"{first.resource}: no {first.what.removesuffix('s')} at all"
    carried = [row for row in rows if row.extreme > 0]
    amounts = " and ".join(amount(row.extreme, row.unit) + _way(row) for row in carried)
    name = first.resource + (f" (busiest of {first.alike:,})" if first.alike > 1 else "")
    # An amount is held, a rate carried.
    verb = "had" if first.unit == "processors" else "carried" if first.unit.endswith("/s") else "held"
    at_work = f" {first.what}" if first.unit in ("processors", "bytes") else ""
    text = f"{name} {verb} at least {amounts}{at_work} (over {span_words(carried[0].over_s)})"
    known = [row for row in carried if row.relative is not None]
    if not known:
        return text
    if first.observations < _FEW:
        return text + f", on average {_parts([row.mean / row.extreme for row in known])} of that"
    return text + f", in 95 % of the time at most {_parts([row.relative or 0.0 for row in known])} of that"


def _way(row: Carried) -> str:
    """Of which bytes a rate of bytes is, where not of all."""
    return row.what.removeprefix("bytes") if row.unit == "bytes/s" else ""


def _parts(parts: Sequence[float]) -> str:
    return " and ".join(dict.fromkeys(map(percent, parts)))


def _most(row: Carried) -> str:
    return f" (at most {amount(row.extreme, '')})" if two_digits(row.extreme) != two_digits(row.mean) else ""


def _time(row: Carried) -> str:
    if row.observations < _FEW:
        return f"in {row.observations} observation{'s' if row.observations > 1 else ''}"
    return "in 95 % of the time"


def amount(value: float, unit: str) -> str:
    """An amount with its unit: `3.8 MB/s`, `83 requests/s`."""
    if unit in ("bytes", "bytes/s"):
        return size(value) + unit.removeprefix("bytes")
    return f"{two_digits(value)} {unit}".rstrip()


def needs_words(rows: Sequence[Carried]) -> str:
    """What would have to be recorded to know the use of what is bounded; empty: nothing would tell."""
    wanted = [needs for needs in dict.fromkeys(row.needs for row in rows) if needs]
    firsts: dict[str, str] = {}
    for row in rows:
        if row.needs in wanted:
            firsts.setdefault(_kind_of(row), row.needs)
    return "; ".join(list(dict.fromkeys(firsts.values()))[:MOST_NEEDS])
