"""Replicates go where an effect is undecided, and all looks together err no more than stated."""

from __future__ import annotations

import numpy as np
import pytest

from satline.errors import SatlineError
from satline.experiment.search.replicates import Replicate, next_replicate, spending

CONTRASTS = {
    "A": (-0.5, 0.5, -0.5, 0.5),
    "B": (-0.5, -0.5, 0.5, 0.5),
    "AB": (0.5, -0.5, -0.5, 0.5),
}


def _run(means: tuple[float, ...], seed: int, smallest: float = 1.0, most: int = 60) -> tuple[Replicate, int]:
    random = np.random.default_rng(seed)
    cells = [[m + float(random.normal()) for _ in range(2)] for m in means]
    spent, decided = 0.0, {}
    while True:
        found = next_replicate(
            cells, CONTRASTS, smallest=smallest, most_runs=most, spent=spent, decided=decided
        )
        spent = found.spent
        decided = {e.name: e.state for e in found.effects}
        if found.cell is None:
            return found, sum(len(c) for c in cells)
        cells[found.cell].append(means[found.cell] + float(random.normal()))


def test_a_large_effect_needs_few_runs_and_no_effect_is_called_negligible() -> None:
    large, runs = _run((0.0, 4.0, 0.0, 4.0), 1, smallest=2.0)
    states = {e.name: e.state for e in large.effects}
    assert states["A"] == "there"
    assert states["B"] == states["AB"] == "negligible"
    assert runs < 60


def test_all_looks_together_err_no_more_than_stated() -> None:
    """Of effects that are not there, at most 5 % are ever called so: 3 × 100 of them."""
    wrong = sum(e.state == "there" for k in range(100) for e in _run((0.0,) * 4, k)[0].effects)
    assert wrong <= 0.05 * 300 + 2 * (300 * 0.05 * 0.95) ** 0.5


def test_the_next_replicate_goes_to_the_cell_of_the_undecided_contrast_with_fewest() -> None:
    cells = [[0.0, 0.1, -0.1], [0.5, 0.6], [0.0, 0.1, 0.05], [9.0, 9.1]]
    found = next_replicate(cells, {"one": (-1, 1, 0, 0)}, smallest=0.1, most_runs=40, decided={})
    assert found.cell == 1


def test_spending_is_all_of_the_level_at_the_end_and_little_before() -> None:
    assert spending(1.0, 0.05) == pytest.approx(0.05)
    assert spending(0.25, 0.05) < 0.001
    assert spending(0.0, 0.05) == 0


def test_an_empty_cell_and_no_contrast_are_errors() -> None:
    with pytest.raises(SatlineError, match="no observation"):
        next_replicate([[1.0], []], {"A": (-1, 1)}, smallest=1, most_runs=9)
    with pytest.raises(SatlineError, match="contrast"):
        next_replicate([[1.0, 2.0], [1.0]], {"A": (1, 1)}, smallest=1, most_runs=9)
