"""What the runs of a design say: analysis of variance by class of commands, with and without flagged runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from satline.errors import InputError
from satline.experiment.designed._file import DesignPart
from satline.experiment.designed._results import ALL, Figures, RunResult, classes
from satline.experiment.designs import Plan, Run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from satline.experiment.variance import Analysis, Layout

LEAST_INTERACTIONS = 5
LEAST_FOR_LENTH = 8


@dataclass(frozen=True)
class Part:
    """One measure of one class of commands.

    analysis
        ``None``: there is none, for the reason `why`.
    error
        What the effects are held against, in words.
    left_out
        Runs that have too few interactions of the class.
    """

    class_name: str
    measure: str
    analysis: Analysis | None
    error: str = ""
    why: str = ""
    left_out: int = 0


@dataclass(frozen=True)
class Outcome:
    """The analysis of a designed study.

    missing
        Runs of the plan without a result, and cells of which none has one, in words.
    flagged
        Run → its flags.
    sensitivity
        What would be different without the flagged runs, in words; empty where none is flagged.
    """

    plan: Plan
    results: tuple[RunResult, ...]
    parts: tuple[Part, ...]
    missing: tuple[str, ...]
    flagged: dict[int, tuple[str, ...]]
    left_out_flagged: bool
    sensitivity: tuple[str, ...]


def outcome_of(
    plan: Plan,
    results: Sequence[RunResult],
    design: DesignPart,
    *,
    leave_out_flagged: bool = False,
    paired: bool = False,
) -> Outcome:
    """Analyse the runs.

    Parameters
    ----------
    paired
        The cells of a replicate share their random numbers, so that replicates are blocks.
    """
    flagged = {result.run.number: result.flags for result in results if result.flags}
    clean = [result for result in results if not result.flags]
    used = clean if leave_out_flagged else list(results)
    parts = tuple(
        _part(plan, used, design, name, measure, paired)
        for name in classes(used)
        for measure in design.measures
    )
    sensitivity: tuple[str, ...] = ()
    if flagged and not leave_out_flagged:
        sensitivity = _sensitivity(plan, clean, design, parts, paired, len(results))
    missing = _missing(plan, {result.run.number for result in used})
    return Outcome(plan, tuple(used), parts, missing, flagged, leave_out_flagged, sensitivity)


def _missing(plan: Plan, there: set[int]) -> tuple[str, ...]:
    gone = [run for run in plan.runs if run.number not in there]
    if not gone:
        return ()
    numbers = ", ".join(str(run.number) for run in gone[:20]) + (", …" if len(gone) > 20 else "")
    words = [f"{len(gone)} of {len(plan.runs)} runs have no result: {numbers}"]
    cells = {tuple(run.levels.items()) for run in gone}
    cells -= {tuple(run.levels.items()) for run in plan.runs if run.number in there}
    for cell in sorted(cells)[:8]:
        words.append(f"missing cell: {', '.join(f'{name} {level}' for name, level in cell)}")
    return tuple(words)


def _part(
    plan: Plan, results: Sequence[RunResult], design: DesignPart, name: str, measure: str, paired: bool
) -> Part:
    import numpy as np

    from satline.experiment.variance import analyse

    found: list[tuple[Run, float]] = []
    few = 0
    for result in results:
        own = next((one for one in result.figures if one.class_name == name), None)
        value = None if own is None else getattr(own, measure)
        if own is None or value is None or _answered(own) < LEAST_INTERACTIONS:
            few += 1
        else:
            found.append((result.run, float(value)))
    try:
        layout, y = _layout(plan, found, paired)
        if design.transform == "log":
            if not (y > 0).all():
                raise InputError("it is not above 0 in every run, and has no logarithm")
            y = np.log(y)
        pool, by_lenth, error = _error(design, layout)
        analysis = analyse(
            layout,
            y,
            pool=pool,
            by_lenth=by_lenth,
            log=design.transform == "log",
            order=np.array([run.number for run, _ in found], dtype=float),
        )
    except InputError as problem:
        why = problem.message + (f" ({problem.hint})" if problem.hint else "")
        return Part(name, measure, None, why=why, left_out=few)
    return Part(name, measure, analysis, error, left_out=few)


def _answered(one: Figures) -> int:
    return one.interactions - one.failed - one.unanswered


def _layout(
    plan: Plan, found: Sequence[tuple[Run, float]], paired: bool
) -> tuple[Layout, NDArray[np.float64]]:
    """The cells of the runs, and what they yielded."""
    import numpy as np

    from satline.experiment.variance import Layout

    if len(found) < 2:
        raise InputError(f"{len(found)} runs have it")
    names, levels, columns = [], [], []
    for factor in plan.factors:
        seen = [level for level in factor.levels if any(run.levels[factor.name] == level for run, _ in found)]
        if len(seen) < 2:
            raise InputError(f"{factor.name} has results at one level only")
        names.append(factor.name)
        levels.append(tuple(seen))
        columns.append([seen.index(run.levels[factor.name]) for run, _ in found])
    blocks = None
    numbers = [run.replicate if paired else run.block for run, _ in found]
    if None not in numbers and len(set(numbers)) > 1:
        blocks = np.unique(np.array(numbers), return_inverse=True)[1]
    layout = Layout(tuple(names), tuple(levels), np.array(columns).T, blocks)
    return layout, np.array([value for _, value in found])


def _error(design: DesignPart, layout: Layout) -> tuple[int | None, bool, str]:
    """What effects are held against: pooled order, Lenth's method, and words for it."""
    if design.pool is not None:
        return design.pool, False, f"interactions of {design.pool} factors or more, as the study declares"
    import numpy as np

    cells = len(np.unique(layout.codes, axis=0))
    if len(layout.codes) > cells:
        return None, False, "differences between replicates"
    if layout.two_level and cells >= LEAST_FOR_LENTH:
        return None, True, "Lenth's method: there are no replicates"
    return 2, False, "interactions of two factors or more, pooled since there are no replicates"


