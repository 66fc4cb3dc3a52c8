"""Processes of a PCP archive → rows of table user."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from satline.importers import _pcp_map as pcp_map
from satline.importers import _users
from satline.importers._pcp_cycles import Cycles
from satline.importers._pcp_reader import Archive, Series
from satline.importers._pcp_tables import Grid
from satline.importers._sink import Integers
from satline.recording import number_column, numbers_of, text_column

_LATE_S = 1.0


def process_users(archive: Archive, grid: Grid, run: slice, cycles: Cycles) -> dict[str, pa.Table] | None:
    """Rows of table user of one run, and the numbers of users; None where the archive has no processes.

    Of each logging cycle one record counts: the last in which processes' user times were logged.
    `seq` counts the grid's readings from 0. A process that is new since the reading before brings all that it
    has used; one that was there before the archive began to see it, nothing.
    """
    values, attributes = pcp_map.PROCESS_VALUES, pcp_map.PROCESS_ATTRIBUTES
    times = archive.get(values["utime"])
    who = archive.get(attributes["user_name"]) or archive.get(attributes["uid"])
    if times is None or who is None:
        return None
    with duckdb.connect(config={"threads": 2}) as connection:
        instants = _instants(times, cycles)
        records = instants[instants >= 0]
        inside = records >= grid.time_ns[run.start] - grid.tolerance_ns
        inside &= records <= grid.time_ns[run.stop - 1] + grid.tolerance_ns
        records = records[inside]
        if not len(records):
            return None
        for name, metric in {**values, **attributes}.items():
            _register(connection, archive, name, metric, instants, cycles)
        connection.register(
            "record", pa.table({"t": number_column(records), "k": number_column(np.arange(len(records)))})
        )
        connection.register("uptime", _uptime(archive, records))
        connection.execute(_processes_sql())
        made = _users.user_rows(connection, "used", len(records))
    # From the instants of the processes to the readings nearest to them.
    at = Grid(records, grid.interval_ns, grid.by_process)
    nearest, near = at.nearest(grid.time_ns[run])
    readings = np.arange(run.start, run.stop)[nearest]
    return {name: _placed(table, readings, near) for name, table in made.items()}


def _placed(table: pa.Table, readings: Integers, near: NDArray[np.bool_]) -> pa.Table:
    k = numbers_of(table["seq"])
    table = table.set_column(table.schema.get_field_index("seq"), "seq", number_column(readings[k]))
    return table.filter(number_column(near[k]))


def _instants(times: Series, cycles: Cycles) -> Integers:
    """Of each cycle the last record that has values, else the last; −1 where there is none."""
    made = np.full(len(cycles.first_ns), -1, dtype=np.int64)
    for records in (times.record_ns, times.time):
        instants = np.unique(np.array(records, dtype=np.int64))
        made[cycles.of(instants)] = instants
    return made


def _at(time: Integers, instants: Integers, cycles: Cycles) -> tuple[NDArray[np.bool_], Integers]:
    """Which values count, and the instant of each: of a cycle those nearest to its instant, there."""
    records, place = np.unique(time, return_inverse=True)
    cycle = cycles.of(records)
    instant = np.where(instants[cycle] >= 0, instants[cycle], records)
    order = np.lexsort((np.abs(records - instant), cycle))
    chosen = np.zeros(len(records), dtype=bool)
    chosen[order[np.unique(cycle[order], return_index=True)[1]]] = True
    return chosen[place], instant[place]


def _register(
    connection: duckdb.DuckDBPyConnection,
    archive: Archive,
    name: str,
    metric: str,
    instants: Integers,
    cycles: Cycles,
) -> None:
    """View `v_NAME` (t, pid, v) of a metric; without rows where the archive has none."""
    series = archive.get(metric)
    text = name in ("user_name", "name", "state")
    kind = pa.string() if text else pa.float64()
    if series is None:
        table = pa.table(
            {"t": pa.nulls(0, pa.int64()), "pid": pa.nulls(0, pa.int64()), "v": pa.nulls(0, kind)}
        )
    else:
        time, instance, _, value = series.arrays()
        if text:
            words = text_column(archive.texts)
            values = words.take(number_column(value.astype(np.int64)))
        else:
            values = number_column(value * archive.metrics[metric].scale)
        counts, at = _at(time, instants, cycles)
        columns = {"t": number_column(at), "pid": number_column(instance), "v": values}
        table = pa.table(columns).filter(number_column(counts))
    connection.register(f"v_{name}", table)


def _uptime(archive: Archive, records: Integers) -> pa.Table:
    """Up-time in seconds at each record; null where not logged."""
    reading = number_column(np.arange(len(records)))
    series = archive.get(pcp_map.UPTIME)
    if series is None:
        return pa.table({"k": reading, "up": pa.nulls(len(records), pa.float64())})
    at, _, _, value = series.arrays()
    nearest = np.clip(np.searchsorted(at, records), 0, len(at) - 1)
    up = number_column(value[nearest] + (records - at[nearest]) / 1e9)
    return pa.table({"k": reading, "up": up})


def _processes_sql() -> str:
    """Table `used`: see `_users.user_rows`."""
    counters = ("stime", "minor_faults", "major_faults", "read_bytes", "write_bytes")
    exact = "".join(f" LEFT JOIN v_{c} ON v_{c}.t = u.t AND v_{c}.pid = u.pid" for c in counters)
    exact += "".join(
        f" LEFT JOIN v_{c} ON v_{c}.t = u.t AND v_{c}.pid = u.pid" for c in ("resident_bytes", "state")
    )
    held = "".join(
        f" ASOF LEFT JOIN v_{c} ON v_{c}.pid = u.pid AND u.t >= v_{c}.t"
        for c in ("user_name", "uid", "name", "ppid", "start")
    )
    # A user whom the host's list of users does not hold has an empty name.
    user = "coalesce(nullif(v_user_name.v, ''), CAST(CAST(v_uid.v AS BIGINT) AS VARCHAR))"
    differences = ", ".join(
        # not greatest(…, 0): what is missing would be 0 there
        f"CASE WHEN known AND {c} < lag({c}) OVER w THEN 0 WHEN known THEN {c} - lag({c}) OVER w"
        f" WHEN fresh THEN {c} ELSE 0 * {c} END AS {c}"
        for c in ("utime", *counters)
    )
    return f"""
        CREATE TEMP TABLE used AS
        WITH once AS (  -- a process twice in one record was made up by a name: neither is believed
            SELECT t, pid, any_value(v) AS v FROM v_utime GROUP BY t, pid HAVING count(*) = 1),
        seen AS (
            SELECT r.k, u.t, u.pid, u.v AS utime, {", ".join(f"v_{c}.v AS {c}" for c in counters)},
                v_resident_bytes.v AS resident_bytes, v_state.v AS state, v_start.v / 1e6 AS start,
                CASE WHEN u.pid = 2 OR v_ppid.v = 2 THEN '{_users.KERNEL}'
                    WHEN {_users.collector_sql("v_name.v", user)} THEN '{_users.COLLECTOR}'
                    ELSE {user} END AS "user"
            FROM once u JOIN record r ON r.t = u.t{exact}{held}),
        placed AS (
            SELECT *, lag(utime) OVER w <= utime AS known,
                lag(utime) OVER w IS NULL OR lag(utime) OVER w > utime AS unseen
            FROM seen WINDOW w AS (PARTITION BY pid, start ORDER BY k)),
        judged AS (
            SELECT p.*, p.k > 0 AND unseen AND (
                p.start IS NULL OR before.up IS NULL OR p.start >= before.up - {_LATE_S}) AS fresh
            FROM placed p LEFT JOIN uptime before ON before.k = p.k - 1),
        differed AS (
            SELECT k, pid, "user", resident_bytes, state, {differences}
            FROM judged WINDOW w AS (PARTITION BY pid, start ORDER BY k))
        SELECT k AS seq, "user", utime + stime AS cpu_us, stime AS cpu_system_us,
            NULL::DOUBLE AS run_delay_us, NULL::DOUBLE AS io_delay_us, major_faults, minor_faults,
            read_bytes, write_bytes, NULL::DOUBLE AS exits, resident_bytes, 1 AS alive,
            CASE WHEN state IS NOT NULL THEN (state = 'R')::INT END AS runnable,
            CASE WHEN state IS NOT NULL THEN (state = 'D')::INT END AS waiting
        FROM differed
    """
