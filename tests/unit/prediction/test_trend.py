"""Demands that change with load, work that gives way, and devices by the dozen: on signals of known truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_signs import add_device
from made_study import Made

from satline.prediction import changes, predict
from satline.prediction._demands import Demand, demands, sums
from satline.prediction._model import Model, fit
from satline.prediction._signals import PROCESSORS, Resource, Signals, signals
from satline.prediction._trend import Trend, bends
from satline.prediction._weaknesses import assumptions
from satline.prediction._whatif import apply
from satline.reduction import reduce

LEVELS = (2, 4, 6, 8, 10)
DRAWS = 101
DRUM = "device:drum"


def signals_of(
    seed: int, *, rest: float = 0.05, paging: float = 0.0, seeks: float = 0.0, crunch: bool = False
) -> Signals:
    """X = N/12 with noise; a drum needs `rest` + `seeks` ln N + `paging` N, a processor 0.2 s, of which
    programs
    beside the users take what is left where they `crunch`."""
    random = np.random.default_rng(seed)
    load = np.repeat(np.array(LEVELS, dtype=float), 60)
    work = load / 12 * random.gamma(40, 1 / 40, len(load))
    noise = random.gamma(100, 1 / 100, len(load))
    fetch, other = work * paging * load * noise, work * (rest + seeks * np.log(load)) * noise
    own = 0.2 * work * noise
    return Signals(
        load=load,
        number=np.repeat(np.arange(len(LEVELS)), 60),
        batches=np.arange(len(load)) // 6,
        seconds=np.ones(len(load)),
        work=work,
        unit="transaction",
        resources=(
            Resource(PROCESSORS, np.ones(len(load)) if crunch else own, 1.0, own),
            Resource(DRUM, fetch + other, 1.0, page_share=fetch / (fetch + other)),
        ),
        in_transaction=work * 0.5,
        page_share=np.full(len(load), np.nan),
        supervisor=0.1 * own,
        stolen=0.0,
        closed=True,
    )


def found_in(made: Signals) -> dict[str, Demand]:
    return {d.name: d for d in demands(made.resources, sums(made, draws=200))}


def test_paging_that_grows_is_found_and_goes_on_beyond_the_loads_seen() -> None:
    drum = found_in(signals_of(1, paging=0.02))[DRUM]
    assert drum.trend is not None
    for users in (2, 6, 10, 20):
        low, high = np.percentile(drum.at(users)[1:], [2.5, 97.5])
        assert drum.at(users)[0] == pytest.approx(0.05 + 0.02 * users, rel=0.05)
        assert low < 0.05 + 0.02 * users < high
    widths = [np.ptp(np.percentile(drum.at(n)[1:], [2.5, 97.5])) for n in (10, 20, 40)]
    assert widths[0] < widths[1] / 5 < widths[2] / 10


def test_seeks_that_grow_stay_at_last() -> None:
    drum = found_in(signals_of(2, seeks=0.05))[DRUM]
    assert drum.trend is not None
    assert not drum.trend.paging.any()
    assert drum.at(3)[0] == pytest.approx(0.05 + 0.05 * np.log(3), rel=0.05)
    assert drum.at(10)[0] == pytest.approx(0.05 + 0.05 * np.log(10), rel=0.05)
    assert drum.at(50)[0] == drum.at(20)[0] == pytest.approx(0.05 + 0.05 * np.log(20), rel=0.05)


def test_a_demand_that_does_not_change_seldom_has_a_trend() -> None:
    claimed = sum(found_in(signals_of(seed, paging=0.001))[DRUM].trend is not None for seed in range(10, 20))
    never = sum(found_in(signals_of(seed))[DRUM].trend is not None for seed in range(30))
    assert claimed >= 5
    assert never <= 3


def trend(paging: float, storage: float = 1.0) -> Trend:
    one = np.ones(DRAWS)
    return Trend(0 * one, paging * one, 0.1 * one, 6 * one, np.log(6) * one, 2.0, 10.0, bends(DRAWS), storage)


@given(st.floats(0.001, 0.1), st.floats(1, 200), st.floats(1.01, 4))
def test_more_users_page_more_and_more_storage_less(paging: float, users: float, more: float) -> None:
    here = trend(paging).more(np.asarray(users))
    assert (trend(paging).more(np.asarray(users * more)) >= here - 1e-12).all()
    assert (trend(paging, more).more(np.asarray(users)) <= here + 1e-12).all()
    assert (here >= -0.1 - 1e-12).all()


def test_twice_the_storage_pages_for_half_as_many_users() -> None:
    assert trend(0.01, 2.0).more(np.asarray(16.0))[0] == pytest.approx(trend(0.01).more(np.asarray(8.0))[0])


def growing(paging: float = 0.01) -> Model:
    one = np.ones(DRAWS)
    drum = Demand(DRUM, 1.0, 0.2 * one, 0 * one, 0.5 * one, trend(paging))
    cpu = Demand(PROCESSORS, 1.0, 0.1 * one, 0 * one, np.nan * one)
    return Model((cpu, drum), 10 * one, 0 * one)


def test_saturation_is_where_the_asymptotes_of_the_same_demands_cross() -> None:
    model = growing()
    at = model.saturation_users
    drum = model.demands[1].at(at)
    np.testing.assert_allclose(at * drum, 0.1 + drum + 10, rtol=1e-6)
    np.testing.assert_allclose(model.ceiling, 1 / drum, rtol=1e-6)
    assert (at < 10.3 / 0.2).all()


def test_each_number_of_users_is_a_network_of_its_own_and_throughput_falls_at_last() -> None:
    model = growing()
    rate, response = model.solve(60, [5, 60])
    assert np.isnan(rate[9]).all()
    for n in (5, 60):
        demand = float(model.demands[1].at(n)[0])
        one = np.ones(DRAWS)
        fixed = Model(
            (model.demands[0], Demand(DRUM, 1.0, demand * one, 0 * one, one)),
            model.think_s,
            model.elsewhere_s,
        )
        x, r = fixed.solve(n)
        assert rate[n - 1, 0] == pytest.approx(x[-1, 0], rel=1e-12)
        assert response[n - 1, 0] == pytest.approx(r[-1, 0], rel=1e-12)
    many, _ = model.solve(60, [20, 60])
    assert many[59, 0] < many[19, 0]


def test_a_faster_device_and_more_storage_change_the_trend_too() -> None:
    model = growing()
    twice = apply(model, changes("device:drum=2x"))
    np.testing.assert_allclose(twice.demands[1].at(40), model.demands[1].at(40) / 2)
    larger = apply(model, changes("storage=2x"))
    assert larger.demands[1].at(40)[0] == pytest.approx(model.demands[1].at(20)[0])
    assert larger.demands[0] is model.demands[0]


def test_work_that_gives_way_leaves_the_processor_to_the_users() -> None:
    made = signals_of(3, crunch=True)
    found = found_in(made)[PROCESSORS]
    assert found.yields == pytest.approx(1.0, abs=0.05)
    assert found.seconds[0] == pytest.approx(0.2, rel=0.05)
    assert found.background[0] < 0.05
    model = fit(tuple(found_in(made).values()), sums(made, draws=200))
    assert model.ceiling[0] == pytest.approx(5, rel=0.1)
    assert found_in(signals_of(3))[PROCESSORS].yields == 0


def test_paging_devices_and_the_last_of_many_devices_are_stations() -> None:
    made = Made(cpu=0.1, levels=(1, 2, 3, 4))
    recording = made.make()
    for k in range(45):
        add_device(recording, made, f"pack-{k:02}", "block", rates={"busy_us": lambda _: 50_000}, levels={})
    add_device(recording, made, "drum", "swap", rates={"busy_us": lambda _: 90_000}, levels={})
    add_device(recording, made, "file", "swap", rates={}, levels={})
    names = {r.name for r in signals(recording, reduce(recording)).resources}
    assert {"device:pack-00", "device:pack-44", "device:drum"} <= names
    assert "device:file" not in names


def test_what_is_taken_of_paging_is_said() -> None:
    made = Made(cpu=0.02, station=0.1, kind="page", levels=(1, 2, 4, 6, 9, 12))
    recording = made.make()
    answer = predict(recording, reduce(recording), what_if=[changes("storage=2x")])
    assert sum("an assumption, not a measurement" in w for w in answer.warnings) == 1


def test_what_changes_take_for_granted_where_paging_grows() -> None:
    found = growing().demands
    (faster,) = assumptions(found, [changes("cpu=2x")])
    assert "cannot be told" in faster
    assert len(assumptions(found, [changes("cpu=2x"), changes("storage=2x")])) == 2
    assert assumptions(growing(paging=0.0).demands, [changes("cpu=2x")]) == []
