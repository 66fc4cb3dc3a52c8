"""The verdict of a study that chose its steps is that of the posterior that chose them."""

from __future__ import annotations

from dataclasses import replace

import duckdb
import numpy as np
import pytest
from made_recording import TABLES, MadeRecording
from mixed_study import Mixed

from satline.diagnosis import Saturation, diagnose
from satline.diagnosis._results import LeftCpu
from satline.diagnosis._searched import by_posterior, search_of
from satline.knee import Window
from satline.reduction import reduce

BEFORE = Saturation("partly-known", "users", 1.0, 80.0, "transaction_rate", reasons=("before",))
LOADS = (4, 12, 36, 80, 20, 28, 60, 16, 44, 10, 30)


def _windows(
    knee: float, *, waiting: bool = True, loads: tuple[int, ...] = LOADS, left: bool = False
) -> list[Window]:
    random = np.random.default_rng(8)
    made = []
    for k, users in enumerate(loads):
        part = (0.5, 0.9, 0.7)[k % 3] if left else 1.0
        value = min(users, knee * part)
        seen = random.poisson(value * 5.0, 6) / 5.0
        waits = 1 - value / users if waiting else 0.0
        made.append(Window(users, 37.0 * k, 5.0, seen, waiting=waits, taken=1 - part if left else None))
    return made


def test_a_knee_with_loads_on_both_sides_is_a_verdict() -> None:
    verdict = by_posterior(BEFORE, _windows(25.0), 80, 1)
    assert verdict.outcome == "saturated"
    assert verdict.at is not None
    assert verdict.at.low < 25 < verdict.at.high
    assert verdict.throughput_at is not None
    assert verdict.throughput_at.value == pytest.approx(25, rel=0.15)
    assert verdict.left is None


def test_what_others_took_is_told_with_what_a_whole_cpu_would_carry() -> None:
    verdict = by_posterior(BEFORE, _windows(25.0, left=True), 80, 1)
    assert verdict.outcome == "saturated"
    assert verdict.left is not None
    assert verdict.left.whole is not None
    assert verdict.left.whole.low < 25 < verdict.left.whole.high
    assert verdict.at is not None
    assert verdict.at.value < 0.85 * verdict.left.whole.value


def test_what_others_took_evenly_is_of_the_cpu_only_where_that_was_seen_to_limit() -> None:
    windows = [replace(w, taken=0.3) for w in _windows(25.0)]
    assert by_posterior(BEFORE, windows, 80, 1).left is None
    seen = replace(BEFORE, left=LeftCpu(0.7, 0.7, 0.7))
    left = by_posterior(seen, windows, 80, 1).left
    assert left is not None
    assert left.part == pytest.approx(0.7)


def test_users_who_do_not_wait_are_not_held_back() -> None:
    verdict = by_posterior(BEFORE, _windows(25.0, waiting=False), 80, 1)
    assert verdict.outcome == "partly-known"
    assert "hardly any" in verdict.reasons[0]
    assert verdict.at is None


def test_a_straight_line_is_not_saturated() -> None:
    assert by_posterior(BEFORE, _windows(1000.0), 80, 1).outcome == "not-saturated"


def test_a_bend_below_the_lightest_load_is_none_that_was_seen() -> None:
    verdict = by_posterior(BEFORE, _windows(6.0, loads=(12, 36, 80, 20, 28, 60)), 80, 1)
    assert verdict.outcome == "partly-known"


def test_too_few_windows_leave_the_verdict_as_it_was() -> None:
    assert by_posterior(BEFORE, _windows(25.0)[:4], 80, 1) is BEFORE


@pytest.mark.parametrize(
    ("study", "found"),
    [
        ({"search": {"most_users": 62, "seed": 3}}, (62, 3)),
        ({"search": {"most_users": "many"}}, None),
        ({"search": []}, None),
        ({}, None),
    ],
)
def test_only_a_study_that_chose_its_steps_is_one(study: dict[str, object], found: object) -> None:
    assert search_of({"study": study}) == found


class Stored(MadeRecording):
    """A made recording whose tables are such as a file's are, in a connection that may make others."""

    def connect(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect()
        for name in TABLES:
            connection.register("given", self._table(name))
            connection.execute(f'CREATE TABLE "stored_{name}" AS SELECT * FROM given')
            connection.execute(f'CREATE VIEW "{name}" AS SELECT * FROM "stored_{name}"')
        return connection


def test_where_commands_differ_the_line_that_is_drawn_is_of_their_work() -> None:
    users = Mixed((0.3, 0.01), (0.34, 0.66), (3, 9, 16, 24, 36, 42, 12, 30), by_user=True, window=60.0)
    made = users.paused_for(15.0).make(3)
    made.description["study"] = {"search": {"most_users": 60, "seed": 1}}
    recording = Stored(made.rows, made.description, made.sources)
    reduction = reduce(recording, "users")
    verdict = diagnose(recording, reduction).saturation
    assert verdict.throughput_variable == "work_rate"
    assert verdict.throughput_at is not None
    assert verdict.slope_before is not None
    assert verdict.throughput_at.unit == reduction.curves["work_rate"].unit
    top = reduction.curves["work_rate"].points[-1].mean
    assert top is not None
    assert verdict.throughput_at.value == pytest.approx(top, rel=0.25)
    assert verdict.slope_before.unit == f"{verdict.throughput_at.unit} per user"
