"""Tracing one window of a run [AW79]: begun with it, ended with it or when the space is full."""

from __future__ import annotations

from pathlib import Path

from satline.experiment.emulator import Progress
from satline.experiment.study import Study
from satline.systems import Conditions


class WindowTrace:
    """Follows a run under way, and traces the window that the study names, if it names one."""

    def __init__(self, study: Study, conditions: Conditions, recording: Path) -> None:
        stated = study.file.trace
        self._trace = conditions.trace
        self._step = (stated.step if stated is not None else None) or max(1, len(study.file.load.users))
        self._recording = recording
        self._failed: str | None = None

    def follow(self, progress: Progress | None) -> None:
        if self._trace is None or progress is None:
            return
        inside = progress.step == self._step and progress.phase == "window"
        try:
            if inside and not self._trace.begun:
                self._trace.begin()
            elif not inside:
                self._trace.end()
        except OSError as error:
            # The run does not need it.
            self._failed, self._trace = f"step {self._step} could not be traced: {error.strerror}", None

    def keep(self) -> list[str]:
        """Write what was traced into the recording; returns what is to be told."""
        from satline.recording import describe

        if self._failed is not None:
            return [self._failed]
        if self._trace is None or not self._trace.begun:
            return []
        name = f"trace/step-{self._step:02}.txt.gz"
        try:
            traced = self._trace.keep(self._recording / name)
        except OSError as error:
            return [f"the trace of step {self._step} could not be kept: {error.strerror}"]
        text = f"trace of step {self._step}: {traced.in_words()}"
        describe.annotate(self._recording, f"{text}; {name}")
        return [f"{text}: {self._recording / name}, {traced.bytes / 1e6:.1f} MB"]
