"""Warm-up, batch means, intervals, paired differences: on series whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satline.simulation import Estimate, batch_means, mser, paired
from satline.simulation._estimate import mean_interval
from satline.simulation._precise import Goal
from satline.stats import t_quantile

# Student's t, two-sided 95 %: [Abramowitz and Stegun, table 26.10].
PUBLISHED = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 10: 2.228, 30: 2.042, 120: 1.980}


@pytest.mark.parametrize(("freedom", "t"), PUBLISHED.items())
def test_t_is_the_published_one(freedom: int, t: float) -> None:
    assert t_quantile(0.95, freedom) == pytest.approx(t, abs=6e-4)


def test_t_goes_over_into_the_normal_distribution() -> None:
    assert t_quantile(0.95, 100_000) == pytest.approx(1.959964, abs=1e-4)
    assert t_quantile(0.95, 9_999) == pytest.approx(t_quantile(0.95, 10_001), abs=1e-3)


def test_an_interval_of_five_by_hand() -> None:
    found = mean_interval([1.0, 2.0, 3.0, 4.0, 5.0], "replications")
    assert (found.value, found.n) == (3.0, 5)
    assert found.half_width == pytest.approx(2.776 * math.sqrt(2.5 / 5), rel=1e-3)
    assert mean_interval([1.0], "replications").half_width is None
    assert mean_interval([], "replications").value is None


def ar1(random: np.random.Generator, many: int, length: int, phi: float) -> np.ndarray:
    """Series of mean 0, variance 1, autocorrelation φ^k, one in each row."""
    x = random.normal(size=(many, length))
    x[:, 1:] *= math.sqrt(1 - phi * phi)
    for i in range(1, length):
        x[:, i] += phi * x[:, i - 1]
    return x


def test_mser_finds_the_end_of_a_known_transient() -> None:
    random = np.random.default_rng(1)
    for length in (10, 30, 60):
        found = []
        for _ in range(20):
            series = random.normal(size=200)
            series[:length] += 8.0
            found.append(mser(series))
        assert all(one.valid for one in found)
        assert length <= np.median([one.batches for one in found]) <= length + 8
        assert all(one.batches >= length for one in found)


def test_mser_leaves_a_settled_series_nearly_whole_and_refuses_a_drift() -> None:
    random = np.random.default_rng(2)
    settled = [mser(random.normal(size=200)).batches for _ in range(40)]
    assert np.median(settled) < 20
    assert not mser(np.linspace(0.0, 1.0, 200) + random.normal(size=200) * 0.01).valid
    assert not mser([1.0, 2.0]).valid  # too few to say anything


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9])
def test_mser_leaves_a_constant_series_whole(value: float) -> None:
    found = mser(np.full(100, value))
    assert (found.batches, found.valid) == (0, True)


def test_mser_stops_where_a_series_becomes_constant() -> None:
    found = mser([1.0, 4.0, 5.9, *[6.0] * 97])
    assert (found.batches, found.valid) == (3, True)


def test_mser_steps_over_what_is_missing() -> None:
    series = np.r_[np.full(20, 9.0), np.tile([1.0, 2.0], 60)]
    series[::7] = np.nan
    found = mser(series)
    assert 17 <= found.batches <= 22
    assert mser([math.nan] * 20).batches == 0


@given(st.lists(st.floats(-1e6, 1e6), max_size=60))
@settings(max_examples=60, deadline=None)
def test_mser_keeps_something_whatever_comes(values: list[float]) -> None:
    found = mser(values)
    assert 0 <= found.batches <= max(0, len(values) - 1)
    assert found.valid == (len(values) >= 10 and found.batches <= len(values) // 2)


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_batch_means_hold_the_truth_as_often_as_they_say(phi: float) -> None:
    random = np.random.default_rng(3)
    held = 0
    for series in ar1(random, 300, 1500, phi):
        found = batch_means(5.0 + series)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 5.0 <= found.high
    # 300 intervals of 95 % vary by 1.3 %; von Neumann's test costs strongly correlated series a little.
    assert 0.905 <= held / 300 <= 0.985


def test_textbook_intervals_of_a_correlated_series_would_be_far_too_narrow() -> None:
    random = np.random.default_rng(4)
    (x,) = ar1(random, 1, 1500, 0.9)
    textbook = 1.96 * x.std() / math.sqrt(len(x))
    half = batch_means(x).half_width
    assert half is not None
    assert half > 2.5 * textbook


def test_a_mean_per_transaction_counts_transactions_not_periods() -> None:
    random = np.random.default_rng(5)
    n = random.poisson(4.0, 800).astype(float)
    response = 2.0 + 0.1 * random.normal(size=800)
    found = batch_means(n * response, n)
    assert found.value == pytest.approx(float((n * response).sum() / n.sum()))
    assert found.half_width is not None
    assert abs(found.value - 2.0) < 2 * found.half_width < 0.1
    none = batch_means(np.zeros(800), np.zeros(800))
    assert none.value is None


def test_a_short_or_drifting_series_says_so() -> None:
    short = batch_means([1.0, 2.0, 3.0])
    assert short.half_width is None
    assert "run longer" in short.note
    assert "run longer" in batch_means(np.linspace(0, 1, 400)).note


def test_common_random_numbers_take_variance_away() -> None:
    random = np.random.default_rng(6)
    common = random.normal(size=30)
    a = (10 + common + 0.1 * random.normal(size=30)).tolist()
    b = (11 + common + 0.1 * random.normal(size=30)).tolist()
    found = paired(a, b)
    assert found.variance_reduction is not None
    assert found.variance_reduction > 0.95
    assert found.difference.half_width is not None
    assert abs((found.difference.value or 0) - 1) < found.difference.half_width < 0.1
    assert found.sure
    assert found.relative == pytest.approx(0.1, rel=0.1)
    apart = paired(a, b[::-1])
    assert apart.difference.half_width is not None
    assert apart.difference.half_width > 3 * found.difference.half_width


def test_a_missing_value_leaves_its_pair_out() -> None:
    found = paired([1.0, None, 3.0], [2.0, 5.0, 4.0])
    assert (found.difference.value, found.difference.n) == (1.0, 2)
    assert paired([None], [1.0]).difference.value is None


def test_precision_is_asked_of_the_true_value() -> None:
    goal = Goal.parse("response_s:10%")
    assert goal.allowed(Estimate.around(11.0, 1.0, 5, "replications")) == pytest.approx(1.0)
    assert goal.reached(Estimate.around(11.0, 0.99, 5, "replications"))
    assert not goal.reached(Estimate.around(11.0, 1.01, 5, "replications"))
    assert not goal.reached(Estimate(None, None, None, 5, "replications"))
    assert not goal.reached(Estimate.around(0.0, 1.0, 5, "replications"))
    assert goal.needed(Estimate.around(11.0, 1.01, 5, "replications"), 100) == 6
    assert (
        goal.needed(Estimate.around(11.0, 50.0, 5, "replications"), 100) == 10
    )  # never more than twice as many
    assert goal.needed(Estimate.around(11.0, 50.0, 5, "replications"), 7) == 7
