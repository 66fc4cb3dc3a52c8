"""`diagnose`, `predict` and `plan` say what the other answers say of the same recording."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from made_study import Made

from satline.cli import run
from satline.recording import Recording


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
    assert "Agrees: satline predict says " in diagnosed
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
