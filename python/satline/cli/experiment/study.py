"""`satline study`, `satline experiment studies`, `satline experiment clean`."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from satline.cli.completion import names_in, shipped
from satline.cli.declared import argument, command, option
from satline.cli.outputs import JSON, json_option, output_option, print_json
from satline.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from satline.experiment.protocol import Result
    from satline.experiment.study import Study


def _part(_context: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    from satline.experiment.adaptive.targets import parse_part

    if value is None:
        return None
    try:
        part = float(str(parse_part(value)))
    except ValueError:
        raise click.BadParameter(f"{value!r} is no part; write 15% or 0.15") from None
    if not 0 < part <= 2:
        raise click.BadParameter(f"{value!r} is not above 0 and at most 200%")
    return part


def _time(_context: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    from satline.experiment.adaptive.targets import parse_time

    if value is None:
        return None
    try:
        seconds = parse_time(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    if not 10 <= seconds <= 86400:
        raise click.BadParameter(f"{value!r} is not between 10 s and 24 h")
    return seconds


def _targets(_context: click.Context, _option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    from satline.experiment.adaptive.targets import known_target

    try:
        return tuple(known_target(value) for value in values)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@command("""\b
Examples:
  satline study this-host
  satline study this-host --target "90% within 2s" --within 10% --for 15min
  satline study my-study.toml -o try.satline --seed 7
""")
def study(
    name_or_file: str | None = argument(shell_complete=names_in(shipped("studies"))),
    within: float | None = option(
        "End when each 95 % interval extends at most this far to either side of its value, such as 15%.",
        metavar="PART",
        type=str,
        callback=_part,
    ),
    for_s: float | None = option(
        "Time limit for all steps, such as 5min; 4.5 minutes if the study states none.",
        "--for",
        metavar="TIME",
        type=str,
        callback=_time,
    ),
    most: int | None = option("The most users that a step may have.", type=click.IntRange(1, 10_000)),
    targets: tuple[str, ...] = option(
        'What is to be found, in place of the knee; may be repeated: "90% within 2s", "300 per minute", '
        '"headroom over 20 users", knee.',
        "--target",
        metavar="TARGET",
        callback=_targets,
    ),
    grid: bool = option("Run the steps that the study states, in their order."),
    resume: Path | None = option(
        "Continue this recording of the study: its windows count, and only what is missing is run."
    ),
    explain: Path | None = option(
        "Run nothing; print how the steps of this recording were chosen.", metavar="RECORDING"
    ),
    output: Path | None = output_option(
        "The recording to make, by default a new directory here; for a design, the directory of its runs.",
        metavar="PATH",
    ),
    seed: int | None = option(
        "Seed of think times and choices, in place of the study's.", type=click.IntRange(min=0, max=2**63 - 1)
    ),
    quick: bool = option("Shorter windows and fewer steps; the verdict is less sure."),
    as_json: bool = json_option("Print JSON on standard output; progress goes to standard error."),
    scratch: Path = option(
        "Directory for the study's data and swap file, on the disk to be measured.", default=Path("/var/tmp")
    ),
    leave_out_flagged: bool = option(
        "For a design: analyse it without the runs whose conditions differed from the others."
    ),
) -> int:
    """Run emulated users on this host in steps, and say where it saturates and why.

    NAME_OR_FILE is a shipped study (`satline experiment studies`) or a study file. Everything that the study
    creates is removed afterwards, also after Ctrl-C: control groups, swap file, processes, files.

    Most studies choose their steps while they run: a light load first, then more and more users until
    responses or waits grow, then each step where it narrows the answer most per second. The study ends when
    the answer is as narrow as requested (--within), when the time is up (--for), or when it is clear that no
    load within the limits (--most) saturates the system. A study with fixed steps runs these; with --within,
    --for, --most or --target it searches between them.

    A study with [[factor]] tables is a designed experiment: its cells are run in random order, each into a
    separate recording, and analysed together. If interrupted, it continues where it stopped.
    """
    from rich.console import Console

    from satline.experiment.protocol import Options, run_study
    from satline.experiment.study import find_study, read_study, with_steps
    from satline.present.html import write_report
    from satline.present.progress import make_view

    if explain is not None:
        if name_or_file is not None:
            raise InputError(
                "--explain reads a recording, and runs no study", hint="leave the study's name out"
            )
        _explain(explain, as_json)
        return 0
    if name_or_file is None:
        raise click.UsageError(
            "name a study; `satline experiment studies` lists them", click.get_current_context()
        )
    found = read_study(find_study(name_or_file))
    if seed is not None:
        found = found.with_load(seed=seed)
    found = with_steps(found, grid=grid, within=within, seconds=for_s, most=most, targets=targets)
    if resume is not None and output is not None:
        raise InputError(
            "--resume goes on in its recording, --output makes one", hint="leave one of them out"
        )
    if resume is not None and found.file.factor:
        raise InputError(
            "--resume is of one recording, and a design has many", hint="give its directory: --output"
        )
    if found.file.factor:
        from satline.cli.experiment.designed import run_design

        return run_design(
            found,
            output,
            quick=quick,
            scratch=scratch,
            as_json=as_json,
            leave_out_flagged=leave_out_flagged,
        )
    if leave_out_flagged:
        raise InputError("--leave-out-flagged is of a design", hint="add [[factor]] tables to the study")
    view = make_view(Console(stderr=as_json))
    options = Options(out=output, resume=resume, scratch=scratch, quick=quick, write_page=write_report)
    result = run_study(found, options, view)
    if as_json:
        _print_json(result)
    else:
        _print(result, Console())
    if result.interrupted is not None:
        return 128 + result.interrupted
    return 1 if result.left_behind else 0


def _explain(path: Path, as_json: bool) -> None:
    from satline.experiment.adaptive import trail_of
    from satline.present import visible
    from satline.present.search import path_lines
    from satline.recording import Recording

    trail = trail_of(Recording.open(path).description, path)
    if as_json:
        print_json("study-explain", trail)
        return
    for line in path_lines(trail.search, trail.decisions):
        click.echo(visible(line))


def _print(result: Result, console: Console) -> None:
    from rich.text import Text

    from satline.present import visible
    from satline.present.terminal import print_diagnosis

    judged = result.judged
    if judged is not None:
        console.print()
        print_diagnosis(judged.diagnosis, console, every=False, notes=judged.agreement.lines)
        console.print()
        if judged.peak is not None:
            console.print(Text(visible(judged.peak.words), style="bold"))
            console.print()
    for line in _search_lines(result):
        console.print(Text(visible(line)), soft_wrap=True)
    if result.interrupted is not None:
        name = signal.Signals(result.interrupted).name
        enough = "judged from these" if judged else "a verdict needs at least 2"
        message = f"ended early by {name}: {result.windows} window(s) measured, {enough}"
        console.print(Text(message), soft_wrap=True)
    if judged is not None and judged.report is not None:
        console.print(Text(f"report:    {visible(judged.report)}"), soft_wrap=True)
    if result.recording.exists():
        console.print(Text(f"recording: {visible(result.recording)}"), soft_wrap=True)
    for problem in result.left_behind:
        console.print(Text(f"left behind: {visible(problem)}"), soft_wrap=True)
    if result.left_behind:
        console.print("hint: `satline experiment clean` tries again")


def _search_lines(result: Result) -> list[str]:
    """Why the steps ended, what was sought beside the knee, and how the path is seen."""
    from satline.present.search import ending_lines

    trail = result.trail
    if trail is None or trail.last is None:
        return []
    return [
        *ending_lines(trail),
        f"steps:     `satline study --explain {result.recording}` tells why each was run",
    ]


def _print_json(result: Result) -> None:
    from satline.present.documents import document, plain

    judged, trail = result.judged, result.trail
    peak = None if judged is None else judged.peak
    print_json(
        "study",
        recording=result.recording if result.recording.exists() else None,
        report=judged and judged.report,
        interrupted=result.interrupted is not None,
        windows=result.windows,
        search=trail and {**trail.search, "decisions": trail.decisions},
        left_behind=result.left_behind,
        peak=peak and {**plain(peak), "words": peak.words},
        diagnosis=judged and document("diagnose", judged.diagnosis, agreement=judged.agreement),
    )


@command("""\b
Examples:
  satline experiment studies
  satline experiment studies --json | jq -r '.studies[].name'
