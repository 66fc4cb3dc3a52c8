"""Simulate a machine under a workload: the Python face of it all."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from satline.errors import InputError
from satline.simulation._files import find_machine, find_workload
from satline.simulation._grid import combinations
from satline.simulation._precise import FEWEST, Goal
from satline.simulation._replications import Point
from satline.simulation._runner import Program, Result, Run, Setting, setting_text
from satline.simulation._sweep import Progress, Store, sweep

MOST_REPLICATIONS = 200
REPLICATIONS = 5
SECONDS = 3600.0
SAMPLES = 500
Sets = Mapping[str, Setting]


@dataclass(frozen=True)
class Simulated:
    """What a simulation yielded.

    points
        One for each combination of varied settings and number of users, users changing fastest.
    unreached
        Goals of precision that the most replications did not reach: point number, goal.
    """

    machine: Path
    workload: Path
    points: tuple[Point, ...]
    unreached: tuple[tuple[int, Goal], ...] = ()

    @property
    def unverified(self) -> tuple[str, ...]:
        """Figures of the machine without a known source, on which the results rest."""
        return tuple(dict.fromkeys(key for point in self.points for key in point.results[0].unverified))

    @property
    def not_modelled(self) -> tuple[str, ...]:
        """What machines with several processors leave out of a multiprocessor."""
        return tuple(dict.fromkeys(what for point in self.points for what in point.results[0].not_modelled))

    @property
    def differences(self) -> tuple[tuple[Point, Point], ...]:
        """Points, each after the one it is held against: of the same users, the first of what is varied."""
        first: dict[str, Point] = {}
        pairs = []
        for point in self.points:
            users = point.label.get("users", "")
            if users in first:
                pairs.append((first[users], point))
            else:
                first[users] = point
        return tuple(pairs)

    @property
    def events(self) -> int:
        """Events of all runs."""
        return sum(result.events for point in self.points for result in point.results)


def simulate(
    machine: str | Path,
    workload: str | Path,
    *,
    users: Sequence[int] = (),
    replications: int = REPLICATIONS,
    sets: Sets | None = None,
    vary: Mapping[str, Sequence[Setting]] | None = None,
    seconds: float = SECONDS,
    warmup_seconds: float | None = None,
    sample_seconds: float | None = None,
    seed: int = 1,
    until: Sequence[Goal] = (),
    most: int = MOST_REPLICATIONS,
    workers: int | None = None,
    out: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    program: Program | None = None,
) -> Simulated:
    """Simulate `machine` under `workload` at each number of users and each combination of settings.

    All combinations have the same random numbers, replication by replication, so that their differences are
    far surer than they are themselves: `Point.difference`. Results depend on the seed and on nothing else:
    not on the number of workers, nor on the host.

    Parameters
    ----------
    machine, workload
        Files, or names of shipped ones.
    users
        Each number is a run of its own; none: the workload's own population.
    sets, vary
        Keys of the machine file (``storage.pageable_frames``) or, after ``workload.``, of the workload
        file, and the value or values that they get instead.
    seconds, warmup_seconds, sample_seconds
        Simulated length of each run; the part left out at its start, by MSER-5 if ``None``; time between
        samples.
    until
        Add replications, at most `most`, until each point reaches each goal.
    workers
        Runs at a time; by default one for each processor.
    out
        File of JSON lines that keeps each run's result: an interrupted simulation goes on where it was.

    Raises
    ------
    InputError, SatlineError
        Wrong input, or a run failed.
    """
    if replications < 1 or not 0 < seconds < math.inf:
        raise InputError(f"{replications} replications of {seconds:g} s", hint="at least one, of some length")
    first = Run(
        find_machine(machine),
        find_workload(workload),
        step_seconds=seconds,
        sample_seconds=sample_seconds or sample_length(seconds),
        seed=seed,
        sets=tuple((key, setting_text(value)) for key, value in (sets or {}).items()),
    )
    if warmup_seconds is not None and warmup_seconds >= seconds:
        raise InputError(
            f"a warm-up of {warmup_seconds:g} s of {seconds:g} s", hint="leave something to measure"
        )
    varied = combinations({key: [setting_text(v) for v in values] for key, values in (vary or {}).items()})
    plans = [
        (
            {**dict(more), **({"users": str(number)} if number else {})},
            replace(first, users=(number,) if number else (), sets=(*first.sets, *more)),
        )
        for more in varied
        for number in (users or (0,))
    ]
    program = program or Program()
    with Store(out) as store:
        return _until(
            plans, replications, until, most, warmup_seconds, _Sweep(program, store, workers, progress)
        )


def sample_length(seconds: float) -> float:
    """Time between samples of a run of this length: 500 of them, but 1 s at least."""
    return max(1.0, round(seconds / SAMPLES, 3))


@dataclass(frozen=True)
class _Sweep:
    program: Program
    store: Store
    workers: int | None
    progress: Callable[[Progress], None] | None

    def __call__(self, runs: list[Run]) -> list[Result]:
        return sweep(runs, self.program, store=self.store, workers=self.workers, progress=self.progress)


def _until(
    plans: list[tuple[dict[str, str], Run]],
    replications: int,
    goals: Sequence[Goal],
    most: int,
    warmup_s: float | None,
    made: Callable[[list[Run]], list[Result]],
) -> Simulated:
    """Rounds of replications, until each point has reached its goals or has the most."""
    # One run's batch means say nothing of the next run's: goals rest on replications.
    counts = [min(max(replications, FEWEST), most) if goals else replications for _ in plans]
    while True:
        runs = [
            replace(run, replication=r)
            for (_, run), count in zip(plans, counts, strict=True)
            for r in range(count)
        ]
        results = iter(made(runs))
        points = tuple(
            Point(label, [next(results) for _ in range(count)], warmup_s)
            for (label, _), count in zip(plans, counts, strict=True)
        )
        wanted = [
            max([n, *(goal.needed(p.estimate(goal.measure), most) for goal in goals)])
            for n, p in zip(counts, points, strict=True)
        ]
        if wanted == counts:
            break
        counts = wanted
    missed = [
        (number, goal)
        for number, point in enumerate(points)
        for goal in goals
        if not goal.reached(point.estimate(goal.measure))
    ]
    run = plans[0][1]
    return Simulated(run.machine, run.workload, points, tuple(missed))
