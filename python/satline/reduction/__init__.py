"""Reduction: readings → observations → load classes → curves against load [Bard]."""

from satline.reduction._axes import LOAD_AXES
from satline.reduction._filters import Filters
from satline.reduction._reclass import reclassed
from satline.reduction._reduce import Reduction, needed_columns, reduce
from satline.reduction._results import Curve, Curves, LoadClass, Point
from satline.reduction._source import Settings, Source
from satline.reduction._tasks import BusyTask
from satline.reduction._trend import Trend, trend

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
    "Trend",
    "needed_columns",
    "reclassed",
    "reduce",
    "trend",
]
