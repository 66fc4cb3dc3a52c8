"""Compaction: nothing is lost, nothing doubled, whatever happens in between."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from satline.errors import InputError
from satline.recording import Recording, RecordingWriter, check, compact, describe

from .conftest import DAY_NS, expected, totals, write_samples

pytestmark = pytest.mark.slow


def record(path: Path, samples: int = 6, **options: int) -> None:
    with RecordingWriter(path, "monitor", **options) as writer:
        write_samples(writer, range(samples), step_ns=DAY_NS // 4)


def segments(path: Path) -> list[str]:
    return sorted(p.relative_to(path / "segments").as_posix() for p in path.glob("segments/*/*.seg"))


def test_rows_are_at_rest_afterwards_and_the_same(recording: Path) -> None:
    record(recording)
    describe.end(recording, "complete")
    report = compact(recording)
    assert segments(recording) == []
    assert totals(recording) == expected(6)
    names = sorted(p.relative_to(recording / "tables").as_posix() for p in report.written)
    assert names == [
        f"{table}/day=1970-01-0{day}/monitor-1-{day - 1}-{day - 1}.parquet"
        for table in ("system", "user")
        for day in (1, 2)
    ]
    assert (report.segments, report.rows, report.left, report.damage) == (4, 18, [], [])
    assert report.bytes_after == sum(p.stat().st_size for p in report.written)
    assert compact(recording).written == []


def test_files_at_rest_are_as_the_format_says(recording: Path) -> None:
    record(recording)
    compact(recording, keep_open=False)
    (file,) = (recording / "tables/user/day=1970-01-01").iterdir()
    table = pq.read_table(file)
    assert table.column_names[:3] == ["time_ns", "monotonic_ns", "run"]
    users = table["user"].to_pylist()
    assert users == sorted(users)
    assert users[0] == "<b>'\x1b[2J"
    times = table["monotonic_ns"].to_pylist()
    assert times == [n * DAY_NS // 4 for n in range(4)] * 2
    group = pq.ParquetFile(file).metadata.row_group(0)
    columns = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
    assert columns["user"].compression == "ZSTD"
    assert "DELTA_BINARY_PACKED" in columns["cpu_us"].encodings
    assert "RLE_DICTIONARY" in columns["user"].encodings
    assert "RLE_DICTIONARY" not in columns["cpu_us"].encodings


def test_what_may_grow_is_left(recording: Path) -> None:
    record(recording, segment_bytes=1)
    kept = ["system/monitor-1-5.seg", "user/monitor-1-5.seg"]
    assert len(compact(recording).left) == 2
    assert segments(recording) == kept
    assert totals(recording) == expected(6)
    with RecordingWriter(recording, "monitor") as writer:
        writer.write_rows("event", [{"event": "step"}])
        # A later run of the writer: the segments of the one before grow no more.
        compact(recording)
        assert segments(recording) == ["event/monitor-2-0.seg"]
        with pytest.raises(InputError, match="still being written"):
            compact(recording, keep_open=False)
        describe.end(recording, "complete")
        assert [p.name for p in compact(recording).left] == ["monitor-2-0.seg"]
        writer.write_rows("event", [{"event": "step"}])
    compact(recording, keep_open=False)
    assert segments(recording) == []
    assert Recording.open(recording).connect().execute("SELECT count(*) FROM event").fetchall() == [(2,)]


def test_consecutive_segments_of_a_day_go_into_one_file(recording: Path) -> None:
    with RecordingWriter(recording, "monitor", segment_bytes=1) as writer:
        write_samples(writer, range(4))
        write_samples(writer, range(4, 6), step_ns=DAY_NS)
    (recording / "segments/user/monitor-1-1.seg").unlink()
    written = compact(recording, keep_open=False).written
    names = sorted(p.relative_to(recording / "tables").as_posix() for p in written)
    assert names == [
        "system/day=1970-01-01/monitor-1-0-3.parquet",
        "system/day=1970-01-05/monitor-1-4-4.parquet",
        "system/day=1970-01-06/monitor-1-5-5.parquet",
        "user/day=1970-01-01/monitor-1-0-0.parquet",
        "user/day=1970-01-01/monitor-1-2-3.parquet",
        "user/day=1970-01-05/monitor-1-4-4.parquet",
        "user/day=1970-01-06/monitor-1-5-5.parquet",
    ]


def compact_and_die(path: Path, step: int) -> int:
    """Compact in a process that is gone, without any clean-up, before the given step; its exit code."""
    child = os.fork()
    if child == 0:
        steps = iter(range(step))
        try:
            compact(
                path,
                keep_open=False,
                on_step=lambda _: None if next(steps, None) is not None else os._exit(9),
            )
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


# Two tables of four segments: for each a file is written, noted and renamed, and four segments deleted.
@pytest.mark.parametrize("step", range(15))
def test_a_kill_before_any_step_loses_and_doubles_nothing(recording: Path, step: int) -> None:
    record(recording, samples=4, segment_bytes=1)
    assert compact_and_die(recording, step) == (9 if step < 14 else 0)
    assert totals(recording) == expected(4)
    assert check(recording).ok
    # Killed again at once, then left in peace.
    compact_and_die(recording, 1)
    assert totals(recording) == expected(4)
    compact(recording, keep_open=False)
    assert totals(recording) == expected(4)
    assert segments(recording) == []
    assert [p for p in recording.rglob(".*") if p.suffix != ".reserve"] == []


@pytest.mark.parametrize("step", range(14))
def test_a_reader_sees_every_row_once_before_each_step(recording: Path, step: int) -> None:
    record(recording, segment_bytes=1)
    seen = []

    def look(_: str) -> None:
        if len(seen) == step:
            assert totals(recording) == expected(6)
        seen.append(step)

    compact(recording, keep_open=False, on_step=look)
    assert len(seen) > step


def test_a_damaged_tail_is_left_out_noted_and_kept(recording: Path) -> None:
    record(recording, samples=2)
    segment = recording / "segments/user/monitor-1-0.seg"
    with segment.open("ab") as file:
        file.write(b"SATF\x10\x00\x00\x00torn")
    assert [(d.length, d.reason) for d in Recording.open(recording).damage] == [(12, "short frame")]
    report = compact(recording, keep_open=False)
    assert [(d.path, d.length) for d in report.damage] == [(segment, 12)]
    (kept,) = report.kept
    assert kept == segment.with_name("monitor-1-0.seg.damaged")
    assert kept.read_bytes().endswith(b"torn")
    assert totals(recording) == expected(2)
    (noted,) = Recording.open(recording).damage  # a diagnosis warns of it after compaction too
    assert str(noted).endswith(
        f"monitor-1-0.seg: 12 bytes of a damaged tail after {noted.offset}: short frame"
    )
    checked = check(recording)
    assert checked.ok
    assert [(d.path.name, d.length, d.reason) for d in checked.damage] == [
        ("monitor-1-0.seg", 12, "short frame")
    ]


def test_a_segment_without_rows_goes_away(recording: Path) -> None:
    record(recording, samples=2)
    empty = recording / "segments/event/monitor-1-0.seg"
    empty.parent.mkdir()
    empty.write_bytes(b"")
    compact(recording, keep_open=False)
    assert segments(recording) == []
    assert totals(recording) == expected(2)


def damage_in_the_middle(segment: Path) -> None:
    """Change a byte of the second frame after the schema's."""
    data = bytearray(segment.read_bytes())
    offset = 0
    for _ in range(2):
        offset += 12 + int.from_bytes(data[offset + 4 : offset + 8], "little")
    data[offset + 40] ^= 1
    segment.write_bytes(bytes(data))


