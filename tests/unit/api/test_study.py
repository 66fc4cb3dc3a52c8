"""`satline.study` of emulated users: what runs it on a real host is stood in for, all else is as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from made_runs import record_run

import satline
from satline import api
from satline.errors import InputError
from satline.experiment import Carried, Options, Progress, Result, Study, View
from satline.experiment.designed import Designed
from satline.experiment.designed import _runner as runner
from satline.interruption import signals_interrupt

pytestmark = pytest.mark.slow

FACTORIAL = """title = "t"
workload = "compute"
[load]
users = [4]
[[factor]]
name = "memory"
setting = "limits.memory"
levels = ["32 MB", "48 MB"]
[[factor]]
name = "cluster"
setting = "knobs.page_cluster"
levels = [0, 3]
[design]
seed = 4
replicates = 2
"""


def test_a_study_of_emulated_users_gives_its_recording_and_tells_its_progress(
    steps: api.OpenRecording, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Study, Options]] = []

    def run(study: Study, options: Options, view: View) -> Result:
        asked.append((study, options))
        with view:
            view.note("limits of the load: none")
            view.show(Progress(elapsed_s=30.0, total_s=120.0, step=1, phase="window", users=4, logged_on=4))
        return Result(steps.path, windows=6)

    monkeypatch.setattr("satline.experiment.protocol.run_study", run)
    told: list[tuple[float | None, str]] = []
    found = satline.study(
        "this-host", out="x.satline", seed=7, most=12, progress=lambda part, words: told.append((part, words))
    )
    assert isinstance(found, api.StudyRun)
    ((study, options),) = asked
    assert (study.file.load.seed, study.file.load.most_users) == (7, 12)
    assert options.out == Path("x.satline")
    assert told[0] == (None, "limits of the load: none")
    assert told[1][0] == 0.25
    assert "4/4 users" in told[1][1]
    assert found.recording is not None
    assert found.to_arrow().equals(steps.diagnose().to_arrow())
    assert "6 windows measured" in repr(found)


def test_a_study_that_recorded_nothing_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "satline.experiment.protocol.run_study", lambda *_: Result(tmp_path / "none.satline", interrupted=15)
    )
    found = satline.study("this-host")
    assert repr(found).startswith("no verdict: it ended too early")
    with pytest.raises(InputError, match="nothing was recorded"):
        found.plot()


def test_a_design_of_emulated_users_is_analysed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def carry_out(
        designed: Designed[Study], out: Path, _options: Options, view: View, _quiet: View
    ) -> Carried:
        carried = runner._begin(designed, out, "digest", "t")

        def execute(run: Any, recording: Path, place: Any) -> tuple[list[str], int | None]:
            mean = 0.2 if run.levels["memory"] == "48 MB" else 0.6
            record_run(recording, {"edit": mean}, seed=run.number, study={"name": "t", "design": place})
            return [], None

        with signals_interrupt() as signals:
            runner._go_through(designed, carried, execute, tmp_path, view, signals)
        return carried

    monkeypatch.setattr(runner, "carry_out", carry_out)
    file = tmp_path / "factorial.toml"
    file.write_text(FACTORIAL)
    told: list[str] = []
    found = satline.study(file, out=tmp_path / "runs", progress=lambda _part, words: told.append(words))
    assert isinstance(found, api.Experiment)
    assert len({row["run"] for row in found.runs().to_arrow().to_pylist()}) == 8
    chances = {
        row["source"]: row["p"]
        for row in found.to_arrow().to_pylist()
        if (row["class"], row["measure"]) == ("all", "response_s")
    }
    assert chances["memory"] < 0.01 < chances["cluster"]
    assert any(words.startswith("run 1 of 8") for words in told)
    assert "significant: memory" in repr(found)
