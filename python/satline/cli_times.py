"""Times as people write them on the command line."""

from __future__ import annotations

import re
from typing import Any

import click

_UNITS_MS = {"ms": 1, "": 1000, "s": 1000, "min": 60_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class Duration(click.ParamType[int]):
    """``10`` (seconds), ``500ms``, ``10s``, ``5m``, ``8h``, ``7d``, as milliseconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Milliseconds from a text."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d|)\s*", str(value))
        milliseconds = round(float(match[1]) * _UNITS_MS[match[2]]) if match else 0
        if milliseconds <= 0:
            self.fail(f"{value!r} is not a time; write 10, 500ms, 10s, 5m, 8h or 7d", param, ctx)
        return milliseconds
