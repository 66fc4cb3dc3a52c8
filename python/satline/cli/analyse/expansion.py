"""`satline analyse expansion`: how many times longer transactions take than they would alone."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from satline.cli.compare import plain
from satline.cli.filters import filter_options
from satline.cli.options import LOAD, RECORDING
from satline.cli.outputs import JSON

if TYPE_CHECKING:
    from satline.reduction import Filters


@click.command(
    short_help="Show how much contention lengthens transactions.",
    epilog="""\b
Examples:
  satline analyse expansion host.satline
  satline analyse expansion host.satline --load in_queue --json
""",
)
@RECORDING
@LOAD
@filter_options
@JSON
def expansion(recording: Path, load_axis: str | None, filters: Filters | None, as_json: bool) -> None:
    """Say how many times longer transactions take than they would alone, by class and load [TB84]."""
    from satline.comparison.expansion import expansion as of
    from satline.recording import Recording

    found = of(Recording.open(recording), load_axis, filters=filters)
    if as_json:
        click.echo(json.dumps(plain(dataclasses.asdict(found)), indent=2))
        return
    from rich.console import Console

    from satline.present.compare_text import print_expansion

    print_expansion(found, Console(highlight=False))
