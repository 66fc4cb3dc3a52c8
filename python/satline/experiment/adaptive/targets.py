"""What adaptive steps are to find, how narrow and how long, as people write it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from satline.experiment.search import Target

_NUMBER = r"(\d+(?:\.\d+)?)"
_TIMES = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_TIME = rf"{_NUMBER}\s*({'|'.join(_TIMES)})"
_PERCENTILE = re.compile(rf"{_NUMBER}\s*%\s*(?:of reactions\s*)?within\s*{_TIME}")
_THROUGHPUT = re.compile(rf"{_NUMBER}\s*(?:per\s*|/\s*)(second|minute|hour|s|min|h)")
_HEADROOM = re.compile(rf"headroom\s*(?:over|of)?\s*{_NUMBER}(?:\s*users?)?")
_PER = {"second": 1.0, "s": 1.0, "minute": 60.0, "min": 60.0, "hour": 3600.0, "h": 3600.0}
WRITTEN = '"knee", "90% within 2s", "300 per minute", "headroom over 20 users"'


def parse_target(text: str) -> Target:
    """A target from its words.

    >>> parse_target("90% within 2s").words
    'most users of whom 90% of reactions come within 2 s'

    Raises
    ------
    ValueError
        It is none; the text names the forms.
    """
    from satline.errors import SatlineError
    from satline.experiment.search import Headroom, Knee, Percentile, Throughput

    words = " ".join(text.lower().split())
    try:
        if words in ("knee", "saturation"):
            return Knee()
        if found := _PERCENTILE.fullmatch(words):
            return Percentile(float(found[1]) / 100, float(found[2]) * _TIMES[found[3]])
        if (found := _THROUGHPUT.fullmatch(words)) and float(found[1]) > 0:
            return Throughput(float(found[1]) / _PER[found[2]])
        if (found := _HEADROOM.fullmatch(words)) and float(found[1]) > 0:
            return Headroom(float(found[1]))
    except SatlineError as error:
        raise ValueError(f'"{text}": {error.message}; {error.hint}') from None
    raise ValueError(f'"{text}" is no target; write one of {WRITTEN}')


def known_target(text: str) -> str:
    """The text, if it is a target."""
    parse_target(text)
    return text


def counts_transactions(targets: tuple[Target, ...]) -> bool:
    """Must throughput be a number of transactions, since a target is one?"""
    from satline.experiment.search import Throughput

    return any(isinstance(target, Throughput) for target in targets)


def parse_part(value: object) -> object:
    """A part from a number or a percentage.

    >>> parse_part("15%"), parse_part(0.2)
    (0.15, 0.2)
    """
    found = re.fullmatch(rf"\s*{_NUMBER}\s*%\s*", value) if isinstance(value, str) else None
    return float(found[1]) / 100 if found else value


def parse_time(text: str) -> float:
    """Seconds from a length of time.

    >>> parse_time("5min"), parse_time("90")
    (300.0, 90.0)

    Raises
    ------
    ValueError
        It is none.
    """
    found = re.fullmatch(rf"\s*{_NUMBER}\s*({'|'.join(_TIMES)})?\s*", text.lower())
    if found is None:
        raise ValueError(f'"{text}" is no length of time; write 90s, 5min or 1h')
    return float(found[1]) * _TIMES[found[2] or "s"]
