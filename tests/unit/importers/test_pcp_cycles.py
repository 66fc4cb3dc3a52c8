"""Logging cycles of PCP archives: metrics that are logged in groups, milliseconds or seconds apart."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from imports import facts, rows
from pcp_archives import METRICS, PROCESSES, T0, imported, make, needs_bindings, needs_tool

from satline.importers._pcp_cycles import find_cycles

NONE = np.array([], dtype=np.int64)
DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "pcp" / "qa"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no archives in {DATA}")


def seconds(*at: float) -> np.ndarray:
    return np.array([round(t * 1e9) for t in at], dtype=np.int64)


def groups(interval: float, offsets: list[float], count: int) -> np.ndarray:
    return seconds(*(interval * k + o for k in range(count) for o in offsets))


# ------------------------------------------------------------------------------ which belong together


@pytest.mark.parametrize(
    ("interval", "offsets"),
    [
        (60, [0, 0.30, 0.53, 0.82, 1.06, 1.19]),
        (10, [0, 0.0436, 0.0498]),
        (10, [0, 0.03, 0.06, 0.09]),
        (1, [0, 0.0008, 0.022, 0.05]),
        (60, [0, 2.0]),
    ],
)
def test_the_groups_of_one_pass_are_one_cycle(interval: float, offsets: list[float]) -> None:
    instants = groups(interval, offsets, 50)
    cycles = find_cycles(instants, NONE)
    assert cycles.first_ns.tolist() == groups(interval, [0], 50).tolist()
    assert cycles.of(instants).tolist() == np.repeat(np.arange(50), len(offsets)).tolist()


def test_a_record_that_came_late_does_not_part_or_join_the_others() -> None:
    offsets = np.tile([0, 0.02, 0.05], 100) + np.repeat(np.arange(100) * 10, 3)
    offsets[152] += 0.8
    assert len(find_cycles(seconds(*offsets), NONE).first_ns) in (100, 101)


@pytest.mark.parametrize(
    "instants",
    [
        groups(10, [0], 50),
        groups(60, [0, 10, 20, 30], 50),  # readings every ten seconds, and one in the minute is missing twice
        groups(3600, list(range(20)), 30),  # twenty readings a second apart each hour
        groups(3600, [60 * k for k in range(30)], 30),
        np.unique(np.concatenate([groups(7, [0], 70), groups(10, [0.5], 49)])),
    ],
)
def test_readings_of_their_own_are_not_joined(instants: np.ndarray) -> None:
    assert find_cycles(instants, NONE).first_ns.tolist() == instants.tolist()


def test_bursts_of_readings_that_have_groups_are_readings() -> None:
    """Five readings ten seconds apart every 88 minutes, each of two groups."""
    burst = [10 * k + o for k in range(5) for o in (0, 0.02 + 0.1 * (k % 3))]
    cycles = find_cycles(groups(5280, burst, 6), NONE)
    assert cycles.first_ns.tolist() == groups(5280, [10 * k for k in range(5)], 6).tolist()


def test_no_cycle_crosses_a_mark_and_a_mark_is_no_distance_between_cycles() -> None:
    # three sessions of readings a minute apart, with a mark and a day between them
    sessions = np.concatenate([groups(60, [0], 4) + k * seconds(86400) for k in range(3)])
    assert len(find_cycles(sessions, seconds(3600, 90000)).first_ns) == 12
    twice = groups(10, [0, 0.02], 20)
    assert len(find_cycles(twice, seconds(50.01)).first_ns) == 21


# ------------------------------------------------------------------------------ archives


def split(k: int, late: float, **processes: object) -> list[list[object]]:
    """One pass in two records: the processors, and `late` seconds after it again, with what lacks there."""
    at, then = T0 + 10 * k, T0 + 10 * k + late
    processors = {"kernel.percpu.cpu.idle": {"cpu0": round(at % 10**6 * 900)}}
    again = {"kernel.percpu.cpu.idle": {"cpu0": round(then % 10**6 * 900)}}
    rest = {
        "kernel.all.pswitch": round(then % 10**6 * 100),
        "disk.dev.read_bytes": {"sda": round(then % 10**6)},
    }
    return [[at, {**processors, **processes}], [then, {**again, **rest, **processes}]]


INSTANCES = {"cpu": {"cpu0": 0}, "disk": {"sda": 0}}


@needs_tool
@needs_bindings
def test_metrics_logged_twice_in_a_pass_give_one_reading(tmp_path: Path) -> None:
    records = [r for k in range(20) for r in split(k, 0.005)]
    made = imported(make(tmp_path / "a", METRICS, INSTANCES, records), tmp_path / "x.satline")
    times = [t for (t,) in rows(made, "SELECT time_ns FROM system ORDER BY time_ns")]
    assert times == [(T0 + 10 * k) * 10**9 for k in range(20)]
    assert facts(made)["sampling"]["interval_ms"] == pytest.approx(10_000)
    idle = [v for (v,) in rows(made, "SELECT idle_us FROM processor ORDER BY time_ns")]
    assert {b - a for a, b in itertools.pairwise(idle)} == {9_000_000}
    switches = [v for (v,) in rows(made, "SELECT context_switches FROM system ORDER BY time_ns")]
    assert {b - a for a, b in itertools.pairwise(switches)} == {1000}


@needs_tool
@needs_bindings
def test_a_counter_whose_distance_to_the_processors_changes_is_interpolated_to_the_reading(
    tmp_path: Path,
) -> None:
    # switches come at 100 a second and are logged 0.2 s to 0.9 s after the processors
    records = [r for k in range(20) for r in split(k, 0.2 + 0.7 * (k % 2))]
    made = imported(make(tmp_path / "a", METRICS, INSTANCES, records), tmp_path / "x.satline")
    got = rows(made, "SELECT time_ns / 1e9, context_switches FROM system ORDER BY time_ns")
    assert len(got) == 20
    for (t0, a), (t1, b) in itertools.pairwise(got[1:]):
        assert (b - a) / (t1 - t0) == pytest.approx(100, rel=0.001)


@needs_tool
@needs_bindings
def test_processes_logged_twice_in_a_pass_count_once(tmp_path: Path) -> None:
    def processes(k: int) -> dict[str, object]:
        return {
            "proc.psinfo.utime": {"000007 sh": 100 * k},
            "proc.psinfo.stime": {"000007 sh": 10 * k},
            "proc.psinfo.sname": {"000007 sh": "R"},
            "proc.id.uid_nm": {"000007 sh": "ann"},
            "proc.psinfo.start_time": {"000007 sh": 1000},
        }

    records = [r for k in range(20) for r in split(k, 0.04, **processes(k))]
    source = make(tmp_path / "a", METRICS | PROCESSES, INSTANCES | {"proc": {"000007 sh": 7}}, records)
    made = imported(source, tmp_path / "x.satline")
    got = rows(made, 'SELECT time_ns, cpu_us, tasks_runnable FROM "user" WHERE "user" = \'ann\' ORDER BY 1')
    assert [t for t, _, _ in got] == [(T0 + 10 * k) * 10**9 for k in range(20)]
    assert {b[1] - a[1] for a, b in itertools.pairwise(got)} == {110_000}
    assert {n for _, _, n in got} == {1}


@needs_tool
@needs_bindings
def test_processes_whose_attributes_lie_in_another_record_of_the_pass_belong_to_their_user(
    tmp_path: Path,
) -> None:
    records = []
    for k in range(10):
        at = T0 + 10 * k
        records += [
            [at, {"kernel.percpu.cpu.idle": {"cpu0": 9000 * k}, "proc.psinfo.utime": {"000007 sh": 100 * k}}],
            [at + 0.02, {"proc.psinfo.stime": {"000007 sh": 10 * k}}],
            [at + 0.04, {"proc.id.uid_nm": {"000007 sh": "ann"}}],
        ]
    source = make(tmp_path / "a", METRICS | PROCESSES, INSTANCES | {"proc": {"000007 sh": 7}}, records)
    made = imported(source, tmp_path / "x.satline")
    got = rows(made, 'SELECT cpu_us FROM "user" WHERE "user" = \'ann\' ORDER BY time_ns')
    assert len(got) == 10
    assert got[-1][0] - got[0][0] == 9 * 110_000


@needs_tool
@needs_bindings
def test_gaps_longer_than_half_of_the_time_are_said(tmp_path: Path) -> None:
    records = [r for k in (*range(20), *range(60, 80)) for r in split(k, 0.005)[:1]]
    made = imported(make(tmp_path / "a", METRICS, INSTANCES, records), tmp_path / "x.satline")
    assert any("gaps are 52 % of the time" in note for note in facts(made)["notes"])
    whole = [r for k in range(40) for r in split(k, 0.005)[:1]]
    made = imported(make(tmp_path / "b", METRICS, INSTANCES, whole), tmp_path / "y.satline")
    assert not any("gaps" in note for note in facts(made)["notes"])


@needs_tool
@needs_data
@pytest.mark.parametrize(
    ("name", "readings", "interval_s"),
    [
        ("count-mark", 1756, 60),
        ("pcp-pidstat-process-states", 143, 10),
        ("small", 240, 15),
        ("naslog", 616, 1),
    ],
)
def test_archives_of_several_groups_have_one_reading_for_each_pass(
    name: str, readings: int, interval_s: float, tmp_path: Path
) -> None:
    made = imported(DATA / name, tmp_path / "x.satline")
    assert rows(made, "SELECT count(*) FROM system") == [(readings,)]
    assert facts(made)["sampling"]["interval_ms"] == pytest.approx(interval_s * 1000, rel=0.01)
    worst = "SELECT max(n) FROM (SELECT count(*) AS n FROM {} GROUP BY time_ns, {})"
    if name == "pcp-pidstat-process-states":
        assert rows(made, worst.format("processor", "processor")) == [(1,)]
        assert rows(made, worst.format('"user"', '"user"')) == [(1,)]


@needs_tool
@needs_bindings
def test_a_counter_that_was_logged_more_rarely_than_the_rest_has_its_rate_at_every_reading(
    tmp_path: Path,
) -> None:
    records = []
    for k in range(41):
        values = {"kernel.percpu.cpu.idle": {"cpu0": 900 * k}}
        if k % 4 == 0 and k != 20:  # every fourth time, and once it is missing
            values["disk.dev.read_bytes"] = {"sda": 10 * k + (1000 if k > 20 else 0)}
            values["kernel.all.uptime"] = 100 + k
        records.append([T0 + k, values])
    made = imported(make(tmp_path / "a", METRICS, INSTANCES, records), tmp_path / "x.satline")
    got = [v for (v,) in rows(made, "SELECT read_bytes // 1024 FROM device ORDER BY time_ns")]
    assert len(got) == 41
    rates = [b - a for a, b in itertools.pairwise(got)]
    assert set(rates[:15] + rates[25:]) == {10}
    assert got[24] - got[16] == 1080
