"""The walk-throughs show what the commands print: word for word, and numbers but for what another numeric
library may change."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import PAGES, rendered

pytestmark = pytest.mark.slow

NUMBER = re.compile(r"\d+(?:\.\d+)?")
BLANKS = re.compile(r"[ ▁▂▃▄▅▆▇█]+")


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda p: p.stem)
def test_a_page_shows_what_its_commands_print(page: Path) -> None:
    hint = f"python examples/cases/pages.py {page} writes it anew"
    shown, again = page.read_text(encoding="utf-8"), rendered(page)
    assert NUMBER.sub("0", BLANKS.sub(" ", again)) == NUMBER.sub("0", BLANKS.sub(" ", shown)), hint
    numbers = [[float(n) for n in NUMBER.findall(text)] for text in (again, shown)]
    assert numbers[0] == pytest.approx(numbers[1], rel=0.02, abs=0.02), hint
