"""Tables of a recording and the ways out of them: Arrow, and pandas and Polars where they are installed."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import duckdb
import pyarrow as pa
import pytest
from api_host import HOSTILE, NAMES, READINGS

import satline
from satline import api

ROWS = 3 * READINGS


def test_tables_are_named_and_read_when_asked_for(host: api.OpenRecording) -> None:
    assert list(host.tables) == ["system", "processor", "user", "transaction"]
    assert len(host.tables["system"]) == ROWS
    assert len(host.table("lock")) == 0, "the catalogue has it, the recording does not"
    assert "lock" not in host.tables
    with pytest.raises(satline.InputError, match="not in the catalogue"):
        host.table("locks")


def test_a_table_has_numbers_with_units_and_only_the_columns_asked_for(host: api.OpenRecording) -> None:
    rows = host.table("processor").select("time_ns", "user_us").to_arrow()
    assert rows.column_names == ["time_ns", "user_us"]
    assert rows.schema.field("user_us").type == pa.int64()
    assert rows.schema.field("user_us").metadata[b"unit"] == b"us"
    assert host.table("processor").units["idle_us"] == "us"
    times = rows.column("time_ns").to_pylist()
    assert times == sorted(times)
    with pytest.raises(satline.InputError, match="no column user_ms"):
        host.table("processor").select("user_ms")


def test_what_is_missing_is_null(host: api.OpenRecording) -> None:
    assert host.table("processor").select("steal_us").to_arrow().column(0).null_count == ROWS


def test_other_libraries_take_a_table_by_its_capsule(host: api.OpenRecording) -> None:
    table, users = host.table("system"), host.users
    assert pa.table(table).num_rows == ROWS
    assert pa.table(users).column("user").to_pylist() == sorted(NAMES)
    assert duckdb.connect().sql("SELECT count(*) FROM users").fetchall() == [(len(NAMES),)]


def test_a_long_table_comes_in_batches(host: api.OpenRecording) -> None:
    batches = list(host.table("user").reader(batch_rows=100))
    assert sum(b.num_rows for b in batches) == ROWS * len(NAMES)
    assert batches[0].schema.field("cpu_us").metadata[b"unit"] == b"us"


def test_users_are_their_names_and_a_table(host: api.OpenRecording) -> None:
    assert HOSTILE in host.users
    assert "nobody" not in host.users
    assert list(host.users) == sorted(NAMES)
    assert len(host.users) == len(NAMES)
    (anna,) = (row for row in host.users.to_arrow().to_pylist() if row["user"] == "anna")
    assert anna["readings"] == ROWS
    assert anna["transactions"] == ROWS
    assert anna["last_s"] - anna["first_s"] == pytest.approx(2 * 86400 + 120 * 300 + 20)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_not_there_is_named_with_its_extra(
    host: api.OpenRecording, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(api.MissingLibraryError, match=f"{library} is not installed") as caught:
        getattr(host.users, f"to_{library}")()
    assert f"satline[{library}]" in caught.value.hint
    assert isinstance(caught.value, ImportError)


@pytest.mark.skipif(find_spec("pandas") is None, reason="pandas is not installed")
def test_pandas_has_numbers_and_units(host: api.OpenRecording) -> None:
    frame = host.table("processor").to_pandas()
    assert str(frame["user_us"].dtype) == "int64"
    assert frame.attrs["units"]["user_us"] == "us"


@pytest.mark.skipif(find_spec("polars") is None, reason="polars is not installed")
def test_polars_has_numbers_and_takes_results_by_their_capsule(host: api.OpenRecording) -> None:
    import polars

    assert host.table("processor").to_polars()["user_us"].dtype == polars.Int64
    assert polars.DataFrame(host.users).height == len(NAMES)
