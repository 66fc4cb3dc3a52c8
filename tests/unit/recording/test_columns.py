"""Columns made without pandas hold what `pyarrow.array` would have put there."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from satline.recording import number_column, numbers_of, text_column

KINDS = (np.int64, np.uint64, np.int32, np.float64)


@given(st.lists(st.one_of(st.none(), st.text(max_size=5)), max_size=20))
def test_texts_are_those_that_arrow_would_have_made(values: list[str | None]) -> None:
    made = text_column(values)
    made.validate(full=True)
    assert made.equals(pa.array(values, pa.string()))


@pytest.mark.parametrize("kind", [*KINDS, np.bool_])
@given(values=st.lists(st.integers(0, 100), max_size=20), missing=st.integers(0, 2**20 - 1))
def test_numbers_are_those_that_arrow_would_have_made(kind: type, values: list[int], missing: int) -> None:
    numbers = np.array(values, dtype=kind)
    holes = np.array([bool(missing >> k & 1) for k in range(len(values))], dtype=bool)
    made = number_column(numbers, holes)
    made.validate(full=True)
    assert made.equals(pa.array(numbers, mask=holes))


@pytest.mark.parametrize("kind", KINDS)
@given(values=st.lists(st.one_of(st.none(), st.integers(0, 100)), max_size=20), cut=st.integers(0, 5))
def test_numbers_are_read_as_arrow_reads_them(kind: type, values: list[int | None], cut: int) -> None:
    whole = pa.array(values, pa.from_numpy_dtype(kind))
    for column in (whole, whole.slice(cut), pa.chunked_array([whole.slice(0, cut), whole.slice(cut)])):
        expected = column.to_numpy(zero_copy_only=False)
        assert np.array_equal(numbers_of(column), expected, equal_nan=kind is np.float64 or None in values)
        assert numbers_of(column).dtype == expected.dtype
