"""The walk-throughs show what the commands print."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import PAGES, rendered

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda p: p.stem)
def test_a_page_shows_what_its_commands_print(page: Path) -> None:
    shown = page.read_text(encoding="utf-8")
    again = rendered(page)
    assert again == shown, f"python examples/cases/pages.py {page} writes it anew"
