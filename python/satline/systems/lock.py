"""A directory that one command at a time may use."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from satline.errors import InputError


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
