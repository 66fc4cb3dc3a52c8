"""What atop prints, imported: made lines whose numbers are known, and lines that may hold anything."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from atop_logs import imported, raw
from imports import facts, rows

from satline.importers import atop
from satline.importers._atop_lines import read_lines
from satline.importers._importer import Options
from satline.recording import Recording

pytestmark = pytest.mark.slow

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
