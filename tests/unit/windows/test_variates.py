"""Throughput of a window corrected for what its users drew."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from satline.windows.variates import Cycles, corrected, model_elasticity

THINK_S = 1.0
# Seconds at light load and shares of two classes.
SECONDS, SHARES = (0.05, 0.8), (0.75, 0.25)
MEAN_S = sum(s * p for s, p in zip(SECONDS, SHARES, strict=True))


def drawn(users: int, until_s: float, seed: int, wait: float = 0.0) -> Cycles:
    """Users at light load; `wait`: mean of an exponential wait in each response."""
    random = np.random.default_rng(seed)
    rows: list[tuple[float, ...]] = []
    for user in range(users):
        now = -random.exponential(THINK_S)
        while now < until_s:
            think, kind = random.exponential(THINK_S), int(random.random() < SHARES[1])
            end = now + think + SECONDS[kind] + (random.exponential(wait) if wait else 0.0)
            rows.append((now, end, think, SECONDS[kind], user))
            now = end
    begin, end, think, seconds, user = np.array(rows).T
    count = len(rows)
    return Cycles(
        user=user.astype(np.int64),
        kind=np.zeros(count, dtype=np.int64),
        begin_s=begin,
        end_s=end,
        pause_s=think,
        think_s=think,
        expected_think_s=np.full(count, THINK_S),
        work=seconds / MEAN_S,
        expected_work=np.ones(count),
        light_s=seconds,
        expected_light_s=np.full(count, MEAN_S),
        paused=np.zeros(count, dtype=np.bool_),
        known_s=np.full(count, np.nan),
    )


def asked_at(cycles: Cycles, known_s: float) -> Cycles:
    """As known at that time: what had not ended by then is open, what had not begun is not there."""
    there = np.flatnonzero(cycles.begin_s < known_s)
    c = Cycles(**{name: getattr(cycles, name)[there] for name in Cycles.__dataclass_fields__})
    is_open = c.end_s > known_s
    nan = np.where(is_open, np.nan, 1.0)
    return replace(
        c,
        end_s=c.end_s * nan,
        pause_s=c.pause_s * nan,
        think_s=c.think_s * nan,
        light_s=c.light_s * nan,
        work=np.where(is_open, 1.0, c.work),
        known_s=np.where(is_open, known_s, np.nan),
    )


def test_a_line_counts_by_its_time_within_the_window() -> None:
    one = drawn(1, 1.0, 1)
    one = Cycles(**{name: getattr(one, name)[:1] for name in Cycles.__dataclass_fields__})
    one = replace(one, begin_s=np.array([6.0]), end_s=np.array([14.0]), work=np.array([4.0]))
    found = corrected(one, 0.0, 10.0, 5, 1, elasticity=0.0)
    assert found.uncorrected * 2 == pytest.approx([0, 0, 0, 1, 1])


def test_at_light_load_the_draws_make_no_difference() -> None:
    """Each user's pace is 1 / (Z + r) then, and nothing else is random."""
    off = []
    for seed in range(5):
        found = corrected(drawn(4, 40.0, seed), 0.0, 20.0, 10, 4, elasticity=1.0)
        assert found.throughput.mean() == pytest.approx(4 / (THINK_S + MEAN_S), rel=1e-9)
        off.append(abs(found.uncorrected.mean() / found.throughput.mean() - 1))
    assert max(off) > 0.05


def test_where_it_is_saturated_work_is_taken_as_it_was_done() -> None:
    cycles = drawn(4, 40.0, 1)
    found = corrected(cycles, 0.0, 20.0, 10, 4, elasticity=0.0)
    assert found.throughput.mean() == pytest.approx(found.uncorrected.mean())
    # Of a count the mix that was drawn is taken out: so many of the mean would have been done in its place.
    counted = replace(cycles, work=np.ones(len(cycles.work)), expected_work=np.ones(len(cycles.work)))
    count = corrected(counted, 0.0, 20.0, 10, 4, elasticity=0.0)
    assert count.throughput.mean() == pytest.approx(found.uncorrected.mean())


@pytest.mark.parametrize("elasticity", [0.0, 0.4, 1.0])
def test_corrections_have_no_bias_and_take_noise_away(elasticity: float) -> None:
    pairs = []
    for seed in range(150):
        found = corrected(drawn(6, 30.0, seed, wait=0.2), 0.0, 10.0, 5, 6, elasticity=elasticity)
        pairs.append((found.uncorrected.mean(), found.throughput.mean()))
    before, after = np.array(pairs).T
    difference = after - before
    assert abs(difference.mean()) < 3.3 * difference.std(ddof=1) / math.sqrt(len(pairs))
    if elasticity == 1.0:
        assert after.var() < 0.05 * before.var()


