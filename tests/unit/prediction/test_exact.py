"""Exact analysis: by hand, against closed forms, and laws that every closed system keeps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satline.errors import InputError
from satline.prediction import (
    CustomerClass,
    Network,
    Station,
    curve_of,
    exact_classes,
    exact_curve,
    exact_single,
)

seconds = st.floats(0.001, 5)
stations = st.lists(st.tuples(seconds, st.sampled_from([1.0, 1.0, 2.0, 3.5, 8.0])), min_size=1, max_size=4)


def one_class(users: int, think: float, *demands: float | tuple[float, float]) -> Network:
    made = [d if isinstance(d, tuple) else (d, 1.0) for d in demands]
    return Network(
        (CustomerClass("users", users, think),),
        tuple(Station(f"s{k}", (d,), servers=m) for k, (d, m) in enumerate(made)),
    )


def repairmen(users: int, servers: int, think: float, demand: float) -> float:
    """Throughput of M/M/c//N: p_j ∝ N!/(N − j)! · (D/Z)^j / Π min(i, c)."""
    logs, product = [], 0.0
    for j in range(users + 1):
        if j:
            product += math.log((users - j + 1) * demand / think / min(j, servers))
        logs.append(product)
    weight = np.exp(np.array(logs) - max(logs))
    present = float((weight * np.arange(users + 1)).sum() / weight.sum())
    return (users - present) / think


def test_two_stations_by_hand() -> None:
    # N = 1: R = 1, 2; X = 1/3. Q = 1/3, 2/3. N = 2: R = 4/3, 10/3; X = 2/(14/3) = 3/7.
    made = curve_of(one_class(2, 0.0, 1.0, 2.0))
    assert made.throughput[:, 0] == pytest.approx([1 / 3, 3 / 7])
    assert made.residence_s[1, 0] == pytest.approx([4 / 3, 10 / 3])


def test_a_balanced_network_has_its_closed_form() -> None:
    # K equal stations without think time: X = N / (D (N + K − 1))
    made = curve_of(one_class(30, 0.0, *[0.25] * 6))
    n = np.arange(1, 31)
    assert made.throughput[:, 0] == pytest.approx(n / (0.25 * (n + 5)))


@pytest.mark.parametrize(("users", "servers"), [(5, 2), (40, 3), (100, 16), (400, 4), (600, 8), (900, 64)])
def test_several_servers_are_the_machine_repairmen(users: int, servers: int) -> None:
    made = exact_single(one_class(users, 10.0, (0.3, float(servers))))
    assert made.throughput[0] == pytest.approx(repairmen(users, servers, 10.0, 0.3), rel=1e-11)


def test_saturated_servers_stay_stable_where_the_textbook_recursion_does_not() -> None:
    users, servers, think, demand = 600, 8, 10.0, 0.3
    chance = np.zeros(users + 1)
    chance[0] = 1.0
    lowest, pace = 0.0, np.minimum(np.arange(1, users + 1), servers)
    for n in range(1, users + 1):
        rate = n / (think + demand * (np.arange(1, n + 1) / pace[:n] * chance[:n]).sum())
        chance[1 : n + 1] = rate * demand / pace[:n] * chance[:n]
        chance[0] = 1 - chance[1:].sum()  # the subtraction that cancels
        lowest = min(lowest, chance[0])
    assert lowest < -1e-16
    made = curve_of(one_class(users, think, (demand, float(servers))), keep=True)
    present = made.present[0][:, 0, :]
    assert (present >= 0).all()
    assert present.sum(axis=1) == pytest.approx(np.ones(users), rel=1e-10)


def test_probabilities_are_those_of_the_queue() -> None:
    made = curve_of(one_class(12, 3.0, 0.7, (1.5, 2.0)), keep=True)
    present = made.present[1][-1, 0]
    queue = float(made.throughput[-1, 0] * made.residence_s[-1, 0, 1])
    assert present @ np.arange(13) == pytest.approx(queue, rel=1e-12)


def test_keeping_probabilities_changes_nothing() -> None:
    network = one_class(40, 1.0, 0.1, (0.5, 3.0), (0.2, 1.5))
    assert curve_of(network).residence_s == pytest.approx(curve_of(network, keep=True).residence_s, rel=1e-12)


def test_a_delay_with_a_speed_of_its_own_is_think_time() -> None:
    plain = exact_single(one_class(20, 5.0, 0.3))
    delay = Network(
        (CustomerClass("users", 20, 2.0),), (Station("s0", (0.3,)), Station("line", (3.0,), "delay"))
    )
    made = exact_single(delay)
    assert made.throughput == pytest.approx(plain.throughput)
    assert made.response_s[0] == pytest.approx(plain.response_s[0] + 3.0)
    assert exact_classes(delay).residence_s == pytest.approx(made.residence_s)


