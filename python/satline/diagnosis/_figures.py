"""Numbers as an answer prints them."""

from __future__ import annotations

import math

_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


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
