"""Lines of `atop -P` → what happened in each interval.

Six fields come first in every line: label, host, epoch, date, time, length of the interval in seconds. A line
with another number of fields than its label has is left out and counted.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

Number = float | None
_NUMBER = re.compile(r"[0-8]?[0-9]{1,9}")  # up to the year 2255, where ns leave 64 bits soon
_TASK = re.compile(r"(PR[GCMD]) \S+ \d+ \S+ \S+ \d+ (\d+) \((.{0,15})\) ([A-Za-z]) (.*)")
_GENERAL = re.compile(
    r"(\d+) \d+ (\d+) \d+ -?\d+ \d+ \(.*\) (\d+) (\d+) \d+ (\d+)(?: -?\d+)+ ([yn])(?: [^()]*(?:\([^()]*\))?)?"
)
_DELAY = re.compile(r"(\d+) (\d+) (\d+)(?: -?\d+){6} \d+ ([yn]) (\d+) \(.*\) (\d+)(?: .*)?")
SECTOR: Final = 512
PROCESS_COLUMNS: Final = (
    "seq", "pid", "exited", "uid", "kernel", "collector", "runnable", "waiting", "cpu_us", "cpu_system_us",
    "run_delay_us", "io_delay_us", "minor_faults", "major_faults", "resident_bytes", "read_bytes",
    "write_bytes",
)  # fmt: skip
_MISSING = float("nan")


@dataclass
class Interval:
    """One interval: the amounts of counters and accumulators in it, levels at its end.

    since_boot
        It began when the system was started: its amounts are no interval's.
    """

    epoch: int
    length_s: int
    host: str
    since_boot: bool = False
    system: dict[str, float] = field(default_factory=dict)
    processors: dict[str, dict[str, float]] = field(default_factory=dict)
    devices: dict[str, dict[str, float]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)


@dataclass
class Log:
    """All intervals of a log, and its processes in columns (`PROCESS_COLUMNS`; NaN where unknown)."""

    intervals: list[Interval] = field(default_factory=list)
    processes: dict[str, array[float]] = field(
        default_factory=lambda: {c: array("d") for c in PROCESS_COLUMNS}
    )
    unreadable: int = 0


def read_lines(lines: Iterable[str]) -> Log:
    """Take atop's output apart."""
    log = Log()
    reset = False
    rows: dict[tuple[int, bool], int] = {}
    for line in lines:
        if line == "RESET":
            reset = True
            continue
        head = line.split(" ", 6)
        if len(head) < 7 or not _NUMBER.fullmatch(head[2]) or not _NUMBER.fullmatch(head[5]):
            log.unreadable += line != "SEP" and line != ""
            continue
        epoch = int(head[2])
        now = log.intervals[-1] if log.intervals else None
        if now is None or now.epoch != epoch or reset:
            now = Interval(epoch, int(head[5]), head[1], reset or now is None)
            log.intervals.append(now)
            rows, reset = {}, False
        try:
            if head[0] in ("PRG", "PRC", "PRM", "PRD"):
                log.unreadable += not _process(log, rows, line)
            else:
                reader = _SYSTEM.get(head[0])
                if reader is not None:
                    reader(now, head[6].split())
        except (ValueError, IndexError, ArithmeticError):
            log.unreadable += 1
    return log


def _ticks(fields: list[str], first: int) -> dict[str, float]:
    """Times of one processor, from its field of system mode on. atop counts guests' time in user mode too."""
    us = 1e6 / int(fields[0])
    system, user, nice, idle, wait, irq, soft, steal, guest = (
        float(f) * us for f in fields[first : first + 9]
    )
    return {
        "user_us": max(user - guest, 0.0),
        "nice_us": nice,
        "system_us": system,
        "irq_us": irq + soft,
        "idle_us": idle,
        "iowait_us": wait,
        "steal_us": steal,
        "guest_us": guest,
    }


def _all_processors(now: Interval, fields: list[str]) -> None:
    now.system["processors"] = float(fields[1])
    if int(fields[1]) == 1:  # a system of one processor has no cpu lines
        now.processors.setdefault("0", _ticks(fields, 2))


def _processor(now: Interval, fields: list[str]) -> None:
    now.processors[fields[1]] = _ticks(fields, 2)


def _load(now: Interval, fields: list[str]) -> None:
    now.system["load_average_1"] = float(fields[1])
    now.system["context_switches"] = float(fields[4])
    now.system["interrupts"] = float(fields[5])


def _memory(now: Interval, fields: list[str]) -> None:
    page = int(fields[0])
    total, free, cache, buffers, slab, dirty = (float(f) * page for f in fields[1:7])
    now.system |= {
        "page_bytes": float(page),
        "mem_total_bytes": total,
        "mem_free_bytes": free,
        "cached_bytes": cache + buffers,
        "slab_bytes": slab,
        "dirty_bytes": dirty,
    }


