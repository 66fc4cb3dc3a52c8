"""The CPU that others left: answers for it and for a whole one, on systems of known truth."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_recording import MadeRecording
from made_study import Made

sys.path.insert(0, str(Path(__file__).parents[3] / "benches/contamination"))

from contaminated import Shared, made

from satline.diagnosis import Diagnosis, diagnose
from satline.diagnosis._cells import Cell
from satline.diagnosis._left import _eaten, _light, _scaled
from satline.diagnosis._series import Series
from satline.reduction import reduce

LEVELS = (1, 2, 4, 6, 8, 10, 13, 16, 20)
CPU = Shared("hypervisor", "constant", 0.0, 1.5, 0.15, 0.0, 1, LEVELS, 30.0, 0.08, 0.2, 7)
"""11 users on a whole CPU."""
DEVICE = replace(CPU, cpu_s=0.015, io_s=0.15)


def answered(system: Shared) -> Diagnosis:
    return diagnose(system.run()[0])


def near(value: float, truth: float, part: float = 0.15) -> bool:
    return abs(value - truth) <= part * truth


@pytest.mark.slow
@pytest.mark.parametrize("source", ["hypervisor", "neighbour", "group"])
@pytest.mark.parametrize("taken", [0.3, 0.6])
def test_a_constant_theft_scales_the_answer_and_keeps_its_cause(source: str, taken: float) -> None:
    answer = answered(replace(CPU, source=source, taken=taken))
    verdict = answer.saturation
    assert verdict.outcome == "saturated"
    assert verdict.at is not None
    assert verdict.left is not None
    assert verdict.left.whole is not None
    assert near(verdict.left.part, 1 - taken, 0.05)
    # A user alone is as slow as the CPU that is left: N* = c (Z + D / c) / D.
    assert near(verdict.at.value, 1 + 10 * (1 - taken))
    assert near(verdict.left.whole.value, 11)
    assert answer.findings[0].rule == "cpu_bound"
    assert f"on the {verdict.left.part:.0%} of the CPU that was left; about" in answer.headline


@pytest.mark.slow
@pytest.mark.parametrize("course", ["slow", "bursts", "rising", "falling"])
@pytest.mark.parametrize("source", ["hypervisor", "neighbour", "group"])
def test_a_theft_that_varies_makes_no_bend_and_hides_none(source: str, course: str) -> None:
    answer = answered(replace(CPU, source=source, course=course, taken=0.5))
    verdict = answer.saturation
    if verdict.outcome == "partly-known":
        return  # silent, and not wrong
    assert verdict.outcome == "saturated", answer.headline
    if verdict.left is not None and verdict.left.whole is not None:
        assert near(verdict.left.whole.value, 11, 0.2), answer.headline
    named = [f.component for f in answer.findings if f.component != "none"]
    assert named[:1] in ([], ["processor"])


@pytest.mark.slow
@pytest.mark.parametrize("course", ["constant", "slow", "rising"])
def test_what_the_cpu_does_not_limit_is_not_scaled(course: str) -> None:
    answer = answered(replace(DEVICE, course=course, taken=0.5))
    verdict = answer.saturation
    assert verdict.at is not None
    assert verdict.left is None
    assert near(verdict.at.value, DEVICE.whole)
    assert answer.findings[0].component == "io"
    assert "that was left" not in answer.headline


@pytest.mark.slow
def test_who_is_robbed_of_three_quarters_unevenly_is_never_very_sure() -> None:
    """Issue 20: 76 % taken was "CPU bound, very strong", at 1.5 users."""
    for seed in range(3):
        answer = answered(replace(CPU, source="hogs", course="bursts", taken=0.75, seed=seed))
        assert all(f.strength < 0.8 for f in answer.findings)
        verdict = answer.saturation
        if verdict.at is not None:
            assert verdict.left is not None
            assert "of the CPU that was left" in answer.headline


@pytest.mark.slow
@pytest.mark.parametrize("index", [3995, 3827])
def test_what_was_left_where_it_was_not_seen_is_not_guessed(index: int) -> None:
    recording, truth = made(index).run()
    answer = diagnose(recording)
    at, left = answer.saturation.at, answer.saturation.left
    assert at is not None
    assert left is not None
    assert left.whole is not None
    assert truth.knee is not None
    assert truth.whole is not None
    assert not left.seen
    assert at.low <= truth.knee[0] <= truth.knee[1] <= at.high
    assert left.whole.low <= truth.whole <= left.whole.high
    assert f"Saturates at {left.whole.value:.1f} users" in answer.headline
    assert "on a whole CPU" in answer.headline


@pytest.mark.slow
def test_who_eats_what_a_light_load_leaves_is_known_where_he_is_there() -> None:
    """Others hardly there at the lightest load do not show that they leave idle what it does not want."""
    recording, truth = made(6387).run()
    answer = diagnose(recording)
    at, left = answer.saturation.at, answer.saturation.left
    assert at is not None
    assert left is not None
    assert left.whole is not None
    assert truth.knee is not None
    assert truth.whole is not None
    assert not left.seen
    assert at.low <= truth.knee[0] <= truth.knee[1] <= at.high
    assert near(left.whole.value, truth.whole, 0.03)


@pytest.mark.slow
@pytest.mark.parametrize("source", ["hypervisor", "neighbour", "group"])
def test_a_whole_cpu_is_as_well_known_as_what_was_left(source: str) -> None:
    """Users' waits tell what others cost one user alone: no more is unknown of it than of the knee."""
    system = replace(CPU, source=source, taken=0.6)
    verdict = answered(system).saturation
    assert verdict.at is not None
    assert verdict.left is not None
    assert verdict.left.whole is not None
    at, whole = verdict.at, verdict.left.whole
    assert whole.low <= system.whole <= whole.high
    assert whole.high / whole.low < at.high / at.low * 1.03


