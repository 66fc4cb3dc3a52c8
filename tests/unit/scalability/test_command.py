"""`satline analyse predict` and `satline diagnose` on tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from satline.cli import run

TEXT = "VUs;req/s;avg (ms)\n1;9,9;10\n5;48,9;12\n10;95;15\n20;150;48\n40;148;175\n80;152;430\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "t.csv"
    file.write_text(TEXT)
    return file


def test_the_verdict_comes_first_in_eighty_columns(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["predict", str(path), "--at", "120,160"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Saturates at 15.6 users [")
    for words in ("contention", "breakpoint", "N* = 15.4", "Little", "160*", "extrapolated"):
        assert words in shown
    assert max(len(line) for line in shown.splitlines() if str(path) not in line) <= 80


def test_json_is_that_of_the_answer(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["predict", str(path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["format"], answer["kind"], answer["better"]) == (1, "analyse-predict-table", "broken-line")
    assert answer["at"]["low"] < 15.6 < answer["at"]["high"]
    assert answer["rows"][-1]["load"] == 160


def test_diagnose_answers_with_the_keys_of_a_recording(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diagnose", str(path)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Saturates at ")
    assert "satline record" in shown
    assert run(["diagnose", str(path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["saturation"]["outcome"] == "saturated"
    assert answer["headline"].startswith("Saturates at ")
    assert answer["findings"] == []


def test_columns_can_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "t.csv"
    file.write_text("stage,done\n" + "".join(f"{n},{10 * min(n, 6)}\n" for n in (1, 2, 4, 8, 16, 32)))
    assert run(["diagnose", str(file)]) == 2
    assert "--users COLUMN" in capsys.readouterr().err
    for command in ("diagnose", "predict"):
        assert run([command, str(file), "--users", "stage", "--throughput", "done"]) == 0
        assert "6 stage" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["predict", "--at", "soon"], "--at 'soon'"),
        (["predict", "--at", "0"], "--at '0'"),
        (["predict", "--at", "nan"], "--at 'nan'"),
        (["predict", "--what-if", "cpu=2x"], "--what-if: of a recording"),
        (["diagnose", "--hours", "9-17"], "a filter: of a recording"),
        (["diagnose", "--load", "sessions"], "--load: of a recording"),
    ],
)
def test_options_of_recordings_are_refused(
    arguments: list[str], said: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([arguments[0], str(path), *arguments[1:]]) == 2
    assert said in capsys.readouterr().err


def test_options_of_tables_are_refused_for_recordings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["predict", str(tmp_path), "--at", "3"]) == 2
    assert "--at: of a table" in capsys.readouterr().err
    assert run(["diagnose", str(tmp_path), "--throughput", "x"]) == 2
    assert "--throughput: of a table" in capsys.readouterr().err


def test_names_from_outside_are_shown_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "t.csv"
    file.write_text("\x1b[31mn\x07,X\n1,10\n2,20\n4,39\n8,61\n16,70\n32,71\n")
    assert run(["predict", str(file), "--users", "\x1b[31mn\x07"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "\\x1b[31mn" in shown
