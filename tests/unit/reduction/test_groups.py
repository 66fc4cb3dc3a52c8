"""Variables by time, hour of the day, user and device."""

from __future__ import annotations

from typing import Any

import pytest
from made_recording import EPOCH, SECOND, MadeRecording, at, steady

from satline.errors import InputError
from satline.reduction import Filters, reduce
from satline.reduction._group_users import user_variables
from satline.reduction._groups import group

# The recordings begin in the middle of an hour: 22:13:20 UTC.
START = EPOCH // SECOND


def two_hours(interval: float = 60.0) -> MadeRecording:
    """Two hours: in the first half an hour a processor is half busy, then it is a quarter busy."""
    rows: dict[str, list[dict[str, Any]]] = {"system": [], "processor": []}
    for k in range(int(7200 / interval) + 1):
        t = k * interval
        busy = 0.5 * min(t, 1800) + 0.25 * max(0.0, t - 1800)
        rows["system"].append({**at(t), "sample": k})
        values = {"user_us": round(busy * 1e6), "nice_us": 0, "system_us": 0, "irq_us": 0, "guest_us": 0}
        rows["processor"].append({**at(t), "processor": "0", **values})
    return MadeRecording(rows)


def users(
    users: dict[str, float], *, seconds: int = 600, leaves: dict[str, int] | None = None
) -> MadeRecording:
    """Users with an even processor time each; one who `leaves` has no rows from then on."""
    rows = steady(seconds, interval=10.0, user_us=0, nice_us=0, system_us=0, irq_us=0, idle_us=1e6)
    rows["user"] = [
        {
            **at(t),
            "user": name,
            "processes": 1,
            "cpu_us": round(cpu * t * 1e6),
            "run_delay_us": round(cpu * t * 2e5),
        }
        for t in range(0, seconds + 1, 10)
        for name, cpu in users.items()
        if t <= (leaves or {}).get(name, seconds)
    ]
    return MadeRecording(rows)


def transaction(user: str, began: float, response: float, outcome: str = "ok") -> dict[str, Any]:
    return {
        **at(began),
        "user": user,
        "phase": "work",
        "class": "edit",
        "outcome": outcome,
        "response_us": round(response * 1e6),
        "reaction_us": 1000,
        "think_us": 0,
        "typing_us": 0,
    }


def test_stretches_of_time_follow_the_clock() -> None:
    groups = group(two_hours(), "time", ["problem_state"], every_s=1800)
    assert [g.label for g in groups.classes] == [
        "2023-11-14 22:00",
        "2023-11-14 22:30",
        "2023-11-14 23:00",
        "2023-11-14 23:30",
        "2023-11-15 00:00",
    ]
    first = groups.classes[0]
    assert first.low == START - START % 1800
    assert (first.high or 0) - (first.low or 0) == 1800
    assert sum(g.observations for g in groups.classes) == 120
    assert sum(g.seconds for g in groups.classes) == pytest.approx(7200)
    means = [p.mean for p in groups.curves["problem_state"].points]
    assert means[0] == pytest.approx(0.5)
    assert means[2] == pytest.approx(0.25)
    assert means[4] == pytest.approx(0.25)


def test_the_clock_is_that_of_the_zone() -> None:
    berlin = Filters(timezone="Europe/Berlin")
    groups = group(two_hours(), "time", ["problem_state"], filters=berlin)
    assert [g.label for g in groups.classes][:2] == ["2023-11-14 23:00", "2023-11-15 00:00"]
    by_hour = group(two_hours(), "hour", ["problem_state"], filters=berlin)
    assert [(g.label, g.at) for g in by_hour.classes] == [("00", 0.5), ("01", 1.5), ("23", 23.5)]


def test_filters_choose_the_observations() -> None:
    groups = group(two_hours(), "hour", ["problem_state"], filters=Filters(hours=(23, 24)))
    assert {g.label: g.observations for g in groups.classes} == {"23": 60}


def test_too_fine_stretches_are_wrong_input() -> None:
    with pytest.raises(InputError, match="stretches of time are more than") as caught:
        group(MadeRecording(steady(3000)), "time", ["context_switch_rate"], every_s=1, observation_s=1)
    assert "at least 2 s long" in caught.value.hint or "at least 1 s long" in caught.value.hint


