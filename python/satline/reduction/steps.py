"""The steps of a reduction, for analyses that make observations of their own from a recording."""

from satline.reduction._axes import usual_axis
from satline.reduction._classes import make_classes
from satline.reduction._curves import members
from satline.reduction._filters import texts
from satline.reduction._group_times import stretches
from satline.reduction._observations import differenced, make_scopes
from satline.reduction._periods import Plan, make_observations, plan, whole
from satline.reduction._recorded import has_rows, recorded, users_condition
from satline.reduction._transactions import make_transactions
from satline.reduction._values import bound_memory, make_values, weight_column

__all__ = [
    "Plan",
    "bound_memory",
    "differenced",
    "has_rows",
    "make_classes",
    "make_observations",
    "make_scopes",
    "make_transactions",
    "make_values",
    "members",
    "plan",
    "recorded",
    "stretches",
    "texts",
    "users_condition",
    "usual_axis",
    "weight_column",
    "whole",
]
