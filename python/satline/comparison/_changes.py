"""What changed: annotations, and what the descriptions of both sides say differently."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from satline.comparison._results import Change, Period
from satline.comparison._sides import notes_of
from satline.recording import Recording

# A new kernel keeps a little more or less of main storage for itself.
SAME_STORAGE = 0.02
SLACK_S = 900.0
_WORDS = {
    "host.name": "host",
    "host.kernel": "kernel",
    "host.os": "operating system",
    "host.machine": "machine",
    "host.processors": "processors",
    "host.memory_bytes": "memory",
    "host.page_bytes": "page size",
    "system_under_test.kind": "kind of system",
    "system_under_test.processors": "processors that the load may use",
    "system_under_test.cgroup": "control group of the load",
    "simulation.sets": "settings of the machine",
    "simulation.machine": "machine file",
    "simulation.workload": "workload file",
    "simulation.program": "simulation program",
    "study.source": "study file",
    "study.workload": "workload file",
}
_IGNORED = frozenset({"host.boot_id", "host.page_bytes"})
# Whole files: that they differ is told, not how.
_FILES = frozenset({"simulation.machine", "simulation.workload", "study.source", "study.workload"})
_MEASURING = ("methods", "users.definition", "sampling.interval_ms", "version", "origin.format", "workload")


def find_changes(
    before: Sequence[Recording], after: Sequence[Recording], periods: tuple[Period, Period]
) -> list[Change]:
    """Changes, those between the two periods first; one that both sides tell is told once."""
    found: dict[tuple[str, str], Change] = {}
    for change in (*_configuration(before, after), *_notes((*before, *after), periods)):
        found.setdefault((change.kind, change.what), change)
    order = {"between": 0, "before": 1, "after": 2}
    return sorted(found.values(), key=lambda c: (order[c.when], c.kind != "annotation", c.time_s or 0.0))


def _notes(recordings: Sequence[Recording], periods: tuple[Period, Period]) -> Iterator[Change]:
    """Annotations, by the period that they lie in."""
    first, second = sorted(periods, key=lambda p: p.begins_s)
    for recording in {str(r.path): r for r in recordings}.values():
        for note in notes_of(recording):
            if first.ends_s - SLACK_S <= note.time_s <= second.begins_s + SLACK_S:
                when = "between"
            elif note.time_s < first.ends_s:
                when = "before" if first is periods[0] else "after"
            else:
                when = "after" if first is periods[0] else "before"
            yield Change("annotation", note.text, when, note.time_s)


def _configuration(before: Sequence[Recording], after: Sequence[Recording]) -> Iterator[Change]:
    """What the descriptions say differently."""
    for kind, of in (("configuration", _facts), ("measuring", _methods)):
        sides = [[of(r) for r in side] for side in (before, after)]
        keys = dict.fromkeys(k for facts in (*sides[0], *sides[1]) for k in facts)
        for key in keys:
            if key in _IGNORED:
                continue
            values = [list(dict.fromkeys(f.get(key) for f in side)) for side in sides]
            name = _WORDS.get(key, key.rpartition(".")[2].replace("_", " "))
            if all(len(v) == 1 for v in values):
                if not _same(key, values[0][0], values[1][0]):
                    yield Change(kind, _told(key, name, values[0], values[1]), "between")
            elif set(values[0]) != set(values[1]):
                yield Change(kind, _told(key, name, values[0], values[1]), "between")
            else:
                yield Change(kind, f"{name} differs among the recordings of each side", "before")


def _facts(recording: Recording) -> dict[str, Any]:
    description = recording.description
    found: dict[str, Any] = {}
    for section in ("host", "system_under_test"):
        found |= _flat(section, description.get(section, {}))
    simulation, study = description.get("simulation", {}), description.get("study", {})
    for section, content in (("simulation", simulation), ("study", study)):
        if isinstance(content, Mapping):
            for key in ("sets", "machine", "workload", "source", "program"):
                if key in content:
                    found[f"{section}.{key}"] = _plain(content[key])
    return found


def _methods(recording: Recording) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for writer, source in recording.sources.items():
        for key, value in _flat(writer, source).items():
            if any(key.startswith(f"{writer}.{name}") for name in _MEASURING):
                found[key] = value
    return found


def _flat(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        return {name: _plain(value)}
    return {k: v for key, inner in value.items() for k, v in _flat(f"{name}.{key}", inner).items()}


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool) else json.dumps(value, default=str)


def _same(key: str, a: Any, b: Any) -> bool:
    if a == b:
        return True
    if key == "host.memory_bytes" and isinstance(a, int) and isinstance(b, int) and max(a, b) > 0:
        return abs(a - b) / max(a, b) < SAME_STORAGE
    return False


def _told(key: str, name: str, before: Sequence[Any], after: Sequence[Any]) -> str:
    if key in _FILES:
        return f"another {name}"
    a, b = (", ".join(_value(key, v) for v in side) for side in (before, after))
    return f"{name} {a} → {b}"


def _value(key: str, value: Any) -> str:
    if value is None:
        return "not told"
    if key.endswith("_bytes") and isinstance(value, int):
        return f"{value / 2**30:.3g} GiB" if value >= 2**28 else f"{value / 2**20:.3g} MiB"
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value)
    return text if len(text) <= 60 else text[:59] + "…"


def confounded(changes: Sequence[Change]) -> str:
    """A sentence where more than one thing changed between the periods; empty otherwise."""
    between = [c for c in changes if c.when == "between"]
    acting = [c.what for c in between if c.kind != "measuring"]
    measuring = [c.what for c in between if c.kind == "measuring"]
    if len(acting) > 1:
        notes = sum(c.kind == "annotation" for c in between)
        told = _and(acting)
        if notes == 1 and len(acting) == 2:
            return f"{told}: unless they are one and the same, they cannot be told apart"
        return f"{told} changed at the same time: cannot be told apart"
    if acting and measuring:
        return f"{_and(acting)}, but the way of measuring changed too: {_and(measuring)}"
    if measuring:
        return f"the way of measuring changed: {_and(measuring)}; it may be all of a difference"
    return ""


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
