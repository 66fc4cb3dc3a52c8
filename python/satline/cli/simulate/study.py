"""`satline simulate STUDY`: a simulated study with its tables, figures and page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satline.cli.outputs import print_json, print_text
from satline.cli.simulate.running import measures, progress
from satline.errors import InputError
from satline.extras import NOT_DRAWN, can_draw

if TYPE_CHECKING:
    from satline.simulation import SimulatedStudy


def run_study(name: str, as_json: bool, options: dict[str, Any]) -> None:
    from satline.present.simulated_study import (
        comparison_content,
        effect_content,
        study_blocks,
        write_figures,
        write_study_page,
    )
    from satline.present.simulation import content
    from satline.simulation import is_designed, read_simulated_study, run_simulated_study

    refused = (
        "users",
        "sets",
        "vary",
        "differences",
        "until",
        "record",
        "schedule",
        "sample_seconds",
        "seconds",
        "warmup",
    )
    for option in refused:
        if options[option]:
            hint = "copy the study and change it there, or name a machine and a workload"
            raise InputError(
                f"--{'set' if option == 'sets' else option.replace('_', '-')} with a study", hint=hint
            )
    study = read_simulated_study(find_study(name))
    out = options["output"] or study_directory(name)
    if is_designed(study):
        _run_designed(study, out, as_json, options)
        return
    notes: list[str] = []
    with progress(notes) as show:
        result = run_simulated_study(
            study,
            out,
            replications=options["replications"],
            seed=options["seed"],
            workers=options["workers"],
            progress=show,
            note=notes.append,
        )
    figures = [out / Path(one.file).name for one in write_figures(result, out)]
    if study.file.figure and not can_draw():
        click.echo(f"figures: {NOT_DRAWN}", err=True)
    pages = write_study_page(result, options["markdown"])[:1] if options["markdown"] else []
    planted = result.planted
    if as_json:
        print_json(
            "simulate-study",
            study=study.name,
            arms={arm: content(simulated) for arm, simulated in result.arms.items()},
            comparisons=comparison_content(result),
            effects=effect_content(result),
            figures=figures,
            planted=None
            if planted is None
            else {
                "expects": planted.expects,
                "named_first": planted.named_first,
                "rank": planted.rank,
                "headline": planted.diagnosis.headline,
                "findings": [finding.rule for finding in planted.diagnosis.findings],
            },
        )
        return

    from satline.present import Block, Note

    blocks: list[Block] = [*study_blocks(result, measures(options["measures"]) or study.file.measures)]
    if planted is not None:
        blocks += [Note(planted.words, "strong"), Note(planted.diagnosis.headline)]
        blocks.append(Note(f"recording: {out / study.name}.satline"))
    blocks += [Note(f"figure: {path}") for path in figures]
    blocks += [Note(f"page: {path}") for path in pages]
    print_text(blocks)


def _run_designed(study: SimulatedStudy, out: Path, as_json: bool, options: dict[str, Any]) -> None:
    """A study whose factors have levels: recordings, and the analysis of any designed study."""
    from satline.cli.experiment.designed import finish
    from satline.simulation import Progress, run_designed

    for option, instead in (
        ("markdown", f"it writes {out / 'report.html'}"),
        ("measures", "say them in [design]"),
    ):
        if options[option]:
            raise InputError(f"--{option} with a designed study", hint=instead)
    with progress() as show:
        made = run_designed(
            study,
            out,
            replicates=options["replications"],
            seed=options["seed"],
            workers=options["workers"],
            progress=lambda done, runs: show(Progress(done, runs, done / runs)),
        )
    file, text = study.file, study.path.read_text(encoding="utf-8")
    finish(made.outcome, out, file.title, file.question, text, made.design.within_seconds, as_json)


def find_study(name: str) -> Path:
    from satline.simulation import find_simulated_study, shipped_machines, shipped_workloads

    try:
        return find_simulated_study(name)
    except InputError as error:
        for kind, other, shipped in (
            ("machine", "workload", shipped_machines()),
            ("workload", "machine", shipped_workloads()),
        ):
            if name in {path.stem for path in shipped}:
                raise InputError(f"{name} is a {kind}", hint=f"name a {other} too, or --explain") from None
        raise error


def study_directory(name: str) -> Path:
    return Path(f"{Path(name).stem}-simulated")
