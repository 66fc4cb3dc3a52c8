"""Load classes, standard errors and batches."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from satline.reduction._classes import assign, distinct_classes, merged_classes
from satline.reduction._curves import make_batches
from satline.reduction._statistics import point
from satline.reduction._variables import variables


def test_worked_example_of_the_specification() -> None:
    # n = 4, 16, 9, 4; sd 30, 40, 30, 40 → standard errors 15, 10, 10, 20
    for n, sd, expected in ((4, 30, 15), (16, 40, 10), (9, 30, 10), (4, 40, 20)):
        values = np.linspace(-1, 1, n)
        values = 50 + values / values.std(ddof=1) * sd
        result = point(values, np.arange(n))
        assert result.mean == pytest.approx(50)
        assert result.standard_error == pytest.approx(expected)


def test_honest_error_of_independent_observations_is_the_textbook_one() -> None:
    values = np.random.default_rng(1).normal(size=20_000)
    result = point(values, np.arange(20_000) // 50)
    assert result.honest_error == pytest.approx(result.standard_error, rel=0.1)
    assert result.effective_n is not None
    assert result.effective_n > 15_000


def test_honest_error_of_autocorrelated_observations() -> None:
    # AR(1) with φ = 0.9: the variance of the mean is (1+φ)/(1−φ) = 19 times that of independent observations
    random, n = np.random.default_rng(2), 200_000
    noise, values = random.normal(size=n), np.zeros(n)
    for k in range(1, n):
        values[k] = 0.9 * values[k - 1] + noise[k]
    result = point(values, np.arange(n) // 450)
    assert result.honest_error is not None
    assert result.standard_error is not None
    assert (result.honest_error / result.standard_error) ** 2 == pytest.approx(19, rel=0.25)
    assert result.effective_n == pytest.approx(n / 19, rel=0.25)


def test_weighted_mean_is_the_ratio_of_sums() -> None:
    whole, part = np.array([1.0, 4.0, 5.0]), np.array([1.0, 1.0, 0.0])
    assert point(part / whole, np.arange(3), whole).mean == pytest.approx(0.2)


def test_missing_values_are_left_out_and_few_batches_give_no_honest_error() -> None:
    result = point(np.array([1.0, np.nan, 3.0]), np.zeros(3, dtype=np.int64))
    assert (result.n, result.mean, result.honest_error, result.effective_n) == (2, 2.0, None, None)
    assert point(np.array([np.nan]), np.zeros(1, dtype=np.int64)).mean is None


def test_classes_of_two_users_each_with_enough_observations() -> None:
    load = np.repeat(np.arange(1.0, 9.0), 30)
    assert merged_classes(load) == [(1, 2), (3, 4), (5, 6), (7, 8)]
    assert merged_classes(np.repeat(np.arange(1.0, 9.0), 13)) == [(1, 4), (5, 8)]
    assert merged_classes(np.array([0.0, 0.0])) == []
    assert distinct_classes(np.array([4.0, 1.0, 4.0, np.nan])) == [(1, 1), (4, 4)]


@given(st.lists(st.integers(0, 200), max_size=400), st.integers(1, 60))
def test_classes_cover_every_load_once(loads: list[int], at_least: int) -> None:
    load = np.array(loads, dtype=float)
    bounds = merged_classes(load, at_least=at_least)
    number = assign(load, bounds, exact=False)
    assert (number[load >= 1] >= 0).all()
    assert (number[load < 1] == -1).all()
    assert all(a[1] < b[0] for a, b in pairwise(bounds))
    if (load >= 1).sum() >= at_least:
        assert all((number == k).sum() >= at_least for k in range(len(bounds)))


def test_batches_never_cross_stretches() -> None:
    stretch = np.repeat([1.0, 2.0, 3.0], [20, 20, 7])
    batches = make_batches(stretch)
    for value in (1.0, 2.0, 3.0):
        assert not set(batches[stretch == value]) & set(batches[stretch != value])
    assert len(set(batches[:20])) == 5


def test_every_derived_variable_has_words_a_unit_and_known_names() -> None:
    catalogue = variables()
    names = [d.name for d in catalogue.derived]
    assert len(set(names)) == len(names)
    columns = {c for t in catalogue.counters for c in (*catalogue.counters[t], *catalogue.levels[t])}
    bases = {
        "capacity",
        "processors",
        "period_s",
        "page_bytes",
        "users_with_cpu",
        "user_cpu_largest_us",
        "task_busiest_us",
        "device_busiest_us",
        "device_inside_us",
        "transactions_completed",
        "transactions_failed",
        "transaction_seconds",
        "transaction_work_seconds",
        "transaction_work_alone",
        "transaction_work_here",
        "response_us",
        "reaction_us",
        "think_us",
        "typing_us",
        "interactive",
        "elapsed_us",
    }
    above: set[str] = set()
    for d in catalogue.derived:
        assert d.unit, d.name
        assert d.meaning, d.name
        for name in d.names:
            bare = name.removeprefix("d_")
            plain = {bare, *(bare.removeprefix(prefix) for prefix in ("user_", "cgroup_", "swapper_"))}
            assert name in bases | above or plain & columns, (d.name, name)
        above.add(d.name)
