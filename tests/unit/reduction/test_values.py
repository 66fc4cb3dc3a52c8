"""Columns that are read when they are asked for, and where DuckDB puts what does not fit."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import numpy as np
import pytest
from made_recording import MadeRecording, at, steady

from satline.reduction import Reduction, reduce
from satline.reduction import _values as values_module


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
