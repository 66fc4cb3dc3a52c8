"""The readings of one table as arrays, read once and shared by all that a command makes of them.

A window or a join over millions of rows costs DuckDB many times what it costs to read them, and counters of
users were differenced once for curves and once for courses. Arrays by entity and time need neither: the
reading before is the element before.

What is too large to be held, or has two readings of one entity at the same instant, is left to SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from satline.reduction._source import SHARED, Source, reading, settle
from satline.reduction._statistics import Floats, Integers

MOST_BYTES = 512 << 20
MOST_ENTITIES = 4096
_BATCH_ROWS = 30_720
# The tables with one row for each entity and sample; of system all rows are one entity's.
ENTITY = {
    "system": "",
    "processor": "processor",
    "user": "user",
    "device": "device",
    "cgroup": "cgroup",
    "lock": "lock",
    "thermometer": "thermometer",
}


class Times:
    """When one entity was read, in order: `run` and, within it, `monotonic_ns` rise."""

    def __init__(self, run: Integers, monotonic_ns: Integers) -> None:
        self.run, self.monotonic_ns = run, monotonic_ns

    def __len__(self) -> int:
        return len(self.run)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Times)
            and np.array_equal(self.monotonic_ns, other.monotonic_ns)
            and np.array_equal(self.run, other.run)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def rise(self) -> bool:
        """Does every reading come after the one before?"""
        step = np.diff(self.run)
        return bool(((step > 0) | ((step == 0) & (np.diff(self.monotonic_ns) > 0))).all())

    def at(self, run: Integers, monotonic_ns: Integers) -> Integers:
        """Which reading was made at each of these instants; −1: none."""
        found = np.full(len(run), -1, dtype=np.int64)
        for one, a, b in self.runs:
            own = np.flatnonzero(run == one)
            place = a + np.searchsorted(self.monotonic_ns[a:b], monotonic_ns[own])
            there = self.monotonic_ns[np.minimum(place, b - 1)] == monotonic_ns[own]
            found[own] = np.where(there, place, -1)
        return found

    @property
    def runs(self) -> list[tuple[int, int, int]]:
        """Each run with the range of its readings."""
        edges = [0, *(np.flatnonzero(np.diff(self.run)) + 1).tolist(), len(self.run)]
        return [(int(self.run[a]), a, b) for a, b in pairwise(edges) if a < b]


@dataclass(eq=False)
class Table:
    """The readings of one table by entity, each entity's in order of time.

    entities
        In their order as texts.
    times
        When each entity was read; entities that were read at the same instants share one.
    columns
        Of each entity the columns as floats, NaN where missing; of integers exact below 2**53. A column that
        holds nothing is not here. One array for each is no slower than one for all, and fresh memory comes
        cheaper in small pieces.
    """

    entities: list[str]
    times: list[Times]
    columns: list[dict[str, Floats]]

    def each(self) -> Iterator[tuple[str, Times, dict[str, Floats]]]:
        """Of each entity its name, its times and its columns."""
        return zip(self.entities, self.times, self.columns, strict=True)


class Readings:
    """The tables of one recording, as they are in a connection; each column is read when first asked for."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self._counts: dict[str, Mapping[str, int]] = {}
        self._tables: dict[str, _Loaded | None] = {}
        self._chosen: dict[tuple[str, str], frozenset[str] | None] = {}

    def counts(self, table: str) -> Mapping[str, int]:
        """How many rows of a table have each of its columns."""
        if table not in self._counts:
            names = [row[0] for row in self.connection.execute(f'DESCRIBE "{table}"').fetchall()]
            counts = ", ".join(f"count({_quoted(n)})" for n in names)
            (row,) = self.connection.execute(f'SELECT {counts} FROM "{table}"').fetchall()
            self._counts[table] = dict(zip(names, row, strict=True))
        return self._counts[table]

    def of(self, table: str, columns: Iterable[str]) -> Table | None:
        """The table with at least these columns, as far as they hold anything; ``None``: left to SQL."""
        counts = self.counts(table)
        wanted = [c for c in dict.fromkeys(columns) if counts.get(c)]
        if table not in self._tables:
            self._tables[table] = self._opened(table, len(wanted))
        loaded = self._tables[table]
        if loaded is None:
            return None
        missing = [c for c in wanted if c not in loaded.known]
        if not missing and loaded.table.times:
            return loaded.table
        if loaded.bytes_with(len(missing)) > MOST_BYTES or not self._load(table, loaded, missing):
            self._tables[table] = None
            return None
        return loaded.table

    def chosen(self, table: str, where: str) -> frozenset[str] | None:
        """The entities of a loaded table whose rows meet a condition; ``None``: of one some rows only do."""
        if (table, where) not in self._chosen:
            self._chosen[table, where] = self._choose(table, where)
        return self._chosen[table, where]

    def _choose(self, table: str, where: str) -> frozenset[str] | None:
        loaded = self._tables.get(table)
        if loaded is None:
            return None
        entities = loaded.table.entities
        if where == "TRUE":
            return frozenset(entities)
        entity = _quoted(ENTITY[table]) if ENTITY[table] else "'all'"
        try:
            alone = f"SELECT {entity} FROM (SELECT unnest($1::VARCHAR[]) AS {entity}) WHERE {where}"
            return frozenset(name for (name,) in self.connection.execute(alone, [entities]).fetchall())
        except duckdb.BinderException:
            # It names other columns than the entity.
            of_all, of_any = (f"{f}(coalesce({where}, FALSE))" for f in ("bool_and", "bool_or"))
            rows = self.connection.execute(
                f'SELECT {entity}, {of_all}, {of_any} FROM "{table}" GROUP BY {entity}'
            ).fetchall()
        if any(some and not every for _, every, some in rows):
            return None
        return frozenset(str(name) for name, every, _ in rows if every)

    def _opened(self, table: str, columns: int) -> _Loaded | None:
        """The table without columns; ``None`` where it cannot be held, or not every row has an entity."""
        counts = self.counts(table)
        rows = counts["monotonic_ns"]
        entity = ENTITY.get(table)
        if entity is None or rows * 8 * (columns + 2) > MOST_BYTES or counts["run"] != rows:
            return None
        if not entity:
            return _Loaded(["all"] if rows else [], [rows] if rows else [])
        if counts[entity] != rows:
            return None
        name = _quoted(entity)
        found = self.connection.execute(
            f'SELECT {name}, count(*) FROM "{table}" GROUP BY {name} ORDER BY {name}'
            f" LIMIT {MOST_ENTITIES + 1}"
        ).fetchall()
        if len(found) > MOST_ENTITIES:
            return None
        return _Loaded([str(one) for one, _ in found], [int(count) for _, count in found])

    def _load(self, table: str, loaded: _Loaded, columns: list[str]) -> bool:
        """Read columns; False where one entity has two readings of one instant, or the rows have changed."""
        entity, counts = ENTITY[table], self.counts(table)
        source, code = f'"{table}" r', "0"
        if entity:
            name = _quoted(entity)
            self.connection.execute(
                "CREATE OR REPLACE TEMP TABLE satline_code AS"
                " SELECT unnest($1::VARCHAR[]) AS entity, unnest(range(len($1))) AS code",
                [loaded.table.entities],
            )
            source, code = f"{source} JOIN satline_code c ON r.{name} = c.entity", "c.code"
        rows = sum(loaded.rows)
        parts = [f"r.{_quoted(c)}::DOUBLE" for c in columns]
        parts = [
            part if counts[c] == rows else f"coalesce({part}, 'nan'::DOUBLE)"
            for c, part in zip(columns, parts, strict=True)
        ]
        settle(self.connection)
        found = self.connection.sql(
            f"SELECT {', '.join((f'{code}::INTEGER', 'r.run', 'r.monotonic_ns', *parts))} FROM {source}"
        )
        types = [np.int64, np.int64, *(np.float64 for _ in columns)]
        into = [[np.empty(n, dtype=t) for t in types] for n in loaded.rows]
        return _scatter(found.to_arrow_reader(_BATCH_ROWS), into) and loaded.take(columns, into)


