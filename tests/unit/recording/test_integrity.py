"""Nothing that is damaged or missing passes as sound, and no analysis reads it as if it were."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from recordings import without_checksums

from satline.errors import InputError
from satline.recording import (
    MANIFEST,
    Recording,
    RecordingWriter,
    check,
    compact,
    describe,
    let_go,
    seal,
    sign,
    verify,
    write_parquet_table,
)

from .conftest import DAY_NS, expected, totals, write_samples

pytestmark = pytest.mark.slow


def record(path: Path, samples: int = 40, *, at_rest: bool = True, **options: int) -> None:
    """A recording of the monitor's that has ended, of one day."""
    with RecordingWriter(path, "monitor", **options) as writer:
        if samples < 100:
            write_samples(writer, range(samples), step_ns=DAY_NS // 100)
        else:
            write_many(writer, samples)
    sampling = {"interval_ms": 1000, "samples": samples}
    describe.write_source(path, "monitor", {"end_reason": "complete", "sampling": sampling})
    describe.end(path, "complete")
    if at_rest:
        compact(path)


def write_many(writer: RecordingWriter, samples: int) -> None:
    """As `write_samples`, in one frame of each table; 2,000 samples are less than a day."""
    times = [n * DAY_NS // 5000 for n in range(samples)]
    writer.write_rows(
        "system",
        [{"time_ns": t, "monotonic_ns": t, "sample": n, "forks": 3 * n} for n, t in enumerate(times)],
    )
    writer.write_rows(
        "user",
        [
            {"time_ns": t, "monotonic_ns": t, "user": user, "cpu_us": n * n * scale}
            for n, t in enumerate(times)
            for user, scale in (("alice", 1), ("bert", 10))
        ],
    )


def table_of(path: Path, table: str) -> Path:
    (file,) = path.glob(f"tables/{table}/*/*.parquet")
    return file


def flip(file: Path, offset: int, bit: int = 0) -> None:
    data = bytearray(file.read_bytes())
    data[offset] ^= 1 << bit
    file.write_bytes(bytes(data))


def test_a_whole_recording_is_sound(recording: Path) -> None:
    record(recording)
    report = check(recording)
    assert (report.ok, report.checksums, report.warnings) == (True, True, [])
    assert totals(recording) == expected(40)


def test_pages_have_checksums_that_others_verify(recording: Path) -> None:
    record(recording, 4000)
    file = table_of(recording, "user")
    column = pq.ParquetFile(file).metadata.row_group(0).column(pq.read_schema(file).names.index("cpu_us"))
    flip(file, column.data_page_offset + column.total_compressed_size - 20)
    with pytest.raises(OSError, match="CRC"):
        pq.read_table(file, page_checksum_verification=True, partitioning=None)


def test_every_flipped_bit_of_a_table_is_found_and_refused_with_file_and_rows(recording: Path) -> None:
    record(recording, 2000)
    file = table_of(recording, "user")
    whole = file.read_bytes()
    draws = random.Random(1)
    rows_told = 0
    for _ in range(30):
        flip(file, draws.randrange(len(whole)), draws.randrange(8))
        (problem,) = check(recording).problems
        assert str(file) in problem
        rows_told += "rows 0 to 3,999 of column" in problem
        with pytest.raises(InputError) as refused:
            Recording.open(recording).connect(tables=["user"])
        assert str(file) in refused.value.message
        # Another table is not concerned.
        Recording.open(recording).connect(tables=["system"]).execute("SELECT count(*) FROM system")
        file.write_bytes(whole)
    assert rows_told > 5
    assert check(recording).ok


@pytest.mark.parametrize("part", [0.0, 0.3, 0.999])
def test_a_cut_table_is_found(recording: Path, part: float) -> None:
    record(recording, 2000)
    file = table_of(recording, "user")
    data = file.read_bytes()
    file.write_bytes(data[: int(part * len(data))])
    assert not check(recording).ok
    with pytest.raises(InputError, match="damaged"):
        Recording.open(recording).connect()


def test_a_deleted_table_is_missing_with_its_rows_and_times(recording: Path) -> None:
    record(recording)
    shutil.rmtree(recording / "tables/user")
    (problem,) = check(recording).problems
    assert "missing: 80 rows, 1970-01-01 00:00:00 to 1970-01-01 09:21:36" in problem
    with pytest.raises(InputError, match="missing: 80 rows"):
        Recording.open(recording).connect()


def test_deleted_segments_are_missing(recording: Path) -> None:
    record(recording, at_rest=False, segment_bytes=20_000)
    assert len(list(recording.glob("segments/user/*.seg"))) > 2
    shutil.rmtree(recording / "segments/user")
    problems = check(recording).problems
    assert len(problems) > 2
    assert all("missing: " in p and "segments/user" in p for p in problems)
    with pytest.raises(InputError, match="missing"):
        Recording.open(recording).connect()


def test_all_segments_deleted_with_their_ledger_are_missed_by_what_the_writer_says(recording: Path) -> None:
    record(recording, at_rest=False)
    shutil.rmtree(recording / "segments")
    (problem,) = check(recording).problems
    assert "says 40 samples; table 'system' has no run of more than 0" in problem


def test_a_ledger_that_is_gone_or_damaged_is_told(recording: Path) -> None:
    record(recording, at_rest=False)
    ledger = recording / "segments/monitor-1.ledger"
    whole = ledger.read_bytes()
    for offset in (*range(0, len(whole), 9), len(whole) - 1):
        flip(ledger, offset, offset % 8)
        assert not check(recording).ok, offset
        ledger.write_bytes(whole)
    lines = whole.splitlines(keepends=True)
    for count in range(len(lines)):
        ledger.write_bytes(b"".join(lines[:count]))
        assert not check(recording).ok, count
    ledger.unlink()
    assert any("ledger" in p and "missing" in p for p in check(recording).problems)


def test_a_segment_cut_between_two_frames_is_damage(recording: Path) -> None:
    record(recording, at_rest=False)
    segment = recording / "segments/user/monitor-1-0.seg"
    data = segment.read_bytes()
    segment.write_bytes(data[: data.rindex(b"SATF")])
    (damage,) = Recording.open(recording).damage
    assert "its writer closed it with 80 rows" in str(damage)
    assert any("cut:" in w for w in check(recording).warnings)
    report = compact(recording)
    assert [p.name for p in report.kept] == ["monitor-1-0.seg.damaged"]
    assert any("cut:" in w for w in check(recording).warnings)


def test_a_segment_of_another_recording_is_seen(recording: Path, tmp_path: Path) -> None:
    record(recording, at_rest=False)
    other = tmp_path / "other.satline"
    describe.create(other, "test")
    record(other, 41, at_rest=False)
    shutil.copy(other / "segments/user/monitor-1-0.seg", recording / "segments/user/monitor-1-0.seg")
    (damage,) = Recording.open(recording).damage
    assert "not the file that its writer closed" in str(damage)


def test_tables_cut_to_half_their_samples_are_seen_with_and_without_checksums(recording: Path) -> None:
    record(recording, 401)
    for file in recording.glob("tables/*/*/*.parquet"):
        rows = pq.read_table(file, partitioning=None)
        pq.write_table(rows.slice(0, len(rows) // 2), file)
    assert not check(recording).ok
    without_checksums(recording)
    report = check(recording)
    assert report.problems == [
        "sources/monitor.toml: says 401 samples; table 'system' has no run of more than 200"
    ]


def test_a_recording_of_before_checksums_opens_and_is_marked(recording: Path) -> None:
    record(recording)
    without_checksums(recording)
    report = check(recording)
    assert (report.ok, report.checksums) == (True, False)
    assert report.warnings[0].startswith("without checksums")
    assert totals(recording) == expected(40)
    # And it may be written on.
    describe.annotate(recording, "second drum")
    with RecordingWriter(recording, "monitor") as writer:
        write_samples(writer, range(40, 50))
    compact(recording, keep_open=False)
    assert not Recording.open(recording).checksummed
    assert check(recording).ok
    seal(recording)
    assert Recording.open(recording).checksummed
    assert check(recording).ok


def test_swapped_tables_are_seen(recording: Path, tmp_path: Path) -> None:
    record(recording)
    other = tmp_path / "other.satline"
    describe.create(other, "test")
    record(other, 41)
    shutil.copy(table_of(other, "user"), table_of(recording, "user"))
    assert not check(recording).ok
    shutil.copy(other / MANIFEST, recording / MANIFEST)
    assert any("manifest of another recording" in p for p in check(recording).problems)


def test_a_missing_or_damaged_manifest_is_told(recording: Path) -> None:
    record(recording)
    manifest = recording / MANIFEST
    whole = manifest.read_bytes()
    for offset in (*range(0, len(whole), 31), len(whole) - 1):
        flip(manifest, offset, offset % 8)
        assert not check(recording).ok, offset
        manifest.write_bytes(whole)
    manifest.write_bytes(whole[:-20])
    with pytest.raises(InputError, match="damaged"):
        Recording.open(recording).connect()
    manifest.unlink()
    with pytest.raises(InputError, match="missing"):
        Recording.open(recording).connect()


@pytest.mark.parametrize("name", ["recording.toml", "sources/monitor.toml"])
def test_every_change_of_a_description_is_refused(recording: Path, name: str) -> None:
    record(recording)
    file = recording / name
    whole = file.read_bytes()
    for offset in range(len(whole)):
        flip(file, offset, offset % 8)
        with pytest.raises(InputError):
            Recording.open(recording)
        file.write_bytes(whole)
    for length in range(0, len(whole), 3):
        file.write_bytes(whole[:length])
        with pytest.raises(InputError):
            Recording.open(recording)
    file.write_bytes(whole + b"more = 1\n")
    with pytest.raises(InputError, match="changed by hand"):
        Recording.open(recording)


def test_a_description_of_another_recording_or_writer_is_refused(recording: Path, tmp_path: Path) -> None:
    record(recording)
    other = tmp_path / "other.satline"
    describe.create(other, "test")
    record(other)
    mine = (recording / "sources/monitor.toml").read_bytes()
    shutil.copy(other / "sources/monitor.toml", recording / "sources/monitor.toml")
    with pytest.raises(InputError, match="another recording"):
        Recording.open(recording)
    (recording / "sources/monitor.toml").write_bytes(mine)
    (recording / "sources/terminal.toml").write_bytes(mine)
    with pytest.raises(InputError, match="it is that of monitor"):
        Recording.open(recording)


def test_a_description_or_ledger_that_is_gone_or_another_is_told(recording: Path, tmp_path: Path) -> None:
    record(recording)
    other = tmp_path / "other.satline"
    describe.create(other, "test")
    record(other)
    ledger = recording / "segments/monitor-1.ledger"
    mine = ledger.read_bytes()
    shutil.copy(other / "segments/monitor-1.ledger", ledger)
    assert any("ledger of another recording" in p for p in check(recording).problems)
    for length in range(1, mine.count(b"\n")):
        ledger.write_bytes(b"".join(mine.splitlines(keepends=True)[:length]))
        assert not check(recording).ok
    ledger.unlink()
    assert any("missing: nothing says which segments" in p for p in check(recording).problems)
    ledger.write_bytes(mine)
    source = recording / "sources/monitor.toml"
    source.unlink()
    with pytest.raises(InputError, match="missing: it says what monitor is"):
        Recording.open(recording)
    seal(recording)
    assert check(recording).ok


def test_a_source_may_come_and_go_after_the_end(recording: Path) -> None:
    record(recording)
    describe.write_source(recording, "join", {"damage": []})
    assert Recording.open(recording).description["recording"]["writers"] == ["join", "monitor"]
    describe.remove_source(recording, "join")
    assert list(Recording.open(recording).sources) == ["monitor"]


def test_hostile_descriptions_are_errors_and_no_tracebacks(recording: Path) -> None:
    record(recording)
    without_checksums(recording)
    file = recording / "recording.toml"
    whole = file.read_text()
    for hostile in (
        "a=" + "[" * 20000 + "]" * 20000,
        "a=" + "1" * 5000,
        "a=" + "{b=" * 500 + "1" + "}" * 500,
    ):
        file.write_text(f"{hostile}\n{whole}")
        with pytest.raises(InputError, match="not TOML"):
            Recording.open(recording)


def test_what_was_changed_by_hand_or_lost_can_be_accepted(recording: Path) -> None:
    record(recording, at_rest=False, segment_bytes=20_000)
    compact(recording)
    file = recording / "recording.toml"
    file.write_text(file.read_text().replace('"drum"', '"disk"'))
    shutil.rmtree(recording / "tables/user")
    with pytest.raises(InputError, match="changed by hand"):
        Recording.open(recording)
    done = seal(recording)
    assert ["segments" in x or "tables/user" in x for x in done.lost] == [True]
    opened = Recording.open(recording)
    assert opened.description["host"]["name"] == "disk"
    assert opened.connect().execute('SELECT count(*) FROM "user"').fetchall() == [(0,)]
    report = check(recording)
    assert report.ok
    assert any("lost, accepted" in w and "80 rows" in w for w in report.warnings)


def test_lost_segments_can_be_accepted(recording: Path) -> None:
    record(recording, at_rest=False, segment_bytes=1)
    (recording / "segments/user/monitor-1-3.seg").unlink()
    assert not check(recording).ok
    assert len(seal(recording).lost) == 1
    report = check(recording)
    assert report.ok
    assert any("lost, accepted" in w for w in report.warnings)


def test_files_that_a_rule_let_go_are_not_missed(recording: Path) -> None:
    record(recording)
    file = table_of(recording, "user")
    let_go(recording, [file], "older than 30 days")
    assert check(recording).ok  # a kill before it is deleted
    file.unlink()
    report = check(recording)
    assert (report.ok, report.warnings) == (True, [])


def test_a_disk_that_gives_back_other_bytes_keeps_the_segments(
    recording: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(recording, at_rest=False)
    true = pq.ParquetFile

    class Changed(true):  # type: ignore[misc, valid-type]
        def read(self, *given: object, **options: object) -> pa.Table:
            return super().read(*given, **options).slice(1)

    monkeypatch.setattr("satline.recording._parquet.pq.ParquetFile", Changed)
    with pytest.raises(Exception, match="other rows than were written"):
        compact(recording)
    monkeypatch.undo()
    assert totals(recording) == expected(40)
    assert check(recording).ok
    compact(recording)
    assert totals(recording) == expected(40)


def test_floats_without_a_number_are_read_back_as_equal(recording: Path) -> None:
    rows = [{"time_ns": 1, "monotonic_ns": 1, "value": float("nan")}, {"time_ns": 2, "monotonic_ns": 2}]
    write_parquet_table(recording, "event", rows)
    assert check(recording).ok


@pytest.fixture
def key(tmp_path: Path) -> Path:
    if shutil.which("ssh-keygen") is None:
        pytest.skip("no ssh-keygen")
    file = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", file], check=True)
    return file


def test_a_signed_recording_is_verified_and_any_change_shows(recording: Path, key: Path) -> None:
    record(recording)
    signers = key.with_name("allowed")
    signers.write_text(f"anna@example.org {key.with_suffix('.pub').read_text()}")
    with pytest.raises(InputError, match="not signed"):
        verify(recording, signers)
    sign(recording, key)
    assert check(recording).ok
    assert verify(recording, signers) == "anna@example.org"
    with pytest.raises(InputError, match="not a valid signature of bert"):
        verify(recording, signers, "bert@example.org")
    file = table_of(recording, "user")
    whole = file.read_bytes()
    flip(file, 1000)
    with pytest.raises(InputError, match="not as it was signed"):
        verify(recording, signers)
    file.write_bytes(whole)
    # Whoever makes manifest and checksums anew has no signature for them.
    describe.annotate(recording, "later")
    with pytest.raises(InputError, match="not as it was signed"):
        verify(recording, signers)
    seal(recording)
    with pytest.raises(InputError, match="not a valid signature"):
        verify(recording, signers)


def test_another_key_is_no_signer(recording: Path, key: Path) -> None:
    record(recording)
    sign(recording, key)
    other = key.with_name("other")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other], check=True)
    signers = key.with_name("allowed")
    signers.write_text(f"bert@example.org {other.with_suffix('.pub').read_text()}")
    with pytest.raises(InputError, match="signed by none of"):
        verify(recording, signers)


def test_damaged_or_unended_recordings_are_not_signed(recording: Path, key: Path) -> None:
    with pytest.raises(InputError, match="has not ended"):
        sign(recording, key)
    record(recording)
    flip(table_of(recording, "user"), 900)
    with pytest.raises(InputError, match="damaged"):
        sign(recording, key)
