"""A guest's machine: QEMU's command line, its start, and what its console said when it fails."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from satline.errors import SatlineError
from satline.systems.guest import KVM, GuestSettings
from satline.systems.guest.files import find_program
from satline.systems.guest.image import READY, Image
from satline.systems.guest.qmp import Qmp

BOOT_TIMEOUT_S = 300.0
RESTORE_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 10.0
FEW_LINES = 8
KERNEL_OPTIONS = (
    "console=ttyS0 quiet loglevel=4 net.ifnames=0 panic=-1 mitigations=off nowatchdog random.trust_cpu=on"
)


def accelerator_words(accelerator: str) -> list[str]:
    """QEMU's options for an accelerator and the processor that goes with it."""
    if accelerator == KVM:
        return ["-accel", "kvm", "-cpu", "host"]
    return ["-accel", "tcg,thread=multi", "-cpu", "max"]


@dataclass(frozen=True)
class Disks:
    """Files of a guest's disks: its own, and its paging devices."""

    root: Path
    swap: tuple[Path, ...]


def command_line(
    image: Image,
    settings: GuestSettings,
    accelerator: str,
    directory: Path,
    qmp: Path,
    disks: Disks,
    port: int,
    restore: bool = False,
    options: str = "",
) -> list[str]:
    """QEMU's command.

    Parameters
    ----------
    directory
        For the console's log.
    qmp
        Socket to be, for its machine protocol.
    port
        Of 127.0.0.1, which leads to the guest's SSH; nothing else leads in, and nothing out.
    restore
        A saved state is to be taken over.
    options
        More words for the kernel's command line.
    """
    command = [find_program("qemu-system-x86_64"), "-nodefaults", "-no-user-config", "-display", "none"]
    command += ["-machine", "pc", *accelerator_words(accelerator)]
    command += ["-m", str(settings.memory_mib()), "-smp", str(settings.processors)]
    command += ["-no-reboot", "-rtc", "base=utc,clock=host"]
    command += ["-kernel", str(image.kernel), "-initrd", str(image.initrd)]
    command += ["-append", f"{KERNEL_OPTIONS} {options}".strip()]
    command += ["-serial", f"file:{_escaped(directory / 'console.log')}"]
    command += ["-qmp", f"unix:{_escaped(qmp)},server=on,wait=off"]
    command += ["-drive", f"file={_escaped(disks.root)},if=none,id=root,format=qcow2,cache=unsafe"]
    command += ["-device", "virtio-blk-pci,drive=root,serial=root"]
    for number, path in enumerate(disks.swap):
        caps = "".join(
            f",throttling.{name}={value}"
            for name, value in (
                ("iops-total", settings.swap_iops),
                ("bps-total", settings.swap_bytes_per_second),
            )
            if value is not None
        )
        command += [
            "-drive",
            f"file={_escaped(path)},if=none,id=swap{number},format=raw,cache=writeback{caps}",
        ]
        command += ["-device", f"virtio-blk-pci,drive=swap{number},serial=swap{number}"]
    forward = f"hostfwd=tcp:127.0.0.1:{port}-10.0.2.15:22"
    command += [
        "-netdev",
        f"user,id=net,restrict=on,{forward}",
        "-device",
        "virtio-net-pci,netdev=net,romfile=",
    ]
    command += ["-object", "rng-random,id=rng,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=rng"]
    if restore:
        command += ["-incoming", "defer"]
    return command


def _escaped(path: Path) -> str:
    """A comma in a file's name is doubled in QEMU's options."""
    return str(path).replace(",", ",,")


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Machine:
    """A running guest.

    Parameters
    ----------
    command
        From `command_line`.
    directory, qmp
        The same as there.
    environment
        Variables beside those inherited; the run's mark is one of them.
    """

    def __init__(
        self, command: Sequence[str], directory: Path, qmp: Path, environment: Mapping[str, str]
    ) -> None:
        self._directory = directory
        with (directory / "qemu.log").open("wb") as log:
            self._process = subprocess.Popen(
                command,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            self.qmp = Qmp(qmp, self.lives)
        except SatlineError as error:
            self.kill()
            raise self.failure(error.message) from None

    def lives(self) -> bool:
        """Whether QEMU runs."""
        return self._process.poll() is None

    def wait_until_ready(self, text: str = READY, timeout_s: float = BOOT_TIMEOUT_S) -> float:
        """Wait until the console says `text`; returns the seconds it took.

        Raises
        ------
        SatlineError
            The guest ended before, or did not say it in time.
        """
        begun = time.monotonic()
        console = self._directory / "console.log"
        while not (console.exists() and text.encode() in console.read_bytes()):
            if not self.lives():
                raise self.failure("the guest ended while it booted")
            if time.monotonic() - begun > timeout_s:
                raise self.failure(f"the guest has not booted after {timeout_s:.0f} s")
            time.sleep(0.05)
        return time.monotonic() - begun

    def wait_until_answers(self, port: int, timeout_s: float = BOOT_TIMEOUT_S) -> None:
        """Wait until the guest's SSH server greets at `port`.

        Raises
        ------
        SatlineError
            It does not in time, or the guest ended.
        """
        end = time.monotonic() + timeout_s
        while not _greets(port):
            if not self.lives():
                raise self.failure("the guest ended while it booted")
            if time.monotonic() > end:
                raise self.failure(f"the guest's SSH server does not answer after {timeout_s:.0f} s")
            time.sleep(0.1)

    def restore(self, state: Path) -> None:
        """Take over a saved state and go on from it."""
        self.qmp.do("migrate-incoming", uri=f"exec:cat {shlex.quote(str(state))}")
        status = self.qmp.wait_until(
            "query-status", lambda answer: answer["status"] != "inmigrate", RESTORE_TIMEOUT_S
        )
        if status["status"] not in ("running", "paused", "postmigrate", "prelaunch"):
            raise self.failure(f"the guest's saved state could not be restored: {status['status']}")
        self.qmp.do("cont")

    def save(self, state: Path) -> None:
        """Stop the guest and write its state; it does not go on afterwards."""
        self.qmp.do("stop")
        self.qmp.do("migrate", uri=f"exec:cat > {shlex.quote(str(state))}")
        answer = self.qmp.wait_until(
            "query-migrate", lambda answer: answer.get("status") in ("completed", "failed"), RESTORE_TIMEOUT_S
        )
        if answer["status"] != "completed":
            raise self.failure(f"the guest's state could not be saved: {answer.get('error-desc', '')}")

    def failure(self, message: str) -> SatlineError:
        """An error with the end of what QEMU and the console said."""
        lines: list[str] = []
        for name in ("qemu.log", "console.log"):
            path = self._directory / name
            if path.exists():
                lines += path.read_text(errors="replace").strip().splitlines()[-FEW_LINES:]
        return SatlineError(message + "".join(f"\n  {line}" for line in lines if line.strip()))

    def kill(self) -> None:
        """End QEMU at once: a guest's disks are thrown away."""
        if hasattr(self, "qmp"):
            self.qmp.close()
        if self.lives():
            self._process.send_signal(signal.SIGKILL)
        self._process.wait(STOP_TIMEOUT_S)


def _greets(port: int) -> bool:
    """QEMU takes connections before the guest does, and drops them: only a greeting tells."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False
