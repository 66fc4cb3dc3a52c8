"""Demands by the utilisation law, the model made of them, and changes: on systems of known truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from closed_signals import record
from closed_system import Closed

from satline.errors import InputError
from satline.prediction import CustomerClass, Network, Station, changes, exact_single
from satline.prediction._demands import Demand, demands, growth, sums
from satline.prediction._model import Model, fit
from satline.prediction._signals import PROCESSORS, QUOTA, Resource, Signals
from satline.prediction._weaknesses import estimate
from satline.prediction._whatif import apply

SYSTEM = Closed(think=1.0, demand=0.1)
LIGHT = [1, 2, 4, 6]


def model_of(signals: Signals, think_s: float | None = None, seed: int = 1) -> Model:
    made = sums(signals, draws=200, seed=seed)
    return fit(demands(signals.resources, made), made, think_s)


def holds(draws: np.ndarray, truth: float) -> bool:
    low, high = np.percentile(draws[1:], [2.5, 97.5])
    return bool(low <= truth <= high)


def true_rate(users: int, think: float, demand: float) -> float:
    network = Network((CustomerClass("u", users, think),), (Station("s", (demand,)),))
    return float(exact_single(network).throughput[0])


def test_intervals_of_the_saturation_load_hold_the_truth() -> None:
    held, widths = 0, []
    for seed in range(30):
        model = model_of(record(SYSTEM, LIGHT, 40, seed), seed=seed)
        found = estimate(model.saturation_users, "users", 1.1)
        held += found.low <= SYSTEM.saturation <= found.high
        widths.append((found.high - found.low) / SYSTEM.saturation)
    # 30 intervals of 95 %: fewer than 25 of them would come by chance once in a hundred times
    assert held >= 25
    assert np.median(widths) < 0.4


def test_throughput_beyond_the_loads_seen_is_predicted_with_an_interval() -> None:
    held = 0
    for seed in range(20):
        rate, _ = model_of(record(SYSTEM, LIGHT, 40, seed), seed=seed).solve(16)
        held += holds(rate[-1], true_rate(16, 1.0, 0.1))
    assert held >= 16


def test_a_background_is_found_as_the_intercept_and_slows_the_users() -> None:
    signals = record(SYSTEM, [1, 3, 5, 7], 400, 3, background=0.2)
    made = sums(signals, draws=100)
    (found,) = demands(signals.resources, made)
    assert found.background[0] == pytest.approx(0.2, abs=0.05)
    assert found.seconds[0] == pytest.approx(0.1, rel=0.1)
    model = fit((found,), made)
    assert model.ceiling[0] == pytest.approx(0.8 / 0.1, rel=0.1)


def test_a_background_that_is_not_surely_there_is_none() -> None:
    claimed = 0
    for seed in range(20):
        signals = record(SYSTEM, LIGHT, 40, seed)
        (found,) = demands(signals.resources, sums(signals, draws=200, seed=seed))
        claimed += float(found.background[0]) > 0
        assert (found.background >= 0).all()
        assert found.seconds[0] == pytest.approx(0.1, rel=0.25)
    assert claimed <= 2


def test_what_is_known_to_be_the_loads_own_needs_no_regression() -> None:
    signals = record(SYSTEM, LIGHT, 40, 5)
    busy = signals.resources[0].used
    random = np.random.default_rng(1)
    noise = 0.3 + 0.1 * random.normal(size=len(busy))
    both = replace(signals, resources=(Resource(PROCESSORS, busy + noise, 2.0, busy),))
    made = sums(both, draws=100)
    (found,) = demands(both.resources, made)
    exact = float((busy * signals.seconds).sum() / (signals.work * signals.seconds).sum())
    assert found.seconds[0] == pytest.approx(exact, rel=0.15)
    assert found.seconds[0] >= exact * (1 - 1e-9)
    assert found.background[0] == pytest.approx(0.3, abs=0.06)


def test_time_spent_elsewhere_is_found_from_responses() -> None:
    signals = record(SYSTEM, LIGHT, 200, 7)
    assert signals.in_transaction is not None
    # each transaction takes half a second more in which it uses nothing
    slow = replace(signals, in_transaction=signals.in_transaction + 0.5 * signals.work)
    model = model_of(slow)
    assert model.elsewhere_s[0] == pytest.approx(0.5, abs=0.05)
    assert model.think_s[0] == pytest.approx(0.5, abs=0.15)


def test_without_transactions_the_pause_is_found_from_work_per_user() -> None:
    signals = record(SYSTEM, LIGHT, 200, 8)
    busy = signals.resources[0].used
    # a unit of work is then a second of processor time
    plain = replace(signals, work=busy, in_transaction=None, unit="second of user time")
    model = model_of(plain)
    assert model.demands[0].seconds[0] == pytest.approx(1.0, rel=0.01)
    # a user computes 0.1 s for each second of thinking
    assert model.think_s[0] == pytest.approx(10.0, rel=0.15)
    assert model.saturation_users[0] == pytest.approx(11.0, rel=0.15)


def test_a_known_think_time_is_taken() -> None:
    model = model_of(record(SYSTEM, LIGHT, 20, 1), think_s=1.0)
    assert (model.think_s == 1.0).all()


def test_growth_of_a_demand_is_seen() -> None:
    signals = record(SYSTEM, [1, 2, 4, 6], 100, 2)
    grown = signals.resources[0].used * (1 + 0.1 * (signals.load - 1))
    made = sums(replace(signals, resources=(Resource(PROCESSORS, grown, 1.0),)), draws=100)
    demand = Demand(PROCESSORS, 1.0, np.full(101, 0.1), np.zeros(101), np.zeros(101))
    assert growth(demand, made.used[0], made)[0] == pytest.approx(0.4, abs=0.2)


def test_what_if_is_the_system_after_the_change() -> None:
    model = model_of(record(SYSTEM, LIGHT, 400, 4), think_s=1.0)
    for text, servers, demand in (("cpu=2x", 1.0, 0.05), ("processors=3", 3.0, 0.1)):
        after = apply(model, changes(text))
        network = Network((CustomerClass("u", 30, 1.0),), (Station("s", (demand,), servers=servers),))
        rate, response = after.solve(30)
        truth = exact_single(network)
        assert rate[-1, 0] == pytest.approx(truth.throughput[0], rel=0.06)
        assert response[-1, 0] == pytest.approx(truth.response_s[0], rel=0.25)


def test_a_difference_is_surer_than_the_two_it_is_between() -> None:
    model = model_of(record(SYSTEM, LIGHT, 40, 4))
    after = apply(model, changes("cpu=1.2x"))
    before, then = model.saturation_users, after.saturation_users
    assert np.std((then - before)[1:]) < 0.5 * np.std(then[1:])


def devices(page_share: float) -> Model:
    draws = np.full(101, 1.0)
    return Model(
        (
            Demand(PROCESSORS, 2.0, 0.1 * draws, 0 * draws, np.nan * draws),
            Demand("device:sda", 1.0, 0.2 * draws, 0.1 * draws, page_share * draws),
        ),
        draws,
        0 * draws,
    )


def test_devices_become_faster_or_more() -> None:
    model = devices(0.5)
    faster = apply(model, changes("device:sda=2x"))
    assert faster.demands[1].seconds[0] == pytest.approx(0.1)
    assert faster.demands[1].background[0] == pytest.approx(0.05)
    more = apply(model, changes("device:sda=4"))
    assert [d.name for d in more.demands[1:]] == [f"device:sda {k}" for k in (1, 2, 3, 4)]
    assert sum(d.seconds[0] for d in more.demands[1:]) == pytest.approx(0.2)


def test_storage_scales_the_paging_part_by_an_assumption_with_an_interval() -> None:
    after = apply(devices(0.5), changes("storage=2x")).demands
    assert after[0].seconds[0] == pytest.approx(0.1)
    # between 2^-3 and 2^-1.5 of the half that is paging
    assert after[1].seconds[1:].min() >= 0.1 + 0.1 / 8 - 1e-12
    assert after[1].seconds[1:].max() <= 0.1 + 0.1 / 2**1.5 + 1e-12
    assert np.ptp(after[1].seconds[1:]) > 0.01
    with pytest.raises(InputError, match="what part of its reading was paging"):
        apply(devices(np.nan), changes("storage=2x"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cpu",
        "cpu=",
        "cpu=fast",
        "cpu=2",
        "gpu=2x",
        "device:=2x",
        "storage=4",
        "cpu=0x",
        "cpu=-2x",
        "device:a=1.5",
    ],
)
def test_what_is_no_change(text: str) -> None:
    with pytest.raises(InputError) as caught:
        changes(text)
    assert caught.value.hint


def test_changes_of_what_is_not_there_are_refused() -> None:
    with pytest.raises(InputError, match="no device:sdb in use") as caught:
        apply(devices(0.0), changes("device:sdb=2x"))
    assert "device:sda" in caught.value.hint
    with pytest.raises(InputError, match="no read cap in use"):
        apply(devices(0.0), changes("cap=2x"))
    model = devices(0.0)
    held = replace(model, demands=(replace(model.demands[0], name=QUOTA, capacity=0.7), model.demands[1]))
    with pytest.raises(InputError, match="a quota holds the load"):
        apply(held, changes("processors=4"))
    assert apply(held, changes("quota=2x")).demands[0].capacity == pytest.approx(1.4)
    assert apply(held, changes("cpu=2x")).demands[0].seconds[0] == pytest.approx(0.05)


def test_several_changes_at_once() -> None:
    wanted = changes("cpu=2x, device:sda=2x")
    assert [c.words for c in wanted] == ["cpu=2x", "device:sda=2x"]
    after = apply(devices(0.0), wanted).demands
    assert [d.seconds[0] for d in after] == pytest.approx([0.05, 0.1])
