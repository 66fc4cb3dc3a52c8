"""Trend, scatter, or too few data."""

from __future__ import annotations

import numpy as np
import pytest

from satline.reduction import Curve, Point, trend
from satline.reduction._statistics import point

# The worked example of the specification: classes 1-2, 3-4, 5-6, 7-8.
EXAMPLE = ((4, 50.0, 30.0), (16, 45.0, 40.0), (9, 60.0, 30.0), (4, 50.0, 40.0))


def curve(*classes: tuple[int, float, float]) -> Curve:
    """From n, mean and sd of each class, observations independent."""
    points = tuple(Point(n, mean, sd, sd / n**0.5, None, None) for n, mean, sd in classes)
    return Curve("rate", "per second", "", points)


def test_the_worked_example_has_too_few_data() -> None:
    errors = [p.standard_error for p in curve(*EXAMPLE).points]
    assert errors == [15, 10, 10, 20]
    assert trend(curve(*EXAMPLE)).kind == "too-few-data"
    assert "too few data" in trend(curve(*EXAMPLE)).words


def test_the_worked_example_with_a_hundred_times_the_observations_is_scatter() -> None:
    found = trend(curve(*((100 * n, mean, sd) for n, mean, sd in EXAMPLE)))
    assert found.kind == "scatter"
    assert "scatter in the system itself" in found.words


@pytest.mark.parametrize(
    ("means", "kind"),
    [
        ([10, 12, 14, 16], "rises"),
        ([16, 14, 12, 10], "falls"),
        ([10, 14, 18, 14, 10], "rises-then-falls"),
        ([18, 14, 10, 14, 18], "falls-then-rises"),
        ([10, 10.1, 9.9, 10], "flat"),
        ([10, 16, 9, 17, 11], "scatter"),
    ],
)
def test_clear_curves_are_called_by_their_shape(means: list[float], kind: str) -> None:
    assert trend(curve(*((400, m, 4.0) for m in means))).kind == kind


def test_many_small_steps_make_a_trend_that_no_neighbours_show() -> None:
    assert trend(curve(*((30, 10 + 0.35 * k, 2.0) for k in range(12)))).kind == "rises"


def test_one_class_and_single_observations_tell_nothing() -> None:
    assert trend(curve((100, 5.0, 1.0))).kind == "one-class"
    alone = Point(1, 5.0, None, None, None, None)
    assert trend(Curve("rate", "", "", (alone, alone))).kind == "one-class"
    # two equal readings are no proof that the error is nothing
    assert trend(curve((2, 5.0, 0.0), (2, 9.0, 0.0))).kind == "one-class"


def test_a_variable_that_never_changes_is_flat() -> None:
    found = trend(curve((50, 2.0, 0.0), (50, 2.0, 0.0)))
    assert (found.kind, found.bound) == ("flat", 0)


def test_flat_says_what_is_surely_not_exceeded() -> None:
    found = trend(curve((400, 10, 1.0), (400, 10, 1.0)))
    assert found.bound is not None
    assert 0.1 < found.bound < 0.25
    assert found.words.startswith("flat: it surely changes by less than")


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_what_does_not_change_is_seldom_said_to(correlation: float) -> None:
    """Of 300 curves without any trend at most about one in twenty may be called one."""
    random = np.random.default_rng(11)
    wrong = 0
    for _ in range(300):
        points = []
        for _ in range(8):
            noise = random.normal(size=400)
            for k in range(1, 400):
                noise[k] += correlation * noise[k - 1]
            points.append(point(noise + 100, np.arange(400) // 40))
        kind = trend(Curve("rate", "", "", tuple(points))).kind
        wrong += kind not in ("flat", "too-few-data")
    assert wrong <= 300 * 0.08
