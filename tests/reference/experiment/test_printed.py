"""Examples whose results are printed in books."""

from __future__ import annotations

import numpy as np
import pytest

from satline.experiment.variance import Layout, analyse, lenth, mean_squares, yates


def two_level(k: int) -> Layout:
    codes = np.array([[i >> j & 1 for j in range(k)] for i in range(1 << k)])
    return Layout(tuple("ABCDE"[:k]), (("-", "+"),) * k, codes)


# Sums of squares of a 3 × 2 × 2 design of reaction times of compilations [AW79].
PARTS = [("memory", 2089.28, 2), ("channels", 499.52, 1), ("algorithm", 790.55, 1)]
REST = (197.89, 7)


def test_arithmetic_of_a_published_table() -> None:
    rows = mean_squares(PARTS, REST)
    assert [row.mean_square for row in rows] == pytest.approx([1044.64, 499.52, 790.55], abs=0.005)
    assert REST[0] / REST[1] == pytest.approx(28.27, abs=0.005)
    assert [row.f for row in rows] == pytest.approx([36.95, 17.67, 27.96], abs=0.005)


def test_responses_with_those_sums_of_squares_give_that_table() -> None:
    """Any responses that have them: each term's part is made of its own columns, the rest of interactions."""
    m, c, a = (x.ravel() for x in np.meshgrid([0, 1, 2], [0, 1], [0, 1], indexing="ij"))
    shapes = {
        "memory": np.array([3.0, 1.0, -4.0])[m],
        "channels": 1.0 - 2.0 * c,
        "algorithm": 1.0 - 2.0 * a,
    }
    y = 50.0 + sum(shapes[name] * np.sqrt(squares / (shapes[name] ** 2).sum()) for name, squares, _ in PARTS)
    rest = (1.0 - 2.0 * c) * (1.0 - 2.0 * a) + np.array([1.0, -2.0, 1.0])[m] * (1.0 - 2.0 * c)
    y = y + rest * np.sqrt(REST[0] / (rest**2).sum())
    levels = (("640", "768", "896"), ("1", "2"), ("demand", "preload"))
    found = analyse(
        Layout(("memory", "channels", "algorithm"), levels, np.column_stack([m, c, a])), y, pool=2
    )
    *terms, error, total = found.rows
    assert [row.f for row in terms] == pytest.approx([36.95, 17.67, 27.96], abs=0.005)
    assert (error.squares, error.freedom) == (pytest.approx(197.89), 7)
    assert (total.squares, total.freedom) == (pytest.approx(3577.24), 11)  # printed 3577.22: rounded parts


def test_pilot_plant() -> None:
    """2³, temperature, concentration, catalyst; yields [Box, Hunter and Hunter 1978, table 10.1 and 10.4]."""
    y = [60.0, 72.0, 54.0, 68.0, 52.0, 83.0, 45.0, 80.0]
    effects = [row.effect for row in yates(y)]
    assert effects == pytest.approx([64.25, 23.0, -5.0, 1.5, 1.5, 10.0, 0.0, 0.5])
    found = analyse(two_level(3), np.array(y), pool=3)
    by_name = {one.source: one.value for one in found.contrasts}
    assert by_name == pytest.approx(
        {"A": 23.0, "B": -5.0, "C": 1.5, "A × B": 1.5, "A × C": 10.0, "B × C": 0.0}, abs=1e-9
    )


def test_process_development() -> None:
    """2⁴, catalyst, temperature, pressure, concentration [Box, Hunter and Hunter 1978, table 10.9].

    Judged as [Lenth 1989] does: s₀ = PSE = 1.125, and margins from t(5) = 2.571 and 5.219, by hand.
    """
    y = [71, 61, 90, 82, 68, 61, 87, 80, 61, 50, 89, 83, 59, 51, 85, 78]
    rows = yates([float(x) for x in y])
    effects = [row.effect for row in rows[1:]]
    printed = [-8, 24, 1, -2.25, 0.75, -1.25, -0.75, -5.5, 0, 4.5, 0.5, -0.25, -0.25, -0.75, -0.25]
    assert effects == pytest.approx(printed)
    judged = lenth(effects)
    assert judged.pseudo_error == pytest.approx(1.125)
    assert judged.margin_by_t == pytest.approx(2.571 * 1.125, abs=0.002)
    assert judged.simultaneous_margin_by_t == pytest.approx(5.219 * 1.125, abs=0.005)
    active = [i for i, p in enumerate(judged.chances) if p < 0.05]
    assert active == [0, 1, 7, 9], "A, B, D and BD, as the book finds"


def test_filtration_rate() -> None:
    """2⁴, temperature, pressure, concentration, stirring [Montgomery, Design and Analysis, ch. 6].

    Effects, sums of squares, and the margins that are printed there beside Lenth's method.
    """
    y = np.array([45, 71, 48, 65, 68, 60, 80, 65, 43, 100, 45, 104, 75, 86, 70, 96], dtype=float)
    found = analyse(two_level(4), y, by_lenth=True)
    by_name = {one.source: one.value for one in found.contrasts}
    wanted = {"A": 21.625, "B": 3.125, "C": 9.875, "D": 14.625, "A × C": -18.125, "A × D": 16.625}
    assert {name: by_name[name] for name in wanted} == pytest.approx(wanted)
    squares = {row.source: row.squares for row in found.rows}
    assert squares["A"] == pytest.approx(1870.56, abs=0.005)
    assert squares["A × C"] == pytest.approx(1314.06, abs=0.005)
    judged = found.lenth
    assert judged is not None
    assert judged.pseudo_error == pytest.approx(2.625)
    assert judged.margin_by_t == pytest.approx(6.748, abs=0.001)
    assert judged.simultaneous_margin_by_t == pytest.approx(13.699, abs=0.001)
