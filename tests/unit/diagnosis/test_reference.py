"""The reference page of the rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from satline.diagnosis.reference import in_full, reference_page, sections
from satline.diagnosis.rules import RULES

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "rules.md"


def test_the_committed_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference_page(), "run `make docs`"


def test_every_rule_is_on_it() -> None:
    page = reference_page()
    for rule, _ in RULES:
        assert f"## {rule.title[0].upper()}{rule.title[1:]}" in page


def test_a_docstring_that_lacks_a_part_is_refused() -> None:
    with pytest.raises(ValueError, match="no part Why"):
        sections("Title.\n\nWhat: a.\nSigns: b.\nFalse readings: c.\nRemedy: d.\nReferences: e.\n")


def test_every_rule_cites_a_work_that_is_given_in_full() -> None:
    page = reference_page()
    for rule, _ in RULES:
        assert rule.references, rule.name
        for reference in rule.references:
            assert in_full(reference) != reference or reference.startswith("Linux"), (rule.name, reference)
    assert "IBM Systems Journal 14(4), 1975" in page
