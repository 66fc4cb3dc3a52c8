"""Free constants of a simulated machine, fitted to a measured table by simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from satline.simulation._estimate import Estimate, mean_interval
from satline.simulation._runner import Program
from satline.simulation._sweep import Progress, Store
from satline.simulation.calibration._certainty import (
    Certainty,
    Obstacle,
    certainties,
    half_width,
    obstacle,
)
from satline.simulation.calibration._constants import Axis, number_text
from satline.simulation.calibration._evaluate import Evaluator
from satline.simulation.calibration._file import Calibration, CalibrationFile, Target, read_calibration
from satline.simulation.calibration._fit import Fit, Goal, fit

__all__ = [
    "Calibrated",
    "Calibration",
    "CalibrationFile",
    "Fitted",
    "Line",
    "calibrate",
    "number_text",
    "read_calibration",
]


@dataclass(frozen=True)
class Line:
    """A target as it came out.

    start, fitted
        Relative errors with the seeds of the fit.
    simulated, error
        With fresh seeds: in the measure's unit, and relative.
    obstacle
        Where it was missed: why.
    """

    target: Target
    tolerance: float
    start: float
    fitted: float
    simulated: Estimate
    error: Estimate
    obstacle: Obstacle | None

    @property
    def within(self) -> bool:
        """Is the mean within the tolerance?"""
        return self.error.value is not None and abs(self.error.value) <= self.tolerance

    @property
    def sure(self) -> bool:
        """Is the whole interval on that side?"""
        low, high = self.error.low, self.error.high
        if low is None or high is None:
            return False
        if self.within:
            return -self.tolerance <= low and high <= self.tolerance
        return low > self.tolerance or high < -self.tolerance


@dataclass(frozen=True)
class Fitted:
    """A constant as it came out; `low` and `high` are its 95 % interval, ``None`` where there is none."""

    axis: Axis
    value: float
    low: float | None
    high: float | None
    certainty: Certainty

    @property
    def words(self) -> str:
        """What must be known of it besides its interval."""
        if self.certainty.end:
            return f"at its {'least' if self.certainty.end < 0 else 'greatest'} value"
        if not self.certainty.identified:
            return "not identified: held by its start"
        return ""


@dataclass(frozen=True)
class Calibrated:
    """What a calibration found.

    fit
        The search; its errors are of the seeds that it was tuned on.
    runs
        Runs that it rests on, those kept from before included.
    """

    calibration: Calibration
    lines: tuple[Line, ...]
    constants: tuple[Fitted, ...]
    fit: Fit
    misfit: tuple[float, float]
    runs: int
    points: int

    @property
    def within(self) -> int:
        """Targets within their tolerance, by fresh seeds."""
        return sum(line.within for line in self.lines)


def calibrate(
    calibration: Calibration,
    *,
    workers: int | None = None,
    out: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    note: Callable[[str], None] = lambda _: None,
    program: Program | None = None,
) -> Calibrated:
    """Fit the free constants to the targets, and check the fit with fresh seeds.

    Parameters
    ----------
    workers
        Runs at a time; by default one for each processor. The result does not depend on it.
    out
        File that keeps each run's result: an interrupted calibration goes on where it was.
    note
        Told what is being done.

    Raises
    ------
    InputError, SatlineError
        Wrong input, or the machine fails with the starting values.
    KeyboardInterrupt
        Ctrl-C.
    """
    file = calibration.file
    with Store(out) as store:
        evaluator = Evaluator(
            calibration, program or Program(), store, workers=workers, progress=progress, note=note
        )
        found = fit(evaluator)
        tried = list(evaluator.tried)
        note("check with fresh seeds")
        check = evaluator.one(found.best.place, file.run.check_replications, file.run.check_seed)
    goal = Goal.of(file, found.start.place)
    measured = np.array([target.error for target in file.target])
    sure = certainties(goal, found.slopes, check.errors, measured)
    lines = []
    for number, target in enumerate(file.target):
        errors = [float(x) for x in check.errors[:, number]]
        error = mean_interval(errors, "replications")
        line = Line(
            target,
            file.allowed(target),
            float(found.start.error[number]),
            float(found.best.error[number]),
            mean_interval([target.value * (1.0 + x) for x in errors], "replications"),
            error,
            None,
        )
        if not line.within:
            line = replace(line, obstacle=obstacle(goal, found.slopes, tried, number))
        lines.append(line)
    constants = [
        _fitted(axis, value, one, float(place), file.run.check_replications)
        for axis, value, one, place in zip(
            calibration.axes, found.best.values, sure, found.best.place, strict=True
        )
    ]
    return Calibrated(
        calibration,
        tuple(lines),
        tuple(constants),
        found,
        (goal.misfit(found.start.error), goal.misfit(found.best.error)),
        evaluator.runs,
        len(tried),
    )


def _fitted(axis: Axis, value: float, certainty: Certainty, place: float, replications: int) -> Fitted:
    half = half_width(certainty, replications)
    if half is None:
        return Fitted(axis, value, None, None, certainty)
    low, high = (axis.value(min(max(place + way * half, 0.0), 1.0)) for way in (-1.0, 1.0))
    return Fitted(axis, value, low, high, certainty)
