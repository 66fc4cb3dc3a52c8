"""The posterior of where throughput bends, on curves whose knee is known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from satline.errors import SatlineError
from satline.knee import Interval, Posterior, Window, fit
from satline.knee._capacity import views

LOADS = (0.2, 0.5, 0.8, 1.0, 1.3, 1.8, 2.5, 0.4, 1.2)


def _window(users: int, begin_s: float, rate: float, random: np.random.Generator) -> Window:
    return Window(users, begin_s, 4.0, random.poisson(rate * 4.0, 5) / 4.0)


def _study(
    knee: float,
    random: np.random.Generator,
    slope: float = 0.0,
    rate: float = 1.0,
    loads: tuple[float, ...] = LOADS,
    drift: float = 0.0,
) -> list[Window]:
    """Windows of 20 s, 27 s apart; drift: of the capacity from the first window to the last."""
    windows = []
    for k, load in enumerate(loads):
        users = max(1, round(load * knee))
        top = knee * (1 + drift * (k / (len(loads) - 1) - 0.5))
        value = min(users, top) + slope * max(users - top, 0)
        windows.append(_window(users, 27.0 * k, rate * value, random))
    return windows


def test_the_interval_holds_the_knee_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(5)
    held, half = [], []
    for k in range(60):
        knee = float(np.exp(random.uniform(np.log(6), np.log(60))))
        found = fit(_study(knee, random, slope=float(random.choice([0.0, -0.15]))), most_users=200, seed=k)
        held.append(found.knee.low <= knee <= found.knee.high)
        half.append(found.knee.half_width)
    assert sum(held) >= 54
    assert np.median(half) < 0.2


def test_a_straight_line_has_no_knee_within_the_range_seen() -> None:
    random = np.random.default_rng(1)
    windows = [_window(n, 27.0 * k, n * 1.0, random) for k, n in enumerate((2, 6, 15, 40, 100, 200))]
    found = fit(windows, most_users=200, seed=1)
    assert found.chance_within < 0.1
    assert found.knee.high == math.inf
    assert found.throughput(100).low < 100 < found.throughput(100).high


def test_more_users_than_were_seen_may_hold_the_knee() -> None:
    random = np.random.default_rng(1)
    windows = [_window(n, 27.0 * k, n * 1.0, random) for k, n in enumerate((2, 6, 15))]
    found = fit(windows, most_users=200, seed=1)
    assert 0.2 < found.chance_within < 0.9
    assert found.knee.high == math.inf


def test_one_bad_window_does_not_move_the_knee() -> None:
    random = np.random.default_rng(3)
    windows = _study(30.0, random, rate=3.0)
    before = fit(windows, most_users=200, seed=1).knee
    stalled = windows[8]
    windows[8] = Window(stalled.users, stalled.begin_s, 4.0, stalled.throughput * 0.5)
    after = fit(windows, most_users=200, seed=1).knee
    assert after.low <= before.value <= after.high
    assert abs(after.value / before.value - 1) < 0.15


def test_drift_is_told_and_the_knee_is_that_of_the_mean() -> None:
    random = np.random.default_rng(4)
    loads = (2.0, 0.5, 1.6, 0.3, 2.4, 1.0, 1.8, 0.7, 2.0, 1.5)
    windows = _study(30.0, random, rate=20.0, loads=loads, drift=-0.3)
    found = fit(windows, most_users=200, seed=1)
    assert found.knee.low <= 30.0 <= found.knee.high
    # The first wave's ends are as far apart as the whole change over the study.
    change = found.interval(2 * found.draws.waves[:, 0] / found.data.span_s)
    assert change.low < -0.3 / (27.0 * 9) < change.high < 0


def test_throughput_that_falls_has_a_negative_slope_and_its_peak_at_the_knee() -> None:
    random = np.random.default_rng(2)
    found = fit(_study(30.0, random, slope=-0.25, rate=10.0), most_users=90, seed=1)
    assert found.slope_ratio.high < 0
    assert found.peak.low <= 300.0 <= found.peak.high * 1.02


def test_a_rounded_knee_lies_where_the_asymptotes_cross() -> None:
    """N / (1 + (N/K)^3)^(1/3)."""
    random = np.random.default_rng(6)
    knee, windows = 40.0, []
    for k, n in enumerate((4, 10, 20, 30, 40, 55, 80, 120, 160)):
        windows.append(_window(n, 27.0 * k, 5.0 * n / (1 + (n / knee) ** 3) ** (1 / 3), random))
    found = fit(windows, most_users=160, seed=1).knee
    assert found.low <= knee <= found.high


def test_windows_of_ramps_count_less() -> None:
    random = np.random.default_rng(7)
    windows = _study(30.0, random, rate=2.0)
    extra = [_window(45, 260.0 + 20 * k, 2.0 * 30, random) for k in range(3)]
    unsettled = [Window(w.users, w.begin_s, 4.0, w.throughput, settled=False) for w in extra]
    firm = fit([*windows, *extra], most_users=200, seed=1).knee.half_width
    weak = fit([*windows, *unsettled], most_users=200, seed=1).knee.half_width
    none = fit(windows, most_users=200, seed=1).knee.half_width
    assert firm < weak < none * 1.1


def test_the_same_windows_and_seed_give_the_same_posterior() -> None:
    windows = _study(30.0, np.random.default_rng(8))
    one, other = (fit(windows, most_users=200, seed=3) for _ in range(2))
    assert one.knee == other.knee
    assert one.throughput(50) == other.throughput(50)


def _usable(found: Posterior) -> bool:
    return found.knee.low <= found.knee.value <= found.knee.high and 0 <= found.chance_within <= 1


@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_few_windows_and_few_blocks_give_a_posterior(blocks: int) -> None:
    for count in range(1, 5):
        windows = [Window(3 * 2**k, 20.0 * k, 5.0, np.full(blocks, 2.0**k)) for k in range(count)]
        assert _usable(fit(windows, most_users=100, seed=1))


def test_a_window_without_completions_is_data() -> None:
    windows = [Window(n, 20.0 * n, 5.0, np.array([0.0, 0.2 * n, 0.0, 0.2])) for n in (1, 2, 8)]
    windows[0] = Window(1, 0.0, 5.0, np.zeros(4))
    assert _usable(fit(windows, most_users=100, seed=1))


def test_no_windows_or_no_work_is_an_error() -> None:
    with pytest.raises(SatlineError, match="no window"):
        fit([], most_users=10, seed=1)
    with pytest.raises(SatlineError, match="nothing was completed"):
        fit([Window(1, 0.0, 5.0, np.zeros(3))], most_users=10, seed=1)


def test_a_window_of_no_users_or_of_no_numbers_is_an_error() -> None:
    with pytest.raises(SatlineError, match="tells nothing"):
        Window(0, 0.0, 5.0, np.ones(3))
    with pytest.raises(SatlineError, match="finite"):
        Window(1, 0.0, 5.0, np.array([1.0, np.nan]))


def test_half_width_is_infinite_without_an_upper_limit() -> None:
    assert Interval(10.0, 5.0, math.inf).half_width == math.inf
    assert Interval(10.0, 9.0, 11.0).half_width == pytest.approx(0.1)


def _taken_from(
    knee: float, random: np.random.Generator, *, limits: bool = True, least: float = 0.35
) -> list[Window]:
    """Windows of a study of which others take a part, another one in each window.

    limits
        The CPU is what saturates; else something is that others do not take from.
    """
    windows = []
    for k, load in enumerate((*LOADS, 1.5, 0.7)):
        users, left = max(1, round(load * knee)), float(random.uniform(least, 1.0))
        value = min(users, knee * left) if limits else min(users, knee)
        waiting = max(0.0, 1 - value / users)
        seen = random.poisson(value * 4.0, 5) / 4.0
        windows.append(Window(users, 27.0 * k, 4.0, seen, waiting=waiting, taken=1 - left))
    return windows


def test_what_others_took_is_told_from_the_load() -> None:
    random = np.random.default_rng(3)
    held, chances, half, blind = [], [], [], []
    for k in range(30):
        knee = float(np.exp(random.uniform(np.log(12), np.log(60))))
        windows = _taken_from(knee, random)
        found = fit(windows, most_users=200, seed=k)
        held.append(found.knee_of_whole.low <= knee <= found.knee_of_whole.high)
        chances.append(found.left.chance)
        half.append(found.knee_of_whole.half_width)
        blind.append(fit([replace(w, taken=None) for w in windows], most_users=200, seed=k).knee.half_width)
    assert sum(held) >= 26
    assert np.median(chances) > 0.9
    assert np.median(half) < 0.8 * np.median(blind)


def test_what_others_took_is_no_matter_where_the_cpu_does_not_limit() -> None:
    random = np.random.default_rng(4)
    held, chances = [], []
    for k in range(30):
        knee = float(np.exp(random.uniform(np.log(12), np.log(60))))
        found = fit(_taken_from(knee, random, limits=False), most_users=200, seed=k)
        held.append(found.knee.low <= knee <= found.knee.high)
        chances.append(found.left.chance)
    assert sum(held) >= 26
    assert np.median(chances) < 0.1


def test_others_who_take_what_a_light_load_leaves_idle_do_not_limit_it() -> None:
    random = np.random.default_rng(6)
    windows = [
        replace(w, taken=0.9) if w.users < 15 else replace(w, taken=0.5)
        for w in _taken_from(30.0, random, least=0.499)
    ]
    windows = [replace(w, waiting=0.1 if w.users < 15 else 0.6) for w in windows]
    (capacity,), _ = views(windows)
    assert capacity.relative == pytest.approx(np.ones(len(windows)))
    assert capacity.mean == pytest.approx(0.5)


def test_others_who_yield_to_a_load_that_presses_do_not_limit_a_light_one() -> None:
    random = np.random.default_rng(7)
    held = []
    for k in range(20):
        knee = float(np.exp(random.uniform(np.log(12), np.log(40))))
        windows = []
        for number, load in enumerate(LOADS):
            users = max(1, round(load * knee))
            value = min(users, 0.35 * knee)
            # Beside a light load the others use what it does not: all users wait for the CPU.
            used = min(0.35, value / knee)
            seen = random.poisson(value * 4.0, 5) / 4.0
            windows.append(Window(users, 27.0 * number, 4.0, seen, waiting=0.8, taken=1 - used))
        found = fit(windows, most_users=200, seed=k)
        held.append(found.knee_of_whole.low <= knee <= found.knee_of_whole.high)
    assert sum(held) >= 17
