"""From the readings of processors, users, devices and control groups to observations, in SQL.

Readings are raw counters. A counter's difference over a period exists only if the same entity was read in
both samples and the counter did not fall: a reset, a wrap, a new entity or one that was away gives a null,
never a negative or a giant rate.

Bases beside the d_X and X of the catalogue's tables:

=========================  ================================================================================
users_with_cpu             users whose processor time grew in the observation
user_cpu_largest_us        the greatest processor time of one user
task_busiest_us            the greatest processor time of one thread
device_busiest_us          the greatest busy time of one block device
device_inside_us           how long requests were at block devices, summed over requests
transactions_completed     transactions whose prompt came in the observation
transactions_failed        those given up in it: time-out or dead session
transaction_seconds        the integral over the observation of the number of users in a transaction
transaction_work_seconds   what the transactions that completed would have taken at light load, by their class
transaction_work_alone     and what pauses and transactions would take, each counted by that (`_work.py`)
transaction_work_here      what they take here
=========================  ================================================================================
"""

from __future__ import annotations

import duckdb

from satline.reduction._filters import texts
from satline.reduction._periods import Plan, whole
from satline.reduction._readings import Readings
from satline.reduction._scopes import Observed, device_scope, processor_scope, user_scope
from satline.reduction._source import Settings
from satline.reduction._variables import REQUEST_TIMES, Variables


def keyed(table: str, interval_s: float, columns: str, where: str = "TRUE") -> str:
    """SELECT of the rows of `table` with the number of their sample (seq) and their observation (obs).

    A row belongs to the sample of the same instant; where there is none, to the latest sample that began at
    most a quarter of an interval after it.
    """
    tolerance = int(interval_s * 0.25e9)
    return f"""
        SELECT m.seq, m.obs, r.run, r.monotonic_ns AS read_ns, {columns} FROM "{table}" r JOIN (
            SELECT d.run, d.monotonic_ns, coalesce(e.seq, p.seq) AS seq,
                CASE WHEN e.seq IS NULL THEN p.obs ELSE e.obs END AS obs
            FROM (SELECT DISTINCT run, monotonic_ns FROM "{table}") d
            LEFT JOIN satline_period e ON d.run = e.run AND d.monotonic_ns = e.t1
            ASOF LEFT JOIN satline_period p ON d.run = p.run AND d.monotonic_ns + {tolerance} >= p.t1
        ) m ON r.run = m.run AND r.monotonic_ns = m.monotonic_ns WHERE {where}"""


def _possible(table: str, counter: str) -> str:
    """Condition that a time accumulator grew no faster than it can; empty where nothing bounds it.

    Delay accounting that meets a start stamp of zero gives a task a delay as long as the host is up, which
    CLOCK_MONOTONIC tells. A user of many processes can gain as much in a long interval, so such a gain must
    also be more than two tasks of each process can have waited. A monitor that lists these gains under
    `[[implausible]]` has left them out; recordings made before hold them.
    """
    # Row "all" of an imported source stands for any number of processors.
    often = {"processor": "CASE a.processor WHEN 'all' THEN 65536 ELSE 4 END", "task": "4"}.get(table)
    if table == "user" and counter.endswith("_us"):
        often = "4 * greatest(16, coalesce(a.processes, 0))"
    elif counter == "busy_us" or counter.startswith("pressure_"):
        often = "4"
    if often is None:
        return ""
    gain, elapsed_us = f'(a."{counter}" - b."{counter}")', "(a.read_ns - b.read_ns) / 1000"
    bound = f" AND {gain} <= {often} * {elapsed_us}"
    if table == "user" and counter in ("io_delay_us", "page_delay_us"):
        # The clock of the delays may lag behind the monotonic one a little.
        tasks = "2 * greatest(1, coalesce(a.processes, 0), coalesce(b.processes, 0))"
        bound += f" AND ({gain} < 0.95 * b.read_ns / 1000 OR {gain} <= {tasks} * {elapsed_us})"
    return bound


def differenced(
    table: str,
    interval_s: float,
    entities: tuple[str, ...],
    counters: tuple[str, ...],
    others: tuple[str, ...] = (),
    where: str = "TRUE",
    empty: frozenset[str] = frozenset(),
) -> str:
    """SELECT of entity columns, d_X of each counter and the other columns.

    One row per entity and period in an observation.

    d_X is null where there was no reading of this entity in the sample before, or the counter fell.

    empty
        Columns of numbers that hold nothing: they are null without being read, kept and joined.
    """
    columns = ", ".join(f'r."{c}"' for c in (*entities, *counters, *others) if c not in empty)
    same = "".join(f' AND a."{e}" = b."{e}"' for e in entities)
    kept = "".join(f', NULL::BIGINT AS "{c}"' if c in empty else f', a."{c}"' for c in (*entities, *others))
    differences = "".join(
        f', NULL::BIGINT AS "d_{c}"'
        if c in empty
        else f', CASE WHEN a."{c}" >= b."{c}"{_possible(table, c)} THEN a."{c}" - b."{c}" END AS "d_{c}"'
        for c in counters
    )
    # A join with the sample before takes half the time of a window that sorts by entity and time.
    return f"""
        WITH readings AS MATERIALIZED ({keyed(table, interval_s, columns, where)})
        SELECT a.obs{kept}{differences} FROM readings a
        LEFT JOIN readings b ON a.run = b.run AND a.seq = b.seq + 1{same} WHERE a.obs IS NOT NULL"""


