"""atop's raw logs: numbers against what atop prints, and what a log may do to an importer."""

from __future__ import annotations

import random
import shutil
import struct
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from satline.errors import InputError
from satline.importers import atop
from satline.importers._atop_lines import read_lines
from satline.importers._atop_reader import MAGIC, installed_version
from satline.importers._importer import Options
from satline.importers._sink import Sink
from satline.recording import Recording, check

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


def imported(source: Path, target: Path, options: Options | None = None) -> Recording:
    sink = Sink(target)
    sink.start()
    atop.read(str(source), options or Options(), sink)
    sink.finish()
    report = check(target)
    assert not report.problems
    assert not report.damage
    return Recording.open(target)


def rows(recording: Recording, sql: str) -> list[tuple[Any, ...]]:
    return recording.connect().sql(sql).fetchall()


def facts(recording: Recording) -> dict[str, Any]:
    return dict(recording.sources["import"])


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
        subprocess.run(["atop", "-w", str(path), "1", "3"], check=True, timeout=60, capture_output=True)
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


# ------------------------------------------------------------------------------ atop's text


def raw(path: Path) -> Path:
    """The header of a raw log and the time of its first record."""
    header = struct.pack("<IHHHHHH", MAGIC, 0x8208, 0, 0, 480, 96, 100).ljust(480, b"\0")
    path.write_bytes(header + struct.pack("<q", 1_700_000_000))
    return path


T0 = 1_700_000_000


def head(label: str, k: int, interval: int = 10) -> str:
    return f"{label} host {T0 + 10 * k} 2023/11/14 22:13:20 {interval}"


def sample(k: int, *more: str, interval: int = 10) -> list[str]:
    return [
        f"{head('CPU', k, interval)} 100 1 100 200 0 700 0 0 0 0 0 2000 100 0 0",
        f"{head('CPL', k, interval)} 1 0.50 0.40 0.30 1000 500",
        f"{head('MEM', k, interval)} 4096 1000 500 100 10 20 5 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
        *(f"{head(m.split()[0], k, interval)} {m.split(' ', 1)[1]}" for m in more),
        "SEP",
    ]


def process(pid: int, uid: int, ticks: int, name: str = "x", state: str = "S", ppid: int = 1) -> list[str]:
    running = int(state == "R")
    return [
        f"PRG {pid} ({name}) {state} {uid} {uid} {pid} 1 0 {T0} (any (thing) here) {ppid} {running} 1 0"
        f" 0 0 0 0 0 0 0 y 0 0 - N ()",
        f"PRC {pid} ({name}) {state} 100 {ticks} 0 0 120 0 0 0 0 {pid} y 5000 (wait) 0 -3 -3",
    ]


@pytest.fixture
def from_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], Recording]:
    """Import lines as if atop had printed them."""

    def run(lines: list[str]) -> Recording:
        @contextmanager
        def fake(*_: Any) -> Iterator[tuple[Iterator[str], bool]]:
            yield iter(lines), False

        monkeypatch.setattr(atop, "printed", fake)
        monkeypatch.setattr(atop, "installed_version", lambda: (2, 8))
        return imported(raw(tmp_path / "a.log"), tmp_path / "x.satline")

    return run


def test_a_restart_begins_a_new_run(from_text: Callable[[list[str]], Recording]) -> None:
    lines = ["RESET", *sample(0, interval=5000), *sample(1), *sample(2), "RESET", *sample(9, interval=20)]
    made = from_text([*lines, *sample(10)])
    got = rows(made, "SELECT run, (time_ns // 1000000000 - 1700000000) // 10, context_switches FROM system")
    assert got == [(1, 0, 0), (1, 1, 1000), (1, 2, 2000), (2, 9, 0), (2, 10, 1000)]


def test_a_gap_begins_a_new_run_even_where_atop_says_nothing(
    from_text: Callable[[list[str]], Recording],
) -> None:
    made = from_text([*sample(0), *sample(1), *sample(7), *sample(8)])
    assert rows(made, "SELECT run, count(*) FROM system GROUP BY run ORDER BY run") == [(1, 2), (2, 2)]


def test_a_system_of_one_processor_has_one(from_text: Callable[[list[str]], Recording]) -> None:
    made = from_text([*sample(0), *sample(1)])
    assert rows(made, "SELECT processor, max(user_us), max(idle_us) FROM processor GROUP BY 1") == [
        ("0", 2_000_000, 7_000_000)
    ]
    assert made.description["host"]["processors"] == 1


def test_guests_are_taken_out_of_user_time(from_text: Callable[[list[str]], Recording]) -> None:
    lines = [line.replace("700 0 0 0 0 0 2000", "700 0 0 0 0 150 2000") for k in (0, 1) for line in sample(k)]
    made = from_text(lines)
    assert rows(made, "SELECT max(user_us), max(guest_us) FROM processor") == [(500_000, 1_500_000)]


def test_processes_that_ended_are_counted_and_are_no_longer_there(
    from_text: Callable[[list[str]], Recording],
) -> None:
    made = from_text(
        [
            *sample(0, *process(10, 1000, 9999)),
            *sample(1, *process(10, 1000, 30, state="E"), *process(11, 1000, 20, state="R")),
            *sample(2, *process(11, 1000, 5), *process(11, 1001, 7, state="E")),
        ]
    )
    got = rows(
        made,
        'SELECT cpu_us // 10000, processes, tasks_runnable, exits FROM "user"'
        " WHERE \"user\" = '1000' ORDER BY time_ns",
    )
    assert got == [(0, 1, 0, 0), (50, 1, 1, 1), (55, 1, 0, 1)]
    assert rows(made, "SELECT users_logged_on, users_in_queue FROM system ORDER BY time_ns") == [
        (1, 0),
        (1, 1),
        (1, 0),
    ]