def test_a_single_day_needs_no_dates() -> None:
    recording = MadeRecording(steady(600, interval=10.0, context_switches=50))
    groups = group(recording, "time", ["context_switch_rate"], every_s=300)
    assert [g.label for g in groups.classes] == ["22:10", "22:15", "22:20"]
    assert groups.curves["context_switch_rate"].points[1].mean == pytest.approx(50)


def test_each_user_has_its_own_numbers() -> None:
    groups = group(users({"anna": 0.1, "bob": 0.3, "_kernel": 0.9}), "user", ["user_run", "user_cpu_wait"])
    assert [g.label for g in groups.classes] == ["bob", "anna"]
    run, wait = groups.curves["user_run"], groups.curves["user_cpu_wait"]
    assert [p.mean for p in run.points] == pytest.approx([0.3, 0.1])
    assert [p.mean for p in wait.points] == pytest.approx([0.06, 0.02])
    assert run.points[0].n == 60


def test_users_add_up_to_all_of_them() -> None:
    recording = users({"anna": 0.1, "bob": 0.3})
    groups = group(recording, "user", ["user_run", "user_cpu_wait"])
    all_of_them = reduce(recording, "active_users", variables=["user_run", "user_cpu_wait"])
    for name in ("user_run", "user_cpu_wait"):
        together = all_of_them.curves[name].points[0].mean
        assert sum(p.mean or 0 for p in groups.curves[name].points) == pytest.approx(together)


def test_who_was_there_for_a_short_time_is_ranked_by_the_total() -> None:
    groups = group(users({"anna": 0.4, "bob": 0.1}, leaves={"anna": 60}), "user", ["user_run"])
    assert [g.label for g in groups.classes] == ["bob", "anna"]
    assert [g.seconds for g in groups.classes] == [600, 60]
    assert groups.curves["user_run"].points[1].mean == pytest.approx(0.4)


def test_only_the_largest_are_shown_and_the_reader_is_told() -> None:
    many = users({f"u{k}": 0.01 * (k + 1) for k in range(6)})
    groups = group(many, "user", ["user_run"], most=2)
    assert [g.label for g in groups.classes] == ["u5", "u4"]
    assert groups.notes == ("The 2 with the largest totals are shown, of 6 users.",)


def test_transactions_belong_to_their_user() -> None:
    recording = users({"anna": 0.1, "bob": 0.1})
    recording.rows["transaction"] = [
        *(transaction("anna", 20 * k + 3, 2.0) for k in range(30)),
        *(transaction("bob", 60 * k + 5, 8.0) for k in range(10)),
        transaction("bob", 333, 1.0, outcome="timeout"),
    ]
    names = ["transaction_rate", "response", "users_in_transaction", "failure_rate"]
    groups = group(recording, "user", names)
    assert [g.label for g in groups.classes] == ["anna", "bob"]
    rate, response, inside, failed = (groups.curves[name].points for name in names)
    assert [p.mean for p in rate] == pytest.approx([30 / 600, 10 / 600])
    assert [p.mean for p in response] == pytest.approx([2.0, 8.0])
    assert [p.n for p in response] == [30, 10]
    assert [p.mean for p in inside] == pytest.approx([60 / 600, 81 / 600])
    assert [p.mean for p in failed] == pytest.approx([0, 1 / 600])


def test_without_processes_a_user_is_there_from_the_first_to_the_last_transaction() -> None:
    rows = steady(600, interval=10.0)
    rows["transaction"] = [transaction("anna", 100 + 20 * k, 5.0) for k in range(10)]
    groups = group(MadeRecording(rows), "user", ["transaction_rate"])
    assert groups.classes[0].seconds == 190
    assert groups.curves["transaction_rate"].points[0].mean == pytest.approx(10 / 190)


def test_a_user_without_transactions_has_none_not_zero() -> None:
    recording = users({"anna": 0.1, "cron": 0.2})
    recording.rows["transaction"] = [transaction("anna", 20 * k + 3, 2.0) for k in range(30)]
    groups = group(recording, "user", ["user_run", "transaction_rate"])
    assert [g.label for g in groups.classes] == ["cron", "anna"]
    assert groups.curves["transaction_rate"].points[0].mean is None


