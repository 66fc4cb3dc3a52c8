"""What is said while recording: the headline, by a process that may fail and disturbs nothing."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from satline.cli.record.headline import Headlines
from satline.headline_process import headline
from satline.recording import RecordingWriter, describe
from satline.systems.janitor import python_environment

S = 10**9


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Ten minutes of an idle host."""
    path = tmp_path / "x.satline"
    describe.create(path, "satline-monitor", host={"processors": 2, "memory_bytes": 1 << 30})
    with RecordingWriter(path, "monitor") as writer:
        rows = [{"time_ns": n * S, "monotonic_ns": n * S, "sample": n} for n in range(600)]
        writer.write_rows("system", rows)
        for cpu in ("0", "1"):
            writer.write_rows(
                "processor",
                [
                    {**row, "processor": cpu, "idle_us": row["time_ns"] // 1000, "user_us": 0}
                    for row in ({k: row[k] for k in ("time_ns", "monotonic_ns")} for row in rows)
                ],
            )
    return path


def next_of(answers: Headlines, seconds: float) -> str:
    """The next headline; it comes when its process is through."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if (answer := answers.poll(seconds)) is not None:
            return answer
        time.sleep(0.05)
    raise AssertionError("waited in vain for a headline")


def test_it_says_what_diagnose_says_first(recording: Path) -> None:
    answers = Headlines(recording)
    assert answers.poll(299.0) is None
    assert answers.poll(300.0) is None, "it is worked out beside"
    assert next_of(answers, 301.0) == headline(recording)["headline"]


def test_the_next_ones_come_at_twice_the_time(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[float] = []
    now = 0.0
    answers = Headlines(recording)
    monkeypatch.setattr(answers, "start", lambda: begun.append(now))
    for minute in range(100):
        now = minute
        answers.poll(60.0 * minute)
    assert begun == [5, 10, 20, 40, 80]
    late = Headlines(recording)
    monkeypatch.setattr(late, "start", lambda: begun.append(-1))
    late.poll(100 * 60.0)  # the host slept: one answer, not all that were missed
    late.poll(101 * 60.0)
    assert begun.count(-1) == 1


def test_a_diagnosis_that_fails_is_said_and_harms_nothing(tmp_path: Path) -> None:
    answers = Headlines(tmp_path / "none.satline")
    answers.poll(300.0)
    assert next_of(answers, 301.0).startswith("no answer yet: ")
    answers.poll(600.0)
    assert answers._process is not None
    answers._process.kill()
    assert "ended with -9" in next_of(answers, 601.0)
    answers.poll(1200.0)
    answers.stop()
    assert answers._process is None
    assert answers.wait() is None


def test_where_no_process_can_be_started_there_is_no_answer(
    recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", full)
    answers = Headlines(recording)
    assert answers.poll(300.0) is None
    assert answers.poll(301.0) is None
    assert answers.wait() is None


def test_the_process_takes_little_and_ends_with_its_parent(recording: Path) -> None:
    code = (
        "import os, json; from satline.headline_process import be_small; be_small();"
        "print(json.dumps([os.getpriority(os.PRIO_PROCESS, 0), len(os.sched_getaffinity(0)),"
        "open('/proc/self/oom_score_adj').read().strip()]))"
    )
    own = os.getpriority(os.PRIO_PROCESS, 0)
    done = subprocess.run(
        [sys.executable, "-c", code], env=python_environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == '[19, 1, "1000"]'
    del recording
    assert os.getpriority(os.PRIO_PROCESS, 0) == own
