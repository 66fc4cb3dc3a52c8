"""Series of node_exporter and cAdvisor → tables. Prometheus, its dumps and scraped files all end here.

node_exporter's `user` and `nice` hold the guests' time, as /proc/stat does; the catalogue's do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from satline.errors import InputError
from satline.importers import _prometheus_users as users
from satline.importers._importer import Options
from satline.importers._metrics import EACH, Mapped, Metric, place, read_metrics
from satline.importers._prometheus_hosts import Host, choose_host, of_host
from satline.importers._series import (
    Collection,
    Series,
    accumulated,
    filled,
    interval_of,
    make_grid,
    merged,
    on_grid,
)
from satline.importers._sink import Floats, Integers, Sink, texts

US = 1e6
RECORD = "satline record on the host"
REBOOT_S = 30.0

# series → column of table system, factor
SYSTEM: Mapping[str, tuple[str, float]] = {
    "node_context_switches_total": ("context_switches", 1),
    "node_intr_total": ("interrupts", 1),
    "node_forks_total": ("forks", 1),
    "node_procs_running": ("tasks_runnable", 1),
    "node_procs_blocked": ("tasks_blocked", 1),
    "node_processes_threads": ("tasks_total", 1),
    "node_load1": ("load_average_1", 1),
    "node_memory_MemTotal_bytes": ("mem_total_bytes", 1),
    "node_memory_MemFree_bytes": ("mem_free_bytes", 1),
    "node_memory_MemAvailable_bytes": ("mem_available_bytes", 1),
    "node_memory_AnonPages_bytes": ("anonymous_bytes", 1),
    "node_memory_Dirty_bytes": ("dirty_bytes", 1),
    "node_memory_Slab_bytes": ("slab_bytes", 1),
    "node_memory_SwapTotal_bytes": ("swap_total_bytes", 1),
    "node_memory_SwapFree_bytes": ("swap_free_bytes", 1),
    "node_vmstat_pswpin": ("swap_in_pages", 1),
    "node_vmstat_pswpout": ("swap_out_pages", 1),
    "node_vmstat_pgfault": ("page_faults", 1),
    "node_vmstat_pgmajfault": ("major_faults", 1),
    "node_vmstat_pgpgin": ("block_in_bytes", 1024),
    "node_vmstat_pgpgout": ("block_out_bytes", 1024),
    "node_vmstat_workingset_refault_anon": ("refault_anonymous_pages", 1),
    "node_vmstat_workingset_refault_file": ("refault_file_pages", 1),
    "node_vmstat_pgsteal_kswapd": ("steal_background_pages", 1),
    "node_vmstat_pgsteal_direct": ("steal_direct_pages", 1),
    "node_vmstat_pgscan_direct": ("scan_direct_pages", 1),
    "node_vmstat_oom_kill": ("out_of_memory_kills", 1),
    "node_vmstat_zswpin": ("zswap_in_pages", 1),
    "node_vmstat_zswpout": ("zswap_out_pages", 1),
    "node_pressure_cpu_waiting_seconds_total": ("pressure_cpu_some_us", US),
    "node_pressure_memory_waiting_seconds_total": ("pressure_memory_some_us", US),
    "node_pressure_memory_stalled_seconds_total": ("pressure_memory_full_us", US),
    "node_pressure_io_waiting_seconds_total": ("pressure_io_some_us", US),
    "node_pressure_io_stalled_seconds_total": ("pressure_io_full_us", US),
    "node_pressure_irq_stalled_seconds_total": ("pressure_irq_full_us", US),
}
# Columns that are the sum of two series.
CACHED = ("node_memory_Cached_bytes", "node_memory_Buffers_bytes")
CPU, GUEST = "node_cpu_seconds_total", "node_cpu_guest_seconds_total"
MODES: Mapping[str, tuple[str, ...]] = {
    "user_us": ("user",),
    "nice_us": ("nice",),
    "system_us": ("system",),
    "irq_us": ("irq", "softirq"),
    "idle_us": ("idle",),
    "iowait_us": ("iowait",),
    "steal_us": ("steal",),
}
BLOCK: Mapping[str, tuple[str, float]] = {
    "node_disk_reads_completed_total": ("reads", 1),
    "node_disk_read_bytes_total": ("read_bytes", 1),
    "node_disk_read_time_seconds_total": ("read_wait_us", US),
    "node_disk_writes_completed_total": ("writes", 1),
    "node_disk_written_bytes_total": ("write_bytes", 1),
    "node_disk_write_time_seconds_total": ("write_wait_us", US),
    "node_disk_io_now": ("in_flight", 1),
    "node_disk_io_time_seconds_total": ("busy_us", US),
    "node_disk_io_time_weighted_seconds_total": ("queue_us", US),
}
NETWORK: Mapping[str, tuple[str, float]] = {
    "node_network_receive_packets_total": ("reads", 1),
    "node_network_receive_bytes_total": ("read_bytes", 1),
    "node_network_transmit_packets_total": ("writes", 1),
    "node_network_transmit_bytes_total": ("write_bytes", 1),
}
NETWORK_ERRORS = tuple(f"node_network_{way}_{what}_total" for way in ("receive", "transmit")
                       for what in ("errs", "drop"))  # fmt: skip
FACTS = ("node_boot_time_seconds", "node_uname_info", "node_time_seconds")
NEEDED = frozenset([*SYSTEM, *CACHED, CPU, GUEST, *BLOCK, *NETWORK, *NETWORK_ERRORS, *FACTS, *users.NEEDED])
_USUAL_VMSTAT = re.compile("oom_kill|pgpg|pswp|pg.*fault")


def import_collection(collection: Collection, options: Options, sink: Sink, source: str) -> None:
    """Put the series of one host into the sink.

    Raises
    ------
    InputError
        When no series is one of node_exporter or cAdvisor in the time asked for, or several hosts are there
        and `options.host` names none of them.
    """
    series = collection.series(
        None if options.start is None else round(options.start.timestamp() * 1000),
        None if options.end is None else round(options.end.timestamp() * 1000),
    )
    metrics = read_metrics(options.mapping)
    names = {m.name for m in metrics}
    import_series(
        [s for s in series if s.name in NEEDED],
        options,
        sink,
        source,
        metrics,
        [s for s in series if s.name in names],
    )


def wanted(mapping: Path | None) -> frozenset[str]:
    """Names of the series that are needed, those of a mapping file among them."""
    return NEEDED | {m.name for m in read_metrics(mapping)}


def import_series(
    series: Sequence[Series],
    options: Options,
    sink: Sink,
    source: str,
    metrics: Sequence[Metric] = (),
    applications: Sequence[Series] = (),
) -> None:
    """As `import_collection`, of series made already: the host's, and those of mapped applications."""
    if not series and applications:
        host = Host(options.host or "", ())
    elif not series:
        raise InputError(
            f"{source}: no series of node_exporter or cAdvisor in the time asked for",
            hint="are the names and the time range (--from, --to) right?",
        )
    else:
        host = choose_host(series, options.host, source)
    applications = of_host(applications, host)
    grouping = users.Grouping.of(host.series, options.mapping)
    members = grouping.members(host.series)
    machine = [s for s in host.series if s.name.startswith("node_")]
    grid, half = make_grid(machine or [s for of in members.values() for s in of] or applications)
    own = interval_of(s for of in members.values() for s in of)
    if machine and own > 3 * half and half > 0:
        grid, half = make_grid([s for of in members.values() for s in of])
        sink.note(f"users are read every {own / 1000:g} s only: the host's readings between are left out")
    tables = _Tables(machine, grid, half)
    names = grouping.name_of(members)
    _facts(host, tables, sink)
    system = tables.system()
    if names:
        system["users_logged_on"] = users.present(members, grid, half)
        sink.note(grouping.note)
    if options.mapping is not None:
        sink.origin(mapping=options.mapping.read_text(encoding="utf-8"))
    mapped = _mapped(metrics, applications, grid, half, sink)
    system |= mapped.system
    for part in _runs(tables, system, grid):
        sink.begin_run()
        time_ns = grid[part] * 1_000_000
        sink.table("system", time_ns, {k: v[part] for k, v in system.items()})
        _entities(sink, "processor", {"processor": tables.processors}, tables.processor(), time_ns, part)
        mapped.write_locks(sink, time_ns, part)
        for kind, (devices, columns) in tables.devices().items():
            kinds = ["zram" if kind == "block" and d.startswith("zram") else kind for d in devices]
            _entities(sink, "device", {"device": devices, "device_kind": kinds}, columns, time_ns, part)
        _entities(sink, "user", {"user": names}, users.columns(members, grid, half), time_ns, part)
    _tell_missing(sink, {s.name for s in host.series}, bool(names))


