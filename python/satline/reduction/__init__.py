"""Reduction: readings → observations → load classes → curves against load [Bard]."""

from satline.reduction._axes import LOAD_AXES, Axis, axis_named, usual_axis
from satline.reduction._classes import Classing, assign, distinct_classes, make_classes, merged_classes
from satline.reduction._curves import PARTS as SHARE_PARTS
from satline.reduction._curves import make_batches, members
from satline.reduction._filters import DAYS, Filters, has_rows, recorded, texts, users_condition
from satline.reduction._group_times import stretches
from satline.reduction._group_users import user_variables
from satline.reduction._groups import By, Groups, group
from satline.reduction._observations import differenced, make_scopes
from satline.reduction._periods import Plan, make_observations, plan, whole
from satline.reduction._readings import ENTITY, Readings, Table, Times, one_reading, readings_of
from satline.reduction._reclass import on_axis, reclassed
from satline.reduction._reduce import Reduction, needed_columns, reduce
from satline.reduction._results import Curve, Curves, LoadClass, Point
from satline.reduction._source import Settings, Source, reading, settle
from satline.reduction._tasks import BusyTask
from satline.reduction._transactions import make_transactions
from satline.reduction._trend import Trend, trend
from satline.reduction._values import bound_memory, floats, make_values, numbers_table, weight_column
from satline.reduction._variables import Derived, Variables, variables

__all__ = [
    "DAYS",
    "ENTITY",
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
    "Plan",
    "Point",
    "Readings",
    "Reduction",
    "Settings",
    "Source",
    "Table",
    "Times",
    "Trend",
    "Variables",
    "assign",
    "axis_named",
    "bound_memory",
    "differenced",
    "distinct_classes",
    "floats",
    "group",
    "has_rows",
    "make_batches",
    "make_classes",
    "make_observations",
    "make_scopes",
    "make_transactions",
    "make_values",
    "members",
    "merged_classes",
    "needed_columns",
    "numbers_table",
    "on_axis",
    "one_reading",
    "plan",
    "reading",
    "readings_of",
    "reclassed",
    "recorded",
    "reduce",
    "settle",
    "stretches",
    "texts",
    "trend",
    "user_variables",
    "users_condition",
    "usual_axis",
    "variables",
    "weight_column",
    "whole",
]
