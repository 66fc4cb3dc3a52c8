"""`satline diagnose`: where a recording, or a load test's table, saturates, and what holds it back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satline.cli.declared import command, option
from satline.cli.filters import FILTERS
from satline.cli.options import CLASSES, LOAD, RECORDING, opened_in_its_words, require_loads
from satline.cli.outputs import JSON, print_json

if TYPE_CHECKING:
    from satline.reduction import Filters


@command("""\b
Examples:
  satline diagnose host.satline
  satline diagnose host.satline --hours 9-17 --timezone Europe/Berlin
  satline diagnose host.satline --json | jq -r .headline
""")
def diagnose(
    recording: Path = RECORDING,
    load_axis: str | None = LOAD,
    classes: dict[str, Any] = CLASSES,
    filters: Filters | None = FILTERS,
    throughput: str | None = option("For a table: its column of throughput.", metavar="COLUMN"),
    response: str | None = option("For a table: its column of mean response time.", metavar="COLUMN"),
    every: bool = option("Also why each rule does not hold, and what was not seen.", "--all"),
    as_json: bool = JSON,
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
        **classes,
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
