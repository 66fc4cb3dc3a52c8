"""The faces: results as text in the terminal and as a self-contained HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satline.lazy import lazy_names

if TYPE_CHECKING:
    from satline.present._blocks import blocks
    from satline.present._draw import COLOURS, picture, png
    from satline.present._escape import cell, visible
    from satline.present._numbers import Scale, number, quantity
    from satline.present._numbers import scale as scale_for
    from satline.present._plot import MOST_LINES, Line, Mark, Plot, make_plots
    from satline.present._sheet import Sheet, make_sheet
    from satline.present._table import print_sheet, sheet_content, sheets_csv
    from satline.present._vocabulary import in_words_of
    from satline.present._words import axis_words, implausible_lines, sentence, variable_words
    from satline.present.terminal import curves_table, print_diagnosis

__all__ = [
    "COLOURS",
    "MOST_LINES",
    "Line",
    "Mark",
    "Plot",
    "Scale",
    "Sheet",
    "axis_words",
    "blocks",
    "cell",
    "curves_table",
    "implausible_lines",
    "in_words_of",
    "make_plots",
    "make_sheet",
    "number",
    "picture",
    "png",
    "print_diagnosis",
    "print_sheet",
    "quantity",
    "scale_for",
    "sentence",
    "sheet_content",
    "sheets_csv",
    "variable_words",
    "visible",
]

# A command's error needs no diagnosis to be shown.
__getattr__ = lazy_names(
    __name__,
    {
        "_draw": "COLOURS, picture, png",
        "_escape": "cell, visible",
        "_numbers": "Scale, number, quantity, scale as scale_for",
        "_plot": "Line, MOST_LINES, Mark, Plot, make_plots",
        "_sheet": "Sheet, make_sheet",
        "_blocks": "blocks",
        "_table": "print_sheet, sheet_content, sheets_csv",
        "_vocabulary": "in_words_of",
        "_words": "axis_words, implausible_lines, sentence, variable_words",
        "terminal": "curves_table, print_diagnosis",
    },
)
