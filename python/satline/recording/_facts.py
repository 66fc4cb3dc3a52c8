"""What recording.toml and sources/*.toml must hold where a program computes with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from satline.errors import InputError

Check = Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    # Not NaN either: it compares as neither.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63


def _is_whole(value: Any) -> bool:
    return _is_number(value) and math.floor(value) == value


_KINDS: dict[str, tuple[Check, str]] = {
    "section": (lambda v: isinstance(v, dict), "a section"),
    "sections": (lambda v: isinstance(v, list) and all(isinstance(i, dict) for i in v), "a list of sections"),
    "text": (lambda v: isinstance(v, str), "a text"),
    "texts": (lambda v: isinstance(v, list) and all(isinstance(i, str) for i in v), "a list of texts"),
    "truth": (lambda v: isinstance(v, bool), "true or false"),
    "number": (_is_number, "a number"),
    "amount": (lambda v: _is_number(v) and v >= 0, "a number, 0 or more"),
    "count": (lambda v: _is_whole(v) and v >= 0, "a whole number, 0 or more"),
    "limit": (lambda v: not isinstance(v, int | float) or _is_number(v), "a number that fits in 64 bits"),
    "counts": (
        lambda v: isinstance(v, list) and all(_is_whole(i) and i >= 0 for i in v),
        "a list of numbers",
    ),
}
# Keys that are not here may be anything: a newer program wrote them.
_DESCRIPTION = {
    "recording": "section",
    "recording.end_reason": "text",
    "recording.creator": "text",
    "host": "section",
    "host.name": "text",
    "host.processors": "count",
    "host.memory_bytes": "count",
    "host.page_bytes": "count",
    "system_under_test": "section",
    "system_under_test.kind": "text",
    "system_under_test.vocabulary": "text",
    "system_under_test.cgroup": "text",
    "system_under_test.load_axis": "text",
    "system_under_test.processors": "counts",
    "system_under_test.not_set": "section",
    "system_under_test.limits": "section",
    "system_under_test.limits.cpu_quota_processors": "amount",
    "system_under_test.limits.*": "limit",
    "study": "section",
    "study.title": "text",
    "annotation": "sections",
}
_SOURCE = {
    "end_reason": "text",
    "error": "text",
    "valid": "truth",
    "late": "truth",
    "sampling": "section",
    "sampling.interval_ms": "amount",
    "sampling.samples": "count",
    "sampling.samples_lost": "count",
    "sampling.lateness_us": "section",
    "sampling.lateness_us.p99": "number",
    "lateness": "section",
    "lateness.p99_us": "number",
    "users": "section",
    "users.definition": "text",
    "methods": "section",
    "cost": "section",
    "cost.window_processor_share": "number",
    "origin": "section",
    "origin.format": "text",
    "damage": "texts",
    "notes": "texts",
    "missing": "sections",
    "implausible": "sections",
}


def check_description(file: Path, content: Mapping[str, Any]) -> None:
    """Raise InputError where recording.toml has a key of a wrong type."""
    _check(file, content, _DESCRIPTION)


def check_source(file: Path, content: Mapping[str, Any]) -> None:
    """Raise InputError where sources/<writer>.toml has a key of a wrong type."""
    _check(file, content, _SOURCE)


def _check(file: Path, content: Mapping[str, Any], kinds: Mapping[str, str]) -> None:
    for place, kind in kinds.items():
        for key, value in _at(content, place):
            fits, words = _KINDS[kind]
            if not fits(value):
                hint = f"write it as [{key}]" if kind == "section" else "mend the line, or take it out"
                raise InputError(f"{file}: {key} is {_words(value)}, it should be {words}", hint=hint)


def _at(content: Mapping[str, Any], place: str, above: str = "") -> Iterator[tuple[str, Any]]:
    """Key and value at a dotted place, where there is one, `*` for every key; the sections above have been
    checked."""
    name, _, rest = place.partition(".")
    for key in content if name == "*" else (name,):
        if key in content and rest:
            yield from _at(content[key], rest, f"{above}{key}.")
        elif key in content:
            yield above + key, content[key]


def _words(value: Any) -> str:
    """A value as an error shows it: never long."""
    if isinstance(value, dict):
        return "a section"
    if isinstance(value, list):
        return f"a list ({', '.join(map(_words, value[:3]))}{', …' if len(value) > 3 else ''})"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    shown = text if len(text) <= 40 else f"{text[:40]}…"
    return f"the text {shown!r}" if isinstance(value, str) else shown
