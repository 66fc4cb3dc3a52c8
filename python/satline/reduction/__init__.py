"""Reduction: readings → observations → load classes → curves against load [Bard]."""

from satline.reduction._observations import Filters
from satline.reduction._reduce import LOAD_AXES, BusyTask, Reduction, needed_columns, reduce
from satline.reduction._results import Curve, Curves, LoadClass, Point
from satline.reduction._source import Settings, Source

__all__ = [
    "LOAD_AXES",
    "BusyTask",
    "Curve",
    "Curves",
    "Filters",
    "LoadClass",
    "Point",
    "Reduction",
    "Settings",
    "Source",
    "needed_columns",
    "reduce",
]
