"""What a finished run says: compacted, reduced, diagnosed, and written as a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from satline.diagnosis.peak import Peak, peak_of

if TYPE_CHECKING:
    from satline.diagnosis import Diagnosis


def judge(path: Path, for_peak: bool) -> tuple[Diagnosis, Peak | None, Path]:
    """The diagnosis of a recording, the peak of its series if asked for, and its report.

    The recording stays good whatever fails here.
    """
    from satline.diagnosis import diagnose
    from satline.recording import Recording, compact
    from satline.reduction import reduce
    from satline.report.html import write_report

    compact(path)
    recording = Recording.open(path)
    curves = reduce(recording)
    diagnosis = diagnose(recording, curves)
    report = path / "report.html"
    write_report(report, recording, curves, diagnosis)
    return diagnosis, peak_of(recording, diagnosis) if for_peak else None, report
