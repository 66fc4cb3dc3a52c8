"""Compressed files from outside: what they unpack to is limited."""

from __future__ import annotations

import io
import lzma
import tarfile
import zlib
from pathlib import Path
from typing import Any

MAX_UNPACKED_BYTES = 64 << 30
# gzip packs zeros 1,032 to one, zstd and xz more; real collectors' files at most 100 to one.
_RATIO = 3000
_FREE = 1 << 30
MAX_TAR_FILES = 100_000


class BrokenPackError(OSError):
    """A compressed file is damaged, and not merely cut (EOFError)."""


class BombError(OSError):
    """A compressed file unpacks to more than any real one would."""


def bounded(stream: Any, packed_bytes: int | None) -> io.BufferedReader:
    """`stream` of gzip, bz2 or lzma, which unpacks `packed_bytes`; beyond a limit it raises BombError."""
    limit = MAX_UNPACKED_BYTES
    if packed_bytes is not None:
        limit = min(limit, _FREE + _RATIO * packed_bytes)
    return io.BufferedReader(_Bounded(stream, limit), 1 << 16)


def unpack_tar(file: Path, directory: Path) -> None:
    """Unpack a tar archive that is not compressed: files and directories, nowhere but below `directory`.

    Raises
    ------
    tarfile.TarError
        It is broken, or holds anything else.
    BombError
        It holds more than `MAX_TAR_FILES` files, or they state more bytes than the archive has.
    OSError
        It cannot be read, or its files not be written.
    """
    size = file.stat().st_size
    with tarfile.open(file, mode="r:") as archive:
        members = []
        stated = 0
        for member in archive:
            members.append(member)
            # What a sparse file states costs its archive nothing.
            stated += max(0, member.size)
            if len(members) > MAX_TAR_FILES:
                raise BombError(27, f"holds more than {MAX_TAR_FILES:,} files")
            if stated > size:
                raise BombError(27, f"states more than its own {size:,} bytes")
            if not (member.isfile() or member.isdir()):
                raise tarfile.TarError(f"{member.name[:200]!r} is neither a file nor a directory")
        archive.extractall(directory, members=members, filter="data")


class _Bounded(io.RawIOBase):
    def __init__(self, stream: Any, limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self._left = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # What comes before the end of a file that was cut is not lost.
        try:
            data = self._stream.read1(len(buffer))
        except (zlib.error, lzma.LZMAError, ValueError) as error:
            raise BrokenPackError(f"the compressed file is damaged: {error}") from error
        self._left -= len(data)
        if self._left < 0:
            raise BombError(27, f"unpacks to more than {self._limit:,} bytes")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()
