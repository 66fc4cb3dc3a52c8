"""A recording's tables, read when their rows are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from satline.api._columns import Column, Frame, Tabular, made_table, metadata_of, rows_html
from satline.api._html import table_html
from satline.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from satline.api._recording import OpenRecording

BATCH_ROWS = 100_000


class Table(Tabular):
    """One table of a recording, with the catalogue's columns; made by `OpenRecording.table`.

    Values are as they were recorded: counters and accumulators are sums since some beginning, so that rates
    are differences of successive rows; `OpenRecording.reduce` makes them. Missing is null, never 0.

    Attributes
    ----------
    name
        Its name in the catalogue.
    columns
        The columns that it gives.
    """

    def __init__(self, recording: OpenRecording, name: str, columns: tuple[str, ...] | None = None) -> None:
        self.name = name
        self._recording = recording
        definition = recording.recording.catalogue.table(name)
        self._variables = {c.name: c for c in definition.columns}
        self.columns = columns if columns is not None else tuple(self._variables)

    def select(self, *columns: str) -> Table:
        """The same table with only these columns; nothing else is read.

        Raises
        ------
        InputError
            The catalogue's table has no such column.
        """
        for column in columns:
            if column not in self._variables:
                raise InputError(
                    f"table {self.name} has no column {column}", hint=f"it has {', '.join(self._variables)}"
                )
        return Table(self._recording, self.name, columns)

    @property
    def units(self) -> Mapping[str, str]:
        """Unit by name of the column; columns without a unit are left out."""
        return {c: unit for c in self.columns if (unit := self._variables[c].unit)}

    def reader(self, batch_rows: int = BATCH_ROWS) -> pa.RecordBatchReader:
        """The rows as a stream of Arrow batches, so that a long table need not fit into memory.

        They come in the order in which they are kept: by time, a run after the other.
        """
        import pyarrow as pa

        from satline.recording import quoted

        recording = self._recording
        connection = recording.recording.connect(tables=[self.name])
        columns = ", ".join(map(quoted, self.columns))
        # As they are kept, by time: to sort would take all of them into memory first.
        found = connection.sql(f"SELECT {columns} FROM {quoted(self.name)}")
        batches: Any = found.to_arrow_reader(batch_rows)
        schema = pa.schema(
            [
                field.with_metadata(
                    metadata_of(self._variables[field.name].unit, self._variables[field.name].meaning)
                )
                for field in batches.schema
            ]
        )

        def named() -> Iterator[pa.RecordBatch]:
            # The connection lives as long as somebody reads from it, and so does a temporary import.
            with connection, nullcontext(recording):
                for batch in batches:
                    yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)

        return pa.RecordBatchReader.from_batches(schema, named())

    def to_arrow(self) -> pa.Table:
        """All rows as a `pyarrow.Table`; see `Tabular.to_arrow`."""
        return self.reader().read_all()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's PyCapsule interface: the rows are read in batches."""
        return self.reader().__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        from satline.recording import quoted

        with self._recording.recording.connect(tables=[self.name]) as connection:
            found = connection.execute(f"SELECT count(*) FROM {quoted(self.name)}").fetchone()
        return int(found[0]) if found else 0

    def __repr__(self) -> str:
        return f"Table {self.name}: {len(self)} rows, {len(self.columns)} columns ({', '.join(self.columns)})"

    def _repr_html_(self) -> str:
        head = next(iter(self.reader(1000)), None)
        return rows_html(self.to_arrow() if head is None else _one(head), f"Table {self.name}, first rows")


class Tables(Mapping[str, Table]):
    """The tables of a recording that hold anything, by name; each is read when its rows are asked for."""

    def __init__(self, recording: OpenRecording) -> None:
        self._recording = recording
        self._names = recording.recording.tables()

    def __getitem__(self, name: str) -> Table:
        if name not in self._names:
            raise KeyError(name)
        return Table(self._recording, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"Tables: {', '.join(self._names)}"

    def _repr_html_(self) -> str:
        rows = [(name, len(table), len(table.columns)) for name, table in self.items()]
        return table_html(("table", "rows", "columns"), rows)


class Users(Frame):
    """The users of a recording: a row for each name; iterating gives the names.

    Its columns are the name, the readings of the user, the transactions, and when it was first and last seen,
    in seconds since 1970 UTC.
    """

    def __init__(self, recording: OpenRecording) -> None:
        super().__init__("Users", lambda: _users(recording))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the users, in the order of the alphabet."""
        return tuple(self.to_arrow().column("user").to_pylist())

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names


def _users(recording: OpenRecording) -> pa.Table:
    columns = [
        Column("user", "text"),
        Column("readings", "int", meaning="rows of table user"),
        Column("transactions", "int", meaning="rows of table transaction"),
        Column("first_s", unit="s", meaning="first row, since 1970 UTC"),
        Column("last_s", unit="s", meaning="last row, since 1970 UTC"),
    ]
    with recording.recording.connect(tables=["user", "transaction"]) as connection:
        rows = connection.execute(
            """
            SELECT "user", count(*) FILTER (reading), count(*) FILTER (NOT reading),
                min(time_ns) / 1e9, max(time_ns) / 1e9
            FROM (SELECT "user", time_ns, true AS reading FROM "user"
                UNION ALL SELECT "user", time_ns, false FROM "transaction")
            WHERE "user" IS NOT NULL GROUP BY "user" ORDER BY "user"
            """
        ).fetchall()
    return made_table(columns, rows)


def _one(batch: pa.RecordBatch) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_batches([batch])
