"""Numbers with their units, as a person reads them. Percentages are made here and nowhere before."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

MISSING = "not measured"
# A number from 0 to 1 that stands alone, and does not multiply.
_FRACTION = re.compile(r"(?<![\w.,])(?:0(?:\.\d+)?|1(?:\.0+)?)(?![\w%]|[.,]\d|\s*[%×])")
_TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "seconds": 1.0}
_BYTES = (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("bytes", 1.0))


@dataclass(frozen=True)
class Scale:
    """How a stored unit is shown: shown number = stored number x `factor`, in `label`."""

    factor: float
    label: str


def scale(unit: str, largest: float) -> Scale:
    """The scale in which numbers of `unit` up to `largest` read well."""
    size = abs(largest) if math.isfinite(largest) else 0.0
    unit = unit.strip()
    if unit == "fraction" or unit.startswith("fraction of "):
        return Scale(100.0, "%" + unit.removeprefix("fraction"))
    if unit in _TIMES:
        seconds = size * _TIMES[unit]
        if seconds >= 1.0:
            return Scale(_TIMES[unit], "s")
        if seconds >= 1e-3 or seconds == 0.0:
            return Scale(_TIMES[unit] * 1e3, "ms")
        return Scale(_TIMES[unit] * 1e6, "µs")
    if unit == "bytes" or unit.startswith(("bytes/", "bytes per ")):
        for label, bytes_each in _BYTES:
            if size >= bytes_each or bytes_each == 1.0:
                return Scale(1.0 / bytes_each, label + unit.removeprefix("bytes"))
    return Scale(1.0, unit)


def units_like(unit: str) -> list[str]:
    """The units in which a variable stored in `unit` may be shown."""
    unit = unit.strip()
    if unit == "fraction" or unit.startswith("fraction of "):
        return ["%", "fraction"]
    if unit in _TIMES:
        return ["s", "ms", "µs"]
    if unit == "bytes" or unit.startswith(("bytes/", "bytes per ")):
        return [label + unit.removeprefix("bytes") for label, _ in _BYTES]
    return [unit]


def chosen_scale(unit: str, largest: float, wanted: str) -> Scale:
    """The scale of `wanted`, one of `units_like`; without it the one that reads well."""
    if wanted not in units_like(unit) or not wanted:
        return scale(unit, largest)
    if unit.startswith("fraction"):
        of = unit.removeprefix("fraction")
        return Scale(100.0, "%" + of) if wanted == "%" else Scale(1.0, wanted + of)
    if unit in _TIMES:
        return Scale(_TIMES[unit] * {"s": 1.0, "ms": 1e3, "µs": 1e6}[wanted], wanted)
    for label, bytes_each in _BYTES:
        if wanted == label + unit.removeprefix("bytes") and unit.startswith("bytes"):
            return Scale(1.0 / bytes_each, wanted)
    return Scale(1.0, unit)


def total_unit(unit: str) -> str | None:
    """Unit of the integral over time of something in `unit`; ``None`` where that has no meaning."""
    if unit in ("per second", "transactions/s"):
        return ""
    if unit.endswith("/s"):
        return unit.removesuffix("/s")
    if unit in ("processors", "users", "tasks", "requests"):
        return f"{unit.removesuffix('s')} seconds"
    return None


def ratio_unit(unit: str, divisor: str) -> str:
    """Unit of a ratio of means: processors per (per second) are seconds."""
    if unit == divisor:
        return ""
    if divisor == "per second":
        if (whole := total_unit(unit)) is not None:
            return whole.replace("processor seconds", "s")
        return f"{unit} seconds"
    if unit == "bytes":
        return f"bytes per {divisor.removesuffix('s') or 'unit'}"
    return f"{unit or 'number'} / {divisor or 'number'}"


def number(value: float, *, digits: int = 3) -> str:
    """`value` with `digits` significant digits and no needless zeros; thousands apart."""
    if not math.isfinite(value):
        return str(value)
    if value == 0.0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    shown = f"{value:,.{min(places, 9)}f}"
    if "." in shown:
        shown = shown.rstrip("0").rstrip(".")
    return "0" if shown in ("-0", "") else shown.replace("-", "−")


def quantity(value: float | None, unit: str, error: float | None = None) -> str:
    """`value` ± `error` in `unit`, as ``0.92 ± 0.03 processors``; `MISSING` when there is no value."""
    if value is None or math.isnan(value):
        return MISSING
    chosen = scale(unit, max(abs(value), abs(error or 0.0)))
    shown = number(value * chosen.factor)
    if error is not None and math.isfinite(error):
        shown = _plus_minus(value * chosen.factor, abs(error) * chosen.factor)
    return joined(shown, chosen.label)


def interval(value: float, low: float, high: float, unit: str) -> str:
    """``6.2 users (5.6 to 7.1)``; with an infinite `high` ``6.2 users (5.6 or more, no upper limit)``."""
    chosen = scale(unit, max(abs(x) for x in (value, low, high, 0.0) if math.isfinite(x)))
    first, from_, to = (number(x * chosen.factor) for x in (value, low, high))
    if high == math.inf:
        return f"{joined(first, chosen.label)} ({from_} or more, no upper limit)"
    return f"{joined(first, chosen.label)} ({from_} to {to})"


def joined(shown: str, unit: str) -> str:
    """The number and its unit; no line breaks between a number and its %."""
    if unit.startswith("%"):
        return f"{shown}\N{NO-BREAK SPACE}{unit}"
    return f"{shown} {unit}" if unit else shown


def percentages(text: str) -> str:
    """`text` with the fractions in it, 0 to 1, as percentages: ``at least 0.4`` → ``at least 40 %``."""
    return _FRACTION.sub(lambda found: joined(number(float(found[0]) * 100.0), "%"), text)


def _plus_minus(value: float, error: float) -> str:
    """The value to the place of the error's second digit, but to five digits at most, and the error."""
    if error == 0.0:
        return f"{number(value)} ± 0"
    places = max(0, 1 - math.floor(math.log10(error)))
    if value and places > 4 - math.floor(math.log10(abs(value))):
        return f"{number(value, digits=5)} ± {number(error, digits=1)}"
    return f"{value:,.{places}f} ± {error:,.{places}f}".replace("-", "−")


def strength_words(strength: float) -> str:
    """A strength from 0 to 1 in words, the number behind them."""
    for least, words in ((0.8, "very strong"), (0.6, "strong"), (0.4, "moderate"), (0.2, "weak")):
        if strength >= least:
            return f"{words} ({strength:.2f})"
    return f"very weak ({strength:.2f})"
