"""atop's raw logs (`atop -w`, /var/log/atop), through the installed `atop -r … -P`.

atop prints what happened in each interval; added up, that is a counter again, and its differences are atop's
own numbers. The first interval of a log lasts since the system was started: it gives the levels at its end
and the start of the counters. What processes used in an interval, those that ended in it included as far as
atop saw them, is added to their users' counters; users are numbers, since the log holds no names.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from satline.catalogue import catalogue
from satline.errors import InputError
from satline.importers import _users
from satline.importers._atop_lines import Interval, Log, read_lines
from satline.importers._atop_reader import first_epoch, installed_version, printed, raw_version
from satline.importers._importer import Importer, Options
from satline.importers._sink import Floats, Integers, Sink
from satline.recording import number_column, numbers_of

# Zero since the system was started: this atop, or the kernel, did not measure it.
_UNMEASURED = ("block_in_bytes", "block_out_bytes", "context_switches", "interrupts")
_UNMEASURED_OF_USERS = ("run_delay_us", "io_delay_us", "read_bytes", "write_bytes", "minor_faults")
_SLACK_S = 2

_LACKS = {
    "system.mem_available_bytes": "",
    "system.anonymous_bytes": "",
    "system.page_faults": "",
    "system.major_faults": "",
    "system.forks": "",
    "system.tasks_total": "",
    "system.refault_anonymous_pages": "",
    "system.refault_file_pages": "",
    "system.steal_background_pages": "",
    "system.steal_direct_pages": "",
    "system.scan_direct_pages": "",
    "system.zswap_in_pages": "",
    "system.zswap_out_pages": "",
    "system.pressure_irq_full_us": "",
    "system.pressure_cpu_some_us": "a kernel with pressure stall information",
    "system.pressure_memory_some_us": "a kernel with pressure stall information",
    "system.pressure_memory_full_us": "a kernel with pressure stall information",
    "system.pressure_io_some_us": "a kernel with pressure stall information",
    "system.pressure_io_full_us": "a kernel with pressure stall information",
    "system.block_in_bytes": "a log of atop 2.8 or later",
    "system.block_out_bytes": "a log of atop 2.8 or later",
    "device.read_wait_us": "",
    "device.write_wait_us": "",
    "device.errors": "",
    "device.size_bytes": "",
    "device.used_bytes": "",
    "device.stored_bytes": "",
    "device.priority": "",
    "device.in_flight": "a log of this version of atop",
    "user.cpu_us": "atop with process-level statistics",
    "user.run_delay_us": "a kernel with schedstat, and a log of atop 2.5 or later",
    "user.io_delay_us": "delay accounting (kernel.task_delayacct=1) while atop wrote the log",
    "user.page_delay_us": "",
    "user.read_bytes": "atop run by root",
    "user.write_bytes": "atop run by root",
    "task.cpu_us": "",
    "cgroup.cpu_us": "",
}


def recognise(source: str) -> float:
    """Is it a raw log, or a folder with raw logs?"""
    try:
        path = Path(source)
        if path.is_file():
            return 0.95 if raw_version(path) is not None else 0.0
        return 0.9 if path.is_dir() and _logs(path) else 0.0
    except (OSError, ValueError):
        return 0.0


def _logs(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    files = (p for p in path.iterdir() if p.is_file())
    return sorted((p for p in files if raw_version(p) is not None), key=first_epoch)


def begins(source: str) -> float:
    """Time of the first reading, s since 1970 UTC; infinite where unknown."""
    try:
        return min((first_epoch(p) for p in _logs(Path(source))), default=math.inf)
    except (OSError, ValueError):
        return math.inf


def read(source: str, options: Options, sink: Sink) -> None:
    """Read a raw log, or the raw logs of a folder in order of time.

    Raises InputError where atop is missing or cannot read the log's version.
    """
    path = Path(source)
    if not path.exists():
        raise InputError(f"{source}: not found", hint="give a raw log of atop or a folder of them")
    files = _logs(path)
    if not files:
        raise InputError(f"{source}: no raw log of atop", hint="give a file that atop -w wrote")
    versions: dict[str, None] = {}
    after = -1
    for k, file in enumerate(files):
        with printed(file, sink.damage, sink.note) as (lines, converted):
            log = read_lines(lines)
        versions[".".join(map(str, raw_version(file) or ()))] = None
        if log.unreadable:
            sink.damage(f"{file.name}: {log.unreadable} lines of atop's output left out: unreadable")
        if log.intervals:
            after = _write_log(file, _measured(log, converted), options, sink, after)
        options.progress((k + 1) / len(files))
    sink.origin(
        format="atop raw log, written by atop " + ", ".join(versions),
        files=[f.name for f in files],
        tool="atop",
        version=".".join(map(str, installed_version())),
        zone="UTC",
    )
    for signal, needs in _LACKS.items():
        sink.missing(signal, "atop's log does not hold it", needs)
    if sink.has("user", "cpu_us"):
        sink.note(
            "processes that ended between two readings are counted where atop had process accounting;"
            " users are numbers, since the log holds no names"
        )


def _measured(log: Log, converted: bool) -> Log:
    """Take out what is zero only because nobody measured it."""
    for column in _UNMEASURED:
        if not any(i.system.get(column) for i in log.intervals):
            for interval in log.intervals:
                interval.system.pop(column, None)
    if converted:
        for interval in log.intervals:
            for device in interval.devices.values():
                device.pop("in_flight", None)
    for column in _UNMEASURED_OF_USERS:
        values = np.array(log.processes[column])
        if not np.nansum(values):
            values[:] = np.nan
            log.processes[column][:] = type(log.processes[column])("d", values.tolist())
    return log


def _write_log(file: Path, log: Log, options: Options, sink: Sink, after: int) -> int:
    """Write the intervals that end after `after` (epoch); returns the last epoch."""
    times = np.array([i.epoch for i in log.intervals], dtype=np.int64)
    chosen = times > after
    if options.start is not None:
        chosen &= times >= options.start.timestamp()
    if options.end is not None:
        chosen &= times < options.end.timestamp()
    if options.host is not None:
        chosen &= np.array([i.host == options.host for i in log.intervals])
    if int((times <= after).sum()):
        sink.note(f"{file.name}: {int((times <= after).sum())} readings left out: the log before has them")
    last = log.intervals[-1]
    sink.host(
        name=last.host,
        processors=int(last.system.get("processors", 0)) or None,
        memory_bytes=int(last.system.get("mem_total_bytes", 0)) or None,
        page_bytes=int(last.system.get("page_bytes", 0)) or None,
    )
    for run in _runs(log.intervals, chosen):
        sink.begin_run()
        _write_run(log, run, sink)
    return int(max(after, times[-1]))


def _runs(intervals: list[Interval], chosen: Any) -> list[range]:
    """Stretches in which every interval begins where the one before ended."""
    runs: list[range] = []
    start: int | None = None
    for k, interval in enumerate(intervals):
        if not chosen[k]:
            start = None
            continue
        whole = (
            start is not None
            and not interval.since_boot
            and abs(interval.epoch - intervals[k - 1].epoch - interval.length_s) <= _SLACK_S
            and interval.epoch > intervals[k - 1].epoch
        )
        if whole and start is not None:
            runs[-1] = range(start, k + 1)
        else:
            start = k
            runs.append(range(k, k + 1))
    return runs


def _write_run(log: Log, run: range, sink: Sink) -> None:
    parts = [log.intervals[k] for k in run]
    time_ns = np.array([p.epoch for p in parts], dtype=np.int64) * 10**9
    users = _user_tables(log, run)
    system = _columns("system", [p.system for p in parts])
    if users is not None:
        seq = numbers_of(users["system"]["seq"])
        for column in ("users_logged_on", "users_in_queue"):
            system[column] = np.full(len(parts), np.nan)
            system[column][seq] = users["system"][column].to_numpy(zero_copy_only=False)
        system["monitor_cpu_us"] = _users.collector_cpu(users["user"], len(parts))
        for column, values in _task_levels(log, run).items():
            system[column] = values
        sink.table("user", time_ns[numbers_of(users["user"]["seq"])], _users.columns_of(users["user"]))
    sink.table("system", time_ns, system)
    _entities(sink, "processor", "processor", time_ns, [p.processors for p in parts], {})
    kinds = {name: kind for p in parts for name, kind in p.kinds.items()}
    idle = {n for n in kinds if not any(any(p.devices.get(n, {}).values()) for p in log.intervals)}
    _entities(
        sink,
        "device",
        "device",
        time_ns,
        [{n: d for n, d in p.devices.items() if n not in idle} for p in parts],
        {"device_kind": kinds},
    )


def _columns(table: str, rows: list[dict[str, float]]) -> dict[str, Floats]:
    """Columns of readings: amounts are added up from the second reading on, levels are kept."""
    known = {c.name: c.kind for c in catalogue().table(table).columns}
    made = {}
    for column in dict.fromkeys(c for row in rows for c in row if c in known):
        values = np.array([row.get(column, np.nan) for row in rows])
        made[column] = values if known[column] == "level" else _added(values)
    return made


def _added(amounts: Floats) -> Floats:
    """c_0 = 0, c_k = c_{k−1} + amount_k; NaN where the amount is missing."""
    known = np.isfinite(amounts)
    total = np.where(known, amounts, 0.0)
    total[0] = 0.0
    return np.where(known, np.cumsum(total), np.nan)


def _entities(
    sink: Sink,
    table: str,
    key: str,
    time_ns: Integers,
    readings: list[dict[str, dict[str, float]]],
    texts: dict[str, dict[str, str]],
) -> None:
    """Rows of every entity at each reading that has it, in order of time."""
    names = list(dict.fromkeys(n for r in readings for n in r))
    if not names:
        return
    columns: dict[str, Any] = {}
    for j, name in enumerate(names):
        for column, values in _columns(table, [r.get(name, {}) for r in readings]).items():
            block = columns.setdefault(column, np.full((len(readings), len(names)), np.nan))
            block[:, j] = values
    present = np.array([[n in r for n in names] for r in readings]).ravel()
    said = {key: names} | {c: [of.get(n, "") for n in names] for c, of in texts.items()}
    sink.table(
        table,
        np.repeat(time_ns, len(names))[present],
        {c: np.tile(np.array(v, dtype=object), len(readings))[present] for c, v in said.items()}
        | {c: v.ravel()[present] for c, v in columns.items()},
    )


def _process_table(log: Log, run: range) -> pa.Table:
    columns = {c: np.array(v) for c, v in log.processes.items()}
    inside = (columns["seq"] >= run.start) & (columns["seq"] < run.stop)
    return pa.table(
        {
            c: number_column(v[inside], np.isnan(v[inside]))
            if c != "seq"
            else number_column((v[inside] - run.start).astype(np.int64))
            for c, v in columns.items()
        }
    )


def _user_tables(log: Log, run: range) -> dict[str, pa.Table] | None:
    processes = _process_table(log, run)
    if not len(processes):
        return None
    amounts = (
        "cpu_us", "cpu_system_us", "run_delay_us", "io_delay_us", "minor_faults", "major_faults",
        "read_bytes", "write_bytes",
    )  # fmt: skip
    first = ", ".join(f"CASE WHEN seq = 0 THEN 0 * {c} ELSE {c} END AS {c}" for c in amounts)
    with duckdb.connect(config={"threads": 2}) as connection:
        connection.register("process", processes)
        connection.execute(f"""
            CREATE TEMP VIEW used AS SELECT seq,
                CASE WHEN kernel = 1 THEN '{_users.KERNEL}' WHEN collector = 1 THEN '{_users.COLLECTOR}'
                    ELSE CAST(CAST(uid AS BIGINT) AS VARCHAR) END AS "user",
                {first}, CASE WHEN seq = 0 THEN 0 ELSE exited END AS exits, resident_bytes,
                1 - exited AS alive, runnable, waiting
            FROM process
        """)
        return _users.user_rows(connection, "used", len(run))


def _task_levels(log: Log, run: range) -> dict[str, Floats]:
    """Tasks running or runnable, and in uninterruptible wait, over all processes at each reading."""
    processes = _process_table(log, run)
    seq = numbers_of(processes["seq"])
    made = {}
    for column, of in (("tasks_runnable", "runnable"), ("tasks_blocked", "waiting")):
        values = numbers_of(processes[of])
        made[column] = np.bincount(seq, weights=values, minlength=len(run)).astype(np.float64)
    return made


IMPORTER = Importer(
    name="atop",
    title="atop raw logs",
    recognise=recognise,
    read=read,
    begins=begins,
    examples=("/var/log/atop/atop_20260101", "/var/log/atop"),
    tool="atop",
)
