"""From a recording to the whole answer."""

from __future__ import annotations

from typing import Any

import pytest
from made_recording import MadeRecording, at
from made_study import Made

from satline.errors import InputError
from satline.prediction import Prediction, changes, predict
from satline.reduction import Reduction, reduce

pytestmark = pytest.mark.slow

Study = tuple[MadeRecording, Reduction]


def study(made: Made, seed: int = 1) -> Study:
    recording = made.make(seed)
    return recording, reduce(recording)


@pytest.fixture(scope="module")
def compute() -> Study:
    return study(Made(cpu=0.12, levels=(1, 2, 3, 5, 7, 9, 13, 18)))


def test_the_lower_half_tells_where_it_saturates(compute: Study) -> None:
    answer = predict(*compute, half=True)
    assert answer.outcome == "predicted"
    assert (answer.from_low, answer.from_high) == (1, 5)
    base = answer.base
    assert base is not None
    assert base.first == "processors"
    truth = Made(cpu=0.12).saturation
    assert base.saturation_users.low <= truth <= base.saturation_users.high
    assert base.bend_users.value < base.saturation_users.value * 1.05
    for row in base.rows:
        if row.measured_throughput is not None and row.users >= 2:
            assert row.throughput.value == pytest.approx(row.measured_throughput.value, rel=0.3)
    assert [r.users for r in base.rows if r.measured_throughput] != []


def test_the_measured_loads_beyond_are_shown_and_not_used(compute: Study) -> None:
    recording, reduction = compute
    half = predict(recording, reduction, half=True)
    again = predict(recording, reduction, loads=(1, 5))
    assert half.base is not None
    assert again.base is not None
    assert again.demands == half.demands
    assert again.base.rows[-1] == half.base.rows[-1]


def test_users_who_could_not_log_on_weaken_it(compute: Study) -> None:
    recording, reduction = compute
    assert not any("log-on" in warning for warning in predict(recording, reduction).warnings)
    failed = {**at(1), "source": "terminal", "event": "log-on-failed", "text": "user-002: no prompt"}
    recording.rows["event"].append(failed)
    try:
        warnings = predict(recording, reduction).warnings
    finally:
        recording.rows["event"].remove(failed)
    assert any("1 log-on failed for good" in warning for warning in warnings)


def test_a_quota_is_what_the_load_may_use() -> None:
    made = Made(cpu=0.06, quota=0.5, levels=(1, 2, 4, 6, 9, 12))
    answer = predict(*study(made), what_if=[changes("quota=2x")])
    assert answer.base is not None
    assert answer.base.first == "quota"
    assert answer.base.saturation_users.low <= made.saturation <= answer.base.saturation_users.high
    (doubled,) = answer.scenarios
    assert doubled.more_throughput is not None
    assert doubled.more_throughput.value == pytest.approx(answer.base.ceiling.value, rel=0.01)


def test_a_cap_on_reads_is_named_and_not_the_device_beneath() -> None:
    made = Made(cpu=0.02, station=0.1, kind="io", cap=True, levels=(1, 2, 4, 6, 9, 12))
    answer = predict(*study(made))
    assert answer.base is not None
    assert answer.base.first == "read cap"
    assert {d.name for d in answer.demands} == {"processors", "read cap", "device:vda"}


def test_a_server_with_one_thread_is_a_station_where_its_time_is_known() -> None:
    made = Made(cpu=0.02, station=0.1, kind="server", processors=2, levels=(1, 2, 4, 6, 9, 12))
    recording = made.make()
    unknown = predict(recording, reduce(recording))
    assert any("one thread, ledger" in w for w in unknown.warnings)
    recording.rows["user"] += [
        {**{k: t[k] for k in at(0)}, "user": "ledger", "cpu_us": t["cpu_us"]} for t in recording.rows["task"]
    ]
    answer = predict(recording, reduce(recording))
    assert answer.base is not None
    assert answer.base.first == "server:ledger"
    assert answer.base.ceiling.value == pytest.approx(10, rel=0.1)


def test_without_transactions_the_unit_of_work_is_problem_state(compute: Study) -> None:
    recording, _ = compute
    silent = MadeRecording({**recording.rows, "transaction": []}, recording.description, recording.sources)
    answer = predict(silent, reduce(silent), half=True)
    assert answer.unit == "second of user time"
    assert answer.base is not None
    assert answer.base.ceiling.value == pytest.approx(0.9, rel=0.1)  # of which a tenth is supervisor state
    assert answer.base.saturation_users.value == pytest.approx(Made(cpu=0.12).saturation, rel=0.25)
    assert any("no transactions" in w for w in answer.warnings)
    assert all(row.measured_response_s is None for row in answer.base.rows)


def told(answer: Prediction) -> str:
    assert answer.outcome == "cannot-tell"
    assert answer.base is None
    assert answer.advice
    return answer.reasons[0]


def test_what_cannot_be_told(compute: Study) -> None:
    recording, reduction = compute
    assert "usable observations" in told(predict(recording, reduction, loads=(90, 99)))
    assert "one load" in told(predict(recording, reduction, loads=(5, 5)))
    for axis in ("requests", "in_queue"):
        assert "no number of users" in told(predict(recording, reduce(recording, axis)))
    bare: dict[str, Any] = {
        k: v for k, v in recording.rows.items() if k in ("system", "event", "transaction")
    }
    empty = MadeRecording(bare, recording.description, recording.sources)
    assert "neither processors nor devices" in told(predict(empty, reduce(empty)))


def test_users_asked_for_are_answered(compute: Study) -> None:
    answer = predict(*compute, users=[10, 40])
    assert answer.base is not None
    assert [r.users for r in answer.base.rows] == [10, 40]
    little = answer.base.rows[1]
    assert answer.think_s is not None
    assert little.throughput.value * (little.response_s.value + answer.think_s.value) == pytest.approx(
        40, rel=1e-6
    )


def test_a_change_of_what_was_not_seen_is_an_error(compute: Study) -> None:
    with pytest.raises(InputError, match="no device:sdz"):
        predict(*compute, what_if=[changes("device:sdz=2x")])


def test_more_storage_says_what_it_takes_for_granted() -> None:
    paging = Made(cpu=0.02, station=0.1, kind="page", levels=(1, 2, 4, 6, 9, 12))
    answer = predict(*study(paging), what_if=[changes("storage=2x")])
    assert any("an assumption, not a measurement" in w for w in answer.warnings)
    (scenario,) = answer.scenarios
    assert scenario.more_users is not None
    assert scenario.more_users.low > 0
    assert scenario.more_users.high > 1.2 * scenario.more_users.low
