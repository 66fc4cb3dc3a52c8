"""`satline diagnose`: where a recording, or a load test's table, saturates, and what holds it back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from satline.cli.filters import filter_options
from satline.cli.options import LOAD, RECORDING, class_options, opened_in_its_words, require_loads
from satline.cli.outputs import JSON, print_json

if TYPE_CHECKING:
    from satline.reduction import Filters


@click.command(
    short_help="Say where a recording saturates, and what limits it.",
    epilog="""\b
Examples:
  satline diagnose host.satline
  satline diagnose host.satline --hours 9-17 --timezone Europe/Berlin
  satline diagnose host.satline --json | jq -r .headline
""",
)
@RECORDING
@LOAD
@class_options
@filter_options
@click.option("--throughput", metavar="COLUMN", help="For a table: its column of throughput.")
@click.option("--response", metavar="COLUMN", help="For a table: its column of mean response time.")
@click.option("--all", "every", is_flag=True, help="Also why each rule does not hold, and what was not seen.")
@JSON
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
    """Say where a recording saturates, what limits it, how certain that is, and what could not be measured.

    If RECORDING is a file, it is a CSV table of loads and throughputs: `satline analyse predict` tells more
    about such a table, including how to name its columns.
    """
    if recording.is_file():
        from satline.cli.analyse.load_table import diagnose_table

        diagnose_table(recording, load_axis, filters, throughput, response, as_json)
        return
    for name, used in (("--throughput", throughput), ("--response", response)):
        if used is not None:
            raise click.UsageError(f"{name}: of a table, and not of a recording")
    from satline.diagnosis import diagnose as judge
    from satline.diagnosis import require_two_readings
    from satline.reconcile import Answers, story
    from satline.reduction import reduce as to_curves

    opened = opened_in_its_words(recording)
    require_two_readings(opened)
    curves = to_curves(
        opened,
        load_axis,
        filters=filters,
        classes=classes,
        class_width=class_width,
        class_observations=class_observations,
    )
    require_loads(curves, load_axis)
    diagnosis = judge(opened, curves)
    told = story(opened, curves, "diagnose", Answers(diagnosis=diagnosis))
    if as_json:
        print_json("diagnose", diagnosis, agreement=told)
        return
    from rich.console import Console

    from satline.present.terminal import print_diagnosis

    print_diagnosis(diagnosis, Console(), every=every, notes=told.lines)
