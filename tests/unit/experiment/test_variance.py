"""The analysis of variance: what it finds, what it refuses, how often it is wrong."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satline.errors import InputError
from satline.experiment.designs import fraction_of
from satline.experiment.variance import Layout, analyse, lenth, yates
from satline.present.variance_plots import plots
from satline.simulation._estimate import mean_interval
from satline.simulation._factorial import effects


def layout(*levels: int, replicates: int = 1, block: Any = None) -> Layout:
    cells = list(itertools.product(*(range(n) for n in reversed(levels)))) * replicates
    codes = np.array(cells)[:, ::-1].copy()
    names = tuple("abcdefgh"[: len(levels)])
    return Layout(names, tuple(tuple(str(i) for i in range(n)) for n in levels), codes, block)


def some(one: Layout, keep: Any) -> Layout:
    return Layout(one.names, one.levels, one.codes[keep], None if one.block is None else one.block[keep])


def noise(n: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).normal(100.0, 10.0, n)


def row(found: Any, source: str) -> Any:
    return next(r for r in found.rows if r.source == source)


@given(st.integers(2, 4), st.integers(1, 2), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_yates_least_squares_and_simulated_studies_agree(k: int, replicates: int, seed: int) -> None:
    where = layout(*[2] * k, replicates=replicates)
    y = noise(len(where.codes), seed)
    found = analyse(where, y, pool=k, check=False)
    by_words = {where.words(r.factors): r for r in found.yates}
    for contrast in found.contrasts:
        assert contrast.value == pytest.approx(by_words[contrast.source].effect, abs=1e-9)
        assert row(found, contrast.source).squares == pytest.approx(
            by_words[contrast.source].sum_of_squares, abs=1e-9
        )
    assert sum(r.squares for r in found.rows[:-1]) == pytest.approx(row(found, "total").squares)
    if replicates == 1:
        # As simulated studies have them, the logarithms being y.
        names = [f"f{i}" for i in range(k)]
        study = SimpleNamespace(file=SimpleNamespace(factor=[SimpleNamespace(name=n) for n in names]))
        arms = {}
        for codes, value in zip(where.codes, y, strict=True):
            name = " + ".join(n for n, on in zip(names, codes, strict=True) if on) or "none"
            arms[name] = SimpleNamespace(points=[_Point(math.exp(value / 100.0))])
        (made,) = effects(study, arms, "response_s")  # type: ignore[arg-type]
        for one in made.found:
            place = tuple(int(n[1:]) for n in one.factors)
            wanted = by_words[where.words(place)].effect / 100.0
            assert one.change.value == pytest.approx(math.expm1(wanted), abs=1e-9)


class _Point(SimpleNamespace):
    """A place of a simulated study with one replication."""

    def __init__(self, value: float) -> None:
        super().__init__(given=[value], truncation=0, label={})

    def values(self, _name: str, _cut: int) -> list[float]:
        return list(self.given)

    def estimate(self, _name: str) -> Any:
        return mean_interval(self.given, "replications")


@given(st.permutations(range(24)))
@settings(max_examples=10, deadline=None)
def test_the_order_of_rows_changes_nothing(order: list[int]) -> None:
    where, y = layout(3, 2, 2, replicates=2), noise(24)
    a, b = (analyse(some(where, o), y[o], check=False) for o in (list(range(24)), order))
    assert [r.squares for r in a.rows] == pytest.approx([r.squares for r in b.rows])


def test_planted_effects_lie_in_their_intervals() -> None:
    where = layout(4, 2, 2, replicates=3)
    y = noise(48) - 30.0 * where.codes[:, 0] + 25.0 * where.codes[:, 1]
    found = analyse(where, y)
    planted = {"a": [-30.0, -60.0, -90.0], "b": [25.0], "c": [0.0], "b × c": [0.0]}
    for source, wanted in planted.items():
        seen = [c for c in found.contrasts if c.source == source]
        for contrast, value in zip(seen, wanted, strict=True):
            assert contrast.low <= value <= contrast.high
    assert row(found, "a").adjusted < 0.001
    assert row(found, "c").adjusted > 0.05


def test_a_block_takes_its_difference_away() -> None:
    block = np.repeat([0, 1], 8)
    y = noise(16) + 500.0 * block
    without = analyse(layout(2, 2, 2, replicates=2), y)
    within = analyse(layout(2, 2, 2, replicates=2, block=block), y)
    assert row(within, "blocks").squares > 100.0 * row(within, "error").squares
    assert row(within, "error").freedom == row(without, "error").freedom - 1
    assert row(within, "blocks").adjusted is None


def test_nothing_left_for_the_error_is_refused_with_a_way_out() -> None:
    with pytest.raises(InputError, match="nothing is left for the error") as error:
        analyse(layout(2, 2, 2), noise(8))
    assert "--pool 3" in error.value.hint
    assert "--lenth" in error.value.hint
    assert analyse(layout(2, 2, 2), noise(8), pool=3).rows[-2].freedom == 1
    with pytest.raises(InputError) as error:
        analyse(layout(3), noise(3))
    assert error.value.hint == "replicate the runs"


def test_missing_cells() -> None:
    """Memory of four sizes and two channels, of which one pair could not be run."""
    where = layout(4, 2, 2, replicates=2)
    where = some(where, ~((where.codes[:, 0] == 3) & (where.codes[:, 1] == 1)))
    y = noise(len(where.codes)) + 40.0 * where.codes[:, 1]
    found = analyse(where, y)
    assert row(found, "a × b").freedom == 2
    assert "missing cells take 1 of the degrees of freedom of a × b" in found.notes
    (b,) = (c for c in found.contrasts if c.source == "b")
    assert b.low <= 40.0 <= b.high
    with pytest.raises(InputError, match="type III asks about cells that were not run"):
        analyse(where, y, kind="III")
    assert analyse(where, y, kind="III", pool=2).kind == "III"


def test_main_effects_that_cannot_be_told_apart_are_refused() -> None:
    where = layout(2, 2, replicates=2)
    same = some(where, where.codes[:, 0] == where.codes[:, 1])
    with pytest.raises(InputError, match="effect of b cannot be told from a"):
        analyse(same, noise(4), pool=2)
    with pytest.raises(InputError, match="effect of a cannot be told from the blocks"):
        analyse(Layout(where.names, where.levels, where.codes, where.codes[:, 0]), noise(8))
    parts = layout(3, 2, replicates=2)
    split = some(parts, (parts.codes[:, 0] == 0) == (parts.codes[:, 1] == 0))
    with pytest.raises(InputError, match=r"cannot be told|can be told apart"):
        analyse(split, noise(len(split.codes)), pool=2)


def test_a_fraction_names_what_it_cannot_tell_apart() -> None:
    fraction = fraction_of(5, 2)
    where = layout(*[2] * 5)
    keep = [fraction.holds(int((c << np.arange(5)).sum())) for c in where.codes]
    found = analyse(some(where, np.array(keep)), noise(8), by_lenth=True)
    assert ("a × b", "d") in found.aliases
    assert len(found.contrasts) == 7
    assert found.lenth is not None


def test_pooled_interactions_that_are_real_are_told() -> None:
    where = layout(2, 2, 2, replicates=2)
    clear = analyse(where, noise(16), pool=2)
    assert [part.source for part in clear.error_parts] == ["pooled interactions", "replicates"]
    assert not clear.notes
    both = where.codes[:, 0] ^ where.codes[:, 1]
    assert "some are real" in analyse(where, noise(16) + 100.0 * both, pool=2).notes[0]


def test_all_alike_is_no_crash() -> None:
    found = analyse(layout(2, 2, replicates=2), np.full(8, 7.0))
    assert "fits every run exactly" in found.notes[0]
    with pytest.raises(InputError, match="no noise to be seen"):
        analyse(layout(2, 2, 2), np.full(8, 7.0), by_lenth=True)
    with pytest.raises(InputError, match="needs 5"):
        analyse(layout(2, 2), noise(4), by_lenth=True)


def rate(chances: list[float]) -> float:
    return float(np.mean(np.array(chances) < 0.05))


def test_false_findings_come_at_the_stated_rate() -> None:
    """Of 600 experiments without any effect; three standard errors of a part of 0.05 are 0.027, of 300
    0.038."""
    where = layout(2, 2, 2, replicates=2)
    drawn = np.random.default_rng(11).normal(size=(600, 16))
    one, together, normal = [], [], []
    for number, y in enumerate(drawn):
        found = analyse(where, y, order=np.arange(16.0), check=number < 300)
        terms = [r for r in found.rows if r.chance is not None]
        one.append(terms[0].chance)
        together.append(min(r.adjusted for r in terms))
        if found.checks:
            normal.append(
                [c.chance for c in found.checks if c.name in ("normal", "run order", "spread by a")]
            )
    assert rate(one) == pytest.approx(0.05, abs=0.027)
    assert rate(together) == pytest.approx(0.05, abs=0.027)
    for column in zip(*normal, strict=True):
        assert rate(list(column)) == pytest.approx(0.05, abs=0.038)


def test_false_findings_of_lenths_method_come_at_the_stated_rate() -> None:
    drawn = np.random.default_rng(12).normal(size=(600, 15))
    judged = [lenth([float(x) for x in one]) for one in drawn]
    assert rate([min(one.adjusted) for one in judged]) == pytest.approx(0.05, abs=0.027)
    assert rate([one.chances[0] for one in judged]) == pytest.approx(0.05, abs=0.027)
    assert all(one.margin_by_t > one.margin for one in judged), "t(m/3) is too cautious"


def test_residuals_that_are_not_in_order_are_found() -> None:
    where = layout(2, 2, replicates=6)
    rng = np.random.default_rng(3)
    order = rng.permutation(24).astype(float)

    def chances(y: Any) -> dict[str, float]:
        return {c.name: c.chance for c in analyse(where, y, order=order).checks}

    assert chances(rng.normal(size=24) + 0.5 * order)["run order"] < 0.01
    assert chances(rng.standard_cauchy(size=24))["normal"] < 0.01
    assert chances(rng.normal(size=24) * np.where(where.codes[:, 0], 10.0, 1.0))["spread by a"] < 0.01


def test_plots_are_made_of_every_analysis() -> None:
    where = layout(3, 2, replicates=2)
    names = [plot.name for plot in plots(analyse(where, noise(12)), "reaction_ms")]
    assert names == ["means", "interaction-1-2", "residuals"]
    found = analyse(layout(2, 2, 2), np.log(noise(8)), by_lenth=True, log=True)
    half = plots(found, "reaction_ms")[-1]
    assert half.name == "half-normal"
    assert sum(len(line.marks) for line in half.lines) == 7


def test_yates_needs_a_power_of_two() -> None:
    with pytest.raises(ValueError, match="6 cells"):
        yates([1.0] * 6)
