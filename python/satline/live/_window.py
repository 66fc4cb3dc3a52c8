"""The last seconds of a recording as a recording of their own, which every reduction can read."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from satline.errors import InputError

if TYPE_CHECKING:
    import duckdb

    from satline.recording import Recording

# What changes with time and is differenced, and what has times of its own within the window.
_READ = ("system", "processor", "device", "channel", "cgroup", "user", "lock")
_TIMED = ("transaction", "event", "swapper")
_LONGEST_TRANSACTION_NS = 3600 * 10**9
_MISSED = 5  # intervals without a sample, and at least this long: nobody writes any more
_MISSED_S = 30.0


@dataclass(frozen=True)
class Seen:
    """What was seen in a window that ends at `at`.

    seconds, samples
        Length of the window, and the readings in it.
    """

    at: datetime
    seconds: float
    samples: int


@dataclass(frozen=True)
class Window:
    """The samples of one run from `start_ns` to `end_ns`, by its monotonic clock.

    time_ns
        Real time of the last sample, nanoseconds since 1970.
    samples
        How many samples of table system lie in it, both ends included.
    """

    recording: Recording
    run: int
    start_ns: int
    end_ns: int
    time_ns: int
    samples: int

    @classmethod
    def last(cls, recording: Recording, seconds: float) -> Window:
        """The last `seconds` of `recording`, or as much more as two samples need.

        Raises
        ------
        InputError
            Fewer than two samples in the last run.
        """
        connection = recording.connect(tables=("system",))
        row = connection.execute("""
            SELECT run, max(monotonic_ns), max(time_ns), min(monotonic_ns) FROM system
            WHERE run = (SELECT max(run) FROM system) GROUP BY run
        """).fetchone()
        if row is None or row[1] == row[3]:
            raise InputError(
                f"{recording.path}: fewer than two samples since the last start",
                hint="wait for a sample more, or name another recording",
            )
        run, end, real, first = (int(value) for value in row)
        # The nearest one: samples come a little early or late.
        nearest = connection.execute(
            "SELECT monotonic_ns FROM system WHERE run = ? AND monotonic_ns < ?"
            " ORDER BY abs(monotonic_ns - ?), monotonic_ns LIMIT 1",
            [run, end, end - round(1e9 * seconds)],
        ).fetchone()
        start = first if nearest is None else int(nearest[0])
        counted = connection.execute(
            "SELECT count(*) FROM system WHERE run = ? AND monotonic_ns >= ?", [run, start]
        ).fetchone()
        return cls(recording, run, start, end, real, int(counted[0]) if counted else 0)

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end_ns - self.start_ns) / 1e9

    @property
    def at(self) -> datetime:
        """When its last sample was taken."""
        return datetime.fromtimestamp(self.time_ns / 1e9, UTC)

    @property
    def stale_s(self) -> float | None:
        """Seconds since the last sample, if it should have been followed by others; ``None``: all is well."""
        if self.recording.ended:
            return None
        age = time.time() - self.time_ns / 1e9
        interval = self.seconds / max(1, self.samples - 1)
        return age if age > max(_MISSED_S, _MISSED * interval) else None

    @property
    def description(self) -> Mapping[str, Any]:
        """Of the whole recording."""
        return self.recording.description

    @property
    def sources(self) -> Mapping[str, Mapping[str, Any]]:
        """Of the whole recording."""
        return self.recording.sources

    def connect(self) -> duckdb.DuckDBPyConnection:
        """A connection whose tables end where the window ends and begin where it begins."""
        connection = self.recording.connect(tables=(*_READ, *_TIMED))
        here = f"run = {self.run} AND monotonic_ns BETWEEN {self.start_ns} AND {self.end_ns}"
        real = self.time_ns - (self.end_ns - self.start_ns)
        timed = f"time_ns BETWEEN {real - _LONGEST_TRANSACTION_NS} AND {self.time_ns}"
        for table in (*_READ, *_TIMED):
            rows = here if table in _READ else timed
            connection.execute(f'ALTER VIEW "{table}" RENAME TO "whole {table}"')
            connection.execute(f'CREATE VIEW "{table}" AS SELECT * FROM "whole {table}" WHERE {rows}')
        return connection