def _swap(now: Interval, fields: list[str]) -> None:
    page = int(fields[0])
    now.system |= {"swap_total_bytes": float(fields[1]) * page, "swap_free_bytes": float(fields[2]) * page}


def _paging(now: Interval, fields: list[str]) -> None:
    now.system |= {"swap_in_pages": float(fields[4]), "swap_out_pages": float(fields[5])}
    if len(fields) > 6 and int(fields[6]) >= 0:
        now.system["out_of_memory_kills"] = float(fields[6])
    if len(fields) > 11:
        page = int(fields[0])
        now.system |= {
            "block_in_bytes": float(fields[10]) * page,
            "block_out_bytes": float(fields[11]) * page,
        }


def _pressure(now: Interval, fields: list[str]) -> None:
    if fields[0] != "y":
        return
    for place, column in (
        (4, "pressure_cpu_some_us"),
        (8, "pressure_memory_some_us"),
        (12, "pressure_memory_full_us"),
        (16, "pressure_io_some_us"),
        (20, "pressure_io_full_us"),
    ):
        now.system[column] = float(fields[place])


def _disk(now: Interval, fields: list[str]) -> None:
    busy = float(fields[1]) * 1000
    now.kinds[fields[0]] = "block"
    now.devices[fields[0]] = {
        "reads": float(fields[2]),
        "read_bytes": float(fields[3]) * SECTOR,
        "writes": float(fields[4]),
        "write_bytes": float(fields[5]) * SECTOR,
        "busy_us": busy,
        # The mean queue while the disk was busy, in hundredths, times the time it was busy.
        "queue_us": float(fields[-1]) * busy,
    }
    if len(fields) >= 10:
        now.devices[fields[0]]["in_flight"] = float(fields[8])


def _network(now: Interval, fields: list[str]) -> None:
    if len(fields) != 7:
        return  # the upper layers
    now.kinds[fields[0]] = "network"
    now.devices[fields[0]] = dict(
        zip(("reads", "read_bytes", "writes", "write_bytes"), map(float, fields[1:5]), strict=True)
    )


_SYSTEM: Final[dict[str, Callable[[Interval, list[str]], None]]] = {
    "CPU": _all_processors,
    "cpu": _processor,
    "CPL": _load,
    "MEM": _memory,
    "SWP": _swap,
    "PAG": _paging,
    "PSI": _pressure,
    "DSK": _disk,
    "LVM": _disk,
    "MDD": _disk,
    "NET": _network,
}


def _process(log: Log, rows: dict[tuple[int, bool], int], line: str) -> bool:
    """One line of a process; False where it cannot be read. Lines of single threads are passed over."""
    task = _TASK.fullmatch(line)
    if task is None:
        return False
    label, pid, name, state, rest = task[1], int(task[2]), task[3], task[4], task[5]
    key = (pid, state == "E")
    columns = log.processes
    if label == "PRG":
        general = _GENERAL.fullmatch(rest)
        if general is None:
            return False
        uid, group, parent, running, waiting, whole = general.groups()
        if whole != "y" or int(group) != pid:
            return True
        rows[key] = len(columns["seq"])
        for column in columns.values():
            column.append(_MISSING)
        own = uid == "0" and name in ("atop", "atopacctd")
        _set(
            columns,
            rows[key],
            seq=len(log.intervals) - 1,
            pid=pid,
            exited=state == "E",
            uid=int(uid),
            kernel=pid == 2 or parent == "2",
            collector=own,
            runnable=int(running),
            waiting=0 if state == "I" else int(waiting),  # an idle kernel thread waits for nothing
        )
        return True
    row = rows.get(key)
    if row is None:
        return True
    if label == "PRC":
        delay = _DELAY.fullmatch(rest)
        if delay is None:
            return False
        if delay[4] == "y":
            us = 1e6 / int(delay[1])
            user, system = int(delay[2]) * us, int(delay[3]) * us
            _set(columns, row, cpu_us=user + system, cpu_system_us=system)
            _set(columns, row, run_delay_us=int(delay[5]) / 1000, io_delay_us=int(delay[6]) * us)
        return True
    fields = rest.split()
    if label == "PRM":
        if fields[13] == "y":
            _set(
                columns,
                row,
                resident_bytes=int(fields[2]) * 1024,
                minor_faults=int(fields[6]),
                major_faults=int(fields[7]),
            )
    elif fields[9] == "y" and fields[1] == "y":
        _set(columns, row, read_bytes=int(fields[3]) * SECTOR, write_bytes=int(fields[5]) * SECTOR)
    return True


def _set(columns: dict[str, array[float]], row: int, **values: float) -> None:
    for name, value in values.items():
        columns[name][row] = value
