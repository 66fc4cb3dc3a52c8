"""Tables from outside, CSV and Parquet: what they take in memory is limited, and errors are of one kind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

# A file of a few kilobytes may state thousands of millions of rows that are all alike.
_FREE = 1 << 30
_RATIO = 3000
# Text takes a byte a character, its column the same again, and the parts it was read in.
_COPIES = 3


class BrokenTableError(ValueError):
    """A table cannot be read, or is larger than memory; its text says why in a line."""


def largest_bytes() -> int:
    """What a table may take in memory: half of what is available, 256 MiB at least."""
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as file:
            kib = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable:"))
        available = kib * 1024
    except (OSError, StopIteration, ValueError, IndexError):
        available = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(256 << 20, available // 2)


def parquet_columns(path: Path) -> list[str]:
    """The columns of a Parquet file; nested ones are left out.

    Raises
    ------
    BrokenTableError
        It is no whole Parquet file.
    OSError
        It cannot be opened.
    """
    import pyarrow as pa

    file = _open(path)
    try:
        return [f.name for f in file.schema_arrow if not pa.types.is_nested(f.type)]
    except _errors() as error:
        raise _broken(error) from None
    finally:
        file.close()


def read_parquet(path: Path, columns: list[str] | None = None) -> pa.Table:
    """A Parquet file's rows, or some of its columns.

    Raises
    ------
    BrokenTableError
        It is no whole Parquet file, or states more rows than a file of its size can hold, or than fit.
    OSError
        It cannot be opened.
    """
    file = _open(path)
    try:
        stated = file.metadata
        count = stated.num_columns if columns is None else len(columns)
        size = path.stat().st_size
        cells_bytes = 8 * max(0, stated.num_rows) * count
        limit = min(largest_bytes(), _FREE + _RATIO * size)
        if cells_bytes > limit:
            raise BrokenTableError(
                f"{stated.num_rows:,} rows of {count} columns are more than {limit >> 20:,} MiB of memory"
            )
        table = file.read(columns=columns)
        table.validate(full=True)
        return table
    except BrokenTableError:
        raise
    except _errors() as error:
        raise _broken(error) from None
    finally:
        file.close()


def read_csv(source: Any, size: int | None = None, **options: Any) -> pa.Table:
    """What `pyarrow.csv.read_csv` reads, with its options.

    Parameters
    ----------
    source
        A path, or a file of bytes.
    size
        Its length, bytes, where it is no path.

    Raises
    ------
    BrokenTableError
        It is no such table, or does not fit into memory.
    OSError
        It cannot be opened.
    """
    from pyarrow import csv

    if isinstance(source, Path):
        size = source.stat().st_size
    if size is not None and _COPIES * size > (limit := largest_bytes()):
        raise BrokenTableError(f"{size:,} bytes do not fit into {limit >> 20:,} MiB of memory as a table")
    try:
        table = csv.read_csv(source, **options)
        # Text that is no UTF-8 is found here, not where it is shown.
        table.validate(full=True)
        _ = table.column_names
        return table
    except _errors() as error:
        raise _broken(error) from None


def _open(path: Path) -> Any:
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path)
    except _errors() as error:
        raise _broken(error) from None


def _errors() -> tuple[type[Exception], ...]:
    import pyarrow as pa

    unexpected = (OverflowError, RecursionError, MemoryError, AttributeError)
    return (pa.ArrowException, ValueError, OSError, *unexpected)


def _broken(error: Exception) -> Exception:
    # Broken Parquet files are OSErrors without a number; a disk's or a permission's have one.
    if isinstance(error, OSError) and error.errno is not None:
        return error
    return BrokenTableError(" ".join(str(error).split())[:300] or type(error).__name__)
