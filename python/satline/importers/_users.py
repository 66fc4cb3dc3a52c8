"""From what single processes used to counters per user that never fall.

Other collectors log processes; a recording holds users. What every process used between two readings is added
to its user's counters, so that a process that ends takes nothing back.
"""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from satline.recording import numbers_of

COUNTERS = (
    "cpu_us", "cpu_system_us", "run_delay_us", "io_delay_us", "major_faults", "minor_faults",
    "read_bytes", "write_bytes", "exits",
)  # fmt: skip
LEVELS = ("processes", "tasks_runnable", "tasks_page_wait", "tasks_io_wait", "resident_bytes")
KERNEL, COLLECTOR = "_kernel", "_collector"
"""Kernel threads, and the collector's own processes: not users."""

_COLLECTORS = ("atop", "atopacctd", "pmcd", "pmlogger", "pmie", "pmproxy", "pmpause")


def collector_sql(name: str, user: str) -> str:
    """Is the process the collector's own? Only the collector's accounts are believed: anybody may name a
    program so."""
    names = ", ".join(f"'{n}'" for n in _COLLECTORS)
    return f"({user} IN ('root', 'pcp', '0') AND ({name} IN ({names}) OR starts_with({name}, 'pmda')))"


def user_rows(connection: duckdb.DuckDBPyConnection, used: str, readings: int) -> dict[str, pa.Table]:
    """Rows of table user, and how many users there were.

    Parameters
    ----------
    used
        A table or view with a row per process and reading: `seq` (reading, from 0), `user`, what the process
        used since the reading before (`COUNTERS`), and its levels now: `alive` (0 or 1), `runnable`,
        `waiting` (tasks in uninterruptible wait), `resident_bytes`. Null where unknown.
    readings
        Number of readings.

    Returns
    -------
    `user`: seq, user, counters (totals since the first reading) and levels, for each user from the reading
    before it was first seen to the last. `system`: seq, users_logged_on, users_in_queue.
    """
    sums = ", ".join(f"sum({c})::DOUBLE AS {c}" for c in COUNTERS)
    totals = ", ".join(
        # A sample in which none of the user's processes gave this number has none, unless none was there.
        f"CASE WHEN u.seq IS NULL OR u.processes = 0 OR u.{c} IS NOT NULL"
        f" THEN coalesce(sum(u.{c}) OVER w, 0) END AS {c}"
        for c in COUNTERS
    )
    levels = ", ".join(f"CASE WHEN u.seq IS NULL THEN 0 ELSE u.{c} END AS {c}" for c in LEVELS)
    # Uninterruptible wait is mostly for a disk, and who writes reads no blocks: only a major fault speaks
    # for a page.
    page = "coalesce(major_faults, 0) > 0"
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE satline_users AS
        SELECT seq, "user", {sums}, sum(alive)::DOUBLE AS processes, sum(runnable)::DOUBLE AS tasks_runnable,
            sum(CASE WHEN {page} THEN waiting ELSE 0 END)::DOUBLE AS tasks_page_wait,
            sum(CASE WHEN {page} THEN 0 ELSE waiting END)::DOUBLE AS tasks_io_wait,
            sum(resident_bytes * alive)::DOUBLE AS resident_bytes
        FROM {used} WHERE "user" IS NOT NULL GROUP BY seq, "user"
    """)
    users = connection.sql(f"""
        WITH first AS (
            SELECT "user", greatest(min(seq) - 1, 0) AS a FROM satline_users GROUP BY "user"),
        grid AS (
            SELECT f."user", s.seq FROM first f, (SELECT unnest(range({int(readings)})) AS seq) s
            WHERE s.seq >= f.a)
        SELECT g.seq, g."user", {totals}, {levels} FROM grid g
        LEFT JOIN satline_users u ON u.seq = g.seq AND u."user" = g."user"
        WINDOW w AS (PARTITION BY g."user" ORDER BY g.seq)
        ORDER BY g.seq, g."user"
    """).to_arrow_table()
    system = connection.sql("""
        SELECT seq, (count(*) FILTER (processes > 0))::DOUBLE AS users_logged_on,
            CASE WHEN count(tasks_runnable) > 0 THEN
                count(*) FILTER (coalesce(tasks_runnable, 0) + coalesce(tasks_page_wait, 0)
                    + coalesce(tasks_io_wait, 0) > 0)
            END::DOUBLE AS users_in_queue
        FROM satline_users WHERE left("user", 1) <> '_' GROUP BY seq ORDER BY seq
    """).to_arrow_table()
    return {"user": users, "system": system}


def collector_cpu(users: pa.Table, readings: int) -> NDArray[np.float64]:
    """Processor time of the collector itself at each reading, NaN where it was not seen."""
    out = np.full(readings, np.nan)
    mask = np.array(users["user"].to_pylist(), dtype=object) == COLLECTOR
    seq = numbers_of(users["seq"])[mask]
    out[seq] = numbers_of(users["cpu_us"])[mask]
    return out


def columns_of(table: pa.Table) -> dict[str, Any]:
    """Columns for `Sink.table`, `seq` left out."""
    return {
        name: table[name].to_pylist() if name == "user" else numbers_of(table[name])
        for name in table.column_names
        if name != "seq"
    }