class _Loaded:
    """A table whose columns are being read; `rows` of each entity."""

    def __init__(self, entities: list[str], rows: list[int]) -> None:
        self.rows = rows
        self.known: set[str] = set()
        self.table = Table(entities, [], [{} for _ in entities])

    def bytes_with(self, more: int) -> int:
        """Bytes held with so many more columns."""
        return sum(self.rows) * 8 * (len(self.known) + more + 2)

    def take(self, names: list[str], read: list[list[NDArray[Any]]]) -> bool:
        """Keep columns: of each entity its runs, its times, and the columns behind them. False: it has two
        readings of one instant, or the rows are other than those read before."""
        first = not self.table.times
        for k, arrays in enumerate(read):
            times = Times(arrays[0], arrays[1])
            if not times.rise:
                _sort(arrays)
                if not times.rise:
                    return False
            if first:
                last = self.table.times[-1] if k else None
                self.table.times.append(times if last is None or last != times else last)
            elif self.table.times[k] != times:
                return False
            self.table.columns[k].update(zip(names, arrays[2:], strict=True))
        self.known.update(names)
        return True


def _scatter(batches: Iterable[Any], into: list[list[NDArray[Any]]]) -> bool:
    """Put the rows of all batches, code first, behind those of their entity; False if they are other in
    number than expected.

    Files at rest are sorted by entity: whole pieces of an entity are copied. Rows of segments come sample by
    sample, and are sorted here first.
    """
    place = [0] * len(into)
    for batch in batches:
        columns = [_numbers(batch.column(k)) for k in range(batch.num_columns)]
        code = columns.pop(0)
        if not len(code):
            continue
        cuts = np.flatnonzero(code[1:] != code[:-1]) + 1
        if len(cuts) > len(code) // 8:
            order = np.argsort(code.astype(np.uint16), kind="stable")
            code, columns = code[order], [column[order] for column in columns]
            cuts = np.flatnonzero(code[1:] != code[:-1]) + 1
        for a, b in pairwise([0, *cuts.tolist(), len(code)]):
            k = int(code[a])
            start, place[k] = place[k], place[k] + b - a
            if place[k] > len(into[k][0]):
                return False
            for column, values in zip(into[k], columns, strict=True):
                column[start : place[k]] = values[a:b]
    return place == [len(arrays[0]) for arrays in into]


