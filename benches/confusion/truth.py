"""What a pair's bottleneck is, found by buying; and the recording that is to show it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pairs import MACHINE, UPGRADES, Pair, made

from satline.errors import SatlineError
from satline.simulation import Program, Run, Store, find_machine, find_workload, paired, sweep

LEAST_GAIN = 0.03
ALIKE = 0.5
PILOT_USERS = (1, 2, 4, 8, 16, 32, 64, 128)
PARTS = (0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.1, 1.35, 1.65, 2.0, 2.5)
# The top load is come to as the recording comes to it, from below saturation: users who all log on at once
# may thrash for as long as one looks, where those who came one after another do not.
RAMP = (0.9, 1.65)
NONE, UNCLEAR, FAILED = "none", "unclear", "failed"


@dataclass(frozen=True)
class Truth:
    """What buying showed at the top load.

    kind
        The upgrade that helps most; none: none surely helps by as much as `LEAST_GAIN`, and the best of them
        surely not by twice that; unclear: too noisy to tell; failed: a run ended in an error.
    as_good
        The upgrades whose gain is not surely less than the best one's, and at least half of it.
    gains
        Part by which each upgrade raises the work done: low, mean, high of its 95 % interval.
    """

    number: int
    kind: str
    as_good: tuple[str, ...]
    gains: dict[str, tuple[float, float, float]]
    users: tuple[int, ...]
    error: str = ""


def simulated(number: int, replications: int, seconds: float, out: Path) -> Truth:
    """Pair `number`: recorded as ``out/number.satline``, its runs kept in ``out/number.jsonl``.

    Work is what throughput is measured by: processor time in problem state [Bard], times the processor's
    speed. Completed transactions mislead where the mix of what completes changes: Q1 goes before Q2, so that
    a machine long saturated completes ever more of the short ones.
    """
    runs = Runs(made(number), Program(), out / f"{number}.jsonl")
    try:
        users = _loads(runs)
        truth = _bought(runs, users, replications, seconds)
        runs.record(users, out / f"{number}.satline")
    except SatlineError as error:
        return Truth(number, FAILED, (), {}, (), str(error))
    return truth


class Runs:
    """The runs of one pair, each made once."""

    def __init__(self, pair: Pair, program: Program, kept: Path) -> None:
        self.pair, self.program, self.kept = pair, program, kept

    def top(self, sets: dict[str, str], users: Sequence[int], length: float, replication: int) -> Run:
        """A run that is measured at the greatest of `users`."""
        ramp = {round(part / PARTS[-1] * users[-1]) for part in RAMP} - {0, users[-1]}
        return self.run(sets, [*sorted(ramp), users[-1]], length, length / 4, replication)

    def run(
        self, sets: dict[str, str], users: Sequence[int], length: float, warmup: float, replication: int = 0
    ) -> Run:
        """A run of the pair with these settings."""
        return Run(
            find_machine(MACHINE),
            find_workload(self.pair.workload),
            tuple(users),
            length,
            warmup,
            10.0,
            1000 + self.pair.number,
            replication,
            tuple(sets.items()),
        )

    def work(self, runs: Sequence[Run]) -> list[list[float]]:
        """Work done per second in each step of each run."""
        with Store(self.kept) as store:
            results = sweep(runs, self.program, store=store, workers=1)
        return [
            [
                float(dict(run.sets)["processors.speed"]) * float(step["measures"]["problem_fraction"])
                for step in result.steps
            ]
            for run, result in zip(runs, results, strict=True)
        ]

    def record(self, users: Sequence[int], path: Path) -> None:
        """The loads one after another, as what is to be diagnosed; a recording that is there is taken."""
        if path.is_dir():
            return
        torn = path.with_suffix(".part")
        shutil.rmtree(torn, ignore_errors=True)
        self.program.run(self.run(self.pair.sets(), users, 1200.0, 300.0), record=torn)
        torn.rename(path)


def _loads(runs: Runs) -> tuple[int, ...]:
    """Loads around the users who just saturate it: what it can do × the time of one user's cycle when
    alone."""
    (work,) = runs.work([runs.run(runs.pair.sets(), PILOT_USERS, 500.0, 100.0)])
    alone = sum(work[:4]) / sum(PILOT_USERS[:4])
    knee = max(3.0, min(60.0, max(work) / max(alone, 1e-9)))
    return tuple(sorted({max(1, round(part * knee)) for part in PARTS}))


def _bought(runs: Runs, users: tuple[int, ...], replications: int, seconds: float) -> Truth:
    """Every upgrade at the top load with the same random numbers; more often where that tells nothing."""
    pair = runs.pair
    ways = [("", pair.sets()), *((name, sets) for name, many in pair.upgraded().items() for sets in many)]
    truth = Truth(pair.number, UNCLEAR, (), {}, users)
    for count in (replications, 2 * replications, 3 * replications):
        wanted = [
            runs.top(sets, users, seconds, replication) for _, sets in ways for replication in range(count)
        ]
        work = [values[-1] for values in runs.work(wanted)]
        values = [work[k * count : (k + 1) * count] for k in range(len(ways))]
        truth = _judged(pair.number, users, [name for name, _ in ways[1:]], values[0], values[1:])
        if truth.kind != UNCLEAR:
            break
    return truth


def _judged(
    number: int, users: tuple[int, ...], names: list[str], before: list[float], after: list[list[float]]
) -> Truth:
    """Who wins; of several ways to do an upgrade the best counts."""
    best = {
        kind: max((v for n, v in zip(names, after, strict=True) if n == kind), key=sum) for kind in UPGRADES
    }
    level = sum(before) / len(before)
    gains = {}
    for kind, values in best.items():
        low, value, high = _difference(before, values)
        gains[kind] = (low / level, value / level, high / level)
    first = max(gains, key=lambda kind: gains[kind][1])
    low, most, high = gains[first]
    if low > LEAST_GAIN:
        as_good = tuple(
            kind
            for kind in UPGRADES
            if kind == first
            or (gains[kind][1] >= ALIKE * most and _difference(best[kind], best[first])[0] <= 0)
        )
        return Truth(number, first, as_good, gains, users)
    return Truth(number, NONE if high < 2 * LEAST_GAIN else UNCLEAR, (), gains, users)


def _difference(a: list[float], b: list[float]) -> tuple[float, float, float]:
    """Low, mean, high of b − a."""
    found = paired(a, b).difference
    value, half = found.value or 0.0, found.half_width or 0.0
    return value - half, value, value + half
