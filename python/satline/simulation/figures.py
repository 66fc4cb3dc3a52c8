"""The figures of a simulated study: an SVG file each, and one page that shows them with their numbers."""

from __future__ import annotations

from pathlib import Path

from satline.extras import can_draw
from satline.simulation._run_study import StudyResult
from satline.simulation.show import plot


def write_figures(result: StudyResult, directory: Path) -> list[Path]:
    """Draw every figure of the study into `directory`; none without what draws them.

    Raises
    ------
    InputError
        It cannot be written.
    """
    from satline.present import picture
    from satline.present.html import write_page

    written: list[Path] = []
    if not can_draw():
        return written
    for plan in result.study.file.figure:
        drawn = plot(plan, result.arms)
        if not any(line.marks for line in drawn.lines):
            continue
        path = directory / f"{drawn.name}.svg"
        write_page(path, picture(drawn))
        written.append(path)
    return written
