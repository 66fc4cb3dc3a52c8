"""Frames of a segment: `SATF`, length, CRC-32, payload; and the Arrow stream that the payloads make up."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

MAGIC = b"SATF"
HEADER = struct.Struct("<4sII")
# Times a segment's length that a search after damage may check.
_SEARCH = 8


@dataclass(frozen=True)
class Damage:
    """Bytes of a segment that hold no whole frame.

    Attributes
    ----------
    path
        The segment.
    offset
        Bytes before it.
    length
        Bytes that were left out.
    reason
        Why the next frame is not whole.
    tail
        It goes on to the end of the file; otherwise whole frames follow, which were read.
    """

    path: Path
    offset: int
    length: int
    reason: str
    tail: bool = True

    def __str__(self) -> str:
        what = "of a damaged tail" if self.tail else "damaged in the middle"
        return f"{self.path}: {self.length} bytes {what} after {self.offset}: {self.reason}"


@dataclass(frozen=True)
class Segment:
    """The whole frames of a segment.

    Attributes
    ----------
    table
        Its rows; None if it ends before its first whole frame.
    damage
        What was left out, if anything was.
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
    """Payloads of the whole frames of `data`, and what is damaged.

    After damage that is not in the first frame, the schema, it goes on at the first place from which whole
    frames follow one another to the end of the file.

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
    while offset < len(view):
        payload = _whole(view, offset)
        if isinstance(payload, str):
            start, after = _resume(data, offset) if payloads else (len(view), [])
            damage = Damage(path, offset, start - offset, payload, tail=start == len(view))
            return payloads + after, damage
        payloads.append(payload)
        offset += HEADER.size + len(payload)
    return payloads, None


def _whole(view: memoryview, offset: int) -> memoryview | str:
    """Payload of the frame that begins here, or why there is no whole one."""
    if len(view) - offset < HEADER.size:
        return "short header"
    magic, length, checksum = HEADER.unpack_from(view, offset)
    payload = view[offset + HEADER.size : offset + HEADER.size + length]
    if magic != MAGIC:
        return "not the beginning of a frame"
    if len(payload) < length:
        return "short frame"
    return payload if zlib.crc32(payload) == checksum else "wrong checksum"


def _resume(data: bytes, damaged: int) -> tuple[int, list[memoryview]]:
    """Where whole frames begin again after damage, and their payloads; the end of the file where none do.

    They must reach the end of the file: a text that a process put into a damaged frame may look like frames
    itself, but is followed by the rest of that frame.
    """
    view = memoryview(data)
    checked = 0
    start = damaged
    # Frames made to be checked again and again must not hold a reader up.
    while checked <= _SEARCH * len(data) and (start := data.find(MAGIC, start + 1)) >= 0:
        offset, payloads = start, []
        while offset < len(view) and not isinstance(payload := _whole(view, offset), str):
            payloads.append(payload)
            offset += HEADER.size + len(payload)
        if offset == len(view):
            return start, payloads
        checked += offset - start + _claimed(view, offset)
    return len(view), []


def _claimed(view: memoryview, offset: int) -> int:
    """Bytes that were read for a frame that is not whole."""
    if len(view) - offset < HEADER.size:
        return 0
    magic, length, _ = HEADER.unpack_from(view, offset)
    return int(length) if magic == MAGIC and length <= len(view) - offset - HEADER.size else 0


def has_batches(path: Path) -> bool:
    """Whether anything follows a segment's first frame, the schema; also where that is damaged."""
    try:
        with path.open("rb") as file:
            head = file.read(HEADER.size)
            size = file.seek(0, 2)
    except FileNotFoundError:
        return False
    if len(head) < HEADER.size or not any(head):
        return False
    magic, length, _ = HEADER.unpack(head)
    return bool(magic != MAGIC or size > HEADER.size + length)


def read_segment(path: Path) -> Segment:
    """Read the whole frames of a segment, also those after damage in its middle.

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
            table = reader.read_all()
    except (pa.ArrowException, OSError):
        return _read_one_by_one(path, payloads, len(data), damage)
    if damage is not None and not damage.tail and any(pa.types.is_dictionary(f.type) for f in table.schema):
        # Its batches lean on those before them. No table of the catalogue is such a one.
        whole = _before(payloads, damage)
        return _read_one_by_one(path, whole, len(data), _to_the_end(damage, len(data)))
    return Segment(table, damage, len(payloads))


def _before(payloads: list[memoryview], damage: Damage) -> list[memoryview]:
    """The payloads before the damage."""
    offset = 0
    for count, payload in enumerate(payloads):
        if offset == damage.offset:
            return payloads[:count]
        offset += HEADER.size + len(payload)
    return payloads


def _to_the_end(damage: Damage, size: int) -> Damage:
    return replace(damage, length=size - damage.offset, tail=True)


def _read_one_by_one(path: Path, payloads: list[memoryview], size: int, damage: Damage | None) -> Segment:
    """Read payloads of which one may be no Arrow data though its checksum is right: those before it count."""
    before = payloads if damage is None else _before(payloads, damage)
    offset, table = 0, None
    for count in range(1, len(before) + 1):
        try:
            with pa.ipc.open_stream(pa.py_buffer(b"".join(before[:count]))) as reader:
                table = reader.read_all()
        except (pa.ArrowException, OSError):
            return Segment(table, Damage(path, offset, size - offset, "not Arrow data"), count - 1)
        offset += HEADER.size + len(before[count - 1])
    return Segment(table, None if damage is None else _to_the_end(damage, size), len(before))
