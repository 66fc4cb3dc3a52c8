"""Write recordings from Python: events of the run protocol, whole recordings of generators and importers."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from satline.atomic import naming, write_all
from satline.catalogue import TableDefinition, catalogue
from satline.errors import InputError, SatlineError
from satline.recording._columns import number_column
from satline.recording._files import check_writer_name, layout, make_directory, next_run, sync_directory
from satline.recording._frames import seal
from satline.recording._ledger import Closed, ledger_path, note_closed, note_opened
from satline.recording._manifest import publish_all
from satline.recording._parquet import conform, day_name, split_days, write
from satline.recording._reserve import DISK_FULL, make_reserves

_COMPRESS_FROM_ROWS = 16
_BATCH_ROWS = 65_536


class DiskFullError(SatlineError):
    """No space left; the segment was cut back to its last whole frame."""


class RecordingWriter:
    """Writes the rows of one run of one writer into a recording, a frame for each call.

    Use it as a context manager, or call `close`.

    Parameters
    ----------
    path
        The recording; its directories and reserves are made where they are missing.
    writer
        `study`, `import`, …: lower-case letters, digits, '_' and '-'.
    segment_bytes
        A segment is closed when it reaches this length.
    sync_interval_s
        What is written is made durable at most this often, and at `close`.
    clock, monotonic
        Real and monotonic time in ns, for rows that do not say theirs.

    Raises
    ------
    InputError
        If the name cannot be used or the recording cannot be written.
    """

    def __init__(
        self,
        path: Path | str,
        writer: str = "study",
        *,
        segment_bytes: int = 8 << 20,
        sync_interval_s: float = 1.0,
        clock: Callable[[], int] = time.time_ns,
        monotonic: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        check_writer_name(writer)
        self.path = Path(path)
        self.writer = writer
        self._segment_bytes = segment_bytes
        self._sync_interval_s = sync_interval_s
        self._clock = clock
        self._monotonic = monotonic
        self._open: dict[str, _Segment] = {}
        self._next_sequence: dict[str, int] = {}
        try:
            for part in ("sources", "segments", "tables"):
                make_directory(self.path / part)
            make_reserves(self.path, writer)
        except OSError as error:
            if error.errno in DISK_FULL:
                raise _disk_full(self.path) from error
            raise InputError(
                f"{self.path}: cannot write the recording: {error.strerror}",
                hint="choose a place where you may write and that has space",
            ) from error
        self.run = next_run(self.path, writer)

    def write_rows(self, table: str, rows: Sequence[Mapping[str, Any]] | pa.Table) -> None:
        """Write rows of a table; the kernel has them when this returns.

        Parameters
        ----------
        table
            A table of the catalogue.
        rows
            Columns that are absent are null; `run` is set here; absent times are now.

        Raises
        ------
        InputError
            If the catalogue has no such table or column, or a value is of another type.
        DiskFullError
            If there is no space left.
        """
        definition = catalogue().table(table)
        for day, part in split_days(self._arrow(definition, rows)):
            for batch in part.combine_chunks().to_batches(max_chunksize=_BATCH_ROWS):
                self._segment(table, day, definition).append(batch)

    def close(self) -> None:
        """Make everything durable and close the segments; later calls do nothing."""
        for table in list(self._open):
            self._open.pop(table).close()

    def __enter__(self) -> RecordingWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _arrow(self, definition: TableDefinition, rows: Sequence[Mapping[str, Any]] | pa.Table) -> pa.Table:
        if not isinstance(rows, pa.Table):
            now = {"time_ns": self._clock(), "monotonic_ns": self._monotonic()}
            rows = [{**now, **row} for row in rows]
        return arrow_rows(definition, rows, self.run)

    def _segment(self, table: str, day: int, definition: TableDefinition) -> _Segment:
        segment = self._open.get(table)
        if segment is not None and (segment.day != day or segment.length >= self._segment_bytes):
            self._open.pop(table).close()
            segment = None
        if segment is None:
            sequence = self._next_sequence.get(table, 0)
            self._next_sequence[table] = sequence + 1
            directory = self.path / "segments" / table
            file = directory / f"{self.writer}-{self.run}-{sequence}.seg"
            ledger = ledger_path(self.path, self.writer, self.run)
            segment = _Segment(file, day, definition.arrow_schema(), self._sync_interval_s, ledger)
            self._open[table] = segment
        return segment


def arrow_rows(
    definition: TableDefinition, rows: Sequence[Mapping[str, Any]] | pa.Table, run: int
) -> pa.Table:
    """Rows as an Arrow table with the catalogue's columns, `run` set in each.

    Raises
    ------
    InputError
        If a column is not in the catalogue, a value is of another type, or a row has no time.
    """
    names = {c.name for c in definition.columns}
    given = set(rows.column_names) if isinstance(rows, pa.Table) else {n for row in rows for n in row}
    if unknown := sorted(given - names):
        raise InputError(
            f"column {unknown[0]!r} of table {definition.name!r} is not in the catalogue",
            hint="catalogue/variables.toml names every variable that a recording can hold",
        )
    try:
        if not isinstance(rows, pa.Table):
            rows = pa.Table.from_pylist([dict(row) for row in rows], schema=definition.arrow_schema())
        table = conform(rows, definition)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(
            f"table {definition.name!r}: {error}", hint="integers are 64-bit, text is UTF-8, missing is null"
        ) from error
    if table["time_ns"].null_count or table["monotonic_ns"].null_count:
        raise InputError(f"table {definition.name!r}: a row has no time", hint="set time_ns and monotonic_ns")
    runs = number_column(np.full(table.num_rows, run, dtype=np.int64))
    return table.set_column(table.schema.get_field_index("run"), "run", runs)


def write_parquet_table(
    path: Path | str,
    table: str,
    rows: pa.Table | Sequence[Mapping[str, Any]],
    *,
    writer: str = "monitor",
    run: int = 1,
) -> list[Path]:
    """Write rows straight to Parquet at rest, one file per UTC day; for generators and importers.

    Parameters
    ----------
    path
        The recording; `describe.create` makes its description.
    table
        A table of the catalogue.
    rows
        Any order within a day; days must not alternate. Absent columns are null.
    writer, run
        Who wrote them. Further calls for the same writer, run and table add files.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    InputError
        As `RecordingWriter.write_rows`.
    """
    check_writer_name(writer)
    path = Path(path)
    definition = catalogue().table(table)
    found = layout(path)
    series = (table, writer, run)
    used = [f.last for f in found.rest if (f.table, f.writer, f.run) == series]
    used += [s.sequence for s in (*found.segments, *found.covered) if (s.table, s.writer, s.run) == series]
    sequence = max(used, default=-1) + 1
    files = []
    for day, part in split_days(arrow_rows(definition, rows, run)):
        directory = path / "tables" / table / f"day={day_name(day)}"
        file = directory / f"{writer}-{run}-{sequence}-{sequence}.parquet"
        files.append((write(file, part, definition), file))
        sequence += 1
    publish_all(path, files)
    return [file for _, file in files]


class _Segment:
    """One segment being written."""

    def __init__(self, file: Path, day: int, schema: pa.Schema, sync_interval_s: float, ledger: Path) -> None:
        self.file = file
        self.day = day
        self.length = 0
        self._rows = 0
        self._crc32 = 0
        self._ledger = ledger
        self._sync_interval_s = sync_interval_s
        self._synced = time.monotonic()
        try:
            make_directory(file.parent)
            self._stream: BinaryIO = file.open("xb", buffering=0)
            # Its name must survive a loss of power as well as its bytes.
            sync_directory(file.parent)
        except OSError as error:
            if error.errno in DISK_FULL:
                raise _disk_full(file) from error
            if not isinstance(error, FileExistsError):
                raise
            raise InputError(
                f"{file}: another writer of that name is writing this recording", hint="end it first"
            ) from error
        # It tells compaction that this segment still grows. Where the file system has no locks nothing is
        # lost: the last segment of a recording that has not ended is left alone.
        with contextlib.suppress(OSError):
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # One Arrow stream whose batches are compressed where that pays: both begin with the same schema
        # message, which is written once.
        self._plain = _Stream(schema, None)
        self._zstd = _Stream(schema, "zstd")

    def append(self, batch: pa.RecordBatch) -> None:
        """Write one batch as a frame, the first time after the schema's."""
        if self.length == 0:
            self._write(seal(self._plain.schema_message))
            note_opened(self._ledger, *self._name())
        stream = self._plain if batch.num_rows < _COMPRESS_FROM_ROWS else self._zstd
        self._write(seal(stream.message(batch)))
        self._rows += batch.num_rows
        if time.monotonic() - self._synced >= self._sync_interval_s:
            self._sync()

    def close(self) -> None:
        self._sync()
        self._stream.close()
        if self.length:
            note_closed(self._ledger, *self._name(), Closed(self.length, self._crc32, self._rows))

    def _name(self) -> tuple[str, int]:
        """Table and sequence."""
        return self.file.parent.name, int(self.file.stem.rpartition("-")[2])

    def _sync(self) -> None:
        with naming(self.file):
            os.fdatasync(self._stream.fileno())
        self._synced = time.monotonic()

    def _write(self, frame: bytes) -> None:
        try:
            with naming(self.file):
                write_all(self._stream.fileno(), frame)
        except OSError as error:
            with naming(self.file):
                self._stream.truncate(self.length)
            if error.errno not in DISK_FULL:
                raise
            raise _disk_full(self.file) from error
        self.length += len(frame)
        self._crc32 = zlib.crc32(frame, self._crc32)


