"""recording.toml and sources/*.toml without names: which of their texts stand, which are replaced.

Numbers, times and truth values stand. Of a text the first line that fits its place says what becomes of it:
`keep`, `drop`, or the name of a rule of the catalogue. A text that no line fits is replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from satline.recording._names import TEXT, Pseudonymiser

Toml = dict[str, Any]
# Files that a person wrote.
FILES = ("study.source", "study.workload", "simulation.machine", "simulation.workload")
_DESCRIPTION = (
    ("recording.id", "keep"),
    ("recording.creator", "keep"),
    ("recording.end_reason", "keep"),
    ("recording.writers", "keep"),
    ("host.kernel", "keep"),
    ("host.machine", "keep"),
    ("host.os", "keep"),
    ("system_under_test.kind", "keep"),
    ("system_under_test.accelerator", "keep"),
    ("system_under_test.vocabulary", "keep"),
    ("system_under_test.load_axis", "keep"),
    ("system_under_test.cgroup", "name"),
    ("system_under_test.accelerator_why", "sentence"),
    ("system_under_test.limits.*", "sentence"),
    ("system_under_test.knobs.*", "sentence"),
    ("system_under_test.not_set.*", "sentence"),
    *((place, "drop") for place in FILES),
    ("study.search.*", "sentence"),
    ("study.design.levels.*", "sentence"),
    ("study.design.flags", "sentence"),
    ("simulation.program", "keep"),
)
_SOURCE = (
    ("writer", "keep"),
    ("version", "keep"),
    ("end_reason", "keep"),
    ("scheduling", "keep"),
    ("users.definition", "sentence"),
    ("methods.*", "sentence"),
    ("thermometers.*", "sentence"),
    ("missing.*", "sentence"),
    ("fallbacks.*", "sentence"),
    ("implausible.*", "sentence"),
    ("origin.format", "keep"),
    ("origin.zone", "keep"),
    ("origin.tool", "sentence"),
)
_SECTIONS = frozenset({
    "checksums", "format_version", "recording", "host", "system_under_test", "study", "simulation",
    "annotation",
})  # fmt: skip


def description_without_names(
    description: Mapping[str, Any], names: Pseudonymiser, *, keep_files: bool = False
) -> tuple[Toml, list[str]]:
    """recording.toml without names, and what was left out of it: sections that are not known, files.

    Its id stands: the copy must get one of its own.

    Parameters
    ----------
    keep_files
        The section of the study, and that of the simulation, stand as they are.
    """
    left = sorted(key for key in description if key not in _SECTIONS)
    left += [] if keep_files else [p for p in FILES if _at(description, p) is not None]
    kept = {
        key: value
        if keep_files and key in ("study", "simulation")
        else _without(value, key, names, _DESCRIPTION)
        for key, value in description.items()
        if key in _SECTIONS
    }
    return kept, left


def source_without_names(source: Mapping[str, Any], names: Pseudonymiser) -> Toml:
    """sources/<writer>.toml without names."""
    return {key: _without(value, key, names, _SOURCE) for key, value in source.items()}


def _without(value: Any, place: str, names: Pseudonymiser, rules: tuple[tuple[str, str], ...]) -> Any:
    if isinstance(value, Mapping):
        found = {k: _without(v, f"{place}.{k}", names, rules) for k, v in value.items()}
        return {key: inner for key, inner in found.items() if inner is not None}
    if isinstance(value, list):
        return [inner for v in value if (inner := _without(v, place, names, rules)) is not None]
    if not isinstance(value, str):
        return value
    rule = next((rule for pattern, rule in rules if fnmatchcase(place, pattern)), TEXT)
    if rule == "keep":
        return value
    return None if rule == "drop" else names.replace(value, rule)


def _at(content: Mapping[str, Any], place: str) -> Any:
    section, _, key = place.partition(".")
    found = content.get(section)
    return found.get(key) if isinstance(found, Mapping) else None
