"""The swapper on this kernel: real processes come, work, rest, exec and go. Nothing here needs swap space."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import which

import pytest

from satline.errors import SatlineError
from satline.recording import Recording, check
from satline.swapper import Status, UserStatus, announce, read_status, replay
from satline.systems.binaries import find_binary

from .conftest import WAIT_S, wait_for

pytestmark = [pytest.mark.system]

WORK = """import sys
print("ready", flush=True)
for line in sys.stdin:
    print(sum(range(3_000_000)), flush=True)
"""
POLICY = """[[watch]]
pid_file = "{pids}"
[activity]
tick_ms = 20
rescan_seconds = 0.1
[queue_drop]
idle_seconds = 0.5
[storage]
low = {low}
high = 1.0
[safety]
swap_reserve = 0
"""


class Swapper:
    """A daemon and the users it watches."""

    def __init__(self, directory: Path, program: Path) -> None:
        self.directory, self.program = directory, program
        self.pids = directory / "pids"
        self.pids.touch()
        self.status = directory / "status.json"
        self.recording = directory / "run.satline"
        self.started: list[subprocess.Popen[str]] = []
        # Words before the daemon's.
        self.before: list[str] = []

    def policy(self, low: float = 0.0, more: str = "") -> Path:
        path = self.directory / "policy.toml"
        path.write_text(POLICY.format(pids=self.pids, low=low) + more)
        return path

    def start(self, *words: str, low: float = 0.0, more: str = "") -> "subprocess.Popen[str]":
        command = [self.program, "run", "--policy", self.policy(low, more), "--status", self.status, *words]
        return self.run([*self.before, *(str(word) for word in command)])

    def user(self, name: str, *command: str, says_ready: bool = False) -> "subprocess.Popen[str]":
        process = self.run([sys.executable, "-c", WORK] if not command else list(command))
        if not command or says_ready:
            # What it does to begin with is no stay: on a busy machine it would look like several.
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        with self.pids.open("a") as file:
            file.write(f"{process.pid}\t{name}\n")
        return process

    def run(self, command: list[str]) -> "subprocess.Popen[str]":
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        self.started.append(process)
        return process

    def end(self) -> None:
        """End the daemon and the users."""
        for process in self.started:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()

    def said(self) -> Status | None:
        try:
            return read_status(self.status)
        except SatlineError:
            return None

    def of(self, name: str) -> UserStatus | None:
        status = self.said()
        return next((user for user in status.users if user.user == name), None) if status else None

    def wait(self, name: str, which: Callable[[UserStatus], bool], what: str) -> None:
        wait_for(lambda: (user := self.of(name)) is not None and which(user), what)


@pytest.fixture
def swapper(tmp_path: Path) -> Iterator[Swapper]:
    try:
        program = find_binary("satline-swapper")
    except SatlineError as error:
        pytest.skip(error.message)
    path = tmp_path / "any.toml"
    path.write_text("[[watch]]\npid = 2\n")
    if subprocess.run([program, "abilities", path], capture_output=True, check=False).returncode != 0:
        pytest.skip("this kernel or these privileges give no advice on pages of other processes")
    made = Swapper(tmp_path, program)
    yield made
    made.end()


def test_a_user_works_rests_and_goes(swapper: Swapper) -> None:
    user = swapper.user("mary")
    daemon = swapper.start("--recording", str(swapper.recording))
    swapper.wait("mary", lambda one: one.state == "idle" and one.stays == 1, "the end of a stay")
    assert user.poll() is None
    assert user.stdin is not None
    assert user.stdout is not None
    user.stdin.write("go\n")
    user.stdin.flush()
    user.stdout.readline()
    swapper.wait("mary", lambda one: one.stays >= 2, "the end of a second stay")
    user.kill()
    user.wait()
    wait_for(lambda: (status := swapper.said()) is not None and not status.users, "a daemon without users")
    daemon.terminate()
    assert daemon.wait(WAIT_S) == 0
    assert not swapper.status.exists()
    assert not swapper.status.with_suffix(".socket").exists()
    assert check(swapper.recording).ok
    done = replay(swapper.recording, swapper.policy())
    assert done.actions["record"] >= 1
    assert done.seconds > 0


def test_an_exec_forgets_what_was_known(swapper: Swapper) -> None:
    code = "import os, sys\nprint('ready', flush=True)\nsys.stdin.readline()\n"
    code += "os.execv(sys.executable, [sys.executable, '-c', 'input()'])"
    swapper.start()
    # Who gets no processor in the midst of a start seems to rest, and begins another stay: then another user.
    for name in ("eve", "ann", "joe", "kim"):
        user = swapper.user(name, sys.executable, "-c", code, says_ready=True)
        swapper.wait(name, lambda one: one.state == "idle" and one.stays == 1, "the end of a stay")
        assert user.stdin is not None
        user.stdin.write("go\n")
        user.stdin.flush()
        seen: list[UserStatus] = []

        def stays_anew(name: str = name, seen: list[UserStatus] = seen) -> bool:
            seen += [one for one in [swapper.of(name)] if one is not None and one.stays >= 2]
            return bool(seen)

        wait_for(stays_anew, "the stay of the new program")
        assert user.poll() is None
        if seen[0].stays == 2:
            assert seen[0].working_set_bytes is None
            return
    raise AssertionError("each of them was kept from its processor")


def test_a_dry_run_under_shortage_says_what_it_would_do_and_does_nothing(swapper: Swapper) -> None:
    user = swapper.user("mary")
    daemon = swapper.start("--dry-run", low=1.0)
    swapper.wait("mary", lambda one: one.stays >= 1, "the end of a stay")
    status = swapper.said()
    assert status is not None
    assert status.short
    has_swap = all(one["what"] != "swap space" for one in status.lacking)
    if has_swap:
        swapper.wait("mary", lambda one: one.state in ("swapped", "partly"), "a swap-out that is not done")
    assert "VmSwap:\t       0 kB" in Path(f"/proc/{user.pid}/status").read_text()
    daemon.terminate()
    assert daemon.wait(WAIT_S) == 0
    assert daemon.stdout is not None
    assert "active → idle" in daemon.stdout.read()


def test_a_killed_daemon_leaves_users_alone_and_the_next_one_starts(swapper: Swapper) -> None:
    user = swapper.user("mary")
    for _ in range(2):
        daemon = swapper.start("--recording", str(swapper.recording))
        swapper.wait("mary", lambda one: one.stays >= 1, "the end of a stay")
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()
        assert user.poll() is None
    with pytest.raises(SatlineError, match="killed"):
        read_status(swapper.status)
    with pytest.raises(SatlineError):
        announce(swapper.status, "mary")
    assert check(swapper.recording).ok


def test_who_does_not_fit_is_held_and_a_killed_daemon_holds_nobody(swapper: Swapper) -> None:
    swapper.user("busy", sys.executable, "-c", "while True: pass")
    held = swapper.user("mary")
    daemon = swapper.start(more="[admission]\nhold_seconds = 60\nstorage_share = 0\n")
    swapper.wait("mary", lambda one: one.state == "idle", "the end of a stay")
    announce(swapper.status, "mary")
    swapper.wait("mary", lambda one: one.state == "eligible", "a user who is held")
    wait_for(lambda: _letter(held.pid) == "t", "a process that stands still")
    assert os.waitpid(held.pid, os.WUNTRACED | os.WNOHANG) == (0, 0), "its parent is told of no stop"
    daemon.kill()
    daemon.wait()
    wait_for(lambda: _letter(held.pid) != "t", "a process that goes on")
    assert held.stdin is not None
    assert held.stdout is not None
    held.stdin.write("go\n")
    held.stdin.flush()
    assert held.stdout.readline().strip() == str(sum(range(3_000_000)))


@pytest.mark.parametrize(
    ("hold_seconds", "words", "recorded"), [(60, (), True), (0, (), False), (60, ("--dry-run",), False)]
)
def test_who_is_held_is_recorded_where_somebody_can_be(
    swapper: Swapper, hold_seconds: int, words: tuple[str, ...], recorded: bool
) -> None:
    swapper.user("busy", sys.executable, "-c", "while True: pass")
    swapper.user("mary")
    daemon = swapper.start(
        "--recording",
        str(swapper.recording),
        *words,
        more=f"[admission]\nhold_seconds = {hold_seconds}\nstorage_share = 0\n",
    )
    swapper.wait("mary", lambda one: one.state == "idle", "the end of a stay")
    announce(swapper.status, "mary")
    if recorded:
        swapper.wait("mary", lambda one: one.state == "eligible", "a user who is held")

    def written() -> tuple[int, int | None]:
        """Samples, and the most users who were held."""
        with Recording.open(swapper.recording).connect() as connection:
            query = "SELECT count(*), max(users_eligible) FROM swapper"
            samples, most = connection.execute(query).fetchall()[0]
        return int(samples), most

    before, _ = written()
    wait_for(lambda: written()[0] >= before + 2, "samples of what was announced")
    daemon.terminate()
    assert daemon.wait(WAIT_S) == 0
    samples, most = written()
    assert samples >= 2
    assert most == (1 if recorded else None)


@pytest.mark.skipif(
    os.geteuid() != 0 or which("setpriv") is None, reason="rights are dropped by root, with setpriv"
)
def test_another_users_processes_are_held_without_the_right_to_send_them_signals(swapper: Swapper) -> None:
    nobody = ("setpriv", "--reuid", "65534", "--clear-groups")
    held = swapper.user("mary", *nobody, "sh", "-c", "while read line; do echo done; done")
    swapper.user("busy", sys.executable, "-c", "while True: pass")
    # As under the unit: CAP_KILL is none of its rights.
    swapper.before = ["setpriv", "--bounding-set", "-kill"]
    swapper.start(more="[admission]\nhold_seconds = 60\nstorage_share = 0\n")
    swapper.wait("mary", lambda one: one.state == "idle", "the end of a stay")
    announce(swapper.status, "mary")
    swapper.wait("mary", lambda one: one.state == "eligible", "a user who is held")
    wait_for(lambda: _letter(held.pid) == "t", "a process that stands still")


def _letter(pid: int) -> str:
    """How the kernel says that a process is."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


def test_a_wrong_policy_ends_it_with_the_place_and_a_hint(swapper: Swapper) -> None:
    path = swapper.directory / "wrong.toml"
    path.write_text("[[watch]]\npid = 5\n[storage]\nlow = 0.5\nhigh = 0.1\n")
    done = subprocess.run(
        [swapper.program, "run", "--policy", path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "storage.high" in done.stderr
    assert "hint:" in done.stderr
    assert path.name in done.stderr