def test_speeds_that_fall_are_solved() -> None:
    # one station, no think time: X is its speed with all there
    network = Network(
        (CustomerClass("users", 4, 0.0),), (Station("thrashing", (1.0,), speeds=(1.0, 1.5, 1.2, 0.5)),)
    )
    assert curve_of(network).throughput[:, 0] == pytest.approx([1.0, 1.5, 1.2, 0.5])


@given(st.integers(1, 40), st.floats(0, 20), stations)
@settings(max_examples=60, deadline=None)
def test_laws_of_a_closed_system(users: int, think: float, given: list[tuple[float, float]]) -> None:
    network = one_class(users, think, *given)
    made = curve_of(network)
    rate, response = made.throughput[:, 0], made.response_s[:, 0]
    count = np.arange(1, users + 1)
    assert rate * (response + think) == pytest.approx(count, rel=1e-9)  # Little
    assert (np.diff(rate) >= -1e-9 * rate.max()).all()
    assert (np.diff(response) >= -1e-9 * response.max()).all()
    for k, (demand, servers) in enumerate(given):
        assert (rate * demand <= servers * (1 + 1e-9)).all()
        assert (made.residence_s[:, 0, k] >= demand / min(servers, 1) * (1 - 1e-9)).all()


@given(st.integers(1, 6), st.integers(0, 6), st.floats(0, 5), stations)
@settings(max_examples=40, deadline=None)
def test_classes_that_are_alike_are_one_class(
    first: int, second: int, think: float, given: list[tuple[float, float]]
) -> None:
    given = given[:3]
    alone = exact_single(one_class(first + second, think, *given))
    both = exact_classes(
        Network(
            (CustomerClass("a", first, think), CustomerClass("b", second, think)),
            tuple(Station(f"s{k}", (d, d), servers=m) for k, (d, m) in enumerate(given)),
        )
    )
    assert both.throughput.sum() == pytest.approx(alone.throughput[0], rel=1e-9)
    assert both.residence_s[0] == pytest.approx(alone.residence_s[0], rel=1e-9)


def test_many_sets_of_parameters_are_solved_as_each_alone() -> None:
    random = np.random.default_rng(1)
    demand, think = random.uniform(0.01, 1, (5, 3)), random.uniform(0, 5, 5)
    speed = np.minimum(np.arange(1, 26), random.uniform(0.5, 4, (5, 1)))
    together = exact_curve(demand, think, [None, speed, None], 25)
    for k in range(5):
        alone = exact_curve(demand[k : k + 1], think[k : k + 1], [None, speed[k], None], 25)
        assert together.throughput[:, k] == pytest.approx(alone.throughput[:, 0], rel=1e-12)


def test_what_is_too_large_is_refused() -> None:
    with pytest.raises(InputError, match="too many to solve exactly"):
        exact_single(one_class(10**6, 1.0, 0.1, (0.2, 4000.0)))
    with pytest.raises(InputError, match="load-dependent stations"):
        exact_single(one_class(3, 1.0, *[(0.2, 2.0)] * 9))
    classes = tuple(CustomerClass(f"c{k}", 100, 1.0) for k in range(5))
    with pytest.raises(InputError, match="101 × 101") as caught:
        exact_classes(Network(classes, (Station("cpu", (0.1,) * 5),)))
    assert "linearizer" in caught.value.hint


@pytest.mark.parametrize(
    ("classes", "places", "message"),
    [
        ((), (Station("a", ()),), "needs a class"),
        ((CustomerClass("u", 1, 1.0),), (), "needs a class of users and a station"),
        ((CustomerClass("u", -1, 1.0),), (Station("a", (1.0,)),), "-1 users"),
        ((CustomerClass("u", 1, math.nan),), (Station("a", (1.0,)),), "think time nan"),
        ((CustomerClass("u", 1, 1.0),), (Station("a", (1.0, 2.0)),), "2 demands for 1 classes"),
        ((CustomerClass("u", 1, 1.0),), (Station("a", (-1.0,)),), "negative"),
        ((CustomerClass("u", 1, 1.0),), (Station("a", (1.0,), servers=0),), "0 servers"),
        ((CustomerClass("u", 1, 1.0),), (Station("a", (1.0,), speeds=(1.0, 0.0)),), "a speed is 0"),
        ((CustomerClass("u", 1, 1.0),), (Station("a", (1.0,)), Station("a", (1.0,))), "two of station a"),
        ((CustomerClass("u", 1, 0.0),), (Station("a", (0.0,)),), "neither thinks nor demands"),
    ],
)
def test_what_is_no_network(
    classes: tuple[CustomerClass, ...], places: tuple[Station, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Network(classes, places)
