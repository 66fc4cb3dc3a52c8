"""The faces: results as text in the terminal and as a self-contained HTML page."""

from __future__ import annotations

from satline.report.terminal import curves_table, print_diagnosis

__all__ = ["curves_table", "print_diagnosis"]
