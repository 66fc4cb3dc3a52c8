"""Correlation at equal load, lasting steps, and many comparisons at once."""

from __future__ import annotations

import numpy as np
import pytest

from satline.diagnosis._change import factor, largest_step
from satline.diagnosis._partial import partial_correlation, ranks
from satline.stats import false_discoveries

CLASSES, EACH, BLOCK = 8, 48, 6


def study(seed: int) -> tuple[np.random.Generator, np.ndarray, np.ndarray, np.ndarray]:
    """A generator; load, class and block of the observations of a study."""
    number = np.repeat(np.arange(CLASSES), EACH)
    return np.random.default_rng(seed), 2.0 ** (number / 2), number, np.arange(len(number)) // BLOCK


def test_what_merely_grows_with_load_is_not_correlated_at_equal_load() -> None:
    random, load, number, batches = study(1)
    a = load**2 + random.normal(0, 1, len(load))
    b = np.exp(load / 4) + random.normal(0, 1, len(load))
    assert np.corrcoef(a, b)[0, 1] > 0.9
    found = partial_correlation(a, b, load, number, batches)
    assert found is not None
    assert found.low < 0 < found.high


def test_what_belongs_together_at_equal_load_is_found_whatever_load_does() -> None:
    random, load, number, batches = study(2)
    common = random.normal(0, 1, len(load))
    a = 5 * load + common
    b = -3 * load + common + 0.3 * random.normal(0, 1, len(load))
    assert np.corrcoef(a, b)[0, 1] < -0.9
    found = partial_correlation(a, b, load, number, batches)
    assert found is not None
    assert found.low > 0.8


@pytest.mark.parametrize("correlated", [False, True])
def test_its_interval_holds_the_truth_about_as_often_as_it_says(correlated: bool) -> None:
    held, false = 0, 0
    for seed in range(300):
        random, load, number, batches = study(seed)
        # Observations within a block depend on each other: single ones would pretend to know more.
        shared, own = random.normal(0, 1, (2, len(load) // BLOCK)).repeat(BLOCK, axis=1)
        a = load + shared
        b = load**1.5 + (0.6 * shared + 0.8 * own if correlated else own)
        found = partial_correlation(a, b, load, number, batches)
        assert found is not None
        held += found.low <= (0.6 if correlated else 0.0) <= found.high
        false += found.p < 0.05
    assert held >= 275
    assert false > 280 if correlated else false < 25


def test_too_little_or_nothing_that_varies_gives_no_correlation() -> None:
    random, load, number, batches = study(3)
    noise = random.normal(0, 1, len(load))
    assert partial_correlation(load, noise, load, number, batches) is None
    assert partial_correlation(noise, np.full(len(load), np.nan), load, number, batches) is None
    few = slice(0, 12)
    assert partial_correlation(noise[few], noise[few], load[few], number[few], batches[few]) is None


def test_ranks_share_ties_and_leave_gaps() -> None:
    found = ranks(np.array([5.0, np.nan, 5.0, 1e300, -2.0]))
    assert found[[0, 2, 3, 4]].tolist() == [2.5, 2.5, 4.0, 1.0]
    assert np.isnan(found[1])


def test_many_comparisons_are_held_to_a_stricter_measure() -> None:
    # The worked example of Benjamini and Hochberg (1995): of 15 p-values, four are discoveries at 0.05.
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
    p += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]
    assert (false_discoveries(p) <= 0.05).tolist() == [True] * 4 + [False] * 11
    assert (false_discoveries([0.04]) <= 0.05).tolist() == [True]
    assert (false_discoveries([0.04, 0.9, 0.8]) <= 0.05).tolist() == [False] * 3
    assert false_discoveries([]).tolist() == []


def test_a_lasting_step_is_found_where_it_is() -> None:
    random = np.random.default_rng(4)
    values = random.normal(0, 0.2, 600) + np.where(np.arange(600) < 400, 0, np.log(3))
    step = largest_step(values, np.arange(600) // 10)
    assert step is not None
    assert step.p < 0.01
    assert abs(step.at - 400) <= 10
    middle, low, high = factor(step)
    assert low < 3 < high
    assert middle == pytest.approx(3, rel=0.1)


def test_noise_shows_a_step_no_more_often_than_it_may() -> None:
    random = np.random.default_rng(5)
    batches = np.arange(200) // 5
    steps = [largest_step(random.normal(0, 1, 200), batches, seed=k) for k in range(60)]
    assert sum(step is not None and step.p < 0.05 for step in steps) <= 8
    assert largest_step(np.ones(200), batches) is None
    assert largest_step(random.normal(0, 1, 20), batches[:20]) is None
