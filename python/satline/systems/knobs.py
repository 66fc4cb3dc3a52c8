"""Knobs of the kernel that a study turns for all of the host, and that the janitor turns back.

Standard library only.
"""

from __future__ import annotations

import os
from pathlib import Path

from satline.systems import Knobs
from satline.systems.cgroups import UnsettableError
from satline.systems.ledger import Ledger
from satline.systems.resources import page_bytes

SIGNATURE = b"SWAPSPACE2"


def places(proc: Path, sys: Path) -> dict[str, Path]:
    """The file of each knob that is one file."""
    return {
        "page_cluster": proc / "sys/vm/page-cluster",
        "swappiness": proc / "sys/vm/swappiness",
        "mglru": sys / "kernel/mm/lru_gen/enabled",
    }


def turn(knobs: Knobs, ledger: Ledger, proc: Path, sys: Path) -> tuple[dict[str, int | str], dict[str, str]]:
    """Turn those that are stated, each in the ledger first.

    Returns
    -------
    Knob → value in force, and knob → why it could not be turned.
    """
    in_force: dict[str, int | str] = {}
    not_set: dict[str, str] = {}
    for name, path in places(proc, sys).items():
        value = getattr(knobs, name)
        if value is None:
            continue
        try:
            in_force[name] = _turn(path, value, ledger)
        except UnsettableError as error:
            not_set[name] = str(error)
    return in_force, not_set


def _turn(path: Path, value: int, ledger: Ledger) -> int:
    try:
        old = path.read_text().strip()
    except OSError as error:
        raise UnsettableError(f"{path}: {error.strerror}") from None
    if _number(old) == value:
        return value
    if not os.access(path, os.W_OK):
        raise UnsettableError(f"{path} may not be written by this user")
    ledger.add("sysctl", path=str(path), old=old)
    try:
        path.write_text(str(value))
        found = path.read_text().strip()
    except OSError as error:
        raise UnsettableError(f'{path} does not take "{value}": {error.strerror}') from None
    if _number(found) != value:
        raise UnsettableError(f'{path} was given "{value}" and says "{found}"')
    return value


def _number(text: str) -> int | None:
    """``60``, or ``0x0007`` as the file of the generations says it."""
    try:
        return int(text, 0)
    except ValueError:
        return None


def swap_bytes_of(device: Path) -> int:
    """Size of a swap device or file that its owner made with mkswap.

    Raises
    ------
    UnsettableError
        It is none: nothing is ever written over what might be somebody's data.
    """
    page = page_bytes()
    try:
        descriptor = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
        try:
            first = os.pread(descriptor, page, 0)
            size = os.lseek(descriptor, 0, os.SEEK_END)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise UnsettableError(f"{device}: {error.strerror}") from None
    if len(first) < page or not first.endswith(SIGNATURE):
        raise UnsettableError(f"{device} is no swap device: `mkswap {device}` makes one, and empties it")
    return size
