"""A designed study's outcome as blocks for the terminal and its page, as CSV and as JSON."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from satline.experiment.designed import ALL, MEASURES, Figures, Outcome, Part, RunResult, classes
from satline.experiment.designs import Plan
from satline.present import variance
from satline.present._numbers import number
from satline.present._plot import Plot
from satline.present._written import csv_text
from satline.present.blocks import Block, Column, Curve, Headline, Note, Table, Value
from satline.present.variance import chance, shown

UNANSWERED_PART = 0.05
Rows = list[tuple[str, ...]]
_HEADS = ("react.", "90 %", "resp.", "90 %", "/min", "within")


def cells_table(outcome: Outcome, class_name: str) -> Rows:
    """Each cell with the means over its runs of what one class of commands had."""
    names = [factor.name for factor in outcome.plan.factors]
    table: Rows = [(*names, "runs", *_HEADS)]
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


def runs_table(results: Sequence[RunResult]) -> Rows:
    """Each run with what all its commands had together, and its flags."""
    names = list(results[0].run.levels) if results else []
    table: Rows = [("run", *names, "interactions", *_HEADS, "flags")]
    for result in results:
        one = next((f for f in result.figures if f.class_name == ALL), None)
        values = ["–"] * len(MEASURES)
        if one is not None:
            values = [_value(measure, getattr(one, measure)) for measure in MEASURES]
        count = "0" if one is None else str(one.interactions)
        flags = "; ".join(result.flags)
        table.append((str(result.run.number), *result.run.levels.values(), count, *values, flags))
    return table


def verdict_table(outcome: Outcome, measure: str) -> Rows:
    """Significance of each term, kept for all terms together, by class of commands."""
    parts = [part for part in outcome.parts if part.measure == measure]
    terms = list(dict.fromkeys(term for part in parts for term in _chances(part)))
    table: Rows = [("", *(part.class_name for part in parts))]
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


def outcome_blocks(outcome: Outcome) -> Iterator[Block]:
    """The answer, the cells, significance by class; the whole analysis of all commands together."""
    for measure in _measures(outcome):
        yield from (Note(line, "strong") for line in answers(outcome, measure))
    if outcome.results:
        yield Headline("Cells, all commands together: means of their runs")
        # Several factors in one column, which may be folded: the numbers stay whole.
        factors = len(outcome.plan.factors)
        rows = cells_table(outcome, ALL)
        yield Table.of([(", ".join(row[:factors]), *row[factors:]) for row in rows])
    for measure, rows in _verdicts(outcome):
        yield Headline(f"Significance by class of commands: {MEASURES[measure]}")
        yield Table.of(rows)
    first = next((part for part in outcome.parts if part.analysis is not None), None)
    if first is not None and first.analysis is not None:
        few = f"; {first.left_out} runs have too few interactions" if first.left_out else ""
        yield Headline(f"{first.class_name}: {MEASURES[first.measure]}; held against {first.error}{few}")
        if first.analysis.lenth is None:
            yield variance.variance_table(first.analysis)
        yield variance.effects_table(first.analysis)
        yield from map(Note, variance.notes(first.analysis))
    yield from map(Note, notes(outcome))


def _measures(outcome: Outcome) -> list[str]:
    return list(dict.fromkeys(part.measure for part in outcome.parts))


def _verdicts(outcome: Outcome) -> list[tuple[str, Rows]]:
    found = [(measure, verdict_table(outcome, measure)) for measure in _measures(outcome)]
    return [(measure, rows) for measure, rows in found if len(rows) > 1]


def write_outcome(
    path: Path, outcome: Outcome, title: str, question: str, text: str, within_s: float
) -> None:
    """Write the page, replacing what is there in one step; `text`: the study's file.

    Raises
    ------
    InputError
        It cannot be written.
    """
    from satline.present.html import blocks_page, write_page

    blocks: list[Block] = [Headline(title, 1), *([Note(question, "strong")] if question else [])]
    blocks += _page(outcome, within_s)
    write_page(path, blocks_page(path.parent, blocks, source=text))


def _page(outcome: Outcome, within_s: float) -> Iterator[Block]:
    yield Headline("The answer")
    for measure in _measures(outcome):
        yield from map(Note, answers(outcome, measure))
    yield from (Note(line, "warning") for line in notes(outcome))
    yield Headline("Cells")
    yield Note(
        "Means over the runs of each cell, all commands together. A reaction lasts to the first character of"
        " the answer, a response to the next prompt; “90 %” is the 90th percentile, “within” the part of"
        f" reactions within {within_s:g} s. A run is one number: its interactions are not independent of each"
        " other.",
        "quiet",
    )
    yield Table.of(cells_table(outcome, ALL))
    for measure, rows in _verdicts(outcome):
        yield Headline(f"Significance: {MEASURES[measure]}")
        yield Note(
            "Significance of each term by class of commands, kept for all terms together: below 0.05 it is no"
            " chance.",
            "quiet",
        )
        yield Table.of(rows)
    for number_, part in enumerate(outcome.parts):
        yield from _analysis(number_, part)
    yield Headline("Runs, in their order")
    yield Table.of(runs_table(outcome.results), text=(0, -1))


def _analysis(place: int, part: Part) -> Iterator[Block]:
    """What one part is held against, its tables, pictures and notes."""
    from satline.present.variance_plots import plots

    yield Headline(f"{part.class_name}: {MEASURES[part.measure]}")
    few = f"; {part.left_out} runs have too few interactions of it" if part.left_out else ""
    found = part.analysis
    if found is None:
        yield Note(f"no analysis: {part.why}{few}", "quiet")
        return
    yield Note(f"effects are held against {part.error}{few}", "quiet")
    if found.lenth is None:
        yield variance.variance_table(found)
    yield variance.effects_table(found)
    if found.lenth is None:
        yield variance.means_table(found)
    for plot in plots(found, MEASURES[part.measure]):
        if part.class_name == ALL or _is_main(plot):
            yield Curve(replace(plot, name=f"{place}-{plot.name}"))
    yield from (Note(line, "warning") for line in variance.notes(found))


def _is_main(plot: Plot) -> bool:
    """Residuals of every class would fill pages."""
    return plot.name == "means" or plot.name.startswith("interaction")


def results_csv(plan: Plan, results: Sequence[RunResult]) -> str:
    """A row for each run and class, as `satline experiment anova --by class` reads it."""
    names = [field.name for field in fields(Figures)][1:]
    blocked = any(run.block is not None for run in plan.runs)
    factors = [factor.name for factor in plan.factors]
    lead = ["run", *(["block"] if blocked else []), "replicate", *factors, "class"]
    head = [*lead, *names, "flags", "seed", "recording"]
    rows: list[tuple[Value, ...]] = []
    for result in results:
        run = result.run
        place = (run.number, *([run.block] if blocked else []), run.replicate, *map(run.levels.get, factors))
        last = ("; ".join(result.flags), result.seed, result.recording.name)
        rows += [
            (*place, one.class_name, *(getattr(one, name) for name in names), *last) for one in result.figures
        ]
    return csv_text(Table(tuple(map(Column, head)), tuple(rows)))


def content(outcome: Outcome) -> dict[str, Any]:
    """For JSON."""
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
                "analysis": None
                if part.analysis is None
                else variance.content(part.analysis, part.class_name, ()),
            }
            for part in outcome.parts
        ],
        "classes": classes(outcome.results),
        "missing": outcome.missing,
        "flagged": outcome.flagged,
        "flagged_left_out": outcome.left_out_flagged,
        "sensitivity": outcome.sensitivity,
    }
