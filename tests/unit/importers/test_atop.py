"""atop's raw logs: numbers against what atop prints, and what a log may do to an importer."""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest
from atop_logs import imported, raw
from imports import facts, rows

from satline.errors import InputError
from satline.importers import atop
from satline.importers._atop_reader import installed_version
from satline.recording import Recording

pytestmark = pytest.mark.slow

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "atop"

needs_tool = pytest.mark.skipif(shutil.which("atop") is None, reason="atop is not installed")
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no logs in {DATA}")


def version_here() -> tuple[int, int]:
    return installed_version() if shutil.which("atop") else (0, 0)


needs_converter = pytest.mark.skipif(
    shutil.which("atopconvert") is None or version_here() < (2, 8),
    reason="no atopconvert of 2.8 or later",
)


def printed(log: Path, labels: str) -> list[list[str]]:
    done = subprocess.run(
        ["atop", "-r", str(log), "-P", labels],
        capture_output=True,
        text=True,
        check=False,
        env={"TZ": "UTC0"},
    )
    return [line.split() for line in done.stdout.splitlines()]


# ------------------------------------------------------------------------------ a log made here


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three readings a second apart, with some work between them."""
    path = tmp_path_factory.mktemp("atop") / "made.log"
    worker = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    try:
        subprocess.run(["atop", "-w", str(path), "1", "3"], check=True, timeout=120, capture_output=True)
    finally:
        worker.kill()
        worker.wait()
    return path


@pytest.fixture(scope="module")
def live(log: Path, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return imported(log, tmp_path_factory.mktemp("live") / "live.satline")


@needs_tool
def test_differences_of_processor_times_are_the_ticks_that_atop_prints(log: Path, live: Recording) -> None:
    expected: dict[tuple[int, str], tuple[int, ...]] = {}
    for line in printed(log, "cpu"):
        if line[0] == "cpu":
            us = 1_000_000 // int(line[6])
            system, user, _, idle, wait = (int(t) * us for t in line[8:13])
            expected[int(line[2]), line[7]] = (user - int(line[16]) * us, system, idle, wait)
    got = rows(
        live,
        "SELECT time_ns // 1000000000 AS t, processor, "
        + ", ".join(
            f"{c} - lag({c}) OVER (PARTITION BY run, processor ORDER BY time_ns)"
            for c in ("user_us", "system_us", "idle_us", "iowait_us")
        )
        + " FROM processor QUALIFY row_number() OVER (PARTITION BY run, processor ORDER BY time_ns) > 1",
    )
    assert len(got) >= 2
    for time, processor, *values in got:
        assert tuple(values) == expected[time, processor]


@needs_tool
def test_counters_of_the_system_add_up_to_what_atop_prints(log: Path, live: Recording) -> None:
    lines = [line for line in printed(log, "CPL") if line[0] == "CPL"][1:]
    ((switches, interrupts),) = rows(
        live,
        "SELECT max(context_switches) - min(context_switches), max(interrupts) - min(interrupts) FROM system",
    )
    assert switches == sum(int(line[10]) for line in lines)
    assert interrupts == sum(int(line[11]) for line in lines)
    assert [round(v, 2) for (v,) in rows(live, "SELECT load_average_1 FROM system ORDER BY time_ns")][1:] == [
        float(line[7]) for line in lines
    ]


@needs_tool
def test_users_have_the_time_that_their_processes_used(log: Path, live: Recording) -> None:
    used: dict[int, int] = defaultdict(int)
    for line in printed(log, "PRC"):
        name_ends = next((k for k, word in enumerate(line) if k > 6 and word.endswith(")")), 0)
        if line[0] == "PRC" and line[name_ends + 12] == "y":
            used[int(line[2])] += (int(line[name_ends + 3]) + int(line[name_ends + 4])) * 10_000
    times = sorted(used)
    got = dict(rows(live, 'SELECT time_ns // 1000000000, sum(cpu_us) FROM "user" GROUP BY 1'))
    total = 0
    for time in times[1:]:
        total += used[time]
        assert got[time] == total
    assert total > 0


@needs_tool
def test_counters_of_users_never_fall_and_the_collector_is_no_user(live: Recording) -> None:
    for column in ("cpu_us", "cpu_system_us", "minor_faults", "exits"):
        falls = rows(
            live,
            f'SELECT count(*) FROM (SELECT {column} - lag({column}) OVER (PARTITION BY run, "user"'
            f' ORDER BY time_ns) AS d FROM "user") WHERE d < 0',
        )
        assert falls == [(0,)], column
    names = {n for (n,) in rows(live, 'SELECT DISTINCT "user" FROM "user"')}
    assert "_collector" in names
    assert all(n.isdigit() for n in names if not n.startswith("_"))
    ((users,),) = rows(live, "SELECT max(users_logged_on) FROM system")
    assert users <= len([n for n in names if n.isdigit()])


@needs_tool
def test_the_interval_since_the_start_of_the_system_is_no_interval(live: Recording) -> None:
    ((first,),) = rows(live, "SELECT context_switches FROM system ORDER BY time_ns LIMIT 1")
    assert first == 0
    assert rows(live, "SELECT count(*) FROM system") == [(3,)]


@needs_tool
def test_what_lies_before_a_damaged_tail_is_imported(log: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.log"
    data = log.read_bytes()
    cut.write_bytes(data[: len(data) - 2000])
    made = imported(cut, tmp_path / "x.satline")
    assert rows(made, "SELECT count(*) FROM system") == [(2,)]
    assert any("its end is damaged" in text for text in facts(made)["damage"])


@needs_tool
def test_a_log_cut_within_its_header_is_an_error_that_names_it(log: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.log"
    cut.write_bytes(log.read_bytes()[:100])
    with pytest.raises(InputError, match=r"cut\.log"):
        imported(cut, tmp_path / "x.satline")


@needs_tool
def test_what_was_imported_can_be_reduced_and_diagnosed(live: Recording) -> None:
    from satline.diagnosis import diagnose
    from satline.reduction import reduce

    reduce(live)
    assert diagnose(live).headline


# ------------------------------------------------------------------------------ logs of other versions


@needs_data
@needs_converter
def test_a_log_of_an_older_atop_is_converted(tmp_path: Path) -> None:
    made = imported(DATA / "atop_2_7.log.gz", tmp_path / "x.satline")
    assert any("written by atop 2.7" in n for n in facts(made)["notes"])
    # atopconvert, then atop -P: the interval that ended at 1705252854
    at = 1705252854 * 10**9
    assert rows(made, f"SELECT context_switches, interrupts FROM system WHERE time_ns = {at}") == [(517, 358)]
    assert rows(
        made,
        f"SELECT processor, user_us, idle_us FROM processor WHERE time_ns = {at} ORDER BY processor LIMIT 2",
    ) == [("0", 0, 1_000_000), ("1", 10_000, 990_000)]
    assert rows(made, "SELECT count(*), max(mem_total_bytes) FROM system") == [(5, 2037722 * 4096)]


@needs_data
@needs_converter
def test_what_an_older_atop_did_not_write_is_missing_and_not_zero(tmp_path: Path) -> None:
    made = imported(DATA / "atop_2_4.log.gz", tmp_path / "x.satline")
    assert rows(
        made, "SELECT count(block_in_bytes), count(pressure_cpu_some_us), count(swap_in_pages) FROM system"
    ) == [(0, 0, 5)]
    assert rows(made, "SELECT count(in_flight), count(reads) > 0 FROM device") == [(0, True)]
    assert rows(made, 'SELECT count(run_delay_us), count(io_delay_us) FROM "user"') == [(0, 0)]
    lacking = {m["signal"] for m in facts(made)["missing"]}
    assert {"system.block_in_bytes", "user.run_delay_us", "device.in_flight"} <= lacking


@needs_data
@needs_converter
@pytest.mark.parametrize("name", ["atop_2_11.log.gz", "atop_2_12.log.gz"])
def test_a_log_of_a_newer_atop_is_an_error_that_names_the_version_and_the_remedy(
    name: str, tmp_path: Path
) -> None:
    version = name.removeprefix("atop_").removesuffix(".log.gz").replace("_", ".")
    if version_here() >= tuple(map(int, version.split("."))):
        pytest.skip("the installed atop is as new")
    with pytest.raises(InputError, match=f"written by atop {version}") as caught:
        imported(DATA / name, tmp_path / "x.satline")
    assert "atopconvert" in caught.value.hint


def test_without_atop_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="atop") as caught:
        imported(raw(tmp_path / "a.log"), tmp_path / "x.satline")
    assert "install atop" in caught.value.hint


def test_only_raw_logs_are_recognised(tmp_path: Path) -> None:
    assert atop.recognise(str(raw(tmp_path / "a.log"))) > 0.9
    assert atop.recognise(str(tmp_path)) > 0.5
    (tmp_path / "b").mkdir()
    (tmp_path / "b/text").write_text("atop")
    (tmp_path / "b/broken.gz").write_bytes(b"\x1f\x8bxxxx")
    for path in (tmp_path / "b", tmp_path / "b/text", tmp_path / "b/broken.gz", tmp_path / "c", Path("a\0b")):
        assert atop.recognise(str(path)) == 0
    assert atop.begins(str(tmp_path / "a.log")) == 1_700_000_000
