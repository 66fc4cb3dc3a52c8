"""A designed study's outcome as tables for the terminal and the page, and as JSON."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from satline.experiment.designed._analysis import Outcome, Part
from satline.experiment.designed._results import ALL, MEASURES, Figures, RunResult, classes
from satline.experiment.variance.show import chance, shown
from satline.present import number

if TYPE_CHECKING:
    from rich.console import Console

UNANSWERED_PART = 0.05
Table = list[tuple[str, ...]]
_HEADS = ("react.", "90 %", "resp.", "90 %", "/min", "within")


def cells_table(outcome: Outcome, class_name: str) -> Table:
    """Each cell with the means over its runs of what one class of commands had."""
    names = [factor.name for factor in outcome.plan.factors]
    table: Table = [(*names, "runs", *_HEADS)]
    for levels, figures in _cells(outcome, class_name):
        row = [f"{len(figures)}"]
        for measure in MEASURES:
            values = [v for one in figures if (v := getattr(one, measure)) is not None]
            row.append(_value(measure, statistics.fmean(values) if values else None))
        table.append((*levels, *row))
    # A simulated user has no reaction apart from the response.
    seen = [n for n in range(len(table[0])) if any(row[n] != "–" for row in table[1:])]
    return [tuple(row[n] for n in seen) for row in table]


def _cells(outcome: Outcome, class_name: str) -> list[tuple[tuple[str, ...], list[Figures]]]:
    """In standard order, the first factor slowest."""
    found: dict[tuple[str, ...], list[Figures]] = {}
    for result in outcome.results:
        for one in result.figures:
            if one.class_name == class_name:
                found.setdefault(tuple(result.run.levels.values()), []).append(one)
    places = [factor.levels for factor in outcome.plan.factors]
    return sorted(found.items(), key=lambda item: [p.index(v) for p, v in zip(places, item[0], strict=True)])


def _value(measure: str, value: float | None) -> str:
    if value is None:
        return "–"
    if measure.endswith("_s"):
        return f"{value:.3g} s" if value >= 0.1 else f"{1000 * value:.3g} ms"
    return f"{value:.0%}" if measure == "satisfaction" else number(value, digits=4)


def unanswered(outcome: Outcome) -> list[str]:
    """Runs in which so many interactions had no answer at the end that their means are too low."""
    lines = []
    for result in outcome.results:
        one = next((f for f in result.figures if f.class_name == ALL), None)
        if one is not None and one.unanswered > UNANSWERED_PART * one.interactions:
            lines.append(
                f"run {result.run.number}: {one.unanswered} of {one.interactions} interactions had no answer"
                " when it ended: its means are too low; have a longer window"
            )
    return lines


def runs_table(results: Sequence[RunResult]) -> Table:
    """Each run with what all its commands had together, and its flags."""
    names = list(results[0].run.levels) if results else []
    table: Table = [("run", *names, "interactions", *_HEADS, "flags")]
    for result in results:
        one = next((f for f in result.figures if f.class_name == ALL), None)
        values = ["–"] * len(MEASURES)
        if one is not None:
            values = [_value(measure, getattr(one, measure)) for measure in MEASURES]
        count = "0" if one is None else str(one.interactions)
        flags = "; ".join(result.flags)
        table.append((str(result.run.number), *result.run.levels.values(), count, *values, flags))
    return table


def verdict_table(outcome: Outcome, measure: str) -> Table:
    """Significance of each term, kept for all terms together, by class of commands."""
    parts = [part for part in outcome.parts if part.measure == measure]
    terms = list(dict.fromkeys(term for part in parts for term in _chances(part)))
    table: Table = [("", *(part.class_name for part in parts))]
    found = [_chances(part) for part in parts]
    table += [(term, *(chance(own.get(term)) for own in found)) for term in terms]
    return table


def _chances(part: Part) -> dict[str, float | None]:
    analysis = part.analysis
    if analysis is None:
        return {}
    if analysis.lenth is not None:
        sources = (one.source for one in analysis.contrasts)
        return dict(zip(sources, analysis.lenth.adjusted, strict=True))
    return {
        row.source: row.chance if row.adjusted is None else row.adjusted
        for row in analysis.rows
        if row.chance is not None and row.source != "blocks"
    }


def answers(outcome: Outcome, measure: str) -> list[str]:
    """What changes the measure of all commands together, in sentences; the strongest first."""
    part = next((p for p in outcome.parts if p.class_name == ALL and p.measure == measure), None)
    what = MEASURES[measure].removesuffix(", s").removesuffix(", part").replace(" within", "")
    if part is None or part.analysis is None:
        return [f"No verdict on the {what}: {'no runs' if part is None else part.why}."]
    found = part.analysis
    sure = {term: p for term, p in _chances(part).items() if p is not None and p < 0.05}
    if not sure:
        return [f"No factor is seen to change the {what} (held against {part.error})."]
    lines = []
    for term in sorted(sure, key=lambda one: sure[one]):
        contrasts = [one for one in found.contrasts if one.source == term and one.value is not None]
        if " × " in term or not contrasts:
            lines.append(f"{term}: they interact in the {what} (p {chance(sure[term])}).")
            continue
        last = contrasts[-1]
        value, low, high = (_back(x, found.log) for x in (last.value, last.low, last.high))
        ends = f" [{shown(low, 3)}, {shown(high, 3)}]" if low is not None and high is not None else ""
        between = f" {last.between[0]} → {last.between[1]}" if last.between else ""
        change = f"times {shown(value, 3)}" if found.log else f"changed by {shown(value, 3)}"
        unit = " s" if measure.endswith("_s") and not found.log else ""
        lines.append(f"{term}{between}: {what} {change}{ends}{unit} (p {chance(sure[term])}).")
    return lines


def _back(value: float | None, log: bool) -> float | None:
    import math

    return math.exp(value) if log and value is not None else value


def notes(outcome: Outcome) -> list[str]:
    """What a reader must know of the runs."""
    lines = list(outcome.missing) + unanswered(outcome)
    if outcome.flagged:
        what = "left out" if outcome.left_out_flagged else "used all the same (--leave-out-flagged)"
        lines.append(f"{len(outcome.flagged)} of {len(outcome.plan.runs)} runs are flagged, and {what}:")
        lines += [f"  run {n}: {'; '.join(flags)}" for n, flags in sorted(outcome.flagged.items())]
    return lines + list(outcome.sensitivity)


def print_outcome(outcome: Outcome, console: Console) -> None:
    """The answer, the cells, significance by class; the whole analysis of all commands together."""
    from satline.experiment.variance.show import effects_table, print_table, variance_table
    from satline.experiment.variance.show import notes as error_notes
    from satline.present import cell

    def say(line: str, style: str = "") -> None:
        console.print(cell(line, style, encoding=console.encoding))

    measures = list(dict.fromkeys(part.measure for part in outcome.parts))
    for measure in measures:
        for line in answers(outcome, measure):
            say(line, "bold")
    console.print()
    if outcome.results:
        say("Cells, all commands together: means of their runs", "bold cyan")
        # Several factors in one column, which may be folded: the numbers stay whole.
        factors = len(outcome.plan.factors)
        cells = cells_table(outcome, ALL)
        print_table([(", ".join(row[:factors]), *row[factors:]) for row in cells], console)
    for measure in measures:
        table = verdict_table(outcome, measure)
        if len(table) > 1:
            console.print()
            say(f"Significance by class of commands: {MEASURES[measure]}", "bold cyan")
            print_table(table, console)
    first = next((part for part in outcome.parts if part.analysis is not None), None)
    if first is not None and first.analysis is not None:
        console.print()
        few = f"; {first.left_out} runs have too few interactions" if first.left_out else ""
        held = f"held against {first.error}{few}"
        say(f"{first.class_name}: {MEASURES[first.measure]}; {held}", "bold cyan")
        tables = [effects_table(first.analysis)]
        if first.analysis.lenth is None:
            tables = [variance_table(first.analysis), *tables]
        for table in tables:
            print_table(table, console)
            console.print()
        for line in error_notes(first.analysis):
            say(line)
    lines = notes(outcome)
    if lines:
        console.print()
        for line in lines:
            say(line)


def content(outcome: Outcome) -> dict[str, Any]:
    """For JSON."""
    from satline.experiment.variance.show import content as analysed

    return {
        "factors": {factor.name: factor.levels for factor in outcome.plan.factors},
        "runs_planned": len(outcome.plan.runs),
        "answers": [
            line
            for measure in dict.fromkeys(part.measure for part in outcome.parts)
            for line in answers(outcome, measure)
        ],
        "runs": [
            {
                "run": r.run.number,
                "block": r.run.block,
                "replicate": r.run.replicate,
                "levels": r.run.levels,
                "flags": r.flags,
                "seed": r.seed,
                "recording": r.recording.name,
                "classes": {one.class_name: one for one in r.figures},
            }
            for r in outcome.results
        ],
        "analyses": [
            {
                "class": part.class_name,
                "measure": part.measure,
                "held_against": part.error or None,
                "why_not": part.why or None,
                "runs_left_out": part.left_out,
                "analysis": None if part.analysis is None else analysed(part.analysis, part.class_name, ()),
            }
            for part in outcome.parts
        ],
        "classes": classes(outcome.results),
        "missing": outcome.missing,
        "flagged": outcome.flagged,
        "flagged_left_out": outcome.left_out_flagged,
        "sensitivity": outcome.sensitivity,
    }
