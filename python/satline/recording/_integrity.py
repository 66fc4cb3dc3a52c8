"""Is everything there that was recorded, and as it was written: files at rest against the manifest, segments
against their ledger."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from satline.recording._files import Layout, RestFile, SegmentFile
from satline.recording._frames import has_batches
from satline.recording._ledger import Ledger, read_ledgers
from satline.recording._manifest import FILE, Entry, Manifest, checksum, load

_State = tuple[int, int, int, int, int]
# Files that were read in this process and found right: their state on disk, by place.
_known: dict[tuple[str, int], _State] = {}
_MAX_KNOWN = 100_000


@dataclass(frozen=True)
class Wrong:
    """Something that is missing or not as it was written.

    Attributes
    ----------
    path
        The file.
    table
        The table that it belongs to; None: the recording as a whole.
    what
        What is wrong, in words.
    changed
        The file is there, but not as it was written.
    """

    path: Path
    table: str | None
    what: str
    changed: bool = False

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


@dataclass(frozen=True)
class Seen:
    """What tells of a recording's files, read in the order that suits a recording that is being written.

    Ledgers come first: a segment is on disk before its line. The manifest comes last: a file at rest is in it
    before it has its name.
    """

    ledgers: dict[tuple[str, int], Ledger]
    layout: Layout
    manifest: Manifest | None


def look(recording: Path, lay_out: Any) -> Seen:
    """Read ledgers, layout and manifest; `lay_out` lists the files.

    Raises
    ------
    BrokenManifest
        If the manifest is damaged.
    """
    ledgers = read_ledgers(recording)
    found = lay_out(recording)
    return Seen(ledgers, found, load(recording))


def missing(
    recording: Path,
    seen: Seen,
    *,
    checksummed: bool,
    identity: str,
    ended: bool,
    tables: Iterable[str] | None = None,
) -> list[Wrong]:
    """Files that should be there and are not, or that nobody should have put there.

    Parameters
    ----------
    checksummed
        The recording says that its files carry checksums: then every file must be known.
    identity
        Its id.
    ended
        It says that it has ended.
    tables
        Only these; default: all.
    """
    wanted = None if tables is None else frozenset(tables)
    found: list[Wrong] = []
    manifest = seen.manifest or Manifest()
    if seen.manifest is None and checksummed and seen.layout.rest:
        found.append(Wrong(recording / FILE, None, "missing: nothing says what the tables should hold"))
    if manifest.recording and identity and manifest.recording != identity:
        found.append(Wrong(recording / FILE, None, "it is the manifest of another recording", changed=True))
    at_rest = {f.path.relative_to(recording).as_posix(): f for f in seen.layout.rest}
    there = {(s.table, s.writer, s.run, s.sequence) for s in (*seen.layout.segments, *seen.layout.covered)}
    for place, entry in manifest.files.items():
        table = place.split("/")[1] if place.count("/") >= 2 else None
        if place not in at_rest and not _still_in_segments(place, there):
            found.append(Wrong(recording / place, table, f"missing: {entry.holds()}"))
    if checksummed and seen.manifest is not None:
        for place, file in at_rest.items():
            if place in manifest.files or place in manifest.gone:
                continue
            # What retention let go may still be there after a kill.
            if not manifest.is_pruned((file.table, file.writer, file.run), file.first, file.last):
                found.append(Wrong(file.path, file.table, "not in the manifest: it was put there later"))
    found += _missing_segments(
        recording, seen, manifest, there, checksummed=checksummed, ended=ended, identity=identity
    )
    return [w for w in found if wanted is None or w.table is None or w.table in wanted]


def _still_in_segments(place: str, there: set[tuple[str, str, int, int]]) -> bool:
    """Whether a file that is not there has all its rows in segments: a kill before it got its name."""
    key = _series_of(place)
    if key is None:
        return False
    series, (first, last) = key
    return last - first < len(there) and all((*series, n) in there for n in range(first, last + 1))


def in_segments(place: str, found: Layout) -> bool:
    """Whether segments hold all the rows of a file at rest."""
    return _still_in_segments(
        place, {(s.table, s.writer, s.run, s.sequence) for s in (*found.segments, *found.covered)}
    )


def _missing_segments(
    recording: Path,
    seen: Seen,
    manifest: Manifest,
    there: set[tuple[str, str, int, int]],
    *,
    checksummed: bool,
    ended: bool,
    identity: str,
) -> list[Wrong]:
    found: list[Wrong] = []
    covered: dict[tuple[str, str, int], list[tuple[int, int]]] = {}
    for f in seen.layout.rest:
        covered.setdefault((f.table, f.writer, f.run), []).append((f.first, f.last))
    for gone in manifest.gone:
        key = _series_of(gone)
        if key is not None:
            covered.setdefault(key[0], []).append(key[1])
    # What is missing of the manifest's files is told once, by the file.
    for place in manifest.files:
        key = _series_of(place)
        if key is not None:
            covered.setdefault(key[0], []).append(key[1])
    for ranges in (manifest.empty, manifest.lost):
        for series, pairs in ranges.items():
            covered.setdefault(series, []).extend(pairs)
    for series, pruned in manifest.pruned.items():
        covered.setdefault(series, []).extend((one.first, one.last) for one in pruned)
    last = _last_runs(seen)
    for (writer, run), ledger in seen.ledgers.items():
        if identity and ledger.recording not in ("-", identity):
            found.append(Wrong(ledger.path, None, "it is the ledger of another recording", changed=True))
        # A kill, or a loss of power, cuts the ledger of its run; another run may have come after it.
        if ledger.broken or (ledger.torn and ended and (writer, run) in last):
            lines = ", ".join(map(str, ledger.broken[:5])) or "the last one"
            found.append(Wrong(ledger.path, None, f"damaged: line {lines}", changed=True))
        for table, sequence in sorted(ledger.opened):
            if (table, writer, run, sequence) in there:
                continue
            if any(a <= sequence <= b for a, b in covered.get((table, writer, run), ())):
                continue
            closed = ledger.closed.get((table, sequence))
            rows = f"{closed.rows:,} rows" if closed is not None else "its rows are not known"
            path = recording / "segments" / table / f"{writer}-{run}-{sequence}.seg"
            found.append(Wrong(path, table, f"missing: {rows}"))
        found += _cut(ledger, seen, manifest, complete=ended and (writer, run) in last)
    if checksummed:
        # A segment is in its ledger before it has rows: a kill in between leaves one without.
        segments = [s for s in seen.layout.segments if (s.writer, s.run) not in seen.ledgers]
        stated = {(s.writer, s.run) for s in segments if ended and has_batches(s.path)}
        without = (stated | manifest.ledgers) - seen.ledgers.keys()
        for writer, run in sorted(without):
            path = recording / "segments" / f"{writer}-{run}.ledger"
            found.append(Wrong(path, None, "missing: nothing says which segments there should be"))
    return found


def _last_runs(seen: Seen) -> set[tuple[str, int]]:
    """The last run of each writer that has a ledger."""
    last: dict[str, int] = {}
    for writer, run in seen.ledgers:
        last[writer] = max(run, last.get(writer, 0))
    return set(last.items())


def _cut(ledger: Ledger, seen: Seen, manifest: Manifest, *, complete: bool) -> list[Wrong]:
    """Whether lines are missing at a ledger's end: segments that it should have begun, or closed."""
    series = (ledger.writer, ledger.run)
    at_rest = [
        (f.table, n) for f in seen.layout.rest if (f.writer, f.run) == series for n in (f.first, f.last)
    ]
    unknown = [one for one in at_rest if one not in ledger.opened] if series in manifest.ledgers else []
    if complete:
        segments = (s for s in seen.layout.segments if (s.writer, s.run) == series)
        unknown += [(s.table, s.sequence) for s in segments if (s.table, s.sequence) not in ledger.opened]
    unclosed = ledger.opened - ledger.closed.keys() if complete else set()
    if not unknown and not unclosed:
        return []
    return [Wrong(ledger.path, None, "cut: lines are missing at its end", changed=True)]