def series(left: float, other: float) -> tuple[Series, np.ndarray, Cell]:
    """One load of ten users in two blocks of ten observations, whose throughput is 20 times what was left."""
    c = np.repeat([left, other], 10)
    rows, batches = np.arange(20), np.repeat([0, 1], 10)
    one = Series(np.full(20, 10.0), np.zeros(20, dtype=np.int64), 20 * c, np.ones(20), batches, 10 - 4 * c)
    cell = Cell(10.0, rows, float(c.mean()), 20.0, float(20 * c.mean()), 1.0, 1.0, float(c.mean()), 1.0, None)
    return one, c, cell


def test_what_others_left_is_no_scatter_where_the_cpu_limits() -> None:
    plain, c, cell = series(0.4, 0.5)
    scaled = _scaled(plain, c, [cell], [cell.left], [True])
    assert scaled.throughput == pytest.approx(np.full(20, 20.0))
    assert scaled.in_transaction is not None
    assert scaled.load - scaled.in_transaction == pytest.approx(np.full(20, 4.0))
    free = _scaled(plain, c, [cell], [cell.left], [False])
    assert free.throughput == pytest.approx(plain.throughput / 0.45)


def test_who_takes_nothing_does_not_show_what_he_would_leave() -> None:
    _, _, cell = series(0.4, 0.5)
    idle = [replace(cell, left=1.0, used=0.1)] * 5
    assert _eaten([*idle, replace(cell, left=0.3, used=1.0)])
    assert not _eaten([*idle, replace(cell, left=0.3, used=0.5)])
    assert not _eaten(idle)
    assert not _eaten([])


@pytest.mark.slow
def test_a_load_that_fills_what_was_left_is_not_called_unsaturated() -> None:
    assert diagnose(made(3239).run()[0]).saturation.outcome != "not-saturated"


def test_capacity_is_wall_time_less_steal_and_others() -> None:
    recording, _ = replace(CPU, source="neighbour", taken=0.4).run()
    curves = reduce(recording).curves
    assert [p.mean for p in curves["taken_cpu"].points] == pytest.approx([0.4] * len(LEVELS), abs=0.02)
    assert [p.mean for p in curves["left_fraction"].points] == pytest.approx([0.6] * len(LEVELS), abs=0.02)
    top = curves["busy_of_left"].points[-1].mean
    assert top == pytest.approx(1.0, abs=0.03)
    stolen = reduce(replace(CPU, taken=0.4).run()[0]).curves
    assert stolen["taken_cpu"].points[-1].mean == pytest.approx(0.4, abs=0.02)
    light = stolen["taken_cpu"].points[0].mean
    assert light is not None
    assert light < 0.1  # who does not want a CPU is robbed of none


def robbed(made: Made, part: float) -> MadeRecording:
    """A made study whose idle time a neighbour takes, up to this part of the processors."""
    recording = made.make()
    idle = {}
    for row in recording.rows["processor"]:
        have = row["idle_us"]
        before, took = idle.get(row["processor"], (0, 0))
        elapsed = row["monotonic_ns"] // 1000
        more = min(have - before, max(0, round(part * elapsed) - took)) if have > before else 0
        idle[row["processor"]] = (have, took + more)
        row["idle_us"], row["user_us"] = have - took - more, row["user_us"] + took + more
    return recording


def test_robbed_light_loads_do_not_deny_what_fills_the_cpu_when_others_are_gone() -> None:
    """Hogs take 90 % beside one user and nothing beside the heaviest load, which surely saturates the CPU."""
    system = made(31178)
    assert max(system.levels) > system.whole
    answer = answered(system)
    assert answer.saturation.outcome != "not-saturated"
    assert answer.findings[0].rule == "cpu_bound"


@pytest.mark.slow
def test_a_quota_is_not_short_of_what_others_take_beside_it() -> None:
    made = Made(cpu=0.1, processors=2, quota=0.5)
    plain, beside = diagnose(made.make()), diagnose(robbed(made, 0.6))
    fractions = reduce(robbed(made, 0.6)).curves["left_fraction"].points
    assert all(point.mean == pytest.approx(1.0) for point in fractions)
    assert beside.saturation == plain.saturation
    assert beside.findings[0].rule == plain.findings[0].rule == "quota_bound"


def test_without_readings_of_it_nothing_is_said_of_what_was_left() -> None:
    recording = Made(cpu=0.2).make()
    for row in recording.rows["processor"]:
        del row["steal_us"]
    del recording.description["system_under_test"]["cgroup"]
    reduction = reduce(recording)
    assert "left_cpu" not in reduction.curves
    assert np.isnan(reduction.observations["left_fraction"]).all()
    assert diagnose(recording).saturation.left is None


def test_what_rising_others_cost_one_user_is_told_by_all_loads_that_the_slope_rests_on() -> None:
    """One processor, think time 9 s, demand 1 s: 10 users on a whole CPU, of which ever less is left."""
    _, _, cell = series(0.4, 0.5)
    cells = []
    for users in range(1, 9):
        c = 1 - 0.06 * users
        rate = min(users / (9 + 1 / c), c)
        robbed = (rate / c - rate) / users
        cells.append(
            replace(cell, users=users, left=c, rate=rate, error=0.0, robbed=(robbed, robbed, robbed))
        )
    used = [one.left for one in cells]
    below = [one for one in cells if one.rate < 0.99 * one.left]
    x, y = np.array([(one.users / one.left, one.rate / one.left) for one in below]).T
    slope = float(x @ y / (x @ x))
    light = _light(cells, used, max(one.rate / one.users for one in cells))
    assert light is not None
    assert light[1] / slope == pytest.approx(10.0, rel=0.017)
