"""The faces: results as text in the terminal and as a self-contained HTML page."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from satline.report._blocks import blocks as blocks
    from satline.report._draw import COLOURS as COLOURS
    from satline.report._draw import picture as picture
    from satline.report._escape import cell as cell
    from satline.report._escape import visible as visible
    from satline.report._numbers import number as number
    from satline.report._numbers import quantity as quantity
    from satline.report._plot import Line as Line
    from satline.report._plot import Mark as Mark
    from satline.report._plot import Plot as Plot
    from satline.report._plot import make_plots as make_plots
    from satline.report._sheet import make_sheet as make_sheet
    from satline.report._words import axis_words as axis_words
    from satline.report._words import variable_words as variable_words
    from satline.report.terminal import curves_table as curves_table
    from satline.report.terminal import print_diagnosis as print_diagnosis

# Name → the module that has it. Loaded when asked for: a command's error needs no diagnosis to be shown.
_PUBLIC = {
    "COLOURS": "_draw",
    "Line": "_plot",
    "Mark": "_plot",
    "Plot": "_plot",
    "axis_words": "_words",
    "blocks": "_blocks",
    "cell": "_escape",
    "curves_table": "terminal",
    "make_plots": "_plot",
    "make_sheet": "_sheet",
    "number": "_numbers",
    "picture": "_draw",
    "print_diagnosis": "terminal",
    "quantity": "_numbers",
    "variable_words": "_words",
    "visible": "_escape",
}

__all__ = [
    "COLOURS",
    "Line",
    "Mark",
    "Plot",
    "axis_words",
    "blocks",
    "cell",
    "curves_table",
    "make_plots",
    "make_sheet",
    "number",
    "picture",
    "print_diagnosis",
    "quantity",
    "variable_words",
    "visible",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is asked for."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"satline.report.{_PUBLIC[name]}"), name)
