"""Observations and curves on recordings whose truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_recording import MadeRecording, at, steady

from satline.errors import InputError
from satline.reduction import Filters, reduce
from satline.reduction._variables import prefix_of, variables

CPU = {
    "user_us": 300_000,
    "nice_us": 0,
    "system_us": 100_000,
    "irq_us": 0,
    "idle_us": 500_000,
    "iowait_us": 100_000,
    "steal_us": 0,
    "guest_us": 0,
}


def users(seconds: float, interval: float, rates: dict[str, float]) -> list[dict[str, Any]]:
    return [
        {**at(k * interval), "user": name, "cpu_us": round(rate * k * interval), "run_delay_us": 0}
        for k in range(round(seconds / interval) + 1)
        for name, rate in rates.items()
    ]


def mean(curves: Any, name: str, number: int = 0) -> float:
    value = curves.curves[name].points[number].mean
    assert value is not None
    return float(value)


def test_rates_of_steady_counters() -> None:
    rows = steady(
        100,
        interval=1,
        processors=2,
        **CPU,
        swap_in_pages=30,
        swap_out_pages=10,
        major_faults=25,
        block_in_bytes=245_760,
    )
    rows["user"] = users(100, 1, {"ann": 1000, "bob": 1000, "idle": 0, "_kernel": 5000})
    curves = reduce(MadeRecording(rows))
    assert curves.load_axis == "active_users"
    assert curves.observation_s == 10
    assert [(c.low, c.high, c.midpoint, c.observations) for c in curves.classes] == [(1, 2, 1.5, 10)]
    assert mean(curves, "problem_state") == pytest.approx(0.6)
    assert mean(curves, "supervisor_state") == pytest.approx(0.2)
    assert mean(curves, "total_cpu_fraction") == pytest.approx(0.4)
    assert mean(curves, "idle_wait") == pytest.approx(1.0)
    # 30 swap-ins of 4096 bytes are half of 245,760 bytes read
    assert mean(curves, "page_share") == pytest.approx(0.5)
    assert mean(curves, "page_wait") == pytest.approx(0.1)
    assert mean(curves, "io_wait") == pytest.approx(0.1)
    assert mean(curves, "paging_rate") == pytest.approx(40)
    assert mean(curves, "active_users") == 2
    assert "transaction_rate" in curves.missing
    assert "refault_rate" in curves.missing


def test_processors_of_the_system_under_test_and_its_quota() -> None:
    rows = steady(40, interval=1, processors=2, **CPU)
    for row in rows["processor"]:
        if row["processor"] == "0":
            row["user_us"] *= 3
    rows["user"] = users(40, 1, {"ann": 1000})
    description = {
        "host": {"page_bytes": 4096},
        "system_under_test": {"processors": [1], "limits": {"cpu_quota_processors": 0.5}},
    }
    curves = reduce(MadeRecording(rows, description))
    assert mean(curves, "problem_state") == pytest.approx(0.3)
    assert mean(curves, "capacity_processors") == 0.5
    assert mean(curves, "total_cpu_fraction") == pytest.approx(0.8)


def test_a_reset_costs_one_observation_and_makes_no_negative_rate() -> None:
    rows = steady(50, interval=10, processors=1, **CPU, swap_in_pages=100, swap_out_pages=0)
    for row in rows["system"][3:]:
        row["swap_in_pages"] -= 2500
    rows["user"] = users(50, 10, {"ann": 1000})
    curves = reduce(MadeRecording(rows))
    point = curves.curves["paging_rate"].points[0]
    assert point.n == 4
    assert point.mean == pytest.approx(100)


def test_clock_steps_do_no_harm_and_lost_samples_only_lengthen_a_period() -> None:
    rows = steady(200, interval=10, processors=1, **CPU)
    for row in rows["system"][5:]:
        row["time_ns"] -= 3600 * 10**9
    lost = {7, 12}
    for table in rows:
        rows[table] = [r for r in rows[table] if r["monotonic_ns"] // 10**10 not in lost]
    rows["user"] = [r for r in users(200, 10, {"ann": 1000}) if r["monotonic_ns"] // 10**10 not in lost]
    curves = reduce(MadeRecording(rows))
    point = curves.curves["problem_state"].points[0]
    assert point.n == 18
    assert point.sd == pytest.approx(0, abs=1e-9)
    assert point.mean == pytest.approx(0.3)


def test_differences_never_cross_runs() -> None:
    rows = steady(100, interval=10, processors=1, **CPU)
    rows["user"] = users(100, 10, {"ann": 1000})
    for table in rows.values():
        for row in table:
            row["run"] = 1 if row["monotonic_ns"] <= 50 * 10**9 else 2
    assert reduce(MadeRecording(rows)).curves["problem_state"].points[0].n == 9


def test_a_user_away_for_a_sample_gives_no_giant_rate() -> None:
    rows = steady(100, interval=10, processors=1, **CPU)
    rows["user"] = [
        r
        for r in users(100, 10, {"ann": 1000, "bob": 1000})
        if not (r["user"] == "bob" and 20 <= r["monotonic_ns"] / 1e9 <= 70)
    ]
    curves = reduce(MadeRecording(rows))
    assert curves.observations["user_run"].max() <= 0.002 + 1e-9
    assert curves.observations["active_users"].tolist() == [2, 1, 1, 1, 1, 1, 1, 1, 2, 2]


def test_what_was_not_recorded_is_missing_never_zero() -> None:
    rows = {"system": [{**at(10 * k), "sample": k} for k in range(20)]}
    rows["user"] = users(190, 10, {"ann": 1000})
    for row in rows["user"]:
        del row["run_delay_us"]
    curves = reduce(MadeRecording(rows))
    assert set(curves.curves) == {"active_users", "user_run", "largest_user_share"}
    assert {"page_share", "user_io_wait", "user_page_wait", "user_throttled", "file_fault_rate"} <= set(
        curves.missing
    )


def test_users_whom_a_swapper_holds_are_held_back_in_the_observation_they_are_seen_in() -> None:
    rows = steady(30, interval=10, processors=1, **CPU)
    rows["swapper"] = [
        {**at(k + 0.3), "users_eligible": held} for k, held in enumerate([0] * 10 + [1, 3] * 5 + [None] * 10)
    ]
    # A swapper that was started once more counts its runs by itself.
    for row in rows["swapper"][15:]:
        row["run"] = 2
    reduced = reduce(MadeRecording(rows))
    np.testing.assert_array_equal(reduced.observations["user_eligible"], [0, 2, np.nan])
    np.testing.assert_array_equal(reduced.observations["eligible"], [0, 2, np.nan])
    del rows["swapper"]
    assert "user_eligible" in reduce(MadeRecording(rows)).missing


def test_reasons_name_what_a_recording_can_hold() -> None:
    catalogue = variables()
    known = {d.name for d in catalogue.derived} | {f"table {t}" for t in catalogue.counters}
    for columns in (catalogue.counters, catalogue.levels):
        known |= {prefix_of(t) + c for t, names in columns.items() for c in names}
    missing = reduce(MadeRecording({"system": [{**at(10 * k), "sample": k} for k in range(20)]})).missing
    reasons = {
        name: why.removeprefix("not recorded: ").split(", ")
        for name, why in missing.items()
        if why.startswith("not recorded: ")
    }
    assert len(reasons) > 40
    assert {name: set(why) - known for name, why in reasons.items() if set(why) - known} == {}
    assert reasons["fork_rate"] == ["forks"]
    assert reasons["active_users"] == ["user_cpu_us"]
    assert reasons["capacity_processors"] == ["table processor"]


def test_a_delay_that_no_task_can_have_had_is_missing() -> None:
    # delay accounting switched on while a task sleeps gives it a delay as long as the host has been up
    rows = steady(100, interval=10, processors=1, **CPU)
    rows["user"] = users(100, 10, {"ann": 1000})
    for k, row in enumerate(rows["user"]):
        row |= {
            "processes": 2,
            "page_delay_us": 0,
            "io_delay_us": 50_000 * k + (3_000_000_000 if k >= 4 else 0),
        }
    for k, row in enumerate(rows["system"]):
        row |= {"swap_in_pages": 0, "major_faults": 0, "block_in_bytes": 4096 * k}
    point = reduce(MadeRecording(rows)).curves["user_io_wait"].points[0]
    assert point.n == 9
    assert point.mean == pytest.approx(0.005)


@pytest.mark.parametrize(("leap", "told"), [(False, 10), (True, 9)])
def test_a_delay_as_long_as_the_host_is_up_is_missing_however_many_processes_there_are(
    leap: bool, told: int
) -> None:
    # twenty processes may gain 800 s in 10 s by the looser bound; the host has been up for 700 s
    rows = steady(100, interval=10, processors=1, **CPU)
    rows["user"] = users(100, 10, {"ann": 1000})
    for k, row in enumerate(rows["user"]):
        row |= {"processes": 20, "page_delay_us": 0}
        row["io_delay_us"] = 50_000 * k + (705_000_000 if leap and k >= 4 else 0)
    for k, row in enumerate(rows["system"]):
        row |= {"swap_in_pages": 0, "major_faults": 0, "block_in_bytes": 4096 * k}
    for table in rows.values():
        for row in table:
            row["monotonic_ns"] += 660_000_000_000
    point = reduce(MadeRecording(rows)).curves["user_io_wait"].points[0]
    assert point.n == told
    assert point.mean == pytest.approx(0.005)


def study_rows() -> dict[str, list[dict[str, Any]]]:
    rows = steady(120, interval=0.5, processors=1, **CPU)
    rows["user"] = users(120, 0.5, {"u1": 200_000, "u2": 100_000, "server": 900_000})
    for row in rows["user"]:
        row |= {"io_delay_us": 0, "page_delay_us": 0}
    rows["event"] = []
    for step, (begin, end, load) in enumerate([(10.2, 30.2, 1), (40.0, 60.0, 2), (70.0, 90.0, 4)], start=1):
        base = {"source": "terminal", "step": step, "users": load}
        rows["event"].append({**at(begin), **base, "event": "window-start"})
        rows["event"].append({**at(end), **base, "event": "window-end"})
    # each user: 1 s in transaction, 1 s thinking
    rows["transaction"] = [
        {
            **at(2 * k + 0.1),
            "user": u,
            "outcome": "ok",
            "phase": "window",
            "class": "edit",
            "think_us": 800_000,
            "typing_us": 200_000,
            "response_us": 1_000_000,
            "reaction_us": 250_000,
        }
        for k in range(59)
        for u in ("u1", "u2")
    ]
    return rows


def test_windows_of_a_study() -> None:
    curves = reduce(MadeRecording(study_rows()))
    assert curves.load_axis == "users"
    assert curves.observation_s == 1
    assert [(c.low, c.high) for c in curves.classes] == [(1, 1), (2, 2), (4, 4)]
    # 19.5 s of periods lie wholly inside the first window: 19 observations of 1 s and one of 0.5 s
    assert curves.classes[0].observations == 20
    assert curves.classes[1].observations == 20
    assert mean(curves, "users_in_transaction", 1) == pytest.approx(1.0)
    assert mean(curves, "transaction_rate", 1) == pytest.approx(1.0)
    assert mean(curves, "response", 2) == pytest.approx(1.0)
    assert curves.curves["reaction"].points[2].percentiles[75] == pytest.approx(0.25)
    # the server is no user of a transaction
    assert mean(curves, "user_run", 1) == pytest.approx(0.3)
    assert mean(curves, "share_run", 1) == pytest.approx(0.3, rel=0.02)
    assert mean(curves, "user_other", 1) == pytest.approx(0.7, rel=0.02)


def test_filters_by_class_of_work_and_user() -> None:
    rows = study_rows()
    for row in rows["transaction"]:
        if row["user"] == "u2":
            row["class"] = "compile"
    recording = MadeRecording(rows)
    only = reduce(recording, filters=Filters(transaction_classes=("compile",)))
    assert mean(only, "transaction_rate", 1) == pytest.approx(0.5)
    without = reduce(recording, filters=Filters(exclude_users=("u2",)))
    assert mean(without, "user_run", 1) == pytest.approx(0.2)


def test_devices_and_busiest_task() -> None:
    rows = steady(100, interval=1, processors=2, **CPU)
    rows["user"] = users(100, 1, {"ann": 1000})
    hostile = "sd'a\x1b[31m"
    rows["device"] = [
        {
            **at(t),
            "device": name,
            "device_kind": "block",
            "reads": 10 * t,
            "writes": 0,
            "read_bytes": 40_960 * t,
            "write_bytes": 0,
            "read_wait_us": 50_000 * t,
            "write_wait_us": 0,
            "busy_us": busy * t,
            "queue_us": 50_000 * t,
        }
        for t in range(101)
        for name, busy in ((hostile, 40_000), ("sdb", 700_000))
    ]
    rows["task"] = [
        {
            **at(t),
            "pid": 5,
            "tid": tid,
            "start_ticks": 9,
            "user": user,
            "name": f"thread{tid}",
            "cpu_us": rate * t,
            "run_delay_us": 1000 * t,
            "state": "R",
        }
        for t in range(101)
        for tid, user, rate in ((6, "ann", 950_000), (7, "ann", 300_000), (8, "_satline", 10**6))
    ]
    curves = reduce(MadeRecording(rows))
    assert mean(curves, f"device_busy:{hostile}") == pytest.approx(0.04)
    assert mean(curves, f"device_response:{hostile}") == pytest.approx(0.005)
    assert mean(curves, "device_queue:sdb") == pytest.approx(0.05)
    assert mean(curves, "busiest_device") == pytest.approx(0.7)
    assert mean(curves, "busiest_task") == pytest.approx(0.95)
    top = curves.tasks[0]
    assert (top.name, top.user) == ("thread6", "ann")
    assert top.cpu == pytest.approx(0.95)


def test_unknown_axis_and_empty_recording_are_input_errors() -> None:
    with pytest.raises(InputError, match="unknown load axis"):
        reduce(MadeRecording({}), "cars")
    with pytest.raises(InputError, match="no two samples"):
        reduce(MadeRecording({}))
    rows = steady(20, **CPU)
    with pytest.raises(InputError, match="no measured windows"):
        reduce(MadeRecording(rows), "users")


@settings(max_examples=12, deadline=None)
@given(
    steps=st.lists(st.integers(-(2**40), 2**40), min_size=4, max_size=30),
    gone=st.sets(st.integers(0, 30), max_size=6),
    clock=st.lists(st.integers(-(10**12), 10**12), min_size=31, max_size=31),
)
def test_no_negative_rate_whatever_counters_devices_and_clocks_do(
    steps: list[int], gone: set[int], clock: list[int]
) -> None:
    values = np.abs(np.cumsum(np.array([0, *steps], dtype=np.int64)))
    rows: dict[str, list[dict[str, Any]]] = {"system": [], "processor": [], "user": [], "device": []}
    for k, v in enumerate(int(x) for x in values):
        t = {**at(10 * k)}
        t["time_ns"] += clock[k % 31]
        rows["system"].append(
            {**t, "swap_in_pages": v, "swap_out_pages": v, "major_faults": v, "block_in_bytes": v}
        )
        rows["processor"].append({**t, "processor": "0", **dict.fromkeys(CPU, v)})
        rows["user"].append({**t, "user": "ann", "cpu_us": v, "run_delay_us": v, "io_delay_us": v})
        if k not in gone:
            rows["device"].append(
                {**t, "device": "d", "device_kind": "block", "reads": v, "writes": v, "busy_us": v}
            )
    curves = reduce(MadeRecording(rows))
    for name, column in curves.observations.items():
        if name not in {"t0", "t1", "run", "stretch", "load"}:
            assert not (column < 0).any(), name
    for curve in curves.curves.values():
        assert all(p.mean is None or p.mean >= 0 for p in curve.points), curve.variable


@pytest.mark.parametrize(
    ("signal", "seen"),
    [
        ("user: tasks that end between samples, exactly", True),
        ("user.tasks_io_wait", True),
        ("task.cpu_us", False),
        ("task", False),
    ],
)
def test_no_busy_thread_is_known_unless_threads_were_not_recorded(signal: str, seen: bool) -> None:
    monitor = {"missing": [{"signal": signal, "reason": "the monitor may not"}]}
    rows = steady(100, interval=10, processors=1, **CPU)
    found = reduce(MadeRecording(rows, sources={"monitor": monitor}))
    assert found.settings.threads is seen
    why = found.missing["busiest_task"]
    assert why.startswith("no thread was busy enough") is seen


def with_periods(*lengths: float) -> dict[str, list[dict[str, Any]]]:
    """A processor that is 80 % in problem state in periods of less than half a minute, else 20 %."""
    rows: dict[str, list[dict[str, Any]]] = {"system": [{**at(0), "sample": 0, "users_logged_on": 1}]}
    rows["processor"] = [{**at(0), "processor": "0", "user_us": 0, "idle_us": 0, "system_us": 0}]
    rows["user"] = [{**at(0), "user": "ann", "cpu_us": 0, "processes": 1}]
    time, user = 0.0, 0
    for k, length in enumerate(lengths, 1):
        time += length
        user += round((0.8 if length < 30 else 0.2) * length * 1e6)
        idle = round(time * 1e6) - user
        rows["system"].append({**at(time), "sample": k, "users_logged_on": 1})
        rows["processor"].append(
            {**at(time), "processor": "0", "user_us": user, "idle_us": idle, "system_us": 0}
        )
        rows["user"].append({**at(time), "user": "ann", "cpu_us": user, "processes": 1})
    return rows


def test_a_short_period_is_not_lost_but_joined_to_the_next() -> None:
    found = reduce(MadeRecording(with_periods(60, 60, 20, 60, 60)), load_axis="sessions")
    assert found.seconds == pytest.approx([60, 60, 80, 60])
    assert mean(found, "problem_state") == pytest.approx((3 * 0.2 + 0.35) / 4)
    assert mean(found, "user_run") == pytest.approx((3 * 0.2 + 0.35) / 4)


def test_many_short_periods_are_observations_of_the_usual_length() -> None:
    lengths = [60.0] * 40 + [20.0] * 7 + [60.0] * 2
    found = reduce(MadeRecording(with_periods(*lengths)), load_axis="sessions")
    assert found.seconds == pytest.approx([60] * 42 + [80, 60])
    assert sum(found.seconds) == pytest.approx(sum(lengths))


def test_a_short_period_before_a_gap_or_the_end_has_no_next() -> None:
    found = reduce(MadeRecording(with_periods(60, 60, 20, 400, 60, 60, 20)), load_axis="sessions")
    assert found.seconds == pytest.approx([60, 60, 60, 60])
