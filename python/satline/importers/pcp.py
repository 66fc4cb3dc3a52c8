"""PCP archives (pmlogger), format 2 and 3, through the `pmdumplog` of an installed PCP.

Raw counters go into the recording as they were logged. A `<mark>` (pmlogger or pmcd was away) and a restart
of the system begin a new run, and so does each archive. Processes become users: what each process used
between two readings is added to its user's counters.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from satline.catalogue import catalogue
from satline.errors import InputError
from satline.importers import _pcp_map as pcp_map
from satline.importers import _users
from satline.importers._importer import Importer, Options
from satline.importers._metrics import EACH, Mapped, Metric, place, read_metrics
from satline.importers._pcp_counts import (
    connection_counts,
    process_counts,
    process_time,
    processor_count,
)
from satline.importers._pcp_devices import ALL, devices, note_busy, processors
from satline.importers._pcp_nothing import nothing_in
from satline.importers._pcp_processes import process_users
from satline.importers._pcp_reader import Archive, archive_bases, open_archive, read_values, tool_version
from satline.importers._pcp_tables import Columns, Grid, archive_cycles, find_runs, make_grid
from satline.importers._sink import Floats, Sink
from satline.recording import numbers_of

_WOULD_NEED = "the metric in pmlogger's configuration"


def recognise(source: str) -> float:
    """Is it an archive, one of its files, or a folder of archives?"""
    try:
        path = Path(source)
        bases = archive_bases(path)
        if not bases:
            return 0.0
        return 0.9 if path.is_dir() else 0.95
    except (OSError, ValueError):
        return 0.0


def begins(source: str) -> float:
    """Time of the first archive's label, s since 1970 UTC; infinite where unknown."""
    try:
        with tempfile.TemporaryDirectory(prefix="satline-pcp-") as scratch:
            archives = [open_archive(b, Path(scratch)) for b in archive_bases(Path(source))]
    except (OSError, ValueError, InputError):
        return math.inf
    return min((a.start_ns / 1e9 for a in archives), default=math.inf)


def read(source: str, options: Options, sink: Sink) -> None:
    """Read an archive, or a folder of archives of one host in order of time.

    Raises InputError where pmdumplog is missing, where it cannot open an archive, and where a folder holds
    archives of several hosts and none was chosen.
    """
    bases = archive_bases(Path(source))
    if not bases:
        raise InputError(
            f"{source}: no PCP archive", hint="name an archive's .meta file or its name without ending"
        )
    metrics = read_metrics(options.mapping)
    if options.mapping is not None:
        sink.origin(mapping=options.mapping.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="satline-pcp-") as scratch:
        archives = [open_archive(b, Path(scratch)) for b in bases]
        archives = _of_one_host(source, archives, options)
        archives.sort(key=lambda a: a.start_ns)
        zones = dict.fromkeys(a.zone for a in archives)
        sink.origin(
            format="PCP archive",
            files=[a.base.name for a in archives],
            tool="pmdumplog",
            version=tool_version(),
            zone=", ".join(zones),
        )
        after, logged = -1, set[str]()
        for k, archive in enumerate(archives):

            def progress(part: float, k: int = k) -> None:
                options.progress((k + part) / len(archives))

            after = _read_archive(archive, options, metrics, sink, after, progress)
            logged.update(name for name in archive.series if archive.get(name) is not None)
            archive.series.clear()
            progress(1.0)
        in_range = options.start is not None or options.end is not None
        sink.if_nothing(nothing_in(source, archives, logged, in_range=in_range))
    _missing(sink, archives)


def _of_one_host(source: str, archives: list[Archive], options: Options) -> list[Archive]:
    hosts = Counter(a.host for a in archives)
    if options.host is not None:
        archives = [a for a in archives if a.host == options.host]
        if not archives:
            raise InputError(
                f"{source}: no archive of host {options.host}", hint=f"it holds {', '.join(hosts)}"
            )
    elif len(hosts) > 1:
        raise InputError(
            f"{source}: archives of {len(hosts)} hosts: {', '.join(hosts)}", hint="choose one with --host"
        )
    return archives