def _sensitivity(
    plan: Plan,
    clean: Sequence[RunResult],
    design: DesignPart,
    parts: Sequence[Part],
    paired: bool,
    runs: int,
) -> tuple[str, ...]:
    """Do the verdicts stand without the flagged runs?"""
    if not clean:
        return (f"all {runs} runs are flagged: what they say cannot be checked against others",)
    lines = []
    for part in parts:
        other = _part(plan, clean, design, part.class_name, part.measure, paired)
        if part.analysis is None:
            continue
        what = f"{part.class_name}: {part.measure}"
        if other.analysis is None:
            lines.append(f"{what}: too few runs are left without the flagged ones: {other.why}")
            continue
        before, after = verdicts(part.analysis), verdicts(other.analysis)
        changed = [name for name in before if before[name] != after.get(name)]
        if changed:
            told = "; ".join(
                f"{name}: {before[name]}, without {after.get(name, 'not told')}" for name in changed
            )
            lines.append(f"{what}: {told}")
    head = f"without the {runs - len(clean)} flagged runs "
    if not lines:
        return (f"{head}every factor that is significant remains so, and no other becomes it",)
    return (f"{head}the verdict on these changes:", *lines)


def verdicts(analysis: Analysis) -> dict[str, str]:
    """Each term of the analysis: significant, or not."""
    if analysis.lenth is not None:
        pairs = zip(analysis.contrasts, analysis.lenth.adjusted, strict=True)
        return {one.source: _said(p) for one, p in pairs}
    return {
        row.source: _said(row.adjusted if row.adjusted is not None else row.chance)
        for row in analysis.rows
        if row.chance is not None and row.source != "blocks"
    }


def _said(chance: float | None) -> str:
    return "not told" if chance is None else "significant" if chance < 0.05 else "not significant"


__all__ = ["ALL", "Outcome", "Part", "outcome_of", "verdicts"]