def test_a_recording_without_users_says_so() -> None:
    groups = group(MadeRecording(steady(600, interval=10.0, user_us=1e5)), "user", ["user_run", "response"])
    assert groups.classes == ()
    assert groups.curves == {}
    assert groups.missing["response"] == "the recording holds no transactions"
    assert groups.missing["user_run"]


def test_devices_are_ordered_by_their_totals() -> None:
    rows = steady(600, interval=10.0)
    rows["device"] = [
        {
            **at(t),
            "device": name,
            "device_kind": "block",
            "reads": rate * t,
            "writes": 0,
            "read_wait_us": rate * t * 5000,
            "write_wait_us": 0,
            **({"busy_us": rate * t * 1000} if name != "nfs" else {}),
        }
        for t in range(0, 601, 10)
        for name, rate in (("sda", 10), ("sdb", 30), ("nfs", 20))
    ]
    groups = group(MadeRecording(rows), "device", ["device_rate", "device_busy", "device_response"])
    assert [g.label for g in groups.classes] == ["sdb", "nfs", "sda"]
    assert [p.mean for p in groups.curves["device_rate"].points] == pytest.approx([30, 20, 10])
    busy = [p.mean for p in groups.curves["device_busy"].points]
    assert busy[0] == pytest.approx(0.03)
    assert busy[1] is None
    assert [p.mean for p in groups.curves["device_response"].points] == pytest.approx([0.005] * 3)
    assert groups.classes[0].seconds == pytest.approx(600)


def test_locks_have_their_spin() -> None:
    rows = steady(600, interval=10.0, user_us=1e5)
    rows["lock"] = [
        {**at(t), "lock": name, "spins": t, "spin_us": rate * t, "hold_us": 2 * rate * t}
        for t in range(0, 601, 10)
        for name, rate in (("queue", 2000), ("page table", 9000))
    ]
    groups = group(MadeRecording(rows), "lock", ["lock_spin_each", "lock_held_each"])
    assert [g.label for g in groups.classes] == ["page table", "queue"]
    assert [p.mean for p in groups.curves["lock_spin_each"].points] == pytest.approx([0.009, 0.002])


def test_days_are_batches_of_the_hours_of_the_day() -> None:
    """Five days that differ, each steady within: the error must be that of five values, not of hundreds."""
    rows: dict[str, list[dict[str, Any]]] = {"system": []}
    total, levels = 0.0, (10, 20, 30, 20, 10)
    for k in range(5 * 24 * 12 + 1):
        t = k * 300
        rows["system"].append({**at(t), "sample": k, "context_switches": round(total)})
        total += 300 * levels[min(4, k // 288)]
    groups = group(MadeRecording(rows), "hour", ["context_switch_rate"])
    noon = next(
        p
        for g, p in zip(groups.classes, groups.curves["context_switch_rate"].points, strict=True)
        if g.label == "12"
    )
    assert noon.n == 60
    assert noon.honest_error == pytest.approx(8.4 / 5**0.5, rel=0.05)
    assert noon.standard_error is not None
    assert noon.honest_error > 3 * noon.standard_error


def test_an_unknown_variable_is_wrong_input() -> None:
    with pytest.raises(InputError, match="no variable nonsense"):
        group(two_hours(), "time", ["nonsense"])


def test_what_was_counted_for_all_users_together_is_no_one_users() -> None:
    rows = steady(600, 10, transactions=7)
    rows["user"] = [
        {**at(10 * k), "user": name, "cpu_us": 1000 * k} for k in range(61) for name in ("ann", "bob")
    ]
    made = group(MadeRecording(rows), "user", ["user_run", "transaction_rate"])
    assert [g.label for g in made.classes] == ["ann", "bob"]
    assert "transaction_rate" not in made.curves


def test_which_variables_a_user_has() -> None:
    assert {"user_run", "user_page_wait", "share_run", "transaction_rate", "response"} <= user_variables()
    assert not {"problem_state", "mpl", "active_users", "device_busy", "busiest_task"} & user_variables()