def _sort(arrays: list[NDArray[Any]]) -> None:
    """Put the rows of one entity, run and time first, in order in place.

    Days may come in any order, each sorted: pieces are moved where that will do. Fresh memory would cost more
    than to copy twice.
    """
    run, moment = arrays[0], arrays[1]
    step = np.diff(run)
    falls = np.flatnonzero((step < 0) | ((step == 0) & (np.diff(moment) < 0))) + 1
    edges = pairwise([0, *falls.tolist(), len(run)])
    pieces = sorted((int(run[a]), int(moment[a]), a, b) for a, b in edges)
    apart = all(
        (int(run[b - 1]), int(moment[b - 1])) <= (later[0], later[1])
        for (_, _, _, b), later in pairwise(pieces)
    )
    if apart:
        for array in arrays:
            array[:] = np.concatenate([array[a:b] for *_, a, b in pieces])
    else:
        order = np.lexsort((moment, run))
        for array in arrays:
            array[:] = array[order]


@contextmanager
def one_reading(source: Source) -> Iterator[None]:
    """Within, all parts of a command read `source` in one connection, and each table once."""
    connection = reading(source)
    token = SHARED.set((source, connection))
    known = _KNOWN.set(Readings(connection))
    try:
        yield
    finally:
        SHARED.reset(token)
        _KNOWN.reset(known)


def _numbers(column: Any) -> NDArray[Any]:
    """An Arrow array without nulls. Its own `to_numpy` imports pandas, half as long as a diagnosis
    of a small recording."""
    size = column.type.bit_width // 8
    dtype = np.float64 if str(column.type) == "double" else np.dtype(f"i{size}")
    return np.frombuffer(column.buffers()[1], dtype=dtype, count=len(column), offset=column.offset * size)


_KNOWN: ContextVar[Readings | None] = ContextVar("readings", default=None)


def readings_of(source: Source) -> Readings:
    """The readings that are shared within `one_reading`; else new ones in a connection of their own."""
    connection, known = reading(source), _KNOWN.get()
    return known if known is not None and known.connection is connection else Readings(connection)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