def test_frames_after_damage_are_at_rest_too(recording: Path) -> None:
    with RecordingWriter(recording, "monitor") as writer:
        write_samples(writer, range(5))
    segment = recording / "segments/system/monitor-1-0.seg"
    damage_in_the_middle(segment)
    before = segment.read_bytes()
    (found,) = Recording.open(recording).damage
    assert not found.tail
    report = compact(recording, keep_open=False)
    query = "SELECT sample FROM system ORDER BY sample"
    assert Recording.open(recording).connect().execute(query).fetchall() == [(0,), (2,), (3,), (4,)]
    assert [p.read_bytes() for p in report.kept] == [before]
    (noted,) = Recording.open(recording).damage
    assert (noted.offset, noted.length, noted.tail) == (found.offset, found.length, False)
    assert "damaged in the middle" in str(noted)
    assert check(recording).lost_samples == {1: 1}


@pytest.mark.parametrize("step", range(4))
def test_a_kill_before_any_step_keeps_a_damaged_segment(recording: Path, step: int) -> None:
    with RecordingWriter(recording, "monitor") as writer:
        for n in range(4):
            writer.write_rows("event", [{"time_ns": n, "monotonic_ns": n, "users": n}])
    segment = recording / "segments/event/monitor-1-0.seg"
    damage_in_the_middle(segment)
    before = segment.read_bytes()
    compact_and_die(recording, step)
    compact(recording, keep_open=False)
    rows = Recording.open(recording).connect().execute("SELECT users FROM event ORDER BY users").fetchall()
    assert rows == [(0,), (2,), (3,)]
    (kept,) = segment.parent.iterdir()
    assert kept.read_bytes() == before
    assert len(Recording.open(recording).damage) == 1


def test_a_segment_of_which_nothing_can_be_read_is_kept_and_told_of(recording: Path) -> None:
    with RecordingWriter(recording, "monitor") as writer:
        write_samples(writer, range(3))
    segment = recording / "segments/user/monitor-1-0.seg"
    data = segment.read_bytes()
    for _ in range(2):  # and a second time: the first copy stays
        segment.write_bytes(b"\0" + data[1:])
        compact(recording, keep_open=False)
    names = sorted(p.name for p in segment.parent.iterdir())
    assert names == ["monitor-1-0.seg.damaged", "monitor-1-0.seg.damaged1"]
    assert [d.reason for d in Recording.open(recording).damage] == ["not the beginning of a frame"] * 2
    assert check(recording).ok
