"""The manifest: every file at rest with its length, checksums, rows, first and last sample.

`manifest.jsonl` is JSON lines: a head, one line for each file, and a last line with the SHA-256 of all before
it. A file's line is in it before the file has its name, so that a file at rest is always in the manifest; a
kill in between leaves a line whose rows are still in the segments.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from satline.atomic import naming, replace_file
from satline.errors import InputError, SatlineError
from satline.outside import parse_json
from satline.recording._files import locked, make_directory, sync_directory

FILE = "manifest.jsonl"
_FORMAT = 1
_CHUNK = 1 << 18
_MAX_BYTES = 256 << 20
_MEND = "bring the file back from a copy; `satline recording seal` accepts what is there, and says so"


@dataclass(frozen=True)
class Entry:
    """A file at rest: its place below the recording, what it is, what it holds.

    Attributes
    ----------
    rows, first_ns, last_ns
        Rows, and real time of the first and last of them, ns since 1970 UTC; None of a file that is no table.
    """

    file: str
    bytes: int
    crc32: int
    sha256: str
    rows: int | None = None
    first_ns: int | None = None
    last_ns: int | None = None

    def holds(self) -> str:
        """Its rows and their times, in words."""
        if self.rows is None or self.first_ns is None or self.last_ns is None:
            return f"{self.bytes:,} bytes"
        return f"{self.rows:,} rows, {_time(self.first_ns)} to {_time(self.last_ns)}"


@dataclass(frozen=True)
class Gone:
    """A file at rest that is there no more, and why: let go by a rule, or lost and accepted as such."""

    entry: Entry
    reason: str

    @property
    def lost(self) -> bool:
        """It was not let go on purpose."""
        return self.reason.startswith("lost")


Series = tuple[str, str, int]


@dataclass(frozen=True)
class Pruned:
    """Files at rest, one after another of one series, that retention let go.

    Attributes
    ----------
    first, last
        Sequences of the first and the last segment that they held.
    rows, bytes, first_ns, last_ns
        Of all together.
    """

    first: int
    last: int
    rows: int
    bytes: int
    first_ns: int
    last_ns: int

    def joined(self, after: Pruned) -> Pruned:
        """Both together."""
        return Pruned(
            self.first,
            max(self.last, after.last),
            self.rows + after.rows,
            self.bytes + after.bytes,
            min(self.first_ns, after.first_ns),
            max(self.last_ns, after.last_ns),
        )


@dataclass
class Manifest:
    """What a recording's manifest says.

    Attributes
    ----------
    recording
        The id of the recording; empty where it had none yet.
    files
        Files at rest, by their place.
    gone
        Files that were let go, or that were lost and accepted as lost.
    empty
        Segments without rows that went into no file: first and last sequence, by table, writer and run.
    lost
        Segments that are lost and were accepted as lost, likewise.
    ledgers
        Runs whose segments went into files: their ledgers are there.
    sealed
        Descriptions and other files as they were when the recording was sealed, by their place.
    pruned
        What retention let go, by table, writer and run.
    """

    recording: str = ""
    files: dict[str, Entry] = field(default_factory=dict)
    gone: dict[str, Gone] = field(default_factory=dict)
    empty: dict[Series, list[tuple[int, int]]] = field(default_factory=dict)
    lost: dict[Series, list[tuple[int, int]]] = field(default_factory=dict)
    ledgers: set[tuple[str, int]] = field(default_factory=set)
    sealed: dict[str, Entry] = field(default_factory=dict)
    pruned: dict[Series, list[Pruned]] = field(default_factory=dict)

    def is_pruned(self, series: Series, first: int, last: int) -> bool:
        """Did retention let these sequences go?"""
        return any(p.first <= first and last <= p.last for p in self.pruned.get(series, ()))

    def prune(self, series: Series, what: Pruned) -> None:
        """Note that retention let something go; what lies next to each other becomes one line."""
        joined: list[Pruned] = []
        for one in sorted([*self.pruned.get(series, []), what], key=lambda p: (p.first, p.last)):
            if joined and one.first <= joined[-1].last + 1:
                joined[-1] = joined[-1].joined(one)
            else:
                joined.append(one)
        self.pruned[series] = joined


class BrokenManifest(InputError):
    """The manifest itself is damaged."""


def load(recording: Path) -> Manifest | None:
    """The manifest of a recording; None where it has none.

    Raises
    ------
    BrokenManifest
        If its own checksum is wrong, or it cannot be read.
    """
    file = recording / FILE
    try:
        with file.open("rb") as stream:
            data = stream.read(_MAX_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BrokenManifest(f"{file}: {error.strerror}", hint=_MEND) from error
    return _parse(file, data)


def _parse(file: Path, data: bytes) -> Manifest:
    head, _, last = data[:-1].rpartition(b"\n")
    stated = b'{"kind": "end", "sha256": "' + hashlib.sha256(head + b"\n").hexdigest().encode() + b'"}'
    if not data.endswith(b"\n") or last != stated:
        raise BrokenManifest(f"{file}: damaged: its own checksum is wrong", hint=_MEND)
    manifest = Manifest()
    try:
        for line in head.split(b"\n"):
            _take(manifest, parse_json(line))
    except (ValueError, KeyError, TypeError) as error:
        raise BrokenManifest(f"{file}: cannot be read: {error}", hint="use a newer Satline") from error
    return manifest


def _take(manifest: Manifest, line: dict[str, Any]) -> None:
    kind = line.pop("kind")
    if kind == "manifest":
        if line["format"] != _FORMAT:
            raise ValueError(f"format {line['format']}")
        manifest.recording = str(line["recording"])
    elif kind in ("table", "file"):
        entry = _entry(line)
        (manifest.files if kind == "table" else manifest.sealed)[entry.file] = entry
    elif kind == "gone":
        reason = str(line.pop("reason"))
        entry = _entry(line)
        manifest.gone[entry.file] = Gone(entry, reason)
    elif kind == "ledger":
        manifest.ledgers.add((str(line["writer"]), int(line["run"])))
    elif kind == "pruned":
        series = (str(line["table"]), str(line["writer"]), int(line["run"]))
        numbers = (int(line[key]) for key in ("first", "last", "rows", "bytes", "first_ns", "last_ns"))
        manifest.pruned.setdefault(series, []).append(Pruned(*numbers))
    elif kind in ("empty", "lost"):
        series = (str(line["table"]), str(line["writer"]), int(line["run"]))
        ranges = manifest.empty if kind == "empty" else manifest.lost
        ranges.setdefault(series, []).append((int(line["first"]), int(line["last"])))
    else:
        raise ValueError(f"kind {kind!r}")


def _entry(line: dict[str, Any]) -> Entry:
    return Entry(
        file=str(line["file"]),
        bytes=int(line["bytes"]),
        crc32=int(line["crc32"], 16),
        sha256=str(line["sha256"]),
        **{key: None if line.get(key) is None else int(line[key]) for key in ("rows", "first_ns", "last_ns")},
    )


def _text(manifest: Manifest) -> bytes:
    def entry(kind: str, e: Entry, **more: Any) -> dict[str, Any]:
        line: dict[str, Any] = {
            "kind": kind, "file": e.file, "bytes": e.bytes, "crc32": f"{e.crc32:08x}", "sha256": e.sha256,
        }  # fmt: skip
        if e.rows is not None:
            line |= {"rows": e.rows, "first_ns": e.first_ns, "last_ns": e.last_ns}
        return line | more

    lines: list[dict[str, Any]] = [{"kind": "manifest", "format": _FORMAT, "recording": manifest.recording}]
    lines += [entry("table", e) for _, e in sorted(manifest.files.items())]
    lines += [entry("file", e) for _, e in sorted(manifest.sealed.items())]
    lines += [entry("gone", g.entry, reason=g.reason) for _, g in sorted(manifest.gone.items())]
    lines += [{"kind": "ledger", "writer": w, "run": r} for w, r in sorted(manifest.ledgers)]
    for kind, ranges in (("empty", manifest.empty), ("lost", manifest.lost)):
        lines += [
            {"kind": kind, "table": t, "writer": w, "run": r, "first": first, "last": last}
            for (t, w, r), pairs in sorted(ranges.items())
            for first, last in pairs
        ]
    lines += [
        {"kind": "pruned", "table": t, "writer": w, "run": r, **asdict(one)}
        for (t, w, r), pruned in sorted(manifest.pruned.items())
        for one in pruned
    ]
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    return data + json.dumps({"kind": "end", "sha256": hashlib.sha256(data).hexdigest()}).encode() + b"\n"


@contextlib.contextmanager
def changed(recording: Path) -> Iterator[Manifest]:
    """The manifest, to be changed; it replaces the old one, durable, when the block ends without an error.

    One changer at a time. What was sealed is dropped: it is another recording now.
    """
    make_directory(recording / "segments")
    with locked(recording / "segments"):
        manifest = load(recording) or Manifest()
        manifest.sealed = {}
        yield manifest
        manifest.recording = manifest.recording or _id_of(recording)
        replace_file(recording / FILE, _text(manifest))
        sync_directory(recording)


def _id_of(recording: Path) -> str:
    from satline.recording import describe

    try:
        head = describe.read(recording).get("recording", {})
    except InputError:
        return ""
    return str(head.get("id", ""))


def digest(file: Path) -> tuple[int, int, str]:
    """Bytes, CRC-32 and SHA-256 of a file, read once."""
    sha = hashlib.sha256()
    return *checksum(file, sha.update), sha.hexdigest()


def checksum(file: Path, also: Callable[[memoryview], object] = lambda _: None) -> tuple[int, int]:
    """Bytes and CRC-32 of a file; `also` is called with each piece that is read."""
    crc, length = 0, 0
    buffer = bytearray(_CHUNK)
    with file.open("rb", buffering=0) as stream, naming(file):
        while count := stream.readinto(buffer):
            piece = memoryview(buffer)[:count]
            crc = zlib.crc32(piece, crc)
            also(piece)
            length += count
    return length, crc


def let_go(recording: Path, files: Iterable[Path], reason: str) -> None:
    """Note that files at rest are let go, and why, before they are deleted.

    Raises
    ------
    BrokenManifest
        As `load`.
    """
    if not (recording / FILE).exists():
        return
    with changed(recording) as manifest:
        for file in files:
            place = file.relative_to(recording).as_posix()
            entry = manifest.files.pop(place, None)
            if entry is not None:
                manifest.gone[place] = Gone(entry, reason)


def take_over(recording: Path, places: Sequence[str], source: Path) -> None:
    """Take the lines of files that were copied from `source`, a recording; those it lacks are made."""
    theirs = load(source)
    with changed(recording) as manifest:
        for place in places:
            known = theirs.files.get(place) if theirs is not None else None
            manifest.files[place] = known or table_entry(recording, recording / place)


def table_entry(recording: Path, file: Path, *, as_file: str | None = None) -> Entry:
    """The line of a Parquet file, from the file itself.

    Raises
    ------
    SatlineError
        If it cannot be read.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as parquet:
            times = parquet.read(columns=["time_ns"])["time_ns"]
        found = pc.min_max(times).as_py()
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise SatlineError(f"{file}: cannot be read: {error}") from error
    place = as_file or file.relative_to(recording).as_posix()
    return Entry(place, *digest(file), rows=len(times), first_ns=found["min"], last_ns=found["max"])


def publish_all(
    recording: Path,
    files: Sequence[tuple[Path, Path]],
    *,
    ledger: tuple[str, int] | None = None,
    on_step: Callable[[str], None] = lambda _: None,
) -> None:
    """Give written files their names, in the manifest first; from then on their rows count.

    Parameters
    ----------
    files
        Hidden file, and its name to be.
    ledger
        Writer and run of the segments that went in, if their ledger is there.
    """
    entries = [
        table_entry(recording, temporary, as_file=file.relative_to(recording).as_posix())
        for temporary, file in files
    ]
    on_step("note in the manifest")
    with changed(recording) as manifest:
        for entry in entries:
            manifest.files[entry.file] = entry
            manifest.gone.pop(entry.file, None)
        if ledger is not None:
            manifest.ledgers.add(ledger)
    for temporary, file in files:
        on_step(f"rename {file.name}")
        temporary.replace(file)
        sync_directory(file.parent)


def _time(ns: int) -> str:
    try:
        return datetime.fromtimestamp(ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return f"{ns} ns"
