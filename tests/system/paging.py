"""Swap space of a test's own on this host, and what of a process is there."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from satline.errors import SatlineError
from satline.systems.resources import swap_on, write_swap_header

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@contextmanager
def paging_file(path: Path, size_bytes: int) -> Iterator[None]:
    """A swap area in a file, as long as the block runs."""
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size_bytes)
    write_swap_header(path, size_bytes)
    try:
        swap_on(path)
    except SatlineError as error:
        pytest.skip(error.message)
    try:
        yield
    finally:
        assert ctypes.CDLL(None).swapoff(os.fsencode(path)) == 0


def kib(pid: int, name: str) -> int:
    """A size of a process as the kernel tells it."""
    text = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(f"{name}:"))


def swapped_pages(pid: int) -> int:
    """A process's pages outside."""
    return kib(pid, "VmSwap") * 1024 // PAGE_BYTES
