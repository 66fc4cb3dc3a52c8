"""The files of a recording: their names, what they say, and which of them count."""

from __future__ import annotations

import errno
import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from satline.errors import InputError

FORMAT_VERSION = 1
_WRITER = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_SEGMENT = re.compile(r"(?P<writer>[a-z][a-z0-9_-]*)-(?P<run>[0-9]{1,18})-(?P<sequence>[0-9]{1,18})\.seg")
_PARQUET = re.compile(
    r"(?P<writer>[a-z][a-z0-9_-]*)-(?P<run>[0-9]{1,18})-(?P<first>[0-9]{1,18})-(?P<last>[0-9]{1,18})\.parquet"
)
_LEDGER = re.compile(r"(?P<writer>[a-z][a-z0-9_-]*)-(?P<run>[0-9]{1,18})\.ledger")
# What a file system says that cannot sync a directory; its files are durable themselves.
_CANNOT_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EROFS})
_DAY = re.compile(r"day=(?P<day>[0-9]{4,}-[0-9]{2}-[0-9]{2})")


@dataclass(frozen=True, order=True)
class SegmentFile:
    """`segments/<table>/<writer>-<run>-<sequence>.seg`."""

    table: str
    writer: str
    run: int
    sequence: int
    path: Path


@dataclass(frozen=True, order=True)
class RestFile:
    """`tables/<table>/day=YYYY-MM-DD/<writer>-<run>-<first>-<last>.parquet`: those sequences, at rest."""

    table: str
    writer: str
    run: int
    first: int
    last: int
    day: str
    path: Path

    def covers(self, segment: SegmentFile) -> bool:
        """Whether this file holds that segment's rows."""
        same = (self.table, self.writer, self.run) == (segment.table, segment.writer, segment.run)
        return same and self.first <= segment.sequence <= self.last


@dataclass(frozen=True)
class Layout:
    """What lies in a recording at one instant.

    Attributes
    ----------
    segments
        Segments whose rows are in no Parquet file.
    covered
        Segments that compaction has taken over but not yet deleted; their rows count once, in Parquet.
    rest
        Parquet files.
    """

    segments: tuple[SegmentFile, ...]
    covered: tuple[SegmentFile, ...]
    rest: tuple[RestFile, ...]

    def tables(self) -> frozenset[str]:
        """Tables that have a file."""
        return frozenset({s.table for s in self.segments} | {f.table for f in self.rest})


def layout(recording: Path) -> Layout:
    """List a recording's files.

    Segments are listed before Parquet files: compaction makes a Parquet file before it deletes the segments,
    so that whatever it does in between, each row is found in at least one of the two, and `covered` keeps it
    from counting twice.
    """
    segments = [
        SegmentFile(table.name, m["writer"], int(m["run"]), int(m["sequence"]), file)
        for table in _directories(recording / "segments")
        for file in _entries(table)
        if (m := _SEGMENT.fullmatch(file.name))
    ]
    rest = [
        RestFile(table.name, m["writer"], int(m["run"]), int(m["first"]), int(m["last"]), d["day"], file)
        for table in _directories(recording / "tables")
        for day in _directories(table)
        if (d := _DAY.fullmatch(day.name))
        for file in _entries(day)
        if (m := _PARQUET.fullmatch(file.name))
    ]
    by_series: dict[tuple[str, str, int], list[RestFile]] = {}
    for f in rest:
        by_series.setdefault((f.table, f.writer, f.run), []).append(f)
    covered = {s for s in segments if any(f.covers(s) for f in by_series.get((s.table, s.writer, s.run), []))}
    return Layout(
        segments=tuple(sorted(s for s in segments if s not in covered)),
        covered=tuple(sorted(covered)),
        rest=tuple(sorted(rest)),
    )


def next_run(recording: Path, writer: str) -> int:
    """One more than the highest run that any file of this writer names; 1 if there are none."""
    found = layout(recording)
    runs = [s.run for s in (*found.segments, *found.covered) if s.writer == writer]
    runs += [f.run for f in found.rest if f.writer == writer]
    runs += [
        int(m["run"])
        for file in _entries(recording / "segments")
        if (m := _LEDGER.fullmatch(file.name)) and m["writer"] == writer
    ]
    return max(runs, default=0) + 1


def check_writer_name(writer: str) -> None:
    """Raise InputError unless a writer may be called this: its name becomes part of file names."""
    if not _WRITER.fullmatch(writer):
        raise InputError(
            f"writer name {writer!r} cannot be used in file names",
            hint="use lower-case letters, digits, '_' and '-', beginning with a letter",
        )


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the exclusive lock of a directory: one changer of its files at a time."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def is_being_written(segment: Path) -> bool:
    """Whether a living writer on this host holds the segment open."""
    with segment.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            # No locks on this file system: nothing can be known.
            return False
        return False


def is_being_recorded(recording: Path) -> bool:
    """Has a living writer a segment of this recording open?"""
    return any(is_being_written(segment.path) for segment in layout(recording).segments)


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable, where the file system can.

    Raises
    ------
    OSError
        It could not, though the file system can: an error of the disk.
    """
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:
        return  # one where names may be made, and not be listed
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise OSError(error.errno, error.strerror, str(directory)) from None
    finally:
        os.close(descriptor)


def make_directory(directory: Path) -> None:
    """Make a directory and those above it, each with a durable name; one that is there is no error."""
    if directory.is_dir():
        return
    make_directory(directory.parent)
    directory.mkdir(exist_ok=True)
    sync_directory(directory.parent)


def _directories(parent: Path) -> list[Path]:
    return [p for p in _entries(parent) if p.is_dir()]


def _entries(parent: Path) -> list[Path]:
    try:
        return sorted(parent.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
