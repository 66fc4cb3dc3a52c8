"""Space kept back, so that a recording can say that it ended, and why, on a full disk.

Blocks that are given back to the file system may go to whoever fills the disk. So nothing is given back: each
file that tells of the end has a reserve of its own, and on a full disk that reserve is written over and then
becomes the file.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from satline.atomic import naming, write_all

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
# `reserve`, which recording.toml may become, holds the study and its workload.
_DESCRIPTION_BYTES = 64 * 1024
_SOURCE_BYTES = 16 * 1024


def make_reserves(recording: Path, writer: str) -> None:
    """Make the reserves of a recording and of one of its writers unless they are there."""
    _fill(_reserve_of(recording / "recording.toml"), _DESCRIPTION_BYTES)
    _fill(_reserve_of(recording / "sources" / f"{writer}.toml"), _SOURCE_BYTES)


def become_file(file: Path, data: bytes) -> None:
    """Replace `file` with `data` without taking a new block; FileNotFoundError if its reserve is spent."""
    reserve = _reserve_of(file)
    with reserve.open("r+b", buffering=0) as stream, naming(reserve):
        write_all(stream.fileno(), data)
        stream.truncate(len(data))
        os.fsync(stream.fileno())
    reserve.replace(file)


def _reserve_of(file: Path) -> Path:
    """`reserve` for recording.toml, `.<writer>.reserve` for <writer>.toml."""
    return file.with_name("reserve" if file.stem == "recording" else f".{file.stem}.reserve")


def _fill(path: Path, size: int) -> None:
    """Filled, not sparse: its blocks are the point. One that a loss of power left short is filled again."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o666)
    try:
        missing = size - os.fstat(descriptor).st_size
        if missing <= 0:
            return
        try:
            with naming(path):
                write_all(descriptor, bytes(missing))
                os.fsync(descriptor)
        except OSError:
            path.unlink()
            raise
    finally:
        os.close(descriptor)
