"""Recordings made in memory, for tests: tables of the catalogue in DuckDB, nothing on disk."""

from __future__ import annotations

import atexit
import pickle
import tomllib
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

from satline import share

TABLES = (
    "system",
    "processor",
    "device",
    "cgroup",
    "user",
    "holder",
    "task",
    "lock",
    "transaction",
    "thermometer",
    "swapper",
    "event",
)
_TYPES = {"int": pa.int64(), "text": pa.string(), "float": pa.float64()}
SECOND = 1_000_000_000
EPOCH = 1_700_000_000 * SECOND


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """One for all: to make one takes longer than most of what is asked of it. So little is recorded that a
    second thread would only cost time."""
    database = duckdb.connect(config={"threads": 1})
    atexit.register(_database.cache_clear)  # DuckDB complains of what outlives the interpreter
    return database


@cache
def _document() -> dict[str, Any]:
    return tomllib.loads((share.path("catalogue") / "variables.toml").read_text())


@cache
def schema(table: str) -> pa.Schema:
    """Arrow schema of a table by the catalogue."""
    document = _document()
    fields = []
    for name, column in {**document["common"], **document[table]}.items():
        kind = column.get("type", "text" if column["kind"] == "identity" else "int")
        fields.append(pa.field(name, _TYPES[kind]))
    return pa.schema(fields)


class MadeRecording:
    """A recording whose rows are given as dictionaries; what a row leaves out is null."""

    def __init__(
        self,
        rows: dict[str, list[dict[str, Any]]],
        description: dict[str, Any] | None = None,
        sources: dict[str, dict[str, Any]] | None = None,
    ) -> None:
        self.rows = rows
        self.path = "made.satline"
        self.description = description or {"host": {"page_bytes": 4096}}
        self.sources = sources or {}
        self.damage: list[Any] = []
        self._made: dict[str, tuple[bytes, pa.Table]] = {}

    def connect(self) -> duckdb.DuckDBPyConnection:
        """A connection of its own: all that an analysis makes in it is temporary, and goes with it."""
        connection = _database().cursor()
        for table in TABLES:
            connection.register(table, self._table(table))
        return connection

    def _table(self, table: str) -> pa.Table:
        """Made anew where a row has changed since the last connection: an analysis makes several."""
        rows = self.rows.get(table, [])
        state = pickle.dumps(rows)
        if self._made.get(table, (b"",))[0] != state:
            self._made[table] = state, _arrow(table, rows)
        return self._made[table][1]


def _arrow(table: str, rows: list[dict[str, Any]]) -> pa.Table:
    wanted = schema(table)
    given = set().union(*rows)
    unknown = given - set(wanted.names)
    assert not unknown, f"{table} has no {unknown}"

    def column(field: pa.Field) -> pa.Array:
        missing = 1 if field.name == "run" else None
        if field.name in given:
            return pa.array([row.get(field.name, missing) for row in rows], field.type)
        return pa.repeat(pa.scalar(missing, field.type), len(rows))

    return pa.Table.from_arrays([column(field) for field in wanted], schema=wanted)


def at(seconds: float) -> dict[str, int]:
    """The time columns of a row `seconds` after the start."""
    ns = round(seconds * SECOND)
    return {"time_ns": EPOCH + ns, "monotonic_ns": ns}


def steady(
    seconds: float, interval: float = 1.0, processors: int = 1, **counters: float
) -> dict[str, list[dict[str, Any]]]:
    """System and processor rows whose counters rise evenly: `counters` gives each one's rise per second."""
    rows: dict[str, list[dict[str, Any]]] = {"system": [], "processor": []}
    names = set(schema("system").names)
    for k in range(round(seconds / interval) + 1):
        t = k * interval
        system = {n: round(v * t) for n, v in counters.items() if n in names}
        rows["system"].append({**at(t), "sample": k, **system})
        for p in range(processors):
            values = {n: round(v * t) for n, v in counters.items() if n not in names}
            rows["processor"].append({**at(t), "processor": str(p), **values})
    return rows
