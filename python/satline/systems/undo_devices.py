"""Undoing swap devices: each only where it is still what the ledger says.

Standard library only: the janitor imports this.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import time
from pathlib import Path

from satline.systems.ledger import Entry

LOOP_CLR_FD = 0x4C01
MNT_DETACH = 2
BUSY_TIMEOUT_S = 15.0


def undo_loop(entry: Entry, _proc: Path) -> None:
    """Let go of the file, if it is still that file that the loop device is on."""
    device = Path(entry["path"])
    try:
        backing = (Path("/sys/block") / device.name / "loop/backing_file").read_text().strip()
    except OSError:
        return  # it is on none
    # The kernel adds a word when the file's name has gone.
    if backing.removesuffix(" (deleted)") != entry["backing"] or not _of_a_run(entry["backing"]):
        return
    descriptor = os.open(device, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(descriptor, LOOP_CLR_FD)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
    finally:
        os.close(descriptor)


def undo_mount(entry: Entry, proc: Path) -> None:
    """Unmount; the program behind it ends then."""
    path = str(entry["path"])
    mounted = [line.split()[4] for line in (proc / "self/mountinfo").read_text().splitlines()]
    for place in mounted:
        if place.replace("\\040", " ") == path and _of_a_run(path):
            _unmount(path)


def _of_a_run(path: str) -> bool:
    """In a directory that a run made: a ledger is a plain file, whatever it says."""
    return Path(path).parent.name.startswith("satline-")


def _unmount(path: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.umount2(os.fsencode(path), MNT_DETACH) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{path} cannot be unmounted: {os.strerror(number)}")


def undo_zram(entry: Entry, _proc: Path) -> None:
    """Empty the device, if it has still the size that the run gave it."""
    place, size = Path(entry["sys"]), str(entry["bytes"])
    if not (place / "disksize").exists():
        return
    if (place / "disksize").read_text().strip() == size:
        _write_when_free(place / "reset", "1")
    if entry.get("control") and (place / "disksize").read_text().strip() == "0":
        _write_when_free(Path(entry["control"]) / "hot_remove", place.name.removeprefix("zram"))


def _write_when_free(path: Path, text: str) -> None:
    """Others look at a new device for a moment (udev), and it is busy meanwhile."""
    end = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            path.write_text(text)
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > end:
                raise
            time.sleep(0.05)
