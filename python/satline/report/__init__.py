"""The faces: results as text in the terminal and as a self-contained HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satline.lazy import lazy_names

if TYPE_CHECKING:
    from satline.report._draw import COLOURS, picture
    from satline.report._escape import cell, visible
    from satline.report._numbers import number, quantity
    from satline.report._plot import Line, Mark, Plot, make_plots
    from satline.report._sheet import make_sheet
    from satline.report._table import blocks
    from satline.report._words import axis_words, variable_words
    from satline.report.terminal import curves_table, print_diagnosis

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

# A command's error needs no diagnosis to be shown.
__getattr__ = lazy_names(
    __name__,
    {
        "_draw": "COLOURS, picture",
        "_escape": "cell, visible",
        "_numbers": "number, quantity",
        "_plot": "Line, Mark, Plot, make_plots",
        "_sheet": "make_sheet",
        "_table": "blocks",
        "_words": "axis_words, variable_words",
        "terminal": "curves_table, print_diagnosis",
    },
)
