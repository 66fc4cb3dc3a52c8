"""Opening, reading while written, and what damage costs."""

from __future__ import annotations

import shutil
import zlib
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satline.catalogue import catalogue
from satline.errors import InputError
from satline.recording import Recording, RecordingWriter, compact, describe, write_parquet_table
from satline.recording import seal as accept
from satline.recording._frames import read_segment, seal, split_frames

from .conftest import DAY_NS, expected, totals, write_samples

DATA = Path(__file__).parent / "data"


def test_an_empty_recording_binds_every_query(recording: Path) -> None:
    opened = Recording.open(recording)
    assert opened.tables() == ()
    connection = opened.connect()
    for definition in catalogue().tables.values():
        cursor = connection.execute(f'SELECT * FROM "{definition.name}"')
        assert [c[0] for c in cursor.description] == [c.name for c in definition.columns]
        assert [str(c[1]) for c in cursor.description] == [c.sql_type for c in definition.columns]
        assert cursor.fetchall() == []


def test_a_recording_is_read_while_it_is_written(recording: Path) -> None:
    with RecordingWriter(recording, "monitor") as writer:
        for n in range(3):
            write_samples(writer, range(n, n + 1))
            assert totals(recording) == expected(n + 1)
            assert Recording.open(recording).damage == ()


def test_rows_at_rest_and_in_flight_make_one_table(recording: Path) -> None:
    with RecordingWriter(recording, "monitor", segment_bytes=1) as writer:
        write_samples(writer, range(5))
        compact(recording)
        assert list(recording.glob("tables/user/*/*.parquet"))
        assert list(recording.glob("segments/user/*.seg"))
        assert totals(recording) == expected(5)


def test_connections_for_reading_see_what_is_there_at_their_call(recording: Path) -> None:
    count = 'SELECT count(*) FROM "user"'
    opened = Recording.open(recording)
    with RecordingWriter(recording, "monitor", segment_bytes=1) as writer:
        for n in range(3):
            write_samples(writer, range(n, n + 1))
            before = opened.reading()
            assert before.execute(count).fetchall() == opened.connect().execute(count).fetchall()
            compact(recording)
            after = opened.reading()
            assert after.execute(count).fetchall() == opened.connect().execute(count).fetchall()


def test_what_is_made_in_a_connection_for_reading_is_its_own(recording: Path) -> None:
    write_parquet_table(recording, "event", [{"time_ns": 1, "monotonic_ns": 1, "text": "now"}])
    opened = Recording.open(recording)
    first, second = opened.reading(), opened.reading()
    first.execute("CREATE TEMP TABLE event AS SELECT 7 AS seven")
    first.register("more", pa.table({"a": [1]}))
    assert second.execute("SELECT text FROM event").fetchall() == [("now",)]
    with pytest.raises(duckdb.CatalogException):
        second.execute("SELECT * FROM more")


def test_only_the_tables_asked_for_are_loaded(recording: Path) -> None:
    with RecordingWriter(recording, "monitor") as writer:
        write_samples(writer, range(2))
    (recording / "segments/user/monitor-1-0.seg").chmod(0)
    connection = Recording.open(recording).connect(tables=["system"])
    assert connection.execute("SELECT count(*) FROM system").fetchall() == [(2,)]
    with pytest.raises(InputError, match="'gauge' is not in the catalogue"):
        Recording.open(recording).connect(tables=["gauge"])


def test_older_and_newer_files_are_read(recording: Path) -> None:
    write_parquet_table(recording, "event", [{"time_ns": 1, "monotonic_ns": 1, "text": "now"}])
    day = recording / "tables/event/day=1970-01-01"
    old = pa.table({"time_ns": [2], "monotonic_ns": [2], "run": [1], "later_column": [5]})
    pq.write_table(old, day / "monitor-1-7-7.parquet")
    accept(recording)
    cursor = Recording.open(recording).connect().execute("SELECT * FROM event ORDER BY time_ns")
    names = [c[0] for c in cursor.description]
    assert names == [*(c.name for c in catalogue().table("event").columns), "later_column"]
    now, before = (dict(zip(names, row, strict=True)) for row in cursor.fetchall())
    assert (now["text"], now["later_column"], before["text"], before["later_column"]) == (
        "now",
        None,
        None,
        5,
    )


def test_segments_that_the_rust_writer_wrote(recording: Path) -> None:
    for table in ("user", "event"):
        (recording / "segments" / table).mkdir()
        shutil.copy(
            DATA / "written-by-rust" / f"{table}.seg", recording / "segments" / table / "monitor-1-0.seg"
        )
    connection = Recording.open(recording).connect()
    query = 'SELECT count(*), sum(cpu_us)::BIGINT, count(io_delay_us), count(DISTINCT "user") FROM "user"'
    assert connection.execute(query).fetchall() == [(60, 1000 * 3 * 190, 30, 20)]
    rows = connection.execute("SELECT time_ns, text, value, step FROM event ORDER BY time_ns").fetchall()
    start = 1_795_251_600_000_000_000
    assert rows == [(start + n * 10**9, "second drum <b>\x1b[1m", 0.5, None) for n in range(3)]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), flip=st.integers(0, 7) | st.none())
