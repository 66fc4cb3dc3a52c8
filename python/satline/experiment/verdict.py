"""What a finished run says: compacted, reduced, diagnosed, and written as a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from satline.diagnosis.peak import Peak, peak_of

if TYPE_CHECKING:
    from satline.diagnosis import Diagnosis
    from satline.reconcile import Story


@dataclass(frozen=True)
class Judged:
    """What a run's recording says.

    agreement
        How the diagnosis and the prediction from the same recording relate.
    peak
        Of a series that was run to find it.
    """

    diagnosis: Diagnosis
    agreement: Story
    peak: Peak | None
    report: Path


def judge(path: Path, for_peak: bool) -> Judged:
    """The diagnosis of a recording, what the other answers say of it, the peak of its series if asked for,
    and its report.

    The recording stays good whatever fails here.
    """
    from satline.diagnosis import diagnose
    from satline.present.html import write_report
    from satline.reconcile import Answers, story
    from satline.recording import Recording, compact
    from satline.reduction import reduce

    compact(path)
    recording = Recording.open(path)
    curves = reduce(recording)
    diagnosis = diagnose(recording, curves)
    report = path / "report.html"
    told = story(recording, curves, "diagnose", Answers(diagnosis=diagnosis))
    write_report(report, recording, curves, diagnosis, notes=told.lines)
    return Judged(diagnosis, told, peak_of(recording, diagnosis) if for_peak else None, report)
