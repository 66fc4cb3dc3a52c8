"""The Linearizer, Bard and Schweitzer, what is said of their errors, and bounds."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satline.errors import InputError
from satline.prediction import (
    CustomerClass,
    Network,
    Station,
    bounds,
    exact_classes,
    exact_single,
    linearizer,
    saturation_users,
    schweitzer,
    solve,
)

sys.path.insert(0, str(Path(__file__).parents[3] / "benches/prediction"))
from grid import central_server, networks


def exact(network: Network) -> np.ndarray:
    made = exact_single(network) if len(network.classes) == 1 else exact_classes(network)
    return made.response_s


def test_the_linearizer_is_closer_than_schweitzer_on_a_grid() -> None:
    near, far = [], []
    for network in networks(30, first=5001):
        truth = exact(network)
        near.append(np.abs(linearizer(network).response_s / truth - 1).max())
        far.append(np.abs(schweitzer(network).response_s / truth - 1).max())
    assert np.median(near) < 0.25 * np.median(far)
    assert np.mean(np.array(near) <= np.array(far)) > 0.9


def test_stated_errors_hold_for_networks_that_they_were_not_measured_on() -> None:
    for method in ("linearizer", "schweitzer"):
        within = []
        for network in networks(30, first=7001):
            made = solve(network, method)
            assert made.accuracy is not None
            within.append(np.abs(made.response_s / exact(network) - 1).max() <= made.accuracy.response_p95)
        assert np.mean(within) > 0.8


@given(
    st.integers(0, 30),
    st.integers(1, 30),
    st.floats(0, 10),
    st.lists(st.floats(0, 2), min_size=1, max_size=4),
)
@settings(max_examples=40, deadline=None)
def test_approximations_keep_littles_law(a: int, b: int, think: float, demands: list[float]) -> None:
    places = tuple(Station(f"s{k}", (d, 0.5 * d), servers=1 + k % 2) for k, d in enumerate([0.3, *demands]))
    network = Network((CustomerClass("a", a, think), CustomerClass("b", b, 1.0)), places)
    # the Linearizer is not held below full use; Bard and Schweitzer are
    for made, most in ((linearizer(network), 1.02), (schweitzer(network), 1 + 1e-6)):
        count = made.throughput * (network.think_s + made.response_s)
        assert count == pytest.approx([a, b], rel=1e-6, abs=1e-6)
        assert (made.utilisation <= most).all()


def test_one_user_alone_is_exact() -> None:
    network = central_server(1)
    for method in (linearizer, schweitzer):
        assert method(network).response_s[0] == pytest.approx(0.37, rel=1e-6)


def test_auto_is_exact_where_that_is_feasible() -> None:
    assert solve(central_server()).method == "exact"
    assert solve(central_server()).accuracy is None
    many = Network(
        tuple(CustomerClass(f"c{k}", 200, 5.0) for k in range(4)), (Station("cpu", (0.01, 0.02, 0.03, 0.04)),)
    )
    assert solve(many).method == "linearizer"


def test_speeds_of_ones_own_have_no_approximation() -> None:
    network = Network((CustomerClass("u", 3, 1.0),), (Station("odd", (1.0,), speeds=(1.0, 3.0)),))
    with pytest.raises(InputError, match="only exact analysis"):
        solve(network, "linearizer")


@given(
    st.integers(1, 60),
    st.floats(0, 20),
    st.lists(
        st.tuples(st.floats(0.01, 3), st.sampled_from([0.5, 1.0, 1.0, 2.0, 2.5])), min_size=1, max_size=4
    ),
)
@settings(max_examples=40, deadline=None)
def test_exact_results_lie_within_the_bounds(
    users: int, think: float, given: list[tuple[float, float]]
) -> None:
    network = Network(
        (CustomerClass("u", users, think),),
        (
            *(Station(f"s{k}", (d,), servers=m) for k, (d, m) in enumerate(given)),
            Station("line", (0.5,), "delay"),
        ),
    )
    made, b = exact_single(network), bounds(network)
    slack = 1 + 1e-9
    rate, response = float(made.throughput[0]), float(made.response_s[0])
    assert b.throughput_low <= rate * slack
    assert rate <= b.throughput_high * slack
    assert b.response_low_s <= response * slack
    assert response <= b.response_high_s * slack
    if b.balanced_low is not None and b.balanced_high is not None:
        assert b.throughput_low <= b.balanced_low * slack
        assert b.balanced_low <= rate * slack
        assert rate <= b.balanced_high * slack
        assert b.balanced_high <= b.throughput_high * slack


def test_the_central_server_saturates_at_104_users() -> None:
    # N* = (ΣD + Z) / D_max = 10.37 / 0.1
    assert saturation_users(central_server()) == pytest.approx(103.7)
    delay = Network((CustomerClass("u", 5, 1.0),), (Station("line", (2.0,), "delay"),))
    assert saturation_users(delay) == np.inf
