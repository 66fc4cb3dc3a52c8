"""Reading CSV and Parquet: the columns that are asked for, as text or numbers, and times in ns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from satline.errors import InputError
from satline.importers._importer import Options, compressed
from satline.importers._mapping import Csv, File
from satline.importers._series import BROKEN
from satline.importers._sink import Booleans, Floats, Integers, Objects
from satline.outside import BrokenTableError, largest_bytes, parquet_columns, read_csv, read_parquet

_LATEST_NS = 9.2e18
_SCALE = {"unix_s": 1e9, "unix_ms": 1e6, "unix_us": 1e3, "unix_ns": 1.0}


class Told(Protocol):
    """Whom a reader tells what was left out because it was damaged: a `Sink`, or another."""

    def damage(self, what: str) -> None: ...


@dataclass(frozen=True)
class PlainTable:
    """Rows in order of time, all within the range asked for; `row` says which each was in the file.

    spent_ns
        From a row's time to its end, where the mapping names a column of ends; NaN where that is missing.
    """

    path: Path
    time_ns: Integers
    data: pa.Table
    row: Integers | None = None
    spent_ns: Floats | None = None

    def row_number(self, at: int) -> int:
        """Number of a row in the file, from 1; the line of names does not count."""
        return 1 + (at if self.row is None else int(self.row[at]))

    def numbers(self, column: str) -> Floats:
        """A column as numbers, NaN where missing; exact integers where it has only such."""
        values = self.data[column]
        if pa.types.is_integer(values.type) and not values.null_count:
            return values.cast(pa.int64()).to_numpy()  # type: ignore[no-any-return]
        try:
            if pa.types.is_duration(values.type):
                values = values.cast(pa.duration("ns")).cast(pa.int64())
            return np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InputError(
                f"{self.path}, column {column}: not all of it is numbers: {error}"[:300],
                hint="say in the mapping what stands for a missing value, csv.missing, or what the decimal "
                "sign is, csv.decimal",
            ) from error

    def texts(self, column: str | None) -> Objects:
        """A column as texts, None where missing."""
        if column is None:
            return np.full(len(self.time_ns), None, dtype=object)
        values = self.data[column]
        if pa.types.is_floating(values.type):
            whole = pc.all(pc.equal(pc.floor(values), values)).as_py()
            values = values.cast(pa.int64()) if whole else values
        return np.asarray(values.cast(pa.string()).to_numpy(zero_copy_only=False), dtype=object)


def column_names(path: Path, csv: Csv | None = None) -> list[str]:
    """The columns of a file; of Parquet nested ones are left out."""
    if _is_parquet(path):
        try:
            return parquet_columns(path)
        except (BrokenTableError, OSError) as error:
            raise _broken(path, error) from error
    import csv as reader

    csv = csv or Csv()
    with _text(path, csv) as file:
        try:
            for _ in range(csv.skip_rows):
                next(file)
            line = next(file)
        except (StopIteration, LookupError, UnicodeError, *BROKEN) as error:
            raise InputError(f"{path}: no line of column names in it", hint="is the file whole?") from error
    line = line.removeprefix("\ufeff").rstrip("\r\n")
    return next(reader.reader([line], delimiter=_delimiter(line, path, csv)), [])


def read_plain(path: Path, file: File, options: Options, told: Told) -> PlainTable:
    """Read the columns that the mapping names, sorted by time.

    Raises
    ------
    InputError
        A file that cannot be read, a column that it does not have, or a time that is none.
    """
    names = column_names(path, file.csv)
    wanted = _wanted(file, names, options.mapping or path)
    data = _read_parquet(path, wanted) if _is_parquet(path) else _read_csv(path, file, names, wanted, told)
    zone = options.zone or UTC
    time = _times(data[file.time.column], file, zone, path)
    spent = None
    if file.transaction is not None and (ended := file.transaction.end_column) is not None:
        end, known = _times_or_none(data[ended], file, zone, path, ended)
        spent = np.where(known, end - time, np.nan)
    inside = np.ones(len(time), dtype=bool)
    if options.start is not None:
        inside &= time >= int(options.start.timestamp() * 1e9)
    if options.end is not None:
        inside &= time < int(options.end.timestamp() * 1e9)
    if not inside.any():
        raise InputError(
            f"{path}: no rows in the time asked for" if len(time) else f"{path}: no rows",
            hint="see --from and --to" if len(time) else "is the file whole?",
        )
    order = np.flatnonzero(inside)[np.argsort(time[inside], kind="stable")]
    if len(order) == len(time) and (np.diff(order) == 1).all():
        return PlainTable(path, time, data, spent_ns=spent)
    spent = None if spent is None else spent[order]
    return PlainTable(path, time[order], data.take(pa.array(order)), order, spent)


def _wanted(file: File, names: list[str], place: Path) -> list[str]:
    """The columns to read; a * in a name stands for entities."""
    log = file.transaction
    wanted = [("time.column", file.time.column)]
    wanted += [("long.column", file.long.column)] if file.long else []
    wanted += [("column.name", c.name) for c in file.column if not ("*" in c.name and c.entity is None)]
    if log is not None:
        keys = ("response_column", "end_column", "user_column", "class_column", "outcome_column")
        wanted += [(f"transaction.{k}", v) for k in keys if (v := getattr(log, k)) is not None]
    for key, name in wanted:
        if names.count(name) != 1:
            said = "is there more than once" if name in names else "is not there"
            shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
            raise InputError(f"{place}: {key}: column {name} {said}", hint=f"the file has {shown}")
    from satline.importers._plain_columns import matches

    wild = [n for c in file.column if "*" in c.name for n, _ in matches(c, names)]
    return list(dict.fromkeys([*(n for _, n in wanted), *wild]))


def _is_parquet(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", hint="name a file that you may read") from error


def _read_parquet(path: Path, wanted: list[str]) -> pa.Table:
    try:
        return read_parquet(path, wanted)
    except (BrokenTableError, OSError) as error:
        raise _broken(path, error) from error


def _read_csv(path: Path, file: File, names: list[str], wanted: list[str], told: Told) -> pa.Table:
    from pyarrow import csv

    said = file.csv
    with _text(path, said) as head:
        line = "".join(next(head, "") for _ in range(said.skip_rows + 1)).splitlines()[-1]
    bad: list[int] = []

    def skip(row: Any) -> str:
        bad.append(row.number or 0)
        return "skip"

    log = file.transaction
    as_text = []
    if file.time.format in ("auto", "iso") or "%" in file.time.format:
        as_text = [file.time.column, *([log.end_column] if log is not None and log.end_column else [])]
    as_text += [file.long.column] if file.long else []
    as_text += [c for c in (log.user_column, log.class_column, log.outcome_column) if c] if log else []
    try:
        content = _content(path, said, told)
        data = read_csv(
            pa.BufferReader(content),
            len(content),
            read_options=csv.ReadOptions(skip_rows=said.skip_rows + 1, column_names=names, use_threads=False),
            parse_options=csv.ParseOptions(delimiter=_delimiter(line, path, said), invalid_row_handler=skip),
            convert_options=csv.ConvertOptions(
                include_columns=wanted,
                column_types=dict.fromkeys(as_text, pa.string()),
                null_values=said.missing,
                strings_can_be_null=True,
                decimal_point=said.decimal,
            ),
        )
    except BrokenTableError as error:
        raise _broken(path, error) from error
    if bad:
        first = f", the first in line {bad[0] + said.skip_rows}" if bad[0] else ""
        told.damage(f"{path}: {len(bad)} rows have too few or too many columns{first}; they were left out")
    return data


def _content(path: Path, said: Csv, told: Told) -> bytes:
    """A file's text as UTF-8; of a compressed one that is damaged, the whole lines before the damage."""
    parts: list[bytes] = []
    try:
        with compressed(path)(path, "rb") as stream:
            left = largest_bytes()
            while part := stream.read1(1 << 20):
                parts.append(part)
                if (left := left - len(part)) < 0:
                    raise InputError(
                        f"{path}: longer than fits into half of the memory that is available",
                        hint="cut it into parts and import them one by one, or give Parquet",
                    )
    except BROKEN as error:
        whole = b"".join(parts)
        parts = [whole[: whole.rfind(b"\n") + 1]]
        told.damage(f"{path}: damaged after {len(whole):,} bytes: {error}")
    return b"".join(parts).decode(said.encoding, "replace").encode()


