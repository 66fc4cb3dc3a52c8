"""PCP archives in which only some metrics were logged: what is there is imported, and what is not is said."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from imports import facts, rows
from pcp_archives import T0, imported, make, needs_bindings, needs_tool

from satline.errors import InputError
from satline.recording import Recording
from satline.reduction import reduce

pytestmark = [needs_tool, needs_bindings]

CPU = ["u64", "counter", "ms", "cpu"]
ALL = ["u64", "counter", "ms", None]
COUNT = ["u64", "counter", "count", None]
KINDS = {
    **{f"kernel.percpu.cpu.{k}": CPU for k in ("user", "sys", "idle")},
    **{f"kernel.all.cpu.{k}": ALL for k in ("user", "sys", "idle", "wait.total")},
    **{f"disk.all.{k}": COUNT for k in ("read", "write", "total")},
    "disk.all.avactive": ALL,
    "disk.all.bytes": ["u64", "counter", "KiB", None],
    "disk.dev.total": ["u64", "counter", "count", "disk"],
    "disk.dev.blkread": ["u64", "counter", "count", "disk"],
    "hinv.ncpu": ["u32", "discrete", "none", None],
    "hinv.ndisk": ["u32", "discrete", "none", None],
    "kernel.all.load": ["double", "instant", "none", "load"],
    "kernel.all.pswitch": COUNT,
}
INSTANCES = {
    "cpu": {"cpu0": 0, "cpu1": 1},
    "disk": {"sda": 0},
    "load": {"1 minute": 1, "5 minute": 5, "15 minute": 15},
}
COUNT_OF_READINGS = 40


def archive(path: Path, values: Any) -> Recording:
    """An archive of readings every ten seconds, with the values that `values(k)` gives for the k-th."""
    records = [[T0 + 10 * k, values(k)] for k in range(COUNT_OF_READINGS)]
    names = {n for _, v in records for n in v}
    metrics = {n: KINDS[n] for n in KINDS if n in names}
    return imported(make(path / "a", metrics, INSTANCES, records), path / "x.satline")


def notes(made: Recording) -> str:
    return "\n".join(facts(made)["notes"])


def mean(made: Recording, variable: str) -> float:
    """Mean over all observations, weighted alike."""
    curves = reduce(made, "load_average_1", variables=[variable])
    values = curves.observations[variable]
    return float(values[values == values].mean())


def load(k: int) -> dict[str, Any]:
    return {"kernel.all.load": {"1 minute": 0.5 + k % 7, "5 minute": 1, "15 minute": 1}}


def both(metric: str, at: float) -> dict[str, Any]:
    return {metric: {"cpu0": round(at), "cpu1": round(at)}}


def test_where_only_user_and_idle_time_was_logged_busy_is_what_was_not_idle(tmp_path: Path) -> None:
    # each of the two processors: user 30 %, idle 60 % of 10,000 ms
    made = archive(
        tmp_path,
        lambda k: (
            both("kernel.percpu.cpu.user", 3000 * k)
            | both("kernel.percpu.cpu.idle", 6000 * k)
            | load(k)
            | {"hinv.ncpu": 2}
        ),
    )
    assert mean(made, "problem_state") == pytest.approx(0.6)
    assert mean(made, "total_cpu") == pytest.approx(0.8)
    assert mean(made, "total_cpu_fraction") == pytest.approx(0.4)
    assert "system time of the processors was not logged: busy is taken to be what is not idle" in notes(made)


def test_where_only_user_time_was_logged_busy_is_not_told(tmp_path: Path) -> None:
    made = archive(tmp_path, lambda k: both("kernel.percpu.cpu.user", 3000 * k) | load(k))
    assert mean(made, "problem_state") == pytest.approx(0.6)
    assert "total_cpu" not in reduce(made, "load_average_1").curves
    assert "how busy they were cannot be told" in notes(made)


def test_all_processors_together_are_taken_where_more_was_logged_of_them(tmp_path: Path) -> None:
    made = archive(
        tmp_path,
        lambda k: (
            both("kernel.percpu.cpu.user", 3000 * k)
            | {
                "kernel.all.cpu.user": 6000 * k,
                "kernel.all.cpu.sys": 2000 * k,
                "kernel.all.cpu.idle": 12000 * k,
            }
            | load(k)
        ),
    )
    assert rows(made, "SELECT DISTINCT processor FROM processor") == [("all",)]
    assert made.description["host"]["processors"] == 2
    assert mean(made, "total_cpu") == pytest.approx(0.8)
    assert "of single processors idle_us, system_us was not logged" in notes(made)


def test_where_readings_lack_single_processors_all_are_one_row_throughout(tmp_path: Path) -> None:
    def values(k: int) -> dict[str, Any]:
        whole = {
            f"kernel.all.cpu.{n}": 2 * ms * k for n, ms in (("user", 3000), ("sys", 1000), ("idle", 6000))
        }
        single = {}
        if k < 20:
            for name, ms in (("user", 3000), ("sys", 1000), ("idle", 6000)):
                single |= both(f"kernel.percpu.cpu.{name}", ms * k)
        return whole | single | load(k) | {"hinv.ncpu": 2}

    made = archive(tmp_path, values)
    assert rows(made, "SELECT processor, count(*) FROM processor GROUP BY 1") == [("all", 40)]
    assert "20 readings lack the single processors" in notes(made)
    curves = reduce(made, "load_average_1", variables=["total_cpu_fraction"])
    assert curves.observations["total_cpu_fraction"] == pytest.approx([0.4] * 39)


@pytest.mark.parametrize("number", [1, 4])
def test_the_number_of_processors_is_read_off_their_times(number: int, tmp_path: Path) -> None:
    kinds = {"user": 2500, "sys": 1000, "idle": 6000, "wait.total": 500}
    made = archive(
        tmp_path, lambda k: {f"kernel.all.cpu.{n}": ms * number * k for n, ms in kinds.items()} | load(k)
    )
    assert made.description["host"]["processors"] == number
    assert mean(made, "total_cpu_fraction") == pytest.approx(0.35)


def test_the_number_of_processors_is_not_guessed_from_some_of_their_times(tmp_path: Path) -> None:
    made = archive(tmp_path, lambda k: {"kernel.all.cpu.user": 25_000 * k, "kernel.all.cpu.sys": 5000 * k})
    assert "processors" not in made.description["host"]
    assert "how many processors there are is not logged (hinv.ncpu)" in notes(made)


@pytest.mark.parametrize(("disks", "busy"), [(1, 4_000_000), (3, None)])
def test_disks_that_were_not_logged_one_by_one_are_device_all(
    disks: int, busy: int | None, tmp_path: Path
) -> None:
    made = archive(
        tmp_path,
        lambda k: {
            "disk.all.read": 50 * k,
            "disk.all.write": 20 * k,
            "disk.all.total": 70 * k,
            "disk.all.bytes": 400 * k,
            "disk.all.avactive": 4000 * k,
            "hinv.ndisk": disks,
        },
    )
    columns = "device, device_kind, reads, writes, moved_bytes" + (", busy_us" if busy else "")
    (row,) = rows(made, f"SELECT {columns} FROM device ORDER BY time_ns LIMIT 1 OFFSET 1")
    assert row == ("all", "block", 50, 20, 400 * 1024, *([busy] if busy else []))
    assert rows(made, "SELECT count(busy_us) FROM device") == [(40 if busy else 0,)]
    assert rows(made, "SELECT count(requests) FROM device") == [(0,)], "less than reads and writes"
    assert "disks were not logged one by one" in notes(made)
    assert "no CPU time is in it" in notes(made)


def test_requests_and_blocks_stand_for_reads_and_bytes_where_these_are_missing(tmp_path: Path) -> None:
    made = archive(
        tmp_path, lambda k: {"disk.dev.total": {"sda": 7 * k}, "disk.dev.blkread": {"sda": 16 * k}}
    )
    (row,) = rows(made, "SELECT device, requests, read_bytes FROM device ORDER BY time_ns LIMIT 1 OFFSET 1")
    assert row == ("sda", 7, 16 * 512)


def test_what_is_said_without_processors_rests_on_what_is_there(tmp_path: Path) -> None:
    made = archive(tmp_path, lambda k: {"kernel.all.pswitch": 1000 * k})
    assert "no CPU time is in it" in notes(made)
    assert "rests on the counters of the whole system" in notes(made)


# ------------------------------------------------------------------------------ a tool that crashes


def crashing(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch, output: str = "") -> None:
    """Put a program of this name before all others that prints `output` and is ended by a signal."""
    folder.mkdir()
    script = folder / name
    script.write_text(f"#!/bin/sh\nprintf '%s' '{output}'\necho 'assertion failed' >&2\nkill -SEGV $$\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_a_crash_of_pmdumplog_is_said_with_its_signal_and_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [[T0 + 10 * k, {"kernel.all.pswitch": k}] for k in range(3)]
    source = make(tmp_path / "a", {"kernel.all.pswitch": COUNT}, {}, records)
    crashing(tmp_path / "bin", "pmdumplog", monkeypatch)
    with pytest.raises(InputError, match=r"crashed: it was ended by signal 11 \(SIGSEGV\): assertion failed"):
        imported(source, tmp_path / "x.satline")


def test_what_pmdumplog_printed_before_it_crashed_is_kept_and_the_crash_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [[T0 + 10 * k, {"kernel.all.pswitch": k}] for k in range(3)]
    source = make(tmp_path / "a", {"kernel.all.pswitch": COUNT}, {}, records)
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "pmdumplog"
    script.write_text('#!/bin/sh\nPATH=${PATH#*:}\npmdumplog "$@"\ncase "$*" in *-x*) kill -SEGV $$;; esac\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    made = imported(source, tmp_path / "x.satline")
    assert rows(made, "SELECT count(*) FROM system") == [(3,)]
    assert any("SIGSEGV" in text for text in facts(made)["damage"])


def test_system_calls_are_read_and_linux_does_not_lack_them(tmp_path: Path) -> None:
    records = [[T0 + 10 * k, {"kernel.all.syscall": 700 * k}] for k in range(3)]
    made = imported(make(tmp_path / "a", {"kernel.all.syscall": COUNT}, {}, records), tmp_path / "x.satline")
    assert [v for (v,) in rows(made, "SELECT system_calls FROM system ORDER BY time_ns")] == [0, 700, 1400]
    records = [[T0 + 10 * k, {"kernel.all.pswitch": k}] for k in range(3)]
    made = imported(make(tmp_path / "b", {"kernel.all.pswitch": COUNT}, {}, records), tmp_path / "y.satline")
    assert "syscall" not in str(facts(made))


def test_the_mean_run_queue_of_irix_is_the_growth_of_its_counter(tmp_path: Path) -> None:
    kinds = {"kernel.all.runque": ["u32", "counter", "none", None]}
    records = [[T0 + 10 * k, {"kernel.all.runque": 25 * k}] for k in range(5)]
    made = imported(make(tmp_path / "a", kinds, {}, records), tmp_path / "x.satline")
    got = [v for (v,) in rows(made, "SELECT run_queue_mean FROM system ORDER BY time_ns")]
    assert got == [None, 2.5, 2.5, 2.5, 2.5]
