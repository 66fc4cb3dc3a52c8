"""`satline simulate`: a simulated machine under a workload, with intervals; simulated studies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satline.cli.completion import names_in, shipped
from satline.cli.declared import argument, command, option, several
from satline.cli.outputs import JSON, markdown_option, output_option, print_json, print_text
from satline.cli.simulate.running import TERMINATED, measures, progress, stoppable
from satline.cli.simulate.study import find_study, run_study, study_directory
from satline.errors import InputError

if TYPE_CHECKING:
    from satline.simulation import Program, Result, Run


# How a point, a study or a recording is run.
RUN = several(
    dict,
    users=option("Numbers of users, each a separate run.", metavar="N,N..N/STEP"),
    replications=option("Independent runs of each point. [default: 5]", type=click.IntRange(1, 1000)),
    sets=option("Set a key of the files to another value.", "--set", multiple=True, metavar="KEY=VALUE"),
    vary=option("Vary a key over these values; repeatable.", multiple=True, metavar="KEY=V1,V2"),
    differences=option("Show differences from the first value of what is varied.", is_flag=True),
    until=option("Add replications until it is this precise.", multiple=True, metavar="MEASURE:5%"),
    most=option("Largest number of replications for --until.", type=click.IntRange(1, 10_000), default=200),
    seconds=option("Simulated seconds of a run. [default: 3600]", type=click.FloatRange(1)),
    warmup=option("Seconds left out. [default: found by MSER-5]", type=click.FloatRange(0)),
    seed=option("Seed of all random numbers. [default: 1]", type=click.IntRange(0, 2**63 - 1)),
    measures=option("Variables to show; --json has all.", metavar="A,B"),
    workers=option("Runs at a time. [default: one per processor]", type=click.IntRange(1)),
    output=output_option(
        "Store the results here, and continue from them. A file; for a study, a directory.",
        metavar="PATH",
    ),
    record=option("One run, recorded: --users are its steps.", type=click.Path(path_type=Path)),
    schedule=option("With --record: the workload's own population.", is_flag=True),
    sample_seconds=option(
        "With --record: time between samples. [default: 10]", type=click.FloatRange(0.1, 86400)
    ),
    watch=option("See a run as it goes; --users are its steps.", is_flag=True),
    pace=option(
        "With --watch: simulated seconds per real second. [default: 10]",
        type=click.FloatRange(0, min_open=True),
    ),
    markdown=markdown_option("A study as a page with its figures."),
)


@command("""\b
Examples:
  satline simulate run 155-II-1mb cms --users 4..32/4
  satline simulate run 155-II-1mb cms --users 4,12,30 --watch
  satline simulate run ideal-mpl                 a study: tables and figures
