"""Columns that are read when they are asked for, and where DuckDB puts what does not fit."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from made_recording import MadeRecording, at, steady

from satline.reduction import Reduction, numbers_table, reduce
from satline.reduction import _values as values_module
from satline.reduction._spill import PREFIX, make_spill
from satline.reduction._variables import prefix_of, variables


def made() -> Reduction:
    rows = steady(300, interval=1, processors=2, user_us=300_000, system_us=100_000, idle_us=600_000)
    rows["user"] = [
        {**at(k), "user": name, "cpu_us": 1000 * k, "run_delay_us": 0}
        for k in range(301)
        for name in ("ann", "bob")
    ]
    return reduce(MadeRecording(rows))


def test_every_variable_has_a_value_for_each_observation() -> None:
    curves = made()
    length = len(curves.load)
    assert length == 30
    for name in curves.observations:
        assert curves.observations[name].shape == (length,), name
        assert curves.observations[name].dtype == np.float64, name
    assert np.isnan(curves.observations["page_share"]).all()
    assert (curves.observations["active_users"] == curves.load).all()
    assert "cars" not in curves.observations
    with pytest.raises(KeyError):
        curves.observations["cars"]


def test_no_more_is_kept_than_is_small_together(monkeypatch: pytest.MonkeyPatch) -> None:
    curves = made()
    monkeypatch.setattr(values_module, "_CACHED_BYTES", 30 * 8 * 3)
    for name in list(curves.observations)[:20]:
        curves.observations[name]
    assert isinstance(curves.observations, values_module.Columns)
    assert len(curves.observations._cache) <= 3


def test_what_a_reduction_puts_on_disk_goes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    curves = made()
    assert len(list(tmp_path.iterdir())) == 1
    assert curves.observations["user_run"].shape == (30,)
    del curves
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def spill_and_die(directory: Path) -> None:
    """A process that is killed before it can clean up."""
    child = os.fork()
    if child == 0:
        try:
            make_spill()
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    (left,) = directory.iterdir()
    age(left)


def age(path: Path) -> None:
    """Make it two hours old."""
    then = time.time() - 7200
    os.utime(path, (then, then))


def test_what_a_killed_process_left_empty_goes_at_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spill_and_die(tmp_path)
    directory, remove = make_spill()
    assert list(tmp_path.iterdir()) == [directory]
    remove()
    assert list(tmp_path.iterdir()) == []


def test_nothing_else_is_swept_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    alive, remove = make_spill()
    full, young, open_to_all, other, elsewhere = (
        tmp_path / name
        for name in (f"{PREFIX}full", f"{PREFIX}young", f"{PREFIX}open", "satline-x", "elsewhere")
    )
    for path in (full, young, open_to_all, other, elsewhere):
        path.mkdir(mode=0o700)
    (full / "duckdb_temp_storage-0.tmp").write_text("")
    open_to_all.chmod(0o777)
    (tmp_path / f"{PREFIX}file").write_text("")
    (tmp_path / f"{PREFIX}link").symlink_to(elsewhere)
    before = set(tmp_path.iterdir())
    for path in before - {young}:
        age(path)
    _, remove_second = make_spill()
    remove_second()
    assert set(tmp_path.iterdir()) == before
    remove()
    assert set(tmp_path.iterdir()) == before - {alive}


def test_no_variable_that_others_name_is_called_like_a_column() -> None:
    """Formulas would then be ambiguous: the variables that others name stand beside the columns."""
    catalogue = variables()
    named = {name for d in catalogue.derived for name in d.all_names}
    columns = {
        mark + prefix_of(table) + column
        for table in catalogue.counters
        for column in (*catalogue.counters[table], *catalogue.levels[table])
        for mark in ("", "d_")
    }
    assert "problem_state" in named
    assert "d_user_us" in columns
    assert not {d.name for d in catalogue.derived} & named & columns


def test_numbers_come_back_from_a_table_of_numbers() -> None:
    columns = {
        "whole": np.arange(20)[::2],
        "part": np.array([0.5, np.inf, -1.0, 0.0, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5]),
        "truth": np.arange(10) % 3 == 0,
    }
    made = numbers_table(columns)
    for name, column in columns.items():
        assert made[name].to_pylist() == column.tolist()
