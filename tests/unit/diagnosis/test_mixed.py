"""Commands of very different length: throughput is judged by the work that they bring."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_study import Made
from mixed_study import Mixed

from satline.diagnosis.saturation import saturation
from satline.reduction import reduce

# A third of the users types what takes 0.3 s, the others what takes 0.01 s, and these go first.
USERS = Mixed(
    demands=(0.3, 0.01),
    chances=(0.34, 0.66),
    levels=(3, 6, 9, 12, 16, 20, 24, 30, 36, 42),
    at_once=0.02,
    by_user=True,
    window=90.0,
).paused_for(15.0)

# One is enough to see what a change breaks; all are tried before it is merged.
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]


@pytest.mark.parametrize("seed", SEEDS)
def test_that_short_commands_go_on_completing_is_no_lack_of_saturation(seed: int) -> None:
    reduction = reduce(USERS.make(seed))
    counted = reduction.curves["transaction_rate"].points
    assert counted[-1].mean > 1.5 * counted[4].mean  # at 42 and at 16 users
    verdict = saturation(reduction)
    assert verdict.outcome == "saturated"
    assert verdict.throughput_variable == "work_rate"
    assert verdict.at is not None
    assert 0.75 * verdict.at.low <= 15.0 <= 1.25 * verdict.at.high
    assert "short ones go on completing" in verdict.reasons[-1]
    assert verdict.retrograde is None
    assert verdict.peak is None


@pytest.mark.parametrize("seed", SEEDS)
def test_well_below_saturation_it_is_not_saturated(seed: int) -> None:
    light = replace(USERS, levels=(1, 2, 3, 4, 5, 6, 7, 8))
    verdict = saturation(reduce(light.make(seed)))
    assert verdict.outcome == "not-saturated"


@pytest.mark.parametrize("seed", SEEDS)
def test_who_does_the_work_counts_and_not_who_types_most(seed: int) -> None:
    """At 20 users on the line of 15 who do the work have lost much, while the count still rises."""
    near = replace(USERS, levels=(2, 4, 6, 9, 12, 15, 18, 20), window=60.0)
    verdict = saturation(reduce(near.make(seed)))
    assert verdict.outcome != "not-saturated"


@pytest.mark.parametrize("seed", [1, 2])
def test_where_all_commands_are_of_one_class_work_is_no_other_measure(seed: int) -> None:
    """Of the first throughput tells, of the second it does not: its queue bends too gradually."""
    verdict = saturation(reduce(Made(cpu=0.15).make(seed)))
    assert verdict.outcome == ("saturated", "partly-known")[seed - 1]
    assert verdict.throughput_variable == "transaction_rate"


def test_the_made_study_is_what_its_description_says() -> None:
    """Alone a user waits for nobody: each response is its demand; and time is conserved at every load."""
    alone = Mixed(demands=(0.2,), chances=(1.0,), levels=(1,), spread=0.0, window=100.0).make(1)
    assert {row["response_us"] for row in alone.rows["transaction"]} <= {200_000, 199_999, 200_001, None}
    heavy = reduce(replace(USERS, levels=(60,)).make(1))
    assert np.nanmean(heavy.observations["total_cpu"]) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("demand", [4.0, *(pytest.param(s, marks=pytest.mark.slow) for s in (8.0, 30.0))])
def test_who_never_gets_an_answer_is_not_forgotten(demand: float) -> None:
    """A twentieth of the users types what beyond saturation never ends: no completed command tells of it."""
    starving = Mixed(
        demands=(demand, 0.02), chances=(0.05, 0.95), think=2.0, at_once=0.05, by_user=True, window=30.0
    )
    top = 4.5 * starving.saturation
    levels = tuple(round(top * part / 8) for part in range(1, 9))
    reduction = reduce(replace(starving, levels=levels).make(1))
    assert saturation(reduction).outcome != "not-saturated"


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_short_pauses_of_those_who_do_the_work_are_theirs(seed: int) -> None:
    busy = Mixed(
        demands=(0.05, 0.005),
        chances=(0.05, 0.95),
        pauses=(0.025, 1.0),
        levels=(20, 30, 40, 50, 60, 70, 80, 90, 100),
        at_once=0.01,
        by_user=True,
    )
    reduction = reduce(busy.make(seed))
    verdict = saturation(reduction)
    assert busy.saturation < 40
    assert verdict.outcome != "not-saturated"


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_users_who_never_came_are_no_load_by_work_either(seed: int) -> None:
    some = replace(USERS, levels=(4, 8, 12, 16, 24, 32, 40, 48, 56), come=30)
    verdict = saturation(reduce(some.make(seed)))
    assert verdict.outcome == "partly-known"
    assert "not all of the intended users took part" in verdict.reasons[0]
