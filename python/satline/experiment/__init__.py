"""Experiments: study files and the protocol by which a study is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satline.lazy import lazy_names

if TYPE_CHECKING:
    from satline.experiment.adaptive.driver import Outlook
    from satline.experiment.designed import Carried, Outcome, Part, analyse_carried, carry_out, verdicts
    from satline.experiment.emulator import Progress
    from satline.experiment.progress import View
    from satline.experiment.protocol import Options, Result, run_study
    from satline.experiment.study import (
        Study,
        designed_study,
        find_study,
        read_study,
        shipped_studies,
        with_steps,
    )

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
    "designed_study",
    "find_study",
    "read_study",
    "run_study",
    "shipped_studies",
    "verdicts",
    "with_steps",
]

# Whoever wants a study's file need not load what runs it, and the modules of this package import each other.
__getattr__ = lazy_names(
    __name__,
    {
        "adaptive.driver": "Outlook",
        "designed": "Carried, Outcome, Part, analyse_carried, carry_out, verdicts",
        "emulator": "Progress",
        "progress": "View",
        "protocol": "Options, Result, run_study",
        "study": "Study, designed_study, find_study, read_study, shipped_studies, with_steps",
    },
)
