"""Programs that wait for one thing each and measure how long, beside `satline-monitor --waits`.

    python benches/monitor/planted.py target/release/satline-monitor [SECONDS]
    python benches/monitor/planted.py plant MONITOR DIRECTORY SECONDS

As root. All run together for so long (10), each as a user of its own, beside a recording. The second form
leaves the recording and what was planted in a directory, and needs nothing but Python: for another machine.

A program measures by its own clock, less the time that it ran, or was ready to run and did not
(`/proc/thread-self/schedstat`). `planted.py KIND KEY=VALUE...` is one of them.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import mmap
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FIRST_UID = 61000
RECORDING, TRUTH = "planted.satline", "planted.json"
GROUPS = Path("/sys/fs/cgroup")
HOLD_S, REST_S = 0.12, 0.03
BEGUN = "PLANTED_BEGUN"
FEW = str(48 << 20)


def ready_s() -> float:
    """Time that this thread was ready and another ran."""
    return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9


def begun_s() -> float:
    """When this program became its user, by the monotonic clock."""
    return float(os.environ[BEGUN])


class Clock:
    """Adds up what passes within `with`, less what the thread ran or was ready."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self._ready = ready_s()
        self._ran = time.thread_time()
        self._begin = time.monotonic()

    def __exit__(self, *_: object) -> None:
        # In the same order: what comes between readings is in the sum of many as often as it is left out.
        ready, ran, now = ready_s(), time.thread_time(), time.monotonic()
        self.seconds += (now - self._begin) - (ran - self._ran) - (ready - self._ready)


# ------------------------------------------------------------------ locks: one holds, one waits


def mutex_in(path: str) -> tuple[ctypes.CDLL, ctypes.c_void_p, mmap.mmap]:
    """The C library, and a lock between processes in a file."""
    library = ctypes.CDLL(None)
    with Path(path).open("r+b") as file:
        memory = mmap.mmap(file.fileno(), 4096)
    return library, ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory))), memory


def make_mutex(path: str) -> None:
    library, lock, _memory = mutex_in(path)
    attributes = ctypes.create_string_buffer(64)
    library.pthread_mutexattr_init(attributes)
    library.pthread_mutexattr_setpshared(attributes, 1)
    library.pthread_mutex_init(lock, attributes)


def _locking(kind: str, path: str) -> tuple[Callable[[], object], Callable[[], object]]:
    if kind == "mutex":
        library, lock, memory = mutex_in(path)
        return lambda: library.pthread_mutex_lock(lock), lambda: (library.pthread_mutex_unlock(lock), memory)
    file = Path(path).open("r+b")  # noqa: SIM115 - it stays open as long as the program runs
    call = fcntl.flock if kind == "flock" else fcntl.lockf
    return lambda: call(file, fcntl.LOCK_EX), lambda: call(file, fcntl.LOCK_UN)


def hold(values: dict[str, str]) -> float:
    """Take a lock again and again, and sleep with it."""
    take, give = _locking(values["lock"], values["file"])
    end = time.monotonic() + float(values["seconds"])
    while time.monotonic() < end:
        take()
        time.sleep(HOLD_S)
        give()
        time.sleep(REST_S)
    return 0.0


def wait(values: dict[str, str]) -> float:
    """Wait for that lock, and give it back at once."""
    take, give = _locking(values["lock"], values["file"])
    end, clock = time.monotonic() + float(values["seconds"]) - 2 * HOLD_S, Clock()
    while time.monotonic() < end:
        with clock:
            take()
        give()
        time.sleep(REST_S + 0.005)
    return clock.seconds


# ------------------------------------------------------------------ a server and its client


def answer(values: dict[str, str]) -> float:
    """Answer each request after a time; one at a time."""
    requests, answers = int(values["requests"]), int(values["answers"])
    while os.read(requests, 1):
        time.sleep(HOLD_S)
        with suppress(BrokenPipeError):
            os.write(answers, b"x")
    return 0.0


