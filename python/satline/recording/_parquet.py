"""Parquet at rest."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from satline.atomic import naming
from satline.catalogue import TableDefinition
from satline.errors import SatlineError
from satline.outside import parse_json
from satline.recording._columns import numbers_of
from satline.recording._files import FORMAT_VERSION, make_directory
from satline.recording._frames import Damage

NS_PER_DAY = 86_400_000_000_000
ROW_GROUP_ROWS = 131_072
_BAD_DISK = "the disk or the memory is bad; the segments are still there"


def day_name(day: int) -> str:
    """YYYY-MM-DD of a day counted from 1970-01-01."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day)).strftime("%Y-%m-%d")


def split_days(table: pa.Table) -> list[tuple[int, pa.Table]]:
    """Runs of consecutive rows of one UTC day: (day counted from 1970-01-01, rows).

    The order of the rows is kept, so that a day comes twice where the clock stepped back over midnight.
    """
    if table.num_rows == 0:
        return []
    days = numbers_of(table["time_ns"]) // NS_PER_DAY
    changes = (days[1:] != days[:-1]).nonzero()[0] + 1
    edges = [0, *changes.tolist(), table.num_rows]
    return [(int(days[a]), table.slice(a, b - a)) for a, b in pairwise(edges)]


def conform(table: pa.Table, definition: TableDefinition) -> pa.Table:
    """Bring rows to the catalogue's columns and types; columns that are missing become null.

    Columns that the catalogue does not have are kept behind the others: a newer program recorded them.
    """
    columns = []
    schema = definition.arrow_schema()
    for field in schema:
        if field.name in table.column_names:
            columns.append(table[field.name].cast(field.type))
        else:
            columns.append(pa.nulls(table.num_rows, field.type))
    extra = [table.schema.field(n) for n in table.column_names if n not in schema.names]
    return pa.table([*columns, *(table[f.name] for f in extra)], schema=pa.schema([*schema, *extra]))


def write(file: Path, table: pa.Table, definition: TableDefinition, damage: Iterable[Damage] = ()) -> Path:
    """Write rows, sorted by entity and time, to a hidden file beside `file`, durable; returns that file.

    It is read back from the disk and held against the rows before this returns: `publish` gives it its name.

    Parameters
    ----------
    damage
        What was left out of the segments that the rows came from; kept in the file's metadata.

    Raises
    ------
    SatlineError
        If the disk gives back other rows than were written.
    """
    keys = [*definition.entity, "monotonic_ns"]
    table = table.sort_by([(k, "ascending") for k in keys])
    integers = [f.name for f in table.schema if pa.types.is_integer(f.type)]
    texts = [f.name for f in table.schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
    tails = [
        {"segment": d.path.name, **{k: getattr(d, k) for k in ("offset", "length", "reason", "tail")}}
        for d in damage
    ]
    metadata = {"satline.table": definition.name, "satline.format": str(FORMAT_VERSION)}
    if tails:
        metadata["satline.damage"] = json.dumps(tails)
    make_directory(file.parent)
    temporary = file.with_name(f".{file.name}.tmp")
    try:
        with naming(file):
            pq.write_table(
                table.replace_schema_metadata(metadata),
                temporary,
                compression="zstd",
                use_dictionary=texts,
                column_encoding=dict.fromkeys(integers, "DELTA_BINARY_PACKED"),
                row_group_size=ROW_GROUP_ROWS,
                version="2.6",
                write_page_checksum=True,
            )
            _to_disk(temporary)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    _read_back(temporary, table)
    return temporary


def _to_disk(file: Path) -> None:
    with file.open("rb+") as stream:
        os.fsync(stream.fileno())
        # What is read back must come from the disk, not from memory.
        with contextlib.suppress(OSError):
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _read_back(file: Path, written: pa.Table) -> None:
    """Raise SatlineError unless the file holds these rows."""
    try:
        with pq.ParquetFile(file, page_checksum_verification=True) as parquet:
            read = parquet.read()
        same = _bits(read).equals(_bits(written))
    except (pa.ArrowException, OSError, ValueError) as error:
        file.unlink(missing_ok=True)
        raise SatlineError(f"{file}: cannot be read back: {error}", hint=_BAD_DISK) from error
    if not same:
        file.unlink(missing_ok=True)
        raise SatlineError(f"{file}: the disk gives back other rows than were written", hint=_BAD_DISK)


def _bits(table: pa.Table) -> pa.Table:
    """The table with floats as their bits: NaN is not equal to itself."""
    columns = {
        name: pa.chunked_array([c.view(pa.int64()) for c in column.chunks], pa.int64())
        if pa.types.is_float64(column.type)
        else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return pa.table(columns)


def damaged_rows(file: Path) -> list[str]:
    """Where pages of a Parquet file are damaged, columns and rows in words; empty where they are whole."""
    found: dict[tuple[int, int], list[str]] = {}
    try:
        parquet = pq.ParquetFile(file, page_checksum_verification=True)
        groups = parquet.num_row_groups
    except (pa.ArrowException, OSError, ValueError, MemoryError):
        return []
    first = 0
    for group in range(groups):
        rows = parquet.metadata.row_group(group).num_rows
        for name in parquet.schema_arrow.names:
            try:
                parquet.read_row_group(group, columns=[name])
            except (pa.ArrowException, OSError, ValueError, MemoryError):
                found.setdefault((first, first + rows - 1), []).append(name)
        first += rows
    return [
        f"rows {low:,} to {high:,} of column{'s' if len(names) > 1 else ''} {', '.join(names)}"
        for (low, high), names in found.items()
    ]


def recorded_damage(file: Path) -> list[Damage]:
    """What was left out of the segments that went into a Parquet file."""
    text = (pq.read_schema(file).metadata or {}).get(b"satline.damage")
    tails = parse_json(text) if text else []
    return [
        Damage(file.with_name(t["segment"]), t["offset"], t["length"], t["reason"], t.get("tail", True))
        for t in tails
    ]
