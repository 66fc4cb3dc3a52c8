"""Verdicts on systems of every kind whose saturation is known: the first of those that the bench judges."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "benches/saturation"))

from run import judged, table
from systems import made

SYSTEMS = 60


@pytest.mark.slow
def test_few_confident_verdicts_are_wrong_and_most_clear_cases_are_told() -> None:
    answers = [judged(index) for index in range(SYSTEMS)]
    result = table(answers)
    by_kind = {kind: [a for a in answers if a.kind == kind] for kind in {a.kind for a in answers}}
    assert sum(bool(a.wrong) for a in answers) <= 1, [a for a in answers if a.wrong]
    assert len(by_kind) == 12
    for kind in ("sharp", "retrograde"):
        assert all(a.outcome == "saturated" for a in by_kind[kind]), by_kind[kind]
    assert all(a.outcome == "partly-known" for a in by_kind["two regimes"]), by_kind["two regimes"]
    assert not any(a.outcome == "saturated" for a in by_kind["background"]), by_kind["background"]
    told = sum(a.outcome != "partly-known" for a in answers)
    assert told >= 30
    assert isinstance(result["intervals"], int)
    assert result["intervals"] >= 10
    assert isinstance(result["coverage"], float)
    assert result["coverage"] >= 0.8


@pytest.mark.parametrize("index", [20413, 20461, 20641])
def test_a_short_trouble_is_no_lasting_change(index: int) -> None:
    system = made(index)
    answer = system.verdict()
    assert not system.wrong(answer)
    assert not any("the system changed" in reason for reason in answer.reasons)