def test_damage_costs_only_the_frame_that_it_is_in(
    tmp_path_factory: pytest.TempPathFactory, place: float, flip: int | None
) -> None:
    path = tmp_path_factory.mktemp("damage") / "x.satline"
    with RecordingWriter(path, "monitor") as writer:
        for n in range(5):
            writer.write_rows(
                "event", [{"time_ns": n, "monotonic_ns": n, "users": i} for i in range(1 + 10 * n)]
            )
    segment = path / "segments/event/monitor-1-0.seg"
    data = segment.read_bytes()
    ends = frame_ends(data)
    at = int(place * len(data))
    if flip is None:
        segment.write_bytes(data[:at])
    else:
        segment.write_bytes(data[:at] + bytes([data[at] ^ (1 << flip)]) + data[at + 1 :])
    whole = sum(end <= at for end in ends)
    after = len(ends) - whole - 1 if flip is not None and whole else 0
    content = read_segment(segment)
    assert content.frames == whole + after
    rows = sum(1 + 10 * n for n in range(5) if n < whole - 1 or n >= 5 - after)
    assert (content.table.num_rows if content.table is not None else 0) == rows
    clean = flip is None and at in (0, *ends)
    assert (content.damage is None) == clean
    if content.damage is not None:
        assert content.damage.offset == (ends[whole - 1] if whole else 0)
        assert content.damage.tail == (after == 0)
        end = ends[whole] if after else segment.stat().st_size
        assert content.damage.offset + content.damage.length == end


def frame_ends(data: bytes) -> list[int]:
    ends, offset = [], 0
    while offset < len(data):
        offset += 12 + int.from_bytes(data[offset + 4 : offset + 8], "little")
        ends.append(offset)
    return ends


def test_a_text_that_looks_like_frames_is_not_read_from_a_damaged_one(tmp_path: Path) -> None:
    forged = seal(b"SATF").decode("latin-1")
    path = tmp_path / "x.satline"
    with RecordingWriter(path, "monitor") as writer:
        for n in range(4):
            writer.write_rows(
                "event", [{"time_ns": n, "monotonic_ns": n, "text": f"{n}" + forged * (n == 1)}]
            )
    segment = path / "segments/event/monitor-1-0.seg"
    data = bytearray(segment.read_bytes())
    ends = frame_ends(bytes(data))
    # The text is UTF-8 in the file: put the forged frame there byte by byte.
    at = data.index(b"SATF", ends[1] + 12)
    sealed = seal(b"SATF")
    data[at : at + len(sealed)] = sealed
    data[ends[1]] ^= 1
    segment.write_bytes(bytes(data))
    content = read_segment(segment)
    assert content.table is not None
    assert content.table["time_ns"].to_pylist() == [0, 2, 3]
    # The last frame damaged: the forged one inside it is no frame.
    segment.write_bytes(bytes(data[: ends[2]]))
    content = read_segment(segment)
    assert content.table is not None
    assert content.table["time_ns"].to_pylist() == [0]
    assert content.damage is not None
    assert (content.damage.offset, content.damage.tail) == (ends[1], True)


def test_a_search_after_damage_ends(tmp_path: Path) -> None:
    """Frames that all claim the rest of the file would be checked again and again."""
    size = 1 << 20
    rest = bytearray(size)
    for at in range(0, size - 12, 16):
        rest[at : at + 12] = b"SATF" + (size - at - 12).to_bytes(4, "little") + b"\0\0\0\0"
    checked = []
    with pytest.MonkeyPatch.context() as patch:
        plain = zlib.crc32
        patch.setattr("satline.recording._frames.zlib.crc32", lambda p: checked.append(len(p)) or plain(p))
        payloads, damage = split_frames(seal(b"schema") + b"x" + bytes(rest), tmp_path)
    assert [bytes(p) for p in payloads] == [b"schema"]
    assert damage is not None
    assert damage.tail
    assert sum(checked) < 12 * size


def test_a_frame_that_is_not_arrow_is_damage(recording: Path) -> None:
    with RecordingWriter(recording, "monitor") as writer:
        write_samples(writer, range(3))
    segment = recording / "segments/system/monitor-1-0.seg"
    length = segment.stat().st_size
    with segment.open("ab") as file:
        file.write(seal(b"\xff" * 24))
    content = read_segment(segment)
    assert content.table is not None
    assert content.table.num_rows == 3
    assert content.damage is not None
    assert (content.damage.offset, content.damage.reason) == (length, "not Arrow data")


def test_days_and_runs_have_files_of_their_own(recording: Path) -> None:
    for _ in range(2):
        with RecordingWriter(recording, "monitor") as writer:
            write_samples(writer, range(3), step_ns=DAY_NS // 2)
    names = sorted(p.name for p in (recording / "segments/system").iterdir())
    assert names == ["monitor-1-0.seg", "monitor-1-1.seg", "monitor-2-0.seg", "monitor-2-1.seg"]
    rows = (
        Recording.open(recording).connect().execute("SELECT DISTINCT run FROM system ORDER BY run").fetchall()
    )
    assert rows == [(1,), (2,)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        ("format_version = ", "not TOML"),
        ("x = 1", "format_version is missing"),
        ("format_version = 2", "format_version is 2, this program knows 1"),
        ("format_version = 1\nhost = 3", "host is 3, it should be a section"),
    ],
)
def test_a_broken_description_names_its_file(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "recording.toml").write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        Recording.open(tmp_path)
    assert "recording.toml" in caught.value.message
    assert caught.value.hint


def test_what_is_no_directory_is_no_recording(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="not a directory"):
        Recording.open(tmp_path / "file")
    with pytest.raises(InputError, match="no such recording"):
        Recording.open(tmp_path / "none")


def test_sources_are_merged(recording: Path) -> None:
    describe.write_source(
        recording, "monitor", {"version": "0.1.0", "sampling": {"interval_ms": 100, "samples": None}}
    )
    assert Recording.open(recording).sources == {
        "monitor": {"writer": "monitor", "version": "0.1.0", "sampling": {"interval_ms": 100}}
    }
    (recording / "sources/terminal.toml").write_text("x = [")
    with pytest.raises(InputError, match=r"terminal\.toml: not TOML"):
        Recording.open(recording)
