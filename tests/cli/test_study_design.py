"""`satline study` with factors, on the command line: what is refused, and how it is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from satline.cli import run

STUDY = """title = "t"
workload = "compute"
[load]
users = [2]
[[factor]]
name = "memory"
setting = "limits.memory"
levels = ["32 MB", "48 MB"]
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "d.toml"
    path.write_text(STUDY)
    return path


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["study", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "\nhint: " in shown.err
    return shown.err


def test_a_wrong_level_is_refused_before_anything_is_made(
    study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study.write_text(STUDY.replace("48 MB", "4 MB"))
    said = refused(capsys, "d.toml")
    assert said.startswith("error: d.toml:8: factor memory, level 4 MB: limits.memory: must be at least")
    assert list(study.parent.iterdir()) == [study]


def test_more_than_there_is_is_refused_with_its_cell(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study.write_text(STUDY.replace("48 MB", "900 TB"))
    assert "with memory 900 TB: d.toml" in refused(capsys, "d.toml")
    assert not (study.parent / "d-design").exists()


def test_a_directory_of_something_else_is_refused(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (study.parent / "d-design").mkdir()
    (study.parent / "d-design/letter.txt").write_text("x")
    assert "holds no runs of a designed study" in refused(capsys, "d.toml")


def test_flags_are_of_designs(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study.write_text(STUDY[: STUDY.index("[[factor]]")])
    assert "--leave-out-flagged is of a design" in refused(capsys, "d.toml", "--leave-out-flagged")


def test_the_list_says_how_many_runs_a_design_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["studies", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["studies"]}
    assert rows["paging-factorial"]["runs"] == 12
    assert rows["this-host"]["runs"] == 1
    assert rows["paging-factorial"]["seconds"] == 12 * 28
