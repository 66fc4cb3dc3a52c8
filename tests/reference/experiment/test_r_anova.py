"""Sums of squares, F and distributions against base R; make_r_anova.R says how its numbers were made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from satline.experiment.variance import Layout, analyse, lenth, replicates_needed
from satline.experiment.variance._power import power_of_contrast
from satline.stats import f_power, f_tail, holm, t_quantile

R: dict[str, Any] = json.loads(Path(__file__).with_name("r_anova.json").read_text(encoding="utf-8"))


def table(name: str) -> tuple[Layout, Any]:
    case = R[name]
    codes = np.column_stack([case[f] for f in "abc"]) - 1
    levels = tuple(tuple(str(i + 1) for i in range(codes[:, k].max() + 1)) for k in range(3))
    return Layout(("a", "b", "c"), levels, codes), np.array(case["y"])


@pytest.mark.parametrize("name", ["balanced", "unbalanced", "missing"])
def test_type_ii_agrees(name: str) -> None:
    found = analyse(*table(name))
    by_name = {row.source: row for row in found.rows}
    case = R[name]
    for n, term in enumerate(case["terms"]):
        row = by_name[term]
        assert row.freedom == case["freedom"][n]
        assert row.squares == pytest.approx(case["squares_ii"][n], rel=1e-9)
        assert row.f == pytest.approx(case["f"][n], rel=1e-9)
        assert row.chance == pytest.approx(case["p"][n], rel=1e-9)
    assert (by_name["error"].squares, by_name["error"].freedom) == pytest.approx(case["error"], rel=1e-9)


@pytest.mark.parametrize("name", ["balanced", "unbalanced"])
def test_type_iii_agrees(name: str) -> None:
    found = analyse(*table(name), kind="III")
    squares = [row.squares for row in found.rows if row.source in R[name]["terms"]]
    assert squares == pytest.approx(R[name]["squares_iii"], rel=1e-9)


def test_types_differ_where_cells_are_unequal() -> None:
    assert R["unbalanced"]["squares_ii"][0] != pytest.approx(R["unbalanced"]["squares_iii"][0], rel=1e-3)


def test_distributions_agree() -> None:
    case = R["distributions"]
    grid = list(zip(case["f"], case["above"], case["below"], case["shift"], strict=True))
    assert [f_tail(f, a, b) for f, a, b, _ in grid] == pytest.approx(case["tail"], rel=1e-10)
    assert [f_power(*one) for one in grid] == pytest.approx(case["power"], abs=1e-9)
    made = [t_quantile(c, v) for c, v in zip(R["t"]["confidence"], R["t"]["freedom"], strict=True)]
    assert made == pytest.approx(R["t"]["quantile"], rel=1e-10)
    assert holm(R["holm"]["p"]) == pytest.approx(R["holm"]["adjusted"])


def test_the_power_of_two_groups_agrees() -> None:
    n, power = R["two_groups"]["n"][0], R["two_groups"]["power"][0]
    needed = replicates_needed([2], 0.2, 0.15)
    assert needed is not None
    assert needed.replicates == n
    assert needed.power == pytest.approx(power, abs=1e-9)
    assert power_of_contrast(0.2, 0.15 * (2 / n) ** 0.5, 2 * n - 2) == pytest.approx(power, abs=1e-9)


def test_margins_of_lenths_method_agree_with_a_simulation_in_r() -> None:
    case = R["lenth"]
    for m, one, largest in zip(case["m"], case["one"], case["largest"], strict=True):
        judged = lenth([float(x) for x in np.linspace(-1.0, 1.0, m)])
        assert judged.margin / judged.pseudo_error == pytest.approx(one, rel=0.01)
        assert judged.simultaneous_margin / judged.pseudo_error == pytest.approx(largest, rel=0.02)
