"""Runs of the machine at chosen values of the constants, all with the same random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from satline.errors import SatlineError
from satline.simulation._measures import of_step
from satline.simulation._runner import Program, Result, Run, setting_text
from satline.simulation._sweep import Progress, Store, sweep
from satline.simulation.calibration._file import Calibration

Floats = NDArray[np.float64]
SAMPLES = 25


@dataclass(frozen=True)
class Tried:
    """What the machine does at one choice of the constants.

    place
        Of each constant in its range, 0 to 1, as set: after rounding.
    errors
        (simulated − measured) / measured, replications × targets.
    """

    place: Floats
    values: tuple[float, ...]
    errors: Floats

    @property
    def error(self) -> Floats:
        """Mean relative error of each target."""
        return np.asarray(self.errors.mean(axis=0))


class Evaluator:
    """Makes the runs, keeps their results, and remembers every point.

    Parameters
    ----------
    note
        Told what is being done, before it is.
    """

    def __init__(
        self,
        calibration: Calibration,
        program: Program,
        store: Store,
        *,
        workers: int | None = None,
        progress: Callable[[Progress], None] | None = None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.calibration = calibration
        self.tried: list[Tried] = []
        self._keys: set[str] = set()
        self._program, self._store, self._workers = program, store, workers
        self._progress, self.note = progress, note
        file = calibration.file
        self._first = Run(
            calibration.machine,
            calibration.workload,
            step_seconds=file.run.seconds,
            warmup_seconds=file.run.warmup_seconds,
            sample_seconds=file.run.seconds / SAMPLES,
            seed=file.run.seed,
            sets=tuple((key, setting_text(value)) for key, value in file.set.items()),
        )

    @property
    def runs(self) -> int:
        """Different runs so far, those that were kept from before included."""
        return len(self._keys)

    def at(
        self, places: Sequence[Floats], replications: int, seed: int | None = None
    ) -> list[Tried | SatlineError]:
        """What the machine does at each place; an error where it refuses or fails there.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C; what is done is in the store.
        """
        axes = self.calibration.axes
        values = [
            tuple(axis.value(float(x)) for axis, x in zip(axes, place, strict=True)) for place in places
        ]
        runs = [self._runs(one, replications, seed) for one in values]
        self._keys |= {self._program.key(run) for group in runs for run in group}
        done: list[list[Result] | SatlineError] = []
        try:
            results = iter(self._sweep([run for group in runs for run in group]))
            done = [[next(results) for _ in group] for group in runs]
        except SatlineError:
            done = [self._alone(group) for group in runs]
        made = [
            one if isinstance(one, SatlineError) else self._tried(chosen, one)
            for chosen, one in zip(values, done, strict=True)
        ]
        self.tried += [one for one in made if isinstance(one, Tried)]
        return made

    def one(self, place: Floats, replications: int, seed: int | None = None) -> Tried:
        """As `at`, for one place that must do.

        Raises
        ------
        InputError, SatlineError
            The machine refuses it, fails, or a target is not defined there.
        """
        made = self.at([place], replications, seed)[0]
        if isinstance(made, SatlineError):
            raise made
        return made

    def _runs(self, values: Sequence[float], replications: int, seed: int | None) -> list[Run]:
        sets = [
            pair
            for axis, value in zip(self.calibration.axes, values, strict=True)
            for pair in axis.settings(value)
        ]
        first = replace(
            self._first, sets=(*self._first.sets, *sets), seed=self._first.seed if seed is None else seed
        )
        return [replace(first, replication=number) for number in range(replications)]

    def _sweep(self, runs: list[Run]) -> list[Result]:
        return sweep(runs, self._program, store=self._store, workers=self._workers, progress=self._progress)

    def _alone(self, runs: list[Run]) -> list[Result] | SatlineError:
        try:
            return self._sweep(runs)
        except SatlineError as error:
            return error

    def _tried(self, values: tuple[float, ...], results: list[Result]) -> Tried | SatlineError:
        targets = self.calibration.file.target
        errors = np.empty((len(results), len(targets)))
        for row, result in enumerate(results):
            for column, target in enumerate(targets):
                value = of_step(result.steps[-1]["measures"], target.measure)
                if value is None:
                    return SatlineError(
                        f"target {target.name}: the run has no {target.measure}",
                        hint="lengthen [run] seconds, or name a measure that this machine has",
                    )
                errors[row, column] = value / target.value - 1.0
        axes = self.calibration.axes
        place = np.array([axis.place(value) for axis, value in zip(axes, values, strict=True)])
        return Tried(place, values, errors)
