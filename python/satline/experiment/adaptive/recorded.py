"""How far a study has come, as its recording tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

    from satline.recording import Recording

# The monitor's last reading may lie so far before a window's end.
READING_S = 1.0


def window_is_there(recording: Recording, run: int, step: int) -> bool:
    """Does the recording hold the emulator's hold after this step, and the monitor's readings until then?"""
    connection = recording.connect(tables=["event", "system"])
    try:
        ended = _one(
            connection,
            f"SELECT max(monotonic_ns) FILTER (event = 'window-end') FROM event WHERE source = 'terminal'"
            f" AND run = {int(run)} AND step = {int(step)}"
            " HAVING count(*) FILTER (event = 'hold') > 0",
        )
        if ended is None:
            return False
        read = _one(connection, "SELECT max(monotonic_ns) FROM system")
    finally:
        connection.close()
    return read is not None and read >= ended - READING_S * 1e9


def last_run(recording: Recording) -> int:
    """Number of the emulator's latest run; 0: none."""
    connection = recording.connect(tables=["event"])
    try:
        return int(_one(connection, "SELECT max(run) FROM event WHERE source = 'terminal'") or 0)
    finally:
        connection.close()


def seconds_of_steps(recording: Recording) -> float:
    """Time that the steps of all runs of the emulator took so far."""
    connection = recording.connect(tables=["event"])
    try:
        found = _one(
            connection,
            "SELECT sum(s) FROM (SELECT (max(monotonic_ns) - min(monotonic_ns)) / 1e9 AS s FROM event"
            " WHERE source = 'terminal' AND step > 0 GROUP BY run)",
        )
    finally:
        connection.close()
    return float(found or 0.0)


def _one(connection: duckdb.DuckDBPyConnection, query: str) -> int | None:
    row = connection.execute(query).fetchone()
    return None if row is None else row[0]
