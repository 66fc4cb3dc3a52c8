"""The faces: results as text in the terminal and as a self-contained HTML page."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from satline.report._draw import COLOURS as COLOURS
    from satline.report._escape import cell as cell
    from satline.report._escape import visible as visible
    from satline.report._numbers import number as number
    from satline.report._numbers import quantity as quantity
    from satline.report._table import blocks as blocks
    from satline.report._words import axis_words as axis_words
    from satline.report._words import variable_words as variable_words
    from satline.report.terminal import curves_table as curves_table
    from satline.report.terminal import print_diagnosis as print_diagnosis

# Name → the module that has it. Loaded when asked for: a command's error needs no diagnosis to be shown.
_PUBLIC = {
    "COLOURS": "_draw",
    "axis_words": "_words",
    "blocks": "_table",
    "cell": "_escape",
    "curves_table": "terminal",
    "number": "_numbers",
    "print_diagnosis": "terminal",
    "quantity": "_numbers",
    "variable_words": "_words",
    "visible": "_escape",
}

__all__ = [
    "COLOURS",
    "axis_words",
    "blocks",
    "cell",
    "curves_table",
    "number",
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
