"""The work that completed transactions bring: each counts as what one of its class takes at light load."""

from __future__ import annotations

from typing import Any

import pytest
from made_recording import MadeRecording, at, steady

from satline.reduction import Reduction, reduce

WINDOW_S = 100.0
THINK_S = 1.0


def transactions(
    step: int, kind: str | None, count: int, response_s: float, **more: Any
) -> list[dict[str, Any]]:
    """So many, spread over the window of this step."""
    begin = (step - 1) * WINDOW_S
    return [
        {
            **at(begin + (k + 0.1) * 90 / count),
            "user": "ann",
            "step": step,
            "users": (2, 8)[step - 1],
            "phase": "window",
            "class": kind,
            "outcome": "ok",
            "think_us": int(THINK_S * 1e6),
            "typing_us": 0,
            "response_us": round(response_s * 1e6),
            "reaction_us": round(response_s * 1e6),
            **more,
        }
        for k in range(count)
    ]


def reduced(*groups: list[dict[str, Any]]) -> Reduction:
    rows = steady(200, interval=1, processors=1, user_us=300_000, system_us=0, idle_us=700_000)
    rows["transaction"] = sorted((row for group in groups for row in group), key=lambda r: r["monotonic_ns"])
    rows["event"] = [
        {**at((step - 1 + end) * WINDOW_S), "source": "terminal", "event": name, "step": step, "users": users}
        for step, users in ((1, 2), (2, 8))
        for end, name in ((0, "window-start"), (1, "window-end"))
    ]
    return reduce(MadeRecording(rows))


def mean(reduction: Reduction, variable: str, place: int) -> float | None:
    return reduction.curves[variable].points[place].mean


def light() -> list[list[dict[str, Any]]]:
    return [transactions(1, "short", 10, 0.1), transactions(1, "long", 10, 1.0)]


def test_each_counts_as_what_one_of_its_class_takes_at_light_load() -> None:
    heavy = [transactions(2, "short", 20, 0.2), transactions(2, "long", 10, 3.0)]
    reduction = reduced(*light(), *heavy)
    assert mean(reduction, "work_rate", 0) == pytest.approx((10 * 0.1 + 10 * 1.0) / WINDOW_S)
    assert mean(reduction, "work_rate", 1) == pytest.approx((20 * 0.1 + 10 * 1.0) / WINDOW_S)
    alone = 20 * 0.1 * (THINK_S + 0.1) + 10 * 1.0 * (THINK_S + 1.0)
    here = 20 * 0.1 * (THINK_S + 0.2) + 10 * 1.0 * (THINK_S + 3.0)
    assert mean(reduction, "work_kept", 0) == pytest.approx(1.0)
    assert mean(reduction, "work_kept", 1) == pytest.approx(alone / here)


def test_what_failed_is_no_work() -> None:
    failed = transactions(2, "long", 10, 9.0, outcome="timeout")
    reduction = reduced(*light(), transactions(2, "short", 20, 0.2), failed)
    assert mean(reduction, "work_rate", 1) == pytest.approx(20 * 0.1 / WINDOW_S)


def test_a_class_that_is_rare_at_light_load_is_told_by_the_next_loads_too() -> None:
    reduction = reduced(*light(), transactions(1, "rare", 4, 0.5), transactions(2, "rare", 12, 0.9))
    weight = (4 * 0.5 + 12 * 0.9) / 16
    assert mean(reduction, "work_rate", 1) == pytest.approx(12 * weight / WINDOW_S)


def test_commands_without_a_class_are_one() -> None:
    reduction = reduced(transactions(1, None, 10, 0.1), transactions(2, None, 30, 0.4))
    assert mean(reduction, "work_rate", 1) == pytest.approx(30 * 0.1 / WINDOW_S)


def test_where_no_loads_were_intended_the_work_is_missing() -> None:
    groups = [[{**row, "users": None} for row in group] for group in light()]
    reduction = reduced(*groups)
    assert "work_rate" in reduction.missing
    assert "work_kept" in reduction.missing
    assert mean(reduction, "transaction_rate", 0) == pytest.approx(20 / WINDOW_S)


def test_what_never_ends_counts_against_what_users_keep() -> None:
    never = {"user": "bob", "outcome": "cut", "response_us": None, "reaction_us": None}
    stuck = transactions(2, "stuck", 1, 0.0, **never)
    reduction = reduced(*light(), transactions(2, "short", 20, 0.1), stuck)
    under_way = WINDOW_S - 9.0  # begun 0.1 of 90 s after the window
    alone = 20 * 0.1 * (THINK_S + 0.1)
    assert mean(reduction, "work_rate", 1) == pytest.approx(20 * 0.1 / WINDOW_S)
    assert mean(reduction, "work_kept", 1) == pytest.approx(alone / (alone + under_way**2), rel=1e-3)


def test_a_pause_is_that_of_the_class() -> None:
    heavy = [transactions(2, "short", 20, 0.2), transactions(2, "long", 10, 3.0)]
    quick = [[{**row, "think_us": 0} for row in group] for group in (light()[1], heavy[1])]
    reduction = reduced(light()[0], heavy[0], *quick)
    alone = 20 * 0.1 * (THINK_S + 0.1) + 10 * 1.0 * 1.0
    here = 20 * 0.1 * (THINK_S + 0.2) + 10 * 1.0 * 3.0
    assert mean(reduction, "work_kept", 1) == pytest.approx(alone / here)


def test_a_class_of_which_only_the_intended_loads_are_missing_makes_the_work_unknown() -> None:
    odd = transactions(2, "odd", 10, 0.5, users=None)
    reduction = reduced(*light(), transactions(2, "short", 20, 0.2), odd)
    assert mean(reduction, "work_rate", 0) == pytest.approx(11.0 / WINDOW_S)
    point = reduction.curves["work_rate"].points[1]
    assert point.n < reduction.curves["transaction_rate"].points[1].n
