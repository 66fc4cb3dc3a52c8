"""What plants stand on: modelled disks, swap on them and in compressed memory, a preferred group; and counts.

All is taken away at a plant's end, and by the next run where this one was killed.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from plants import Planted, _run


def later(planted: Planted, *command: object) -> None:
    """A program to run when all is taken away, also by the next run after a kill."""
    number = len(list(planted.scratch.glob("undo-*")))
    words = " ".join(str(word) for word in command)
    (planted.scratch / f"undo-{number:03}").write_text(f"{words}\n")
    planted.undo.append(lambda: _run(*command))


def swap_on(planted: Planted, device: str, priority: int) -> None:
    for command in (("mkswap", "-q", device), ("swapon", "-p", str(priority), device)):
        subprocess.run(command, check=True, capture_output=True)
    later(planted, "swapoff", device)


def modelled_disk(planted: Planted, size: int, *character: str) -> str:
    """A disk of this character: satline-disk under a loop device."""
    from satline.systems.binaries import find_binary

    file = planted.scratch / f"disk{len(list(planted.scratch.glob('disk*')))}"
    file.touch()
    program = subprocess.Popen(
        [str(find_binary("satline-disk")), str(file), "--bytes", str(size), *character],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )
    assert program.stdout is not None
    if program.stdout.readline().strip() != b"ready":
        raise RuntimeError("satline-disk did not get ready")
    planted.undo.append(lambda: _ended(program))
    later(planted, "umount", file)
    made = subprocess.run(
        ["losetup", "--find", "--show", "--direct-io=on", str(file)],
        check=True,
        capture_output=True,
        text=True,
    )
    device = made.stdout.strip()
    later(planted, "losetup", "--detach", device)
    return device


def modelled_swap(planted: Planted, size: int, iops: int, priority: int = 5) -> str:
    """Swap on a disk that does so many requests a second."""
    device = modelled_disk(planted, size, "network", "--latency-us", "500", "--iops", str(iops))
    swap_on(planted, device, priority)
    return device


def files_on(planted: Planted, device: str) -> Path:
    """A file system on a disk, in which files may be made."""
    place = planted.scratch / "files"
    place.mkdir()
    for command in (("mkfs.ext4", "-q", "-O", "^has_journal", device), ("mount", device, place)):
        subprocess.run([str(word) for word in command], check=True, capture_output=True)
    later(planted, "umount", place)
    return place


def for_all(planted: Planted, device: str) -> Path:
    """A name of a block device under which every user may read and write it."""
    place = planted.scratch / "disk"
    os.mknod(place, stat.S_IFBLK | 0o600, Path(device).stat().st_rdev)
    place.chmod(0o666)
    return place


def _ended(program: subprocess.Popen[bytes]) -> None:
    """Wait for it: it ends when its file is unmounted."""
    with suppress(subprocess.TimeoutExpired):
        program.wait(30)


def compressed_swap(planted: Planted, size: int, priority: int = 10) -> str:
    """Swap in compressed memory (zram)."""
    made = subprocess.run(
        ["zramctl", "--find", "--size", str(size)], check=True, capture_output=True, text=True
    )
    device = made.stdout.strip()
    later(planted, "zramctl", "--reset", device)
    swap_on(planted, device, priority)
    return device


def preferred(planted: Planted, shares: int = 8192) -> None:
    """All processes in a group with many shares of the CPU: the plant counts, not what else the host does."""
    planted.everywhere = (planted.group("cpu", "first", {"cpu.shares": str(shares)}),)


def swap_used(device: str) -> Callable[[], int]:
    """Bytes of a swap device in use."""

    def read() -> int:
        for line in Path("/proc/swaps").read_text().splitlines()[1:]:
            name, _, _, used, _ = line.split()
            if name == device:
                return int(used) << 10
        return 0

    return read


def requests(device: str) -> Callable[[], int]:
    """Reads and writes of a block device."""

    def read() -> int:
        fields = Path(f"/sys/class/block/{Path(device).name}/stat").read_text().split()
        return int(fields[0]) + int(fields[4])

    return read
