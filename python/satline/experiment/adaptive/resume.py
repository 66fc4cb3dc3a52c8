"""To go on with a recording: its windows are given to the search, and what is missing is run into it.

The format is append-only: each writer begins a further run, and what was recorded stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satline.errors import InputError
from satline.experiment.adaptive import trail_of
from satline.experiment.study import Study

if TYPE_CHECKING:
    import duckdb

    from satline.recording import Recording


CREATOR = "satline study"
# The monitor's last reading may lie so far before a window's end.
READING_S = 1.0


def check_resumable(path: Path, study: Study) -> None:
    """Can this study go on in this recording?

    Raises
    ------
    InputError
        It is none of this study with adaptive steps, it is being written, or the host was booted since.
    """
    from satline.recording import Recording, describe, is_being_recorded

    recording = Recording.open(path)
    described = recording.description
    stated = described.get("study", {})
    if not study.file.load.adaptive:
        raise InputError(
            f"{study.path}: only adaptive steps are resumed, and these are stated",
            hint="begin a new recording, or run it with adaptive steps",
        )
    if described.get("recording", {}).get("creator") != CREATOR:
        raise InputError(f"{path}: it is no recording of a study", hint="name one that `satline study` made")
    trail_of(described, path)
    if stated.get("source") != study.text or stated.get("workload") != study.workload_text:
        raise InputError(
            f"{path}: it is of another study, or {study.path} or {study.workload} has changed since",
            hint="windows of different loads do not belong together: begin a new recording",
        )
    if is_being_recorded(path):
        raise InputError(f"{path}: it is being written", hint="wait for the end of the study that writes it")
    host = described.get("host", {})
    if host.get("boot_id") != describe.host_facts().get("boot_id"):
        raise InputError(
            f"{path}: it was made on another host, or before this one was booted",
            hint="its clock began anew: begin a new recording, and `satline compare` both",
        )


def earlier_runs(path: Path) -> dict[str, Any]:
    """What `Adaptive` is to know of the earlier runs into this recording."""
    from satline.recording import Recording

    recording: Recording = Recording.open(path)
    return {
        "before_s": seconds_of_steps(recording),
        "runs": last_run(recording),
        "earlier": trail_of(recording.description, path).decisions,
    }


def go_on(path: Path, system: Mapping[str, Any], search: Mapping[str, Any]) -> None:
    """State that the recording is written again, under these conditions, by a search that may do this.

    Raises
    ------
    InputError
        The conditions are not those in which it was begun.
    """
    from satline.recording import describe

    before = describe.read(path)["system_under_test"]
    changed = [
        key
        for key in ("kind", "processors", "limits", "knobs", "not_set")
        if (before.get(key) or None) != (system.get(key) or None)
    ]
    if changed:
        raise InputError(
            f"{path}: its conditions were others: {', '.join(changed)} of the system under test",
            hint="windows under different limits do not belong together: begin a new recording",
        )
    describe.update(
        path, {"recording": {"ended": None, "end_reason": None}, "study": {"search": dict(search)}}
    )
    describe.annotate(path, "the study went on")


def window_is_there(recording: Recording, run: int, step: int) -> bool:
    """Does the recording hold the emulator's hold after this step, and the monitor's readings until then?"""
    with recording.connect(tables=["event", "system"]) as connection:
        ended = _one(
            connection,
            f"SELECT max(monotonic_ns) FILTER (event = 'window-end') FROM event WHERE source = 'terminal'"
            f" AND run = {int(run)} AND step = {int(step)}"
            " HAVING count(*) FILTER (event = 'hold') > 0",
        )
        if ended is None:
            return False
        read = _one(connection, "SELECT max(monotonic_ns) FROM system")
    return read is not None and read >= ended - READING_S * 1e9


def last_run(recording: Recording) -> int:
    """Number of the emulator's latest run; 0: none."""
    with recording.connect(tables=["event"]) as connection:
        return int(_one(connection, "SELECT max(run) FROM event WHERE source = 'terminal'") or 0)


def seconds_of_steps(recording: Recording) -> float:
    """Time that the steps of all runs of the emulator took so far."""
    with recording.connect(tables=["event"]) as connection:
        found = _one(
            connection,
            "SELECT sum(s) FROM (SELECT (max(monotonic_ns) - min(monotonic_ns)) / 1e9 AS s FROM event"
            " WHERE source = 'terminal' AND step > 0 GROUP BY run)",
        )
    return float(found or 0.0)


def _one(connection: duckdb.DuckDBPyConnection, query: str) -> int | None:
    row = connection.execute(query).fetchone()
    return None if row is None else row[0]
