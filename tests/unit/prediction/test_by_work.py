"""Of commands whose mix changes with load the prediction counts the work that they bring."""

from __future__ import annotations

from dataclasses import replace

import pytest
from mixed_study import Mixed

from satline.prediction import predict
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
COUNTED = "each counts as what one of its class takes at light load"


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_short_commands_that_go_on_completing_do_not_move_saturation(seed: int) -> None:
    recording = USERS.make(seed)
    answer = predict(recording, reduce(recording))
    assert answer.by_work
    assert answer.unit == "transaction"
    assert any(COUNTED in line for line in answer.warnings)
    assert answer.base is not None
    # By the count it is 25 users.
    assert answer.base.saturation_users.value == pytest.approx(15.0, rel=0.2)
    # What was measured is in the same unit, so the lightest load agrees.
    row = next(r for r in answer.base.rows if r.measured_throughput is not None)
    assert row.throughput.value == pytest.approx(row.measured_throughput.value, rel=0.25)


def test_users_who_all_type_the_same_mix_are_counted_by_transactions() -> None:
    recording = replace(USERS, by_user=False).paused_for(15.0).make(0)
    answer = predict(recording, reduce(recording))
    assert not answer.by_work
    assert not any(COUNTED in line for line in answer.warnings)
    assert answer.base is not None
    assert answer.base.saturation_users.value == pytest.approx(15.0, rel=0.15)
