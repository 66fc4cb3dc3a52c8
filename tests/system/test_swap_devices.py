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
window_seconds = 600
[limits]
processors = 1
memory = "16 MB"
swap = "128 MB"
[knobs]
swap_kind = "KIND"
"""


def swapping(satline: Satline, kind: str) -> tuple[subprocess.Popen[str], str, str]:
    """A study under way whose pages have begun to go to its device; its id and the device."""
    try:
        find_binary("satline-disk", satline.environment)
    except SatlineError as error:
        pytest.skip(error.message)
    if kind == "network" and not Path("/dev/fuse").exists():
        pytest.skip("no FUSE")
    if kind == "zram" and not Path("/sys/class/zram-control").exists():
        pytest.skip("no zram")
    before = used()
    process = satline.study(STUDY.replace("KIND", kind))
    run_id = satline.run_id()

    def begun() -> list[str]:
        return [device for device, amount in used().items() if device not in before and amount > 4 << 20]

    found = wait_for(begun, f"pages on {kind}")
    assert isinstance(found, list)
    return process, run_id, str(found[0])


def used() -> dict[str, int]:
    """Bytes in use on each swap device."""
    lines = Path("/proc/swaps").read_text().splitlines()[1:]
    return {line.split()[0]: int(line.split()[3]) * 1024 for line in lines}


def left(satline: Satline, run_id: str, device: str) -> list[str]:
    found = satline.left(run_id) + [name for name in used() if name == device]
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


@pytest.mark.parametrize("kind", ["network", "zram"])
def test_kill_9_of_the_study_leaves_nothing_of_its_device(satline: Satline, kind: str) -> None:
    process, run_id, device = swapping(satline, kind)
    process.kill()
    process.communicate()
    wait_for(lambda: left(satline, run_id, device) == [], "the janitor")


def test_kill_9_of_study_and_janitor_is_cleaned_by_the_next(satline: Satline) -> None:
    process, run_id, device = swapping(satline, "network")
    for pid in _janitor(satline.state / "satline" / f"{run_id}.ledger"):
        os.kill(pid, signal.SIGKILL)
    process.kill()
    process.communicate()
    assert left(satline, run_id, device) != []
    status, output = ended(satline.start("clean"))
    assert status == 0, output
    assert left(satline, run_id, device) == []


def test_an_early_end_leaves_nothing_of_its_device(satline: Satline) -> None:
    process, run_id, device = swapping(satline, "network")
    process.send_signal(signal.SIGINT)
    status, output = ended(process)
    assert status == 130, output
    assert left(satline, run_id, device) == []