def test_names_of_commands_can_hold_anything_and_change_no_number(
    from_text: Callable[[list[str]], Recording],
) -> None:
    names = ["a) S 1 0 1 1", "(", "x) R 0 0 9 9 0", ") (", "SEP", "\x1b[31m", ""]
    used = [line for k, name in enumerate(names) for line in process(20 + k, 1000 + k, 10 + k, name)]
    made = from_text([*sample(0, *used), *sample(1, *used)])
    got = dict(rows(made, 'SELECT "user", max(cpu_us) // 10000 FROM "user" GROUP BY 1'))
    assert got == {str(1000 + k): 10 + k for k in range(len(names))}
    assert not facts(made)["damage"]


def test_a_program_that_calls_itself_atop_does_not_hide(from_text: Callable[[list[str]], Recording]) -> None:
    lines = [
        *process(5, 0, 3, "atop"),
        *process(6, 1000, 8, "atop"),
        *process(7, 0, 4, "kworker/0:1", ppid=2),
    ]
    made = from_text([*sample(0, *lines), *sample(1, *lines)])
    got = dict(rows(made, 'SELECT "user", max(cpu_us) // 10000 FROM "user" GROUP BY 1'))
    assert got == {"_collector": 3, "1000": 8, "_kernel": 4}
    assert rows(made, "SELECT max(monitor_cpu_us) FROM system") == [(30_000,)]


def test_lines_with_too_few_fields_are_left_out_and_counted(
    from_text: Callable[[list[str]], Recording],
) -> None:
    made = from_text([*sample(0), *sample(1, "CPL 1", "PRC 5 (x"), "CPU host", "nonsense"])
    assert any(t.startswith("a.log: 4 lines") for t in facts(made)["damage"])
    assert rows(made, "SELECT max(context_switches) FROM system") == [(1000,)]


def test_pressure_is_missing_where_the_kernel_has_none_and_a_total_where_it_has(
    from_text: Callable[[list[str]], Recording],
) -> None:
    none = "PSI n" + " 0.0 0.0 0.0 0" * 5
    some = "PSI y 1.0 1.0 1.0 11 2.0 2.0 2.0 22 3.0 3.0 3.0 33 4.0 4.0 4.0 44 5.0 5.0 5.0 55"
    made = from_text([*sample(0, some), *sample(1, some), *sample(2, none)])
    got = rows(
        made,
        "SELECT pressure_cpu_some_us, pressure_memory_some_us, pressure_memory_full_us, pressure_io_some_us,"
        " pressure_io_full_us FROM system ORDER BY time_ns",
    )
    assert got == [(0, 0, 0, 0, 0), (11, 22, 33, 44, 55), (None, None, None, None, None)]


def test_a_disks_queue_is_its_mean_while_busy_times_the_time_it_was_busy(
    from_text: Callable[[list[str]], Recording],
) -> None:
    disk = "DSK sda 2000 30 240 10 80 -1 0 3 1.50"
    net = "NET eth0 100 150000 50 6000 1000 1"
    made = from_text([*sample(0, disk, net), *sample(1, disk, net)])
    assert rows(
        made,
        "SELECT reads, read_bytes, writes, write_bytes, busy_us, queue_us, in_flight FROM device"
        " WHERE device = 'sda' ORDER BY time_ns DESC LIMIT 1",
    ) == [(30, 240 * 512, 10, 80 * 512, 2_000_000, 3_000_000, 3)]
    assert rows(made, "SELECT max(reads), max(write_bytes) FROM device WHERE device_kind = 'network'") == [
        (100, 6000)
    ]


def test_only_the_readings_between_the_given_times_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [line for k in range(6) for line in sample(k)]

    @contextmanager
    def fake(*_: Any) -> Iterator[tuple[Iterator[str], bool]]:
        yield iter(lines), False

    monkeypatch.setattr(atop, "printed", fake)
    monkeypatch.setattr(atop, "installed_version", lambda: (2, 8))
    window = Options(start=datetime.fromtimestamp(T0 + 20, UTC), end=datetime.fromtimestamp(T0 + 50, UTC))
    made = imported(raw(tmp_path / "a.log"), tmp_path / "x.satline", window)
    assert rows(made, "SELECT count(*), min(time_ns) // 1000000000 FROM system") == [(3, T0 + 20)]


def test_reading_lines_never_raises_whatever_they_are() -> None:
    text = "\n".join([*sample(0, *process(10, 1000, 5), "DSK sda 1 2 3 4 5 6 7 8 9.0"), *sample(1)])
    for end in range(0, len(text), 7):
        read_lines(text[:end].split("\n"))
    chance = random.Random(1)
    pieces = ["9" * 400, "-1", "0", "\n", " ", "(", ")", "SEP", "x", "٣", "1e5", "\x00"]
    for _ in range(500):
        words = text.split(" ")
        for _ in range(chance.randrange(1, 6)):
            words[chance.randrange(len(words))] = chance.choice(pieces)
        read_lines(" ".join(words).split("\n"))
