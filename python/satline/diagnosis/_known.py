"""What is known where nothing tells how full anything was: levels, and rates without a capacity.

A rate has no use without the greatest that is possible, and a level of tasks none without the number of
processors; but whoever recorded nothing else should be told what it was.
"""

from __future__ import annotations

import duckdb

from satline.diagnosis._words import percent, size, two_digits
from satline.errors import InputError
from satline.reduction import Settings, Source, reading

# Of table system: what is said of the mean.
_LEVELS = {
    "load_average_1": "load average {}",
    "tasks_runnable": "{} tasks runnable",
    "tasks_blocked": "{} tasks blocked",
    "users_logged_on": "{} users logged on",
    "tasks_total": "{} processes",
    "processes_seen": "{} processes listed",
    "tcp_connections": "{} TCP connections",
}
_RATES = {
    "context_switches": "{} context switches/s",
    "forks": "{} processes created/s",
    "system_calls": "{} system calls/s",
}


def require_two_readings(recording: Source) -> None:
    """Two readings in a row are what anything can be told by.

    Raises
    ------
    InputError
        There are none: it says why, and what the single ones tell.
    """
    rows = reading(recording).execute(
        "SELECT coalesce(sum(n), 0), coalesce(max(n), 0)"
        " FROM (SELECT count(DISTINCT monotonic_ns) AS n FROM system GROUP BY run)"
    )
    count, together = rows.fetchone() or (0, 0)
    if together > 1:
        return
    words = "the recording holds no two samples of table system"
    if count == 1:
        words = "the recording holds a single reading, and what was used is told by two"
    elif count:
        words = f"the recording holds {count:,} readings, and a restart or a mark lies between any two"
    levels = known(recording)
    raise InputError(words + (f"; known: {', '.join(levels)}" if levels else ""), hint="record for longer")


def known(recording: Source) -> tuple[str, ...]:
    """Levels, and rates of disks, interfaces and the kernel, in words: what tells most of use first."""
    connection = reading(recording)
    processors = Settings.of(recording).host_processors
    return (
        *_memory(connection),
        *_levels(connection, processors),
        *_devices(connection),
        *_rates(connection),
    )


def _levels(connection: duckdb.DuckDBPyConnection, processors: int | None) -> list[str]:
    sums = ", ".join(f"avg({name})" for name in _LEVELS)
    row = connection.execute(f"SELECT {sums} FROM system").fetchone() or ()
    found = []
    for (name, words), value in zip(_LEVELS.items(), row, strict=True):
        if value is not None:
            on = ""
            if name == "load_average_1" and processors:
                on = f" on {processors} processor{'s' if processors > 1 else ''}"
            found.append(words.format(two_digits(value)) + on)
    return found


def _memory(connection: duckdb.DuckDBPyConnection) -> list[str]:
    row = connection.execute("""
        SELECT avg(1 - mem_available_bytes / mem_total_bytes),
            avg(1 - (mem_free_bytes + coalesce(cached_bytes, 0)) / mem_total_bytes), count(cached_bytes)
        FROM system WHERE mem_total_bytes > 0""").fetchone()
    available, free, cached = row or (None, None, 0)
    if available is not None:
        return [f"memory {percent(available)} used"]
    if free is not None:
        return [f"memory {percent(free)} used" + ("" if cached else ", file cache included")]
    return []


def _gains(columns: tuple[str, ...], table: str, entity: str) -> str:
    """SELECT of what each counter gained by entity, and of the seconds in which that was seen."""
    gains = ", ".join(
        f'CASE WHEN "{c}" >= lag("{c}") OVER w THEN "{c}" - lag("{c}") OVER w END AS "{c}"' for c in columns
    )
    sums = ", ".join(f'sum("{c}") / nullif(sum(s) FILTER ("{c}" IS NOT NULL), 0) AS "{c}"' for c in columns)
    return f"""
        SELECT entity, {sums} FROM (
            SELECT {entity} AS entity, (monotonic_ns - lag(monotonic_ns) OVER w) / 1e9 AS s, {gains}
            FROM "{table}" WINDOW w AS (PARTITION BY run, {entity} ORDER BY monotonic_ns))
        GROUP BY entity"""


def _rates(connection: duckdb.DuckDBPyConnection) -> list[str]:
    row = connection.execute(_gains(tuple(_RATES), "system", "0")).fetchone() or (0, *[None] * len(_RATES))
    return [
        words.format(two_digits(value))
        for words, value in zip(_RATES.values(), row[1:], strict=True)
        if value is not None
    ]


def _devices(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """The disk and the interface that moved most, else that had most requests."""
    columns = ("reads", "writes", "requests", "read_bytes", "write_bytes", "moved_bytes")
    rows = connection.execute(f"""
        SELECT kind, entity, requests, bytes FROM (
            SELECT entity, coalesce(requests, coalesce(reads, 0) + coalesce(writes, 0)) AS requests,
                coalesce(moved_bytes, coalesce(read_bytes, 0) + coalesce(write_bytes, 0)) AS bytes
            FROM ({_gains(columns, "device", "device")}))
        JOIN (SELECT device AS entity, any_value(device_kind) AS kind FROM device GROUP BY device)
            USING (entity)
        WHERE kind IN ('block', 'network') AND requests + bytes > 0
        ORDER BY kind, bytes DESC, requests DESC, entity""").fetchall()
    found = []
    for wanted, one in (("block", "disk"), ("network", "interface")):
        own = [row for row in rows if row[0] == wanted]
        for _, name, requests, moved in own[:1]:
            what = "packets" if one == "interface" else "requests"
            parts = [f"{two_digits(requests)} {what}/s"] if requests else []
            parts += [f"{size(moved)}/s"] if moved else []
            busiest = f" (busiest of {len(own)})" if len(own) > 1 else ""
            called = f"all {one}s" if name == "all" else f"{one} {name}"
            found.append(f"{called} {' and '.join(parts)}{busiest}")
    return found
