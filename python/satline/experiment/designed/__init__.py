"""Designed experiments as studies: a plan, its runs one after another, and what they say together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satline.experiment.designed._cells import Designed, designed
from satline.experiment.designed._file import DesignPart, FactorPart
from satline.lazy import lazy_names

if TYPE_CHECKING:
    from satline.experiment.designed._analysis import Outcome, Part, outcome_of, verdicts
    from satline.experiment.designed._results import ALL, MEASURES, Figures, RunResult, classes, results_of
    from satline.experiment.designed._runner import Carried, SaidOnce, analyse_carried, carry_out
    from satline.experiment.designed._sequential import LEVEL, Look
    from satline.experiment.designed._store import Store, digest_of

__all__ = [
    "ALL",
    "LEVEL",
    "MEASURES",
    "Carried",
    "DesignPart",
    "Designed",
    "FactorPart",
    "Figures",
    "Look",
    "Outcome",
    "Part",
    "RunResult",
    "SaidOnce",
    "Store",
    "analyse_carried",
    "carry_out",
    "classes",
    "designed",
    "digest_of",
    "outcome_of",
    "results_of",
    "verdicts",
]

# A study's file is read without what runs and analyses it.
__getattr__ = lazy_names(
    __name__,
    {
        "_analysis": "Outcome, Part, outcome_of, verdicts",
        "_results": "ALL, MEASURES, Figures, RunResult, classes, results_of",
        "_runner": "Carried, SaidOnce, analyse_carried, carry_out",
        "_sequential": "LEVEL, Look",
        "_store": "Store, digest_of",
    },
)
