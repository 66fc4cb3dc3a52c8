"""A virtual machine as the swapper's user: QEMU in a control group of its own, paging to a file of this host.

It is emulated even where there is KVM: the kernel tells of no page fault of KVM's guests.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from satline.swapper import UserStatus, explain_user
from satline.systems.guest import EMULATION, GuestSettings
from satline.systems.guest.files import find_program

from .booted_guest import WAIT_S
from .conftest import wait_for
from .paging import PAGE_BYTES, kib, paging_file, swapped_pages
from .swapper_guest import PLACE, SwapperGuest, started, swapper_or_skip
from .test_swapper import Swapper

pytestmark = [
    pytest.mark.system,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="swap and control groups are root's"),
]

VM, MIB = "vm", 1 << 20
SETTINGS = GuestSettings(memory_bytes=256 * MIB, swap_disks=0, accelerator=EMULATION)
SWAP_BYTES = 640 * MIB
HELD_MIB = 60
# Storage is short below the one limit and not below the other, whatever the machine uses.
LOW_BYTES, SHORT_BYTES, AMPLE_BYTES = 768 * MIB, 700 * MIB, 2048 * MIB
POLICY = """[[watch]]
pid_file = "{pids}"
# As the guide has it: an idle guest's own timers touch thousands of pages, and are no return.
cpu_share = 0.05
cpu_burst_us = 100_000
faults = 1_000_000
[activity]
tick_ms = 100
rescan_seconds = 0.5
[queue_drop]
idle_seconds = 3
[storage]
cgroup = "/{group}"
low = {low}
high = {low}
[swap_out]
unknown = "address"
[prepage]
share_of_free_storage = 1.0
[safety]
swap_reserve = 0
"""


class Host(Swapper):
    """The swapper on this host, and the group with a limit that its users are in."""

    group: Path

    def words(self) -> list[str]:
        """Before a command's words: it begins in the group, so that all its storage counts there."""
        return ["sh", "-c", f'echo $$ > {self.group}/cgroup.procs; exec "$@"', "sh"]

    def watch(self, pid: int) -> None:
        """Make a user of this process."""
        with self.pids.open("a") as file:
            file.write(f"{pid}\t{VM}\n")

    def said_at(self) -> int:
        """When it last wrote its status, ns."""
        status = self.said()
        return status.time_ns if status is not None else 0

    def be_short(self, short: bool) -> None:
        limit_file(self.group).write_text(str(SHORT_BYTES if short else AMPLE_BYTES))

    def until(self, which: Callable[[UserStatus], bool], what: str) -> UserStatus:
        """The machine's status once it is so."""

        def found() -> UserStatus | None:
            assert all(process.poll() is None for process in self.started), "the swapper or QEMU has ended"
            one = self.of(VM)
            return one if one is not None and which(one) else None

        one = wait_for(found, f"{what}, not {self.of(VM)}", WAIT_S)
        assert isinstance(one, UserStatus)
        return one

    def policy(self, low: float = 0.0, more: str = "") -> Path:
        del low, more
        path = self.directory / "policy.toml"
        path.write_text(POLICY.format(pids=self.pids, group=self.group.name, low=LOW_BYTES))
        return path


@contextmanager
def group(name: str) -> Iterator[Path]:
    """A control group with a limit far above what is put into it, as long as the block runs."""
    root = Path("/sys/fs/cgroup/memory")
    if not (root / "memory.limit_in_bytes").exists():
        root = Path("/sys/fs/cgroup")
    path = root / name
    try:
        path.mkdir()
    except OSError as error:
        pytest.skip(f"no control groups: {error.strerror}")
    try:
        if not limit_file(path).exists():
            pytest.skip("no control group that limits storage")
        limit_file(path).write_text(str(AMPLE_BYTES))
        yield path
    finally:
        wait_for(lambda: not (path / "cgroup.procs").read_text(), "an empty group", WAIT_S)
        path.rmdir()


