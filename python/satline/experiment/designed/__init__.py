"""Designed experiments as studies: a plan, its runs one after another, and what they say together."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from satline.experiment.designed._cells import Designed, designed
from satline.experiment.designed._file import DesignPart, FactorPart

if TYPE_CHECKING:
    from satline.experiment.designed._analysis import Outcome as Outcome
    from satline.experiment.designed._analysis import Part as Part
    from satline.experiment.designed._analysis import outcome_of as outcome_of
    from satline.experiment.designed._analysis import verdicts as verdicts
    from satline.experiment.designed._results import results_of as results_of
    from satline.experiment.designed._runner import Carried as Carried
    from satline.experiment.designed._runner import analyse_carried as analyse_carried
    from satline.experiment.designed._runner import carry_out as carry_out
    from satline.experiment.designed._store import Store as Store
    from satline.experiment.designed._store import digest_of as digest_of

# Name → the module that has it. Loaded when asked for: a study's file is read without what runs and analyses
# it.
_PUBLIC = {
    "Carried": "_runner",
    "Outcome": "_analysis",
    "Part": "_analysis",
    "Store": "_store",
    "analyse_carried": "_runner",
    "carry_out": "_runner",
    "digest_of": "_store",
    "outcome_of": "_analysis",
    "results_of": "_results",
    "verdicts": "_analysis",
}

__all__ = [
    "Carried",
    "DesignPart",
    "Designed",
    "FactorPart",
    "Outcome",
    "Part",
    "Store",
    "analyse_carried",
    "carry_out",
    "designed",
    "digest_of",
    "outcome_of",
    "results_of",
    "verdicts",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is asked for."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"satline.experiment.designed.{_PUBLIC[name]}"), name)
