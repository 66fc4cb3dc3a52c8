"""A directory, or the host, that one command at a time may use; where its user's ledgers may be.

A run that was killed together with its janitor leaves a ledger in the state directory of its environment. The
next run may have another: so each directory is noted in a file of its user's beside the host's lock, and
looked into before a study begins.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from satline.errors import InputError

# Of the host's locks that this process holds.
_descriptors: list[int] = []
_MOST_BYTES = 1 << 20


def inherited_locks() -> tuple[int, ...]:
    """Descriptors of the host's locks that are held: a program that measures inherits them (`pass_fds`).

    So the host stays taken until that program has ended too, whatever became of this process.
    """
    return tuple(_descriptors)


@contextlib.contextmanager
def held(directory: Path, *, variable: str, busy: str, hint: str) -> Iterator[None]:
    """Hold a directory, which is made if it is not there; the kernel lets go of it when the process ends.

    Parameters
    ----------
    variable
        The environment variable that says where the directory is.
    busy, hint
        What is said when another process holds it.

    Raises
    ------
    InputError
        Another process holds it, or it cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise InputError(
            f"{directory} cannot be written: {error.strerror}",
            hint=f"set {variable} to a directory of yours",
        ) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(busy, hint=hint) from None
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def host_held(name: str, *, busy: str, hint: str) -> Iterator[None]:
    """Hold a lock of this host, whoever asks and whatever its state directory is; the kernel lets go of it.

    The lock is a file in /run/lock, or in the directory that ``SATLINE_LOCK_DIR`` names; every user may hold
    it, so that it needs no right but to read it. Where there is no such directory nothing is held.

    Raises
    ------
    InputError
        Another process holds it, or the file is none that can be locked.
    """
    path = lock_directory() / f"{name}.lock"
    try:
        descriptor = _opened(path)
    except FileNotFoundError:
        yield
        return
    except OSError as error:
        raise InputError(
            f"{path} cannot be opened: {error.strerror}", hint="delete it if no study is running"
        ) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{busy}: it holds {path}", hint=hint) from None
        _descriptors.append(descriptor)
        yield
    finally:
        if descriptor in _descriptors:
            _descriptors.remove(descriptor)
        os.close(descriptor)


def lock_directory() -> Path:
    """Where the host's locks are: /run/lock, or what ``SATLINE_LOCK_DIR`` names."""
    return Path(os.environ.get("SATLINE_LOCK_DIR") or "/run/lock")


def _opened(path: Path) -> int:
    """The file, made if it is not there.

    In a directory with the sticky bit a file of another user's must not be opened with O_CREAT
    (fs.protected_regular). Links are not followed.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    for _ in range(3):
        with contextlib.suppress(FileNotFoundError):
            return os.open(path, flags)
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644)
            # Whatever the umask: another user must be able to hold it.
            os.fchmod(descriptor, 0o644)
            return descriptor
    return os.open(path, flags)


def note_state(directory: Path) -> None:
    """Note a state directory of this user's; those that are gone are forgotten.

    Call it with the host's lock held. Where nothing can be noted nothing is: the directory of the environment
    is looked into all the same.
    """
    known = [*(d for d in noted_states() if d != directory and d.is_dir()), directory]
    with contextlib.suppress(OSError):
        descriptor = _states_file(os.O_RDWR | os.O_CREAT)
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, b"".join(os.fsencode(d) + b"\0" for d in known), 0)
        finally:
            os.close(descriptor)


def noted_states() -> list[Path]:
    """State directories that were noted for this user."""
    try:
        descriptor = _states_file(os.O_RDONLY)
    except OSError:
        return []
    try:
        data = os.pread(descriptor, _MOST_BYTES, 0)
    finally:
        os.close(descriptor)
    found = [Path(os.fsdecode(name)) for name in data.split(b"\0")[:-1]]
    return [directory for directory in found if directory.is_absolute()]


def _states_file(flags: int) -> int:
    """The file; OSError where it is not this user's own: another might have put it there."""
    path = lock_directory() / f"satline-states-{os.geteuid()}"
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(descriptor)
        raise PermissionError(f"{path} is not this user's")
    return descriptor
