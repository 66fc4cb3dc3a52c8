"""Archives that are the same, byte for byte, whenever and by whomever they are made."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path


def tar(tree: Path, epoch: int, top: str = "") -> bytes:
    """A tar archive of `tree`: names in order, owned by root.

    Parameters
    ----------
    epoch
        The time of every file, seconds since 1970.
    top
        The directory that all is below, in the archive.
    """
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(tree.rglob("*")):
            name = str(Path(top) / path.relative_to(tree))
            entry = archive.gettarinfo(str(path), name)
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = "root"
            entry.mtime = epoch
            entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
            if entry.isfile():
                # A file that has two names is written twice: which of them comes first is chance.
                entry.type, entry.linkname, entry.size = tarfile.REGTYPE, "", path.stat().st_size
                with path.open("rb") as stream:
                    archive.addfile(entry, stream)
            else:
                archive.addfile(entry)
    return held.getvalue()


def gzipped(content: bytes) -> bytes:
    """Compressed without a time or a name."""
    return gzip.compress(content, compresslevel=9, mtime=0)
