"""What a host has to give: processors, memory, disk space, the disk under a directory; and swap files."""

from __future__ import annotations

import ctypes
import os
import struct
import uuid
from pathlib import Path

from satline.systems.cgroups import UnsettableError

SWAP_FLAG_PREFER = 0x8000
SWAP_FLAG_DISCARD = 0x10000
SWAP_FLAG_DISCARD_PAGES = 0x40000
SWAP_PRIORITY = 32000
DISK_RESERVE_BYTES = 512 << 20


def memory_bytes(proc: Path = Path("/proc")) -> int | None:
    """Main storage of the machine."""
    try:
        for line in (proc / "meminfo").read_text().splitlines():
            if line.startswith("MemTotal:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def free_disk_bytes(directory: Path) -> int:
    """Space that this user may still fill on the file system of `directory`."""
    status = os.statvfs(directory)
    return status.f_bavail * status.f_frsize


def disk_of(directory: Path, sys: Path = Path("/sys"), proc: Path = Path("/proc")) -> str:
    """``major:minor`` of the whole disk that holds `directory`: caps are set on disks, not on partitions.

    Raises
    ------
    UnsettableError
        The file system is not on one block device (memory, network, an overlay).
    """
    number = directory.stat().st_dev
    if os.major(number) == 0:  # btrfs and others give a number of their own; the mount table names the device
        number = _mounted_device(directory, number, proc)
    entry = sys / "dev/block" / f"{os.major(number)}:{os.minor(number)}"
    if not entry.exists():
        raise UnsettableError(f"{directory} is not on a block device")
    place = entry.resolve()
    if (place / "partition").exists():
        place = place.parent
    return (place / "dev").read_text().strip()


def _mounted_device(directory: Path, number: int, proc: Path) -> int:
    wanted = f"{os.major(number)}:{os.minor(number)}"
    for line in (proc / "self/mountinfo").read_text().splitlines():
        fields = line.split()
        if fields[2] == wanted:
            source = Path(fields[fields.index("-") + 2])
            if source.is_block_device():
                return source.stat().st_rdev
    raise UnsettableError(f"{directory} is not on a block device of its own")


def write_swap_file(path: Path, size_bytes: int) -> None:
    """A file of `size_bytes` with no holes and a swap header; `path` must not exist.

    Raises
    ------
    UnsettableError
        The disk is too small, or does not take it.
    """
    page = page_bytes()
    pages = size_bytes // page
    free = free_disk_bytes(path.parent)
    if size_bytes + DISK_RESERVE_BYTES > free:
        raise UnsettableError(
            f"a swap file of {size_bytes} bytes does not fit: {path.parent} has {free} bytes free"
        )
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            # Falls back to writing every block where the file system cannot reserve them.
            os.posix_fallocate(descriptor, 0, pages * page)
            os.pwrite(descriptor, swap_header(pages, page), 0)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise UnsettableError(f"the swap file {path} cannot be made: {error.strerror}") from None


def page_bytes() -> int:
    """Bytes of a page."""
    return os.sysconf("SC_PAGE_SIZE")


def write_swap_header(device: Path, size_bytes: int) -> None:
    """Make a swap area of the whole of `device`."""
    descriptor = os.open(device, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.pwrite(descriptor, swap_header(size_bytes // page_bytes(), page_bytes()), 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def swap_header(pages: int, page_bytes: int) -> bytes:
    """First page of a swap file (include/linux/swap.h, union swap_header): version 1, no bad pages."""
    header = bytearray(page_bytes)
    struct.pack_into("=III", header, 1024, 1, pages - 1, 0)
    header[1036:1052] = uuid.uuid4().bytes
    header[1052:1059] = b"satline"
    header[-10:] = b"SWAPSPACE2"
    return bytes(header)


def swap_on(path: Path, *, discard: bool = False) -> None:
    """Use `path` before every other swap device; with `discard` the space of freed pages is given back to it.

    Raises
    ------
    UnsettableError
        No permission, or a file system that swap files cannot be on.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    flags = SWAP_FLAG_PREFER | SWAP_PRIORITY
    if discard:
        flags |= SWAP_FLAG_DISCARD | SWAP_FLAG_DISCARD_PAGES
    if libc.swapon(os.fsencode(path), flags) != 0:
        raise UnsettableError(f"swapon {path}: {os.strerror(ctypes.get_errno())}")
