"""Links between pages lead to files; `make docs` checks their anchors too, but needs more than the tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
    *ROOT.glob("benches/*.md"),
    *ROOT.glob("notebooks/*.md"),
]
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)")


@pytest.mark.parametrize("page", sorted(PAGES), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    targets = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if ":" not in link]
    assert [link for link in targets if not (page.parent / link).exists()] == []
