"""Swap devices of chosen character that a study makes here: a kind is a function and a line in `KINDS`.

Each is in the ledger before it is made: nothing of it is left, whatever happens. Standard library only.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import struct
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from satline.errors import SatlineError
from satline.systems import resources
from satline.systems.binaries import find_binary
from satline.systems.cgroups import UnsettableError
from satline.systems.ledger import Ledger

# include/uapi/linux/loop.h
LOOP_CONFIGURE = 0x4C0A
LOOP_CTL_GET_FREE = 0x4C82
LO_FLAGS_DIRECT_IO = 16
LOOP_INFO64_BYTES = 232
FLAGS_AT = 52
FILE_NAME_AT = 56
READY_TIMEOUT_S = 10.0
TRIALS = 5
# A disk behind a network, as clouds sell them: latency 0.3 ms, 125 MB/s; a request of up to 256 KiB counts
# once against the limit of requests per second. All of it is assumed.
NETWORK = ("network", "--latency-us", "300", "--bytes-per-second", "125000000")


@dataclass(frozen=True)
class Making:
    """What a kind of swap device is made from: where and how large.

    directory
        The run's own; gone after it.
    processors
        Those that a program which stands for the device may use: not the load's. Empty: all.
    sys, dev
        Where the kernel's files are.
    """

    ledger: Ledger
    directory: Path
    size_bytes: int
    processors: tuple[int, ...] = ()
    sys: Path = Path("/sys")
    dev: Path = Path("/dev")


def disk(making: Making) -> Path:
    """A swap file on the disk of the scratch directory: as fast as that disk is."""
    path = making.directory / "swap"
    making.ledger.add("swap", path=str(path))
    resources.write_swap_file(path, making.size_bytes)
    return path


def network(making: Making) -> Path:
    """3,000 requests a second: the base of the general-purpose volumes of large clouds."""
    return modelled(making, (*NETWORK, "--iops", "3000"), rotational=False)


def network_500(making: Making) -> Path:
    """500 requests a second: a small or crowded volume."""
    return modelled(making, (*NETWORK, "--iops", "500"), rotational=False)


def rotating(making: Making) -> Path:
    """A turning disk with one arm: seek by distance, wait for the place to come round, transfer.

    7,200 turns a minute, 1 MB a track, 0.8 ms to settle, 15 ms × √(part of the disk) of way, of a disk of
    1 TB of which the swap area is the beginning: the order of desktop disks of 2010–2020, not one product's
    figures. The kernel is told that it turns, as a real one tells it: it reads ahead by place then.
    """
    return modelled(making, ("rotating",), rotational=True)


def zram(making: Making) -> Path:
    """Compressed storage in main storage (zram), with the kernel's own compressor.

    A device that nobody has set up yet, else a new one.
    """
    name, added = _free(making)
    place, device = making.sys / "block" / name, making.dev / name
    page = resources.page_bytes()
    size = making.size_bytes // page * page
    making.ledger.add(
        "zram", path=str(device), sys=str(place), bytes=size, control=_control(making) if added else None
    )
    try:
        (place / "disksize").write_text(str(size))
        resources.write_swap_header(device, size)
    except OSError as error:
        raise UnsettableError(f"{device} cannot be set up: {error.strerror}") from None
    return device


def _control(making: Making) -> str:
    return str(making.sys / "class/zram-control")


def _free(making: Making) -> tuple[str, bool]:
    """Its name, and whether it was made for this."""
    for place in sorted((making.sys / "block").glob("zram*")):
        if (place / "disksize").read_text().strip() == "0":
            return place.name, False
    try:
        number = (Path(_control(making)) / "hot_add").read_text().strip()
    except OSError as error:
        raise UnsettableError(f"no zram device: {error.strerror}; the kernel needs CONFIG_ZRAM") from None
    return f"zram{number}", True


def modelled(making: Making, character: Sequence[str], *, rotational: bool) -> Path:
    """A swap area on a loop device on a file of satline-disk, whose requests take as long as a model says.

    Parameters
    ----------
    character
        What satline-disk is told.
    rotational
        What the kernel is told of the device; it reads ahead otherwise on one that turns.
    """
    page = resources.page_bytes()
    size = making.size_bytes // page * page
    file = making.directory / "disk"
    file.touch(mode=0o600)
    making.ledger.add("mount", path=str(file))
    _serve(making, file, size, character)
    device = _attach(making, file)
    resources.write_swap_header(device, size)
    queue = making.sys / "block" / device.name / "queue"
    # The scheduler is what the kernel chooses for a disk of one queue; for loop devices it chooses none.
    # Some kernels lack these files.
    for name, value in (("rotational", str(int(rotational))), ("scheduler", "mq-deadline")):
        with contextlib.suppress(OSError):
            (queue / name).write_text(value)
    return device


def _serve(making: Making, file: Path, size: int, character: Sequence[str]) -> None:
    """Start the program that stands for the disk; it ends when the file is unmounted."""
    try:
        program = find_binary("satline-disk")
    except SatlineError as error:
        raise UnsettableError(error.message) from None
    # Not one of the run's marked processes: they end before swap is off, and it must serve until then.
    environment = {name: value for name, value in os.environ.items() if name != "SATLINE_RUN"}
    log = making.directory / "disk.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [str(program), str(file), "--bytes", str(size), *character],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd="/",
            env=environment,
            start_new_session=True,
        )
    if making.processors:
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(process.pid, making.processors)
    assert process.stdout is not None
    with process.stdout as output:
        ready = select.select([output], [], [], READY_TIMEOUT_S)[0] and output.readline().strip()
    if ready != b"ready":
        process.kill()
        process.wait()
        said = log.read_text(errors="replace").strip().splitlines()
        raise UnsettableError(said[0] if said else f"{program.name} did not get ready")


def _attach(making: Making, file: Path) -> Path:
    """A free loop device on `file`."""
    try:
        control = os.open(making.dev / "loop-control", os.O_RDWR | os.O_CLOEXEC)
        backing = os.open(file, os.O_RDWR | os.O_CLOEXEC | os.O_DIRECT)
    except OSError as error:
        raise UnsettableError(f"no loop device: {error.filename}: {error.strerror}") from None
    try:
        for _ in range(TRIALS):
            device = making.dev / f"loop{fcntl.ioctl(control, LOOP_CTL_GET_FREE)}"
            making.ledger.add("loop", path=str(device), backing=str(file))
            if _configured(device, backing, file):
                return device
        raise UnsettableError("no loop device: others are quicker every time")
    except OSError as error:
        raise UnsettableError(f"no loop device: {error.strerror}") from None
    finally:
        os.close(backing)
        os.close(control)


def _configured(device: Path, backing: int, file: Path) -> bool:
    info = bytearray(LOOP_INFO64_BYTES)
    struct.pack_into("=I", info, FLAGS_AT, LO_FLAGS_DIRECT_IO)
    name = os.fsencode(file)[:63]
    info[FILE_NAME_AT : FILE_NAME_AT + len(name)] = name
    request = struct.pack("=II", backing, resources.page_bytes()) + bytes(info) + bytes(64)
    descriptor = os.open(device, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(descriptor, LOOP_CONFIGURE, request)
    except OSError as error:
        if error.errno == errno.EBUSY:  # somebody else has taken it meanwhile
            return False
        raise
    finally:
        os.close(descriptor)
    return True


# What to swap on, made and in the ledger; UnsettableError where it cannot be had here.
KINDS: dict[str, Callable[[Making], Path]] = {
    "disk": disk,
    "network": network,
    "network-500": network_500,
    "rotating": rotating,
    "zram": zram,
}
