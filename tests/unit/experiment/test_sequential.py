"""Replicates beyond the plan of a designed study."""

from __future__ import annotations

import math

import numpy as np
import pytest

from satline.errors import InputError
from satline.experiment.designed import DesignPart
from satline.experiment.designed._sequential import Look, contrasts, extended, look
from satline.experiment.designs import Factor, Plan, make_plan

FACTORS = (Factor("memory", ("32", "48")), Factor("reads", ("slow", "fast")))


def plan_of(factors: tuple[Factor, ...] = FACTORS, replicates: int = 2) -> Plan:
    return make_plan(factors, seed=1, replicates=replicates)


def carried(effect: float, spread: float, seed: int, design: DesignPart) -> tuple[Plan, Look]:
    """Runs until it is enough: memory changes the mean of 10 by `effect`."""
    random, plan, values = np.random.default_rng(seed), plan_of(), {}
    while True:
        for run in plan.runs:
            if run.number not in values:
                high = run.levels["memory"] == "48"
                values[run.number] = float(10 + effect * high + spread * random.normal())
        found = look(plan, values, design)
        if found.run is None:
            return plan, found
        plan = extended(plan, found.run)


def test_each_level_is_held_against_the_lowest_in_cells_that_differ_in_nothing_else() -> None:
    plan = plan_of((Factor("memory", ("32", "48", "64")), FACTORS[1]), 1)
    cells, rows = contrasts(plan)
    assert list(rows) == ["memory 32 → 48", "memory 32 → 64", "reads slow → fast"]
    of = dict(zip(cells, rows["memory 32 → 64"], strict=True))
    assert of == {
        ("32", "slow"): -0.5,
        ("64", "slow"): 0.5,
        ("32", "fast"): -0.5,
        ("64", "fast"): 0.5,
        ("48", "slow"): 0,
        ("48", "fast"): 0,
    }


def test_a_large_effect_needs_few_runs_and_a_doubtful_one_more() -> None:
    design = DesignPart(most_runs=60, smallest=1.0)
    few = [len(carried(8.0, 1.0, seed, design)[0].runs) for seed in range(10)]
    more = [len(carried(1.0, 1.0, seed, design)[0].runs) for seed in range(10)]
    assert np.mean(few) < np.mean(more) <= 60
    _, found = carried(8.0, 1.0, 1, design)
    assert {e.name: e.state for e in found.effects}["memory 32 → 48"] == "there"
    assert found.lines()[0].startswith("memory 32 → 48: ")
    assert "there is an effect" in found.lines()[0]


def test_no_effect_is_called_one_seldom_however_often_it_is_looked_at() -> None:
    design = DesignPart(most_runs=40, smallest=0.05)
    wrong = sum(
        effect.state == "there" for seed in range(60) for effect in carried(0.0, 1.0, seed, design)[1].effects
    )
    assert wrong / 120 < 0.1  # 0.05 at most, and chance


def test_the_most_runs_are_the_end() -> None:
    plan, found = carried(0.0, 1.0, 3, DesignPart(most_runs=12, smallest=1e-6))
    assert len(plan.runs) == 12
    assert found.run is None
    assert "the 12 runs are done" in found.why
    assert [run.number for run in plan.runs] == list(range(1, 13))


def test_an_effect_of_logarithms_is_a_factor() -> None:
    design = DesignPart(most_runs=40, smallest=0.2, transform="log")
    values = {run.number: 2.0 if run.levels["memory"] == "48" else 1.0 for run in plan_of().runs}
    values = {number: value * (1 + 0.01 * number) for number, value in values.items()}
    found = look(plan_of(), values, design)
    assert found.lines()[0].startswith("memory 32 → 48: ×")
    assert found.effects[0].value == pytest.approx(math.log(2), rel=0.1)
    with pytest.raises(InputError, match="no logarithm"):
        look(plan_of(), {**values, 1: 0.0}, design)


def test_a_cell_without_a_result_decides_nothing() -> None:
    plan = plan_of()
    cell = plan.runs[0].levels
    values = {run.number: 1.0 for run in plan.runs if run.levels != cell}
    found = look(plan, values, DesignPart(most_runs=40, smallest=0.2))
    assert (found.run, found.why) == (None, "1 cells have no result")


@pytest.mark.parametrize(
    "keys", [{"most_runs": 9}, {"smallest": 1.0}, {"most_runs": 9, "smallest": 1.0, "blocks": 2}]
)
def test_what_goes_together_is_asked_for(keys: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="most_runs"):
        DesignPart.model_validate(keys)