def limit_file(path: Path) -> Path:
    version_1 = path / "memory.limit_in_bytes"
    return version_1 if version_1.exists() else path / "memory.max"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """The swapper, a group with a limit, and swap space on a file."""
    program = swapper_or_skip()
    made = Host(tmp_path, program)
    with ExitStack() as stack:
        stack.enter_context(paging_file(tmp_path / "swap", SWAP_BYTES))
        made.group = stack.enter_context(group(f"swapper-test-{os.getpid()}"))
        # Whatever was started ends first.
        stack.callback(made.end)
        yield made


class Typist:
    """A program in the guest that holds storage and works on part of it at every line."""

    def __init__(self, guest: SwapperGuest) -> None:
        self.guest, self.lines = guest, 0
        words = f"python3 kernel.py --megabytes {HELD_MIB} --shape pages --part 0.3 --seed 7"
        guest.run(f"mkfifo {PLACE}/run/pipe; : > {PLACE}/run/said")
        guest.run(f"cd {PLACE}; (exec {words} <>run/pipe >run/said 2>&1) & echo")
        guest.wait(lambda: "kernel>" in self.said(), "a prompt")

    def said(self) -> str:
        return self.guest.read(f"{PLACE}/run/said")

    def work(self) -> None:
        """Type a line, and wait until it is worked on."""
        self.lines += 1
        self.guest.run(f"echo work > {PLACE}/run/pipe")
        self.guest.wait(lambda: self.said().count("worked on") == self.lines, "a line's work")


def test_a_machine_goes_out_stays_out_while_it_idles_and_comes_back(host: Host) -> None:
    with started(host.directory, SETTINGS, host.words()) as guest:
        pid = int((host.group / "cgroup.procs").read_text())
        typist = Typist(guest)
        typist.work()
        host.watch(pid)
        host.start()
        host.until(lambda one: one.state == "idle" and one.stays >= 1, "an idle machine")
        assert swapped_pages(pid) == 0
        for resumes in range(3):
            host.be_short(True)
            goes_out_and_stays(host, pid, resumes)
            host.be_short(False)
            typist.work()
            one = is_back_and_idle(host, resumes + 1)
            assert one.working_set_bytes is not None
        assert one.prepaged_pages > 0
        # How much of it is in vain hangs on what the guest's timers did meanwhile.
        assert one.prepage_errors < one.prepaged_pages


def goes_out_and_stays(host: Host, pid: int, resumes: int) -> None:
    """Out, though its own timers touch pages: by default the second of these would bring it back."""
    host.until(lambda one: one.state == "swapped", "a machine that is out")
    before = swapped_pages(pid)
    assert before * PAGE_BYTES > HELD_MIB * MIB
    wait_for(lambda: before - swapped_pages(pid) >= 100, "pages that an idle machine touches", WAIT_S)
    now_ns = time.time_ns()
    wait_for(lambda: host.said_at() > now_ns, "a word of the swapper's after that", WAIT_S)
    one = host.until(lambda one: one.state != "idle", "out or back")
    assert (one.state, one.resumes) == ("swapped", resumes)


def is_back_and_idle(host: Host, resumes: int) -> UserStatus:
    return host.until(lambda one: one.resumes == resumes and one.state == "idle", "back and idle again")


def test_shared_storage_of_a_machine_is_left_out_and_it_is_said(host: Host) -> None:
    size = 64 * MIB
    memory = f"memory-backend-memfd,id=ram,size={size},share=on,prealloc=on"
    command = [find_program("qemu-system-x86_64"), "-nodefaults", "-no-user-config", "-display", "none"]
    command += ["-accel", "tcg", "-machine", "pc,memory-backend=ram", "-m", f"{size // MIB}", "-S"]
    pid = host.user(VM, *host.words(), *command, "-object", memory).pid
    wait_for(lambda: kib(pid, "RssShmem") * 1024 >= size, "its storage", WAIT_S)
    host.start()
    host.until(lambda one: one.state == "idle" and one.stays >= 1, "an idle machine")
    host.be_short(True)
    host.until(lambda one: one.swapped_out_pages > 0, "what is its own written out")
    assert kib(pid, "RssShmem") * 1024 >= size
    assert kib(pid, "VmSwap") * 1024 < size
    status = host.said()
    assert status is not None
    assert any("64.0 MiB are shared memory" in line for line in explain_user(status, VM))
