"""Whole studies on the real kernel, and every way to end one early: nothing is left behind."""

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from satline.recording import Recording, check
from satline.systems.ledger import Ledger

from .conftest import WAIT_S, Satline, wait_for

pytestmark = pytest.mark.system

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
"""
# Who ends it early, however late on a busy machine, comes before its end.
LONG = STUDY.replace("window_seconds = 2", "window_seconds = 600")
TRACE = """[trace]
space = "256 kB"
"""
SERVER = """[[server]]
name = "idle"
command = ["sh", "-c", "touch ready; exec sleep 1000"]
ready_file = "ready"
"""


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    output, _ = process.communicate(timeout=WAIT_S)
    return process.returncode, output


@pytest.mark.slow
def test_a_study_runs_to_its_verdict_and_leaves_only_the_recording(satline: Satline) -> None:
    process = satline.study(STUDY + SERVER + TRACE)
    run_id = satline.run_id()
    status, output = ended(process)
    assert status == 0, output
    traced = list((satline.recording / "trace").glob("*"))
    assert [path.name for path in traced] == ["step-03.txt.gz"] or "trace" in output.partition("not set")[2]
    assert satline.left(run_id) == []
    assert "limits of the load: processors 1" in output or "not set" in output
    assert "step 3/3 window" in output
    assert (satline.recording / "report.html").stat().st_size > 1000
    report = check(satline.recording)
    assert report.ok, report.problems
    assert report.end_reason == "complete"
    assert report.rows["transaction"] > 0
    recording = Recording.open(satline.recording)
    assert recording.description["study"]["name"] == "x"
    assert recording.description["study"]["source"] == STUDY + SERVER + TRACE
    connection = recording.connect()
    users = {row[0] for row in connection.execute('SELECT DISTINCT "user" FROM "user"').fetchall()}
    connection.close()
    assert "idle" in users
    assert "_satline" in users
    again = satline.start("study", "x.toml", "--out", str(satline.recording))
    status, output = ended(again)
    assert status == 2
    assert "is there already" in output
    status, output = ended(satline.start("diagnose", str(satline.recording), "--json"))
    assert status == 0, output
    assert json.loads(output)["headline"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_early_end_without_a_verdict(satline: Satline, number: signal.Signals) -> None:
    process = satline.study(LONG)
    run_id = satline.run_id()
    satline.member("bash")
    process.send_signal(number)
    status, output = ended(process)
    assert status == 128 + number, output
    assert "0 window(s) measured, a verdict needs at least 2" in output
    assert "Traceback" not in output
    assert satline.left(run_id) == []
    assert check(satline.recording).ok
    assert Recording.open(satline.recording).description["recording"]["end_reason"] == "interrupted"


def test_an_early_end_with_a_verdict_on_what_there_is(satline: Satline) -> None:
    # More of them than there is time for.
    process = satline.study(STUDY.replace("[1, 2, 3]", f"{[1, 2, 3] * 40}"))
    run_id = satline.run_id()
    satline.wait_until_windows(2)
    process.send_signal(signal.SIGINT)
    status, output = ended(process)
    assert status == 130, output
    measured = satline.windows()
    assert measured >= 2
    assert f"{measured} window(s) measured, judged from these" in output
    assert (satline.recording / "report.html").exists()
    assert satline.left(run_id) == []


@pytest.mark.parametrize(
    ("program", "words"), [("satline-monitor", "the monitor"), ("satline-terminal", "the emulator")]
)
def test_a_part_that_is_killed_ends_the_run(satline: Satline, program: str, words: str) -> None:
    process = satline.study(LONG)
    run_id = satline.run_id()
    satline.member("bash")
    os.kill(satline.member(program), signal.SIGKILL)
    status, output = ended(process)
    assert status == 1, output
    assert f"error: {words}" in output
    assert "hint:" in output or program == "satline-terminal"
    assert satline.left(run_id) == []
    assert check(satline.recording).ok
    assert Recording.open(satline.recording).description["recording"]["end_reason"] == "failed"


def test_a_terminal_that_is_closed_leaves_nothing(satline: Satline) -> None:
    process = satline.study(LONG)
    run_id = satline.run_id()
    satline.member("bash")
    assert process.stdout is not None
    process.stdout.close()
    process.send_signal(signal.SIGHUP)
    process.wait(WAIT_S)
    assert satline.left(run_id) == []
    assert Recording.open(satline.recording).description["recording"]["end_reason"] == "interrupted"


def test_kill_9_of_the_study_leaves_it_to_the_janitor(satline: Satline) -> None:
    process = satline.study(LONG)
    run_id = satline.run_id()
    satline.member("bash")
    process.kill()
    process.communicate()
    wait_for(lambda: satline.left(run_id) == [], "the janitor")
    assert "end_reason" not in Recording.open(satline.recording).description["recording"]
    assert check(satline.recording).ok


def _janitor(ledger: Path) -> list[int]:
    wanted = os.fsencode(ledger)
    found = []
    for directory in Path("/proc").iterdir():
        if directory.name.isdecimal():
            try:
                words = (directory / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"satline.systems.janitor" in words and wanted in words:
                found.append(int(directory.name))
    return found


def test_kill_9_of_study_and_janitor_is_cleaned_by_the_next(satline: Satline) -> None:
    process = satline.study(LONG)
    run_id = satline.run_id()
    satline.member("bash")
    ledger = satline.state / "satline" / f"{run_id}.ledger"
    for pid in _janitor(ledger):
        os.kill(pid, signal.SIGKILL)
    process.kill()
    process.communicate()
    assert ledger.exists()
    assert not Ledger(ledger).owner_lives()
    status, output = ended(satline.start("clean"))
    assert (status, output) == (0, f"undone: run {run_id}\n")
    assert satline.left(run_id) == []


def test_kill_9_of_the_janitor_alone_changes_nothing(satline: Satline) -> None:
    process = satline.study(LONG)
    run_id = satline.run_id()
    satline.member("bash")
    for pid in _janitor(satline.state / "satline" / f"{run_id}.ledger"):
        os.kill(pid, signal.SIGKILL)
    process.send_signal(signal.SIGINT)
    status, output = ended(process)
    assert status == 130, output
    assert satline.left(run_id) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (STUDY.replace("make_files.py", "no_file.py"), "prepare.commands: ended with exit code 2"),
        (STUDY + SERVER.replace("touch ready", "exit 5"), 'server "idle" ended with exit code 5'),
    ],
)
def test_what_cannot_start_leaves_no_recording(satline: Satline, text: str, words: str) -> None:
    status, output = ended(satline.study(text))
    assert status == 2, output
    assert words in output
    assert "hint: " in output
    assert not satline.recording.exists()
    assert list(satline.scratch.iterdir()) == []
    assert list(satline.state.glob("satline/*.ledger")) == []


@pytest.mark.slow
def test_a_shell_that_never_prompts_is_named(satline: Satline) -> None:
    script = '[[script]]\nname = "s"\n[[script.command]]\nclass = "c"\ninput = "x"\n'
    (satline.directory / "w.toml").write_text(
        f'name = "w"\nshell = ["sleep", "1000"]\nprompt = {{ pattern = "> $" }}\n{script}'
    )
    process = satline.study(STUDY.replace('"compute"', '"w.toml"').replace("[1, 2, 3]", "[1]"))
    run_id = satline.run_id()
    status, output = ended(process)
    assert status == 2, output
    assert "w.toml" in output
    assert "sleep" in output
    assert "hint: " in output
    assert satline.left(run_id) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
def test_a_full_disk_ends_the_recording_validly(satline: Satline) -> None:
    disk = satline.directory / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(disk)], check=False)
    if mounted.returncode != 0:
        pytest.skip("mounting is not possible here")
    try:
        satline.recording = disk / "x.satline"
        process = satline.study(LONG)
        run_id = satline.run_id()
        satline.member("bash")
        wait_for((disk / "x.satline/reserve").exists, "the reserve")
        filler = os.open(disk / "filler", os.O_WRONLY | os.O_CREAT)
        # It goes on filling: not a block that the recording gives back returns to it.
        while process.poll() is None:
            with contextlib.suppress(OSError):
                os.write(filler, b"x" * 4096)
        os.close(filler)
        status, output = ended(process)
        assert status == 1, output
        assert "error: " in output
        assert "Traceback" not in output
        assert satline.left(run_id) == []
        (disk / "filler").unlink()
        report = check(satline.recording)
        assert report.ok, report.problems
        assert report.end_reason in ("disk-full", "failed")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_workload_that_is_wrong_is_told_before_anything_is_made(satline: Satline) -> None:
    (satline.directory / "w.toml").write_text('name = "w"\nshel = ["sh"]\n')
    status, output = ended(satline.study(STUDY.replace('"compute"', '"w.toml"')))
    assert status == 2, output
    assert "w.toml" in output
    assert "shel" in output
    assert not satline.state.exists()


@pytest.mark.parametrize("times", [1, 3])
def test_record_ends_at_ctrl_c_and_is_compacted(satline: Satline, times: int) -> None:
    process = satline.start("record", str(satline.recording), "--interval", "100ms")
    wait_for(lambda: list(satline.recording.glob("segments/system/*.seg")), "samples")
    for _ in range(times):  # by who does not wait
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
    status, output = ended(process)
    assert status == 0, output
    assert " rows, " in output
    report = check(satline.recording)
    assert report.ok, report.problems
    assert report.end_reason == "complete"
    assert report.rows["system"] > 0
    assert list(satline.recording.glob("tables/system/*/*.parquet"))


def test_record_ends_after_its_duration(satline: Satline) -> None:
    status, output = ended(
        satline.start("record", str(satline.recording), "--interval", "200ms", "--duration", "2s")
    )
    assert status == 0, output
    assert check(satline.recording).end_reason == "complete"
