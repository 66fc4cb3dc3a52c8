"""Under what conditions a recording was made, as words: host, limits, study, methods, cost, lateness."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from satline.present import _numbers

if TYPE_CHECKING:
    from satline.present.html import RecordingLike

Section = tuple[str, list[tuple[str, str]]]

# Words for the ends of keys that give the unit.
_UNITS = (
    ("_bytes", "bytes"),
    ("_us", "us"),
    ("_ms", "ms"),
    ("_iops", "per second"),
    ("_processors", "processors"),
)
_PERCENTILES = {"p50": "median", "p99": "99th percentile", "max": "largest"}


def sections(recording: RecordingLike) -> list[Section]:
    """Headings with their names and values, in the order they are shown; empty ones are left out."""
    described = recording.description
    system = _table(described, "system_under_test")
    made: list[Section] = [
        ("Recording", _pairs(_table(described, "recording"))),
        ("Host", _pairs(_table(described, "host"))),
        ("System under test", _pairs(_without(system, "limits", "not_set"))),
        ("Limits in force", _pairs(_table(system, "limits"))),
        ("Limits stated that could not be set", _pairs(_table(system, "not_set"))),
        ("Study", _pairs(_without(_table(described, "study"), "source", "workload"))),
        ("Annotations", _annotations(described.get("annotation"))),
    ]
    for writer, source in recording.sources.items():
        made.append((f"Written by {writer}", _pairs(_without(source, "missing", "writer"))))
    return [section for section in made if section[1]]


def study_files(recording: RecordingLike) -> list[tuple[str, list[str]]]:
    """The study's own files as they were run: name, lines."""
    study = _table(recording.description, "study")
    files = [("The study file", study.get("source")), ("The workload file", study.get("workload"))]
    return [(name, text.splitlines()) for name, text in files if isinstance(text, str) and text.strip()]


def _table(parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The table `key` of `parent`; empty where there is none or it is something else."""
    found = parent.get(key)
    return found if isinstance(found, Mapping) else {}


def _without(table: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in keys}


def _annotations(items: Any) -> list[tuple[str, str]]:
    if not isinstance(items, list):
        return []
    return [(str(i.get("time", "")), str(i.get("text", ""))) for i in items if isinstance(i, Mapping)]


def _pairs(table: Mapping[str, Any], prefix: str = "", unit: str = "") -> list[tuple[str, str]]:
    """Names and values of a table, tables within it after its own values."""
    pairs: list[tuple[str, str]] = []
    inner: list[tuple[str, str]] = []
    for key, value in table.items():
        words, its_unit = _name(str(key), unit)
        name = f"{prefix} {words}".strip()
        if isinstance(value, Mapping):
            inner += _pairs(value, name, its_unit)
        else:
            pairs.append((name, _value(value, its_unit)))
    return pairs + inner


def _name(key: str, unit: str) -> tuple[str, str]:
    """A key in words and the unit that its end names, else the unit of the table around it."""
    for ending, its_unit in _UNITS:
        if key.endswith(ending):
            key, unit = key.removesuffix(ending), its_unit
            break
    return _PERCENTILES.get(key, key.replace("_", " ")), unit


def _value(value: Any, unit: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _numbers.quantity(float(value), unit) if unit or isinstance(value, float) else f"{value:,}"
    if isinstance(value, list):
        return ", ".join(_value(item, unit) for item in value) or "none"
    return str(value)
