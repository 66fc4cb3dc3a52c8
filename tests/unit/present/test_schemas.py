"""The published schemas: of which commands they are, what they say, and their page."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from satline.cli.tree import SECTIONS, Entry, Group
from satline.present.schemas import KINDS, schema
from satline.present.schemas.reference import reference_page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "json.md"


def with_json() -> Iterator[tuple[str, str]]:
    """Every command that has --json: its words, hyphenated, and with spaces."""
    for section in SECTIONS:
        for name, entry in section.entries.items():
            inner = entry.commands.items() if isinstance(entry, Group) else [("", entry)]
            for second, one in inner:
                assert isinstance(one, Entry)
                command = getattr(importlib.import_module(f"satline.cli.{one.module}"), one.function)
                if any("--json" in option.opts for option in command.params):
                    words = [word for word in (name, second) if word]
                    yield "-".join(words), " ".join(words)


COMMANDS = dict(with_json())


def test_every_command_with_json_has_a_kind_and_every_kind_a_command() -> None:
    # `simulate run` prints a kind for each thing it does.
    of = {name: name.removesuffix("-run") if name == "simulate-run" else name for name in COMMANDS}
    for name, lead in of.items():
        assert any(kind == lead or kind.startswith(f"{lead}-") for kind in KINDS), name
    for kind, entry in KINDS.items():
        assert any(kind == lead or kind.startswith(f"{lead}-") for lead in of.values()), kind
        assert any(entry.command.startswith(f"satline {words}") for words in COMMANDS.values()), kind


def objects(of: Any) -> Iterator[dict[str, Any]]:
    if isinstance(of, dict):
        if isinstance(of.get("properties"), dict) and "required" in of:
            yield of
        for one in of.values():
            yield from objects(one)
    elif isinstance(of, list):
        for one in of:
            yield from objects(one)


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_is_always_there_and_has_a_type(kind: str) -> None:
    made = schema(kind)
    assert list(made["properties"])[:2] == ["format", "kind"]
    assert made["properties"]["kind"] == {"const": kind, "description": "Which command's it is."}
    for one in objects(made):
        assert set(one["required"]) == set(one["properties"])
        assert "additionalProperties" not in one
        for key, of in one["properties"].items():
            assert "default" not in of, key
            # What a source writes of itself has no type of ours.
            assert of.keys() & {"type", "anyOf", "$ref", "enum", "const"} or key in {"tail", "value"}, key


def test_docstrings_explain_the_keys() -> None:
    made = schema("diagnose")
    at = made["$defs"]["Saturation"]["properties"]
    assert at["slope_after"]["description"] == "Throughput per user below and above the breakpoint."
    assert "null" in at["chance"]["description"]
    assert "``" not in str(made)
    # A part's own text, and that of what it is made from.
    words = schema("analyse-capacity")["properties"]
    assert words["words"]["description"] == "The answer in sentences."
    assert words["within_s"]["type"] == ["number", "null"]


def test_the_committed_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference_page(), "run `make docs`"


def test_the_page_has_every_kind_and_every_link_a_place() -> None:
    import re

    page = reference_page()
    heads = [head.lower().replace(" ", "-") for head in re.findall(r"^## (.+)$", page, re.MULTILINE)]
    assert len(heads) == len(set(heads))
    assert set(KINDS) <= set(heads)
    assert set(re.findall(r"\]\(#(.+?)\)", page)) <= set(heads)
