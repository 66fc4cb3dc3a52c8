"""`satline analyse reduce`: variables of a recording against load."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satline.cli.declared import command, option
from satline.cli.filters import FILTERS
from satline.cli.options import CLASSES, LOAD, RECORDING, opened_in_its_words, require_loads
from satline.cli.outputs import JSON, csv_option, print_json
from satline.errors import InputError
from satline.spreadsheet import Writer

if TYPE_CHECKING:
    from satline.reduction import Curves, Filters

PERCENTILES = (25, 50, 75, 90)
USUAL = ("transaction_rate", "response", "total_cpu", "page_wait", "io_wait", "paging_rate")


@command("""\b
Examples:
  satline analyse reduce host.satline --variables total_cpu,page_wait
  satline analyse reduce host.satline --load requests --classes equal-count:8
  satline analyse reduce host.satline --hours 9-17 --csv > curves.csv
""")
def reduce(
    recording: Path = RECORDING,
    load_axis: str | None = LOAD,
    classes: dict[str, Any] = CLASSES,
    filters: Filters | None = FILTERS,
    variables: str | None = option("Only these variables.", metavar="A,B"),
    as_json: bool = JSON,
    as_csv: bool = csv_option("Print CSV: a row for each class and variable."),
) -> None:
    """Show a recording's variables against load: each row is a class of load, with mean ± standard error.

    Below the table, it says of each variable whether it changes significantly with load.
    """
    from satline.reduction import reduce as to_curves

    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other", click.get_current_context())
    curves = to_curves(
        opened_in_its_words(recording),
        load_axis,
        filters=filters,
        variables=None if variables is None else _names(variables),
        **classes,
    )
    require_loads(curves, load_axis)
    chosen = _chosen(curves, variables)
    if as_json:
        print_json("analyse-reduce", curves_content(curves, chosen))
    elif as_csv:
        write_csv(curves, chosen)
    else:
        from rich.console import Console

        from satline.present import curves_table, print_table, visible
        from satline.reduction import trend

        if variables is None:
            chosen = [name for name in USUAL if name in curves.curves] or chosen[:6]
        print_table(curves_table(curves, chosen), Console())
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
                else "`satline analyse reduce RECORDING --csv` shows all names"
            )
            raise InputError(f"--variables: there is no variable {name}", hint=hint)
    return names


def curves_content(curves: Curves, names: list[str]) -> dict[str, Any]:
    """Curves for JSON; a variable that is missing is told with its reason, never as numbers."""
    from satline.present.documents import plain
    from satline.reduction import trend

    trends = {name: trend(curves.curves[name]) for name in names if name in curves.curves}
    return {
        "load_axis": curves.load_axis,
        "load_unit": curves.load_unit,
        "filters": curves.filters,
        "observation_s": curves.observation_s,
        "classes": curves.classes,
        "curves": {name: curves.curves[name] for name in names if name in curves.curves},
        "trends": {name: {**plain(t), "words": t.words} for name, t in trends.items()},
        "missing": curves.missing,
    }


def write_csv(curves: Curves, names: list[str]) -> None:
    """Curves as CSV on standard output; what is missing is an empty field."""
    from satline.present import visible

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