def _text(path: Path, csv: Csv) -> Any:
    return compressed(path)(path, "rt", encoding=csv.encoding, errors="replace", newline="")


def _delimiter(line: str, path: Path, csv: Csv) -> str:
    if csv.delimiter is not None:
        return csv.delimiter
    likely = "\t;," if ".tsv" in path.name.lower() else ",;\t"
    return max(likely, key=line.count)


def _broken(path: Path, error: Exception) -> InputError:
    words = " ".join(str(error).split())[:300]
    return InputError(
        f"{path}: cannot be read: {words}", hint="is it whole, and is csv in the mapping right?"
    )


def _times(column: pa.ChunkedArray, file: File, zone: tzinfo, path: Path) -> Integers:
    """Times in ns since 1970 UTC of the rows."""
    time, known = _times_or_none(column, file, zone, path, file.time.column)
    if not known.all():
        raise _no_time(f"{path}, column {file.time.column}", int(np.argmin(known)) + 1, file)
    return time


def _no_time(place: str, row: int, file: File) -> InputError:
    return InputError(
        f"{place}, row {row}: no time, or not in the format {file.time.format}",
        hint="say in the mapping how times are written: time.format",
    )


def _times_or_none(
    column: pa.ChunkedArray, file: File, zone: tzinfo, path: Path, name: str
) -> tuple[Integers, Booleans]:
    """Times in ns since 1970 UTC, written as those of the rows are, and which of them are there."""
    said, kind = file.time, column.type
    empty = np.asarray(pc.is_null(column, nan_is_null=True), dtype=bool)
    place = f"{path}, column {name}"
    try:
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            column = _parsed(column, said.format)
            kind = column.type
        if pa.types.is_date(kind):
            column, kind = column.cast(pa.timestamp("ms")), pa.timestamp("ms")
        if pa.types.is_timestamp(kind):
            if kind.tz is None:
                name = said.zone or str(getattr(zone, "key", None) or zone).removeprefix("UTC") or "UTC"
                column = _in_zone(column, name)
            time = column.cast(pa.timestamp("ns", "UTC")).cast(pa.int64())
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
            time = _from_unix(column, said.format)
        else:
            raise ValueError(f"{kind} is no time")
    except (pa.ArrowException, ValueError, OverflowError) as error:
        words = " ".join(str(error).split())[:200]
        raise InputError(
            f"{place}: {words}",
            hint="say in the mapping what it is: time.format, and time.zone for a zone by name",
        ) from error
    known = np.asarray(pc.is_valid(time), dtype=bool)
    wrong = ~known & ~empty
    if wrong.any():
        raise _no_time(place, int(np.argmax(wrong)) + 1, file)
    return np.asarray(pc.fill_null(time, 0).to_numpy(), dtype=np.int64), known


