"""Arrow columns made of numbers and text, without `pyarrow.array`: that asks pandas what it is given, and so
imports it, which takes as much processor time as a day's archive."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_LONGEST_TEXT = 2**31 - 1


def number_column(values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> pa.Array:
    """A column of these integers, floats or truth values, null where `missing` holds."""
    whole = np.ascontiguousarray(values)
    data = np.packbits(whole, bitorder="little") if whole.dtype == np.bool_ else whole
    known = None
    if missing is not None and missing.any():
        known = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    buffers = [known, pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.from_numpy_dtype(whole.dtype), len(whole), buffers)


def text_column(values: Sequence[str | None]) -> pa.Array | pa.ChunkedArray:
    """A column of these texts, None being null."""
    parts = [b"" if value is None else value.encode() for value in values]
    ends = np.fromiter(accumulate(map(len, parts), initial=0), dtype=np.int64, count=len(parts) + 1)
    if ends[-1] > _LONGEST_TEXT:
        return pa.array(values, type=pa.string())
    missing = np.fromiter((value is None for value in values), dtype=np.bool_, count=len(parts))
    known = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    buffers = [known, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(parts))]
    return pa.Array.from_buffers(pa.string(), len(parts), buffers)


def numbers_of(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """The numbers of a column of integers or floats, in storage that may be shared; where some are null, as
    floats, null being NaN."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    known, data = whole.buffers()
    kind, inside = np.dtype(whole.type.to_pandas_dtype()), slice(whole.offset, whole.offset + len(whole))
    if not len(whole):
        return np.zeros(0, dtype=kind)
    found = np.frombuffer(data, dtype=kind, count=inside.stop)[inside]
    if not whole.null_count:
        return found
    there = np.unpackbits(np.frombuffer(known, dtype=np.uint8), count=inside.stop, bitorder="little")[inside]
    return np.where(there == 1, found, np.nan)