def _mapped(
    metrics: Sequence[Metric], applications: Sequence[Series], grid: Integers, half: float, sink: Sink
) -> Mapped:
    """What the mapping file makes of series of applications."""
    found: dict[int, dict[str, list[Floats]]] = {}
    for number, metric in enumerate(metrics):
        for one in applications:
            if one.name != metric.name or not metric.fits_labels(one.labels):
                continue
            entity = metric.entity or ""
            if entity == EACH:
                entity = one.label(metric.entity_label or "lock")
            # A restart between two readings must not be missed.
            values = on_grid(accumulated(one) if metric.meaning == "counter" else one, grid, half)
            if np.isfinite(values).any():
                found.setdefault(number, {}).setdefault(entity, []).append(values)
    return place(metrics, found, grid * 1_000_000, sink)


class _Tables:
    """A host's series on the grid of readings, by the labels that name an entity."""

    def __init__(self, series: Iterable[Series], grid: Integers, half: float) -> None:
        self.grid, self.half = grid, half
        self._by_name: dict[str, list[Series]] = {}
        for one in series:
            self._by_name.setdefault(one.name, []).append(one)
        self.processors = sorted(self._entities([CPU], "cpu"), key=lambda c: (len(c), c))

    def one(self, name: str) -> Floats | None:
        """A series of the whole host; ``None``: there is none."""
        found = self._by_name.get(name)
        return None if found is None else on_grid(merged(found), self.grid, self.half)

    def labels(self, name: str) -> Mapping[str, str]:
        """Labels of the last series of this name."""
        found = self._by_name.get(name, [])
        return max(found, key=lambda s: int(s.time_ms[-1])).labels if found else {}

    def _entities(self, names: Iterable[str], label: str) -> list[str]:
        return list(dict.fromkeys(s.label(label) for n in names for s in self._by_name.get(n, [])))

    def _grouped(self, name: str, *labels: str) -> dict[tuple[str, ...], Floats]:
        groups: dict[tuple[str, ...], list[Series]] = {}
        for one in self._by_name.get(name, []):
            groups.setdefault(tuple(one.label(x) for x in labels), []).append(one)
        return {key: on_grid(merged(parts), self.grid, self.half) for key, parts in groups.items()}

    def _stack(self, found: Mapping[tuple[str, ...], Floats], entities: Iterable[str], *rest: str) -> Floats:
        empty = np.full(len(self.grid), np.nan)
        return np.stack([found.get((e, *rest), empty) for e in entities], axis=1)

    def system(self) -> dict[str, Floats]:
        """Columns of table system."""
        made = {c: v * factor for n, (c, factor) in SYSTEM.items() if (v := self.one(n)) is not None}
        cached, buffers = (self.one(n) for n in CACHED)
        if cached is not None and buffers is not None:
            made["cached_bytes"] = cached + buffers
        return made

    def processor(self) -> dict[str, Floats]:
        """Columns of table processor, shape (readings, processors)."""
        if not self.processors:
            return {}
        found, guests = self._grouped(CPU, "cpu", "mode"), self._grouped(GUEST, "cpu", "mode")
        made: dict[str, Floats] = {}
        for column, modes in MODES.items():
            made[column] = US * np.sum([self._stack(found, self.processors, m) for m in modes], axis=0)
        if guests:
            user, nice = (US * self._stack(guests, self.processors, mode) for mode in ("user", "nice"))
            made["guest_us"] = user + nice
            made["user_us"], made["nice_us"] = made["user_us"] - user, made["nice_us"] - nice
        return made

    def devices(self) -> dict[str, tuple[list[str], dict[str, Floats]]]:
        """By kind: names of the devices, and columns of shape (readings, devices)."""
        made = {}
        for kind, table in (("block", BLOCK), ("network", NETWORK)):
            devices = [d for d in self._entities(table, "device") if d]
            columns = {
                column: self._stack(found, devices) * factor
                for name, (column, factor) in table.items()
                if devices and (found := self._grouped(name, "device"))
            }
            if kind == "network" and devices:
                columns["errors"] = np.asarray(
                    sum(self._stack(self._grouped(n, "device"), devices) for n in NETWORK_ERRORS)
                )
            made[kind] = (devices, columns)
        return made


