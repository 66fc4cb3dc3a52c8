"""The figures of many days as arrays: day × hour × series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from satline.errors import InputError
from satline.recording import cause

Floats = NDArray[np.float64]
_LOADS = ("active_users", "mpl", "runnable_tasks", "load_average_1", "total_cpu")


@dataclass(frozen=True, order=True)
class Row:
    """What a series is of: an entity of a scope; empty for the whole system."""

    scope: str
    entity: str


@dataclass(frozen=True)
class Figures:
    """Hourly means.

    values
        Shape (days, 24, series), NaN where there is none.
    load
        Shape (days, 24): the first that was recorded of active users, multiprogramming level, run queue and
        load average; NaN where unknown.
    """

    days: tuple[date, ...]
    rows: tuple[Row, ...]
    variables: tuple[str, ...]
    units: tuple[str, ...]
    values: Floats = field(repr=False)
    load: Floats = field(repr=False)
    load_variable: str = ""

    def name(self, k: int) -> str:
        """``VARIABLE`` or ``VARIABLE@ENTITY``."""
        entity = self.rows[k].entity
        return f"{self.variables[k]}@{entity}" if entity else self.variables[k]

    @classmethod
    def of(cls, days: Sequence[date], names: Sequence[tuple[str, str, str, str]], values: Floats) -> Figures:
        """From scope, entity, variable and unit of each series; the load is looked for among them."""
        whole = {v: k for k, (s, e, v, _) in enumerate(names) if not e and s == "system"}
        chosen = next((n for n in _LOADS if n in whole and np.isfinite(values[:, :, whole[n]]).any()), "")
        load = values[:, :, whole[chosen]] if chosen else np.full(values.shape[:2], np.nan)
        return cls(
            tuple(days),
            tuple(Row(s, e) for s, e, _, _ in names),
            tuple(n[2] for n in names),
            tuple(n[3] for n in names),
            values,
            load,
            chosen,
        )


def read_figures(
    files: dict[date, list[Path]], extra: dict[date, dict[str, list[Any]]] | None = None
) -> Figures:
    """The figures in the files of each day, and those of days at hand; several of one hour are joined.

    Raises
    ------
    InputError
        A file is broken.
    """
    import duckdb
    import pyarrow as pa

    days = sorted({*files, *(extra or {})})
    connection = duckdb.connect()
    parts = []
    paths = [str(p) for day in days for p in files.get(day, [])]
    columns = "hour, scope, entity, variable, unit, n, mean"
    if paths:
        listed = ", ".join(
            "'" + "".join(f"[{c}]" if c in "*?[" else c for c in p).replace("'", "''") + "'" for p in paths
        )
        parts.append(f"SELECT {columns} FROM read_parquet([{listed}])")
    for number, (day, content) in enumerate((extra or {}).items()):
        del day
        text = ("scope", "entity", "variable", "unit")
        table = pa.table(
            {
                k: pa.array(
                    content[k], pa.string() if k in text else pa.float64() if k == "mean" else pa.int64()
                )
                for k in (*text, "hour", "n", "mean")
            }
        )
        connection.register(f"extra{number}", table)
        parts.append(f"SELECT {columns} FROM extra{number}")
    if not parts:
        return Figures.of((), (), np.zeros((0, 24, 0)))
    try:
        connection.execute(f"""
            CREATE TABLE figure AS
            SELECT *, dense_rank() OVER (ORDER BY scope, entity, variable) - 1 AS k FROM (
                SELECT hour, scope, entity, variable, any_value(unit) AS unit, sum(n * mean) / sum(n) AS mean
                FROM ({" UNION ALL ".join(parts)}) WHERE n > 0 AND isfinite(mean)
                GROUP BY hour, scope, entity, variable)""")
    except duckdb.Error as error:
        hint = "delete the file that is named; `satline history add` makes it again"
        raise InputError(f"figures of hours cannot be read: {cause(error)}", hint=hint) from error
    names = connection.execute(
        "SELECT scope, entity, variable, any_value(unit) FROM figure"
        " GROUP BY k, scope, entity, variable ORDER BY k"
    ).fetchall()
    rows = connection.execute("SELECT hour, k, mean FROM figure").fetchnumpy()
    hour = np.asarray(rows["hour"], dtype=np.int64)
    place = {(day - date(1970, 1, 1)).days: i for i, day in enumerate(days)}
    number_of_day = hour // 86_400
    known, inverse = np.unique(number_of_day, return_inverse=True)
    at = np.array([place.get(int(d), -1) for d in known], dtype=np.int64)[inverse]
    values = np.full((len(days), 24, len(names)), np.nan)
    inside = at >= 0
    values[at[inside], (hour // 3600 % 24)[inside], np.asarray(rows["k"])[inside]] = rows["mean"][inside]
    return Figures.of(days, [(str(a), str(b), str(c), str(d or "")) for a, b, c, d in names], values)


def is_weekend(day: date) -> bool:
    """Saturday or Sunday."""
    return day.weekday() >= 5


def moment(day: date) -> datetime:
    """Midnight UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
