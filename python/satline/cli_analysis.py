"""`satline diagnose`, `satline reduce`."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satline.cli_filters import filter_options
from satline.errors import InputError
from satline.spreadsheet import Writer

if TYPE_CHECKING:
    from satline.reduction import Curves, Filters, Reduction

RECORDING = click.argument("recording", type=click.Path(path_type=Path))
LOAD = click.option(
    "--load",
    "load_axis",
    metavar="AXIS",
    help="What to call load: users (of a study's steps), active_users, in_queue, in_flight, run_queue,"
    " load_average, sessions, in_system, requests, or any variable.",
)
PERCENTILES = (25, 50, 75, 90)
USUAL = ("transaction_rate", "response", "total_cpu", "page_wait", "io_wait", "paging_rate")


def class_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How load classes are made, for every command that makes them."""
    for option in (
        click.option(
            "--class-observations",
            type=click.IntRange(min=1),
            metavar="N",
            help="Merge classes until each has so many; default 50, fewer in a short recording.",
        ),
        click.option("--class-width", type=float, metavar="WIDTH", help="Loads in a class; default 2 users."),
        click.option(
            "--classes", metavar="equal-count[:N]", help="Classes of equal size instead of equal width."
        ),
    ):
        command = option(command)
    return command


def part_of(option: str, text: str, example: str) -> float:
    """A part, written as 25% or as 0.25; InputError with `example` else."""
    number = text.strip().removesuffix("%")
    try:
        return float(number) / (100 if number != text.strip() else 1)
    except ValueError:
        raise InputError(f"{option} {text!r}", hint=f"write {example}") from None


@click.command(
    short_help="Say where a recording saturates, and what holds it back.",
    epilog="""\b
Examples:
  satline diagnose host.satline
  satline diagnose host.satline --load active_users
  satline diagnose host.satline --hours 9-17 --days mon-fri --timezone Europe/Berlin
  satline diagnose host.satline --json | jq -r .headline
  satline diagnose loadtest.csv              a table of loads and throughputs
""",
)
@RECORDING
@LOAD
@class_options
@filter_options
@click.option("--throughput", metavar="COLUMN", help="Of a table: its column of throughput.")
@click.option("--response", metavar="COLUMN", help="Of a table: its column of mean response time.")
@click.option("--all", "every", is_flag=True, help="Also why each rule does not hold, and what was not seen.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def diagnose(
    recording: Path,
    load_axis: str | None,
    classes: str | None,
    class_width: float | None,
    class_observations: int | None,
    filters: Filters | None,
    throughput: str | None,
    response: str | None,
    every: bool,
    as_json: bool,
) -> None:
    """Say where a recording saturates, what holds it back, how sure that is, and what could not be seen.

    A RECORDING that is a file is a table of loads and throughputs in CSV: `satline predict` says more of it,
    and how to name its columns.
    """
    if recording.is_file():
        from satline.cli_table import diagnose_table

        diagnose_table(recording, load_axis, filters, throughput, response, as_json)
        return
    for name, used in (("--throughput", throughput), ("--response", response)):
        if used is not None:
            raise click.UsageError(f"{name}: of a table, and not of a recording")
    from satline.diagnosis import as_plain, require_two_readings, to_dict
    from satline.diagnosis import diagnose as judge
    from satline.reconcile import Answers, story
    from satline.recording import Recording
    from satline.reduction import reduce as to_curves

    opened = Recording.open(recording)
    require_two_readings(opened)
    curves = to_curves(
        opened,
        load_axis,
        filters=filters,
        classes=classes,
        class_width=class_width,
        class_observations=class_observations,
    )
    _has_loads(curves, load_axis)
    diagnosis = judge(opened, curves)
    told = story(opened, curves, "diagnose", Answers(diagnosis=diagnosis))
    if as_json:
        click.echo(json.dumps({**to_dict(diagnosis), "agreement": as_plain(told)}, indent=2))
        return
    from rich.console import Console

    from satline.report.terminal import print_diagnosis

    print_diagnosis(diagnosis, Console(), every=every, notes=told.lines)


