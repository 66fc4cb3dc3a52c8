"""Differences at equal load, on pairs whose difference is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pairs import Case, made

from satline.comparison._blocks import detectable, make_side
from satline.comparison._held import Blocks, hold, placebo
from satline.comparison._matched import make_cells
from satline.comparison._periods import Observed
from satline.comparison._results import Estimate
from satline.comparison._trade_off import trade_off

CASE = Case("", days=8, every_s=300.0)


def pair(case: Case, seed: int = 1) -> tuple[Observed, Observed]:
    return made(case, np.random.default_rng(seed))


def relative(seen: tuple[Observed, Observed]) -> Estimate:
    found = hold(seen, "active_users", 50, Blocks.of(seen)).matched
    assert found is not None
    assert found.relative is not None
    return found.relative


def test_a_large_effect_is_found_where_raw_means_say_the_opposite() -> None:
    seen = pair(replace(CASE, effect=-0.3, shift=1.5))
    raw = [o.values.sum() / o.weights.sum() for o in seen]
    assert raw[1] > raw[0]
    found = relative(seen)
    assert found.low is not None
    assert found.high is not None
    assert found.high < 0
    assert found.low < -0.3 < found.high


def test_intervals_hold_no_effect_about_as_often_as_they_say() -> None:
    held = 0
    for seed in range(30):
        found = relative(pair(replace(CASE, days=6, shift=1.2, every_s=600.0), seed))
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0 <= found.high
    assert held >= 25  # of 30 at 95 %: fewer than 25 have a chance of 1 in 300


def test_successive_observations_that_resemble_each_other_widen_the_interval() -> None:
    alone = replace(CASE, days=2, all_day=True, every_s=60.0, day_sd=0.0, correlation_s=1.0)
    widths = []
    for case in (alone, replace(alone, correlation_s=3600.0)):
        found = [relative(pair(case, seed)).error for seed in range(3)]
        widths.append(np.mean([e for e in found if e is not None]))
    assert widths[1] > 1.5 * widths[0]


def test_days_are_blocks_where_there_are_five_then_hours_then_batches() -> None:
    assert Blocks.of(pair(CASE)).words == "days"
    assert Blocks.of(pair(replace(CASE, days=2))).words == "hours"
    assert Blocks.of(pair(replace(CASE, days=2, all_day=True))).words == "2-hour pieces"
    assert Blocks.of(pair(replace(CASE, days=1))).words.startswith("batches")


def test_too_few_blocks_have_no_interval() -> None:
    seen = pair(replace(CASE, days=1))
    few = tuple(o.part(o.middle_s - o.middle_s[0] < 1500) for o in seen)
    found = hold((few[0], few[1]), "active_users", 1, Blocks.of((few[0], few[1]))).matched
    if found is not None and found.relative is not None:
        assert found.relative.low is None
        assert found.detectable is None


def test_without_a_load_in_common_nothing_is_compared() -> None:
    before, after = pair(CASE)
    far = replace(after, load=after.load + 1000)
    assert hold((before, far), "active_users", 50, Blocks.of((before, far))).matched is None


def test_what_lies_outside_the_common_loads_is_told() -> None:
    before, after = pair(CASE)
    light = replace(before, load=np.where(before.load > 15, np.nan, before.load))
    found = hold((light, after), "active_users", 50, Blocks.of((light, after))).matched
    assert found is not None
    assert found.high <= 16  # a cell holds two loads
    heavy = (after.load > found.high) & (after.weights > 0)
    assert found.outside[1] == pytest.approx(heavy.sum() / (after.weights > 0).sum(), abs=0.02)
    assert found.outside[0] == pytest.approx(0.0, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.floats(0.2, 5.0), st.integers(0, 5))
def test_the_unit_of_the_measure_does_not_matter(factor: float, seed: int) -> None:
    before, after = pair(replace(CASE, days=5, every_s=900.0, effect=0.1), seed)
    plain = relative((before, after))
    scaled = relative(
        (replace(before, values=before.values * factor), replace(after, values=after.values * factor))
    )
    assert scaled.value == pytest.approx(plain.value, rel=1e-6)
    assert scaled.low == pytest.approx(plain.low, rel=1e-6)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 20))
def test_changing_sides_turns_the_difference_round(seed: int) -> None:
    before, after = pair(replace(CASE, days=5, every_s=900.0, effect=-0.2), seed)
    there, back = (
        hold(s, "active_users", 50, Blocks.of(s)).matched for s in ((before, after), (after, before))
    )
    assert there is not None
    assert back is not None
    assert there.difference.value == pytest.approx(-back.difference.value)
    assert there.before == pytest.approx(back.after)


def test_a_measure_that_may_be_negative_has_a_difference_and_no_percent() -> None:
    before, after = pair(CASE)
    low, high = (replace(o, values=o.values - 10 * o.weights) for o in (before, after))
    found = hold((low, high), "active_users", 50, Blocks.of((low, high))).matched
    assert found is not None
    assert found.relative is None
    assert found.difference.low is not None


def test_a_change_within_before_shows_in_the_placebo() -> None:
    case = replace(CASE, days=12, day_sd=0.01)
    before, _ = pair(case)
    blocks = Blocks("days", True, 0)
    calm = placebo(before, "active_users", blocks)
    assert calm is not None
    jumped = replace(before, values=np.where(before.day < 6, before.values, 1.5 * before.values))
    found = placebo(jumped, "active_users", blocks)
    assert found is not None
    assert found.sure
    assert found.value > 0.3


def test_what_could_have_been_detected_is_more_than_half_the_interval() -> None:
    found = relative(pair(CASE))
    least = detectable(found)
    assert least is not None
    assert found.error is not None
    assert least > 2.5 * found.error


def test_blocks_are_drawn_as_often_as_there_are_but_one() -> None:
    block = np.repeat(np.arange(10), 4)
    side = make_side(block, np.zeros(40), np.zeros(40, dtype=np.int64), True, 0)
    assert side.count == 10
    assert (side.draws.sum(axis=1) == 9).all()
    assert side.effective(np.ones((10, 1))) == pytest.approx(10)
    assert side.effective(np.array([[1.0], [0.0]] + [[0.0]] * 8)) == pytest.approx(1)


def test_cells_are_single_loads_where_observations_suffice_and_wider_where_not() -> None:
    random = np.random.default_rng(1)
    many = random.integers(1, 9, 1000).astype(float)
    cells = make_cells((many, many), whole=True, users=True, steps=False)
    assert cells.low.tolist() == list(range(1, 9))
    few = random.integers(1, 400, 200).astype(float)
    cells = make_cells((few, few), whole=True, users=True, steps=False)
    assert 5 <= cells.count <= 30
    assert (cells.of[0] >= 0).all()
    steps = np.repeat([5.0, 10.0, 20.0], 30)
    assert make_cells((steps, steps), whole=True, users=True, steps=True).low.tolist() == [5, 10, 20]


def test_an_observation_without_users_has_no_load() -> None:
    load = np.array([0.0, np.nan, 1.0, 2.0] * 10)
    cells = make_cells((load, load), whole=True, users=True, steps=False)
    assert (cells.of[0].reshape(-1, 4) >= 0).all(axis=0).tolist() == [False, False, True, True]


@given(st.integers(2, 40), st.integers(1, 6))
def test_equal_blocks_in_every_cell_leave_the_width_as_the_draws_make_it(blocks: int, cells: int) -> None:
    side = make_side(np.arange(blocks), np.zeros(blocks), np.zeros(blocks, dtype=np.int64), True, 0)
    short = replace(side, unsure=0.1)
    share = np.full(cells, 1 / cells)
    assert short.scatter(np.ones((blocks, cells)), share).wider == pytest.approx(1.0)
    # A cell that only one block has seen tells nothing of its scatter.
    alone = np.ones((blocks, cells))
    alone[1:, 0] = 0.0
    wider = short.scatter(alone, share).wider
    assert wider > 1.0 or wider == np.inf


def test_likeness_that_is_estimated_costs_degrees_of_freedom() -> None:
    side = make_side(np.arange(24), np.zeros(24), np.zeros(24, dtype=np.int64), True, 0)
    totals = np.ones((24, 1))
    assert side.scatter(totals).freedom == pytest.approx(23)
    assert replace(side, unsure=4 / 24).scatter(totals).freedom == pytest.approx(1 / (1 / 23 + 2 / 24))


def test_a_curve_has_a_band_up_to_its_greatest_throughput() -> None:
    seen = pair(replace(CASE, effect=-0.2, shift=1.1))
    held = hold(seen, "active_users", 50, Blocks.of(seen))
    found = trade_off(held.sides, held.cells, held.seen, "problem_state", "", 50)
    assert found is not None
    for band, points in zip(found.bands, (found.before, found.after), strict=True):
        assert len(band) > 10
        assert all(b.low < b.measure < b.high for b in band)
        assert [b.throughput for b in band] == sorted(b.throughput for b in band)
        assert band[-1].throughput <= max(p.throughput.value for p in points) * (1 + 1e-9)
    # The curves lie a fifth apart: at light load their bands do too.
    assert found.bands[1][3].high < found.bands[0][3].low
