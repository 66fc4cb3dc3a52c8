"""State directories in which a user's ledgers may be, whatever the environment says now.

A run that was killed together with its janitor leaves a ledger in the state directory of its environment. The
next run may have another: so each directory is noted in a file of its user's beside the host's lock, and
looked into before a study begins.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from satline.systems.lock import lock_directory

_MOST_BYTES = 1 << 20


def note_state(directory: Path) -> None:
    """Note a state directory of this user's; those that are gone are forgotten.

    Call it with the host's lock held. Where nothing can be noted nothing is: the directory of the environment
    is looked into all the same.
    """
    known = [*(d for d in noted_states() if d != directory and d.is_dir()), directory]
    with contextlib.suppress(OSError):
        descriptor = _opened(os.O_RDWR | os.O_CREAT)
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, b"".join(os.fsencode(d) + b"\0" for d in known), 0)
        finally:
            os.close(descriptor)


def noted_states() -> list[Path]:
    """State directories that were noted for this user."""
    try:
        descriptor = _opened(os.O_RDONLY)
    except OSError:
        return []
    try:
        data = os.pread(descriptor, _MOST_BYTES, 0)
    finally:
        os.close(descriptor)
    found = [Path(os.fsdecode(name)) for name in data.split(b"\0")[:-1]]
    return [directory for directory in found if directory.is_absolute()]


def _opened(flags: int) -> int:
    """The file; OSError where it is not this user's own: another might have put it there."""
    path = lock_directory() / f"satline-states-{os.geteuid()}"
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(descriptor)
        raise PermissionError(f"{path} is not this user's")
    return descriptor
