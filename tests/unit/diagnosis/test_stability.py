"""One strange day is no knee, two systems are no average, and blocks are as long as they must be."""

from __future__ import annotations

import re

import numpy as np
import pytest

from satline.diagnosis import Saturation
from satline.diagnosis._series import lengthen, student
from satline.diagnosis.saturation import Series, judge
from satline.reduction._classes import assign, merged_classes

DAY_S = 86400.0


def at_rest(load: np.ndarray, throughput: np.ndarray, interval_s: float, block: int = 40) -> Series:
    """A recording at rest."""
    return Series(
        load=load,
        number=assign(load, merged_classes(load), False),
        throughput=np.maximum(throughput, 0),
        seconds=np.full(len(load), interval_s),
        batches=np.arange(len(load)) // block,
        contended=True,
        closed=False,
    )


def days(
    count: int, interval_s: float, top: float, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Load by the time of day, days of different sizes; and the time of day as 0 … 1."""
    time = np.arange(int(count * DAY_S / interval_s)) * interval_s
    hour = time % DAY_S / DAY_S
    size = random.uniform(0.7, 1.0, count)[(time // DAY_S).astype(int)]
    load = random.poisson(top * size * (0.1 + 0.9 * np.clip(np.sin(2 * np.pi * (hour - 0.3)), 0, 1)))
    return load.astype(float), hour


def verdict(series: Series) -> Saturation:
    return judge(series, load_axis="active_users", variable="transaction_rate", unit="per second")


def test_one_strange_day_in_three_quiet_months_is_no_knee() -> None:
    random = np.random.default_rng(1)
    load, _ = days(90, 900.0, 10, random)
    throughput = load * (1 + 0.05 * random.normal(size=len(load)))
    strange = np.arange(len(load)) // 96 == 50
    load[strange] = random.poisson(25, strange.sum())
    throughput[strange] = 9.0
    answer = verdict(at_rest(load, throughput, 900.0))
    assert answer.outcome == "partly-known"
    assert "only in one part" in answer.reasons[0]


def test_one_absurd_reading_is_no_knee() -> None:
    random = np.random.default_rng(2)
    load, _ = days(10, 300.0, 12, random)
    throughput = load * (1 + 0.05 * random.normal(size=len(load)))
    throughput[int(np.argmax(load == 4))] = 1e9
    assert verdict(at_rest(load, throughput, 300.0)).outcome != "saturated"


def test_the_same_knee_every_day_is_one() -> None:
    random = np.random.default_rng(1)
    load, _ = days(10, 300.0, 25, random)
    throughput = np.minimum(load, 11) * (1 + 0.05 * random.normal(size=len(load)))
    answer = verdict(at_rest(load, throughput, 300.0))
    assert answer.outcome == "saturated", answer.reasons
    assert answer.at is not None
    assert answer.at.low - 0.1 <= 11 <= answer.at.high + 0.1
    assert answer.usl is None


@pytest.mark.parametrize(("before", "after", "word"), [(8, 14, "more"), (14, 8, "less")])
def test_an_upgrade_in_the_middle_is_told_with_its_time(before: float, after: float, word: str) -> None:
    random = np.random.default_rng(3)
    load, _ = days(12, 300.0, 25, random)
    knee = np.where(np.arange(len(load)) < 5 * 288, before, after)
    throughput = np.minimum(load, knee) * (1 + 0.05 * random.normal(size=len(load)))
    answer = verdict(at_rest(load, throughput, 300.0))
    assert answer.outcome == "partly-known"
    assert word in answer.reasons[0]
    hour = re.search(r"hour (\d+) of the recording", answer.reasons[0])
    assert hour is not None
    assert float(hour[1]) == pytest.approx(120, abs=24)
    # What each of the two systems carries is told all the same.
    first, second = (part.at or part.bend for part in answer.regimes)
    assert first is not None
    assert second is not None
    assert first.value == pytest.approx(before, rel=0.15)
    assert second.value == pytest.approx(after, rel=0.15)


def test_a_change_has_a_date_where_the_recording_has_a_clock() -> None:
    random = np.random.default_rng(3)
    load, _ = days(12, 300.0, 25, random)
    time_s = 1_700_006_400.0 + 300.0 * np.arange(len(load))  # 2023-11-15 00:00 UTC
    knee = np.where(np.arange(len(load)) < 5 * 288, 8, 14)
    series = at_rest(load, np.minimum(load, knee) * (1 + 0.05 * random.normal(size=len(load))), 300.0)
    answer = verdict(Series(**{**series.__dict__, "time_s": time_s}))
    assert any(day in answer.reasons[0] for day in ("2023-11-19", "2023-11-20")), answer.reasons


def test_an_effect_of_the_time_of_day_does_not_move_the_knee() -> None:
    missed = 0
    for seed in range(6):
        random = np.random.default_rng(seed)
        load, hour = days(10, 300.0, 25, random)
        effect = 1 + 0.08 * np.cos(2 * np.pi * (hour - 0.1 - seed / 6))
        throughput = np.minimum(load, 12) * effect * (1 + 0.05 * random.normal(size=len(load)))
        answer = verdict(at_rest(load, throughput, 300.0))
        assert answer.at is not None, answer.reasons
        missed += not answer.at.low - 0.1 <= 12 <= answer.at.high + 0.1
    assert missed <= 1


def test_throughput_that_falls_has_a_peak_and_a_slope_below_nothing() -> None:
    random = np.random.default_rng(5)
    load, _ = days(10, 300.0, 25, random)
    mean = np.minimum(load, 12) - 0.3 * np.maximum(load - 12, 0)
    answer = verdict(at_rest(load, mean * (1 + 0.05 * random.normal(size=len(load))), 300.0))
    assert answer.retrograde is not None
    assert answer.retrograde.low <= -0.3 <= answer.retrograde.high < 0
    assert answer.peak is not None
    assert answer.peak.low - 0.1 <= 12 <= answer.peak.high + 0.1


def test_a_flat_top_is_not_retrograde() -> None:
    random = np.random.default_rng(6)
    load, _ = days(10, 300.0, 25, random)
    answer = verdict(at_rest(load, np.minimum(load, 12) * (1 + 0.05 * random.normal(size=len(load))), 300.0))
    assert answer.outcome == "saturated"
    if answer.retrograde is None:
        assert answer.peak is None
    assert answer.slope_after is not None
    assert abs(answer.slope_after.value) < 0.05


def test_a_lock_that_is_not_recorded_is_neither_saturation_nor_its_absence() -> None:
    random = np.random.default_rng(7)
    load, _ = days(10, 300.0, 25, random)
    series = at_rest(load, np.minimum(load, 12) * 0.05 * (1 + 0.05 * random.normal(size=len(load))), 300.0)
    idle = Series(**{**series.__dict__, "contended": False})
    answer = judge(idle, load_axis="active_users", variable="problem_state", unit="processors")
    assert answer.outcome == "partly-known"
    assert "lock" in answer.reasons[0]
    assert "transactions" in answer.advice[0]


def test_blocks_grow_with_the_autocorrelation() -> None:
    random = np.random.default_rng(8)
    fine = np.arange(6400) // 10
    groups = np.zeros(6400, dtype=np.int64)
    free, _ = lengthen(fine, random.normal(size=6400), groups)
    slow, _ = lengthen(fine, np.repeat(random.normal(size=64), 100), groups)
    assert free.max() + 1 >= 320
    assert slow.max() + 1 <= 80


def test_few_degrees_of_freedom_widen_as_students_distribution_does() -> None:
    # 97.5 % points of Student's t with 5, 10 and 30 degrees of freedom: 2.571, 2.228, 2.042
    for freedom, point in ((5, 2.571), (10, 2.228), (30, 2.042)):
        assert student(freedom) * 1.959964 == pytest.approx(point, rel=1e-2)