""")
def simulate(
    names: tuple[str, ...] = argument(
        "[MACHINE WORKLOAD | STUDY]",
        shell_complete=names_in(
            shipped("machines"), shipped("workloads", "simulated"), shipped("studies", "simulated")
        ),
    ),
    options: dict[str, Any] = RUN,
    as_json: bool = JSON,
    explain: bool = option("Print the machine: every figure, its unit and source."),
    as_list: bool = option("List shipped machines, workloads and studies.", "--list"),
) -> int:
    """Simulate a machine under a workload at each number of users, and print its measures with intervals.

    MACHINE and WORKLOAD are shipped ones (--list) or files. A single name runs a simulated study: a question,
    the varied settings, the figures that answer the question, and, if a condition was planted, whether the
    diagnosis names it.

    The same seed gives the same numbers on any machine, with any number of workers.
    """
    if as_list:
        _print_list(as_json)
        return 0
    if not names or len(names) > 2:
        raise click.UsageError("name a machine and a workload, or one study", click.get_current_context())
    if explain:
        _explain(names, options["sets"])
        return 0
    with stoppable() as stopped:
        try:
            if options["watch"]:
                _watch(names, as_json, options)
            elif options["pace"] is not None:
                raise InputError("--pace without --watch", hint="only who looks on has a pace")
            elif len(names) == 1:
                run_study(names[0], as_json, options)
            elif options["record"] is not None:
                _record(names[0], names[1], as_json, options)
            else:
                _points(names[0], names[1], as_json, options)
        except KeyboardInterrupt:
            if options["watch"]:
                return TERMINATED if stopped else 130
            kept = options["output"] if len(names) == 2 else options["output"] or study_directory(names[0])
            hint = (
                f"what is done is kept in {kept}; the same command goes on"
                if kept
                else "--output keeps what is done"
            )
            click.echo(f"error: interrupted\nhint: {hint}", err=True)
            return TERMINATED if stopped else 130
    return 0


def _points(machine: str, workload: str, as_json: bool, options: dict[str, Any]) -> None:
    from satline.present.simulation import content, difference_blocks, difference_content, point_blocks
    from satline.simulation import USUAL, Goal, parse_set, parse_users, parse_vary
    from satline.simulation import simulate as run

    for name, why in (
        ("schedule", "a population that changes is recorded: --record DIR"),
        ("sample_seconds", "what is not recorded has no samples: --record DIR"),
        ("markdown", "a page is made of a study: name one"),
    ):
        if options[name]:
            raise InputError(
                f"--{name.replace('_', '-')} without {'a study' if name == 'markdown' else '--record'}",
                hint=why,
            )
    goals = [Goal.parse(text) for text in options["until"]]
    names = measures(options["measures"]) or list(USUAL)
    for goal in goals:
        if goal.measure not in names:
            names.append(goal.measure)
    vary = dict(parse_vary(text) for text in options["vary"])
    if options["differences"] and not vary:
        raise InputError("--differences without --vary", hint="say what varies: --vary processors.speed=1,2")
    with progress() as show:
        done = run(
            machine,
            workload,
            users=parse_users(options["users"]) if options["users"] else (),
            replications=options["replications"] or 5,
            sets=dict(parse_set(text) for text in options["sets"]),
            vary=vary,
            seconds=options["seconds"] or 3600.0,
            warmup_seconds=options["warmup"],
            seed=1 if options["seed"] is None else options["seed"],
            until=goals,
            most=options["most"],
            workers=options["workers"],
            out=options["output"],
            progress=show,
        )
    if as_json:
        differences = difference_content(done) if options["differences"] else None
        print_json("simulate-run", content(done), differences=differences)
        return

    print_text(point_blocks(done, names))
    if options["differences"]:
        click.echo()
        print_text(difference_blocks(done, names))


def _watch(names: Sequence[str], as_json: bool, options: dict[str, Any]) -> None:
    from satline.cli.simulate.watch import watch_run

    if len(names) != 2:
        raise InputError("--watch with a study", hint="name a machine and a workload")
    watch_run(names[0], names[1], as_json, options)


def _record(machine: str, workload: str, as_json: bool, options: dict[str, Any]) -> None:
    """One run of all steps, recorded; its measures as the machine counted them."""
    from satline.simulation import USUAL, Program, Run, find_machine, find_workload, parse_set, parse_users

    for name in ("vary", "until", "output", "markdown"):
        if options[name]:
            raise InputError(f"--record with --{name}", hint="one run is recorded; leave one of them out")
    if (options["replications"] or 1) > 1:
        raise InputError("--record with --replications", hint="one run is recorded")
    step_s = 600.0 if options["schedule"] else options["seconds"] or 600.0
    sample_s = options["sample_seconds"] or 10.0
    length_s = options["seconds"] or (1e9 if options["schedule"] else step_s)
    if sample_s > length_s:
        raise InputError(
            f"--sample-seconds {sample_s:g} is longer than {length_s:g} s",
            hint="take several samples of each step",
        )
    run = Run(
        find_machine(machine),
        find_workload(workload),
        users=parse_users(options["users"]) if options["users"] else (),
        step_seconds=step_s,
        warmup_seconds=step_s / 5 if options["warmup"] is None else options["warmup"],
        sample_seconds=sample_s,
        seed=1 if options["seed"] is None else options["seed"],
        sets=tuple(parse_set(text) for text in options["sets"]),
        schedule=options["schedule"],
        schedule_seconds=options["seconds"] if options["schedule"] else None,
    )
    if (options["record"] / "recording.toml").exists():
        raise InputError(f"{options['record']} is a recording already", hint="name another directory")
    result = _recorded(Program(), run, options["record"])
    if as_json:
        print_json("simulate-record", recording=options["record"], steps=result.steps)
        return

    from satline.present import visible
    from satline.present.simulation import step_table

    print_text([step_table(result.steps, measures(options["measures"]) or USUAL)])
    click.echo(f"recording: {visible(options['record'])}  (`satline diagnose` reads it)")


def _recorded(program: Program, run: Run, path: Path) -> Result:
    from satline.simulation import Progress, Stopped

    with progress() as show:
        try:
            return program.run(run, lambda part: show(Progress(0, 1, part)), path)
        except Stopped:
            raise KeyboardInterrupt from None


def _explain(names: Sequence[str], sets: Sequence[str]) -> None:
    from satline.present import visible
    from satline.simulation import Program, find_machine, find_workload, read_simulated_study, shipped_studies

    if len(names) == 1 and names[0] in {path.stem for path in shipped_studies()}:
        study = read_simulated_study(find_study(names[0]))
        files = [study.machine, study.workload]
    else:
        files = [find_machine(names[0]), *(find_workload(name) for name in names[1:])]
    words = [word for text in sets for word in ("--set", text)]
    for line in Program().tell("explain", *(str(path) for path in files), *words).splitlines():
        click.echo(visible(line))


def _print_list(as_json: bool) -> None:
    from satline.present import visible
    from satline.simulation import (
        about,
        shipped_calibrations,
        shipped_machines,
        shipped_studies,
        shipped_workloads,
    )

    kinds = {
        "machines": shipped_machines(),
        "workloads": shipped_workloads(),
        "studies": shipped_studies(),
        "calibrations": shipped_calibrations(),
    }
    if as_json:
        shown = {
            kind: [{"name": path.stem, "about": about(path), "path": path} for path in paths]
            for kind, paths in kinds.items()
        }
        print_json("simulate-list", shown)
        return
    for kind, paths in kinds.items():
        click.echo(f"{kind}:")
        width = max((len(path.stem) for path in paths), default=0)
        for path in paths:
            click.echo(visible(f"  {path.stem:{width}}  {about(path)}", longest=80))
