"""Where guests' files are kept, and what the programs that make them are called."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from satline.errors import InputError
from satline.systems.lock import held

NEEDED = {
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-img": "qemu-utils",
    "debootstrap": "debootstrap",
    "mke2fs": "e2fsprogs",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
}
_PATH = "/usr/sbin:/sbin"


def cache_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """$XDG_CACHE_HOME/satline/guest, else ~/.cache/satline/guest."""
    base = environment.get("XDG_CACHE_HOME") or str(
        Path(environment.get("HOME") or "/nonexistent") / ".cache"
    )
    return Path(base) / "satline/guest"


def find_program(name: str) -> str:
    """Path of a program that a guest needs.

    Raises
    ------
    InputError
        It is not installed; the hint names Debian's package.
    """
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", os.defpath), _PATH]))
    if found is None:
        raise InputError(
            f"a guest needs the program {name}, which is not on the PATH",
            hint=f"install it: `apt-get install --no-install-recommends {NEEDED.get(name, name)}`",
        )
    return found


@contextlib.contextmanager
def one_at_a_time(cache: Path) -> Iterator[None]:
    """Hold the cache while something in it is made.

    Raises
    ------
    InputError
        It cannot be written, or another command makes something in it.
    """
    with held(
        cache,
        variable="XDG_CACHE_HOME",
        busy=f"another command makes a guest in {cache}",
        hint="wait until it is done",
    ):
        yield


def used_bytes(path: Path) -> int:
    """Space that a file, or all files in a directory, takes on the disk; holes take none."""
    if not path.exists():
        return 0
    parts = [path, *path.rglob("*")] if path.is_dir() else [path]
    return sum(part.lstat().st_blocks * 512 for part in parts)
