"""Studies on a guest; they need what `satline guest build` makes."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from satline.errors import InputError
from satline.recording import Recording, check
from satline.systems.guest.files import cache_directory, find_program
from satline.systems.guest.image import find_image
from satline.systems.undo import marked_processes

from .conftest import Satline, samples_without, wait_for

pytestmark = [pytest.mark.system, pytest.mark.slow]
# An emulated processor on a busy machine takes its time.
WAIT_S = 300.0
MOST_AFTER_THE_LAST_SAMPLE_S = 5.0

STUDY = """title = "guest"
workload = "working-sets"
target = "guest"
[guest]
memory = "128 MB"
swap_disks = 2
swap_disk = "64 MB"
swap_iops = 500
[guest.knobs]
page_cluster = 0
swappiness = 100
mglru = 7
[load]
users = [1, 2]
ramp_seconds = 10
warmup_seconds = 2
window_seconds = 6
[monitor]
interval_seconds = 1
"""


@pytest.fixture(autouse=True)
def _built() -> None:
    try:
        find_program("qemu-system-x86_64")
        find_image()
    except InputError as error:
        pytest.skip(f"{error.message}; {error.hint}")


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    output, _ = process.communicate(timeout=WAIT_S)
    return process.returncode, output


def left(satline: Satline, run_id: str) -> list[str]:
    """What is still there of a run, the files of its sockets and a snapshot that was begun included."""
    found = satline.left(run_id)
    found += [str(path) for path in Path("/tmp").glob(f"satline-{run_id}*")]
    found += [str(path) for path in (cache_directory() / "snapshots").glob(f"satline-{run_id}*")]
    return found


def test_a_study_on_a_guest_runs_to_its_verdict_and_leaves_only_the_recording(satline: Satline) -> None:
    process = satline.study(STUDY)
    run_id = satline.run_id()
    status, output = ended(process)
    assert status == 0, output
    assert "restored from its snapshot in" in output
    assert left(satline, run_id) == []
    report = check(satline.recording)
    assert report.ok, report.problems
    assert report.end_reason == "complete"
    assert report.rows["transaction"] > 0
    recording = Recording.open(satline.recording)
    system = recording.description["system_under_test"]
    assert system["kind"] == "guest"
    assert system["limits"]["swap_disks"] == 2
    assert system["limits"]["page_cluster"] == 0
    assert recording.description["host"]["memory_bytes"] < 128_000_000
    clock = recording.sources["monitor"]["clock"]
    assert clock["bound_us"] < 1_000_000
    connection = recording.connect()
    users = {row[0] for row in connection.execute('SELECT DISTINCT "user" FROM "user"').fetchall()}
    disks = {row[0] for row in connection.execute("SELECT DISTINCT device FROM device").fetchall()}
    connection.close()
    assert {"user-001", "user-002"} <= users
    assert {"vdb", "vdc"} <= disks
    before_s, after_s = samples_without(recording)
    # An emulated machine on a busy host takes its samples when it can.
    assert before_s <= 0
    assert after_s < MOST_AFTER_THE_LAST_SAMPLE_S


def _qemu(run_id: str) -> list[int]:
    names = {pid: Path(f"/proc/{pid}/comm") for pid in marked_processes(f"SATLINE_RUN={run_id}")}
    return [pid for pid, comm in names.items() if comm.exists() and comm.read_text().startswith("qemu")]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_study_that_is_ended_leaves_no_guest(satline: Satline, number: signal.Signals) -> None:
    process = satline.study(STUDY.replace("window_seconds = 6", "window_seconds = 600"))
    run_id = satline.run_id()
    satline.member("satline-terminal", WAIT_S)
    assert _qemu(run_id)
    process.send_signal(number)
    process.communicate(timeout=WAIT_S)
    wait_for(lambda: left(satline, run_id) == [], "the janitor")
    assert _qemu(run_id) == []


def test_a_guest_that_dies_ends_the_run(satline: Satline) -> None:
    process = satline.study(STUDY.replace("window_seconds = 6", "window_seconds = 600"))
    run_id = satline.run_id()
    satline.member("satline-terminal", WAIT_S)
    for pid in _qemu(run_id):
        os.kill(pid, signal.SIGKILL)
    status, output = ended(process)
    assert status in (1, 2), output
    assert "error: " in output
    assert "Traceback" not in output
    assert left(satline, run_id) == []
    assert check(satline.recording).ok


def test_a_command_in_a_guest(satline: Satline) -> None:
    options = ("--memory", "128 MB", "--swap-disks", "2", "--scratch", str(satline.scratch))
    status, output = ended(satline.start("guest", "shell", *options, "-c", "cat /proc/swaps; nproc"))
    assert status == 0, output
    assert "/dev/vdb" in output
    assert "/dev/vdc" in output
    assert output.rstrip().endswith("1")
    assert list(satline.scratch.iterdir()) == []
