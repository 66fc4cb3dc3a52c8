"""A guest in which the swapper watches users of its own: on another kernel than this host's."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from satline.errors import InputError, SatlineError
from satline.swapper.status import Status, UserStatus
from satline.systems.binaries import find_binary
from satline.systems.guest import GuestSettings
from satline.systems.guest.files import find_program
from satline.systems.guest.image import find_image

from . import booted_guest
from .booted_guest import BootedGuest
from .conftest import TREE

PLACE = "/opt/swapper"
SETTINGS = GuestSettings(memory_bytes=512_000_000, swap_disks=1, swap_disk_bytes=512 << 20)
PAGE_BYTES = 4096


@dataclasses.dataclass
class SwapperGuest(BootedGuest):
    """One with the swapper in it."""

    def tail(self) -> str:
        """What the swapper says of itself and the kernel of its devices, for a test that failed."""
        return self.run(
            f"cat {PLACE}/run/status.json {PLACE}/run/said 2>/dev/null; cat /proc/swaps; dmesg | tail -n 8"
        )


def swapper_or_skip() -> Path:
    """The swapper's program, where there are QEMU and an image for a guest too; else the test is skipped."""
    try:
        find_program("qemu-system-x86_64")
        find_image()
        return find_binary("satline-swapper")
    except InputError as error:
        pytest.skip(f"{error.message}; {error.hint}")
    except SatlineError as error:
        pytest.skip(error.message)


@contextmanager
def started(
    directory: Path,
    settings: GuestSettings = SETTINGS,
    before: Sequence[str] = (),
    options: str = "",
) -> Iterator[SwapperGuest]:
    """Boot a guest, put the swapper and the users' program into it; its disks are thrown away.

    Parameters
    ----------
    before
        Words before QEMU's command.
    options
        More words for its kernel's command line.

    Raises
    ------
    InputError, SatlineError
        There is no image, or a program is missing.
    """
    program = find_binary("satline-swapper")
    with booted_guest.started(directory, settings, before, options) as plain:
        guest = SwapperGuest(plain.machine, plain.connection, plain.shell, directory)
        kernel = TREE / "workloads/programs/kernel.py"
        guest.put({"satline-swapper": program, "kernel.py": kernel}, PLACE)
        guest.run(f"mkdir {PLACE}/run")
        yield guest


class User:
    """A process that holds storage and works on part of it at every line, in a group below /load."""

    # Below /sys/fs/cgroup.
    GROUP = "/load/{}"

    def __init__(self, guest: SwapperGuest, name: str, megabytes: int, *options: str) -> None:
        self.guest, self.group = guest, f"/sys/fs/cgroup{self.GROUP.format(name)}"
        self._said, self.lines = f"{PLACE}/run/{name}.said", 0
        self._pipe = f"{PLACE}/run/{name}.pipe"
        # Read before he has begun, too.
        guest.run(f"rm -f {self._pipe} {self._said}; mkfifo -m 666 {self._pipe}")
        guest.run(f": > {self._said}; chmod 666 {self._said}")
        words = ["--megabytes", str(megabytes), "--shape", "pages", "--seed", "7", *options]
        self.pid = self._begun(
            name,
            f"exec python3 {PLACE}/kernel.py {shlex.join(words)} <>{self._pipe} >{self._said} 2>&1",
        )
        guest.wait(lambda: self._has_said() >= 0, f"{name} at his prompt")

    def _begun(self, name: str, command: str) -> int:
        """Start a shell's command in his group; his process."""
        del name
        started = f"mkdir -p {self.group}; (echo $BASHPID > {self.group}/cgroup.procs; {command}) & echo $!"
        return int(self.guest.run(started))

    def _has_said(self) -> int:
        text = self.guest.read(self._said)
        assert "Traceback" not in text, text
        return text.count("worked on") if "kernel>" in text else -1

    def type(self) -> None:
        """Type a line; he works on it. Whoever types waits with him for the page that he reads it into."""
        self.lines += 1
        self.guest.run(f"(echo work > {self._pipe}) </dev/null >/dev/null 2>&1 &")

    def has_done(self) -> bool:
        """Whether all lines are worked on."""
        return self._has_said() == self.lines

    def work(self) -> None:
        """Type a line and wait until it is done."""
        self.type()
        self.guest.wait(self.has_done, "a line's work")

    def state(self) -> str:
        """As the kernel has it: S sleeps, D waits for a device; empty: he is gone."""
        text = self.guest.run(f"grep '^State' /proc/{self.pid}/status || true")
        return text.split()[1] if text else ""

    def leave_no_copies(self) -> None:
        """What is in swap is nowhere else: the kernel keeps what it wrote until it needs the frames."""
        self.guest.wait(lambda: self.stat("anon") < 1 << 20, "pages out of his tables")
        self.guest.wait(lambda: self._reclaimed() < 64 << 10, "no copies in storage")

    def _reclaimed(self) -> int:
        """What is left of such copies when the kernel has taken what it can, bytes."""
        self.guest.run(f"echo 200M > {self.group}/memory.reclaim 2>/dev/null || true")
        return self.stat("swapcached")

    def end(self) -> None:
        self.guest.run(f"kill -9 {self.pid}; while test -d /proc/{self.pid}; do sleep 0.1; done")

    def swapped_pages(self) -> int:
        """His pages outside, as the kernel counts them."""
        line = self.guest.run(f"grep VmSwap /proc/{self.pid}/status")
        return int(line.split()[1]) * 1024 // PAGE_BYTES

    def major_faults(self) -> int:
        fields = self.guest.read(f"/proc/{self.pid}/stat").rpartition(")")[2].split()
        return int(fields[9])

    def swap_bytes(self) -> int:
        """What his group has in swap."""
        return int(self.guest.read(f"{self.group}/memory.swap.current"))

    def stat(self, name: str) -> int:
        """A number of his group's memory.stat."""
        return int(self.guest.run(f"grep '^{name} ' {self.group}/memory.stat").split()[1])


