"""Windows of a recording as the search for the knee is given them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from made_recording import MadeRecording, at

from satline.windows.one import About, Parts, light_work, window_of

WORKLOAD = """
name = "made"
think = { distribution = "fixed", mean_seconds = 1.0 }
[[script]]
name = "s"
[[script.command]]
class = "short"
input = "a"
weight = 3
[[script.command]]
class = "long"
input = "b"
"""
TOOK = {"short": 0.1, "long": 0.9}
RAMP_S, WARM_UP_S, WINDOW_S = 2.0, 3.0, 20.0
STEP_S = RAMP_S + WARM_UP_S + WINDOW_S
THINK_S = 1.0


def made(steps: tuple[int, ...] = (2, 4), slower: float = 1.0, **more: Any) -> MadeRecording:
    """Users who think for 1 s and type commands of both classes in a fixed order; in later steps each takes
    `slower` times as long. They log on one after the other within the ramp, and stay."""
    rows: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    on = 0
    for number, users in enumerate(steps, 1):
        begin = (number - 1) * STEP_S
        events.append(event("step", begin, number, users, STEP_S))
        for user in range(on, users):
            on += 1
            when = begin + RAMP_S * (user + 0.5) / users
            events.append(event("logged-on", when, number, users, on))
            rows += lines(user, when, len(steps) * STEP_S + 5, steps, slower)
        for name, when in (("window-start", begin + STEP_S - WINDOW_S), ("window-end", begin + STEP_S)):
            events.append(event(name, when, number, users))
    ended = [row for row in rows if row["monotonic_ns"] < at(len(steps) * STEP_S)["monotonic_ns"]]
    tables = {"transaction": sorted(ended, key=lambda r: r["monotonic_ns"]), "event": events, **more}
    return MadeRecording(tables, {"study": {"workload": WORKLOAD}})


def event(name: str, when: float, step: int, users: int, value: float | None = None) -> dict[str, Any]:
    given = {"source": "terminal", "event": name, "step": step, "users": users, "value": value}
    return {**at(when), **given}


def lines(
    user: int, when: float, until: float, steps: tuple[int, ...], slower: float
) -> list[dict[str, Any]]:
    rows = []
    count = user
    while when < until:
        kind = "long" if count % 4 == 3 else "short"
        count += 1
        sent = when + THINK_S
        step = min(int(sent // STEP_S), len(steps) - 1)
        inside = sent - step * STEP_S
        took = TOOK[kind] * (slower if step else 1.0)
        rows.append(
            {
                **at(sent),
                "user": f"user-{user + 1:03}",
                "script": "s",
                "class": kind,
                "step": step + 1,
                "users": steps[step],
                "phase": "ramp" if inside < RAMP_S else "warmup" if inside < STEP_S - WINDOW_S else "window",
                "outcome": "ok",
                "think_us": round(THINK_S * 1e6),
                "typing_us": 0,
                "lateness_us": 0,
                "reaction_us": round(took * 5e5),
                "response_us": round(took * 1e6),
            }
        )
        when = sent + took
    return rows


def about(recording: MadeRecording) -> About:
    return About.of(SimpleNamespace(description=recording.description))  # type: ignore[arg-type]


def window(recording: MadeRecording, step: int, **options: Any) -> Parts:
    found = window_of(recording.connect(), step, about=about(recording), **options)
    assert found is not None
    return found


def test_a_light_window_has_the_pace_of_its_users() -> None:
    """Each does a line of the stated mix in 1 s + (3 · 0.1 + 0.9) / 4 s."""
    found = window(made(), 1)
    assert found.throughput.mean() == pytest.approx(2 / 1.3, rel=1e-6)
    assert (found.users, found.begin_s) == (2, RAMP_S + WARM_UP_S)
    assert len(found.throughput) * found.block_s == pytest.approx(WINDOW_S)
    assert found.waiting == pytest.approx(0.0, abs=1e-6)
    assert found.taken is None
    assert found.settled
    assert 0.04 < np.median(found.reactions_s) < 0.06
    assert set(found.fields()) == {
        *("users", "begin_s", "block_s", "throughput", "reactions_s", "waiting", "taken", "settled"),
        "spread_is_error",
    }


def test_what_a_line_takes_at_light_load_is_of_the_lightest_step() -> None:
    recording = made((4, 8), slower=2.0)
    assert light_work(recording.connect()) == pytest.approx({("s", "short"): 0.1, ("s", "long"): 0.9})
    found = window(recording, 2)
    assert found.waiting == pytest.approx(0.5, abs=0.02)
    assert 0 < found.corrected.elasticity < 1
    # Counted as one each, in the mix as drawn.
    assert window(recording, 2, work={}).throughput.mean() == pytest.approx(8 / 1.6, rel=0.05)


def test_runs_into_one_recording_have_windows_of_their_own() -> None:
    """A study that went on numbers its steps anew; what a line takes at light load is of all its runs."""
    first, second = made((2, 4)), made((8,))
    later_ns = round(3 * STEP_S * 1e9)
    rows = {}
    for name in ("transaction", "event"):
        rows[name] = [{**row, "run": 1} for row in first.rows[name]]
        for row in second.rows[name]:
            shifted = {key: row[key] + later_ns for key in ("time_ns", "monotonic_ns") if key in row}
            rows[name].append({**row, **shifted, "run": 2})
    both = MadeRecording(rows, first.description)
    light = light_work(both.connect())
    assert light == pytest.approx({("s", "short"): 0.1, ("s", "long"): 0.9})
    for alone, run, step, begin_s in ((first, 1, 1, 0.0), (first, 1, 2, STEP_S), (second, 2, 1, 3 * STEP_S)):
        found, as_alone = window(both, step, run=run, work=light), window(alone, step, work=light)
        assert found.users == as_alone.users
        assert found.begin_s == pytest.approx(begin_s + RAMP_S + WARM_UP_S)
        # A line of the next run ends nobody's pause at the end of this one.
        assert found.throughput == pytest.approx(as_alone.throughput, rel=1e-6)
    assert window_of(both.connect(), 2, run=2, about=about(both), work=light) is None


def test_there_is_no_window_before_its_end() -> None:
    recording = made()
    recording.rows["event"] = [
        e for e in recording.rows["event"] if (e["event"], e["step"]) != ("window-end", 2)
    ]
    assert window_of(recording.connect(), 2, about=about(recording)) is None
    assert window_of(recording.connect(), 3, about=about(recording)) is None


def test_the_answer_is_nearly_the_same_right_at_the_end_and_later() -> None:
    """By then some lines are under way, which the recording does not hold yet."""
    later = made()
    early = made()
    end_ns = at(STEP_S)["monotonic_ns"]
    early.rows["transaction"] = [
        row for row in early.rows["transaction"] if row["monotonic_ns"] + row["response_us"] * 1000 <= end_ns
    ]
    early.rows["event"] = [e for e in early.rows["event"] if e["monotonic_ns"] <= end_ns and e["step"] == 1]
    at_once = window(early, 1)
    assert at_once.throughput.mean() == pytest.approx(window(later, 1).throughput.mean(), rel=0.03)


def test_a_user_who_hangs_counts_as_no_work() -> None:
    recording = made((4,))
    start_ns = at(STEP_S - WINDOW_S)["monotonic_ns"]
    kept = [
        row
        for row in recording.rows["transaction"]
        if row["user"] != "user-001" or row["monotonic_ns"] < start_ns - 10**9
    ]
    recording.rows["transaction"] = [
        *kept,
        {
            **kept[0],
            **at(STEP_S - WINDOW_S - 0.5),
            "response_us": None,
            "reaction_us": None,
            "outcome": "cut",
        },
    ]
    whole, hung = window(made((4,)), 1), window(recording, 1)
    assert hung.throughput.mean() < 0.85 * whole.throughput.mean()
    assert hung.corrected.open > 0.2


def test_what_others_took_is_told_by_the_loads_own_group() -> None:
    """One processor, of which the load uses 0.3 and others 0.5."""
    times = np.arange(0, 2 * STEP_S + 1)
    processor = [
        {**at(t), "processor": "1", "user_us": round(8e5 * t), "system_us": 0, "idle_us": round(2e5 * t)}
        for t in times
    ]
    processor += [{**row, "processor": "0", "user_us": 0} for row in processor]
    group = [{**at(t), "cgroup": "load", "cpu_us": round(3e5 * t)} for t in times]
    recording = made(processor=processor, cgroup=group)
    recording.description["system_under_test"] = {"processors": [1], "cgroup": "load"}
    assert window(recording, 1).taken == pytest.approx(0.5, abs=1e-3)
    del recording.rows["cgroup"]
    assert window(recording, 1).taken is None


def test_a_steady_warm_up_is_used() -> None:
    recording = made()
    found = window(recording, 1, warm_up=True)
    seconds = len(found.throughput) * found.block_s
    assert seconds == pytest.approx(WINDOW_S + WARM_UP_S - found.cut_s, abs=1.1)
    assert seconds >= WINDOW_S / 2
    assert found.throughput.mean() == pytest.approx(2 / 1.3, rel=0.02)


def test_without_a_workload_nothing_is_held_against_it() -> None:
    found = window_of(made().connect(), 1)
    assert found is not None
    assert found.throughput.mean() == pytest.approx(found.corrected.uncorrected.mean())


def test_a_step_is_of_one_run_of_the_emulator() -> None:
    """In a study that went on, each run counts its steps from 1."""
    whole = made()
    resumed = made()
    for row in [*resumed.rows["transaction"], *resumed.rows["event"]]:
        row["run"], row["step"] = row["step"], 1
    for run in (1, 2):
        found = window_of(resumed.connect(), 1, run=run, about=about(resumed))
        assert found is not None
        alone = window(whole, run)
        assert (found.users, found.begin_s) == (alone.users, alone.begin_s)
        assert found.throughput == pytest.approx(alone.throughput, rel=0.02)
