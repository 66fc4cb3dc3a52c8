"""A loop device on a file of satline-disk, whose requests take as long as a model says."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from satline.errors import SatlineError
from satline.systems import resources
from satline.systems.binaries import find_binary
from satline.systems.cgroups import UnsettableError
from satline.systems.swapdevices._making import Making

# include/uapi/linux/loop.h
LOOP_CONFIGURE = 0x4C0A
LOOP_CTL_GET_FREE = 0x4C82
LO_FLAGS_DIRECT_IO = 16
LOOP_INFO64_BYTES = 232
FLAGS_AT = 52
FILE_NAME_AT = 56
READY_TIMEOUT_S = 10.0
TRIALS = 5


def modelled(making: Making, character: Sequence[str], *, rotational: bool) -> Path:
    """The loop device, with a swap area on it.

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
