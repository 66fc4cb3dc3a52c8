"""Prediction: closed queueing networks, and what a recording says of one [Bard]."""

from typing import TYPE_CHECKING, Any

from satline.prediction._approximate import linearizer, schweitzer
from satline.prediction._bounds import Bounds, bounds, pressure, saturation_users
from satline.prediction._class_results import (
    ByClass,
    Chain,
    ClassRow,
    ClassScenario,
    Level,
    TransactionClass,
)
from satline.prediction._decomposition import MplPoint, Storage, UsersPoint, mpl_curve, users_curve
from satline.prediction._exact import Curve, curve_of, exact_curve, exact_single
from satline.prediction._lattice import exact_classes
from satline.prediction._network import CustomerClass, Network, Station
from satline.prediction._predict import predict
from satline.prediction._results import Prediction, Row, Scenario, StationDemand
from satline.prediction._solution import Accuracy, Solution
from satline.prediction._solve import BANDS, MEASURED, METHODS, Method, accuracy, band, solve
from satline.prediction._whatif import WAYS, Change, changes

if TYPE_CHECKING:
    from satline.prediction._file import Described, read_network

__all__ = [
    "BANDS",
    "MEASURED",
    "METHODS",
    "WAYS",
    "Accuracy",
    "Bounds",
    "ByClass",
    "Chain",
    "Change",
    "ClassRow",
    "ClassScenario",
    "Curve",
    "CustomerClass",
    "Described",
    "Level",
    "Method",
    "MplPoint",
    "Network",
    "Prediction",
    "Row",
    "Scenario",
    "Solution",
    "Station",
    "StationDemand",
    "Storage",
    "TransactionClass",
    "UsersPoint",
    "accuracy",
    "band",
    "bounds",
    "changes",
    "curve_of",
    "exact_classes",
    "exact_curve",
    "exact_single",
    "linearizer",
    "mpl_curve",
    "predict",
    "pressure",
    "read_network",
    "saturation_users",
    "schweitzer",
    "solve",
    "users_curve",
]


def __getattr__(name: str) -> Any:
    """Networks in files, imported when asked for: what checks them takes as long as all the rest."""
    if name not in ("Described", "read_network"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from satline.prediction import _file

    return getattr(_file, name)
