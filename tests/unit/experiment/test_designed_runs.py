"""Runs one after another: none is run twice; what failed or was late is told, and the rest goes on."""

from __future__ import annotations

import dataclasses
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from made_runs import record_run

from satline.errors import InputError, SatlineError
from satline.experiment.designed._drift import HostState, against_others, read_state, within_run
from satline.experiment.designed._runner import Carried, SaidOnce, _begin, _go_through, _names_in_force
from satline.experiment.designed._store import Attempt, Store
from satline.experiment.designs import Run
from satline.experiment.protocol import NotSetError
from satline.experiment.study import designed_study, read_study
from satline.interruption import signals_held, signals_interrupt
from satline.recording import RecordingWriter, describe

pytestmark = pytest.mark.slow

STUDY = """title = "t"
workload = "compute"
[load]
users = [4]
[[factor]]
name = "memory"
setting = "limits.memory"
levels = ["32 MB", "48 MB"]
[[factor]]
name = "cluster"
setting = "knobs.page_cluster"
levels = [0, 3]
[design]
seed = 4
repeat_late = 1
"""


class Told:
    """A view that keeps what it was told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __enter__(self) -> Told:
        return self

    def __exit__(self, *error: object) -> None: ...

    def note(self, text: str) -> None:
        self.lines.append(text)

    def show(self, progress: object) -> None:
        self.lines.append(str(progress))


class False_:
    """Runs that do as they are told: by number, ``late``, ``fail``, ``stop``, … , each time once."""

    def __init__(self, *, scatter_s: float = 0.0, **ways: list[str]) -> None:
        self.scatter_s = scatter_s
        self.ways = {int(number[1:]): list(way) for number, way in ways.items()}
        self.ran: list[int] = []

    def __call__(self, run: Run, recording: Path, place: Mapping[str, Any]) -> tuple[list[str], int | None]:
        self.ran.append(run.number)
        ways = self.ways.get(run.number, [])
        way = ways.pop(0) if ways else ""
        if way == "signal-and-fail":  # one came while what had failed was being undone
            with signals_interrupt(), signals_held():
                os.kill(os.getpid(), signal.SIGTERM)
                raise SatlineError("the server went away")
        if way == "fail":
            raise SatlineError("the server went away")
        if way == "unset":
            raise NotSetError("cannot be set")
        end = "interrupted" if way == "stop" else "complete"
        response_s = 0.2 + self.scatter_s * (run.number * 7 % 5)
        record_run(recording, {"a": response_s}, study={"design": dict(place)}, late=way == "late", end=end)
        if way == "absent":
            with RecordingWriter(recording, "terminal") as writer:
                failed = {
                    "event": "log-on-failed",
                    "text": "user-004: no prompt",
                    "time_ns": 1,
                    "monotonic_ns": 1,
                }
                writer.write_rows("event", [failed])
        return ([], 2) if way in ("stop", "stop-at-end") else ([], None)


def go(tmp_path: Path, runs: False_, text: str = STUDY) -> tuple[Carried, list[str]]:
    path = tmp_path / "d.toml"
    path.write_text(text)
    designed = designed_study(read_study(path))
    carried = _begin(designed, tmp_path / "out", "digest of " + text, "d")
    view = Told()
    with signals_interrupt() as signals:
        _go_through(designed, carried, runs, tmp_path, view, signals)
    return carried, view.lines


def test_all_runs_in_the_order_of_the_plan(tmp_path: Path) -> None:
    runs = False_()
    carried, lines = go(tmp_path, runs)
    assert runs.ran == [1, 2, 3, 4]
    assert all(carried.store.finished(run, carried.digest) for run in carried.plan.runs)
    assert sum("run " in line and "left" in line for line in lines) == 4
    assert len(list((tmp_path / "out/runs").iterdir())) == 4
    again = False_()
    _, lines = go(tmp_path, again)
    assert again.ran == []
    assert lines == ["4 of 4 runs are there already"]


def test_a_run_that_was_whole_when_the_signal_came_is_judged_and_kept(tmp_path: Path) -> None:
    carried, _ = go(tmp_path, False_(r2=["stop-at-end"]))
    assert carried.interrupted == 2
    assert carried.store.finished(carried.plan.runs[1], carried.digest)
    assert "flags" in describe.read(carried.store.recording(carried.plan.runs[1]))["study"]["design"]
    again = False_()
    go(tmp_path, again)
    assert again.ran == [3, 4]
    assert not (tmp_path / "out/aside").exists()


def test_a_signal_is_not_lost_beside_an_error(tmp_path: Path) -> None:
    runs = False_(r2=["signal-and-fail"])
    carried, _ = go(tmp_path, runs)
    assert runs.ran == [1, 2]
    assert carried.interrupted == signal.SIGTERM


def test_it_goes_on_after_a_signal_and_runs_the_unfinished_one_anew(tmp_path: Path) -> None:
    carried, _ = go(tmp_path, False_(r3=["stop"]))
    assert carried.interrupted == 2
    assert not carried.store.finished(carried.plan.runs[2], carried.digest)
    again = False_()
    carried, _ = go(tmp_path, again)
    assert again.ran == [3, 4]
    assert len(list((tmp_path / "out/aside").iterdir())) == 1


def test_a_run_whose_users_could_not_all_log_on_is_flagged(tmp_path: Path) -> None:
    carried, lines = go(tmp_path, False_(r2=["absent"]))
    flags = [carried.store.attempts()[number].flags for number in (1, 2)]
    assert flags[0] == []
    assert flags[1] == [
        "1 log-on failed for good, so that fewer users worked than the load says (user-004: no prompt)"
    ]
    assert any("run 2 flagged: 1 log-on failed" in line for line in lines)


def test_what_a_kill_left_half_written_is_set_aside(tmp_path: Path) -> None:
    carried, _ = go(tmp_path, False_())
    half = carried.store.recording(carried.plan.runs[1])
    text = (half / "recording.toml").read_text().replace('end_reason = "complete"', "")
    (half / "recording.toml").write_text(text)
    with (tmp_path / "out/log.jsonl").open("a") as log:
        log.write('{"run": 2, "outc')
    again = False_()
    carried, _ = go(tmp_path, again)
    assert again.ran == [2]
    assert carried.store.attempts()[2].outcome == "complete"


def test_a_kill_right_at_the_end_of_a_run_leaves_it_to_be_judged(tmp_path: Path) -> None:
    carried, _ = go(tmp_path, False_())
    place = carried.store.recording(carried.plan.runs[1])
    describe.update(place, {"study": {"design": {"flags": None}}})
    assert "flags" not in describe.read(place)["study"]["design"]
    again = False_()
    go(tmp_path, again)
    assert again.ran == []
    assert describe.read(place)["study"]["design"]["flags"] == [
        "ended by a kill before the host was looked at again"
    ]


def test_a_run_of_another_cell_is_not_taken_for_this_one(tmp_path: Path) -> None:
    carried, _ = go(tmp_path, False_())
    first, second = carried.plan.runs[:2]
    one, other = carried.store.recording(first), carried.store.recording(second)
    one.rename(tmp_path / "x")
    other.rename(one)
    assert not carried.store.finished(first, carried.digest)
    assert not carried.store.finished(second, carried.digest)


def test_a_failed_run_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    runs = False_(r2=["fail"])
    carried, lines = go(tmp_path, runs)
    assert runs.ran == [1, 2, 3, 4]
    assert carried.failed == {2: "the server went away"}
    assert any("run 2 FAILED: the server went away" in line for line in lines)
    again = False_()
    carried, _ = go(tmp_path, again)
    assert again.ran == [2]
    assert not carried.failed


def test_when_the_first_runs_all_fail_it_stops(tmp_path: Path) -> None:
    runs = False_(r1=["fail"], r2=["fail"], r3=["fail"])
    with pytest.raises(SatlineError, match="the first 3 runs failed, the last with: the server went away"):
        go(tmp_path, runs)
    assert runs.ran == [1, 2, 3]


def test_a_late_run_is_run_again_so_often_and_then_kept_with_a_flag(tmp_path: Path) -> None:
    runs = False_(r1=["late"], r3=["late", "late", "late"])
    carried, lines = go(tmp_path, runs)
    assert runs.ran == [1, 1, 2, 3, 3, 4]
    assert (carried.late, carried.repeated) == ([3], 2)
    assert len(list((tmp_path / "out/aside").iterdir())) == 2
    assert "run 3: the emulator was late; again" in lines
    assert "run 3 flagged: late: the emulator was late" in lines
    assert carried.store.attempts()[3].outcome == "complete"
    assert carried.store.finished(carried.plan.runs[2], carried.digest)


def test_a_factor_that_cannot_be_set_ends_it_at_once(tmp_path: Path) -> None:
    runs = False_(r1=["unset"])
    with pytest.raises(NotSetError):
        go(tmp_path, runs)
    assert runs.ran == [1]


def test_a_study_that_has_changed_is_refused(tmp_path: Path) -> None:
    go(tmp_path, False_())
    with pytest.raises(InputError, match="has changed since") as caught:
        go(tmp_path, False_(), STUDY.replace("48 MB", "50 MB"))
    assert "undo the change" in caught.value.hint


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"digest": 1, "runs": 3}', '{"runs": [{"run": "x"}]}'])
def test_what_is_no_plan_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "plan.json").write_text(content)
    with pytest.raises(InputError, match="not a plan"):
        Store(tmp_path).begun("d", Path("d.toml"))


def test_another_directory_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(InputError, match="holds no runs of a designed study"):
        Store(tmp_path).begun("d", Path("d.toml"))


def test_names_of_recordings_are_plain(tmp_path: Path) -> None:
    run = Run(7, None, 1, {"a/b": "../../etc", "ä": "x" * 300})
    name = Store(tmp_path).recording(run).name
    assert name.startswith("007-")
    assert "/" not in name
    assert len(name) < 120


def test_attempts_are_the_last_ones(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.log(Attempt(1, "failed", None, 1.0, "x"))
    store.log(Attempt(1, "complete", "r", 2.0, flags=["warm"]))
    assert store.attempts()[1].flags == ["warm"]


def test_what_a_setting_is_called_when_it_is_in_force() -> None:
    assert _names_in_force("limits.memory") == ["memory_bytes"]
    assert _names_in_force("knobs.page_cluster") == ["page_cluster"]
    assert _names_in_force("guest.knobs.mglru") == ["mglru"]
    assert _names_in_force("load.users") == []


def test_a_line_is_said_once() -> None:
    told = Told()
    with SaidOnce(told, live=False) as view:
        for text in ("a", "b", "a"):
            view.note(text)
        view.show(None)  # type: ignore[arg-type]
    assert told.lines == ["a", "b"]


STATE = HostState("6.1", "boot", 1000.0, 10.0, 8_000_000_000, 4_000_000_000, 10**10, 0, 3000.0, 10.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, ""),
        ({"kernel": "6.2"}, "another kernel"),
        ({"boot_id": "other"}, "was started again"),
        ({"memory_available_bytes": 3_000_000_000}, "available memory changed by -12%"),
        ({"memory_available_bytes": 3_900_000_000}, ""),
        ({"memory_available_bytes": None}, ""),
        ({"disk_free_bytes": 8 * 10**9}, "free disk space changed by -20%"),
        ({"other_swap_bytes": 10**9}, "swap used by others changed by +1000 MB"),
        ({"frequency_mhz": 2000.0}, "frequency changed by -33%"),
        ({"frequency_mhz": None}, ""),
        ({"pace_ms": 12.0}, "fixed computation changed by +20%"),
    ],
)
def test_drift_is_flagged(change: dict[str, Any], words: str) -> None:
    later = dataclasses.replace(STATE, realtime_s=1060.0, monotonic_s=70.0, **change)
    for flags in (within_run(STATE, later), against_others([STATE, STATE], later)):
        assert len(flags) == bool(words)
        assert words in "".join(flags)


def test_a_clock_that_jumps_is_flagged() -> None:
    later = dataclasses.replace(STATE, realtime_s=1058.0, monotonic_s=70.0)
    assert within_run(STATE, later) == ["the clock jumped by -2.00 s during it"]
    assert against_others([], later) == []


def test_the_host_is_read_from_its_files(tmp_path: Path) -> None:
    proc = tmp_path / "proc"
    (proc / "sys/kernel/random").mkdir(parents=True)
    (proc / "sys/kernel/osrelease").write_text("6.1-x\n")
    (proc / "sys/kernel/random/boot_id").write_text("abc\n")
    (proc / "meminfo").write_text(
        "MemTotal: 1000 kB\nMemAvailable: 400 kB\nSwapTotal: 30 kB\nSwapFree: 10 kB\n"
    )
    frequencies = tmp_path / "sys/devices/system/cpu"
    for number, khz in enumerate((1_000_000, 3_000_000)):
        (frequencies / f"cpu{number}/cpufreq").mkdir(parents=True)
        (frequencies / f"cpu{number}/cpufreq/scaling_cur_freq").write_text(f"{khz}\n")
    state = read_state(tmp_path, proc, tmp_path / "sys")
    assert (state.kernel, state.boot_id, state.frequency_mhz) == ("6.1-x", "abc", 2000.0)
    assert (state.memory_bytes, state.memory_available_bytes) == (1_024_000, 409_600)
    assert state.other_swap_bytes == 20 * 1024
    assert state.pace_ms > 0
    bare = read_state(tmp_path, tmp_path / "none", tmp_path / "none")
    assert (bare.memory_bytes, bare.other_swap_bytes, bare.frequency_mhz) == (None, None, None)


def test_runs_beyond_the_plan_come_until_it_is_decided_and_go_on_after_a_signal(tmp_path: Path) -> None:
    text = STUDY + "\nmost_runs = 7\nsmallest = 0.000001\n"
    stopped, _ = go(tmp_path, first := False_(scatter_s=0.01, r6=["stop"]), text)
    assert first.ran == [1, 2, 3, 4, 5, 6]
    assert stopped.interrupted == 2
    carried, lines = go(tmp_path, then := False_(scatter_s=0.01), text)
    assert then.ran == [6, 7]
    assert len(carried.plan.runs) == 7
    assert carried.decided is not None
    assert any("7 of 7" in line for line in lines)
