"""Experiments: study files and the protocol by which a study is run."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from satline.experiment.adaptive.driver import Outlook as Outlook
    from satline.experiment.adaptive.shown import decision_lines as decision_lines
    from satline.experiment.designed import Carried as Carried
    from satline.experiment.designed import Outcome as Outcome
    from satline.experiment.designed import Part as Part
    from satline.experiment.designed import analyse_carried as analyse_carried
    from satline.experiment.designed import carry_out as carry_out
    from satline.experiment.designed import verdicts as verdicts
    from satline.experiment.emulator import Progress as Progress
    from satline.experiment.progress import View as View
    from satline.experiment.progress import summary as progress_words
    from satline.experiment.protocol import Options as Options
    from satline.experiment.protocol import Result as Result
    from satline.experiment.protocol import run_study as run_study
    from satline.experiment.study import Study as Study
    from satline.experiment.study import designed_study as designed_study
    from satline.experiment.study import find_study as find_study
    from satline.experiment.study import read_study as read_study
    from satline.experiment.study import shipped_studies as shipped_studies
    from satline.experiment.study import with_steps as with_steps

# Name → the module that has it, and its name there. Loaded when asked for: whoever wants a study's file need
# not load what runs it, and the modules of this package import each other.
_PUBLIC = {
    "Carried": ("designed", "Carried"),
    "Options": ("protocol", "Options"),
    "Outcome": ("designed", "Outcome"),
    "Outlook": ("adaptive.driver", "Outlook"),
    "Part": ("designed", "Part"),
    "Progress": ("emulator", "Progress"),
    "Result": ("protocol", "Result"),
    "Study": ("study", "Study"),
    "View": ("progress", "View"),
    "analyse_carried": ("designed", "analyse_carried"),
    "carry_out": ("designed", "carry_out"),
    "decision_lines": ("adaptive.shown", "decision_lines"),
    "designed_study": ("study", "designed_study"),
    "find_study": ("study", "find_study"),
    "progress_words": ("progress", "summary"),
    "read_study": ("study", "read_study"),
    "run_study": ("protocol", "run_study"),
    "shipped_studies": ("study", "shipped_studies"),
    "verdicts": ("designed", "verdicts"),
    "with_steps": ("study", "with_steps"),
}

__all__ = [
    "Carried",
    "Options",
    "Outcome",
    "Outlook",
    "Part",
    "Progress",
    "Result",
    "Study",
    "View",
    "analyse_carried",
    "carry_out",
    "decision_lines",
    "designed_study",
    "find_study",
    "progress_words",
    "read_study",
    "run_study",
    "shipped_studies",
    "verdicts",
    "with_steps",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is asked for."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, inner = _PUBLIC[name]
    return getattr(import_module(f"satline.experiment.{module}"), inner)
