"""Retention: what is too old or too much of a recording is let go, whole days of UTC, the oldest first.

A day goes as a whole, so that no table has readings that another lacks. What is being written and the newest
day at rest always stay. The manifest says what goes before it goes, so that it is not missing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

from satline.errors import InputError
from satline.recording._compact import compact
from satline.recording._files import RestFile, layout, locked, sync_directory
from satline.recording._manifest import Pruned, changed, load, table_entry
from satline.recording._open import Recording
from satline.recording._parquet import NS_PER_DAY
from satline.recording._trust import SIGNATURE


@dataclass(frozen=True)
class Day:
    """A day that goes, or would: its files at rest, their rows and bytes."""

    day: str
    files: int
    rows: int
    bytes: int


@dataclass
class PruneReport:
    """What retention let go, or would.

    Attributes
    ----------
    days
        The oldest first.
    bytes_before
        Of the whole recording, before; after compaction, unless it was a dry run.
    over_bytes
        By how much it is still larger than it should be; 0: it is not.
    from_day
        The first day of which anything is left at rest; None: nothing is at rest.
    why_not
        Why nothing goes, though all is too old; empty: it is not so.
    """

    days: list[Day] = field(default_factory=list)
    bytes_before: int = 0
    over_bytes: int = 0
    from_day: str | None = None
    why_not: str = ""

    @property
    def bytes_freed(self) -> int:
        """Bytes of what goes."""
        return sum(day.bytes for day in self.days)


def prune(
    path: Path | str,
    *,
    keep_s: float | None = None,
    max_bytes: int | None = None,
    dry_run: bool = False,
    now: Callable[[], float] = time.time,
    on_step: Callable[[str], None] = lambda _: None,
) -> PruneReport:
    """Let go the oldest days of a recording; it may be being written.

    Parameters
    ----------
    keep_s
        Days that ended longer ago go.
    max_bytes
        The oldest days go until the recording is no larger.
    dry_run
        Change nothing.
    now
        Seconds since 1970 UTC.
    on_step
        Called with what comes next before every step that changes the disk.

    Raises
    ------
    InputError
        If there is no recording, it is a study's or signed, its manifest is damaged, or neither an age nor a
        size is given.
    """
    recording = Recording.open(path)
    if keep_s is None and max_bytes is None:
        raise InputError("neither an age nor a size is given", hint="give --keep 30d, --max-size 5G, or both")
    if "study" in recording.description:
        raise InputError(
            f"{recording.path}: is a study's, and no day of it means anything alone",
            hint="delete it as a whole when it is of no use any more",
        )
    if (recording.path / SIGNATURE).exists():
        raise InputError(
            f"{recording.path}: is signed, and would not be as it was signed",
            hint="delete manifest.jsonl.sig first if the signature is of no use any more",
        )
    if not dry_run:
        compact(recording.path)
    report = PruneReport()
    (recording.path / "tables").mkdir(exist_ok=True)
    with locked(recording.path / "tables"):
        gone = _noted(recording.path)
        if not dry_run:
            _delete(gone, on_step)
        report.bytes_before = _bytes_of(recording.path)
        by_day: dict[str, list[RestFile]] = {}
        inside = (recording.path / "tables").resolve()
        for file in layout(recording.path).rest:
            if inside not in file.path.resolve().parents:
                raise InputError(
                    f"{file.path}: is a link out of the recording",
                    hint="it was not made by Satline: delete it",
                )
            if file not in gone:
                by_day.setdefault(file.day, []).append(file)
        _choose(recording.path, by_day, report, keep_s, max_bytes, now())
        if not dry_run:
            for day in report.days:
                _let_day_go(recording.path, by_day[day.day], on_step)
    return report


def _choose(
    path: Path,
    by_day: dict[str, list[RestFile]],
    report: PruneReport,
    keep_s: float | None,
    max_bytes: int | None,
    now_s: float,
) -> None:
    days = sorted(by_day, key=_number)
    limit = None if keep_s is None else (now_s - keep_s) * 1e9 / NS_PER_DAY
    old = [day for day in days if limit is not None and _number(day) + 1 <= limit]
    if days and old == days:
        newest = f"all that is at rest is older, the newest of {days[-1]}"
        report.why_not = f"{newest}: nothing goes, in case the clock is wrong"
        old = []
    size = report.bytes_before
    for day in days[:-1]:
        large = max_bytes is not None and size > max_bytes
        if day not in old and not large:
            break
        told = _told(path, day, by_day[day])
        report.days.append(told)
        size -= told.bytes
    report.over_bytes = max(0, size - max_bytes) if max_bytes is not None else 0
    report.from_day = next((day for day in days[len(report.days) :]), None)


def _told(path: Path, day: str, files: list[RestFile]) -> Day:
    manifest = load(path)
    known = manifest.files if manifest is not None else {}
    rows, size = 0, 0
    for file in files:
        entry = known.get(file.path.relative_to(path).as_posix())
        rows += (entry.rows or 0) if entry is not None else 0
        size += file.path.stat().st_size
    return Day(day, len(files), rows, size)


def _let_day_go(path: Path, files: list[RestFile], on_step: Callable[[str], None]) -> None:
    """Note it, then delete, table system first: without it nothing counts of a day half gone."""
    on_step(f"note that {files[0].day} goes")
    with changed(path) as manifest:
        for file in files:
            place = file.path.relative_to(path).as_posix()
            entry = manifest.files.pop(place, None) or table_entry(path, file.path)
            manifest.prune(
                (file.table, file.writer, file.run),
                Pruned(
                    file.first,
                    file.last,
                    entry.rows or 0,
                    entry.bytes,
                    entry.first_ns or 0,
                    entry.last_ns or 0,
                ),
            )
    _delete(sorted(files, key=lambda f: (f.table != "system", f)), on_step)


def _noted(path: Path) -> list[RestFile]:
    """Files that the manifest says are gone, and are still there: a kill."""
    manifest = load(path)
    if manifest is None:
        return []
    return [
        file
        for file in layout(path).rest
        if file.path.relative_to(path).as_posix() not in manifest.files
        and manifest.is_pruned((file.table, file.writer, file.run), file.first, file.last)
    ]


def _delete(files: list[RestFile], on_step: Callable[[str], None]) -> None:
    for file in files:
        on_step(f"delete {file.path.name}")
        file.path.unlink(missing_ok=True)
        directory = file.path.parent
        sync_directory(directory)
        if not any(directory.iterdir()):
            directory.rmdir()
            sync_directory(directory.parent)


def _number(day: str) -> int:
    """Days since 1970-01-01; of a day that is none, far ahead: it stays."""
    try:
        return (date.fromisoformat(day) - datetime(1970, 1, 1, tzinfo=UTC).date()).days
    except ValueError:
        return 1 << 40


def _bytes_of(path: Path) -> int:
    total = 0
    for directory, _, names in os.walk(path):
        for name in names:
            try:
                total += Path(directory, name).lstat().st_size
            except FileNotFoundError:
                continue  # taken away meanwhile
    return total
