"""Reduction: readings → observations → load classes → curves against load [Bard]."""

from satline.reduction._axes import LOAD_AXES, Axis, axis_named
from satline.reduction._classes import Classing
from satline.reduction._filters import DAYS, Filters
from satline.reduction._group_users import user_variables
from satline.reduction._groups import By, Groups, group
from satline.reduction._reclass import on_axis, reclassed
from satline.reduction._reduce import Reduction, needed_columns, reduce
from satline.reduction._results import Curve, Curves, LoadClass, Point
from satline.reduction._shares import PARTS as SHARE_PARTS
from satline.reduction._source import Settings, Source, reading
from satline.reduction._tasks import BusyTask
from satline.reduction._trend import Trend, trend
from satline.reduction._values import floats, numbers_table
from satline.reduction._variables import Derived, Variables, variables

__all__ = [
    "DAYS",
    "LOAD_AXES",
    "SHARE_PARTS",
    "Axis",
    "BusyTask",
    "By",
    "Classing",
    "Curve",
    "Curves",
    "Derived",
    "Filters",
    "Groups",
    "LoadClass",
    "Point",
    "Reduction",
    "Settings",
    "Source",
    "Trend",
    "Variables",
    "axis_named",
    "floats",
    "group",
    "needed_columns",
    "numbers_table",
    "on_axis",
    "reading",
    "reclassed",
    "reduce",
    "trend",
    "user_variables",
    "variables",
]