class Daemon:
    """The swapper in the guest."""

    STATUS = f"{PLACE}/run/status.json"
    USER = User

    def __init__(self, guest: SwapperGuest, policy: str, *options: str) -> None:
        self.guest = guest
        guest.write(f"{PLACE}/policy.toml", policy)
        words = [f"{PLACE}/satline-swapper", "run", "--policy", f"{PLACE}/policy.toml"]
        words += ["--status", self.STATUS, *options]
        guest.run(f"rm -f {PLACE}/run/status.*")
        self.pid = int(
            guest.run(f"setsid {shlex.join(words)} </dev/null >{PLACE}/run/said 2>&1 & echo $!").strip()
        )
        guest.wait(lambda: self.status() is not None, "the swapper's status")

    def lives(self) -> bool:
        return self.guest.run(f"test -d /proc/{self.pid} && echo yes || true") != ""

    def said(self) -> str:
        return self.guest.read(f"{PLACE}/run/said")

    def status(self) -> Status | None:
        assert self.lives(), self.said()
        text = self.guest.run(f"cat {self.STATUS} 2>/dev/null || true")
        return Status.model_validate(json.loads(text)) if text else None

    def of(self, name: str) -> UserStatus | None:
        status, user = self.status(), self.USER.GROUP.format(name)
        return next((one for one in status.users if one.user == user), None) if status else None

    def wait(self, name: str, which: Callable[[UserStatus], bool], what: str) -> UserStatus:
        def found() -> UserStatus | None:
            one = self.of(name)
            return one if one is not None and which(one) else None

        user = self.guest.wait(found, f"{name}: {what}")
        assert isinstance(user, UserStatus)
        return user

    def metrics(self) -> dict[str, float]:
        """What Prometheus would read."""
        request = r"GET /metrics HTTP/1.0\r\n\r\n"
        text = self.guest.run(f"bash -c 'exec 3<>/dev/tcp/127.0.0.1/9477; printf \"{request}\" >&3; cat <&3'")
        lines = [line for line in text.splitlines() if line.startswith("satline_swapper_")]
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}

    def announce(self, name: str) -> None:
        """Say that he is about to come back, as `satline swapper touch` does."""
        code = "from socket import *; import sys; name, path = sys.argv[1:]; "
        code += "socket(AF_UNIX, SOCK_DGRAM).sendto(name.encode(), path)"
        socket = Path(self.STATUS).with_suffix(".socket")
        self.guest.run(f"python3 -c {shlex.quote(code)} {self.USER.GROUP.format(name)} {socket}")

    def blocked_threads(self) -> int:
        """Those of its threads that wait for a device."""
        return int(self.guest.run(f"cat /proc/{self.pid}/task/*/status | grep -c '^State:.D' || true"))

    def end(self, signal: str = "TERM") -> None:
        self.send(signal)
        self.guest.wait(lambda: not self.lives(), "the end of the swapper")

    def send(self, signal: str) -> None:
        self.guest.run(f"kill -{signal} {self.pid}")
