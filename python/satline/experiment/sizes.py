"""Sizes as people write them: 1000, "768 MB", "1 GiB"."""

from __future__ import annotations

import re

_UNITS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
_FORM = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def parse_size(value: object) -> int:
    """Bytes from an integer or a text with a unit.

    >>> parse_size("768 MB"), parse_size("1 GiB"), parse_size(4096)
    (768000000, 1073741824, 4096)

    Raises
    ------
    ValueError
        It is neither.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    match = _FORM.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[2].lower() not in _UNITS:
        raise ValueError('is not a size; write bytes, or a number and a unit: "768 MB", "1 GiB"')
    return round(float(match[1]) * _UNITS[match[2].lower()])


def format_size(size: float) -> str:
    """Bytes for a person, in decimal units.

    >>> format_size(768_000_000)
    '768 MB'
    """
    for unit, factor in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}" if size < 999.5 * factor else f"{size / factor:.0f} {unit}"
    return f"{size:.0f} B"
