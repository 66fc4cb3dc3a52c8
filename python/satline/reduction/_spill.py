"""Directories in which DuckDB keeps what does not fit in main storage."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

PREFIX = "satline-spill-"
OLD_S = 3600.0


def make_spill() -> tuple[Path, Callable[[], None]]:
    """A new directory that only this user may enter, and what removes it with all that is in it.

    It is locked as long as this process lives. A process that was killed could not remove its own: those that
    are empty go here, at the next call.
    """
    root = _root()
    _sweep(root)
    directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    _lock(descriptor)

    def remove() -> None:
        shutil.rmtree(directory, ignore_errors=True)
        os.close(descriptor)

    return directory, remove


def _root() -> Path:
    """/tmp may itself be in storage; /var/tmp is not. TMPDIR decides where it is set."""
    chosen = Path(tempfile.gettempdir())
    return Path("/var/tmp") if chosen == Path("/tmp") and Path("/var/tmp").is_dir() else chosen


def _sweep(root: Path) -> None:
    """Remove the directories of killed processes: this user's, empty, of no living process, and older than an
    hour, since one that is being made is not locked yet."""
    try:
        names = [entry.name for entry in os.scandir(root) if entry.name.startswith(PREFIX)]
    except OSError:
        return
    for name in names:
        try:
            descriptor = os.open(
                root / name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
            )
        except OSError:
            continue  # another user's, no directory, or gone
        try:
            facts = os.fstat(descriptor)
            own = facts.st_uid == os.geteuid() and stat.S_IMODE(facts.st_mode) == 0o700
            if own and time.time() - facts.st_mtime > OLD_S and _lock(descriptor):
                (root / name).rmdir()  # fails where it is not empty
        except OSError:
            pass
        finally:
            os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Whether this process has the lock now; False also where the file system has none."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
