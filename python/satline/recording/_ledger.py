"""The ledger of a writer's run: which segments it began, and what each was when it was closed.

`segments/<writer>-<run>.ledger` begins with `recording <id> <checksum>` and has lines for each segment: `open
<table> <sequence> <checksum>` once the segment is on disk, `close <table> <sequence> <bytes> <CRC-32 of the
file> <rows> <checksum>` once it is whole and durable. The checksum is the CRC-32 of the line before it. A
segment that is missing, or shorter than it was, shows by it.
"""

from __future__ import annotations

import os
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from satline.atomic import naming, write_all
from satline.errors import InputError
from satline.recording._files import sync_directory

_NAME = re.compile(r"(?P<writer>[a-z][a-z0-9_-]{0,63})-(?P<run>[0-9]{1,18})\.ledger")
_LINE = re.compile(
    r"(?:recording (?P<recording>[0-9A-Za-z]{1,64}|-)"
    r"|open (?P<opened>[a-z_]{1,64}) (?P<number>[0-9]{1,18})"
    r"|close (?P<closed>[a-z_]{1,64}) (?P<sequence>[0-9]{1,18}) (?P<bytes>[0-9]{1,18}) (?P<crc32>[0-9a-f]{8})"
    r" (?P<rows>[0-9]{1,18})) (?P<checksum>[0-9a-f]{8})"
)
_MAX_BYTES = 64 << 20


@dataclass(frozen=True)
class Closed:
    """A segment as it was when its writer closed it: length, CRC-32 of the whole file, rows."""

    bytes: int
    crc32: int
    rows: int


@dataclass
class Ledger:
    """One run of one writer.

    Attributes
    ----------
    opened
        Segments that were begun: table, sequence.
    closed
        Those that were closed.
    recording
        The id of the recording that it belongs to; `-`: unknown.
    broken
        Lines with a wrong checksum, from 1.
    torn
        The last line has no end: a kill while it was written, or a cut.
    """

    path: Path
    writer: str
    run: int
    opened: set[tuple[str, int]] = field(default_factory=set)
    closed: dict[tuple[str, int], Closed] = field(default_factory=dict)
    recording: str = "-"
    broken: list[int] = field(default_factory=list)
    torn: bool = False


def ledger_run(name: str) -> tuple[str, int] | None:
    """Writer and run that a file name of a ledger says; None: it is none."""
    match = _NAME.fullmatch(name)
    return (match["writer"], int(match["run"])) if match else None


def ledger_path(recording: Path, writer: str, run: int) -> Path:
    """Where the ledger of this run is."""
    return recording / "segments" / f"{writer}-{run}.ledger"


def read_ledgers(recording: Path) -> dict[tuple[str, int], Ledger]:
    """All ledgers of a recording, by writer and run."""
    found = {}
    try:
        names = sorted(file.name for file in (recording / "segments").iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    for name in names:
        key = ledger_run(name)
        if key is not None:
            found[key] = _read(recording / "segments" / name, *key)
    return found


def _read(path: Path, writer: str, run: int) -> Ledger:
    ledger = Ledger(path, writer, run)
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES)
    lines = data.split(b"\n")
    ledger.torn = lines.pop() != b""
    for number, raw in enumerate(lines, start=1):
        line = raw.decode("ascii", errors="replace")
        match = _LINE.fullmatch(line)
        if match is None or zlib.crc32(raw[:-8]) != int(match["checksum"], 16):
            ledger.broken.append(number)
        elif match["recording"]:
            ledger.recording = match["recording"]
        elif match["opened"]:
            ledger.opened.add((match["opened"], int(match["number"])))
        else:
            key = (match["closed"], int(match["sequence"]))
            ledger.opened.add(key)
            ledger.closed[key] = Closed(int(match["bytes"]), int(match["crc32"], 16), int(match["rows"]))
    return ledger


def note_opened(path: Path, table: str, sequence: int) -> None:
    """Add that a segment is on disk."""
    _append(path, f"open {table} {sequence} ")


def note_closed(path: Path, table: str, sequence: int, closed: Closed) -> None:
    """Add what a segment is, which is whole and durable."""
    words = f"close {table} {sequence} {closed.bytes} {closed.crc32:08x} {closed.rows} "
    _append(path, words)


def recording_id(recording: Path) -> str:
    """The id that recording.toml says; `-` where it says none."""
    from satline.recording import describe

    try:
        found = str(describe.read(recording).get("recording", {}).get("id", "-"))
    except InputError:
        return "-"
    return found if re.fullmatch("[0-9A-Za-z]{1,64}", found) else "-"


def _sealed(words: str) -> bytes:
    return f"{words}{zlib.crc32(words.encode()):08x}\n".encode()


def _append(path: Path, words: str) -> None:
    """Add a line, durable: of two that are not, a loss of power may keep the later only."""
    lines = _sealed(words)
    with path.open("ab", buffering=0) as file, naming(path):
        length = file.tell()
        if length == 0:
            lines = _sealed(f"recording {recording_id(path.parent.parent)} ") + lines
        try:
            write_all(file.fileno(), lines)
        except OSError:
            # A line that comes after it is to stand alone.
            file.truncate(length)
            raise
        os.fdatasync(file.fileno())
    if length == 0:
        sync_directory(path.parent)
