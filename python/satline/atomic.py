"""Replace a file whole, at one instant, with the permissions that the umask leaves."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def naming(file: Path) -> Iterator[None]:
    """Errors of the system in the block name `file` where they name none: a write does not know its file."""
    try:
        yield
    except OSError as error:
        # A class of its own, such as Arrow's, may have no number.
        if error.filename is None and error.errno is not None:
            raise OSError(error.errno, os.strerror(error.errno), str(file)) from error
        raise


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it: one call may write a part."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def replace_file(file: Path, data: bytes, *, durable: bool = True) -> None:
    """Write `data` to a hidden file beside `file` and give it that name.

    Parameters
    ----------
    durable
        The bytes are on disk before the name changes; the name itself is durable once the caller has synced
        the directory.

    Raises
    ------
    OSError
        As the system says; nothing is left behind.
    """
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(6)}.tmp")
    # Unlike mkstemp's 0600 and a chmod after it, 0666 at creation is narrowed by the umask.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with naming(file):
        descriptor = os.open(temporary, flags, 0o666)
    try:
        with naming(file):
            try:
                write_all(descriptor, data)
                if durable:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
