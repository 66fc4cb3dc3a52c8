"""The universal scalability law against published fits and known truth."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from satline.diagnosis._usl import NO_PEAK, fit_usl, peak_of, usl
from satline.diagnosis.saturation import Series, judge
from satline.present._words import _usl_lines
from satline.present.documents import plain

RAYTRACER = Path(__file__).parents[4] / "shared/data/usl/raytracer.csv"


def raytracer() -> tuple[np.ndarray, np.ndarray]:
    if not RAYTRACER.exists():
        pytest.skip("the published measurement is not here")
    with RAYTRACER.open() as file:
        rows = [(float(r["processors"]), float(r["throughput"])) for r in csv.DictReader(file)]
    load, throughput = np.array(rows).T
    return load, throughput


def curve(load: np.ndarray, rate: float, contention: float, coherency: float) -> np.ndarray:
    return rate * load / (1 + contention * (load - 1) + coherency * load * (load - 1))


def measured(load: np.ndarray, rate: np.ndarray, noise: float = 0.02, window: int = 30) -> Series:
    """A study of these levels with a relative noise that is independent from second to second."""
    random = np.random.default_rng(4)
    number = np.repeat(np.arange(len(load)), window)
    return Series(
        load=load[number],
        number=number,
        throughput=rate[number] * (1 + noise * random.normal(size=len(number))),
        seconds=np.ones(len(number)),
        batches=number * 100 + np.tile(np.arange(window) // 5, len(load)),
        contended=True,
    )


def test_a_level_without_load_changes_nothing() -> None:
    load = np.array([0.0, 1, 2, 4, 8, 16])
    means = np.array([[0.3, *curve(load[1:], 10.0, 0.05, 0.001)]])
    found, left = fit_usl(load, means, np.ones(6))
    assert found[0] == pytest.approx([10, 0.05, 0.001], rel=1e-4)
    assert left[0] == pytest.approx(0, abs=1e-9)
    fitted = usl(load, means, np.ones(6), "per second", (1.0, 4))
    assert fitted is not None
    assert fitted.rate.value == pytest.approx(10)


def test_the_published_fit_of_a_system_with_a_peak_comes_out() -> None:
    # SPEC SDM91 on a SPARCcenter 2000; coefficients and peak as the R package usl prints them
    # (github.com/smoeding/usl, README.md)
    load = np.array([1.0, 18, 36, 72, 108, 144, 216])
    throughput = np.array([64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2])
    found, _ = fit_usl(load, throughput[None, :], np.ones(7))
    assert found[0] == pytest.approx([89.9952330, 0.0277285, 0.0001044], rel=1e-3)
    assert peak_of(found)[0] == pytest.approx(96.52, rel=1e-3)


def test_the_published_fit_of_the_first_six_of_raytracer_comes_out_and_its_peak_is_not_claimed() -> None:
    # coefficients as in tests/confint.Rout.save of the R package usl: 0.02444, 0.00163, 20.85605
    load, throughput = raytracer()
    first = throughput[:6]
    found, _ = fit_usl(load[:6], first[None, :], np.ones(6))
    assert found[0] == pytest.approx([20.85605, 0.02444, 0.00163], rel=4e-3)
    fit = usl(load[:6], np.vstack([first, first]), np.ones(6), "frames/s", (1.0, 3))
    assert fit is not None
    assert fit.peak is not None
    assert fit.peak.value == pytest.approx(24.5, abs=0.2)
    assert not fit.peak_in_range
    # and rightly so: throughput rose on to 64 processors
    assert throughput[-1] > throughput[load == 24][0]


def test_a_curve_that_only_bends_gradually_has_no_knee() -> None:
    load, throughput = raytracer()
    answer = judge(
        measured(load, throughput), load_axis="users", variable="transaction_rate", unit="per second"
    )
    assert answer.outcome == "partly-known"
    assert "gradually" in answer.reasons[0]
    assert answer.usl is not None
    assert not answer.usl.peak_in_range
    assert answer.usl.better_than_broken_line


def test_without_coherency_there_is_no_peak() -> None:
    load = np.array([1.0, 2, 4, 8, 16, 32])
    found, left = fit_usl(load, curve(load, 10, 0.05, 0)[None, :], np.ones(6))
    assert found[0] == pytest.approx([10, 0.05, 0], rel=1e-4, abs=1e-7)
    assert left[0] == pytest.approx(0, abs=1e-6)
    assert peak_of(np.array([[10, 0.05, 0.0]]))[0] == NO_PEAK


def test_a_peak_that_some_fits_do_not_have_has_no_upper_limit() -> None:
    # the top of a curve with hardly any coherency: one fit in ten finds none
    load = np.array([1.0, 2, 4, 8, 16, 32])
    rows = np.vstack([curve(load, 10, 0.05, 0.0004)] * 36 + [curve(load, 10, 0.05, 0.0)] * 4)
    fit = usl(load, rows, np.ones(6), "per second", (1.0, 3))
    assert fit is not None
    assert fit.peak is not None
    assert fit.peak.value == pytest.approx(np.sqrt(0.95 / 0.0004), rel=1e-3)
    assert fit.peak.high == math.inf
    assert not fit.peak_in_range
    assert plain(fit)["peak"]["high"] is None
    (line,) = (t for t in _usl_lines(fit) if "greatest" in t)
    assert "48.7 or more, no upper limit" in line
    assert "1,000" not in line
    # where hardly any has none, there is one
    nearly_all = usl(load, np.vstack([rows[:36]] * 5 + [rows[-1:]]), np.ones(6), "per second", (1.0, 3))
    assert nearly_all is not None
    assert nearly_all.peak is not None
    assert nearly_all.peak.high == pytest.approx(nearly_all.peak.value, rel=1e-3)


def test_all_rows_are_fitted_as_one_alone() -> None:
    random = np.random.default_rng(1)
    load = np.array([1.0, 3, 6, 10, 15, 21, 30])
    rows = curve(load, 50, 0.04, 0.002) * (1 + 0.05 * random.normal(size=(20, 7)))
    together, _ = fit_usl(load, rows, np.ones(7))
    alone = np.vstack([fit_usl(load, r[None, :], np.ones(7))[0] for r in rows])
    assert together == pytest.approx(alone, rel=1e-3, abs=1e-6)
    assert (together[:, 1:] >= 0).all()


def test_no_nearby_parameters_fit_better() -> None:
    random = np.random.default_rng(2)
    load = np.array([1.0, 3, 6, 10, 15, 21, 30])
    for coherency in (0.0, 0.003):
        row = curve(load, 50, 0.04, coherency) * (1 + 0.05 * random.normal(size=7))
        (found,), (left,) = fit_usl(load, row[None, :], np.ones(7))
        for step in np.vstack([np.eye(3), -np.eye(3)]):
            near = np.maximum(found + step * np.maximum(1e-3 * found, [1e-3, 1e-4, 1e-5]), 0)
            assert ((row - curve(load, *near)) ** 2).sum() >= left - 1e-9


def test_intervals_hold_the_truth_and_a_peak_inside_is_claimed() -> None:
    load = np.array([1.0, 4, 8, 12, 16, 20, 26, 32, 40, 48])
    answer = judge(
        measured(load, curve(load, 20, 0.02, 0.002)),
        load_axis="users",
        variable="transaction_rate",
        unit="per second",
    )
    fit = answer.usl
    assert fit is not None
    assert fit.peak is not None
    assert fit.contention.low <= 0.02 <= fit.contention.high
    assert fit.coherency.low <= 0.002 <= fit.coherency.high
    assert fit.peak.low <= np.sqrt(0.98 / 0.002) <= fit.peak.high
    assert fit.peak_in_range
    assert fit.better_than_broken_line


def test_a_broken_line_is_described_better_by_itself() -> None:
    load = np.array([1.0, 4, 8, 12, 16, 20, 26, 32, 40, 48])
    answer = judge(
        measured(load, np.minimum(load, 15.0)),
        load_axis="users",
        variable="transaction_rate",
        unit="per second",
    )
    assert answer.outcome == "saturated"
    assert answer.usl is not None
    assert not answer.usl.better_than_broken_line
