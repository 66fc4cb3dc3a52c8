"""The lock of a simulated multiprocessor is what the diagnosis of its recording names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from satline import share
from satline.diagnosis import Diagnosis, diagnose
from satline.recording import Recording
from satline.systems.binaries import find_binary

LOADS = (20, 60, 100, 140, 180, 220)
# Eight processors, of which one at a time may start an I/O, for 4 ms: at most 250 in a second.
EIGHT = {"processors.count": "8", "costs.user_io_start_us": "4000"}
LOCK = '[{ name = "SYSTEM", wait = "spin", holds = { user_io_start = 1.0 } }]'


def diagnosed(path: Path, sets: dict[str, str]) -> Diagnosis:
    command = [
        str(find_binary("satline-machine")),
        "run",
        str(share.path("machines") / "central-server.toml"),
    ]
    command.append(str(share.path("workloads") / "simulated" / "central-server.toml"))
    command += ["--users", ",".join(map(str, LOADS)), "--step-seconds", "200", "--warmup-seconds", "50"]
    command += [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
    subprocess.run([*command, "--record", str(path)], capture_output=True, check=True)
    return diagnose(Recording.open(path))


@pytest.mark.parametrize("wait", ["spin", "suspend"])
def test_a_lock_that_all_processors_want_is_named(wait: str, tmp_path: Path) -> None:
    found = diagnosed(tmp_path / "locked", EIGHT | {"lock": LOCK.replace("spin", wait)})
    lock = next(finding for finding in found.findings if finding.rule == "lock_bound")
    assert lock.state == "holds"
    assert "SYSTEM" in lock.summary
    # Whom a lock suspends waits for a processor, as the times tell it: processors may be blamed before it.
    assert wait == "suspend" or found.findings[0] is lock


def test_without_the_lock_it_is_not(tmp_path: Path) -> None:
    found = diagnosed(tmp_path / "free", EIGHT)
    states = {finding.rule: finding.state for finding in found.findings}
    assert states.get("lock_bound") != "holds"