def _disk_full(path: Path) -> DiskFullError:
    return DiskFullError(
        f"{path}: no space left: the recording ends here", hint="make space, then record again"
    )


class _Stream:
    """An Arrow stream that gives its messages one by one.

    Attributes
    ----------
    schema_message
        The message that the stream begins with.
    """

    def __init__(self, schema: pa.Schema, compression: str | None) -> None:
        self._sink = _Sink()
        options = pa.ipc.IpcWriteOptions(compression=compression)
        self._writer = pa.ipc.new_stream(pa.PythonFile(self._sink, "w"), schema, options=options)
        # Arrow holds the schema back until the first batch; an empty one brings it out and is then dropped. A
        # message begins with a marker of 4 bytes and the length of what follows, 4 bytes.
        self._writer.write_batch(pa.RecordBatch.from_pylist([], schema=schema))
        start = self._sink.take()
        self.schema_message = start[: 8 + int.from_bytes(start[4:8], "little")]

    def message(self, batch: pa.RecordBatch) -> bytes:
        """The message of one batch."""
        self._writer.write_batch(batch)
        return self._sink.take()


class _Sink:
    """Where an Arrow stream writes; what it wrote is taken away piece by piece."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._position = 0

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        self._position += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass

    def take(self) -> bytes:
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data
