"""Studies on swap devices of chosen character: pages go there, and nothing is left however it ends."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from satline.errors import SatlineError
from satline.systems.binaries import find_binary

from .conftest import Satline, wait_for
from .test_study_runs import _janitor, ended

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(os.geteuid() != 0, reason="swap is root's"),
]

STUDY = """title = "short"
workload = "working-sets"
[load]
users = [4]
ramp_seconds = 0.5
warmup_seconds = 0.5
window_seconds = 20
[limits]
processors = 1
memory = "16 MB"
swap = "128 MB"
[knobs]
swap_kind = "KIND"
"""
DEVICES = {"network": "/dev/loop", "zram": "/dev/zram"}


def swapping(satline: Satline, kind: str) -> tuple[subprocess.Popen[str], str]:
    """A study under way whose pages have begun to go to the device."""
    try:
        find_binary("satline-disk", satline.environment)
    except SatlineError as error:
        pytest.skip(error.message)
    if kind == "network" and not Path("/dev/fuse").exists():
        pytest.skip("no FUSE")
    if kind == "zram" and not Path("/sys/class/zram-control").exists():
        pytest.skip("no zram")
    process = satline.study(STUDY.replace("KIND", kind))
    run_id = satline.run_id()
    wait_for(lambda: used(DEVICES[kind]) > 4 << 20, f"pages on {kind}")
    return process, run_id


def used(device: str) -> int:
    """Bytes in use on the first swap device of such a name."""
    for line in Path("/proc/swaps").read_text().splitlines()[1:]:
        if line.startswith(device):
            return int(line.split()[3]) * 1024
    return 0


def left(satline: Satline, run_id: str) -> list[str]:
    found = satline.left(run_id)
    found += [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if run_id in line]
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            found += [text for text in [backing.read_text()] if run_id in text]
        except OSError:
            continue  # let go of meanwhile
    for directory in Path("/proc").iterdir():
        try:
            words = (directory / "cmdline").read_bytes() if directory.name.isdecimal() else b""
        except OSError:
            continue
        found += (
            [f"{directory}: satline-disk"] if b"satline-disk" in words and run_id.encode() in words else []
        )
    return found


@pytest.mark.parametrize("kind", DEVICES)
def test_kill_9_of_the_study_leaves_nothing_of_its_device(satline: Satline, kind: str) -> None:
    process, run_id = swapping(satline, kind)
    process.kill()
    process.communicate()
    wait_for(lambda: left(satline, run_id) == [], "the janitor")
    assert used(DEVICES[kind]) == 0


def test_kill_9_of_study_and_janitor_is_cleaned_by_the_next(satline: Satline) -> None:
    process, run_id = swapping(satline, "network")
    for pid in _janitor(satline.state / "satline" / f"{run_id}.ledger"):
        os.kill(pid, signal.SIGKILL)
    process.kill()
    process.communicate()
    assert left(satline, run_id) != []
    status, output = ended(satline.start("clean"))
    assert status == 0, output
    assert left(satline, run_id) == []


def test_an_early_end_leaves_nothing_of_its_device(satline: Satline) -> None:
    process, run_id = swapping(satline, "network")
    process.send_signal(signal.SIGINT)
    status, output = ended(process)
    assert status == 130, output
    assert left(satline, run_id) == []
