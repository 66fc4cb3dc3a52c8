"""Replace a file whole, at one instant, with the permissions that the umask leaves."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


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
    descriptor = os.open(temporary, flags, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
