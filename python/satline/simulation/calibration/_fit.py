"""The fit: a space-filling start, then Gauss–Newton steps within a trust box, by simulation.

What: minimises Σ w_i (e_i / τ_i)² + ρ Σ ((x_j − x⁰_j) / ¼)², with e_i the relative error of target i, τ_i its
tolerance, x_j the place of constant j in its range (0 to 1) and x⁰_j its start: half a range counts as two
standard deviations of what was thought of it before.
Why: slopes by differences are exact enough when both runs have the same random numbers; steps are tried
before they are believed, several lengths at once, so that all processors have work.
Reference: Nocedal and Wright, Numerical Optimization, 10.3 (Gauss–Newton, trust region).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from satline.errors import SatlineError
from satline.simulation.calibration._evaluate import Evaluator, Floats, Tried
from satline.simulation.calibration._file import CalibrationFile

DEVIATION = 0.25
STEP = 0.1
RADII = (0.5, 0.25, 0.12, 0.06)
FINER = 0.25
ENOUGH = 0.01
MOST_FAILURES = 2


@dataclass(frozen=True)
class Slopes:
    """Slopes of the relative errors by place, targets × constants, and the standard error of each."""

    at: Tried
    slope: Floats
    error: Floats


@dataclass(frozen=True)
class Fit:
    """Where the search ended.

    settled
        No step brought a hundredth more; otherwise the rounds ran out.
    """

    best: Tried
    start: Tried
    slopes: Slopes
    rounds: int
    settled: bool


@dataclass(frozen=True)
class Goal:
    """What is minimised."""

    tolerance: Floats
    weight: Floats
    start: Floats
    ridge: float

    @staticmethod
    def of(file: CalibrationFile, start: Floats) -> Goal:
        """The goal that a file states."""
        return Goal(
            np.array([file.allowed(target) for target in file.target]),
            np.array([target.weight for target in file.target]),
            start,
            file.ridge,
        )

    @property
    def scale(self) -> Floats:
        """√w / τ by target."""
        return np.asarray(np.sqrt(self.weight) / self.tolerance)

    def misfit(self, error: Floats) -> float:
        """The targets' part."""
        return float(((self.scale * error) ** 2).sum())

    def value(self, place: Floats, error: Floats) -> float:
        """The whole."""
        away = (place - self.start) / DEVIATION
        return self.misfit(error) + self.ridge * float((away**2).sum())


def fit(evaluator: Evaluator) -> Fit:
    """Search for the constants that bring all targets nearest.

    Raises
    ------
    InputError, SatlineError
        The machine refuses the starting values.
    KeyboardInterrupt
        Ctrl-C; what is done is in the store.
    """
    file, axes = evaluator.calibration.file, evaluator.calibration.axes
    start_place = np.array([axis.place(axis.start) for axis in axes])
    evaluator.note("start")
    start = evaluator.one(start_place, file.run.replications)
    goal = Goal.of(file, start.place)
    best = _from_afar(evaluator, goal, start)
    radii: tuple[float, ...] = RADII
    failures = rounds = 0
    slopes: Slopes | None = None
    while rounds < file.run.rounds and failures < MOST_FAILURES:
        rounds += 1
        if slopes is None or slopes.at is not best:
            evaluator.note(f"round {rounds}: slopes")
            slopes, seen = find_slopes(evaluator, best)
        else:
            seen = []
        evaluator.note(f"round {rounds}: steps")
        places = [best.place + step(goal, slopes, radius) for radius in radii]
        found = evaluator.at(places, file.run.replications)
        new = min([best, *seen, *_good(found)], key=lambda one: goal.value(one.place, one.error))
        before, after = (goal.value(one.place, one.error) for one in (best, new))
        if after < before * (1.0 - ENOUGH):
            failures = 0
        else:
            failures += 1
            radii = tuple(radius * FINER for radius in radii)
        best = new
    if slopes is None or slopes.at is not best:
        evaluator.note("slopes at the end")
        slopes, _ = find_slopes(evaluator, best)
    return Fit(best, start, slopes, rounds, failures >= MOST_FAILURES)


def _good(found: list[Tried | SatlineError]) -> list[Tried]:
    return [one for one in found if isinstance(one, Tried)]


def _from_afar(evaluator: Evaluator, goal: Goal, start: Tried) -> Tried:
    """The best of the start and of points all over the ranges, told apart by their first replication."""
    run = evaluator.calibration.file.run
    if run.starts == 0:
        return start
    evaluator.note("points all over the ranges")
    places = latin_hypercube(run.starts, len(start.place), run.seed)
    found = _good(evaluator.at(list(places), 1))
    best = min(found, key=lambda one: goal.value(one.place, one.error), default=start)
    if goal.value(best.place, best.error) >= goal.value(start.place, start.errors[0]):
        return start
    return evaluator.one(best.place, run.replications)


def latin_hypercube(points: int, constants: int, seed: int) -> Floats:
    """So many places, of which each constant has one in every 1/n of its range. Own: three lines, for which
    `scipy.stats` would have to be loaded."""
    draw = np.random.default_rng(seed)
    cells = np.stack([draw.permutation(points) for _ in range(constants)], axis=1)
    return np.asarray((cells + draw.random(cells.shape)) / points)


def find_slopes(evaluator: Evaluator, at: Tried) -> tuple[Slopes, list[Tried]]:
    """Slopes at a point by differences with the same random numbers, and the points that they took.

    Each constant goes a tenth of its range, towards the further end; where the machine refuses that, the
    other way.
    """
    axes = evaluator.calibration.axes
    count = len(at.errors)

    def beside(which: int, way: float) -> Floats:
        place = at.place.copy()
        length = STEP
        if axes[which].constant.whole:
            length = max(length, 1.0 / axes[which].per_range(at.values[which]))
        place[which] = min(max(place[which] + way * length, 0.0), 1.0)
        return place

    ways = [1.0 if place <= 0.5 else -1.0 for place in at.place]
    found = evaluator.at([beside(j, way) for j, way in enumerate(ways)], count)
    slope = np.zeros((at.errors.shape[1], len(axes)))
    error = np.zeros_like(slope)
    seen = []
    for j, one in enumerate(found):
        tried = one if isinstance(one, Tried) else evaluator.one(beside(j, -ways[j]), count)
        seen.append(tried)
        differences = (tried.errors - at.errors) / (tried.place[j] - at.place[j])
        slope[:, j] = differences.mean(axis=0)
        error[:, j] = differences.std(axis=0, ddof=1) / math.sqrt(count)
    return Slopes(at, slope, error), seen


def step(goal: Goal, slopes: Slopes, radius: float) -> Floats:
    """The step that the slopes promise most of; no constant goes further than `radius`, or off its range."""
    place = slopes.at.place
    return promised(goal, slopes, np.maximum(-place, -radius), np.minimum(1.0 - place, radius))


def promised(goal: Goal, slopes: Slopes, low: Floats, high: Floats) -> Floats:
    """The step x, low ≤ x ≤ high, that makes the goal least where the slopes hold: least squares of
    √w/τ · (e + J x), and of √ρ · (place + x − start)/¼."""
    from scipy.optimize import lsq_linear

    ridge = math.sqrt(goal.ridge) / DEVIATION
    away = slopes.at.place - goal.start
    design = np.concatenate([slopes.slope * goal.scale[:, None], ridge * np.eye(len(away))])
    aim = -np.concatenate([goal.scale * slopes.at.error, ridge * away])
    # It may end beyond a bound by rounding.
    found = lsq_linear(design, aim, bounds=(low, high), method="bvls").x
    return np.asarray(np.clip(found, low, high))
