"""What a check finds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from satline.errors import InputError
from satline.present.documents import plain
from satline.recording import RecordingWriter, check, compact, describe, write_parquet_table

from .conftest import write_samples


def test_a_whole_recording_has_nothing_to_report(recording: Path) -> None:
    with RecordingWriter(recording, "monitor") as writer:
        write_samples(writer, range(4))
    describe.end(recording, "complete")
    report = check(recording)
    assert report.ok
    assert (report.problems, report.warnings, report.damage) == ([], [], [])
    assert report.rows == {"system": 4, "user": 8}
    assert (report.ended, report.end_reason, report.lost_samples, report.falls) == (True, "complete", {}, {})
    assert plain(report)["rows"] == {"system": 4, "user": 8}


def test_a_recording_without_an_end_is_right_as_far_as_it_goes(recording: Path) -> None:
    report = check(recording)
    assert report.ok
    assert not report.ended
    assert "no end" in report.warnings[0]


def test_lost_samples_are_counted_by_run(recording: Path) -> None:
    for lost in ((2, 3), ()):
        with RecordingWriter(recording, "monitor") as writer:
            for n in range(6):
                if n not in lost:
                    write_samples(writer, range(n, n + 1))
    report = check(recording)
    assert report.ok
    assert report.lost_samples == {1: 2}


def test_a_sample_that_comes_twice_is_a_problem(recording: Path) -> None:
    with RecordingWriter(recording, "monitor") as writer:
        write_samples(writer, range(3))
        write_samples(writer, range(2, 3))
    assert check(recording).problems == ["run 1: 1 sample numbers come more than once"]


def test_counters_that_fell_are_named_within_a_run_and_entity_only(recording: Path) -> None:
    def rows(*values: tuple[int, str, int | None]) -> list[dict[str, object]]:
        return [
            {"time_ns": t, "monotonic_ns": t, "user": u, "cpu_us": v, "processes": -t} for t, u, v in values
        ]

    for _ in range(2):
        with RecordingWriter(recording, "monitor") as writer:
            writer.write_rows(
                "user", rows((1, "a", 5), (1, "b", 9), (2, "a", 7), (2, "b", 8), (3, "a", None))
            )
    report = check(recording)
    assert report.ok
    assert report.falls == {"user.cpu_us": 2}


def test_rows_held_twice_are_a_problem(recording: Path) -> None:
    write_parquet_table(recording, "event", [{"time_ns": 1, "monotonic_ns": 1}])
    day = recording / "tables/event/day=1970-01-01"
    shutil.copy(day / "monitor-1-0-0.parquet", day / "monitor-1-0-3.parquet")
    problems = check(recording).problems
    assert any("rows count twice" in p for p in problems)
    assert any("not in the manifest" in p for p in problems)


def test_a_broken_file_is_named_and_the_others_are_checked(recording: Path) -> None:
    write_parquet_table(recording, "event", [{"time_ns": 1, "monotonic_ns": 1}])
    broken = recording / "tables/user/day=1970-01-01/monitor-1-0-0.parquet"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"PAR1 no")
    report = check(recording)
    assert any(str(broken) in p and "cannot be read" in p for p in report.problems)
    assert any(str(broken) in p and "not in the manifest" in p for p in report.problems)
    assert len(report.problems) == 2


def test_columns_are_held_against_the_catalogue(recording: Path) -> None:
    day = recording / "tables/event/day=1970-01-01"
    day.mkdir(parents=True)
    table = pa.table({"time_ns": [1], "run": [1], "gauge": [2], "text": [3]})
    pq.write_table(table, day / "monitor-1-0-0.parquet")
    problems = "\n".join(check(recording).problems)
    assert "column 'gauge' is not in the catalogue" in problems
    assert "column 'text' is int64, it should be string" in problems
    assert "has no column 'monotonic_ns'" in problems
    assert "1 rows have no time or run" in problems


def test_unknown_tables_misplaced_and_missing_segments(recording: Path) -> None:
    with RecordingWriter(recording, "monitor", segment_bytes=1) as writer:
        write_samples(writer, range(4))
    compact(recording)
    shutil.move(recording / "segments/user/monitor-1-3.seg", recording / "segments/system/monitor-1-9.seg")
    (recording / "segments/gauge").mkdir()
    (recording / "segments/gauge/monitor-1-0.seg").write_bytes(b"")
    report = check(recording)
    problems = "\n".join(report.problems)
    assert "table 'gauge' is not in the catalogue" in problems
    assert "says that it belongs to table 'user'" in problems
    assert any("sequences 4 to 8 are missing" in w for w in report.warnings)


def test_a_damaged_tail_is_a_warning(recording: Path) -> None:
    with RecordingWriter(recording, "monitor") as writer:
        write_samples(writer, range(2))
    with (recording / "segments/system/monitor-1-0.seg").open("ab") as file:
        file.write(b"torn")
    report = check(recording)
    assert report.ok
    assert [(d.length, d.reason) for d in report.damage] == [(4, "short header")]
    assert any("damaged tail" in w for w in report.warnings)


def test_an_incomplete_description_is_a_problem(recording: Path) -> None:
    describe.update(recording, {"recording": {"id": None}})
    assert check(recording).problems == ["recording.toml: [recording] has no id"]


def test_what_is_no_recording_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        check(tmp_path / "none")