def _entities(
    sink: Sink,
    table: str,
    entities: Mapping[str, Sequence[str]],
    columns: Mapping[str, Floats],
    time_ns: Integers,
    part: slice,
) -> None:
    """Rows of a table by entity, in order of time; an entity that was not read has no row."""
    if not columns:
        return
    flat = {name: values[part].ravel() for name, values in columns.items()}
    there = np.logical_or.reduce([np.isfinite(v) for v in flat.values()])
    count = len(next(iter(entities.values())))
    names = {k: np.array(texts(v, len(time_ns)), dtype=object)[there] for k, v in entities.items()}
    sink.table(table, np.repeat(time_ns, count)[there], {**names, **{k: v[there] for k, v in flat.items()}})


def _runs(tables: _Tables, system: Mapping[str, Floats], grid: Integers) -> list[slice]:
    """Stretches without a restart of the host: by its boot time, else by its counters' falling together."""
    boot = tables.one("node_boot_time_seconds")
    if boot is not None and np.isfinite(boot).any():
        held = filled(boot)
        first = int(np.flatnonzero(np.isfinite(boot))[0])
        held[:first] = held[first]
        cuts = np.flatnonzero(np.abs(np.diff(held)) > REBOOT_S) + 1
    else:
        names = ("context_switches", "interrupts", "forks", "page_faults")
        falls = [np.diff(filled(system[n])) < 0 for n in names if n in system]
        cuts = np.flatnonzero(np.mean(falls, axis=0) > 0.5) + 1 if falls else np.zeros(0, dtype=np.int64)
    edges = [0, *cuts.tolist(), len(grid)]
    return [slice(a, b) for a, b in pairwise(edges) if b > a]


