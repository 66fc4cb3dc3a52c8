"""What a finished run says: compacted, reduced, diagnosed, and written by whoever writes pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from satline.diagnosis.peak import Peak, peak_of

if TYPE_CHECKING:
    from satline.diagnosis import Diagnosis
    from satline.reconcile import Story
    from satline.recording import Recording
    from satline.reduction import Curves

    PageWriter = Callable[[Path, Recording, Curves, Diagnosis, Sequence[str]], None]


@dataclass(frozen=True)
class Judged:
    """What a run's recording says.

    agreement
        How the diagnosis and the prediction from the same recording relate.
    peak
        Of a series that was run to find it.
    report
        The page; ``None``: nobody was there to write it.
    """

    diagnosis: Diagnosis
    agreement: Story
    peak: Peak | None
    report: Path | None = None


def judge(path: Path, for_peak: bool, write_page: PageWriter | None = None) -> Judged:
    """The diagnosis of a recording, what the other answers say of it, the peak of its series if asked for,
    and its page.

    The recording stays good whatever fails here.
    """
    from satline.diagnosis import diagnose
    from satline.reconcile import Answers, story
    from satline.recording import Recording, compact
    from satline.reduction import reduce

    compact(path)
    recording = Recording.open(path)
    curves = reduce(recording)
    diagnosis = diagnose(recording, curves)
    told = story(recording, curves, "diagnose", Answers(diagnosis=diagnosis))
    report = None if write_page is None else path / "report.html"
    if report is not None and write_page is not None:
        write_page(report, recording, curves, diagnosis, told.lines)
    return Judged(diagnosis, told, peak_of(recording, diagnosis) if for_peak else None, report)
