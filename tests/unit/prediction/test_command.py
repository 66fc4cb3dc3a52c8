"""`satline analyse predict` on a recording: what it prints."""

from __future__ import annotations

import json

import pytest
from made_recording import MadeRecording
from made_study import Made

from satline.cli import run
from satline.recording import Recording


@pytest.fixture(scope="module")
def recording() -> MadeRecording:
    made = Made(cpu=0.02, station=0.1, kind="io", levels=(1, 2, 4, 6, 9, 12)).make()
    for row in made.rows["device"]:
        row["device"] = "sd\x1b[31ma"
    return made


@pytest.fixture(autouse=True)
def opened(recording: MadeRecording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recording, "open", lambda *_: recording)


def test_the_verdict_comes_first_in_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["predict", "made.satline", "--what-if", "cpu=2x", "--what-if", "cpu=2x,processors=2"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Saturates at ")
    assert "What if cpu=2x and processors=2" in shown
    assert "measured/s" in shown
    assert "one request at a time" in shown
    assert "\x1b" not in shown
    assert "\\x1b[31ma" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_json_has_every_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["predict", "made.satline", "--from-loads", "..half", "--users", "3,30", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["format"] == 1
    assert answer["outcome"] == "predicted"
    assert answer["from_high"] == 4
    assert [row["users"] for row in answer["base"]["rows"]] == [3, 30]
    assert answer["base"]["rows"][0]["measured_throughput"] is None


def test_cannot_tell_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["predict", "made.satline", "--from-loads", "50.."]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Cannot tell: only 0 usable observations")
    assert "–" in shown


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["predict", "--help"]) == 0
    shown = capsys.readouterr().out
    for word in ("Examples:", "cpu=2x", "storage=2x", "[[station]]", "--from-loads"):
        assert word in shown


def test_a_time_zone_without_a_clock_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["predict", "made.satline", "--timezone", "Europe/Berlin"]) == 2
    said = capsys.readouterr().err
    assert "--timezone alone changes nothing here" in said
    assert "hint: it is for --hours, --days, --from and --to" in said