def _facts(host: Host, tables: _Tables, sink: Sink) -> None:
    facts = tables.labels("node_uname_info")
    memory = tables.one("node_memory_MemTotal_bytes")
    known = memory[np.isfinite(memory)] if memory is not None else np.zeros(0)
    sink.host(
        name=facts.get("nodename") or host.name or None,
        kernel=facts.get("release"),
        machine=facts.get("machine"),
        processors=len(tables.processors) or None,
        memory_bytes=int(known[-1]) if len(known) else None,
    )
    for note in host.notes:
        sink.note(note)


def _tell_missing(sink: Sink, have: set[str], with_users: bool) -> None:
    for name, (column, _) in SYSTEM.items():
        if name not in have:
            sink.missing(f"system.{column}", f"no series {name}", _collector(name))
    for table, names in (("processor", {CPU: ("user_us", 1.0)}), ("device", BLOCK)):
        for name, (column, _) in names.items():
            if name not in have:
                sink.missing(f"{table}.{column}", f"no series {name}", _collector(name))
    sink.missing("system.users_in_queue", "the exporters do not look at users' tasks", RECORD)
    sink.missing("task.cpu_us", "the exporters do not look at single threads", RECORD)
    sink.missing("transaction.response_us", "exporters of a host know no transactions", "a request log")
    if not with_users:
        reason = "no series of users: of containers, or of users' slices"
        sink.missing("user.cpu_us", reason, f"cAdvisor, or {RECORD}")
    for column in ("run_delay_us", "io_delay_us", "page_delay_us"):
        sink.missing(f"user.{column}", "the exporters do not count delays", RECORD)


def _collector(name: str) -> str:
    if name.startswith("node_vmstat_"):
        field = name.removeprefix("node_vmstat_")
        if _USUAL_VMSTAT.match(field):
            return "node_exporter's collector vmstat, and a kernel that counts it"
        return f"node_exporter with {field} in --collector.vmstat.fields"
    if name.startswith("node_processes_"):
        return "node_exporter with --collector.processes"
    if name.startswith("node_pressure_"):
        return "node_exporter's collector pressure, and a kernel with CONFIG_PSI"
    return "node_exporter with its usual collectors"
