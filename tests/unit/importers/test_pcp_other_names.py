"""PCP archives that hold a host's metrics by other names, or none: what is read, and what is said."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from imports import rows
from pcp_archives import T0, imported, make, needs_bindings, needs_tool

from satline.diagnosis import diagnose
from satline.errors import InputError
from satline.importers._importer import Options
from satline.importers._pcp_nothing import nothing_in
from satline.importers._pcp_reader import Archive, Metric
from satline.recording import Recording

pytestmark = [needs_tool, needs_bindings]

ALL = ["u64", "counter", "ms", None]
NODE = ["u64", "counter", "ms", "node"]
DISK = ["u64", "counter", "ms", "disk"]
LEVEL = ["u32", "instant", "none", None]
FACT = ["u32", "discrete", "none", None]
INSTANCES = {"node": {"node0": 0, "node1": 1}, "disk": {"3500a": 0, "3500b": 1}, "proc": {"000001 init": 1}}
READINGS = 20


def archive(path: Path, kinds: dict[str, Any], values: Any, options: Options | None = None) -> Recording:
    records = [[T0 + 10 * k, values(k)] for k in range(READINGS)]
    return imported(make(path / "a", kinds, INSTANCES, records), path / "x.satline", options)


def cpu_mean(made: Recording) -> float | None:
    standing = diagnose(made).standing
    assert standing is not None
    found = [use.mean for use in standing.uses if use.resource == "CPU"]
    return found[0].value if found and found[0] is not None else None


def test_metrics_below_irix_are_those_of_the_host(tmp_path: Path) -> None:
    states = {"user": 2000, "sys": 1000, "idle": 7000}
    kinds = {f"irix.kernel.all.cpu.{state}": ALL for state in states}
    made = archive(tmp_path, kinds, lambda k: {f"irix.kernel.all.cpu.{s}": v * k for s, v in states.items()})
    assert cpu_mean(made) == pytest.approx(0.3)


def test_processors_of_each_node_are_summed_where_no_others_were_logged(tmp_path: Path) -> None:
    states = {"user": (6000, 1000), "sys": (2000, 0), "nice": (0, 0), "idle": (2000, 9000)}
    kinds = {f"kernel.pernode.cpu.{state}": NODE for state in states}
    made = archive(
        tmp_path,
        kinds,
        lambda k: {
            f"kernel.pernode.cpu.{s}": {"node0": a * k, "node1": b * k} for s, (a, b) in states.items()
        },
    )
    assert rows(made, "SELECT DISTINCT processor FROM processor") == [("all",)]
    assert cpu_mean(made) == pytest.approx(0.45)


def test_disks_by_their_world_wide_names_are_taken_where_no_others_were_logged(tmp_path: Path) -> None:
    kinds = {"disk.wwid.avactive": DISK}
    made = archive(tmp_path, kinds, lambda k: {"disk.wwid.avactive": {"3500a": 5000 * k, "3500b": 100 * k}})
    assert rows(made, "SELECT DISTINCT device FROM device ORDER BY 1") == [("3500a",), ("3500b",)]
    kinds["disk.dev.avactive"] = DISK
    (tmp_path / "both").mkdir()
    both = archive(
        tmp_path / "both",
        kinds,
        lambda k: {
            "disk.wwid.avactive": {"3500a": 5000 * k},
            "disk.dev.avactive": {"3500b": 5000 * k},
        },
    )
    assert rows(both, "SELECT DISTINCT device FROM device") == [("3500b",)], "one disk, not two"


def test_a_run_queue_is_no_process(tmp_path: Path) -> None:
    made = archive(
        tmp_path,
        {"proc.runq.runnable": LEVEL, "proc.nprocs": LEVEL},
        lambda _: {"proc.runq.runnable": 3, "proc.nprocs": 200},
    )
    assert rows(made, "SELECT DISTINCT tasks_runnable, tasks_total FROM system") == [(3, 200)]


def test_readings_are_those_of_the_processes_where_nothing_else_was_logged(tmp_path: Path) -> None:
    kinds = {
        "proc.psinfo.utime": ["u64", "counter", "ms", "proc"],
        "proc.psinfo.stime": ["u64", "counter", "ms", "proc"],
        "proc.id.uid_nm": ["string", "discrete", "none", "proc"],
    }
    made = archive(
        tmp_path,
        kinds,
        lambda k: {
            "proc.psinfo.utime": {"000001 init": 4000 * k},
            "proc.psinfo.stime": {"000001 init": 0},
            "proc.id.uid_nm": {"000001 init": "ann"},
        },
    )
    gained = rows(made, 'SELECT max(cpu_us) - min(cpu_us), count(*) FROM "user" WHERE "user" = \'ann\'')
    assert gained == [((READINGS - 1) * 4_000_000, READINGS)]


def test_idle_time_of_an_unknown_number_of_processors_tells_nothing(tmp_path: Path) -> None:
    """Four processors, 30 % busy: not 2.8 processors' idle time of three."""
    made = archive(tmp_path, {"kernel.all.cpu.idle": ALL}, lambda k: {"kernel.all.cpu.idle": 28_000 * k})
    assert cpu_mean(made) is None


def test_a_refusal_names_what_is_in_the_archive_and_what_was_looked_for(tmp_path: Path) -> None:
    kinds = {"sample.bin": LEVEL, "sample.long": LEVEL, "pmcd.numagents": LEVEL, "hinv.ncpu": FACT}
    with pytest.raises(InputError) as caught:
        archive(tmp_path, kinds, lambda k: dict.fromkeys(kinds, k))
    words = caught.value.message
    assert "no metric that Satline reads is in it besides facts of the host (hinv.ncpu)" in words
    assert "it holds sample.* (2), pmcd.* (1)" in words
    assert "kernel.all.cpu.*" in caught.value.hint


def test_a_range_of_time_that_leaves_nothing_is_told_with_the_archives_beginning(tmp_path: Path) -> None:
    options = Options(start=datetime(2030, 1, 1, tzinfo=UTC))
    with pytest.raises(InputError) as caught:
        archive(tmp_path, {"kernel.all.cpu.idle": ALL}, lambda k: {"kernel.all.cpu.idle": k}, options)
    assert "range of time" in caught.value.message
    assert "2023-11-14T22:13:20Z" in caught.value.hint


def test_metrics_without_any_value_are_told() -> None:
    archive = Archive(Path("a"), damage=["a.0: its end is missing"])
    archive.metrics["kernel.all.load"] = Metric("kernel.all.load", False, 0, 1.0)
    error = nothing_in("a", [archive], set(), in_range=False)
    assert "it describes kernel.all.load, and no record holds a value of them" in error.message
    assert error.message.endswith("a.0: its end is missing")
