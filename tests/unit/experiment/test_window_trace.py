"""A trace that fails in the middle ends neither the run nor goes unsaid."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from satline.experiment.emulator import WindowTrace


class Tracer:
    """Fails where it is told to."""

    def __init__(self, fails_in: str) -> None:
        self.fails_in, self.begun = fails_in, False
        self.calls: list[str] = []

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if name == self.fails_in:
            raise OSError(19, "No such device")

    def begin(self) -> None:
        self._call("begin")
        self.begun = True

    def end(self) -> None:
        self._call("end")


@pytest.mark.parametrize("fails_in", ["begin", "end"])
def test_it_is_told_and_the_run_goes_on(tmp_path: Path, fails_in: str) -> None:
    tracer = Tracer(fails_in)
    study = SimpleNamespace(
        file=SimpleNamespace(trace=SimpleNamespace(step=2), load=SimpleNamespace(users=[1, 4]))
    )
    trace = WindowTrace(cast(Any, study), cast(Any, SimpleNamespace(trace=tracer)), tmp_path)
    for step, phase in ((1, "window"), (2, "warmup"), (2, "window"), (2, "window"), (2, "drain")):
        trace.follow(cast(Any, SimpleNamespace(step=step, phase=phase)))
    assert tracer.calls.count(fails_in) == 1
    assert trace.keep() == ["step 2 could not be traced: No such device"]
