"""One table with a row per observation and a column per variable, read column by column."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from satline.reduction._source import Settings
from satline.reduction._spill import make_spill
from satline.reduction._statistics import Floats

if TYPE_CHECKING:
    import pyarrow as pa
from satline.reduction._variables import Derived, Variables, prefix_of

_KEYS = ("obs", "run", "stretch", "load", "t0", "t1", "period_s", "time_ns")
_KEPT = ("run", "stretch", "period_s", "time_ns")
_CACHED_BYTES = 256 << 20
_MEMORY_BYTES = 900 << 20
_MEMORY_LATER_BYTES = 500 << 20
_MEMORY_BYTES_A_THREAD = 128 << 20
# What formulas may name of each scope beside its columns.
_EXTRAS = {
    "processor": ("processors",),
    "cgroup": ("cgroup_quota_limit_millicpu",),
    "swapper": (),
    "user": ("users_with_cpu", "user_cpu_largest_us"),
    "task": ("task_busiest_us",),
    "device": ("device_busiest_us", "device_inside_us"),
    "transaction": (
        "transactions_completed",
        "transactions_failed",
        "transaction_seconds",
        "transaction_work_seconds",
        "transaction_work_alone",
        "transaction_work_here",
    ),
}
_JOINS = {
    "task": "(SELECT obs, max(cpu_us) AS task_busiest_us FROM satline_task GROUP BY obs)",
    # What layers and slices do, their disks do.
    "device": "(SELECT obs, max(d_busy_us) AS device_busiest_us,"
    " sum(coalesce(d_queue_us, d_request_wait_us, d_read_wait_us + coalesce(d_write_wait_us, 0)))"
    " FILTER (NOT regexp_matches(device, '^(dm-|md[0-9]|loop|ram)|,'))::DOUBLE AS device_inside_us"
    " FROM satline_device WHERE device_kind = 'block' GROUP BY obs)",
}


class Columns(Mapping[str, Floats]):
    """Variables by name, one value per observation, NaN where missing; each is read when first asked for.

    The latest are kept as long as they are small together, so that a long recording does not fill storage;
    `held` are at hand from the start.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        names: Sequence[str],
        keys: Mapping[str, str],
        rows: int,
        held: Mapping[str, Floats] | None = None,
    ) -> None:
        self._connection = connection
        self._keys = keys
        self._names = (*keys, *(n for n in names if n not in keys))
        self._known = frozenset(self._names)
        self._rows = rows
        self._held = held or {}
        self._cache: dict[str, Floats] = {}

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The connection that holds the tables of observations."""
        return self._connection

    def __getitem__(self, name: str) -> Floats:
        if name not in self._known:
            raise KeyError(name)
        if name in self._held:
            return self._held[name]
        if name not in self._cache:
            if (len(self._cache) + 1) * self._rows * 8 > _CACHED_BYTES:
                self._cache.clear()
            self._cache[name] = self.read([name])[name]
        return self._cache[name]

    def __contains__(self, name: object) -> bool:
        # A Mapping's own would read the column.
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def read(self, names: Sequence[str]) -> dict[str, Floats]:
        """These columns, all of one table, without keeping them."""
        if names[0] in self._held:
            return {n: self._held[n] for n in names}
        columns = ", ".join(f"coalesce({_quoted(n)}::DOUBLE, 'nan'::DOUBLE) AS {_quoted(n)}" for n in names)
        table = self._keys.get(names[0], "satline_value")
        found = self._connection.execute(f"SELECT {columns} FROM {table}").fetchnumpy()
        return {n: np.asarray(c, dtype=np.float64) for n, c in found.items()}

    def together(self, names: Iterable[str]) -> Iterator[tuple[str, Floats]]:
        """These variables one after the other, read as many at a time as are small together."""
        names = list(names)
        size = max(1, _CACHED_BYTES // 4 // max(1, self._rows * 8))
        for start in range(0, len(names), size):
            yield from self.read(names[start : start + size]).items()


def numbers_table(columns: Mapping[str, NDArray[Any]], *, missing: bool = False) -> pa.Table:
    """Columns of numbers and truth values as an Arrow table, for `register`; `missing`: null where NaN.

    `pyarrow.array` asks pandas what it is given, and so imports it: as much processor time as a reduction.
    """
    import pyarrow as pa

    arrays = {}
    for name, column in columns.items():
        whole = np.ascontiguousarray(column)
        data = np.packbits(whole, bitorder="little") if whole.dtype == bool else whole
        buffers = [None, pa.py_buffer(data)]
        if missing and whole.dtype == np.float64 and (gaps := np.isnan(whole)).any():
            buffers[0] = pa.py_buffer(np.packbits(~gaps, bitorder="little"))
        arrays[name] = pa.Array.from_buffers(pa.from_numpy_dtype(whole.dtype), len(whole), buffers)
    return pa.table(arrays)


def floats(column: Any) -> Floats:
    """A result column as floats, null as NaN."""
    if isinstance(column, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(column.astype(np.float64), np.nan))
    return np.asarray(column, dtype=np.float64)


def bound_memory(connection: duckdb.DuckDBPyConnection) -> None:
    """Let DuckDB keep less than a gigabyte (more with many threads) in storage and the rest in files of its
    own, which go with the connection."""
    (threads,) = connection.execute("SELECT current_setting('threads')::BIGINT").fetchall()[0]
    storage = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    bound = min(storage // 2, max(_MEMORY_BYTES, int(threads) * _MEMORY_BYTES_A_THREAD))
    directory, remove = make_spill()
    weakref.finalize(connection, remove)
    connection.execute(f"SET memory_limit = '{bound}B'")
    connection.execute("SET temp_directory = '" + str(directory).replace("'", "''") + "'")


def make_values(
    connection: duckdb.DuckDBPyConnection,
    catalogue: Variables,
    settings: Settings,
    wanted: Sequence[Derived],
    scopes: frozenset[str],
    *,
    alone: bool,
) -> Columns:
    """The variables `wanted` by the formulas of the catalogue, in the order of observations: as arrays where
    they are small together, else in table satline_value.

    Parameters
    ----------
    wanted
        Variables with one value per observation, each after those that its formula names.
    scopes
        Tables for which there is a table satline_… ; what others would give is null.
    alone
        satline_observation is a view: what is needed of it later is kept beside the variables.
    """
    names = {d.name for d in wanted}
    formulas = {d.name: d.formula for d in wanted}
    # Weights that are no variables.
    formulas |= {weight_column(d): d.weight for d in wanted if d.weight not in names | {""}}
    layers = _layers(wanted)
    ready = {d.name for layer in layers for d in layer}
    select = [
        _quoted(name) if name in ready else f"({formula})::DOUBLE AS {_quoted(name)}"
        for name, formula in formulas.items()
    ]
    select += _KEPT if alone else ["obs"]
    quota = "NULL" if settings.quota is None else repr(settings.quota)
    joins = " ".join(f"LEFT JOIN {_JOINS.get(s, f'satline_{s}')} USING (obs)" for s in _EXTRAS if s in scopes)
    absent = "".join(f", NULL::DOUBLE AS {_quoted(n)}" for n in _absent(catalogue, wanted, scopes))
    source = f"""
        SELECT *, least(processors, {quota}, cgroup_quota_limit_millicpu / 1000.0)::DOUBLE AS capacity,
            {settings.page_bytes} AS page_bytes
        FROM (SELECT * {absent} FROM satline_observation {joins})"""
    for layer in layers:
        made = ", ".join(f"({d.formula})::DOUBLE AS {_quoted(d.name)}" for d in layer)
        source = f"SELECT *, {made} FROM ({source})"
    keys = {k: "satline_value" if alone and k in _KEPT else "satline_observation" for k in _KEYS}
    (rows,) = connection.execute("SELECT count(*) FROM satline_observation").fetchall()[0]
    if rows * 8 * len(select) <= _CACHED_BYTES:
        held = _held(connection, f"SELECT {', '.join(select)} FROM ({source})", alone=alone)
        return Columns(connection, list(formulas), keys, int(rows), held)
    connection.execute(f"""
        CREATE OR REPLACE TEMP TABLE satline_value AS
        SELECT {", ".join(select)} FROM ({source})
        {"" if alone else "ORDER BY obs"}
    """)
    if rows * 8 * len(formulas) > _MEMORY_BYTES:
        # From here on columns are read one by one: the rest of the storage is for what is made of them.
        connection.execute(f"SET memory_limit = '{_MEMORY_LATER_BYTES}B'")
    return Columns(connection, list(formulas), keys, int(rows))


def _held(connection: duckdb.DuckDBPyConnection, query: str, *, alone: bool) -> dict[str, Floats]:
    """The columns of a query as arrays, in the order of their ``obs`` unless they are `alone`."""
    found = connection.execute(
        f"SELECT coalesce(COLUMNS(*)::DOUBLE, 'nan'::DOUBLE) FROM ({query})"
    ).fetchnumpy()
    held = {name: np.asarray(column, dtype=np.float64) for name, column in found.items()}
    if not alone and ((obs := held.pop("obs"))[1:] <= obs[:-1]).any():
        order = np.argsort(obs)
        held = {name: column[order] for name, column in held.items()}
    for column in held.values():
        column.flags.writeable = False
    return held


def _layers(wanted: Sequence[Derived]) -> list[list[Derived]]:
    """The variables that others name, each in a layer after what it names.

    In one SELECT DuckDB puts the whole formula wherever another names it, and takes twice as long to plan.
    A variable that names itself is a column of the observation.
    """
    named = {n for d in wanted for n in d.all_names if n != d.name}
    depth: dict[str, int] = {}
    layers: list[list[Derived]] = []
    for d in wanted:
        if d.name not in named or d.name in d.names:
            continue
        depth[d.name] = 1 + max((depth[n] for n in d.names if n in depth), default=-1)
        if depth[d.name] == len(layers):
            layers.append([])
        layers[depth[d.name]].append(d)
    return layers


def weight_column(d: Derived) -> str:
    """Name of the column with the weights of `d` where they are no variable themselves."""
    return f"weight {d.weight}"


def _absent(catalogue: Variables, wanted: Iterable[Derived], scopes: frozenset[str]) -> list[str]:
    """Columns that formulas may name and no scope gives."""
    names: dict[str, None] = {}
    needed = catalogue.columns(wanted)
    for table, extras in _EXTRAS.items():
        if table in scopes:
            continue
        prefix = prefix_of(table)
        for column in sorted(needed.get(table, ())) if table != "device" else ():
            counter = column in catalogue.counters[table]
            names[f"d_{prefix}{column}" if counter else f"{prefix}{column}"] = None
        names |= dict.fromkeys(extras)
    return list(names)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
