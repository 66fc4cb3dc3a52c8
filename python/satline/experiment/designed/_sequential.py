"""Replicates beyond the plan: where an effect is undecided, and no more of them than that needs.

Effects are those of the factors on the first measure of all commands: each level against the lowest, over
the cells that differ in nothing else (in a fraction: over all cells of the two levels). Each run beyond the
plan is a look. Looks are made again from the runs that are there, in the order of their numbers, so that a
study that was ended early goes on with the error that it has left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from satline.errors import InputError
from satline.experiment.designed._file import DesignPart
from satline.experiment.designs import Plan, Run
from satline.experiment.search.replicates import Effect, Replicate, State, next_replicate

LEVEL = 0.05


@dataclass(frozen=True)
class Look:
    """What is known after so many runs.

    run
        What to run next; ``None``: enough.
    why
        In words.
    effects
        By the name of the contrast; of a measure in logarithms their logarithms.
    logarithms
        Of the measure: effects are differences of them.
    """

    run: Run | None
    why: str
    effects: tuple[Effect, ...] = ()
    logarithms: bool = False

    def lines(self) -> list[str]:
        """The effects, a line of text each."""
        return [_line(effect, self.logarithms) for effect in self.effects]


def contrasts(plan: Plan) -> tuple[list[tuple[str, ...]], dict[str, list[float]]]:
    """The cells of a plan, and the coefficients of each effect, one a cell."""
    cells = list(dict.fromkeys(tuple(run.levels.values()) for run in plan.runs))
    place = {cell: number for number, cell in enumerate(cells)}
    found: dict[str, list[float]] = {}
    for number, factor in enumerate(plan.factors):
        lowest = factor.levels[0]
        for level in factor.levels[1:]:
            pairs = []
            for cell in cells:
                other = (*cell[:number], lowest, *cell[number + 1 :])
                if cell[number] == level and other in place:
                    pairs.append((place[cell], place[other]))
            row = [0.0] * len(cells)
            for one, other_one in pairs:
                row[one] += 1 / len(pairs)
                row[other_one] -= 1 / len(pairs)
            if not pairs:  # of a fraction no two cells differ in one factor alone
                ups = [place[cell] for cell in cells if cell[number] == level]
                downs = [place[cell] for cell in cells if cell[number] == lowest]
                for ends, sign in ((ups, 1.0), (downs, -1.0)):
                    for one in ends if ups and downs else ():
                        row[one] = sign / len(ends)
            if any(row):
                found[f"{factor.name} {lowest} → {level}"] = row
    return cells, found


def look(plan: Plan, values: Mapping[int, float], design: DesignPart) -> Look:
    """What to run next of a design with ``most_runs``.

    Parameters
    ----------
    values
        The measure, by the number of the run; runs without one are absent.

    Raises
    ------
    InputError
        A measure that is not above 0 has no logarithm.
    """
    assert design.most_runs is not None
    assert design.smallest is not None
    smallest, logarithms = design.smallest, design.transform == "log"
    if logarithms:
        if not all(value > 0 for value in values.values()):
            hint = 'leave transform = "log" out'
            raise InputError(
                f"{design.measures[0]} is not above 0 in every run, and has no logarithm", hint=hint
            )
        values = {number: math.log(value) for number, value in values.items()}
        smallest = math.log1p(smallest)
    cells, rows = contrasts(plan)
    planned = [run for run in plan.runs if run.replicate <= plan.replicates]
    further = [run for run in plan.runs if run.replicate > plan.replicates]
    seen: dict[tuple[str, ...], list[float]] = {cell: [] for cell in cells}
    for run in planned:
        if run.number in values:
            seen[tuple(run.levels.values())].append(values[run.number])
    empty = sum(not one for one in seen.values())
    if empty:
        return Look(None, f"{empty} cells have no result")

    spent: float = 0.0
    decided: dict[str, State] = {}

    def asked() -> Replicate:
        nonlocal spent, decided
        found = next_replicate(
            list(seen.values()),
            rows,
            smallest=smallest,
            most_runs=design.most_runs or 1,
            level=LEVEL,
            spent=spent,
            decided=decided,
        )
        spent, decided = found.spent, {effect.name: effect.state for effect in found.effects}
        return found

    found = asked()
    for run in further:
        if run.number in values:
            seen[tuple(run.levels.values())].append(values[run.number])
            found = asked()
    if found.cell is None or len(plan.runs) >= design.most_runs:
        why = found.why if found.cell is None else f"the {design.most_runs} runs are done"
        return Look(None, why, found.effects, logarithms)
    levels = dict(zip((factor.name for factor in plan.factors), cells[found.cell], strict=True))
    there = [run.replicate for run in plan.runs if dict(run.levels) == levels]
    number = 1 + max(run.number for run in plan.runs)
    replicate = 1 + max(plan.replicates, *there)
    return Look(Run(number, None, replicate, levels), found.why, found.effects, logarithms)


def extended(plan: Plan, run: Run) -> Plan:
    """The plan with a run more."""
    return replace(plan, runs=(*plan.runs, run))


def _line(effect: Effect, logarithms: bool) -> str:
    value, low, high = effect.value, effect.low, effect.high
    if logarithms:
        value, low, high = (math.exp(x) if x < 700 else math.inf for x in (value, low, high))
    state = {
        "there": "there is an effect",
        "negligible": "smaller than what matters",
        "undecided": "undecided",
    }[effect.state]
    times = "×" if logarithms else ""
    return f"{effect.name}: {times}{value:.4g} [{low:.4g}, {high:.4g}], {state}"
