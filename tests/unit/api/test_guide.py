"""Every block of Python in docs/guides/python.md runs, in the order of the page."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from satline import api

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs" / "guides" / "python.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def test_every_block_of_the_guide_runs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    steps: api.OpenRecording,
    weeks: tuple[Path, Path],
) -> None:
    shutil.copytree(steps.path, tmp_path / "host.satline")
    for week in weeks:
        shutil.copytree(week, tmp_path / week.name)
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) == 4
    names: dict[str, Any] = {}
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"{PAGE.name}, block {number}", "exec"), names)
    assert "at equal load" in capsys.readouterr().out
    assert names["verdict"].headline
    assert names["sweep"].result.points
