"""Chains by repetition, with and without work that goes first; non-negative least squares."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satline.prediction import CustomerClass, Network, Station, exact_classes, linearizer, schweitzer
from satline.prediction._chains import Chains, approximate, refined

PARTS = st.floats(0.0, 1.0, allow_subnormal=False)


def plain(needed: np.ndarray, pause: np.ndarray) -> Chains:
    return Chains(needed, np.zeros_like(needed), np.eye(needed.shape[2]), pause)


@settings(max_examples=30)
@given(
    st.lists(st.tuples(PARTS, PARTS, PARTS), min_size=2, max_size=3),
    st.lists(st.integers(0, 30), min_size=3, max_size=3),
)
def test_without_priorities_it_is_the_known_approximations(
    demands: list[tuple[float, float, float]], users: list[int]
) -> None:
    needed = np.array(demands)
    chains = len(needed)
    classes = tuple(CustomerClass(f"{c}", users[c], 5.0 + c) for c in range(chains))
    network = Network(classes, tuple(Station(f"{k}", tuple(needed[:, k].tolist())) for k in range(3)))
    made = plain(needed[None], np.array([[c.think_s for c in classes]]))
    population = np.array(users[:chains], dtype=float)
    for ours, known in ((approximate, schweitzer(network)), (refined, linearizer(network))):
        found = ours(made, population)
        assert found.rate[0] == pytest.approx(known.throughput, rel=2e-3, abs=1e-9)
        there = population > 0
        response = (needed * found.stretch[0]).sum(axis=1)
        assert response[there] == pytest.approx(known.response_s[there], rel=5e-3, abs=1e-6)


def test_many_sets_are_solved_as_each_alone() -> None:
    random = np.random.default_rng(1)
    needed, pause = random.uniform(0, 1, (5, 2, 3)), random.uniform(3, 9, (5, 2))
    users = np.array([7.0, 4.0])
    together = approximate(plain(needed, pause), users)
    for k in range(5):
        alone = approximate(plain(needed, pause).only(k), users)
        assert alone.rate[0] == pytest.approx(together.rate[k], rel=1e-4)


def two_queues(first: float, second: float, pause: float) -> Chains:
    needed = np.array([[[first, second]]])
    found = np.array([[1.0, 0.0], [1.0, 1.0]])
    return Chains(needed, np.array([[[0.0, first]]]), found, np.array([[pause]]))


def test_work_that_goes_first_waits_for_its_own_only_and_none_is_lost() -> None:
    """With many users it comes near the open queue with preemptive priority, whose times are known:
    D1/(1 − ρ1) and D2/((1 − ρ1)(1 − ρ1 − ρ2)) for equal mean services."""
    users, first, second = 4000.0, 0.5, 0.3
    made = refined(two_queues(first, second, users), np.array([users]))
    rate = float(made.rate[0, 0])
    one, two = rate * first, rate * second
    assert one + two < 1
    assert made.stretch[0, 0, 0] == pytest.approx(1 / (1 - one), rel=0.01)
    assert made.stretch[0, 0, 1] == pytest.approx(1 / ((1 - one) * (1 - one - two)), rel=0.02)


@settings(max_examples=30)
@given(st.floats(0.05, 0.95), st.integers(1, 60))
def test_a_server_is_never_more_than_full(part: float, users: int) -> None:
    for made in (
        two_queues(part, 1 - part, 3.0),
        # of one second a part is waited for, the rest goes before
        Chains(np.array([[[part]]]), np.array([[[1 - part]]]), np.eye(1), np.array([[3.0]])),
    ):
        rate = float(refined(made, np.array([float(users)])).rate[0, 0])
        assert rate <= 1.02
        if users > 40:
            assert rate > 0.9


def test_a_chain_of_two_classes_is_the_network_with_their_mean() -> None:
    needed = np.array([0.25 * 0.8 + 0.75 * 0.1, 0.3])
    one = exact_classes(
        Network(
            (CustomerClass("u", 12, 4.0),), tuple(Station(f"{k}", (float(d),)) for k, d in enumerate(needed))
        )
    )
    found = refined(plain(needed[None, None], np.array([[4.0]])), np.array([12.0]))
    assert found.rate[0, 0] == pytest.approx(one.throughput[0], rel=0.02)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 2))
def test_it_settles_far_beyond_saturation(seed: int, chains: int) -> None:
    """Some work goes first, some is waited for by nobody; up to 200 users of each chain."""
    random = np.random.default_rng(seed)
    stations = int(random.integers(2, 8))
    whole = random.uniform(0, 1, (2, chains, stations)) * 10 ** random.uniform(-3, 0, stations)
    waited = np.concatenate([[1, 1], random.uniform(0.2, 1, stations - 2)])
    before = whole * (1 - waited)
    before[:, :, 1] = whole[:, :, 0]
    found = np.eye(stations)
    found[1, 0] = random.uniform(0.1, 2)
    users = np.round(10 ** random.uniform(0, 2.3, chains))
    network = Chains(whole * waited, before, found, 10 ** random.uniform(0, 1.5, (2, chains)))
    made = refined(network, users)
    assert np.isfinite(made.rate).all()
    assert (made.rate > 0).all()
    used = np.einsum("bh,bhk->bk", made.rate, network.needed + network.before)
    assert used.max() < 1.1
    # Little's law for the users of each chain
    there = made.rate * (network.pause_s + (network.needed * made.stretch).sum(axis=2))
    assert there == pytest.approx(np.broadcast_to(users, there.shape), rel=1e-6)
