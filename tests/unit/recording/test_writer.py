"""Writing from Python."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from satline.errors import InputError
from satline.recording import DiskFullError, Recording, RecordingWriter, check, describe, write_parquet_table
from satline.recording._frames import read_segment

from .conftest import DAY_NS


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    return Recording.open(path).connect().execute(query).fetchall()


def test_times_default_to_now_and_run_is_set(recording: Path) -> None:
    with RecordingWriter(recording, clock=lambda: 5, monotonic=lambda: 6) as writer:
        writer.write_rows("event", [{"event": "step", "value": 1}, {"time_ns": 9, "text": "", "run": 77}])
    query = "SELECT time_ns, monotonic_ns, run, event, value, text FROM event ORDER BY time_ns"
    assert rows(recording, query) == [(5, 6, 1, "step", 1.0, None), (9, 6, 1, None, None, "")]
    assert (recording / "reserve").stat().st_size == 65536


def test_an_arrow_table_is_written(recording: Path) -> None:
    table = pa.table({"monotonic_ns": [1, 2], "time_ns": [3, DAY_NS], "value": [1, None]})
    with RecordingWriter(recording, "import") as writer:
        writer.write_rows("event", table)
    assert rows(recording, "SELECT value FROM event ORDER BY time_ns") == [(1.0,), (None,)]
    assert len(list(recording.glob("segments/event/import-1-*.seg"))) == 2


@pytest.mark.parametrize(
    ("table", "row", "message"),
    [
        ("gauge", {}, "table 'gauge' is not in the catalogue"),
        ("event", {"load": 1}, "column 'load' of table 'event' is not in the catalogue"),
        ("event", {"step": "x"}, "table 'event'"),
        ("event", {"time_ns": None}, "a row has no time"),
    ],
)
def test_wrong_rows_are_refused_and_nothing_is_written(
    recording: Path, table: str, row: object, message: str
) -> None:
    with RecordingWriter(recording) as writer, pytest.raises(InputError, match=message):
        writer.write_rows(table, [row])  # type: ignore[list-item]
    assert not list(recording.glob("segments/*/*.seg"))


def test_a_name_that_is_no_file_name_is_refused(recording: Path) -> None:
    with pytest.raises(InputError, match="cannot be used in file names"):
        RecordingWriter(recording, "../study")


def test_a_second_writer_of_the_name_gets_the_next_run(recording: Path) -> None:
    with RecordingWriter(recording) as first, RecordingWriter(recording) as late:
        first.write_rows("event", [{}])
        with RecordingWriter(recording) as second:
            assert (first.run, second.run) == (1, 2)
        with pytest.raises(InputError, match="another writer of that name"):
            late.write_rows("event", [{}])


def test_a_recording_is_made_at_rest(recording: Path) -> None:
    table = pa.table(
        {
            "time_ns": [0, 1, DAY_NS, DAY_NS + 1, -1],
            "monotonic_ns": [1, 2, 3, 4, 5],
            "user": ["b", "a", "a", "b", "c"],
            "cpu_us": [1, 2, 3, 4, 5],
        }
    )
    files = write_parquet_table(recording, "user", table)
    files += write_parquet_table(recording, "user", table.slice(0, 2))
    files += write_parquet_table(recording, "user", table.slice(0, 1), writer="import", run=3)
    assert [f.relative_to(recording / "tables/user").as_posix() for f in files] == [
        "day=1970-01-01/monitor-1-0-0.parquet",
        "day=1970-01-02/monitor-1-1-1.parquet",
        "day=1969-12-31/monitor-1-2-2.parquet",
        "day=1970-01-01/monitor-1-3-3.parquet",
        "day=1970-01-01/import-3-0-0.parquet",
    ]
    assert rows(
        recording, 'SELECT run, count(*), sum(cpu_us)::BIGINT FROM "user" GROUP BY run ORDER BY run'
    ) == [
        (1, 7, 18),
        (3, 1, 1),
    ]
    assert check(recording).ok


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 400 KiB."""
    path = tmp_path / "disk"
    path.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a small file system: {mounted.stderr.strip()}")
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)


def test_a_full_disk_ends_the_recording_and_leaves_it_valid(small_disk: Path) -> None:
    path = small_disk / "x.satline"
    describe.create(path, "test")
    writer = RecordingWriter(path)
    written = 0

    def fill() -> None:
        nonlocal written
        for _ in range(10_000):
            writer.write_rows("event", [{"text": f"{written}" + "y" * 1000}])
            written += 1

    with pytest.raises(DiskFullError, match="no space left"):
        fill()
    writer.close()
    # Somebody else takes what is left, to the last block; the reserves are the recording's all the same.
    with contextlib.suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(b"x" * 4096)
    content = read_segment(path / "segments/event/study-1-0.seg")
    assert content.damage is None
    assert content.table is not None
    assert content.table.num_rows == written
    with pytest.raises(OSError, match="No space left"):
        describe.annotate(path, "full")
    describe.write_source(path, "study", {"end_reason": "disk-full"})
    describe.end(path, "disk-full")
    assert describe.read_sources(path)["study"]["end_reason"] == "disk-full"
    report = check(path)
    assert (report.ok, report.end_reason, report.rows) == (True, "disk-full", {"event": written})
