"""A designed study's outcome as one page: tables, effects, interactions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satline.experiment.designed._analysis import Outcome, Part
from satline.experiment.designed._results import ALL, MEASURES
from satline.experiment.designed.show import (
    Table,
    answers,
    cells_table,
    notes,
    runs_table,
    verdict_table,
)

if TYPE_CHECKING:
    from satline.present import Plot


@dataclass(frozen=True)
class _Directory:
    """What a page says that it was made from."""

    path: Path
    description: dict[str, Any]
    sources: dict[str, dict[str, Any]]


def write_outcome(
    path: Path, outcome: Outcome, title: str, question: str, text: str, within_s: float
) -> None:
    """Write the page, replacing what is there in one step.

    Raises
    ------
    InputError
        It cannot be written.
    """
    from satline.present.html import fill_page, write_page

    measures = list(dict.fromkeys(part.measure for part in outcome.parts))
    verdicts: list[tuple[str, Table]] = []
    for measure in measures:
        table = verdict_table(outcome, measure)
        if len(table) > 1:
            verdicts.append((f"Significance: {MEASURES[measure]}", table))
    page = fill_page(
        "designed.html.j2",
        _Directory(path.parent, {}, {}),
        None,
        title=title,
        question=question,
        answers=[line for measure in measures for line in answers(outcome, measure)],
        notes=notes(outcome),
        cells=cells_table(outcome, ALL),
        runs=runs_table(outcome.results),
        verdicts=verdicts,
        analyses=[_analysis(number, part) for number, part in enumerate(outcome.parts)],
        source=text,
        within_s=within_s,
    )
    write_page(path, page)


def _analysis(number: int, part: Part) -> tuple[str, str, list[Table], Any, list[str]]:
    """Heading, what it is held against, tables, pictures, notes of one part."""
    from satline.experiment.variance.plots import plots
    from satline.experiment.variance.show import effects_table, means_table, variance_table
    from satline.experiment.variance.show import notes as error_notes
    from satline.present.html import drawn_plots

    heading = f"{part.class_name}: {MEASURES[part.measure]}"
    few = f"; {part.left_out} runs have too few interactions of it" if part.left_out else ""
    if part.analysis is None:
        return heading, f"no analysis: {part.why}{few}", [], [], []
    tables = [effects_table(part.analysis)]
    if part.analysis.lenth is None:
        tables = [variance_table(part.analysis), *tables, means_table(part.analysis)]
    made = [
        replace(plot, name=f"{number}-{plot.name}")
        for plot in plots(part.analysis, MEASURES[part.measure])
        if part.class_name == ALL or _is_main(plot)
    ]
    held = f"effects are held against {part.error}{few}"
    return heading, held, tables, drawn_plots(made), error_notes(part.analysis)


def _is_main(plot: Plot) -> bool:
    """Residuals of every class would fill pages."""
    return plot.name == "means" or plot.name.startswith("interaction")
