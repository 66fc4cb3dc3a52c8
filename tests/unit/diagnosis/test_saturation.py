"""The verdict on closed systems whose saturation is known, and on data that cannot show it."""

from __future__ import annotations

import numpy as np
import pytest
from closed_system import Closed
from confusion import confusion
from made_study import Made

from satline.diagnosis import Saturation
from satline.diagnosis._hinge import fit, make_levels
from satline.diagnosis.saturation import Series, judge, saturation
from satline.reduction import reduce


def verdict(series: Series, axis: str = "users") -> Saturation:
    return judge(series, load_axis=axis, variable="transaction_rate", unit="per second")


def noisy(levels: list[int], rate: np.ndarray, seconds: int = 20, seed: int = 1) -> Series:
    """Poisson completions at these rates; nothing else is known."""
    random = np.random.default_rng(seed)
    number = np.repeat(np.arange(len(levels)), seconds)
    return Series(
        load=np.repeat(np.array(levels, dtype=float), seconds),
        number=number,
        throughput=random.poisson(rate[number]).astype(float),
        seconds=np.ones(len(number)),
        batches=number * 100 + np.tile(np.arange(seconds) // 4, len(levels)),
        contended=True,
    )


LEVELS = [1, 2, 4, 6, 8, 10, 14, 18]


@pytest.mark.parametrize("seed", range(5))
def test_a_clean_knee_is_found(seed: int) -> None:
    # X(N) = min(N / (Z + D), 1 / D), Z = 1 s, D = 0.2 s: N* = 6
    n = np.array(LEVELS)
    answer = verdict(noisy(LEVELS, np.minimum(n / 1.2, 5.0), seed=seed))
    assert answer.outcome == "saturated", answer.reasons
    assert answer.at is not None
    assert answer.throughput_at is not None
    assert answer.at.low - 0.5 <= 6 <= answer.at.high + 0.5
    assert answer.throughput_at.value == pytest.approx(5, rel=0.15)
    assert answer.reasons


def test_a_falling_throughput_is_saturated() -> None:
    n = np.array(LEVELS)
    answer = verdict(noisy(LEVELS, np.where(n < 6, n / 1.2, 5.0 - 0.25 * (n - 6))))
    assert answer.outcome == "saturated"
    assert answer.slope_after is not None
    assert answer.slope_after.high < 0


def test_a_light_system_is_not_saturated() -> None:
    for seed in range(5):
        series = Closed(2.0, 0.05).study([1, 2, 3, 4, 6], 20, np.random.default_rng(seed))
        answer = verdict(series)
        assert answer.outcome == "not-saturated", answer.reasons
        assert answer.at is None


def test_linear_data_without_anything_else_is_not_saturated() -> None:
    series = noisy(LEVELS, 20.0 * np.array(LEVELS), seconds=60)
    assert verdict(series).outcome == "not-saturated"


@pytest.mark.parametrize("levels", [[1], [1, 8], [2, 4, 8]])
def test_few_levels_cannot_tell(levels: list[int]) -> None:
    answer = verdict(noisy(levels, np.minimum(np.array(levels), 5.0)))
    assert answer.outcome == "partly-known"
    assert answer.reasons
    assert answer.advice


def test_a_narrow_range_cannot_tell() -> None:
    answer = verdict(noisy([10, 11, 12, 13, 14], np.full(5, 5.0)))
    assert answer.outcome == "partly-known"
    assert "narrow" in answer.reasons[0]


def test_flat_from_the_start_cannot_tell_and_asks_for_lighter_loads() -> None:
    answer = verdict(noisy([4, 6, 8, 10, 14, 18], np.full(6, 5.0)))
    assert answer.outcome == "partly-known"
    assert "lighter" in answer.advice[0]


def test_a_bend_at_the_very_top_cannot_tell_where() -> None:
    answer = verdict(noisy([2, 4, 8, 12, 16], np.array([2.0, 4.0, 8.0, 12.0, 12.5]), seconds=60))
    assert answer.outcome == "partly-known"


def test_users_that_never_took_part_are_not_taken_for_saturation_or_its_absence() -> None:
    series = Closed(1.0, 0.02).study(LEVELS, 20, np.random.default_rng(4))
    capped = np.minimum(series.load, 4.0)
    alive = Series(
        **{
            **series.__dict__,
            "throughput": series.throughput * capped / series.load,
            "in_transaction": (series.in_transaction if series.in_transaction is not None else 0)
            * capped
            / series.load,
        }
    )
    answer = verdict(alive)
    assert answer.outcome == "partly-known"
    assert "took part" in answer.reasons[0]


def test_a_plain_recording_whose_users_bring_no_more_work_is_not_called_saturated() -> None:
    n = np.array(LEVELS)
    series = noisy(LEVELS, np.minimum(n * 10, 60.0), seconds=60)
    quiet = Series(**{**series.__dict__, "contended": False, "closed": False})
    answer = verdict(quiet, "active_users")
    assert answer.outcome == "partly-known"
    assert "no more work" in answer.reasons[0]
    assert verdict(Series(**{**quiet.__dict__, "contended": True}), "active_users").outcome == "saturated"


def test_one_observation_at_each_load_cannot_tell_however_clean_the_bend() -> None:
    levels = list(range(1, 31))
    series = noisy(levels, np.minimum(np.array(levels), 8.0) * 100, seconds=1)
    answer = verdict(series)
    assert answer.outcome == "partly-known"
    assert "30 of 30 load levels" in answer.reasons[0]


def test_a_load_seen_in_one_block_only_is_left_out() -> None:
    n = np.array(LEVELS)
    series = noisy(LEVELS, np.minimum(n / 1.2, 5.0) * 40)
    one = Series(**{**series.__dict__, "batches": np.where(series.number == 7, 700, series.batches)})
    answer = verdict(one)
    assert answer.outcome == "saturated"
    assert answer.range_high == LEVELS[-2]


def test_active_users_with_transactions_need_a_sign_of_waiting_too() -> None:
    n = np.array(LEVELS)
    series = noisy(LEVELS, np.minimum(n * 10, 60.0), seconds=60)
    quiet = Series(
        **{
            **series.__dict__,
            "in_transaction": np.full(len(series.load), 0.1),
            "contended": False,
            "closed": False,
        }
    )
    assert verdict(quiet, "active_users").outcome == "partly-known"


def test_scatter_between_levels_widens_the_interval() -> None:
    n = np.array(LEVELS)
    clean = np.minimum(n / 1.2, 5.0) * 40
    drifting = clean * np.array([1, 1.25, 0.75, 1.25, 0.8, 1.2, 0.75, 1.2])
    first, second = verdict(noisy(LEVELS, clean)), verdict(noisy(LEVELS, drifting))
    assert first.at is not None
    if second.at is not None:
        assert second.at.high - second.at.low > 3 * (first.at.high - first.at.low)
    else:
        assert second.outcome == "partly-known"


def test_a_lock_that_users_wait_for_is_saturation_although_processors_idle() -> None:
    series = Closed(1.0, 0.2).study(LEVELS, 30, np.random.default_rng(8))
    answer = verdict(Series(**{**series.__dict__, "contended": False}))
    assert answer.outcome == "saturated", answer.reasons


def test_a_capped_partition_saturates_although_half_of_its_processors_idle() -> None:
    made = Made(cpu=0.2, quota=1.0, processors=2, levels=(1, 2, 4, 6, 8, 11, 14, 18))
    reduction = reduce(made.make(3))
    idle = reduction.observations["total_cpu"][reduction.number == reduction.number.max()]
    assert np.nanmean(idle) < 1.3  # of two
    answer = saturation(reduction)
    assert answer.outcome == "saturated", answer.reasons
    assert answer.at is not None
    assert answer.at.low * 0.75 <= made.saturation <= answer.at.high * 1.25


def test_users_who_hardly_ever_think_are_no_measure_of_light_load() -> None:
    series = noisy(LEVELS, np.full(len(LEVELS), 5.0))
    all_inside = Series(**{**series.__dict__, "in_transaction": series.load.copy(), "think_s": 1.0})
    assert verdict(all_inside).outcome == "partly-known"


def test_hinge_recovers_an_exact_broken_line() -> None:
    load = np.array([1.0, 2, 4, 6, 8, 10, 12])
    exact = np.minimum(load, 5) * 2 + np.maximum(load - 5, 0) * -0.5
    result = fit(load, exact[None, :], np.ones(7), origin=True, grid_size=91)
    assert result.at[0] == pytest.approx(5, abs=0.1)
    assert result.before[0] == pytest.approx(2, rel=0.02)
    assert result.after[0] == pytest.approx(-0.5, rel=0.1)
    shifted = fit(load, exact[None, :] + 7, np.ones(7), origin=False, grid_size=91)
    assert shifted.at[0] == pytest.approx(5, abs=0.1)


def test_block_bootstrap_sees_autocorrelation() -> None:
    random = np.random.default_rng(5)
    blocks, length = 400, 20
    value = np.repeat(random.normal(size=blocks), length)
    number = np.zeros(blocks * length, dtype=np.int64)
    seconds = np.ones(blocks * length)
    made = [
        make_levels(number, seconds, value, seconds, batches, nested=True).error[0]
        for batches in (np.arange(blocks * length), np.arange(blocks * length) // length)
    ]
    assert made[1] == pytest.approx(1 / np.sqrt(blocks), rel=0.15)
    assert made[1] > 3 * made[0]


@pytest.mark.slow
def test_wrong_confident_verdicts_are_rare_and_most_clear_cases_are_told() -> None:
    table, wrong = confusion(240, replicates=200)
    print({f"{truth}: {answer}": n for (truth, answer), n in sorted(table.items())}, "wrong:", wrong)
    assert wrong <= 1, table
    for truth, right, least in (("light", "not-saturated", 0.4), ("saturated", "saturated", 0.65)):
        cases = sum(n for (t, _), n in table.items() if t == truth)
        assert table[truth, right] > least * cases, (truth, table)
