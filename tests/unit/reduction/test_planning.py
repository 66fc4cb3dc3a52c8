"""How many users may be allowed, and what a load needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from made_recording import EPOCH, MadeRecording, at

from satline import cli
from satline.errors import InputError
from satline.recording import describe, write_parquet_table
from satline.reduction import Reduction, reduce
from satline.reduction.planning import Condition, allowance, demand
from satline.stats import isotonic, wilson

BUSY = Condition.parse("tasks_runnable > 9.5")


def reduction(chance_of: Any, observations: int = 200, block: int = 1) -> Reduction:
    """Users in queue go up slowly; the run queue is 10 with the chance that belongs to them, else 0."""
    random = np.random.default_rng(3)
    rows = []
    k = 0
    for n in range(1, 11):
        for _ in range(observations // block):
            full = random.random() < chance_of(n)
            for _ in range(block):
                free = 1e9 * (10 - n) + float(random.normal()) * 1e8
                rows.append(
                    {
                        **at(10 * k),
                        "users_in_queue": n,
                        "tasks_runnable": 10 if full else 0,
                        "mem_total_bytes": 12 * 10**9,
                        "mem_available_bytes": round(free),
                    }
                )
                k += 1
    recording = MadeRecording({"system": rows})
    return reduce(recording, "in_queue", variables=["tasks_runnable", "memory_used"], class_width=1)


def test_users_allowed_at_a_chance_of_a_quarter() -> None:
    answer = allowance(reduction(lambda n: (n - 1) / 12, 2000), BUSY, 0.25)
    assert answer.outcome == "limit"
    assert answer.low is not None
    assert answer.high is not None
    assert answer.load is not None
    assert answer.low <= 4 <= answer.high
    assert answer.high - answer.low <= 3
    assert answer.low <= answer.load <= answer.high


def test_loads_too_low_to_saturate_say_at_least_so_many() -> None:
    answer = allowance(reduction(lambda _: 0.01), BUSY, 0.25)
    assert (answer.outcome, answer.low, answer.load) == ("beyond", 10, None)


def test_a_system_saturated_at_every_load_allows_none() -> None:
    answer = allowance(reduction(lambda _: 0.9), BUSY, 0.25)
    assert (answer.outcome, answer.high) == ("none", 1)


def test_a_chance_near_the_one_asked_for_everywhere_cannot_be_told() -> None:
    answer = allowance(reduction(lambda _: 0.25, 100), BUSY, 0.25)
    assert answer.outcome == "cannot-tell"
    assert answer.reason


def test_a_chance_that_falls_with_load_is_no_matter_of_load() -> None:
    answer = allowance(reduction(lambda n: 0.9 if n < 5 else 0.05), BUSY, 0.5)
    assert answer.outcome == "cannot-tell"
    assert "falls" in answer.reason


def test_long_spells_of_saturation_are_worth_fewer_observations() -> None:
    single = allowance(reduction(lambda n: n / 20, 1000), BUSY, 0.25)
    spells = allowance(reduction(lambda n: n / 20, 1000, block=50), BUSY, 0.25)
    width = [c.high - c.low for c in single.classes]
    wider = [c.high - c.low for c in spells.classes]
    assert np.median(wider) > 1.8 * np.median(width)


def test_a_condition_below_and_one_in_percent() -> None:
    assert Condition.parse("idle_wait<= 5%") == Condition("idle_wait", False, 0.05, "idle_wait<= 5%")
    values = Condition("x", False, 1.0, "").holds(np.array([0.5, 2.0, np.nan]))
    assert values.tolist()[:2] == [1, 0]
    assert np.isnan(values[2])


@pytest.mark.parametrize("text", ["", "total_cpu", "total_cpu > high", "total_cpu > 1.2.3", "> 3", "a == 3"])
def test_no_condition_is_wrong_input(text: str) -> None:
    with pytest.raises(InputError, match="condition"):
        Condition.parse(text)


def test_storage_that_holds_six_users_nine_times_of_ten() -> None:
    answer = demand(reduction(lambda _: 0.5), "memory_used", 6, 90)
    # 12 - 4 GB on average with a standard deviation of 0.1 GB: 90 % of the time at most 8.128 GB
    assert answer.low is not None
    assert answer.high is not None
    assert answer.value is not None
    assert answer.low <= 8.128e9 <= answer.high
    assert answer.low <= answer.value <= answer.high
    assert (answer.load_low, answer.load_high, answer.n) == (6, 6, 200)
    assert answer.unit == "bytes"


def test_few_observations_at_a_load_take_in_its_neighbours_and_say_so() -> None:
    answer = demand(reduction(lambda _: 0.5, 20), "memory_used", 6, 50)
    assert answer.n >= 50
    assert (answer.load_low, answer.load_high) == (5, 7)


def test_loads_never_seen_are_not_answered() -> None:
    answer = demand(reduction(lambda _: 0.5), "memory_used", 60, 90)
    assert answer.value is None
    assert "seen from 1 to 10" in answer.reason


def test_a_high_percentile_of_few_observations_has_no_upper_end() -> None:
    answer = demand(reduction(lambda _: 0.5, 60), "memory_used", 6, 99)
    assert answer.high is None
    assert "too few" in answer.reason


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.5, 100)), min_size=1, max_size=20))
def test_the_fitted_chance_never_falls_and_keeps_the_mean(rows: list[tuple[float, float]]) -> None:
    values, weights = np.array(rows).T
    fitted = isotonic(values, weights)
    assert (np.diff(fitted) >= -1e-12).all()
    assert (fitted * weights).sum() == pytest.approx((values * weights).sum())
    if (np.diff(values) >= 0).all():
        assert fitted == pytest.approx(values)


def test_wilsons_interval_holds_the_part_as_often_as_it_says() -> None:
    random = np.random.default_rng(9)
    for part in (0.05, 0.25, 0.5):
        seen = random.binomial(100, part, size=4000) / 100
        held = np.mean([low <= part <= high for low, high in (wilson(s, 100) for s in seen)])
        assert 0.93 <= held <= 0.98


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording on disk: the more users in queue, the longer the run queue; the user's name is hostile."""
    path = tmp_path_factory.mktemp("plan") / "made.satline"
    describe.create(path, "tests", host={"page_bytes": 4096, "processors": 1, "name": "made"})
    random = np.random.default_rng(2)
    k = np.arange(3000)
    queue = 1 + k // 300
    system = {
        "time_ns": EPOCH + k * 10**10,
        "monotonic_ns": k * 10**10,
        "run": np.ones(3000, dtype=np.int64),
        "sample": k,
        "users_in_queue": queue,
        "tasks_runnable": np.where(random.random(3000) < queue / 20, 10, 0),
        "mem_total_bytes": np.full(3000, 8 * 10**9),
        "mem_available_bytes": random.integers(10**9, 2 * 10**9, 3000),
    }
    write_parquet_table(path, "system", pa.table(system))
    describe.end(path, "complete")
    return path


