"""Results → blocks → terminal text, HTML, Markdown, CSV, pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satline.lazy import lazy_names

if TYPE_CHECKING:
    from satline.present._draw import COLOURS, picture, png
    from satline.present._escape import cell, visible
    from satline.present._numbers import Scale, number, quantity
    from satline.present._numbers import scale as scale_for
    from satline.present._plot import MOST_LINES, Line, Mark, Plot, make_plots
    from satline.present._sheet import Sheet, make_sheet
    from satline.present._table import print_sheet, sheet_content, sheets_csv
    from satline.present._text import print_blocks, print_table
    from satline.present._vocabulary import in_words_of
    from satline.present._words import axis_words, implausible_lines, sentence, variable_words
    from satline.present._written import csv_text, html_table, markdown
    from satline.present.blocks import Block, Column, Curve, Headline, Note, Table, Tiles
    from satline.present.terminal import curves_table, print_diagnosis

__all__ = [
    "COLOURS",
    "MOST_LINES",
    "Block",
    "Column",
    "Curve",
    "Headline",
    "Line",
    "Mark",
    "Note",
    "Plot",
    "Scale",
    "Sheet",
    "Table",
    "Tiles",
    "axis_words",
    "cell",
    "csv_text",
    "curves_table",
    "html_table",
    "implausible_lines",
    "in_words_of",
    "make_plots",
    "make_sheet",
    "markdown",
    "number",
    "picture",
    "png",
    "print_blocks",
    "print_diagnosis",
    "print_sheet",
    "print_table",
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
        "_table": "print_sheet, sheet_content, sheets_csv",
        "_text": "print_blocks, print_table",
        "_vocabulary": "in_words_of",
        "_words": "axis_words, implausible_lines, sentence, variable_words",
        "_written": "csv_text, html_table, markdown",
        "blocks": "Block, Column, Curve, Headline, Note, Table, Tiles",
        "terminal": "curves_table, print_diagnosis",
    },
)