def _read_archive(
    archive: Archive,
    options: Options,
    metrics: Sequence[Metric],
    sink: Sink,
    after_ns: int,
    progress: Any,
) -> int:
    """Read one archive's instants after `after_ns`; returns its last."""
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1
        progress(1 - 1 / (1 + steps / 10))  # how much is to come is not known

    read_values(archive, pcp_map.plain_metrics(), count)
    read_values(archive, pcp_map.hostile_metrics(), count)
    own = dict.fromkeys(m.name for m in metrics)
    read_values(archive, [n for n in own if n not in archive.series], count)
    for text in archive.damage:
        sink.damage(text)
    cycles = archive_cycles(archive)
    grid = make_grid(archive, cycles)
    whole = grid.time_ns
    keep = whole > after_ns
    if not keep.all():
        sink.note(f"{archive.base.name}: {int((~keep).sum())} readings left out: the archive before has them")
    if options.start is not None:
        keep &= whole >= int(options.start.timestamp() * 1e9)
    if options.end is not None:
        keep &= whole < int(options.end.timestamp() * 1e9)
    grid = replace(grid, time_ns=whole[keep])
    if not len(grid.time_ns):
        return max(after_ns, int(whole[-1]) if len(whole) else -1)
    if grid.by_process is not None:
        sink.note(
            f"{archive.base.name}: processes were logged every {grid.interval_ns / 1e9:.3g} s and the rest"
            f" every {grid.by_process / 1e9:.3g} s: readings are taken when the processes were, so that"
            " users and processors are seen over the same observations"
        )
    runs, boots = find_runs(archive, grid)
    if boots:
        sink.note(f"{archive.base.name}: the system was restarted {boots} times")
    columns = Columns(archive, grid, runs)
    _facts(archive, columns, sink)
    tables = _tables(columns, sink)
    mapped = _mapped(archive, columns, metrics, sink)
    for run in runs:
        sink.begin_run()
        users = process_users(archive, grid, run, cycles)
        if users is not None:
            at = grid.time_ns[numbers_of(users["user"]["seq"])]
            sink.table("user", at, _users.columns_of(users["user"]))
        _system(columns, users, mapped, run, sink)
        mapped.write_locks(sink, grid.time_ns[run], run)
        for table, key, entities in tables:
            _write_entities(sink, table, key, entities, grid, run)
    return int(whole[-1])


def _facts(archive: Archive, columns: Columns, sink: Sink) -> None:
    def text(metric: str) -> str | None:
        series = archive.get(metric)
        return archive.texts[int(series.value[-1])] if series is not None else None

    def number(metric: str) -> int | None:
        series = archive.get(metric)
        return None if series is None else int(series.value[-1] * archive.metrics[metric].scale)

    memory = columns.scalar(pcp_map.SYSTEM["mem_total_bytes"])
    known = memory[np.isfinite(memory)] if memory is not None else np.array([])
    sink.host(
        name=archive.host,
        kernel=text("kernel.uname.release"),
        machine=text("kernel.uname.machine"),
        os=text("kernel.uname.distro"),
        processors=processor_count(archive),
        memory_bytes=int(known[-1]) if len(known) else number("hinv.physmem"),
        page_bytes=number("hinv.pagesize"),
    )


def _mapped(archive: Archive, columns: Columns, metrics: Sequence[Metric], sink: Sink) -> Mapped:
    """What the mapping file makes of metrics of applications."""
    found: dict[int, dict[str, list[Floats]]] = {}
    for number, metric in enumerate(metrics):
        known = archive.metrics.get(metric.name)
        if known is not None and known.text:
            raise InputError(
                f"{archive.base}: {metric.name} is a text, not a number", hint="map a metric that counts"
            )
        for instance, values in columns.instances(metric.name):
            if metric.fits_instance(instance) and np.isfinite(values).any():
                entity = instance if metric.entity == EACH else metric.entity or ""
                found.setdefault(number, {}).setdefault(entity, []).append(values)
    return place(metrics, found, columns.grid.time_ns, sink)


def _system(columns: Columns, users: dict[str, Any] | None, mapped: Mapped, run: slice, sink: Sink) -> None:
    values: dict[str, Any] = {}
    for column, choices in (pcp_map.SYSTEM | pcp_map.OF_OTHER_KERNELS).items():
        found = columns.scalar(choices)
        if found is not None:
            values[column] = found[run]
    for column, choices in pcp_map.SUMMED.items():
        if column not in values and (found := columns.summed(choices)) is not None:
            values[column] = found[run]
    for column, known, count in (
        ("processes_seen", "tasks_total", process_counts),
        ("tcp_connections", "tcp_connections", connection_counts),
    ):
        if known not in values and (found := count(columns)) is not None:
            values[column] = found[run]
    load = columns.scalar((pcp_map.LOAD,), instance=1)
    if load is not None:
        values["load_average_1"] = load[run]
    queue = columns.scalar((pcp_map.RUN_QUEUE,))
    if queue is not None:
        with np.errstate(invalid="ignore"):
            mean = np.diff(queue[run]) / np.diff(columns.grid.time_ns[run]) * 1e9
        values["run_queue_mean"] = np.append(np.nan, np.where(mean >= 0, mean, np.nan))
    sessions = columns.scalar(pcp_map.SESSIONS)
    if sessions is not None:
        values["users_logged_on"] = sessions[run]
    if users is not None:
        seq = numbers_of(users["system"]["seq"]) - run.start
        for column in ("users_logged_on", "users_in_queue"):
            values[column] = np.full(run.stop - run.start, np.nan)
            values[column][seq] = users["system"][column].to_numpy(zero_copy_only=False)
        collector = _users.collector_cpu(users["user"], run.stop)[run]
        values["monitor_cpu_us"] = collector
    values |= {column: found[run] for column, found in mapped.system.items()}
    sink.table("system", columns.grid.time_ns[run], values)


