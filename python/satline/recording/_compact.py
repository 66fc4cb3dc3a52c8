"""Compaction: closed segments become Parquet at rest.

For each file: write it beside its place, make it durable, read it back, note it in the manifest, rename it,
delete the segments that went in; those that are damaged are kept beside as `.seg.damaged`, which is no
segment. Every reader ignores a segment whose sequence a Parquet file covers, so that a kill between any two
of these neither loses nor doubles a row.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import count, groupby
from pathlib import Path

import pyarrow as pa

from satline.catalogue import catalogue
from satline.errors import InputError
from satline.recording._files import (
    Layout,
    SegmentFile,
    is_being_written,
    layout,
    locked,
    make_directory,
    sync_directory,
)
from satline.recording._frames import Damage, Segment, read_segment
from satline.recording._integrity import in_segments, segment_differs
from satline.recording._ledger import Ledger, ledger_path, read_ledgers
from satline.recording._manifest import changed, load, publish_all
from satline.recording._open import Recording
from satline.recording._parquet import conform, day_name, split_days, write

_GROUP_BYTES = 64 << 20


@dataclass
class CompactReport:
    """What compaction did.

    Attributes
    ----------
    written
        Parquet files made.
    segments, rows
        Segments that went in, and their rows.
    left
        Segments that were left because they may still grow.
    damage
        What was left out of the segments that went in; noted in the Parquet file.
    kept
        Those segments, as they are called now.
    bytes_before, bytes_after
        Bytes of those segments and of those Parquet files.
    """

    written: list[Path] = field(default_factory=list)
    segments: int = 0
    rows: int = 0
    left: list[Path] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)
    bytes_before: int = 0
    bytes_after: int = 0


@dataclass(frozen=True)
class _Part:
    """A segment that was read: its rows, and their day (None if it has none)."""

    file: SegmentFile
    content: Segment
    day: int | None
    size: int


def compact(
    path: Path | str, keep_open: bool = True, *, on_step: Callable[[str], None] = lambda _: None
) -> CompactReport:
    """Turn a recording's segments into Parquet.

    Parameters
    ----------
    path
        The recording.
    keep_open
        Leave the last segment of each writer's last run alone unless the recording says that it has ended.
        False takes these too: for a recording whose writers were killed. A segment that a living writer holds
        is never taken.
    on_step
        Called with what comes next before every step that changes the disk.

    Raises
    ------
    InputError
        If there is no recording, or `keep_open` is false and a writer still writes.
    """
    recording = Recording.open(path)
    report = CompactReport()
    make_directory(recording.path / "tables")
    with locked(recording.path / "tables"):
        ledgers = read_ledgers(recording.path)
        found = layout(recording.path)
        _drop_unnamed(recording.path, found)
        for leftover in (recording.path / "tables").glob("*/day=*/.*.parquet.tmp"):
            on_step(f"delete {leftover.name}")
            leftover.unlink(missing_ok=True)
        for segment in found.covered:
            damaged = _read(segment, ledgers).damage is not None
            _put_away(segment.path, damaged, report, on_step)
        ready = []
        growing = set() if recording.ended or not keep_open else _last_of_each(found.segments)
        for segment in found.segments:
            held = is_being_written(segment.path)
            if held and not keep_open:
                raise InputError(f"{segment.path}: is still being written", hint="end the recording first")
            if held or segment in growing:
                report.left.append(segment.path)
            else:
                ready.append(segment)
        for _, series in groupby(ready, key=lambda s: (s.table, s.writer, s.run)):
            for group in _groups(series, ledgers):
                _compact_group(recording.path, group, report, on_step)
    return report


def _last_of_each(segments: Iterable[SegmentFile]) -> set[SegmentFile]:
    """The last segment of each table in the last run of each writer."""
    segments = list(segments)
    runs: dict[str, int] = {}
    for s in segments:
        runs[s.writer] = max(runs.get(s.writer, 0), s.run)
    last: dict[tuple[str, str], SegmentFile] = {}
    for s in segments:
        if s.run == runs[s.writer]:
            last[(s.table, s.writer)] = s
    return set(last.values())


def _drop_unnamed(recording: Path, found: Layout) -> None:
    """Take lines out of the manifest whose file never got its name: a kill; the segments have its rows."""
    manifest = load(recording)
    if manifest is None:
        return
    unnamed = [
        place for place in manifest.files if not (recording / place).exists() and in_segments(place, found)
    ]
    if unnamed:
        with changed(recording) as manifest:
            for place in unnamed:
                manifest.files.pop(place, None)


def _read(segment: SegmentFile, ledgers: dict[tuple[str, int], Ledger]) -> Segment:
    """A segment, with what it lacks of that which its writer closed as damage."""
    content = read_segment(segment.path)
    if content.damage is None:
        data = segment.path.read_bytes()
        why = segment_differs(segment, ledgers, len(data), zlib.crc32(data))
        if why is not None:
            return replace(content, damage=Damage(segment.path, len(data), 0, why))
    return content


def _groups(series: Iterable[SegmentFile], ledgers: dict[tuple[str, int], Ledger]) -> Iterable[list[_Part]]:
    """Consecutive segments of one day, `_GROUP_BYTES` at most; segments without rows go with any day."""
    group: list[_Part] = []
    for file in series:
        content = _read(file, ledgers)
        days = split_days(content.table) if content.table is not None else []
        if len({day for day, _ in days}) > 1:
            raise InputError(
                f"{file.path}: has rows of more than one day",
                hint="it was not made by Satline; take it out of the recording",
            )
        part = _Part(file, content, days[0][0] if days else None, file.path.stat().st_size)
        group_day = next((p.day for p in group if p.day is not None), None)
        if group and not (
            file.sequence == group[-1].file.sequence + 1
            and (part.day is None or group_day is None or part.day == group_day)
            and sum(p.size for p in group) + part.size <= _GROUP_BYTES
        ):
            yield group
            group = []
        group.append(part)
    if group:
        yield group


def _compact_group(
    recording: Path, group: list[_Part], report: CompactReport, on_step: Callable[[str], None]
) -> None:
    first, last = group[0].file, group[-1].file
    tables = [p.content.table for p in group if p.content.table is not None and p.content.table.num_rows]
    damage = [p.content.damage for p in group if p.content.damage is not None]
    report.damage += damage
    day = next((p.day for p in group if p.day is not None), None)
    if tables and day is not None:
        definition = catalogue().table(first.table)
        rows = pa.concat_tables([conform(t, definition) for t in tables], promote_options="default")
        directory = recording / "tables" / first.table / f"day={day_name(day)}"
        file = directory / f"{first.writer}-{first.run}-{first.sequence}-{last.sequence}.parquet"
        on_step(f"write {file.name}")
        temporary = write(file, rows, definition, damage)
        ledger = (first.writer, first.run)
        there = ledger_path(recording, *ledger).exists()
        publish_all(recording, [(temporary, file)], ledger=ledger if there else None, on_step=on_step)
        report.written.append(file)
        report.rows += rows.num_rows
        report.bytes_after += file.stat().st_size
    else:
        on_step("note segments without rows")
        with changed(recording) as manifest:
            series = (first.table, first.writer, first.run)
            manifest.empty.setdefault(series, []).append((first.sequence, last.sequence))
    report.segments += len(group)
    report.bytes_before += sum(p.size for p in group)
    for part in group:
        _put_away(part.file.path, part.content.damage is not None, report, on_step)


def _put_away(segment: Path, damaged: bool, report: CompactReport, on_step: Callable[[str], None]) -> None:
    """Delete a segment, or keep it under a name that is no segment's: what could not be read of it is nowhere
    else."""
    if not damaged:
        on_step(f"delete {segment.name}")
        segment.unlink(missing_ok=True)
        return
    on_step(f"keep {segment.name}")
    names = (f"{segment.name}.damaged{n or ''}" for n in count())
    kept = next(p for name in names if not (p := segment.with_name(name)).exists())
    segment.rename(kept)
    sync_directory(segment.parent)
    report.kept.append(kept)
