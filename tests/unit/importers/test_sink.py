"""What importers hand over: counters back from rates, runs, gaps, what is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from satline.errors import InputError
from satline.importers import Sink
from satline.recording import Recording

S = 1_000_000_000


def made(tmp_path: Path) -> Sink:
    sink = Sink(tmp_path / "made.satline")
    sink.start()
    return sink


def rows(sink: Sink, query: str) -> list[tuple[object, ...]]:
    return Recording.open(sink.path).connect().execute(query).fetchall()


def test_nan_becomes_null_and_a_column_without_values_is_left_out(tmp_path: Path) -> None:
    sink = made(tmp_path)
    sink.table(
        "system", np.arange(3) * S, {"forks": np.array([1.4, np.nan, 3.6]), "interrupts": np.full(3, np.nan)}
    )
    sink.finish()
    assert rows(sink, "SELECT forks, interrupts FROM system ORDER BY time_ns") == [
        (1, None),
        (None, None),
        (4, None),
    ]
    assert sink.has("system", "forks")
    assert not sink.has("system", "interrupts")


def test_integers_beyond_what_a_float_holds_stay_exact(tmp_path: Path) -> None:
    sink = made(tmp_path)
    sink.table("system", np.arange(2) * S, {"interrupts": np.array([2**53 + 1, 2**53 + 3], dtype=np.int64)})
    sink.finish()
    assert rows(sink, "SELECT interrupts FROM system ORDER BY time_ns") == [(2**53 + 1,), (2**53 + 3,)]


def test_an_underflowed_unsigned_counter_is_null(tmp_path: Path) -> None:
    sink = made(tmp_path)
    sink.table("system", np.arange(2) * S, {"interrupts": np.array([7, 2**64 - 5], dtype=np.uint64)})
    sink.finish()
    assert rows(sink, "SELECT interrupts FROM system ORDER BY time_ns") == [(7,), (None,)]


def test_a_column_that_the_catalogue_lacks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'drums'"):
        made(tmp_path).table("system", np.arange(2) * S, {"drums": np.ones(2)})


def test_what_is_missing_is_told_unless_it_was_there_after_all(tmp_path: Path) -> None:
    sink = made(tmp_path)
    sink.missing("system.forks", "not printed", "sar -w")
    sink.missing("system.interrupts", "not printed", "sar -I SUM")
    sink.missing("user.cpu_us", "no users")
    sink.table("system", np.arange(2) * S, {"forks": np.ones(2)})
    sink.finish()
    told = Recording.open(sink.path).sources["import"]["missing"]
    assert [m["signal"] for m in told] == ["system.interrupts", "user.cpu_us"]


def test_runs_gaps_and_interval_are_known_at_the_end(tmp_path: Path) -> None:
    sink = made(tmp_path)
    sink.table("system", np.array([0, 10, 20, 60, 70]) * S, {"forks": np.arange(5)})
    sink.begin_run()
    sink.table("system", np.array([100, 110]) * S, {"forks": np.arange(2)})
    sink.finish()
    assert sink.runs == [(0, 70 * S), (100 * S, 110 * S)]
    assert sink.gaps == [(20 * S, 60 * S)], "a restart is no gap"
    assert sink.interval_s == 10
    assert rows(sink, "SELECT run, count(*) FROM system GROUP BY run ORDER BY run") == [(1, 5), (2, 2)]


def test_the_same_time_given_twice_is_noted(tmp_path: Path) -> None:
    sink = made(tmp_path)
    for _ in range(2):
        sink.begin_run()
        sink.table("system", np.arange(3) * S, {"forks": np.arange(3)})
    sink.finish()
    assert any("twice" in note for note in Recording.open(sink.path).sources["import"]["notes"])


def test_nothing_read_is_an_error_that_names_the_source(tmp_path: Path) -> None:
    sink = made(tmp_path)
    sink.origin(files=["empty.txt"])
    with pytest.raises(InputError, match=r"empty\.txt"):
        sink.finish()
