"""The faces: results as text in the terminal and as a self-contained HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from satline.report.terminal import curves_table, print_diagnosis

__all__ = ["curves_table", "print_diagnosis"]


def __getattr__(name: str) -> Any:
    """Load the terminal face when it is asked for: a command's error needs no diagnosis to be shown."""
    if name in __all__:
        from satline.report import terminal

        return getattr(terminal, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
