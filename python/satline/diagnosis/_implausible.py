"""Values that a monitor left out of its readings because they cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from satline.diagnosis._results import Implausible


def implausible(sources: Mapping[str, Mapping[str, Any]]) -> tuple[Implausible, ...]:
    """What the sources say they left out, that left out most often first."""
    found = [
        Implausible(
            str(item.get("signal", "")),
            _whole(item.get("count")),
            _seconds(item.get("largest_us")),
            _seconds(item.get("left_out_us")),
            str(item.get("reason", "")),
        )
        for source in sources.values()
        for item in source.get("implausible", ())
    ]
    return tuple(sorted(found, key=lambda one: (-(one.count or 0), one.signal)))


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _seconds(value: Any) -> float | None:
    us = _whole(value)
    return None if us is None else us / 1e6