def _tables(columns: Columns, sink: Sink) -> list[tuple[str, str, dict[str, dict[str, Any]]]]:
    """Table, key column, and by entity its columns."""
    groups = columns.entities(pcp_map.CGROUPS, "cgroup")
    each = processors(columns, sink)
    if not each and (used := process_time(columns)) is not None:
        each = {ALL: {"user_us": used}}
        sink.note(
            f"{columns.archive.base.name}: no times of processors were logged: they were busy at least"
            " for the user time of the processes that two readings in a row list"
        )
    else:
        note_busy(columns, each, sink)
    return [
        ("processor", "processor", each),
        ("device", "device", devices(columns, sink)),
        ("cgroup", "cgroup", groups),
    ]


def _write_entities(
    sink: Sink, table: str, key: str, entities: dict[str, dict[str, Any]], grid: Grid, run: slice
) -> None:
    """Rows of every entity at each reading where it has a value, in order of time."""
    if not entities:
        return
    names = [c for c in dict.fromkeys(c for e in entities.values() for c in e) if c != "device_kind"]
    count, length = len(entities), run.stop - run.start
    stacked: dict[str, Floats] = {}
    for column in names:
        block = np.full((length, count), np.nan)
        for j, entity in enumerate(entities.values()):
            if column in entity:
                block[:, j] = entity[column][run]
        stacked[column] = block.ravel()
    present = np.any([np.isfinite(v) for v in stacked.values()], axis=0)
    texts = {key: np.array(list(entities), dtype=object)}
    if table == "device":
        texts["device_kind"] = np.array([e["device_kind"] for e in entities.values()], dtype=object)
    sink.table(
        table,
        np.repeat(grid.time_ns[run], count)[present],
        {
            **{c: np.tile(v, length)[present] for c, v in texts.items()},
            **{c: v[present] for c, v in stacked.items()},
        },
    )


def _missing(sink: Sink, archives: list[Archive]) -> None:
    """Every signal of the catalogue's host tables that the archives did not bring."""
    logged = {m for a in archives for m in a.metrics}

    def because(metrics: list[str]) -> str:
        unknown = [m for m in metrics if m not in logged]
        return f"not logged: {', '.join(unknown)}" if unknown else f"no values: {', '.join(metrics)}"

    def of(choices: pcp_map.Choices, prefix: str = "") -> list[str]:
        return [m for _, m in pcp_map.terms(choices[0], prefix)]

    wanted = {f"system.{c}": of(cs) for c, cs in pcp_map.SYSTEM.items()}
    wanted["system.load_average_1"] = [pcp_map.LOAD]
    processes = [pcp_map.PROCESS_VALUES[c] for c in ("utime", "stime", "state")]
    processes.append(pcp_map.PROCESS_ATTRIBUTES["user_name"])
    wanted |= {f"system.{c}": processes for c in ("users_logged_on", "users_in_queue", "monitor_cpu_us")}
    wanted |= {f"processor.{c}": of(cs, pcp_map.EACH_CPU) for c, cs in pcp_map.PROCESSOR.items()}
    for prefix, (_, columns) in pcp_map.DEVICES.items():
        for c, cs in columns.items():
            wanted.setdefault(f"device.{c}", of(cs, prefix))
    of_process = {c: [m] for c, m in pcp_map.PROCESS_VALUES.items()} | {
        "cpu_us": [pcp_map.PROCESS_VALUES["utime"], pcp_map.PROCESS_ATTRIBUTES["user_name"]],
        "cpu_system_us": [pcp_map.PROCESS_VALUES["stime"]],
        "tasks_runnable": [pcp_map.PROCESS_VALUES["state"]],
        "tasks_page_wait": [pcp_map.PROCESS_VALUES["state"]],
        "tasks_io_wait": [pcp_map.PROCESS_VALUES["state"]],
        "processes": [pcp_map.PROCESS_VALUES["utime"]],
    }
    for table in ("system", "processor", "device", "user"):
        for column in catalogue().table(table).columns:
            name = f"{table}.{column.name}"
            if column.kind == "identity" or sink.has(table, column.name):
                continue
            metrics = of_process.get(column.name) if table == "user" else wanted.get(name)
            if metrics is not None:
                sink.missing(name, because(metrics), _WOULD_NEED)
            elif column.linux and not column.name.startswith("monitor_"):
                sink.missing(name, "PCP has no such metric")
    sink.missing("task.cpu_us", "PCP logs processes, not threads")
    sink.missing("cgroup.cpu_us", because(of(pcp_map.CGROUPS["cpu_us"], "cgroup")), _WOULD_NEED)
    # The kernel gives in /proc/PID/schedstat what the first thread alone waited.
    sink.missing("user.run_delay_us", "PCP has it of the first thread of a process only")
    if sink.has("user", "cpu_us"):
        sink.note("processes that ended between two readings are counted up to the last that saw them")


IMPORTER = Importer(
    name="pcp",
    title="PCP archives (pmlogger)",
    recognise=recognise,
    read=read,
    begins=begins,
    examples=("/var/log/pcp/pmlogger/HOST/20260101", "/var/log/pcp/pmlogger/HOST/"),
    mapping=True,
    tool="pmdumplog",
)
