"""Figures of every hour of every series, and hourly readings: what stays when full detail goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from satline.catalogue import TableDefinition, catalogue
from satline.correlation import Panel, read_panel
from satline.errors import InputError
from satline.history._store import sync_file
from satline.recording import Recording, describe, quoted, split_days, write_parquet_table
from satline.reduction import Filters

Columns = dict[str, list[Any]]

HOUR_S = 3600
_MOMENTS = 20_000
_HOUR_NS = HOUR_S * 10**9
_LEAST_OBSERVATION_S = 10.0
# What tells of single things cannot be thinned: only the figures of hours keep it.
_NOT_THINNED = frozenset({"transaction", "transition", "thermometer", "task"})
_SUMMED = frozenset({"counter", "accumulator"})


def recorded_days(recording: Recording) -> list[date]:
    """Days with samples, by the recording's clock."""
    rows = recording.connect(tables=["system"]).execute(
        f"SELECT DISTINCT time_ns // {24 * _HOUR_NS} FROM system WHERE time_ns >= 0"
    )
    return sorted(date(1970, 1, 1) + timedelta(days=int(d)) for (d,) in rows.fetchall())


def hour_figures(
    recording: Recording, days: Sequence[date], *, on_day: Callable[[date], None] = lambda _: None
) -> Iterator[tuple[date, Columns]]:
    """Of each of `days` the figures of each hour and series: n observations, mean, sd, percentiles 50 and 90,
    greatest. A day without two samples in a row is left out.
    """
    stated = [s.get("sampling", {}).get("interval_ms") for s in recording.sources.values()]
    interval = max((i for i in stated if i), default=None)
    every = max(_LEAST_OBSERVATION_S, float(interval) / 1000) if interval else None
    # As many days at a time as are small together.
    size = max(1, int(_MOMENTS * (every or _LEAST_OBSERVATION_S) // (24 * HOUR_S)))
    wanted = sorted(days)
    while wanted:
        first = wanted[0]
        part = [d for d in wanted if d < first + timedelta(days=size)]
        wanted = wanted[len(part) :]
        on_day(first)
        start = datetime(first.year, first.month, first.day, tzinfo=UTC)
        filters = Filters(start=start, end=start + timedelta(days=(part[-1] - first).days + 1))
        try:
            panel = read_panel(recording, every_s=every, filters=filters, gap=0, keep_constant=True)
        except InputError as error:
            if "no observation is left" in error.message:
                continue
            raise
        columns = figures(panel)
        number = np.array(columns["hour"], dtype=np.int64) // (24 * HOUR_S)
        for day in part:
            at = np.flatnonzero(number == (day - date(1970, 1, 1)).days).tolist()
            if at:
                yield day, {name: [values[k] for k in at] for name, values in columns.items()}


def figures(panel: Panel) -> Columns:
    """The rows of `hour_figures`, column by column."""
    columns: Columns = {
        k: []
        for k in ("hour", "scope", "entity", "variable", "unit", "n", "mean", "sd", "p50", "p90", "most")
    }
    known = np.isfinite(panel.time_s)
    hour = np.where(known, np.where(known, panel.time_s, 0) // HOUR_S, -1).astype(np.int64)
    for at in np.unique(hour[hour >= 0]).tolist():
        part = panel.values[:, hour == at]
        good = np.isfinite(part)
        number = good.sum(axis=1)
        for k in np.flatnonzero(number).tolist():
            values = part[k][good[k]]
            name = panel.names[k]
            p50, p90 = np.percentile(values, (50, 90)).tolist() if len(values) > 1 else (values[0], values[0])
            row = (
                at * HOUR_S, name.scope, name.entity, name.variable, name.unit, int(number[k]),
                float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else None,
                float(p50), float(p90), float(values.max()),
            )  # fmt: skip
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    return columns


def write_hours(file: Path, columns: Columns) -> None:
    """Write the figures of a day, durable, in one step."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(
        [
            ("hour", pa.int64()),
            *((k, pa.string()) for k in ("scope", "entity", "variable", "unit")),
            ("n", pa.int64()),
            *((k, pa.float64()) for k in ("mean", "sd", "p50", "p90", "most")),
        ]
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.tmp")
    pq.write_table(pa.table(columns, schema=schema), temporary, compression="zstd")
    sync_file(temporary)
    temporary.replace(file)


def write_hourly(full: Recording, target: Path) -> None:
    """Write a recording with one reading an hour of every entity.

    Counters keep their last reading of the hour, so that their differences are exact; levels become their
    mean over the hour. The first reading of each run stays, so that its first hour has a difference.
    Transactions, probes and tasks are left out and said to be missing; events stay as they are.
    """
    import pyarrow.compute as pc

    describe.create(target, str(full.description.get("recording", {}).get("creator", "")), host={})
    describe.replace(target, full.description)
    connection = full.connect()
    connection.execute(f"""
        CREATE TEMP TABLE satline_hour AS
        SELECT run, time_ns // {_HOUR_NS} AS hour, max(monotonic_ns) AS last FROM system GROUP BY ALL
        UNION ALL SELECT run, -1, min(monotonic_ns) FROM system GROUP BY run
    """)
    writer = next((w for w in ("monitor", "import", "machine") if w in full.sources), "import")
    for name in full.tables():
        definition = catalogue().table(name)
        if name in _NOT_THINNED:
            continue
        if name == "event":
            rows: Any = connection.sql("SELECT * FROM event ORDER BY monotonic_ns").to_arrow_table()
            own = [c.name for c in definition.columns]
            rows = rows.select([c for c in rows.column_names if c in own])
        else:
            rows = connection.sql(_thinned(definition)).to_arrow_table()
        for run in sorted({int(r) for r in rows["run"].unique().to_pylist() if r is not None}):
            part = rows.filter(pc.equal(rows["run"], run))
            # Days must not alternate within one call: where the clock stepped, each piece is its own.
            for _, piece in split_days(part):
                write_parquet_table(target, name, piece, writer=writer, run=max(1, run))
    _describe(full, target)


def _thinned(definition: TableDefinition) -> str:
    """SELECT of one row for each entity and hour, at the instant of the system's sample."""
    names = []
    for column in definition.own_columns:
        name = quoted(column.name)
        if column.name in definition.entity:
            continue
        if column.kind == "level":
            mean = f"avg({name})"
            names.append(f"{f'round({mean})::BIGINT' if column.type == 'int' else mean} AS {name}")
        else:
            names.append(f"arg_max({name}, monotonic_ns) AS {name}")
    entity = "".join(f", {quoted(e)}" for e in definition.entity)
    table = quoted(definition.name)
    parts = ", ".join(names)
    keys = f"run{entity}"
    # An entity that went away before the hour's end has no reading there: its counters would be put too late.
    return f"""
        WITH one AS (
            SELECT {keys}, time_ns // {_HOUR_NS} AS hour, max(monotonic_ns) AS monotonic_ns,
                arg_max(time_ns, monotonic_ns) AS time_ns, {parts} FROM {table} GROUP BY run{entity}, hour),
        early AS (
            SELECT {keys}, -1 AS hour, max(monotonic_ns) AS monotonic_ns, max(time_ns) AS time_ns, {parts}
            FROM {table} SEMI JOIN (SELECT run, last AS monotonic_ns FROM satline_hour WHERE hour = -1)
            USING (run, monotonic_ns) GROUP BY {keys})
        SELECT e.* EXCLUDE (hour) FROM (SELECT * FROM one UNION ALL BY NAME SELECT * FROM early) e
        JOIN satline_hour h ON e.run = h.run AND e.hour = h.hour
            AND e.monotonic_ns BETWEEN h.last - 1000000000 AND h.last + 1000000000
        WHERE NOT (e.hour = -1 AND EXISTS (
            SELECT 1 FROM satline_hour g WHERE g.run = h.run AND g.hour >= 0 AND g.last = h.last))
        ORDER BY e.monotonic_ns"""


def _describe(full: Recording, target: Path) -> None:
    """The full recording's own description, with what thinning changed."""
    for writer, content in full.sources.items():
        changed = {**content}
        if "sampling" in content:
            changed["sampling"] = {**content["sampling"], "interval_ms": HOUR_S * 1000}
        lost = [
            {"signal": t, "reason": "hourly readings keep no single ones", "would_need": "full detail"}
            for t in sorted(_NOT_THINNED & set(full.tables()))
        ]
        changed["missing"] = [*content.get("missing", ()), *lost]
        describe.write_source(target, writer, {k: v for k, v in changed.items() if k != "writer"})