def test_the_spread_of_blocks_tells_the_windows_error() -> None:
    found = [
        corrected(drawn(6, 30.0, seed, wait=0.3), 0.0, 10.0, 10, 6, elasticity=1.0).throughput
        for seed in range(200)
    ]
    true = np.std([blocks.mean() for blocks in found], ddof=1)
    told = math.sqrt(np.mean([blocks.var(ddof=1) / len(blocks) for blocks in found]))
    assert 0.8 < true / told < 1.25


def test_a_window_may_be_asked_for_at_its_end() -> None:
    early, late = [], []
    for seed in range(200):
        cycles = drawn(6, 30.0, seed, wait=0.3)
        late.append(corrected(cycles, 0.0, 10.0, 5, 6, elasticity=1.0).throughput.mean())
        early.append(corrected(asked_at(cycles, 10.0), 0.0, 10.0, 5, 6, elasticity=1.0).throughput.mean())
    difference = np.array(early) - late
    # Leaving out what is under way would cost some 5 %.
    assert abs(difference.mean()) < 0.01 * np.mean(late)
    assert difference.std() < 0.05 * np.mean(late)


def test_a_user_who_never_answers_has_no_throughput() -> None:
    cycles = drawn(1, 30.0, 1)
    found = corrected(cycles, 0.0, 10.0, 5, 2, elasticity=1.0)
    alone = corrected(cycles, 0.0, 10.0, 5, 1, elasticity=1.0)
    assert found.throughput.mean() == pytest.approx(alone.throughput.mean())
    assert found.open == pytest.approx(0.5)


def test_nothing_stated_is_nothing_corrected() -> None:
    cycles = drawn(4, 40.0, 1)
    nan = np.full(len(cycles.kind), np.nan)
    plain = replace(cycles, expected_think_s=nan, expected_work=nan, expected_light_s=nan)
    found = corrected(plain, 0.0, 20.0, 10, 4, elasticity=1.0)
    assert found.throughput.mean() == pytest.approx(found.uncorrected.mean())
    assert math.isnan(found.think_ratio)
    assert math.isnan(found.work_ratio)


def test_what_others_took_evens_out_between_blocks() -> None:
    cycles = drawn(4, 40.0, 1)
    left = np.array([1.0, 0.5, 1.0, 0.5, 1.0])
    as_it_was = corrected(cycles, 0.0, 20.0, 5, 4, elasticity=0.0)
    found = corrected(cycles, 0.0, 20.0, 5, 4, elasticity=0.0, left=left)
    assert found.throughput == pytest.approx(as_it_was.throughput * 0.8 / left)
    at_light = corrected(cycles, 0.0, 20.0, 5, 4, elasticity=1.0, left=left)
    assert at_light.throughput.mean() == pytest.approx(4 / (THINK_S + MEAN_S), rel=1e-9)


def mean_value_analysis(users: int, delay: float, served: float) -> list[float]:
    """Throughput of 0 … users, thinking for 1: exact for product form."""
    queue, rates = 0.0, [0.0]
    for n in range(1, users + 1):
        response = served * (1 + queue)
        rates.append(n / (1 + delay + response))
        queue = rates[-1] * response
    return rates


@pytest.mark.parametrize(("delay", "served"), [(0.0, 0.2), (0.3, 0.1), (0.05, 0.4)])
@pytest.mark.parametrize("users", [2, 5, 12, 60])
def test_the_elasticity_is_that_of_mean_value_analysis(users: int, delay: float, served: float) -> None:
    rates = mean_value_analysis(users, delay, served)
    true = users * (rates[-1] - rates[-2]) / rates[-1]
    assert model_elasticity(users, rates[-1] / users, delay + served) == pytest.approx(true, abs=1e-4)


def test_elasticity_at_the_ends() -> None:
    assert model_elasticity(1, 0.5) == 1.0
    assert model_elasticity(10, 0.9, alone=1.0) == 1.0
    assert model_elasticity(200, 0.05) == pytest.approx(0.0, abs=1e-6)


def test_a_window_of_which_nothing_is_known_completed_nothing() -> None:
    empty = Cycles(**{name: np.array([]) for name in Cycles.__dataclass_fields__})
    found = corrected(empty, 0.0, 10.0, 5, 3)
    assert found.throughput == pytest.approx(np.zeros(5))
    assert found.open == 1.0


def test_users_of_different_kinds_do_not_err_by_what_their_kinds_differ() -> None:
    """How many users there are of each kind is no chance: at light load nothing else is random."""
    one, other = drawn(6, 40.0, 1), drawn(6, 40.0, 2)
    heavy = replace(
        other,
        user=other.user + 6,
        kind=other.kind + 1,
        work=other.work * 20,
        expected_work=other.expected_work * 20,
    )
    both = Cycles(
        **{
            name: np.concatenate([getattr(one, name), getattr(heavy, name)])
            for name in Cycles.__dataclass_fields__
        }
    )
    found = corrected(both, 0.0, 20.0, 10, 12, elasticity=1.0).throughput
    assert found.std(ddof=1) / math.sqrt(len(found)) < 0.01 * found.mean()