def _mean(levels: tuple[str, ...], prefix: str = "") -> tuple[str, ...]:
    return tuple(f'avg("{c}") AS "{prefix}{c}"' for c in levels)


def make_scopes(
    connection: duckdb.DuckDBPyConnection,
    catalogue: Variables,
    settings: Settings,
    the_plan: Plan,
    users: str,
    columns: dict[str, frozenset[str]],
    readings: Readings | None = None,
) -> None:
    """One table for each table in `columns`, with a row per observation (device, lock, task: per entity
    and observation).

    Processors, devices and users are many rows: they are read once as arrays where they fit (`_scopes.py`).

    Parameters
    ----------
    users
        Condition on the rows of table user that are users of interest.
    columns
        By table, those of its counters and levels that some formula needs.
    readings
        The tables of the recording, to be shared with who needs more of them; default: those of `connection`.
    """
    readings = readings or Readings(connection)
    observed = Observed(connection, the_plan)
    interval = the_plan.interval_s

    def of(table: str, *always: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        wanted = columns[table] | set(always)
        return (
            tuple(c for c in catalogue.counters[table] if c in wanted),
            tuple(c for c in catalogue.levels[table] if c in wanted),
        )

    def create(name: str, select: tuple[str, ...], source: str, group: str = "obs") -> None:
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE satline_{name} AS"
            f" SELECT {', '.join((group, *select))} FROM ({source}) GROUP BY {group}"
        )

    if "processor" in columns:
        counters, _ = of("processor")
        allowed = "TRUE"
        if settings.processors:
            allowed = f"CAST(processor AS VARCHAR) IN ({texts(tuple(map(str, settings.processors)))})"
        # An imported source may have one row, "all", for all processors together: the description says how
        # many they are. Some of its readings may have single ones.
        count = (
            f"CASE WHEN min(processor) = 'all' AND max(processor) = 'all'"
            f" THEN {settings.host_processors or 'NULL'}::BIGINT"
            " ELSE count(DISTINCT processor) FILTER (CAST(processor AS VARCHAR) <> 'all') END AS processors"
        )
        if not processor_scope(readings, observed, counters, allowed, settings.host_processors):
            source = differenced("processor", interval, ("processor",), counters, where=allowed)
            create("processor", (count, *whole(counters)), source)
    if "cgroup" in columns:
        counters, levels = of("cgroup", "quota_limit_millicpu")
        name = texts((settings.cgroup,)) if settings.cgroup else "NULL"
        source = differenced("cgroup", interval, ("cgroup",), counters, levels, f"cgroup = {name}")
        create("cgroup", (*whole(counters, "cgroup_"), *_mean(levels, "cgroup_")), source)
    if "device" in columns:
        counters, levels = of("device", "busy_us", *REQUEST_TIMES)
        if not device_scope(readings, observed, counters, levels):
            empty = frozenset(c for c in (*counters, *levels) if not readings.counts("device")[c])
            others = (*levels, "device_kind")
            source = differenced("device", interval, ("device",), counters, others, empty=empty)
            kind = "any_value(device_kind) AS device_kind"
            create("device", (kind, *whole(counters), *_mean(levels)), source, "obs, device")
    if "lock" in columns:
        counters, _ = of("lock", "spin_us")
        source = differenced("lock", interval, ("lock",), counters)
        create("lock", whole(counters), source, 'obs, "lock"')
    if "swapper" in columns:
        # Its rows come at instants of its own: each belongs to the observation that it lies in.
        _, levels = of("swapper")
        source = """
            SELECT o.obs, r.* FROM swapper r ASOF JOIN satline_observation o
            ON r.monotonic_ns <= o.t1 WHERE r.monotonic_ns > o.t0"""
        create("swapper", _mean(levels, "swapper_"), source)
    if "task" in columns:
        source = differenced(
            "task",
            interval,
            ("pid", "tid", "start_ticks"),
            ("cpu_us", "run_delay_us"),
            ("name", "user"),
            "left(r.\"user\", 1) <> '_'",
        )
        words = ("any_value(name) AS name", 'any_value("user") AS "user"')
        sums = ("sum(d_cpu_us)::DOUBLE AS cpu_us", "sum(d_run_delay_us)::DOUBLE AS run_delay_us")
        create("task", (*words, *sums), source, "obs, pid, tid, start_ticks")
    if "user" in columns:
        counters, levels = of("user", "cpu_us", "processes")
        if user_scope(readings, observed, counters, levels, users):
            return
        # Of how many processes the waits are bounds them, known or not.
        empty = frozenset(c for c in (*counters, *levels) if not readings.counts("user")[c]) - {"processes"}
        source = differenced("user", interval, ("user",), counters, levels, users, empty)
        if the_plan.several:
            parts = (*whole(counters), *_mean(levels))
            source = f'SELECT obs, "user", {", ".join(parts)} FROM ({source}) GROUP BY obs, "user"'
        totals = tuple(f"sum(d_{c})::DOUBLE AS d_user_{c}" for c in counters)
        totals += tuple(f"sum({c})::DOUBLE AS user_{c}" for c in levels)
        active = "(count(*) FILTER (d_cpu_us > 0))::DOUBLE AS users_with_cpu"
        create("user", (*totals, active, "max(d_cpu_us)::DOUBLE AS user_cpu_largest_us"), source)
