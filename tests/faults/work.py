"""What is done to a recording while faults come: `python work.py TASK RECORDING`, run under the shim.

Each task says by a line in the file `marks` beside the recording when something is done: what was
acknowledged so must be there after the power went.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from satline.recording import RecordingWriter, check, compact, describe, prune
from satline.recording import seal as seal_recording

SECOND = 10**9
MIDNIGHT = 1_700_006_400 * SECOND
BEGUN = datetime(2023, 11, 15, tzinfo=UTC)


def mark(recording: Path, name: str) -> None:
    """Say that something is done, where a log is kept."""
    if "SATLINE_SHIM_LOG" not in os.environ:
        return
    descriptor = os.open(recording.parent / "marks", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(descriptor, f"{name}\n".encode())
    os.close(descriptor)


def rows(writer: RecordingWriter, samples: range) -> None:
    """Rows of three tables, which pass midnight after sample 4."""
    for n in samples:
        at = {"time_ns": MIDNIGHT + (n - 5) * SECOND, "monotonic_ns": n * SECOND}
        writer.write_rows("system", [{**at, "sample": n, "forks": 3 * n, "mem_total_bytes": 1 << 30}])
        cpu = {"user_us": n * 400_000, "system_us": n * 100_000, "idle_us": n * 500_000}
        writer.write_rows("processor", [{**at, "processor": str(p), **cpu} for p in range(20)])
        if n % 2:
            writer.write_rows("event", [{**at, "source": "study", "event": "annotation", "text": f"e{n}"}])


def created(recording: Path) -> None:
    """An empty recording."""
    system = {"kind": "this-host", "limits": {"cpu_quota_processors": 0.5}}
    about = {"name": "x", "title": "t"}
    describe.create(recording, "satline study", created=BEGUN, system_under_test=system, study=about)
    mark(recording, "created")


def write(recording: Path) -> None:
    """A run of the Python writer, its segments short."""
    created(recording)
    with RecordingWriter(recording, "study", segment_bytes=6000, sync_interval_s=0.0) as writer:
        rows(writer, range(12))
    mark(recording, "closed")
    describe.write_source(recording, "study", {"end_reason": "complete"})
    mark(recording, "source")
    describe.end(recording, "complete", ended=BEGUN)
    mark(recording, "ended")


def late_write(recording: Path) -> None:
    """As `write`, synced once in so long a time that nothing is before it is closed; without an end."""
    created(recording)
    with RecordingWriter(recording, "study", sync_interval_s=3600.0) as writer:
        rows(writer, range(6))
    mark(recording, "closed")


def rest(recording: Path) -> None:
    """Compaction of what is there, twice, as a continuous recording does."""
    compact(recording)
    mark(recording, "compacted")
    describe.annotate(recording, "compacted", time=BEGUN)
    mark(recording, "annotated")


def go_on(recording: Path) -> None:
    """A further run after the end, and compaction of that."""
    from satline.experiment.adaptive.resume import go_on as reopen

    reopen(recording, {"kind": "this-host", "limits": {"cpu_quota_processors": 0.5}}, {"most_users": 64})
    mark(recording, "reopened")
    with RecordingWriter(recording, "study", sync_interval_s=0.0) as writer:
        rows(writer, range(20, 26))
    mark(recording, "closed")
    describe.end(recording, "interrupted", ended=BEGUN)
    mark(recording, "ended")
    compact(recording)
    mark(recording, "compacted")


def descriptions(recording: Path) -> None:
    """What a study writes into recording.toml while it runs."""
    created(recording)
    for n in range(4):
        decision = {"elapsed_s": 10.0 * n, "users": n, "window_s": 10.0, "why": f"step {n}"}
        search = {"most_users": 64, "decision": [decision] * (n + 1)}
        describe.update(recording, {"study": {"search": search}})
        mark(recording, "decided")
    describe.annotate(recording, "a note", time=BEGUN)
    mark(recording, "annotated")
    describe.end(recording, "complete", ended=BEGUN)
    mark(recording, "ended")


def days(recording: Path) -> None:
    """A continuous recording of two days, at rest."""
    describe.create(recording, "satline record", created=BEGUN)
    mark(recording, "created")
    with RecordingWriter(recording, "study", sync_interval_s=0.0) as writer:
        rows(writer, range(12))
    mark(recording, "closed")
    describe.end(recording, "complete", ended=BEGUN)
    mark(recording, "ended")
    compact(recording)
    mark(recording, "compacted")


def let_go(recording: Path) -> None:
    """The older day goes, as by `--keep`."""
    mark(recording, "pruning")
    report = prune(recording, max_bytes=1)
    if len(report.days) != 1:
        raise SystemExit(f"days that went: {report.days}")
    mark(recording, "pruned")


def seal(recording: Path) -> None:
    """Accept a recording as it is."""
    seal_recording(recording)
    mark(recording, "sealed")


def look(recording: Path) -> None:
    """Check it: it must say that it is sound."""
    report = check(recording)
    if not report.ok:
        raise SystemExit(f"problems: {report.problems}")


TASKS = {
    task.__name__: task
    for task in (write, late_write, rest, go_on, descriptions, days, let_go, seal, look)
}  # fmt: skip


if __name__ == "__main__":
    TASKS[sys.argv[1]](Path(sys.argv[2]))