""")
def studies(as_json: bool = JSON) -> None:
    """List the studies that come with Satline."""
    from satline.experiment.study import read_study, shipped_studies

    found = [read_study(path) for path in shipped_studies()]
    if as_json:
        rows = [
            {
                "name": one.name,
                "title": one.file.title,
                "question": one.file.question,
                "users": one.file.load.users,
                "adaptive": one.file.load.adaptive,
                "most_users": most_users(one),
                "runs": runs_of(one),
                "seconds": runs_of(one) * one.file.load.longest_s(),
                "path": one.path,
            }
            for one in found
        ]
        print_json("experiment-studies", studies=rows)
        return
    width = max(len(one.name) for one in found)
    for one in found:
        runs, users = runs_of(one), one.file.load.users
        minutes = runs * one.file.load.longest_s() / 60
        if one.file.load.adaptive:
            what = f"{one.file.load.least_users}–{most_users(one)} users, steps as needed"
        else:
            what = f"{min(users)}–{max(users)} users" if len(users) > 1 else f"{users[0]} users"
        what += f", {runs} runs" if runs > 1 else ""
        click.echo(f"{one.name:{width}}  {one.file.title}: {what}, about {minutes:.1f} min")
        if one.file.question:
            click.echo(f"{'':{width}}  {one.file.question}")
    click.echo(f"\nThe files are in {found[0].path.parent}; copy one to make your own.")


def most_users(study: Study) -> int:
    """The most users of any step, on this host."""
    from satline.experiment.adaptive.plan import SearchPlan

    load = study.file.load
    return SearchPlan.of(load, study.limits()).most_users if load.adaptive else max(load.users)


def runs_of(study: Study) -> int:
    """Runs of the design; one of a study without factors."""
    from satline.experiment.study import designed_study

    return len(designed_study(study).plan(1).runs) if study.file.factor else 1


@command("""\b
Example:
  satline experiment clean
""")
def clean(as_json: bool = JSON) -> int:
    """Clean up after killed studies: control groups, swap files, processes, files, settings.

    A study that is still running is left alone. The exit code is 1 if something could not be undone.
    """
    from satline.present import visible
    from satline.systems.janitor import clean_stale

    undone, problems, living = clean_stale()
    if as_json:
        print_json("experiment-clean", undone=undone, left_behind=problems, running=living)
        return 1 if problems else 0
    for run_id in undone:
        click.echo(f"undone: run {visible(run_id)}")
    for run_id in living:
        click.echo(f"still running, left alone: run {visible(run_id)}")
    for problem in problems:
        click.echo(f"left behind: {visible(problem)}", err=True)
    if not undone and not problems:
        click.echo("nothing was left behind")
    return 1 if problems else 0
