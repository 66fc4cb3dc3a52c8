"""recording.toml and sources/*.toml without names.

Numbers, times and truth values stand; catalogue/names.toml says what becomes of texts, by their places.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from satline.catalogue import catalogue
from satline.recording._names import TEXT, Pseudonymiser

Toml = dict[str, Any]
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
    places = catalogue().places["description"]
    left = sorted(key for key in description if key not in _SECTIONS)
    dropped = [place for place, rule in places if rule == "drop"]
    left += [] if keep_files else [place for place in dropped if _at(description, place) is not None]
    kept = {
        key: value if keep_files and key in ("study", "simulation") else _without(value, key, names, places)
        for key, value in description.items()
        if key in _SECTIONS
    }
    return kept, left


def source_without_names(source: Mapping[str, Any], names: Pseudonymiser) -> Toml:
    """sources/<writer>.toml without names."""
    places = catalogue().places["source"]
    return {key: _without(value, key, names, places) for key, value in source.items()}


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
