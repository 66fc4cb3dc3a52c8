"""Retention: whole days go, the oldest first, and what went is not missing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from satline.errors import InputError
from satline.recording import (
    MANIFEST,
    Recording,
    RecordingWriter,
    check,
    compact,
    describe,
    prune,
    write_parquet_table,
)

from .conftest import DAY_NS, write_samples

DAY_S = 86_400
PER_DAY = 8


def record(path: Path, days: int, *, end: bool = True) -> None:
    """A monitor's recording of some days from 1970-01-01 on, all at rest."""
    describe.create(path, "test", host={})
    with RecordingWriter(path, "monitor") as writer:
        write_samples(writer, range(PER_DAY * days), step_ns=DAY_NS // PER_DAY)
    sampling = {"interval_ms": 1000, "samples": PER_DAY * days}
    describe.write_source(path, "monitor", {"end_reason": "complete", "sampling": sampling})
    if end:
        describe.end(path, "complete")
    compact(path)


def at(day: float) -> Callable[[], float]:
    """A clock that stands at so many days after 1970-01-01."""
    return lambda: day * DAY_S


def days_left(path: Path) -> dict[str, list[str]]:
    return {
        table.name: sorted(d.name.removeprefix("day=1970-01-") for d in table.iterdir())
        for table in sorted((path / "tables").iterdir())
    }


def samples_left(path: Path) -> tuple[int, int]:
    query = "SELECT min(sample), count(*) FROM system"
    row = Recording.open(path).connect(tables=["system"]).execute(query).fetchone()
    assert row is not None
    return row


def test_days_that_ended_longer_ago_go_from_all_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.satline"
    record(path, 6)
    found = prune(path, keep_s=3 * DAY_S, now=at(5.5))
    # The second day ended 3.5 days ago, the third 2.5.
    assert [d.day for d in found.days] == ["1970-01-01", "1970-01-02"]
    assert [(d.files, d.rows) for d in found.days] == [(2, 3 * PER_DAY)] * 2
    assert days_left(path) == {t: ["03", "04", "05", "06"] for t in ("system", "user")}
    assert samples_left(path) == (2 * PER_DAY, 4 * PER_DAY)
    assert found.from_day == "1970-01-03"
    assert prune(path, keep_s=3 * DAY_S, now=at(5.5)).days == []


def test_what_went_is_not_missing_and_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.satline"
    record(path, 5)
    prune(path, keep_s=DAY_S, now=at(3.5))
    prune(path, keep_s=DAY_S, now=at(5))
    found = check(path)
    assert (found.problems, found.warnings) == ([], [])
    assert found.pruned_rows == 4 * 3 * PER_DAY
    assert found.pruned_until_ns == 4 * DAY_NS - DAY_NS // PER_DAY
    assert Recording.open(path).pruned == (found.pruned_rows, found.pruned_until_ns)
    # However much went: one line for each table.
    assert (path / MANIFEST).read_text().count('"kind": "pruned"') == 2
    # What is missing beside it is still seen.
    shutil.rmtree(path / "tables/user")
    assert any("missing" in problem for problem in check(path).problems)


def test_samples_that_were_lost_are_not_taken_for_let_go(tmp_path: Path) -> None:
    path = tmp_path / "a.satline"
    record(path, 4)
    described = Recording.open(path).sources["monitor"]
    described["sampling"]["samples"] += 5
    describe.write_source(path, "monitor", described)
    prune(path, keep_s=DAY_S, now=at(3.5))
    assert any(f"says {4 * PER_DAY + 5} samples" in problem for problem in check(path).problems)


def test_the_oldest_days_go_until_it_is_small_enough(tmp_path: Path) -> None:
    path = tmp_path / "a.satline"
    record(path, 5)
    size = sum(f.stat().st_size for f in path.rglob("*") if f.is_file())
    day = sum(f.stat().st_size for f in path.glob("tables/*/day=1970-01-01/*"))
    found = prune(path, max_bytes=size - day // 2, dry_run=True)
    assert [d.day for d in found.days] == ["1970-01-01"]
    assert (found.bytes_before, found.bytes_freed, found.over_bytes) == (size, day, 0)
    assert len(days_left(path)["user"]) == 5
    found = prune(path, max_bytes=1)
    assert [d.day for d in found.days] == [f"1970-01-0{n}" for n in range(1, 5)]
    assert found.over_bytes > 0
    assert days_left(path) == {"system": ["05"], "user": ["05"]}
    assert check(path).problems == []


def test_nothing_goes_where_all_is_too_old(tmp_path: Path) -> None:
    """As where the clock has jumped far ahead."""
    path = tmp_path / "a.satline"
    record(path, 3)
    found = prune(path, keep_s=30 * DAY_S, now=at(25_000))
    assert found.days == []
    assert "in case the clock is wrong" in found.why_not
    assert len(days_left(path)["user"]) == 3
    # And none of a clock that is behind.
    assert prune(path, keep_s=DAY_S, now=at(0)).days == []


def test_one_that_is_being_written_keeps_what_is_being_written(tmp_path: Path) -> None:
    path = tmp_path / "a.satline"
    describe.create(path, "test", host={})
    with RecordingWriter(path, "monitor") as writer:
        write_samples(writer, range(PER_DAY * 5), step_ns=DAY_NS // PER_DAY)
        # The fifth day is in open segments; of the four at rest the newest stays.
        found = prune(path, max_bytes=1)
        assert [d.day for d in found.days] == ["1970-01-01", "1970-01-02", "1970-01-03"]
        assert samples_left(path) == (3 * PER_DAY, 2 * PER_DAY)
        write_samples(writer, range(PER_DAY * 5, PER_DAY * 6), step_ns=DAY_NS // PER_DAY)
        assert check(path).problems == []
    describe.end(path, "complete")
    compact(path)
    assert check(path).problems == []
    assert samples_left(path) == (3 * PER_DAY, 3 * PER_DAY)
    # A further run of the writer gets a number of its own.
    with RecordingWriter(path, "monitor") as writer:
        assert writer.run == 2


class Killed(Exception):
    pass


def test_a_kill_at_any_step_leaves_it_sound(tmp_path: Path) -> None:
    whole = tmp_path / "whole.satline"
    record(whole, 4)
    steps: list[str] = []
    shutil.copytree(whole, tmp_path / "counted.satline")
    prune(tmp_path / "counted.satline", keep_s=DAY_S, now=at(4), on_step=steps.append)
    assert len(steps) == 3 * (1 + 2)
    for kill_at in range(len(steps)):
        path = tmp_path / f"{kill_at}.satline"
        shutil.copytree(whole, path)
        left = iter(range(kill_at))

        def on_step(_: str, left: object = left) -> None:
            if next(left, None) is None:  # type: ignore[call-overload]
                raise Killed

        with pytest.raises(Killed):
            prune(path, keep_s=DAY_S, now=at(4), on_step=on_step)
        assert check(path).problems == [], steps[kill_at]
        compact(path)
        prune(path, keep_s=DAY_S, now=at(4))
        assert days_left(path) == {"system": ["04"], "user": ["04"]}
        assert check(path).problems == []
        assert Recording.open(path).pruned == (3 * 3 * PER_DAY, 3 * DAY_NS - DAY_NS // PER_DAY)


def test_what_must_not_be_pruned(tmp_path: Path) -> None:
    record(tmp_path / "a.satline", 2)
    with pytest.raises(InputError, match="neither an age nor a size"):
        prune(tmp_path / "a.satline")
    describe.update(tmp_path / "a.satline", {"study": {"name": "light", "title": "", "source": ""}})
    with pytest.raises(InputError, match="a study's"):
        prune(tmp_path / "a.satline", keep_s=1)
    record(tmp_path / "b.satline", 2)
    (tmp_path / "b.satline" / f"{MANIFEST}.sig").write_text("x")
    with pytest.raises(InputError, match="is signed"):
        prune(tmp_path / "b.satline", keep_s=1)
    record(tmp_path / "c.satline", 2)
    day = "tables/user/day=1970-01-01"
    (tmp_path / "c.satline" / day).rename(tmp_path / "elsewhere")
    (tmp_path / "c.satline" / day).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="a link out of the recording"):
        prune(tmp_path / "c.satline", keep_s=DAY_S, now=at(2))
    assert list((tmp_path / "elsewhere").iterdir())


def test_one_of_before_checksums(tmp_path: Path) -> None:
    path = tmp_path / "a.satline"
    describe.create(path, "test", host={})
    for day in range(3):
        rows = [{"time_ns": day * DAY_NS + n, "monotonic_ns": n, "sample": 10 * day + n} for n in range(4)]
        write_parquet_table(path, "system", rows)
    (path / MANIFEST).unlink()
    text = (path / "recording.toml").read_text().splitlines()
    kept = [line for line in text if not line.startswith(("checksums", "#"))]
    (path / "recording.toml").write_text("\n".join(kept) + "\n")
    found = prune(path, keep_s=DAY_S, now=at(2.5))
    assert [d.day for d in found.days] == ["1970-01-01"]
    assert samples_left(path) == (10, 8)
    assert Recording.open(path).pruned == (4, 3)