def run(*arguments: str) -> str:
    done = CliRunner().invoke(cli.commands, arguments)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def test_the_command_answers_both_questions(recording: Path) -> None:
    text = run("plan", str(recording), "--saturated", "tasks_runnable > 5", "--chance", "30%")
    assert text.startswith("Up to ")
    content = json.loads(run("plan", str(recording), "--saturated", "tasks_runnable > 5", "--json"))
    assert content["outcome"] == "limit"
    assert content["chance"] == 0.25
    text = run(
        "plan", str(recording), "--variable", "memory_used", "--at", "in_queue=6", "--percentile", "90"
    )
    assert "90 % of the time memory_used is at most 6." in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_command_tells_wrong_options(recording: Path) -> None:
    with pytest.raises(InputError, match="--at"):
        run("plan", str(recording), "--variable", "memory_used", "--at", "six")
    with pytest.raises(InputError, match="--chance"):
        run("plan", str(recording), "--saturated", "tasks_runnable > 5", "--chance", "few")
    with pytest.raises(InputError, match="there is no variable"):
        run("plan", str(recording), "--saturated", "cars > 5")
    assert CliRunner().invoke(cli.commands, ["plan", str(recording)]).exit_code == 2


def test_reduce_shows_trends_filters_and_classes(recording: Path) -> None:
    arguments = ("reduce", str(recording), "--load", "mpl", "--variables", "runnable_tasks,memory_used")
    text = run(*arguments, "--hours", "22-6", "--timezone", "Europe/Berlin")
    assert "runnable_tasks: " in text
    assert "memory_used: flat" in text
    assert "only hours 22-6 (Europe/Berlin)" in text
    content = json.loads(run(*arguments, "--classes", "equal-count:4", "--json"))
    assert len(content["classes"]) == 4
    assert content["trends"]["runnable_tasks"]["kind"] == "rises"
    assert content["load_axis"] == "in_queue"
    rows = run(*arguments, "--csv").splitlines()
    assert "p90_low" in rows[0]
    with pytest.raises(InputError, match="--days"):
        run(*arguments, "--days", "mon-someday")
    with pytest.raises(InputError, match="--from"):
        run(*arguments, "--from", "yesterday")
