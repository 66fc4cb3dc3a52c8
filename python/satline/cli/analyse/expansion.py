"""`satline analyse expansion`: how many times longer transactions take than they would alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from satline.cli.filters import filter_options
from satline.cli.options import LOAD, RECORDING, opened_in_its_words
from satline.cli.outputs import JSON, print_json

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

    found = of(opened_in_its_words(recording), load_axis, filters=filters)
    if as_json:
        print_json("analyse-expansion", found)
        return
    from rich.console import Console

    from satline.present import print_blocks
    from satline.present.compare import expansion_blocks

    print_blocks(expansion_blocks(found), Console(highlight=False))
