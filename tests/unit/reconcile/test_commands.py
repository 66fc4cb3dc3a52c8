"""`diagnose`, `predict`, `plan`, the report and a study's end say what other answers say of the recording."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from pathlib import Path

import pytest
from made_study import Made

from satline.cli import run
from satline.experiment.protocol import Result, judge
from satline.present.documents import plain
from satline.present.html import write_report
from satline.recording import Recording
from satline.reduction import Reduction, reduce
from satline.reduction.planning import Condition, allowance

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def opened() -> Iterator[None]:
    # Twelve users are too many for a station that takes a tenth of a second.
    made = Made(cpu=0.02, station=0.1, kind="io", levels=(1, 2, 4, 6, 8, 10, 14, 18, 24)).make()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Recording, "open", lambda *_: made)
        yield


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run([words[0], "made.satline", *words[1:]]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_each_command_says_what_the_others_say(capsys: pytest.CaptureFixture[str]) -> None:
    diagnosed = shown(capsys, "diagnose")
    predicted = shown(capsys, "predict")
    assert diagnosed.startswith("Saturates at ")
    assert "Agrees: satline analyse predict says " in diagnosed
    assert " first (the intervals overlap; it names the same)." in diagnosed
    # Nothing is taken back where they agree.
    assert predicted.startswith("Saturates at ")
    assert "Agrees: satline diagnose says " in predicted


def test_a_prediction_from_some_of_the_loads_says_so_where_it_differs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = json.loads(shown(capsys, "predict", "--from-loads", "..2", "--think", "3", "--json"))["agreement"]
    assert told["teller"] == "predict"
    assert told["agrees"] is False
    load = next(r for r in told["relations"] if r["about"] == "load")
    assert (load["agreement"], load["reason"]) == ("different", "other loads")
    text = shown(capsys, "predict", "--from-loads", "..2", "--think", "3")
    assert text.startswith("By the model it saturates at ")
    assert "the model was made from the loads up to 2 only" in text


def test_json_of_a_diagnosis_carries_the_agreement(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(shown(capsys, "diagnose", "--json"))["agreement"]
    assert told["agrees"] is True
    assert {one["by"] for one in told["said"]} == {"diagnose", "predict"}


def test_a_plan_says_what_the_diagnosis_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "plan", "--saturated", "busiest_device > 0.9")
    told = json.loads(shown(capsys, "plan", "--saturated", "busiest_device > 0.9", "--json"))["agreement"]
    assert told["teller"] == "plan"
    assert all(line in text for line in told["lines"])
    assert {"diagnose", "predict", "plan"} == {one["by"] for one in told["said"]}


def test_a_plan_reduces_the_recording_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def counted(*words: object, **more: object) -> Reduction:
        asked.append(more)
        return reduce(*words, **more)  # type: ignore[arg-type]

    monkeypatch.setattr("satline.reduction.reduce", counted)
    # `mem_available_bytes` is a level of table system, and no derived variable.
    for condition in ("busiest_device > 0.9", "mem_available_bytes < 2000000000"):
        shown(capsys, "plan", "--saturated", condition)
    assert len(asked) == 2
    alone, whole = (
        reduce(Recording.open(Path()), **more) for more in ({"variables": ["mem_available_bytes"]}, asked[1])
    )  # type: ignore[arg-type]
    wanted = Condition.parse("mem_available_bytes < 2000000000")
    assert allowance(alone, wanted, 0.25) == allowance(whole, wanted, 0.25)


def test_the_report_says_what_the_prediction_says(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    agreement = json.loads(shown(capsys, "diagnose", "--json"))["agreement"]
    shown(capsys, "report", "-o", str(tmp_path / "page.html"))
    page = " ".join((tmp_path / "page.html").read_text(encoding="utf-8").split())
    assert agreement["lines"]
    for line in agreement["lines"]:
        assert f'<p class="note">{escape(line)}</p>' in page


def test_a_study_ends_with_what_the_prediction_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("satline.recording.compact", lambda _: None)
    judged = judge(tmp_path, for_peak=False, write_page=write_report)
    assert judged.agreement.lines
    result = Result(tmp_path, judged, windows=9)
    monkeypatch.setattr("satline.experiment.protocol.run_study", lambda *_: result)
    assert run(["study", "cpu-bound"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for line in judged.agreement.lines:
        assert line in text
    assert run(["study", "cpu-bound", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["diagnosis"]["agreement"] == plain(judged.agreement)
    assert judged.report is not None
    page = " ".join(judged.report.read_text(encoding="utf-8").split())
    assert all(escape(line) in page for line in judged.agreement.lines)
