"""Load axes and their classes, and what is left out."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from made_recording import EPOCH, SECOND, MadeRecording, at, steady

from satline.errors import InputError
from satline.reduction import Filters, reduce
from satline.reduction._axes import Axis
from satline.reduction._classes import Classing, make_classes, round_width
from satline.reduction._groups import group

RATE = Axis("requests", "transaction_rate", "per second")
QUEUE = Axis("in_queue", "mpl", "users")


def queue_rows(loads: list[int]) -> dict[str, list[dict[str, Any]]]:
    """A sample every 10 s with so many users in queue; what they are at the first counts nowhere."""
    return {
        "system": [
            {
                **at(10 * k),
                "users_in_queue": n,
                "tasks_runnable": 3 * n,
                "load_average_1": n / 2,
                "users_logged_on": n + 5,
                "major_faults": 100 * k,
            }
            for k, n in enumerate(loads)
        ]
    }


def test_without_users_the_default_is_the_first_queue_that_was_recorded() -> None:
    rows = queue_rows([1, 2, 3, 4] * 60)
    assert reduce(MadeRecording(rows)).load_axis == "in_queue"
    for row in rows["system"]:
        del row["users_in_queue"]
    curves = reduce(MadeRecording(rows))
    assert (curves.load_axis, curves.load_unit) == ("run_queue", "tasks")
    for row in rows["system"]:
        del row["tasks_runnable"]
    assert reduce(MadeRecording(rows)).load_axis == "load_average"
    for row in rows["system"]:
        del row["load_average_1"]
    assert reduce(MadeRecording(rows)).load_axis == "sessions"
    for row in rows["system"]:
        del row["users_logged_on"]
    nothing = reduce(MadeRecording(rows))
    assert (nothing.load_axis, nothing.classes) == ("active_users", ())


def test_a_load_that_the_recording_states_is_the_default() -> None:
    rows = queue_rows([1, 2, 3, 4] * 60)
    stated = {"host": {}, "system_under_test": {"load_axis": "sessions"}}
    assert reduce(MadeRecording(rows, stated)).load_axis == "sessions"
    assert reduce(MadeRecording(rows, stated), "run_queue").load_axis == "run_queue"
    unknown = {"host": {}, "system_under_test": {"load_axis": "no such"}}
    assert reduce(MadeRecording(rows, unknown)).load_axis == "in_queue"


def test_a_mean_run_queue_is_a_load_of_fractional_classes() -> None:
    levels = [0.1 * (k % 37) for k in range(2000)]
    rows = {"system": [{**at(10 * k), "run_queue_mean": n} for k, n in enumerate(levels)]}
    curves = reduce(MadeRecording(rows))
    assert (curves.load_axis, curves.load_unit) == ("run_queue", "tasks")
    assert curves.load == pytest.approx(levels[1:])
    assert len(curves.classes) > 10
    assert curves.classes[0].high == pytest.approx(0.2)
    assert sum(c.observations for c in curves.classes) == 1999
    assert all(c.low - 1e-9 <= c.midpoint <= c.high + 1e-9 for c in curves.classes)


def requests_rows(count: int, spacing_s: float, response_s: float) -> dict[str, list[dict[str, Any]]]:
    """A request every `spacing_s`, each under way for `response_s`; a reading every ten seconds."""
    length = int(count * spacing_s)
    return {
        "system": [at(10 * k) for k in range(length // 10 + 1)],
        "transaction": [
            {**at(spacing_s * k), "user": "u", "response_us": round(response_s * 1e6), "outcome": "ok"}
            for k in range(count)
        ],
    }


def test_requests_in_flight_are_the_load_of_a_log_of_requests() -> None:
    curves = reduce(MadeRecording(requests_rows(4000, 0.5, 3.2)))
    assert (curves.load_axis, curves.load_unit) == ("in_flight", "requests")
    # Little's law: two a second, each for 3.2 s
    assert np.median(curves.load) == pytest.approx(6.4)
    assert np.nanmedian(curves.observations["transaction_rate"]) == pytest.approx(2)
    assert reduce(MadeRecording(requests_rows(40, 0.5, 3.2)), "users_in_transaction").load_axis == "in_flight"


def test_transactions_that_the_source_counts_for_the_whole_system_are_throughput() -> None:
    rows = steady(600, 10, transactions=7)
    curves = reduce(MadeRecording(rows), "transaction_rate")
    assert curves.load_axis == "requests"
    assert curves.load == pytest.approx(np.full(60, 7.0))
    counted = {**rows, "user": [{**at(10 * k), "user": "u", "transactions": 30 * k} for k in range(61)]}
    assert reduce(MadeRecording(counted), "requests").load == pytest.approx(np.full(60, 3.0))


def test_without_any_queue_tasks_are_those_that_run_or_are_at_a_disk() -> None:
    rows = steady(600, 10, processors=2, user_us=200_000, system_us=50_000, idle_us=750_000)
    rows["device"] = [
        {**at(10 * k), "device": name, "device_kind": kind, "request_wait_us": us * k}
        for k in range(61)
        for name, kind, us in (
            ("c0t0d0", "block", 8_000_000),
            ("c0t1d0", "block", 4_000_000),
            ("dm-0", "block", 5_000_000),
            ("sd0,a", "block", 5_000_000),
            ("eth0", "network", 5_000_000),
        )
    ]
    curves = reduce(MadeRecording(rows))
    assert (curves.load_axis, curves.load_unit) == ("in_system", "tasks")
    assert curves.load == pytest.approx(np.full(60, 0.5 + 1.2))
    for row in rows["system"]:
        row["tasks_runnable"] = 3
    assert reduce(MadeRecording(rows)).load_axis == "run_queue"
    assert reduce(MadeRecording(rows), "in_system").load == pytest.approx(np.full(60, 3 + 1.2))


@pytest.mark.parametrize(
    ("asked", "called"),
    [
        ("mpl", "in_queue"),
        ("runnable_tasks", "run_queue"),
        ("logged_on", "sessions"),
        ("sessions", "sessions"),
    ],
)
def test_a_variable_with_a_friendly_name_is_called_by_it(asked: str, called: str) -> None:
    assert reduce(MadeRecording(queue_rows([1, 2] * 60)), asked).load_axis == called


def test_any_variable_level_or_counter_can_be_the_load() -> None:
    recording = MadeRecording(queue_rows([1, 2] * 60))
    assert reduce(recording, "major_fault_rate").load == pytest.approx(np.full(119, 10.0))
    assert reduce(recording, "major_faults").load == pytest.approx(np.full(119, 10.0))
    assert reduce(recording, "load_average_1").load_axis == "load_average"
    assert set(reduce(recording, "tasks_runnable").load) == {3.0, 6.0}


def test_unknown_names_get_near_ones() -> None:
    recording = MadeRecording(queue_rows([1, 2] * 60))
    with pytest.raises(InputError, match="unknown load axis") as caught:
        reduce(recording, "run_que")
    assert "run_queue" in caught.value.hint
    with pytest.raises(InputError, match="one value for each device"):
        reduce(recording, "device_busy")
    with pytest.raises(InputError, match="there is no variable") as caught:
        reduce(recording, variables=["total_cpv"])
    assert "total_cpu" in caught.value.hint


def test_merged_classes_stand_at_their_mean_load_and_whole_ones_at_their_middle() -> None:
    loads = [1] * 60 + [2] * 20 + [3] * 25 + [5] * 40 + [6] * 5
    curves = reduce(MadeRecording(queue_rows([1, *loads])), class_observations=50)
    assert [(c.low, c.high, c.label, c.observations) for c in curves.classes] == [
        (1, 2, "1-2", 80),
        (3, 6, "3-6", 70),
    ]
    assert curves.classes[0].midpoint == 1.5
    assert curves.classes[1].midpoint == pytest.approx((25 * 3 + 40 * 5 + 5 * 6) / 70)


@pytest.mark.parametrize(
    ("width", "expected"), [(0.7, 1), (1.0, 1), (1.2, 2), (3, 5), (7, 10), (0.013, 0.02), (0, 1)]
)
def test_round_widths(width: float, expected: float) -> None:
    assert round_width(width) == pytest.approx(expected)


def test_classes_of_a_rate_have_round_widths_and_say_what_they_hold() -> None:
    load = np.linspace(0, 100, 4001)
    classes, number = make_classes(load, np.ones(4001), RATE, Classing())
    assert [c.label for c in classes[:2]] == ["0 to below 5", "5 to below 10"]
    assert classes[-1].label.startswith("95 to ")
    assert number.min() == 0
    for k, c in enumerate(classes):
        assert c.midpoint == pytest.approx(load[number == k].mean())


@example([20.0, -1.0, -5e-324], 1, None)
@example([0.6, 0.7, 0.41, 0.0, 4.0], 1, None)
@given(
    st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=300),
    st.integers(1, 60),
    st.sampled_from([None, "equal-count", "equal-count:4"]),
)
def test_every_load_is_within_the_bounds_of_its_class(
    loads: list[float], at_least: int, kind: str | None
) -> None:
    load = np.array([*loads, np.nan])
    classes, number = make_classes(load, np.ones(len(load)), RATE, Classing.of(kind, None, at_least))
    assert number[-1] == -1
    assert (number[:-1] >= 0).all()
    for value, k in zip(load[:-1], number[:-1], strict=True):
        assert classes[k].low <= value <= classes[k].high
    assert sum(c.observations for c in classes) == len(loads)
    if kind is None and len(loads) >= at_least:
        assert all(c.observations >= at_least for c in classes)


def test_one_load_far_out_makes_no_million_classes() -> None:
    load = np.array([*np.linspace(0, 10, 500), 1e15])
    classes, number = make_classes(load, np.ones(501), RATE, Classing())
    assert len(classes) < 30
    assert classes[number[-1]].high == 1e15
    huge, _ = make_classes(np.array([1.0] * 60 + [2.0**60]), np.ones(61), QUEUE, Classing())
    assert len(huge) == 1


def test_classes_of_equal_count_have_it_and_never_part_equal_loads() -> None:
    load = np.random.default_rng(1).normal(100, 30, 1000)
    classes, _ = make_classes(load, np.ones(1000), RATE, Classing.of("equal-count:8", None, 50))
    assert [c.observations for c in classes] == [125] * 8
    tied, number = make_classes(
        np.repeat([1.0, 2.0, 3.0], 100), np.ones(300), QUEUE, Classing.of("equal-count:2", None, 1)
    )
    assert len(tied) == 2
    assert all(len(set(number[k * 100 : (k + 1) * 100])) == 1 for k in range(3))


@pytest.mark.parametrize("classes", ["equal", "equal-count:0", "equal-count:x", "equal-count:-3"])
def test_wrong_classes_are_input_errors(classes: str) -> None:
    with pytest.raises(InputError, match="classes"):
        Classing.of(classes, None, 50)


def test_wrong_widths_are_input_errors() -> None:
    with pytest.raises(InputError, match="width"):
        Classing.of(None, -1, 50)
    with pytest.raises(InputError, match="no width"):
        Classing.of("equal-count", 2, 50)
    with pytest.raises(InputError, match="whole number"):
        make_classes(np.array([1.0, 2.0]), np.ones(2), QUEUE, Classing(width=1.5))


@cache
def three_days() -> MadeRecording:
    """A reading every ten minutes."""
    rows = steady(3 * 86_400, 600.0, user_us=100)
    for row in rows["system"]:
        row["users_in_queue"] = 1
    return MadeRecording(rows)


def count(filters: Filters) -> int:
    curves = reduce(three_days(), "in_queue", variables=["problem_state"], filters=filters)
    return sum(c.observations for c in curves.classes)


def test_hours_and_days_follow_the_clock_of_their_zone() -> None:
    # the recording begins on Tuesday 2023-11-14 at 22:13:20 UTC, and lasts three days
    assert EPOCH == 1_700_000_000 * SECOND
    assert count(Filters()) == 432
    assert count(Filters(hours=(9, 17))) == 3 * 48
    assert count(Filters(hours=(22, 6))) == 3 * 48
    # at 9 in New York it is 14 in UTC
    assert count(Filters(hours=(9, 17), timezone="America/New_York")) == 3 * 48
    assert count(Filters(days=(1,))) == 11
    assert count(Filters(days=(2, 3))) == 2 * 144
    assert count(Filters(days=(2,), hours=(0, 1), timezone="Asia/Tokyo")) == 0
    assert count(Filters(days=(3,), hours=(0, 1), timezone="Asia/Tokyo")) == 6
    assert (
        count(Filters(start=datetime(2023, 11, 15, tzinfo=UTC), end=datetime(2023, 11, 16, tzinfo=UTC)))
        == 144
    )


@pytest.mark.parametrize("interval", [600.0, 3000.0])
def test_an_observation_lies_where_its_middle_does(interval: float) -> None:
    # readings at 8:53:20 + k intervals: that of 8:53:20 to 9:03:20 has its middle before 9, that of
    # 16:53:20 to 17:03:20 before 17
    start = 38_400.0  # from 22:13:20
    rows = steady(12 * 3600, interval, user_us=100)
    for row in rows["system"]:
        row["users_in_queue"] = 1
        row["time_ns"] += round(start * SECOND)
    made = MadeRecording(rows)
    curves = reduce(made, "in_queue", filters=Filters(hours=(9, 17)))
    begins = EPOCH + round(start * SECOND)
    day = 86_400 * SECOND
    middles = [begins + round((k + 0.5) * interval * SECOND) for k in range(round(12 * 3600 / interval))]
    inside = [m for m in middles if 9 * 3600 * SECOND <= m % day < 17 * 3600 * SECOND]
    assert sum(c.observations for c in curves.classes) == len(inside)
    by_hour = group(made, "hour", ["problem_state"], filters=Filters(hours=(9, 17)))
    assert {g.label for g in by_hour.classes} == {f"{m % day // (3600 * SECOND):02d}" for m in inside}
    assert "08" not in {g.label for g in by_hour.classes}
    moment = datetime.fromtimestamp(middles[3] / 1e9, UTC)
    since = reduce(made, "in_queue", filters=Filters(start=moment))
    assert sum(c.observations for c in since.classes) == len(middles) - 3
    before = reduce(made, "in_queue", filters=Filters(end=moment))
    assert sum(c.observations for c in before.classes) == 3


def test_filters_that_cannot_be_are_input_errors_and_the_others_have_words() -> None:
    with pytest.raises(InputError, match="Mars/Base"):
        Filters(timezone="Mars/Base")
    with pytest.raises(InputError, match="hours"):
        Filters(hours=(9, 30))
    assert Filters().words() == ""
    assert Filters(hours=(9, 17), days=(0, 4), exclude_users=("backup",)).words() == (
        "hours 9-17 (UTC); mon, fri (UTC); without users backup"
    )
