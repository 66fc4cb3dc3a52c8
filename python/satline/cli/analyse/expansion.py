"""`satline analyse expansion`: how many times longer transactions take than they would alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from satline.cli.declared import command
from satline.cli.filters import FILTERS
from satline.cli.options import LOAD, RECORDING, opened_in_its_words
from satline.cli.outputs import JSON, print_json, print_text

if TYPE_CHECKING:
    from satline.reduction import Filters


@command("""\b
Examples:
  satline analyse expansion host.satline
  satline analyse expansion host.satline --load in_queue --json
""")
def expansion(
    recording: Path = RECORDING,
    load_axis: str | None = LOAD,
    filters: Filters | None = FILTERS,
    as_json: bool = JSON,
) -> None:
    """Say how many times longer transactions take than they would alone, by class and load [TB84]."""
    from satline.comparison.expansion import expansion as of

    found = of(opened_in_its_words(recording), load_axis, filters=filters)
    if as_json:
        print_json("analyse-expansion", found)
        return

    from satline.present.compare import expansion_blocks

    print_text(expansion_blocks(found))
