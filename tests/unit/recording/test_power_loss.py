"""What a loss of power leaves behind, and a further run after it; tests/faults tries every instant."""

from pathlib import Path

import pytest

from satline.recording import RecordingWriter, check, compact, describe
from satline.recording._files import make_directory

ROW = {"time_ns": 1, "monotonic_ns": 1, "source": "study", "event": "annotation", "text": "x"}


def _run(path: Path) -> None:
    with RecordingWriter(path, "study") as writer:
        writer.write_rows("event", [ROW])


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "x.satline"
    describe.create(path, "test", host={})
    _run(path)
    return path


def test_a_ledger_that_was_cut_is_no_damage_once_another_run_came(recording: Path) -> None:
    ledger = recording / "segments/study-1.ledger"
    ledger.write_bytes(ledger.read_bytes() + b"close event 0 41")
    _run(recording)
    describe.end(recording, "complete")
    assert check(recording).problems == []
    compact(recording)
    assert (check(recording).problems, check(recording).rows) == ([], {"event": 2})


def test_of_the_last_run_it_is(recording: Path) -> None:
    ledger = recording / "segments/study-1.ledger"
    ledger.write_bytes(ledger.read_bytes()[:-3])
    describe.end(recording, "complete")
    assert any("damaged: line" in p for p in check(recording).problems)


@pytest.mark.parametrize("schema", [True, False])
def test_a_segment_without_rows_needs_no_ledger(recording: Path, schema: bool) -> None:
    segment, ledger = recording / "segments/event/study-1-0.seg", recording / "segments/study-1.ledger"
    data = segment.read_bytes()
    first = 12 + int.from_bytes(data[4:8], "little")
    segment.write_bytes(data[:first] if schema else b"")
    ledger.unlink()
    _run(recording)
    describe.end(recording, "complete")
    assert check(recording).problems == []


def test_one_with_rows_does(recording: Path) -> None:
    (recording / "segments/study-1.ledger").unlink()
    _run(recording)
    describe.end(recording, "complete")
    (problem,) = check(recording).problems
    assert "study-1.ledger: missing" in problem


@pytest.mark.parametrize("length", [0, 4096])
def test_a_reserve_that_is_too_short_is_filled_again(recording: Path, length: int) -> None:
    for name, whole in (("reserve", 64 << 10), ("sources/.study.reserve", 16 << 10)):
        (recording / name).write_bytes(bytes(length))
        _run(recording)
        assert (recording / name).stat().st_size == whole


def test_a_reserve_that_is_a_link_is_not_written_through(recording: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("mine")
    (recording / "reserve").unlink()
    (recording / "reserve").symlink_to(other)
    with pytest.raises(Exception, match="cannot write the recording"):
        _run(recording)
    assert other.read_text() == "mine"


def test_directories_are_made_down_to_the_last(tmp_path: Path) -> None:
    make_directory(tmp_path / "a/b/c")
    make_directory(tmp_path / "a/b/c")
    assert (tmp_path / "a/b/c").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        make_directory(tmp_path / "file/below")
