"""A study and its janitor killed together, at random instants: the next study leaves no trace of it.

`SATLINE_KILLS` says how often; `make fuzz` kills a hundred.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from pathlib import Path

import pytest

from satline.recording import check
from satline.systems.undo import marked_processes

from .conftest import WAIT_S, Satline, wait_for

pytestmark = [pytest.mark.system, pytest.mark.slow]
KILLS = int(os.environ.get("SATLINE_KILLS", "3"))
STUDY = """title = "short"
workload = "compute"
[load]
users = [1, 2, 3]
ramp_seconds = 0.5
warmup_seconds = 0.5
window_seconds = 2
[limits]
processors = 1
memory = "128 MB"
swap = "32 MB"
[monitor]
interval_seconds = 0.2
[prepare]
commands = ['"$SATLINE_PYTHON" "$SATLINE_SHARE/programs/make_files.py" . 1 200000 text --text']
[[server]]
name = "idle"
command = ["sh", "-c", "touch ready; exec sleep 1000"]
ready_file = "ready"
"""
# It looks for what is left, and then ends: its command fails.
NEXT = """title = "next"
workload = "compute"
[load]
users = [1]
[prepare]
commands = ["exit 5"]
"""


def _programs(word: bytes) -> list[int]:
    """Processes that have this word in their command."""
    found = []
    for directory in Path("/proc").iterdir():
        if directory.name.isdecimal():
            with contextlib.suppress(OSError):
                if word in (directory / "cmdline").read_bytes():
                    found.append(int(directory.name))
    return found


def _measuring(run_id: str) -> list[int]:
    """The run's monitor, emulator and thermometers."""
    found = []
    for pid in marked_processes(f"SATLINE_RUN={run_id}"):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/exe").readlink().name.startswith("satline-"):
                found.append(pid)
    return found


@pytest.mark.parametrize("seed", range(KILLS))
def test_kill_9_of_study_and_janitor_leaves_nothing_to_the_next(satline: Satline, seed: int) -> None:
    draw = random.Random(seed)
    process = satline.study(STUDY)
    run_id = satline.run_id()
    time.sleep(draw.uniform(0, 6))
    janitors = _programs(os.fsencode(f"{run_id}.ledger"))
    victims = [process.pid, *janitors]
    draw.shuffle(victims)
    for pid in victims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.communicate()
    # Nobody tells them to end.
    wait_for(lambda: not _measuring(run_id), "monitor and emulator to end by themselves")
    if (satline.recording / "recording.toml").exists():
        report = check(satline.recording)
        assert report.ok, report.problems
    satline.environment["XDG_STATE_HOME"] = str(satline.directory / "another")
    (satline.directory / "next.toml").write_text(NEXT)
    after = satline.start("study", "next.toml", "--out", str(satline.directory / "next.satline"),
                          "--scratch", str(satline.scratch))  # fmt: skip
    output, _ = after.communicate(timeout=WAIT_S)
    assert "prepare.commands: ended with exit code 5" in output, output
    assert "removed what 1 earlier run(s) had left behind" in output or process.returncode == 0, output
    assert satline.left(run_id) == []
    assert "left behind" not in output.replace("had left behind", ""), output
