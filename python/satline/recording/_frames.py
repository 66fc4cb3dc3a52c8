"""Frames of a segment: `SATF`, length, CRC-32, payload; and the Arrow stream that the payloads make up."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

MAGIC = b"SATF"
HEADER = struct.Struct("<4sII")


@dataclass(frozen=True)
class Damage:
    """What follows the last whole frame of a segment.

    Attributes
    ----------
    path
        The segment.
    offset
        Bytes of whole frames before it.
    length
        Bytes from there to the end of the file.
    reason
        Why the next frame is not whole.
    """

    path: Path
    offset: int
    length: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.length} bytes of a damaged tail after {self.offset}: {self.reason}"


@dataclass(frozen=True)
class Segment:
    """The whole frames of a segment.

    Attributes
    ----------
    table
        Its rows; None if it ends before its first whole frame.
    damage
        The damaged tail, if there is one.
    frames
        Whole frames, that of the schema included.
    """

    table: pa.Table | None
    damage: Damage | None
    frames: int


def seal(payload: bytes) -> bytes:
    """One frame with this payload."""
    return HEADER.pack(MAGIC, len(payload), zlib.crc32(payload)) + payload


def split_frames(data: bytes, path: Path) -> tuple[list[memoryview], Damage | None]:
    """Payloads of the whole frames at the beginning of `data`, and what follows them.

    Parameters
    ----------
    data
        The bytes of a segment.
    path
        Its name, for the damage.
    """
    view = memoryview(data)
    payloads: list[memoryview] = []
    offset = 0
    reason = ""
    while offset < len(view):
        if len(view) - offset < HEADER.size:
            reason = "short header"
            break
        magic, length, checksum = HEADER.unpack_from(view, offset)
        payload = view[offset + HEADER.size : offset + HEADER.size + length]
        if magic != MAGIC:
            reason = "not the beginning of a frame"
        elif len(payload) < length:
            reason = "short frame"
        elif zlib.crc32(payload) != checksum:
            reason = "wrong checksum"
        if reason:
            break
        payloads.append(payload)
        offset += HEADER.size + length
    damage = Damage(path, offset, len(view) - offset, reason) if reason else None
    return payloads, damage


def read_segment(path: Path) -> Segment:
    """Read the whole frames of a segment up to the first that is damaged.

    Raises
    ------
    FileNotFoundError
        If it is gone (compaction may have taken it over).
    """
    data = path.read_bytes()
    payloads, damage = split_frames(data, path)
    if not payloads:
        return Segment(None, damage, 0)
    try:
        with pa.ipc.open_stream(pa.py_buffer(b"".join(payloads))) as reader:
            return Segment(reader.read_all(), damage, len(payloads))
    except (pa.ArrowInvalid, OSError):
        return _read_one_by_one(path, payloads, len(data))


def _read_one_by_one(path: Path, payloads: list[memoryview], size: int) -> Segment:
    """Read payloads of which one is not Arrow data in spite of its checksum: the frames before it count."""
    offset, table = 0, None
    for count in range(1, len(payloads) + 1):
        try:
            with pa.ipc.open_stream(pa.py_buffer(b"".join(payloads[:count]))) as reader:
                table = reader.read_all()
        except (pa.ArrowInvalid, OSError):
            return Segment(table, Damage(path, offset, size - offset, "not Arrow data"), count - 1)
        offset += HEADER.size + len(payloads[count - 1])
    return Segment(table, None, len(payloads))
