"""PCP archives made for a purpose: wraps, restarts, processes that come and go, hostile names."""

from __future__ import annotations

import io
import os
import random
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from imports import facts, rows
from pcp_archives import (
    METRICS,
    PROCESSES,
    T0,
    imported,
    machine,
    make,
    needs_bindings,
    needs_tool,
)

from satline.importers._pcp_reader import Archive, Metric, _Reader
from satline.recording import Recording

pytestmark = [needs_tool, pytest.mark.slow]


@needs_bindings
def test_a_counter_of_32_bits_that_wraps_goes_on(tmp_path: Path) -> None:
    reads = [2**32 - 20, 2**32 - 10, 5, 25]
    records = [machine(k, 100 + 10 * k, **{"disk.dev.read_bytes": {"sda": v}}) for k, v in enumerate(reads)]
    source = make(tmp_path / "a", METRICS, {"cpu": {"cpu0": 0}, "disk": {"sda": 0}}, records)
    made = imported(source, tmp_path / "x.satline")
    got = [v for (v,) in rows(made, "SELECT read_bytes // 1024 FROM device ORDER BY time_ns")]
    assert [b - a for a, b in pairwise(got)] == [10, 15, 20]


@needs_bindings
def test_a_counter_that_was_set_back_is_not_taken_for_a_wrap(tmp_path: Path) -> None:
    reads = [1000, 2000, 5, 25]
    records = [machine(k, 100 + 10 * k, **{"disk.dev.read_bytes": {"sda": v}}) for k, v in enumerate(reads)]
    source = make(tmp_path / "a", METRICS, {"cpu": {"cpu0": 0}, "disk": {"sda": 0}}, records)
    made = imported(source, tmp_path / "x.satline")
    got = [v // 1024 for (v,) in rows(made, "SELECT read_bytes FROM device ORDER BY time_ns")]
    assert got == reads


@needs_bindings
def test_a_restart_of_the_system_begins_a_new_run_where_uptime_fell(tmp_path: Path) -> None:
    records = [machine(k, up) for k, up in enumerate((5000, 5010, 3, 13, 23))]
    source = make(tmp_path / "a", METRICS, {"cpu": {"cpu0": 0}, "disk": {}}, records)
    made = imported(source, tmp_path / "x.satline")
    assert rows(made, "SELECT run, count(*) FROM system GROUP BY run ORDER BY run") == [(1, 2), (2, 3)]
    assert any("restarted 1 times" in n for n in facts(made)["notes"])


@needs_bindings
def test_a_gap_without_a_mark_stays_a_gap(tmp_path: Path) -> None:
    records = [machine(k, 100 + 10 * k) for k in (0, 1, 2, 30, 31)]
    source = make(tmp_path / "a", METRICS, {"cpu": {"cpu0": 0}, "disk": {}}, records)
    made = imported(source, tmp_path / "x.satline")
    times = [(t // 10**9 - T0) // 10 for (t,) in rows(made, "SELECT time_ns FROM system ORDER BY time_ns")]
    assert times == [0, 1, 2, 30, 31]


@needs_bindings
def test_what_processes_used_stays_with_their_user_when_they_end_or_their_numbers_come_again(
    tmp_path: Path,
) -> None:
    names = {f"{pid:06d} x": pid for pid in (11, 12, 13)}
    one, two, three = names
    #          pid: (user, ms of CPU, start in ms after boot); up for 100 s at the first record
    samples = [
        {one: ("ann", 5000, 1000), two: ("bob", 700, 2000)},
        {one: ("ann", 5400, 1000), two: ("bob", 700, 2000), three: ("ann", 30, 105_000)},
        {one: ("bob", 90, 112_000), two: ("bob", 800, 2000)},
        {two: ("bob", 850, 2000), three: ("ann", 999_000, 50_000)},
    ]
    records = []
    for k, sample in enumerate(samples):
        values = {
            "proc.psinfo.utime": {p: cpu for p, (_, cpu, _) in sample.items()},
            "proc.psinfo.stime": dict.fromkeys(sample, 0),
            "proc.psinfo.start_time": {p: start for p, (_, _, start) in sample.items()},
            "proc.psinfo.sname": {p: "R" if p == two else "S" for p in sample},
            "proc.id.uid_nm": {p: user for p, (user, _, _) in sample.items()},
        }
        records.append(machine(k, 100 + 10 * k, **values))
    source = make(
        tmp_path / "a", METRICS | PROCESSES, {"cpu": {"cpu0": 0}, "disk": {}, "proc": names}, records
    )
    made = imported(source, tmp_path / "x.satline")
    got = rows(made, 'SELECT "user", cpu_us // 1000, processes FROM "user" ORDER BY "user", time_ns')
    assert [r[1:] for r in got if r[0] == "ann"] == [
        (0, 1),
        (400 + 30, 2),
        (430, 0),
        (430, 1),  # a process that was there before it was first seen brings nothing
    ]
    assert [r[1:] for r in got if r[0] == "bob"] == [(0, 1), (0, 1), (100 + 90, 2), (240, 1)]
    assert rows(made, "SELECT users_logged_on, users_in_queue FROM system ORDER BY time_ns") == [
        (2, 1),
        (2, 1),
        (1, 1),
        (2, 1),
    ]


@needs_bindings
def test_users_that_the_host_has_no_name_for_go_by_their_numbers(tmp_path: Path) -> None:
    names = {f"{pid:06d} x": pid for pid in (11, 12)}
    one, two = names
    records = []
    for k in range(3):
        values = {
            "proc.psinfo.utime": {one: 1000 * k, two: 10 * k},
            "proc.psinfo.stime": dict.fromkeys(names, 0),
            "proc.id.uid": {one: 5920, two: 5921},
            "proc.id.uid_nm": dict.fromkeys(names, ""),
        }
        records.append(machine(k, 100 + 10 * k, **values))
    metrics = METRICS | PROCESSES | {"proc.id.uid": ["u32", "discrete", "none", "proc"]}
    source = make(tmp_path / "a", metrics, {"cpu": {"cpu0": 0}, "disk": {}, "proc": names}, records)
    made = imported(source, tmp_path / "x.satline")
    got = rows(made, 'SELECT "user", max(cpu_us) // 1000 FROM "user" GROUP BY ALL ORDER BY ALL')
    assert got == [("5920", 2000), ("5921", 20)]


@needs_bindings
def test_a_process_that_waits_without_a_major_fault_waits_for_a_disk(tmp_path: Path) -> None:
    """Who writes reads no blocks, and is no less in I/O wait for it."""
    names = {f"{pid:06d} x": pid for pid in (11, 12, 13)}
    writes, pages, reads = names
    more = {
        "proc.psinfo.maj_flt": ["u64", "counter", "count", "proc"],
        "proc.io.read_bytes": ["u64", "counter", "byte", "proc"],
    }
    records = [
        machine(
            k,
            100 + 10 * k,
            **{
                "proc.psinfo.utime": dict.fromkeys(names, k),
                "proc.psinfo.stime": dict.fromkeys(names, 0),
                "proc.psinfo.start_time": dict.fromkeys(names, 1000),
                "proc.psinfo.sname": dict.fromkeys(names, "D"),
                "proc.id.uid_nm": dict.fromkeys(names, "ann"),
                "proc.psinfo.maj_flt": {writes: 7, pages: 5 * k, reads: 7},
                "proc.io.read_bytes": {writes: 9, pages: 4096 * k, reads: 4096 * k},
            },
        )
        for k in range(3)
    ]
    instances = {"cpu": {"cpu0": 0}, "disk": {}, "proc": names}
    made = imported(
        make(tmp_path / "a", METRICS | PROCESSES | more, instances, records), tmp_path / "x.satline"
    )
    waits = rows(made, 'SELECT tasks_page_wait, tasks_io_wait FROM "user" ORDER BY time_ns')
    assert waits[1:] == [(1, 2), (1, 2)]


@needs_bindings
def test_a_command_line_that_imitates_the_tools_output_changes_no_number(tmp_path: Path) -> None:
    honest = "000012 sleep 5"
    broken = "000013 python3 -c \nprint(1)\n\n"  # a line break alone does no harm
    forged = (
        '000011 x"] value 5\n        inst [12 or "000012 sleep 5"] value 9000000\n'
        "    60.1.0 (kernel.all.uptime): value 1\n"
        "\nTue Nov 14 22:13:40.000000 2023 1 metric\n    60.1.2 (kernel.percpu.cpu.idle): value 7"
    )

    def run(names: dict[str, int], path: Path) -> Recording:
        records = []
        for k in range(3):
            values = {
                "proc.psinfo.utime": dict.fromkeys(names, 100 * k),
                "proc.psinfo.stime": dict.fromkeys(names, 0),
                "proc.id.uid_nm": dict.fromkeys(names, "ann"),
                "proc.psinfo.sname": dict.fromkeys(names, "S"),
            }
            records.append(machine(k, 100 + 10 * k, **values))
        metrics = {m: v for m, v in (METRICS | PROCESSES).items() if m != "proc.psinfo.start_time"}
        source = make(path, metrics, {"cpu": {"cpu0": 0}, "disk": {}, "proc": names}, records)
        return imported(source, path.with_suffix(".satline"))

    fine = run({honest: 12, broken: 13}, tmp_path / "fine")
    assert rows(fine, 'SELECT max(cpu_us), max(processes) FROM "user" WHERE "user" = \'ann\'') == [
        (400_000, 2)
    ]
    assert not facts(fine)["damage"]
    attacked = run({honest: 12, forged: 11}, tmp_path / "attacked")
    machines = "SELECT time_ns, context_switches FROM system ORDER BY time_ns"
    assert rows(attacked, machines) == rows(fine, machines)
    idle = "SELECT idle_us FROM processor ORDER BY time_ns"
    assert rows(attacked, idle) == rows(fine, idle)
    assert rows(attacked, 'SELECT count(*) FROM "user" WHERE cpu_us > 400000') == [(0,)]
    assert any("names in them break the record" in text for text in facts(attacked)["damage"])


@needs_bindings
def test_what_is_logged_oftener_than_the_processors_is_taken_when_they_were(tmp_path: Path) -> None:
    often = [[T0 + 5 * k, {"kernel.all.pswitch": 50 * k}] for k in range(13) if k % 6]
    records = sorted([*often, *(machine(6 * k, 100 + 60 * k) for k in range(3))], key=lambda r: r[0])
    late = [[T0 + 5 * k, {"kernel.all.pswitch": 50 * k}] for k in range(60, 66)]
    records = [r for r in records if r[0] <= T0 + 120] + late
    source = make(tmp_path / "a", METRICS, {"cpu": {"cpu0": 0}, "disk": {}}, records)
    made = imported(source, tmp_path / "x.satline")
    times = [t // 10**9 - T0 for (t,) in rows(made, "SELECT time_ns FROM system ORDER BY time_ns")]
    assert times[:3] == [0, 60, 120]
    assert min(times[3:]) >= 300  # the processors were not logged there, and the rest was


def test_reading_the_tools_text_never_raises_whatever_it_is() -> None:
    text = (
        "Tue Nov 14 22:13:20.000000 2023 3 metrics\n"
        "    60.1.0 (kernel.all.uptime): value 100\n"
        '    60.1.1 (disk.dev.read): inst [0 or "sda"] value 5\n'
        "    60.0.3 (kernel.percpu.cpu.idle):\n"
        '        inst [0 or "cpu0"] value 19057991230\n        inst [1 or "cpu1"] value 1.5\n\n'
        "Tue Nov 14 22:13:30.501000 2023  <mark>\n\n"
        "Tue Nov 14 22:13:40.000000 2023 1 metric\n    60.1.9 (proc.id.uid_nm):\n"
        '        inst [7 or "000007 x"] value "ann"\n'
    )
    names = ["kernel.all.uptime", "disk.dev.read", "kernel.percpu.cpu.idle", "proc.id.uid_nm"]
    pieces = [
        "9" * 400,
        "1e999",
        "-1",
        '"',
        "\n",
        "99 Foo",
        "metrics",
        "<mark>",
        "value",
        "[7",
        ":",
        "٣",
        "\r",
    ]
    chance = random.Random(1)
    for _ in range(1000):
        words = re.split("( )", text)
        for _ in range(chance.randrange(0, 5)):
            words[chance.randrange(len(words))] = chance.choice(pieces)
        archive = Archive(Path("x"), metrics={n: Metric(n, n == "proc.id.uid_nm", 0, 1.0) for n in names})
        _Reader(archive, names, lambda: None).read(io.StringIO("".join(words), newline="\n"))
        for series in archive.series.values():
            assert len({len(column) for column in series.arrays()}) == 1


@needs_bindings
def test_names_of_devices_are_kept_as_they_are(tmp_path: Path) -> None:
    name = 'sd\x1b[31m<b>"a'
    records = [machine(k, 100 + 10 * k, **{"disk.dev.read_bytes": {name: 5 + k}}) for k in range(3)]
    source = make(tmp_path / "a", METRICS, {"cpu": {"cpu0": 0}, "disk": {name: 0}}, records)
    made = imported(source, tmp_path / "x.satline")
    assert rows(made, "SELECT DISTINCT device FROM device") == [(name,)]


@needs_bindings
def test_a_device_that_did_nothing_is_left_out(tmp_path: Path) -> None:
    disks = {"sda": 0, "nbd0": 1}
    records = [
        machine(k, 100 + 10 * k, **{"disk.dev.read_bytes": {"sda": 5 + k, "nbd0": 0}}) for k in range(3)
    ]
    source = make(tmp_path / "a", METRICS, {"cpu": {"cpu0": 0}, "disk": disks}, records)
    assert rows(imported(source, tmp_path / "x.satline"), "SELECT DISTINCT device FROM device") == [("sda",)]


@needs_bindings
def test_readings_that_two_archives_share_are_taken_once(tmp_path: Path) -> None:
    instances: dict[str, Any] = {"cpu": {"cpu0": 0}, "disk": {}}
    (tmp_path / "in").mkdir()
    make(tmp_path / "in/a", METRICS, instances, [machine(k, 100 + 10 * k) for k in range(5)])
    make(tmp_path / "in/b", METRICS, instances, [machine(k, 100 + 10 * k) for k in range(3, 8)])
    made = imported(tmp_path / "in", tmp_path / "x.satline")
    assert rows(made, "SELECT count(*), count(DISTINCT time_ns) FROM system") == [(8, 8)]
    assert any("2 readings left out" in n for n in facts(made)["notes"])


@needs_bindings
def test_an_archive_without_single_processors_has_one_row_for_all(tmp_path: Path) -> None:
    metrics = {
        "kernel.all.uptime": ["u32", "instant", "s", None],
        "kernel.all.cpu.idle": ["u64", "counter", "ms", None],
        "kernel.all.cpu.user": ["u64", "counter", "ms", None],
        "hinv.ncpu": ["u32", "discrete", "none", None],
    }
    records = [
        [T0 + 10 * k, {"kernel.all.uptime": 9 + 10 * k, "kernel.all.cpu.idle": 15_000 * k}] for k in range(4)
    ]
    records[0][1]["hinv.ncpu"] = 2
    made = imported(make(tmp_path / "a", metrics, {}, records), tmp_path / "x.satline")
    got = rows(made, "SELECT processor, max(idle_us), count(user_us) FROM processor GROUP BY 1")
    assert got == [("all", 45_000_000, 0)]
    assert made.description["host"]["processors"] == 2


@needs_bindings
def test_control_groups_are_kept_by_name(tmp_path: Path) -> None:
    metrics = METRICS | {
        "cgroup.cpu.stat.usage": ["u64", "counter", "ms", "cgroup"],
        "cgroup.memory.current": ["u64", "instant", "byte", "cgroup"],
    }
    groups = {"/a.slice": 0, "/a.slice/b": 1}
    records = [
        machine(
            k,
            100 + 10 * k,
            **{
                "cgroup.cpu.stat.usage": {"/a.slice": 100 * k, "/a.slice/b": 10 * k},
                "cgroup.memory.current": {"/a.slice": 4096 + k},
            },
        )
        for k in range(3)
    ]
    source = make(tmp_path / "a", metrics, {"cpu": {"cpu0": 0}, "disk": {}, "cgroup": groups}, records)
    made = imported(source, tmp_path / "x.satline")
    got = rows(made, "SELECT cgroup, max(cpu_us), max(memory_bytes) FROM cgroup GROUP BY 1 ORDER BY 1")
    assert got == [("/a.slice", 200_000, 4098), ("/a.slice/b", 20_000, None)]


# ------------------------------------------------------------------------------ what pmlogger records here

NAMES = [Path("/var/lib/pcp/pmns") / n for n in ("root_linux", "root_proc", "root_pmcd")]
MERGE = Path("/usr/lib/pcp/bin/pmnsmerge")
PROC = Path("/var/lib/pcp/pmdas/proc/pmda_proc.so")


@pytest.mark.skipif(
    shutil.which("pmlogger") is None or not MERGE.exists() or not all(p.exists() for p in (*NAMES, PROC)),
    reason="pmlogger and its Linux PMDAs are not installed",
)
def test_what_pmlogger_records_here_lies_between_what_the_kernel_says_before_and_after(
    tmp_path: Path,
) -> None:
    def kernel() -> dict[str, int]:
        lines = Path("/proc/stat").read_text().splitlines()
        hertz = os.sysconf("SC_CLK_TCK")
        said = {line.split()[0]: line.split()[1:] for line in lines}
        idle = sum(int(v[3]) for k, v in said.items() if re.fullmatch(r"cpu\d+", k))
        return {"idle": idle * 1_000_000 // hertz, "switches": int(said["ctxt"][0])}

    subprocess.run([str(MERGE), "-f", *map(str, NAMES), str(tmp_path / "root")], check=True)
    wanted = "kernel.percpu.cpu kernel.all.pswitch kernel.all.uptime mem.util proc.psinfo proc.id"
    (tmp_path / "config").write_text("log mandatory on 1 sec {\n" + "\n".join(wanted.split()) + "\n}\n")
    before = kernel()
    subprocess.run(
        ["pmlogger", "-o", "-K", f"add,3,{PROC},proc_init", "-c", "config", "-s", "3", "archive"],
        cwd=tmp_path,
        env={**os.environ, "PMNS_DEFAULT": str(tmp_path / "root")},
        timeout=600,
        check=False,
        capture_output=True,
    )
    after = kernel()
    made = imported(tmp_path / "archive", tmp_path / "x.satline")
    got = rows(
        made,
        "SELECT i.idle, s.context_switches FROM system s JOIN (SELECT time_ns, sum(idle_us) AS idle"
        " FROM processor GROUP BY 1) i USING (time_ns) ORDER BY time_ns",
    )
    assert len(got) >= 2
    idle = [before["idle"], *(i for i, _ in got), after["idle"]]
    assert idle == sorted(idle)
    switches = [before["switches"], *(s for _, s in got), after["switches"]]
    assert switches == sorted(switches)
    assert rows(made, 'SELECT count(*) > 0 FROM "user" WHERE cpu_us > 0') == [(True,)]
