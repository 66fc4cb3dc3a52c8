"""Find the archives below a directory, and unpack copies of those that are packed.

What a file is, is told by its first bytes, not by Satline: an archive that Satline does not recognise must
count as refused, not as absent.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKED = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
PACKED_ENDS = (".gz", ".bz2", ".xz")
SYSSTAT_MAGIC = (b"\x96\xd5", b"\xd5\x96")
ATOP_MAGIC = (b"\xef\xbe\xed\xfe", b"\xfe\xed\xbe\xef")
PCP_MAGIC = re.compile(rb"^....\x50\x05\x26|^....\x00\x50\x05\x26", re.DOTALL)
SAR_HEAD = re.compile(rb"^\s*(Linux|SunOS|HP-UX|AIX|Darwin|UNIX)\s", re.MULTILINE)
SAR_ROWS = re.compile(rb"^(\d\d:\d\d:\d\d( [AP]M)?\s+\S|Average\s)", re.MULTILINE)
METRIC_TYPE = re.compile(rb"^# (TYPE|HELP) \w+", re.MULTILINE)
METRIC_ROW = re.compile(rb"^[a-zA-Z_:][\w:]*(\{.*\})? [-+.\deE]+", re.MULTILINE)
HEAD_BYTES = 4096


@dataclass(frozen=True)
class Archive:
    """One archive: its name below the directory, its kind (pcp, sysstat, atop, sar-text, openmetrics), and
    the path to hand to a reader."""

    name: str
    kind: str
    path: Path


def archives(directory: Path, scratch: Path) -> Iterator[Archive]:
    """Every archive below `directory`, in order of name; packed ones are unpacked below `scratch`."""
    taken: set[Path] = set()
    files = [p for p in sorted(directory.rglob("*")) if p.is_file() or p.is_symlink()]
    for path in files:
        base = _pcp_base(path)
        if base is not None:
            taken.update(_parts(base))
            found = _pcp(base, directory, scratch)
            if found is not None:
                yield found
    for path in files:
        if path in taken or not path.is_file():
            continue
        head = _head(path)
        kind = _kind(head)
        if kind is not None:
            name = str(path.relative_to(directory))
            yield Archive(name, kind, _unpacked(path, scratch / _flat(name)))


def _pcp_base(path: Path) -> Path | None:
    """The common name of the parts of a PCP archive, from its metadata file; ``None``: it is none."""
    name = path.name
    for end in PACKED_ENDS:
        name = name.removesuffix(end)
    if not name.endswith(".meta") or not path.is_file() or not PCP_MAGIC.match(_head(path)):
        return None
    return path.with_name(name.removesuffix(".meta"))


def _parts(base: Path) -> list[Path]:
    """The files that belong to a PCP archive."""
    part = re.compile(re.escape(base.name) + r"\.(meta|index|\d+)(\.gz|\.bz2|\.xz)?")
    return [p for p in sorted(base.parent.iterdir()) if part.fullmatch(p.name)]


def _pcp(base: Path, directory: Path, scratch: Path) -> Archive | None:
    """A PCP archive with all its parts unpacked into a directory of its own; ``None`` without any volume."""
    name = str(base.relative_to(directory))
    place = scratch / _flat(name)
    volumes = 0
    for part in _parts(base):
        _unpacked(part, place)
        volumes += ".meta" not in part.name and ".index" not in part.name
    return Archive(name, "pcp", place / f"{base.name}.meta") if volumes else None


def _flat(name: str) -> str:
    return name.replace(os.sep, "__")


def _opener(path: Path):  # type: ignore[no-untyped-def]
    with path.open("rb") as file:
        start = file.read(6)
    return next((opener for magic, opener in PACKED.items() if start.startswith(magic)), None)


def _head(path: Path) -> bytes:
    """The first bytes of what a file holds, unpacked; empty where it cannot be read."""
    try:
        opener = _opener(path)
        with path.open("rb") if opener is None else opener(path) as file:
            return bytes(file.read(HEAD_BYTES))
    except (OSError, EOFError, lzma.LZMAError):
        return b""


def _unpacked(path: Path, place: Path) -> Path:
    """A copy of a file in `place`, unpacked; made once."""
    name = path.name
    opener = _opener(path)
    if opener is not None:
        for end in PACKED_ENDS:
            name = name.removesuffix(end)
    target = place / name
    if target.exists():
        return target
    place.mkdir(parents=True, exist_ok=True)
    hidden = target.with_name(f".{name}.part")
    try:
        with path.open("rb") if opener is None else opener(path) as source, hidden.open("wb") as copy:
            shutil.copyfileobj(source, copy)
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile):
        # A packed file that is cut off is given as far as it goes.
        pass
    hidden.rename(target)
    return target


def _kind(head: bytes) -> str | None:
    if head.startswith(SYSSTAT_MAGIC):
        return "sysstat"
    if head.startswith(ATOP_MAGIC):
        return "atop"
    if b"\0" in head:
        return None
    if SAR_HEAD.search(head) and SAR_ROWS.search(head):
        return "sar-text"
    if METRIC_TYPE.search(head) and METRIC_ROW.search(head):
        return "openmetrics"
    return None
