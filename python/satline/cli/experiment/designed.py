"""`satline study` with factors: the runs of a design, one after another, and what they say together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from satline.cli.outputs import print_json
from satline.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from satline.experiment.designed import Carried, Outcome
    from satline.experiment.study import Study


def run_design(
    study: Study,
    out: Path | None,
    *,
    quick: bool,
    scratch: Path,
    as_json: bool,
    leave_out_flagged: bool,
) -> int:
    """Run what is left of the design, analyse all of it, write results.csv and report.html."""
    from rich.console import Console

    from satline.experiment.designed import SaidOnce, analyse_carried, carry_out
    from satline.experiment.protocol import Options
    from satline.experiment.study import designed_study
    from satline.present.progress import make_view

    console = Console(stderr=as_json)
    view = make_view(console)
    designed = designed_study(study)
    place = out or Path(f"{study.name}-design")
    options = Options(out=place, scratch=scratch, quick=quick)
    carried = carry_out(designed, place, options, view, SaidOnce(view, console.is_terminal))
    if carried.interrupted is not None:
        _print_interrupted(carried, place, as_json)
        return 128 + carried.interrupted
    view.note("analysing …")
    outcome = analyse_carried(carried, study.file.design, leave_out_flagged=leave_out_flagged)
    finish(
        outcome, place, study.file.title, study.file.question, study.text, _within_s(study), as_json, carried
    )
    return 1 if carried.left_behind else 0


def _within_s(study: Study) -> float:
    from satline.experiment.designed import DesignPart

    return (study.file.design or DesignPart()).within_seconds


def finish(
    outcome: Outcome,
    place: Path,
    title: str,
    question: str,
    text: str,
    within_s: float,
    as_json: bool,
    carried: Carried | None = None,
) -> None:
    """Write results.csv and report.html into the directory of the runs, and show the outcome."""
    from rich.console import Console

    from satline.experiment.designed import LEVEL
    from satline.present import print_blocks, visible
    from satline.present.designed import content, outcome_blocks, results_csv, write_outcome
    from satline.present.documents import plain
    from satline.present.html import write_page

    if not outcome.results:
        hint = "leave --leave-out-flagged out" if outcome.left_out_flagged else f"see {place / 'log.jsonl'}"
        raise InputError("no run has a result", hint=hint)
    table, page = place / "results.csv", place / "report.html"
    write_page(table, results_csv(outcome.plan, outcome.results))
    write_outcome(page, outcome, title, question, text, within_s)
    if as_json:
        names = ("failed", "late", "repeated", "left_behind")
        shown = {name: getattr(carried, name, None) for name in names}
        decided = carried and carried.decided
        shown["sequential"] = decided and {**plain(decided), "level": LEVEL}
        print_json("study-design", content(outcome), shown, title=title, report=page, results=table)
        return
    console = Console(highlight=False)
    console.print()
    print_blocks(outcome_blocks(outcome), console)
    if carried is not None:
        _print_decided(carried, console)
        _print_carried(carried, console)
    console.print()
    for name, path in (("report", page), ("results", table), ("runs", place / "runs")):
        click.echo(f"{name + ':':9}{visible(path)}")


def _print_decided(carried: Carried, console: Console) -> None:
    """What the replicates beyond the plan decided."""
    from satline.experiment.designed import LEVEL
    from satline.present import Note, print_blocks

    if carried.decided is None:
        return
    lines = [f"After {len(carried.plan.runs)} runs: {carried.decided.why}."]
    lines += [f"  {line}" for line in carried.decided.lines()]
    lines.append(f"  Each errs with a chance of at most {LEVEL:.0%}, however often it was looked at.")
    console.print()
    print_blocks(map(Note, lines), console)


def _print_carried(carried: Carried, console: Console) -> None:
    from satline.present import Note, print_blocks

    lines = [f"run {run} failed: {why}" for run, why in carried.failed.items()]
    lines += [f"run {run} is in the analysis though the emulator was late every time" for run in carried.late]
    if carried.repeated:
        lines.append(f"{carried.repeated} void run(s) were repeated")
    lines += [f"left behind: {what} (`satline experiment clean` tries again)" for what in carried.left_behind]
    print_blocks(map(Note, lines), console)


def _print_interrupted(carried: Carried, place: Path, as_json: bool) -> None:
    from satline.present import visible

    done = sum(carried.store.finished(run, carried.digest) for run in carried.plan.runs)
    words = f"ended early: {done} of {len(carried.plan.runs)} runs are done; the same command with --output "
    words += f"{visible(place)} goes on"
    if as_json:
        print_json(
            "study-design-interrupted", interrupted=True, runs_done=done, runs_planned=len(carried.plan.runs)
        )
    click.echo(words, err=as_json)