def _in_zone(column: pa.ChunkedArray, zone: str) -> pa.ChunkedArray:
    """Clock times of a zone. In the hour that comes twice, times that go back are those of the second."""
    first, second = (
        pc.assume_timezone(column, zone, ambiguous=which, nonexistent="latest")
        for which in ("earliest", "latest")
    )
    twice = np.asarray(pc.fill_null(pc.not_equal(first, second), False).to_numpy(), dtype=bool)
    if not twice.any():
        return first
    time = np.asarray(first.cast(pa.int64()).fill_null(0).to_numpy(), dtype=np.int64)
    place = np.arange(len(time))
    back = twice & (time < np.maximum.accumulate(time))
    begins = twice & ~np.concatenate([[False], twice[:-1]])
    latest_back = np.maximum.accumulate(np.where(back, place, -1))
    block = np.maximum.accumulate(np.where(begins, place, 0))
    return pc.if_else(pa.array(twice & (latest_back >= block)), second, first)


def _parsed(column: pa.ChunkedArray, pattern: str) -> pa.ChunkedArray:
    """Texts as numbers or times."""
    if "%" in pattern:
        import duckdb

        # DuckDB's strptime knows parts of a second and offsets of zones; Arrow's does not.
        zoned = "%z" in pattern
        rows = pa.table({"t": column.cast(pa.string())})
        with duckdb.connect() as connection:
            connection.register("texts", rows)
            query = "SELECT epoch_ns(try_strptime(t, $1)) AS t FROM texts"
            found: Any = connection.sql(query, params=[pattern]).to_arrow_table()
        return found["t"].cast(pa.timestamp("ns", "UTC" if zoned else None))
    if pattern not in ("auto", "iso"):
        return column.cast(pa.float64())
    for kind in (pa.int64(), pa.float64())[: 2 if pattern == "auto" else 0]:
        try:
            return column.cast(kind)
        except pa.ArrowInvalid:
            continue
    try:
        return column.cast(pa.timestamp("ns"))
    except pa.ArrowInvalid:
        return column.cast(pa.timestamp("ns", "UTC"))


def _from_unix(column: pa.ChunkedArray, pattern: str) -> pa.ChunkedArray:
    scale = _SCALE.get(pattern)
    if scale is None:
        # Seconds, ms, µs and ns of the years 1973 to 2286 cannot be taken for one another.
        largest = abs(float(pc.max(column).as_py() or 0))
        scale = 10.0 ** (9 - 3 * min(3, max(0, (len(str(int(largest))) - 8) // 3)))
    if abs(float(pc.max(column).as_py() or 0)) * scale > _LATEST_NS:
        raise ValueError("a time beyond the year 2261")
    if pa.types.is_integer(column.type):
        return pc.multiply(column.cast(pa.int64()), pa.scalar(int(scale), pa.int64()))
    values = column.to_numpy()
    whole = np.floor(values)
    good = np.isfinite(values) & (values >= 0)
    # In two parts: a float of nanoseconds would be off by hundreds of them.
    exact = np.where(good, whole, 0).astype(np.int64) * int(scale)
    exact += np.rint(np.where(good, values - whole, 0) * scale).astype(np.int64)
    return pa.chunked_array([pa.array(exact, mask=~good)])