@click.command(
    short_help="Show a recording's variables against load.",
    epilog="""\b
Examples:
  satline reduce host.satline --variables total_cpu,page_wait
  satline reduce host.satline --load requests --classes equal-count:8
  satline reduce host.satline --hours 9-17 --exclude-users backup --csv > curves.csv
""",
)
@RECORDING
@LOAD
@class_options
@filter_options
@click.option("--variables", metavar="A,B", help="Only these variables.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="As CSV: a row for each class and variable.")
def reduce(
    recording: Path,
    load_axis: str | None,
    classes: str | None,
    class_width: float | None,
    class_observations: int | None,
    filters: Filters | None,
    variables: str | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Show a recording's variables against load: a class of load in each row, mean ± standard error.

    Under the table it says of each variable whether it surely changes with load.
    """
    from satline.recording import Recording
    from satline.reduction import reduce as to_curves

    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other", click.get_current_context())
    curves = to_curves(
        Recording.open(recording),
        load_axis,
        filters=filters,
        variables=None if variables is None else _names(variables),
        classes=classes,
        class_width=class_width,
        class_observations=class_observations,
    )
    _has_loads(curves, load_axis)
    chosen = _chosen(curves, variables)
    if as_json:
        click.echo(json.dumps(curves_content(curves, chosen), indent=2))
    elif as_csv:
        write_csv(curves, chosen)
    else:
        from rich.console import Console

        from satline.reduction import trend
        from satline.report._escape import visible
        from satline.report.terminal import curves_table

        if variables is None:
            chosen = [name for name in USUAL if name in curves.curves] or chosen[:6]
        Console().print(curves_table(curves, chosen))
        if curves.filters:
            click.echo(visible(f"only {curves.filters}"))
        for name in chosen:
            if name in curves.curves:
                click.echo(visible(f"{name}: {trend(curves.curves[name]).words}"))
        if variables is None and len(chosen) < len(curves.curves):
            click.echo(
                f"{len(curves.curves) - len(chosen)} more: --variables chooses, --csv and --json give all"
            )


def _names(variables: str) -> list[str]:
    return [name.strip() for name in variables.split(",") if name.strip()]


def _has_loads(curves: Reduction, asked: str | None) -> None:
    """An answer against a load that was asked for needs some value of it."""
    import numpy as np

    if asked is not None and len(curves.load) and not np.isfinite(curves.load).any():
        raise InputError(
            f"--load {asked}: the recording has no values of it",
            hint="`satline info RECORDING` lists the loads that it has",
        )


def _chosen(curves: Curves, variables: str | None) -> list[str]:
    """The variables asked for, all by default."""
    from difflib import get_close_matches

    if variables is None:
        return list(curves.curves)
    names = _names(variables)
    for name in names:
        if name not in curves.curves and name not in curves.missing:
            close = get_close_matches(name, curves.curves, n=3)
            hint = (
                f"did you mean {' or '.join(close)}?"
                if close
                else "`satline reduce RECORDING --csv` shows all names"
            )
            raise InputError(f"--variables: there is no variable {name}", hint=hint)
    return names


def curves_content(curves: Curves, names: list[str]) -> dict[str, Any]:
    """Curves for JSON; a variable that is missing is told with its reason, never as numbers."""
    from satline.reduction import trend

    trends = {name: trend(curves.curves[name]) for name in names if name in curves.curves}
    return {
        "load_axis": curves.load_axis,
        "load_unit": curves.load_unit,
        "filters": curves.filters,
        "observation_s": curves.observation_s,
        "classes": [dataclasses.asdict(one) for one in curves.classes],
        "curves": {name: dataclasses.asdict(curves.curves[name]) for name in names if name in curves.curves},
        "trends": {name: {**dataclasses.asdict(t), "words": t.words} for name, t in trends.items()},
        "missing": curves.missing,
    }


def write_csv(curves: Curves, names: list[str]) -> None:
    """Curves as CSV on standard output; what is missing is an empty field."""
    from satline.report._escape import visible

    fields = ("n", "mean", "sd", "standard_error", "honest_error", "effective_n")
    writer = Writer(sys.stdout)
    heads = [f"p{percentile}" for percentile in PERCENTILES]
    heads += [f"p{percentile}_{end}" for percentile in PERCENTILES for end in ("low", "high")]
    writer.writerow(["load_low", "load_high", "load", "variable", "unit", *fields, *heads])
    for name in names:
        if name not in curves.curves:
            continue
        curve = curves.curves[name]
        for load, point in zip(curves.classes, curve.points, strict=True):
            values = [getattr(point, field) for field in fields]
            values += [point.percentiles.get(percentile) for percentile in PERCENTILES]
            for percentile in PERCENTILES:
                values += point.percentile_intervals.get(percentile, (None, None))
            writer.writerow([load.low, load.high, load.midpoint, visible(name), curve.unit, *values])
