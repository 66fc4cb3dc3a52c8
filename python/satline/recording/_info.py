"""What is in a recording: times, runs, gaps, tables, entities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from satline.recording._open import Recording, quoted

# A reading is missing where two lie further apart than this many intervals.
GAP_INTERVALS = 2.5
NAMES = 100


@dataclass(frozen=True)
class Run:
    """A stretch of one writer without a restart; times in ns since 1970 UTC."""

    run: int
    begins_ns: int
    ends_ns: int
    readings: int


@dataclass(frozen=True)
class Gap:
    """Two readings of one run with too much time between them."""

    begins_ns: int
    seconds: float


@dataclass(frozen=True)
class TableContents:
    """One table.

    entities
        How many devices, users, processors, … are in it; ``None``: its rows belong to nobody.
    names
        The first of their names, at most 100.
    columns
        Its columns that have any value.
    """

    name: str
    rows: int
    entities: int | None
    names: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Contents:
    """A recording's contents.

    interval_s
        Median time between two readings; ``None`` without two.
    """

    path: str
    runs: tuple[Run, ...]
    interval_s: float | None
    gaps: tuple[Gap, ...]
    tables: tuple[TableContents, ...]

    @property
    def readings(self) -> int:
        """Rows of table system."""
        return sum(run.readings for run in self.runs)


def contents(recording: Recording) -> Contents:
    """Look through a recording, one that is being written too."""
    connection = recording.reading()
    runs = connection.execute(
        "SELECT run, min(time_ns), max(time_ns), count(*) FROM system GROUP BY run ORDER BY min(time_ns), run"
    ).fetchall()
    steps = (
        "SELECT time_ns, monotonic_ns - lag(monotonic_ns) OVER (PARTITION BY run ORDER BY monotonic_ns) AS d"
        " FROM system"
    )
    found = connection.execute(f"SELECT median(d) FROM ({steps})").fetchone()
    interval = found[0] if found and found[0] else None
    gaps = (
        connection.execute(
            f"SELECT time_ns - d, d / 1e9 FROM ({steps}) WHERE d > ? ORDER BY 1", [GAP_INTERVALS * interval]
        ).fetchall()
        if interval
        else []
    )
    tables = tuple(_table(connection, recording, name) for name in recording.tables())
    return Contents(
        path=str(recording.path),
        runs=tuple(Run(*map(int, row)) for row in runs),
        interval_s=interval / 1e9 if interval else None,
        gaps=tuple(Gap(int(begin), float(seconds)) for begin, seconds in gaps),
        tables=tuple(t for t in tables if t.rows),
    )


def _table(connection: Any, recording: Recording, name: str) -> TableContents:
    definition = recording.catalogue.table(name)
    columns = [c.name for c in definition.own_columns]
    counts = ", ".join(f"count({quoted(c)})" for c in columns)
    rows, *filled = connection.execute(f"SELECT count(*), {counts} FROM {quoted(name)}").fetchone()
    names: list[str] = []
    entities = None
    # A table's first identity says whose its rows are; those of events and single threads are no entities.
    if definition.entity and name not in ("event", "task"):
        whose = quoted(definition.entity[0])
        entities = int(
            connection.execute(f"SELECT count(DISTINCT {whose}) FROM {quoted(name)}").fetchone()[0]
        )
        first = connection.execute(
            f"SELECT DISTINCT {whose} FROM {quoted(name)} WHERE {whose} IS NOT NULL ORDER BY 1 LIMIT {NAMES}"
        )
        names = [str(n) for (n,) in first.fetchall()]
    there = tuple(c for c, count in zip(columns, filled, strict=True) if count)
    return TableContents(name, int(rows), entities, tuple(names), there)
