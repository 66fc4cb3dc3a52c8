"""A small recording to work on."""

from __future__ import annotations

from pathlib import Path

import pytest

from satline.recording import RecordingWriter, describe

DAY_NS = 86_400_000_000_000


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording that was created but holds no rows; its name is hostile."""
    path = tmp_path / "it's [1]*?.satline"
    describe.create(path, "test", host={"name": "drum"})
    return path


def write_samples(writer: RecordingWriter, samples: range, step_ns: int = 1_000_000_000) -> None:
    """One system row and rows of two users for each sample, a frame each."""
    for n in samples:
        times = {"time_ns": n * step_ns, "monotonic_ns": n * step_ns}
        writer.write_rows("system", [{**times, "sample": n, "forks": 3 * n}])
        users = [
            {**times, "user": user, "cpu_us": n * scale}
            for user, scale in (("alice", 1), ("<b>'\x1b[2J", 10))
        ]
        writer.write_rows("user", users)


def totals(path: Path) -> tuple[int, ...]:
    """Rows and sums of everything that `write_samples` writes; one lost or doubled row changes them."""
    from satline.recording import Recording

    query = """
        SELECT (SELECT count(*) FROM system), (SELECT coalesce(sum(sample), 0)::BIGINT FROM system),
            (SELECT count(*) FROM "user"), (SELECT coalesce(sum(cpu_us), 0)::BIGINT FROM "user")
    """
    row = Recording.open(path).connect(tables=("system", "user")).execute(query).fetchone()
    assert row is not None
    return row


def expected(samples: int) -> tuple[int, ...]:
    """What `totals` gives after `write_samples` of 0 … samples - 1."""
    numbers = sum(range(samples))
    return (samples, numbers, 2 * samples, 11 * numbers)
