"""Guests that start in seconds: the first of its kind boots and is saved, each run goes on from there."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from satline.errors import SatlineError
from satline.outside import parse_json
from satline.systems.guest import GuestSettings
from satline.systems.guest.boot import Disks, Machine, command_line, free_port
from satline.systems.guest.files import find_program
from satline.systems.guest.image import Image

SETTLE_S = 1.0
VERSION = 1


@dataclass(frozen=True)
class Snapshot:
    """A saved guest: the state of its memory and processors, and its disk as it was then."""

    directory: Path

    @property
    def state(self) -> Path:
        """What QEMU wrote."""
        return self.directory / "state"

    @property
    def disk(self) -> Path:
        """The disk as it was, on top of the image's."""
        return self.directory / "root.qcow2"

    def about(self) -> dict[str, object]:
        """What it is a snapshot of."""
        try:
            content = parse_json((self.directory / "about.json").read_text())
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}


@dataclass(frozen=True)
class Started:
    """A guest that runs, its port for SSH, and the seconds that it took."""

    machine: Machine
    port: int
    boot_s: float | None
    restore_s: float


def snapshots(cache: Path) -> list[Snapshot]:
    """All that are kept."""
    return [Snapshot(path.parent) for path in sorted((cache / "snapshots").glob("*/about.json"))]


def snapshot_name(image: Image, settings: GuestSettings, accelerator: str, furniture: str) -> str:
    """A name that changes with all that a saved state depends on."""
    parts = [VERSION, image.name(), settings.machine(), accelerator, qemu_version(), furniture]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def qemu_version() -> str:
    """First line of what QEMU says of itself: a state is only for the version that saved it."""
    said = subprocess.run(
        [find_program("qemu-system-x86_64"), "--version"], capture_output=True, text=True, check=False
    ).stdout
    return said.splitlines()[0] if said else ""


def start(
    image: Image,
    settings: GuestSettings,
    accelerator: str,
    directory: Path,
    qmp: Path,
    cache: Path,
    *,
    environment: Mapping[str, str],
    making: Callable[[], Path],
    furniture: str,
    furnish: Callable[[int], None],
    say: Callable[[str], None],
) -> Started:
    """Start a guest from its snapshot, which is made before if there is none.

    Parameters
    ----------
    directory
        For the run's disks and logs.
    qmp
        Socket to be; its name must be short.
    making
        Gives a directory beside the snapshots to make a new one in; its removal is the caller's.
    furniture, furnish
        Name of what is put into a guest before it is saved; what puts it there, at a port.

    Raises
    ------
    SatlineError
        It does not boot, or its state cannot be saved or restored; with what its console said.
    """
    snapshot = Snapshot(cache / "snapshots" / snapshot_name(image, settings, accelerator, furniture))
    boot_s = None
    if not (snapshot.directory / "about.json").exists():
        say("booting a guest of this kind, once …")
        boot_s = _make(snapshot, image, settings, accelerator, directory, qmp, making(), environment, furnish)
    begun = time.monotonic()
    overlay(snapshot.disk, "qcow2", directory / "root.qcow2")
    disks = Disks(directory / "root.qcow2", swap_files(directory, settings))
    port = free_port()
    command = command_line(image, settings, accelerator, directory, qmp, disks, port, restore=True)
    machine = Machine(command, directory, qmp, environment)
    try:
        machine.restore(snapshot.state)
        machine.wait_until_answers(port)
    except BaseException:
        machine.kill()
        raise
    return Started(machine, port, boot_s, time.monotonic() - begun)


def _make(
    snapshot: Snapshot,
    image: Image,
    settings: GuestSettings,
    accelerator: str,
    directory: Path,
    qmp: Path,
    making: Path,
    environment: Mapping[str, str],
    furnish: Callable[[int], None],
) -> float:
    """Boot, save, and give the snapshot its name; returns the seconds that the boot took."""
    made = Snapshot(making)
    # Paths in the overlay must hold when the directory gets its name: both are below the same cache.
    overlay(image.disk, "raw", made.disk)
    disks = Disks(made.disk, swap_files(directory, settings))
    port = free_port()
    begun = time.monotonic()
    machine = Machine(
        command_line(image, settings, accelerator, directory, qmp, disks, port), directory, qmp, environment
    )
    try:
        machine.wait_until_ready()
        machine.wait_until_answers(port)
        boot_s = time.monotonic() - begun
        furnish(port)
        time.sleep(SETTLE_S)  # what the boot began in the background is to be over
        machine.save(made.state)
    finally:
        machine.kill()
    qmp.unlink(missing_ok=True)
    for name in ("console.log", "qemu.log"):
        path = directory / name
        if path.exists():
            path.rename(directory / f"boot-{name}")
    about = {**settings.machine(), "accelerator": accelerator, "boot_seconds": round(boot_s, 1)}
    (making / "about.json").write_text(json.dumps(about))
    try:
        making.rename(snapshot.directory)
    except OSError as error:
        if not snapshot.directory.exists():
            raise SatlineError(f"{snapshot.directory} cannot be made: {error.strerror}") from None
    return boot_s


def overlay(base: Path, form: str, path: Path) -> None:
    """A disk that begins as `base` is and keeps what is written to it for itself."""
    command = [
        find_program("qemu-img"),
        "create",
        "-q",
        "-f",
        "qcow2",
        "-F",
        form,
        "-b",
        str(base.absolute()),
        str(path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SatlineError(
            f"{path} cannot be made: {done.stderr.strip()}", hint="is there space on the disk?"
        )


def swap_files(directory: Path, settings: GuestSettings) -> tuple[Path, ...]:
    """New, empty paging devices for a run."""
    files = tuple(directory / f"swap{number}" for number in range(settings.swap_disks))
    for path in files:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        os.ftruncate(descriptor, settings.swap_disk_bytes // 4096 * 4096)
        os.close(descriptor)
    return files