def ask(values: dict[str, str]) -> float:
    """Ask, and wait for the answer."""
    requests, answers = int(values["requests"]), int(values["answers"])
    end, clock = time.monotonic() + float(values["seconds"]), Clock()
    while time.monotonic() < end:
        os.write(requests, b"x")
        with clock:
            os.read(answers, 1)
        time.sleep(REST_S)
    return clock.seconds


# ------------------------------------------------------------------ disk, memory, processors, nothing


def read(values: dict[str, str]) -> float:
    """Read pieces of a file here and there, past the cache."""
    size, piece = int(values["bytes"]), 4096
    file = os.open(values["file"], os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    end, clock = time.monotonic() + float(values["seconds"]), Clock()
    while time.monotonic() < end:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        with clock:
            for _ in range(200):
                os.pread(file, piece, random.randrange(0, size - piece, piece))
    return clock.seconds


def touch(values: dict[str, str]) -> float:
    """Touch more memory than the group may have, here and there."""
    size = int(values["bytes"])
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    end = time.monotonic() + float(values["seconds"])
    for place in range(0, size, 4096):
        pages[place] = 1
    while time.monotonic() < end:
        pages[random.randrange(0, size, 4096)] = 1
    # Since it began: what the program itself is made of had to come too, and to come back.
    return time.monotonic() - begun_s() - time.process_time() - ready_s()


def burn(values: dict[str, str]) -> float:
    """Compute; returns the time that passed since it began and in which it did not run."""
    if "processor" in values:
        os.sched_setaffinity(0, {int(values["processor"])})
    end = time.monotonic() + float(values["seconds"])
    value = 1
    while time.monotonic() < end:
        for _ in range(2000):
            value = value * 48271 % 2147483647
    return time.monotonic() - begun_s() - time.process_time()


def sleep(values: dict[str, str]) -> float:
    """Sleep."""
    end, clock = time.monotonic() + float(values["seconds"]), Clock()
    while time.monotonic() < end:
        with clock:
            time.sleep(0.05)
    return clock.seconds


KINDS: dict[str, Callable[[dict[str, str]], float]] = {
    f.__name__: f for f in (hold, wait, answer, ask, read, touch, burn, sleep)
}


# ------------------------------------------------------------------ all of them beside a recording


@dataclass(frozen=True)
class Compared:
    """One cause, seconds.

    planted, recorded
        What the program measured, and what the recording has of its user; ``None``: the kernel does not tell.
    lived, summed
        How long the program lived, and all that the recording has of its user's time.
    held
        Part of its waits that the recording puts down to the one that held; ``None``: nobody did.
    on_disk
        Part of its waits for disks and pages that the recording puts down to one disk; ``None``: it is no
        such plant.
    stolen
        The most that the hypervisor may have taken from it: not more than it took from all, and not more than
        the program ran, as who sleeps has nothing to lose. Such time is neither run nor waited, so that up
        to so much is in no column.
    """

    cause: str
    planted: float
    recorded: float | None
    lived: float
    summed: float
    held: float | None
    on_disk: float | None
    stolen: float

    @property
    def error(self) -> float | None:
        """How far the wait recorded is off, beyond what may have been stolen."""
        return None if self.recorded is None else _beyond(self.recorded - self.planted, self.stolen)

    @property
    def error_of_sum(self) -> float:
        """How far the sum of all is off the time lived, beyond what may have been stolen."""
        return _beyond(self.summed - self.lived, self.stolen)


def _beyond(difference: float, stolen: float) -> float:
    return difference if difference > 0 else min(0.0, difference + stolen)


def stolen_s() -> float:
    """What the hypervisor has taken since the host's start, seconds of all processors."""
    first = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(first[8]) / os.sysconf("SC_CLK_TCK")


class NotTold(Exception):
    """The kernel does not tell what is waited for, and why."""


@dataclass
class _Running:
    cause: str
    column: str
    uid: int
    process: subprocess.Popen[str]
    holder: int | None = None
    truth: Callable[[], float] | None = None


class Plants:
    """Programs beside a recording, and what they stand on; `close` takes it away again."""

    def __init__(self, scratch: Path, seconds: float) -> None:
        self.scratch, self.seconds = scratch, seconds
        self.running: list[_Running] = []
        self.others: list[subprocess.Popen[str]] = []
        self.without: dict[str, str] = {}
        self._uid = FIRST_UID
        self._undo: list[Callable[[], object]] = []
        shutil.copy(__file__, scratch / "planted.py")
        scratch.chmod(0o755)
        (scratch / "planted.py").chmod(0o644)

    def _start(
        self, kind: str, *groups: Path, keep: tuple[int, ...] = (), **values: object
    ) -> tuple[int, subprocess.Popen[str]]:
        self._uid += 1
        uid = self._uid
        told = [f"{k}={v}" for k, v in {"seconds": self.seconds, **values}.items()]

        def enter() -> None:
            ctypes.CDLL(None).prctl(1, 9)
            for group in groups:
                (group / "cgroup.procs").write_text(str(os.getpid()))
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            # Before, it was another user's time: on a busy host it waits long for its group.
            os.environ[BEGUN] = str(time.monotonic())

        process = subprocess.Popen(
            ["/usr/bin/python3", "-I", str(self.scratch / "planted.py"), kind, *told],
            preexec_fn=enter,
            pass_fds=keep,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        return uid, process

    def _file(self, name: str, size: int, mode: int = 0o666) -> Path:
        path = self.scratch / name
        with path.open("wb") as file:
            for _ in range(max(1, size >> 20)):
                file.write(os.urandom(1 << 20))
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        path.chmod(mode)
        return path

    def lock(self, kind: str, column: str) -> None:
        file = self._file(f"lock-{kind}", 4096)
        if kind == "mutex":
            make_mutex(str(file))
        holder, process = self._start("hold", lock=kind, file=file)
        self.others.append(process)
        # A second one that waits: it hands the lock on at once, and is not who held it.
        self.others.append(self._start("wait", lock=kind, file=file)[1])
        uid, process = self._start("wait", lock=kind, file=file)
        self.running.append(_Running(kind, column, uid, process, holder))

    def server(self, kind: str) -> None:
        """A client and a server with two pipes, or a pair of sockets, between them."""
        if kind == "pipe":
            (from_client, to_server), (from_server, to_client) = os.pipe(), os.pipe()
            ends = {"client": (to_server, from_server), "server": (from_client, to_client)}
        else:
            one, other = socket.socketpair()
            a, b = one.detach(), other.detach()
            ends = {"client": (a, a), "server": (b, b)}
        given = {who: {"requests": two[0], "answers": two[1]} for who, two in ends.items()}
        holder, process = self._start("answer", keep=ends["server"], **given["server"])
        self.others.append(process)
        uid, process = self._start("ask", keep=ends["client"], **given["client"])
        for end in {*ends["client"], *ends["server"]}:
            os.close(end)
        self.running.append(_Running(kind, "local_wait_us", uid, process, holder))

    def alone(self, cause: str, column: str, kind: str, *groups: Path, **values: object) -> _Running:
        uid, process = self._start(kind, *groups, **values)
        self.running.append(_Running(cause, column, uid, process))
        return self.running[-1]

    def group(self, controller: str, name: str, settings: dict[str, str]) -> Path | None:
        """A control group; ``None``: none can be had.

        settings
            Of both versions; those that its directory has no file for are left out.
        """
        first = GROUPS / controller
        above = first if first.is_dir() else GROUPS
        path = above / f"satline-planted-{os.getpid()}-{name}"
        try:
            if above == GROUPS:
                self._hand_down(controller)
            path.mkdir()
            self._undo.append(lambda: _remove(path))
            written = [
                (path / key).write_text(value) for key, value in settings.items() if (path / key).exists()
            ]
        except OSError as error:
            self.without[name] = f"no control group with {controller}: {error}"
            return None
        if not written:
            self.without[name] = f"no control group with {controller}"
        return path if written else None

    def _hand_down(self, controller: str) -> None:
        """Have groups below the first of version 2 that controller, as long as this runs."""
        switch = GROUPS / "cgroup.subtree_control"
        if controller not in switch.read_text().split():
            switch.write_text(f"+{controller}")
            self._undo.append(lambda: switch.write_text(f"-{controller}"))

    def swap(self, size: int) -> bool:
        path = self._file("swap", size, 0o600)
        for command in (["mkswap", "-q", path], ["swapon", path]):
            try:
                done = subprocess.run(command, capture_output=True, text=True)
            except OSError as error:
                self.without["swap-in"] = str(error)
                return False
            if done.returncode:
                self.without["swap-in"] = done.stderr.strip()
                return False
        self._undo.append(lambda: subprocess.run(["swapoff", path], capture_output=True))
        return True

    def all(self) -> None:
        """Start one of each that this host can have."""
        self.lock("mutex", "mutex_wait_us")
        self.lock("flock", "file_lock_wait_us")
        self.lock("fcntl", "file_lock_wait_us")
        self.server("pipe")
        self.server("socket")
        self.alone("sleep", "idle_us", "sleep")
        size = 128 << 20
        self.alone("reads", "io_wait_us", "read", file=self._file("cold", size), bytes=size)
        limits = {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "20000", "cpu.max": "20000 100000"}
        quota = self.group("cpu", "quota", limits)
        if quota is not None:
            stat = quota / "cpu.stat"

            def throttled() -> float:
                told = dict(line.split() for line in stat.read_text().splitlines())
                if "throttled_usec" in told:
                    return int(told["throttled_usec"]) / 1e6
                return int(told["throttled_time"]) / 1e9

            self.alone("quota", "throttled_us", "burn", quota).truth = throttled
        few = self.group("memory", "swap-in", {"memory.limit_in_bytes": FEW, "memory.max": FEW})
        if few is not None and self.swap(128 << 20):
            self.alone("swap-in", "page_wait_us", "touch", few, bytes=96 << 20)
        last = max(os.sched_getaffinity(0))
        self.others.append(self._start("burn", processor=last)[1])
        self.alone("run queue", "run_delay_us", "burn", processor=last)

    def ended(self) -> dict[str, tuple[float, float]]:
        """Waits for all: by cause, what was planted and how long the program lived."""
        found = {}
        for one in self.running:
            text, _ = one.process.communicate(timeout=self.seconds * 10 + 60)
            if one.process.returncode:
                raise RuntimeError(f"planted program {one.cause} ended with {one.process.returncode}")
            told = json.loads(text)
            found[one.cause] = (one.truth() if one.truth else told["waited"], told["lived"])
        return found

    def close(self) -> None:
        for process in [*self.others, *(one.process for one in self.running)]:
            process.kill()
            process.wait()
        for undo in reversed(self._undo):
            undo()


def _remove(group: Path) -> None:
    for _ in range(100):
        with suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.1)


def plant(monitor: Path, scratch: Path, seconds: float) -> None:
    """Plant all beside a recording, both below `scratch`; needs nothing but the standard library.

    monitor
        The program satline-monitor.
    """
    recording = scratch / RECORDING
    command = [str(monitor), "--recording", str(recording), "--interval", "250ms", "--waits"]
    witness = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    plants = Plants(scratch, seconds)
    try:
        wait_until = time.monotonic() + 60
        while not list(recording.glob("segments/user/*.seg")):
            if witness.poll() is not None or time.monotonic() > wait_until:
                raise RuntimeError("satline-monitor does not record")
            time.sleep(0.1)
        stolen = stolen_s()
        plants.all()
        truth = plants.ended()
        stolen = stolen_s() - stolen
        time.sleep(0.6)
    finally:
        plants.close()
        witness.terminate()
        witness.wait()
    told = [
        {
            "cause": one.cause,
            "column": one.column,
            "uid": one.uid,
            "holder": one.holder,
            "truth": truth[one.cause],
        }
        for one in plants.running
    ]
    (scratch / TRUTH).write_text(json.dumps({"planted": told, "without": plants.without, "stolen": stolen}))


def compare(scratch: Path) -> tuple[list[Compared], dict[str, str]]:
    """What was planted beside what was recorded; and what could not be planted, with why.

    Raises
    ------
    NotTold
        The recording has no waits, and why.
    """
    from satline.recording import Recording

    told = json.loads((scratch / TRUTH).read_text())
    opened = Recording.open(scratch / RECORDING)
    for missing in opened.sources["monitor"].get("missing", []):
        if missing["signal"] == "user: waits by cause":
            raise NotTold(missing["reason"])
    connection = opened.connect()
    causes = ("page", "io", "futex", "file_lock", "local", "network", "other")
    summed = " + ".join(["cpu_us", "run_delay_us", "idle_us", *(f"{cause}_wait_us" for cause in causes)])
    found = []
    for one in told["planted"]:
        planted, lived = one["truth"]
        row = connection.execute(
            f"SELECT max({one['column']}) / 1e6, max({summed}) / 1e6, max(cpu_us) / 1e6"
            ' FROM "user" WHERE "user" = ?',
            [str(one["uid"])],
        ).fetchone()
        recorded, whole, ran = row if row is not None else (None, None, None)
        stolen = min(told["stolen"], ran or 0.0)
        held = None
        if one["holder"] is not None:
            cause = one["column"].removesuffix("_wait_us")
            rows: list[Any] = connection.execute(
                "SELECT holder, max(wait_us) / 1e6 FROM holder"
                f" WHERE \"user\" = ? AND cause = '{cause}' GROUP BY ALL",
                [str(one["uid"])],
            ).fetchall()
            held = sum(s for user, s in rows if user == str(one["holder"])) / max(
                1e-9, sum(s for _, s in rows)
            )
        on_disk = None
        if one["column"] == "io_wait_us":
            (disk_us,), (all_us,) = (
                connection.execute(text, [str(one["uid"])]).fetchone() or (None,)
                for text in (
                    'SELECT max(wait_us) FROM disk_wait WHERE device IS NOT NULL AND "user" = ?',
                    'SELECT max(io_wait_us + page_wait_us) FROM "user" WHERE "user" = ?',
                )
            )
            on_disk = (disk_us or 0) / max(1, all_us or 0)
        found.append(Compared(one["cause"], planted, recorded, lived, whole or 0.0, held, on_disk, stolen))
    connection.close()
    return found, told["without"]


def run(monitor: Path, scratch: Path, seconds: float) -> tuple[list[Compared], dict[str, str]]:
    """Plant all beside a recording and compare."""
    plant(monitor, scratch, seconds)
    return compare(scratch)


def main() -> None:
    """One such program; `plant`; or, with the path of satline-monitor, all of them and a table."""
    if sys.argv[1] in KINDS:
        waited = KINDS[sys.argv[1]](dict(text.split("=", 1) for text in sys.argv[2:]))
        print(json.dumps({"waited": waited, "lived": time.monotonic() - begun_s()}), flush=True)
        # What the interpreter does at its end would be in the recording alone.
        os._exit(0)
    if sys.argv[1] == "plant":
        plant(Path(sys.argv[2]), Path(sys.argv[3]), float(sys.argv[4]))
        return
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
    with tempfile.TemporaryDirectory(prefix="satline-planted-") as name:
        found, without = run(Path(sys.argv[1]), Path(name), float(sys.argv[2]) if len(sys.argv) > 2 else 10)
    heads = ("planted", "recorded", "error", "lived", "summed", "error", "stolen ≤")
    print(f"{'cause':10}", *(f"{head:>9}" for head in heads), " holder named")
    for one in found:
        recorded = float("nan") if one.recorded is None else one.recorded
        cells = [f"{s:8.3f}s" for s in (one.planted, recorded, one.lived, one.summed)]
        errors = [f"{recorded / one.planted - 1:+9.1%}", f"{one.summed / one.lived - 1:+9.1%}"]
        held = "" if one.held is None else f"{one.held:7.1%}"
        held += "" if one.on_disk is None else f"{one.on_disk:7.1%} of it by its disk"
        print(f"{one.cause:10}", *cells[:2], errors[0], *cells[2:], errors[1], f"{one.stolen:8.3f}s", held)
    for cause, why in without.items():
        print(f"{cause:10} not planted: {why}")


if __name__ == "__main__":
    main()
