"""A study that chooses its steps, on the real kernel: killed, resumed, and explained."""

import json
from pathlib import Path

import pytest

from satline.experiment.adaptive import trail_of
from satline.recording import Recording, check

from .conftest import WAIT_S, Satline, wait_for
from .test_study_runs import ended

pytestmark = [pytest.mark.system, pytest.mark.slow]

STUDY = """title = "short"
workload = "compute"
[load]
most_users = 4
seconds = 16
ramp_seconds = 0.5
warmup_seconds = 0.5
window_seconds = 4
[limits]
processors = 1
memory = "128 MB"
[monitor]
interval_seconds = 0.2
[prepare]
commands = ['"$SATLINE_PYTHON" "$SATLINE_SHARE/programs/make_files.py" . 1 200000 text --text']
"""


def windows(path: Path) -> list[tuple[int, int]]:
    """Run and users of each whole window."""
    connection = Recording.open(path).connect(tables=["event"])
    try:
        query = "SELECT run, users FROM event WHERE event = 'window-end' ORDER BY monotonic_ns"
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def test_a_killed_search_goes_on_to_its_verdict(satline: Satline) -> None:
    process = satline.study(STUDY)
    run_id = satline.run_id()
    wait_for(
        lambda: (satline.recording / "recording.toml").exists() and windows(satline.recording), "a window"
    )
    process.kill()
    process.communicate()
    wait_for(lambda: satline.left(run_id) == [], "the janitor")
    before = windows(satline.recording)

    places = ("--resume", str(satline.recording), "--scratch", str(satline.scratch))
    process = satline.start("study", "x.toml", *places, "--for", "24s", "--json")
    output, _ = process.communicate(timeout=8 * WAIT_S)
    assert process.returncode == 0, output
    result = json.loads(output[output.index("\n{\n") :])
    assert result["diagnosis"] is not None
    assert result["windows"] > len(before)
    report = check(satline.recording)
    assert report.ok, report.problems
    assert report.end_reason == "complete"
    after = windows(satline.recording)
    assert after[: len(before)] == before
    assert {run for run, _ in after} == {1, 2}
    assert all(1 <= users <= 4 for _, users in after)

    decisions = result["search"]["decisions"]
    assert decisions[-1].get("users") is None
    trail = trail_of(Recording.open(satline.recording).description, satline.recording)
    assert [one.get("users") for one in trail.decisions] == [one.get("users") for one in decisions]
    # What a decision says is what the emulator then did; the one that the kill came upon was not carried out.
    decided = [one["users"] for one in decisions if one.get("users") is not None]
    assert [users for _, users in after] == decided[: len(before)] + decided[len(before) - len(after) :]

    status, output = ended(satline.start("study", "--explain", str(satline.recording)))
    assert status == 0, output
    assert f"{len(decisions)}. after" in output

    status, again = ended(satline.start("diagnose", str(satline.recording), "--json"))
    assert status == 0, again
    assert json.loads(again)["headline"] == result["diagnosis"]["headline"]