def _series_of(place: str) -> tuple[tuple[str, str, int], tuple[int, int]] | None:
    parts = place.split("/")
    name = parts[-1].removesuffix(".parquet").rsplit("-", 3)
    if len(parts) != 4 or len(name) != 4 or not all(n.isdigit() for n in name[1:]):
        return None
    return (parts[1], name[0], int(name[1])), (int(name[2]), int(name[3]))


def changed_files(recording: Path, seen: Seen, tables: Iterable[str] | None = None) -> list[Wrong]:
    """Files at rest whose length or CRC-32 is not the manifest's; each is read once in a process."""
    if seen.manifest is None:
        return []
    wanted = None if tables is None else frozenset(tables)
    pairs = [
        (file, entry)
        for file in seen.layout.rest
        if (wanted is None or file.table in wanted)
        and (entry := seen.manifest.files.get(file.path.relative_to(recording).as_posix())) is not None
    ]
    unread = [pair for pair in pairs if not _is_known(*pair)]
    if not unread:
        return []
    if len(unread) == 1:
        results = [_check(*unread[0])]
    else:
        with ThreadPoolExecutor(min(len(unread), os.cpu_count() or 1, 4)) as pool:
            results = list(pool.map(lambda pair: _check(*pair), unread))
    return [wrong for wrong in results if wrong is not None]


def _is_known(file: RestFile, entry: Entry) -> bool:
    state = _state(file.path)
    return state is not None and _known.get((str(file.path), entry.crc32)) == state


def _check(file: RestFile, entry: Entry) -> Wrong | None:
    from satline.recording._parquet import damaged_rows

    state = _state(file.path)
    try:
        length, crc = checksum(file.path)
    except FileNotFoundError:
        return None  # let go meanwhile: whoever reads it is told
    except OSError as error:
        return Wrong(file.path, file.table, f"cannot be read: {error.strerror}", changed=True)
    if (length, crc) == (entry.bytes, entry.crc32):
        if state is not None:
            if len(_known) >= _MAX_KNOWN:
                _known.clear()
            _known[(str(file.path), entry.crc32)] = state
        return None
    if length != entry.bytes:
        what = f"damaged: {length:,} bytes, and not {entry.bytes:,}; it should hold {entry.holds()}"
        return Wrong(file.path, file.table, what, changed=True)
    where = damaged_rows(file.path)
    told = "; ".join(where[:3]) + (f"; {len(where) - 3} more" if len(where) > 3 else "")
    what = f"damaged: {told or 'outside its rows, or another file'} (it should hold {entry.holds()})"
    return Wrong(file.path, file.table, what, changed=True)


def _state(path: Path) -> _State | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def segment_differs(
    segment: SegmentFile, ledgers: dict[tuple[str, int], Ledger], size: int, crc32: int
) -> str | None:
    """How a segment differs from what its writer closed; None: it does not, or it was not closed."""
    ledger = ledgers.get((segment.writer, segment.run))
    closed = ledger.closed.get((segment.table, segment.sequence)) if ledger is not None else None
    if closed is None or (closed.bytes, closed.crc32) == (size, crc32):
        return None
    if size < closed.bytes:
        return f"cut: {size:,} of {closed.bytes:,} bytes; its writer closed it with {closed.rows:,} rows"
    return f"not the file that its writer closed, with {closed.bytes:,} bytes and {closed.rows:,} rows"
