"""A guest that tests run commands in: on another kernel than this host's, with another init."""

from __future__ import annotations

import dataclasses
import io
import shlex
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from satline.errors import SatlineError
from satline.systems.guest import GuestSettings, accelerator, boot
from satline.systems.guest.files import cache_directory
from satline.systems.guest.image import ALIAS, find_image
from satline.systems.guest.snapshot import overlay, swap_files
from satline.systems.remote import RemoteSettings
from satline.systems.remote.connection import Connection

from .guest_shell import Shell

# An emulated processor on a busy machine takes its time.
WAIT_S = 600.0


@dataclasses.dataclass
class BootedGuest:
    """A running guest: commands are run in it by its shell."""

    machine: boot.Machine
    connection: Connection
    shell: Shell
    directory: Path

    def run(self, command: str) -> str:
        """What a command prints; it must succeed."""
        return self.shell.run(command, WAIT_S).decode()

    def write(self, path: str, text: str) -> None:
        """Write a file; the kernel's answer to it must be good."""
        self.run(f"printf %s {shlex.quote(text)} > {path}")

    def read(self, path: str) -> str:
        return self.run(f"cat {path}")

    def wait(self, condition: Callable[[], object], what: str) -> Any:
        """The condition's value once it is true."""
        end = time.monotonic() + WAIT_S
        while not (value := condition()):
            assert self.machine.lives(), "the guest has ended"
            assert time.monotonic() < end, f"waited in vain for {what}\n{self.tail()}"
            time.sleep(0.25)
        return value

    def tail(self) -> str:
        """What the kernel says, for a test that failed."""
        return self.run("dmesg | tail -n 8")

    def put(self, files: Mapping[str, Path | bytes], place: str) -> None:
        """Put files, or directories, below a directory of the guest.

        files
            Name there → a path here, or the content.
        """
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for name, source in files.items():
                if isinstance(source, bytes):
                    entry = tarfile.TarInfo(name)
                    entry.size, entry.mode = len(source), 0o755
                    archive.addfile(entry, io.BytesIO(source))
                else:
                    archive.add(source.resolve(), name, filter=_readable)
        log = self.directory / "tar.log"
        with self.connection.start(f"mkdir -p {place} && tar -xof - -C {place}", log) as there:
            there.communicate(buffer.getvalue(), WAIT_S)
        if there.returncode != 0:
            raise SatlineError(log.read_text(errors="replace"))

    def fetch(self, path: str) -> Path:
        """A directory of the guest, here."""
        data = self.connection.run(f"tar -cf - -C {path} .")
        target = self.directory / f"fetched-{len(list(self.directory.glob('fetched-*')))}"
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(target, filter="data")
        return target


def _readable(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """For all users of the guest."""
    entry.mode |= 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry


@contextmanager
def started(
    directory: Path,
    settings: GuestSettings,
    before: Sequence[str] = (),
    options: str = "",
    disks: Sequence[Path] = (),
) -> Iterator[BootedGuest]:
    """Boot a guest; its disks are thrown away.

    Parameters
    ----------
    before
        Words before QEMU's command.
    options
        More words for its kernel's command line.
    disks
        Further disks (raw), behind those for paging.

    Raises
    ------
    InputError, SatlineError
        There is no image, or a program is missing.
    """
    image = find_image(release=settings.release)
    chosen = accelerator.choose(settings.accelerator, image, cache_directory(), {})
    overlay(image.disk, "raw", directory / "root.qcow2")
    all_disks = boot.Disks(directory / "root.qcow2", (*swap_files(directory, settings), *disks))
    port = boot.free_port()
    with tempfile.TemporaryDirectory(prefix="satline-sg-") as sockets:
        command = boot.command_line(
            image, settings, chosen.name, directory, Path(sockets) / "qmp", all_disks, port, options=options
        )
        machine = boot.Machine([*before, *command], directory, Path(sockets) / "qmp", {})
        try:
            machine.wait_until_ready()
            machine.wait_until_answers(port)
            remote = RemoteSettings(
                host="root@127.0.0.1",
                port=port,
                identity=image.identity,
                known_hosts=image.known_hosts,
                options=(f"HostKeyAlias={ALIAS}",),
                config=False,
                where="the guest",
            )
            connection = Connection(remote, Path(sockets), 0, {})
            connection.open()
            shell = Shell(connection, directory / "shell.log")
            try:
                yield BootedGuest(machine, connection, shell, directory)
            finally:
                shell.close()
                connection.close()
        finally:
            machine.kill()
