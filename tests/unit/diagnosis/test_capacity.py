"""How many users are carried: the crossing, its interval, what is told beyond the loads seen."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_study import Made

from satline.cli import run
from satline.cli.analyse.capacity import words
from satline.diagnosis import Diagnosis, Estimate, Finding, Saturation
from satline.diagnosis.capacity import Capacity, capacity, crossing
from satline.errors import InputError
from satline.recording import Recording, RecordingWriter, describe
from satline.stats import isotonic

S = 1_000_000_000


def recorded(
    path: Path,
    quick: dict[int, float],
    reactions: int | dict[int, int] = 200,
    seed: int = 1,
    **changed: object,
) -> Recording:
    """A load for each number of users: so large a part of its reactions takes 1 s, the others 3 s."""
    describe.create(path, "test")
    random = np.random.default_rng(seed)
    rows = []
    for step, (users, part) in enumerate(quick.items(), start=1):
        for k in range(reactions if isinstance(reactions, int) else reactions[users]):
            reaction_us = 1_000_000 if random.random() < part else 3_000_000
            row = {"user": f"u{k % users}", "step": step, "users": users, "phase": "window", "outcome": "ok"}
            times = {"reaction_us": reaction_us, "response_us": reaction_us + 500_000}
            when = {"time_ns": (step * 1000 + k) * S, "monotonic_ns": (step * 1000 + k) * S}
            rows.append({**when, **row, **times, **changed})
    with RecordingWriter(path, "terminal") as writer:
        writer.write_rows("transaction", rows)
    return Recording.open(path)


def answer(recording: Recording, **asked: float) -> Capacity:
    return capacity(recording, None, **asked)  # type: ignore[arg-type]


def test_the_crossing_lies_between_the_loads_that_enclose_it(tmp_path: Path) -> None:
    found = answer(recorded(tmp_path / "a.satline", {4: 1.0, 8: 0.98, 12: 0.7, 16: 0.2}, reactions=1000))
    assert found.between == (8, 12)
    assert found.users is not None
    assert found.low is not None
    assert found.high is not None
    assert found.users == pytest.approx(8 + 4 * 0.08 / 0.28, abs=0.4)
    assert 8 < found.low < found.users < found.high < 12
    assert [step.users for step in found.steps] == [4, 8, 12, 16]
    assert found.steps[3].median_s == 3.0
    assert "9." in words(found)[0]


def test_beyond_the_loads_seen_nothing_is_claimed(tmp_path: Path) -> None:
    many = answer(recorded(tmp_path / "a.satline", {4: 1.0, 8: 0.97}))
    assert (many.users, many.between) == (None, None)
    assert "8 users or more" in words(many)[0]
    few = answer(recorded(tmp_path / "b.satline", {4: 0.5, 8: 0.1}))
    assert (few.users, few.low, few.high) == (None, None, None)
    assert "fewer than 4 users" in words(few)[0]
    assert (few.causes, few.saturation) == ((), "never-reached")


def test_what_failed_was_not_in_time(tmp_path: Path) -> None:
    timeouts = recorded(tmp_path / "a.satline", {4: 1.0, 8: 1.0}, outcome="timeout")
    assert [step.within for step in answer(timeouts).steps] == [0.0, 0.0]
    assert [step.failed for step in answer(timeouts).steps] == [200, 200]


def test_a_load_that_not_all_could_bring_has_no_interval(tmp_path: Path) -> None:
    path = tmp_path / "a.satline"
    assert answer(recorded(path, {4: 1.0, 8: 0.0})).told
    with RecordingWriter(path, "terminal") as writer:
        writer.write_rows(
            "event",
            [
                {
                    "event": "log-on-failed",
                    "text": f"user-00{k}: the shell gave no prompt within 15 s{'!' * 500}",
                    "time_ns": k * S,
                    "monotonic_ns": k * S,
                }
                for k in (4, 3)
            ],
        )
    found = answer(Recording.open(path))
    assert (found.told, found.low, found.high) == (False, None, None)
    (said,) = (line for line in words(found) if line.startswith("No interval"))
    assert "2 log-ons failed for good" in said
    assert "(user-003: the shell gave no prompt within 15 s!!!" in said
    assert "log_on_seconds" in said
    assert len(said) < 400


def test_a_command_that_says_nothing_answers_with_its_prompt(tmp_path: Path) -> None:
    silent = recorded(tmp_path / "a.satline", {4: 1.0, 8: 0.0}, reaction_us=None)
    assert [step.within for step in answer(silent).steps] == [1.0, 0.0]
    strict = answer(silent, within_s=1.4)
    assert [step.within for step in strict.steps] == [0.0, 0.0]


def test_few_reactions_give_no_interval(tmp_path: Path) -> None:
    found = answer(recorded(tmp_path / "a.satline", {4: 1.0, 8: 0.0}, reactions=20))
    assert (found.told, found.low, found.high) == (False, None, None)
    assert found.users is not None
    assert any("too few" in line for line in words(found))


def test_a_light_load_of_few_reactions_costs_no_interval(tmp_path: Path) -> None:
    quick = {2: 1.0, 8: 0.98, 12: 0.7}
    found = answer(recorded(tmp_path / "a.satline", quick, reactions={2: 20, 8: 1000, 12: 1000}))
    assert found.told
    assert found.low is not None
    assert found.users is not None
    assert found.high is not None
    assert 8 < found.low < found.users < found.high < 12
    assert [step.users for step in found.steps] == [2, 8, 12]


@pytest.mark.parametrize(
    "quick",
    [
        {2: 0.5, 8: 0.98, 12: 0.7},  # slow at few users: it is not load alone that counts
        {2: 1.0, 8: 0.905, 12: 0.7},  # the capacity may lie below the first load that has enough
        {2: 1.0, 8: 0.5, 12: 0.2},
    ],
)
def test_a_light_load_of_few_reactions_that_the_answer_needs(tmp_path: Path, quick: dict[int, float]) -> None:
    found = answer(recorded(tmp_path / "a.satline", quick, reactions={2: 20, 8: 400, 12: 400}))
    assert (found.told, found.low, found.high) == (False, None, None)


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say(tmp_path: Path) -> None:
    """At 95 % stated, 40 series; fewer than 33 right would be seen once in 1,000 if that were so."""
    truth, right = 10.0, 0
    for seed in range(40):
        path = tmp_path / f"{seed}.satline"
        found = answer(recorded(path, {4: 0.98, 8: 0.94, 12: 0.86, 16: 0.4}, reactions=400, seed=seed))
        low = found.low if found.low is not None else -np.inf
        high = found.high if found.high is not None else np.inf
        right += low <= truth <= high
    assert right >= 33


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(1, 1e4)), min_size=1, max_size=12))
def test_the_course_falls_and_keeps_the_mean(drawn: list[tuple[float, float]]) -> None:
    values, weights = (np.array(column) for column in zip(*drawn, strict=True))
    course = isotonic(values, weights, rising=False)
    assert (np.diff(course) <= 1e-12).all()
    assert np.average(course, weights=weights) == pytest.approx(np.average(values, weights=weights))
    assert course.min() >= values.min() - 1e-12
    if (np.diff(values) <= 0).all():
        assert course == pytest.approx(values)


def test_a_part_that_is_met_exactly_is_carried() -> None:
    users, whole = np.array([1.0, 2.0, 3.0]), np.full(3, 10.0)
    assert crossing(users, np.array([10.0, 9.0, 0.0]), whole, 0.9) == 2.0
    assert crossing(users, np.array([10.0, 9.0, 9.0]), whole, 0.9) == np.inf
    assert crossing(users, np.array([8.0, 8.0, 9.0]), whole, 0.9) == -np.inf


def test_wrong_input_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="two are needed"):
        answer(recorded(tmp_path / "a.satline", {4: 1.0}))
    assert run(["capacity", str(tmp_path / "a.satline"), "--part", "much"]) == 2
    assert "hint: write 90%" in capsys.readouterr().err


def test_the_command_answers_in_words_and_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.satline"
    describe.create(path, "test")
    with RecordingWriter(path, "import") as writer:
        for table, rows in Made(cpu=0.1).make().rows.items():
            if rows:
                writer.write_rows(table, rows)
    assert run(["capacity", str(path), "--within", "1"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Carries ")
    assert max(map(len, shown.splitlines())) <= 120
    assert run(["capacity", str(path), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["what"] == "reaction"
    assert content["words"]


def test_what_may_limit_it_has_the_chances_that_the_diagnosis_gives(tmp_path: Path) -> None:
    def finding(rule: str, title: str, chance: float) -> Finding:
        gain = (rule, 0.2, 0.1)
        return Finding(rule, title, "io", "holds", chance, "", gain=gain, chance=chance, signs=0.5)

    findings = (finding("paging_bound", "paging bound", 0.62), finding("io_bound", "I/O bound", 0.31))
    verdict = Saturation("saturated", "users", 4, 12, "transaction_rate", Estimate(9, 8, 10, "users"))
    recording = recorded(tmp_path / "a.satline", {4: 1.0, 8: 0.97, 12: 0.5})
    both = capacity(recording, Diagnosis("a", "", verdict, findings, (), ()))
    assert (both.causes, both.chances) == (("paging bound", "I/O bound"), (0.62, 0.31))
    assert words(both)[0].endswith(
        "; what limits it cannot be told: paging bound (0.62) or I/O bound (0.31)."
    )
    sure = capacity(recording, Diagnosis("a", "", verdict, (replace(findings[0], chance=0.9),), (), ()))
    assert words(sure)[0].endswith("; limited by: paging bound (0.90).")
    # Without a model nothing is known of chances.
    plain = (replace(findings[0], gain=None, chance=None),)
    unknown = capacity(recording, Diagnosis("a", "", verdict, plain, (), ()))
    assert unknown.chances == (None,)
    assert words(unknown)[0].endswith("; limited by: paging bound.")
    assert asdict(both)["chances"] == (0.62, 0.31)
