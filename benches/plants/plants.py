"""Faults planted on a live host, one at a time: control groups, processes of several users, and what is true.

Nothing here is from the shipped studies. Each plant is users that think and work, as processes of user ids of
their own, and one fault. All parameters come from a seed. Run with arguments this file is one such process:

    python plants.py work KIND LIFETIME_S KEY=VALUE...

A process ends by itself after its lifetime, and with its parent; groups and files are removed by `Planted`.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

# ------------------------------------------------------------------ what the processes do


def burn(seconds: float) -> None:
    """Use the CPU for so much CPU time of this process."""
    end = time.process_time() + seconds
    value = 1
    while time.process_time() < end:
        for _ in range(2000):
            value = (value * 48271) % 2147483647


def think(mean: float) -> None:
    """Do nothing for a time as users do: exponential."""
    time.sleep(min(random.expovariate(1 / mean), 6 * mean) if mean > 0 else 0.0)


def edit(values: dict[str, str]) -> None:
    """Think, then compute for a while."""
    while True:
        think(float(values["think"]))
        burn(random.uniform(0.5, 1.5) * float(values["cpu"]))


def compute(_: dict[str, str]) -> None:
    """Never wait."""
    while True:
        burn(1.0)


def book(values: dict[str, str]) -> None:
    """Change a file that one at a time may change."""
    with Path(values["file"]).open("r+b") as file:
        while True:
            think(float(values["think"]))
            fcntl.flock(file, fcntl.LOCK_EX)
            burn(float(values["cpu"]))
            time.sleep(random.uniform(0.5, 1.5) * float(values["hold"]))
            fcntl.flock(file, fcntl.LOCK_UN)


def serve(values: dict[str, str]) -> None:
    """Answer requests one after the other."""
    import selectors

    listening = socket.create_server(("127.0.0.1", int(values["port"])), backlog=64)
    ready = selectors.DefaultSelector()
    ready.register(listening, selectors.EVENT_READ)
    while True:
        for key, _ in ready.select():
            if key.fileobj is listening:
                client, _ = listening.accept()
                ready.register(client, selectors.EVENT_READ)
                continue
            client = key.fileobj
            assert isinstance(client, socket.socket)
            if not client.recv(200):
                ready.unregister(client)
                client.close()
                continue
            burn(random.uniform(0.5, 1.5) * float(values["cpu"]))
            client.sendall(b"done\n")


def ask(values: dict[str, str]) -> None:
    """Send a request, wait for the answer, think."""
    for _ in range(100):
        with suppress(OSError):
            server = socket.create_connection(("127.0.0.1", int(values["port"])))
            break
        time.sleep(0.2)
    with suppress(OSError):
        while True:
            think(float(values["think"]))
            burn(0.001)
            server.sendall(b"please\n")
            if not server.recv(100):
                return


def browse(values: dict[str, str]) -> None:
    """Touch pages of a file of its own, or of memory of its own, here and there, and compute a little."""
    size = int(values["bytes"])
    if values["file"]:
        with Path(values["file"]).open("rb") as file:
            pages = mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ)
            pages.madvise(mmap.MADV_RANDOM)
    else:
        pages = mmap.mmap(-1, size)
        for place in range(0, size, 4096):
            pages[place] = 1
    while True:
        think(float(values["think"]))
        for _ in range(int(values["touches"])):
            place = random.randrange(0, size, 4096)
            if values["file"]:
                pages[place]
            else:
                pages[place] = 1
        burn(float(values["cpu"]))


def copy(values: dict[str, str]) -> None:
    """Read, or write, pieces of a file past the file cache."""
    size, piece = int(values["bytes"]), int(values["piece"])
    writes = values["way"] == "write"
    file = os.open(values["file"], (os.O_WRONLY if writes else os.O_RDONLY) | os.O_DIRECT)
    buffer = mmap.mmap(-1, piece)
    while True:
        think(float(values["think"]))
        place = random.randrange(0, size - piece + 1, piece)
        if writes:
            os.pwritev(file, [buffer], place)
        else:
            os.preadv(file, [buffer], place)
        burn(float(values["cpu"]))


KINDS: dict[str, Callable[[dict[str, str]], None]] = {
    f.__name__: f for f in (edit, compute, book, serve, ask, browse, copy)
}


def end_with_parent(number: int = signal.SIGTERM) -> None:
    """Have the kernel send this process a signal when its parent ends, however that ends."""
    ctypes.CDLL(None).prctl(1, int(number))


def work(kind: str, lifetime: float, values: dict[str, str]) -> None:
    """Be one of these processes until the lifetime is over or the parent ends."""
    end_with_parent(signal.SIGKILL)
    if os.getppid() != int(values["parent"]):
        return
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, lifetime)
    random.seed()
    if kind in KINDS:
        KINDS[kind](values)
    else:
        import more

        more.KINDS[kind](values)


# ------------------------------------------------------------------ groups, files, processes

CGROUP = Path("/sys/fs/cgroup")
MARK = "plant-"


@dataclass
class Planted:
    """What stands on the host for one plant, and how to take it away again.

    scratch
        A directory that every user may read, for programs and files.
    seconds
        For how long it will be recorded.
    everywhere
        Groups that every process is in.
    helpers
        Programs that are part of the plant and no users; they end first, and are let end by themselves.
    """

    scratch: Path
    lifetime: float
    seconds: float = 0.0
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    helpers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    groups: list[Path] = field(default_factory=list)
    undo: list[Callable[[], None]] = field(default_factory=list)
    everywhere: tuple[Path, ...] = ()

    def group(self, controller: str, name: str, settings: dict[str, str] | None = None) -> Path:
        """A control group (v1) of this controller with these settings; its path below the hierarchy."""
        path = CGROUP / controller / f"{MARK}{name}"
        path.mkdir(exist_ok=True)
        self.groups.append(path)
        for key, value in (settings or {}).items():
            (path / key).write_text(value)
        return path

    def file(self, name: str, size: int) -> Path:
        """A file with data of its own (no holes), written to the disk."""
        path = self.scratch / name
        with path.open("wb") as file:
            block = random.randbytes(1 << 20)
            for _ in range(max(1, size >> 20)):
                file.write(block)
            os.fsync(file.fileno())
            # Else its pages stay in the cache on this program's account, and no group's limit holds them.
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        path.chmod(0o666)
        return path

    def swap_file(self, name: str, size: int) -> bool:
        """Swap space in a file; False where the host does not allow it."""
        path = self.file(name, size)
        path.chmod(0o600)
        made = subprocess.run(["mkswap", "-q", path], capture_output=True)
        if made.returncode or subprocess.run(["swapon", path], capture_output=True).returncode:
            return False
        self.undo.append(lambda: _run("swapoff", path))
        return True

    def start(
        self, kind: str, uid: int, *groups: Path, nice: int = 0, netns: Path | None = None, **values: object
    ) -> None:
        """A process of this user in these groups, and in this network namespace."""
        program = self.scratch / "plants.py"
        if not program.exists():
            for name in ("plants.py", "more.py", "stands.py"):
                copied = Path(shutil.copy(Path(__file__).with_name(name), self.scratch))
                copied.chmod(0o644)
        told = [f"{k}={v}" for k, v in {**values, "parent": os.getpid()}.items()]

        def enter() -> None:
            for group in (*self.everywhere, *groups):
                (group / "cgroup.procs").write_text(str(os.getpid()))
            if netns is not None:
                with netns.open() as place:
                    ctypes.CDLL(None).setns(place.fileno(), 0)
            os.nice(nice)
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)

        self.processes.append(
            subprocess.Popen(
                ["/usr/bin/python3", str(program), "work", kind, str(self.lifetime), *told],
                preexec_fn=enter,
                cwd="/",
                stdin=subprocess.DEVNULL,
            )
        )

    def dead(self) -> list[int]:
        """Exit statuses of processes that should still run."""
        return [code for p in (*self.processes, *self.helpers) if (code := p.poll()) is not None]

    def remove(self) -> None:
        """End the processes, and only them; remove groups, swap, devices and files."""
        for helper in self.helpers:
            helper.terminate()
            helper.wait()
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
        for undo in reversed(self.undo):
            undo()
        for group in self.groups:
            take_away(group)
        shutil.rmtree(self.scratch, ignore_errors=True)


def _run(*command: object) -> None:
    """Run a program, whatever comes of it."""
    subprocess.run([str(word) for word in command], check=False, capture_output=True)


def take_away(group: Path) -> None:
    """Remove a group; what is still dying in it gets a moment."""
    for _ in range(50):
        try:
            group.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.1)


def leftovers(scratch: Path) -> None:
    """Remove what a run that was killed left: its processes ended with it."""
    for line in Path("/proc/swaps").read_text().splitlines()[1:]:
        if line.split()[0].startswith(f"{scratch}/"):
            _run("swapoff", line.split()[0])
    for told in sorted(scratch.glob("undo-*"), reverse=True):
        for command in told.read_text().splitlines():
            _run(*command.split())
    for controller in ("cpu", "memory", "blkio"):
        for group in (CGROUP / controller).glob(f"{MARK}*"):
            take_away(group)
    shutil.rmtree(scratch, ignore_errors=True)


# ------------------------------------------------------------------ the plants


@dataclass(frozen=True)
class Truth:
    """What a plant's verdict has to say.

    components
        Components of a finding that name it.
    culprit
        One of these words has to be in the finding's summary; empty: none is asked.
    record
        Further options of `satline record`.
    parameters
        What was planted, to be kept with the result.
    requests
        Its processes keep a log of requests (see `more.py`), to be joined to the recording.
    beside
        To be called with the recording when that is begun: for programs that record into it.
    counter, least
        A count that the kernel keeps of the fault, and what it gains a second where the fault is in force: a
        limit that nobody runs into is no fault. ``None``: it is in force as long as its processes live.
    """

    components: tuple[str, ...]
    culprit: tuple[str, ...] = ()
    record: tuple[str, ...] = ()
    parameters: dict[str, object] = field(default_factory=dict)
    counter: Callable[[], int] | None = None
    least: float = 0.0
    requests: bool = False
    beside: Callable[[Path], None] | None = None


def _stat(file: Path, name: str) -> Callable[[], int]:
    """A named count of a file of lines "name count"."""

    def read() -> int:
        lines = (line.split() for line in file.read_text().splitlines())
        return next(int(line[-1]) for line in lines if line[0] == name)

    return read


def _name(draw: random.Random) -> str:
    return draw.choice(("shop", "lab", "desk", "press", "mill", "yard")) + str(draw.randint(10, 99))


def _uids(draw: random.Random, count: int) -> list[int]:
    first = draw.randrange(3000, 9000, 20)
    return [first + k for k in range(count)]


def _light(planted: Planted, draw: random.Random, count: int, *groups: Path) -> None:
    """A few users who do a little."""
    for uid in _uids(draw, count):
        planted.start("edit", uid, *groups, think=draw.uniform(0.5, 1.2), cpu=draw.uniform(0.005, 0.015))


def quota(planted: Planted, draw: random.Random) -> Truth:
    """Users in a group with a CPU quota well below what they want."""
    name, users, cpus = _name(draw), draw.randint(4, 7), draw.choice((0.3, 0.4, 0.5))
    # Many shares: the quota holds it back, not what else the host does.
    limits = {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": str(int(cpus * 1e5)), "cpu.shares": "16384"}
    group = planted.group("cpu", name, limits)
    pause, burst = draw.uniform(0.2, 0.6), draw.uniform(0.1, 0.25)
    for uid in _uids(draw, users):
        planted.start("edit", uid, group, think=pause, cpu=burst)
    return Truth(
        ("quota",),
        (f"/{MARK}{name}",),
        parameters={"users": users, "cpus": cpus, "think": pause, "cpu": burst},
        counter=_stat(group / "cpu.stat", "nr_throttled"),
        least=5.0,
    )


def flock(planted: Planted, draw: random.Random) -> Truth:
    """Users who change one file under an exclusive lock that is held for long."""
    users, hold, pause = draw.randint(5, 8), draw.uniform(0.1, 0.3), draw.uniform(0.1, 0.4)
    file = planted.file(draw.choice(("ledger.db", "orders.dat", "index.lock")), 1 << 20)
    for uid in _uids(draw, users):
        planted.start("book", uid, file=file, think=pause, hold=hold, cpu=0.01)
    return Truth(("lock",), (str(file),), parameters={"users": users, "hold": hold, "think": pause})


def server(planted: Planted, draw: random.Random) -> Truth:
    """A server with one thread, and more clients than it can answer."""
    # Else it waits for a processor where other work fills them, and these are what holds it back.
    planted.everywhere = (planted.group("cpu", "first", {"cpu.shares": "8192"}),)
    users, cost, pause = draw.randint(6, 10), draw.uniform(0.02, 0.05), draw.uniform(0.03, 0.08)
    port, uid = draw.randint(20000, 30000), 2000 + draw.randint(1, 99)
    planted.start("serve", uid, port=port, cpu=cost)
    for client in _uids(draw, users):
        planted.start("ask", client, port=port, think=pause)
    pid = planted.processes[0].pid
    return Truth(
        ("server",),
        (str(uid), str(pid)),
        parameters={"users": users, "cpu": cost, "think": pause, "port": port, "uid": uid, "pid": pid},
    )


def thrash(planted: Planted, draw: random.Random) -> Truth:
    """Users whose files and memory together are more than the limit of their group."""
    name, users, limit = _name(draw), draw.randint(3, 5), draw.choice((64, 80, 96)) << 20
    group = planted.group("memory", name, {"memory.limit_in_bytes": str(limit)})
    each, pause, touches = int(limit * draw.uniform(0.7, 0.9)) >> 12 << 12, 0.02, draw.randint(300, 800)
    swap = planted.swap_file("swap", 512 << 20)
    for k, uid in enumerate(_uids(draw, users)):
        file = "" if swap and k % 2 else planted.file(f"pages{k}", each + (1 << 20))
        planted.start("browse", uid, group, file=file, bytes=each, think=pause, touches=touches, cpu=0.002)
    return Truth(
        ("storage", "paging", "paging and io"),
        (f"/{MARK}{name}",),
        parameters={"users": users, "limit": limit, "each": each, "touches": touches, "swap": swap},
        counter=_stat(group / "memory.stat", "total_pgmajfault"),
        least=100.0,
    )


def io_cap(planted: Planted, draw: random.Random) -> Truth:
    """Users who read and write past the cache, in a group with a cap on I/O far below what the disk does."""
    name, users = _name(draw), draw.randint(3, 6)
    rate, piece = draw.choice((2, 4, 6)) << 20, draw.choice((64, 128, 256)) << 10
    size = 128 << 20
    files = [planted.file(f"data{k}", size) for k in range(2)]
    device = files[0].stat().st_dev
    where = f"{os.major(device)}:{os.minor(device)} {rate}"
    caps = {f"blkio.throttle.{way}_bps_device": where for way in ("read", "write")}
    group = planted.group("blkio", name, caps)
    pause = draw.uniform(0.02, 0.05)
    for k, uid in enumerate(_uids(draw, users)):
        way = "write" if k == users - 1 else "read"
        planted.start(
            "copy", uid, group, file=files[k % 2], bytes=size, piece=piece, way=way, think=pause, cpu=0.001
        )
    return Truth(
        ("io",),
        (f"/{MARK}{name}",),
        parameters={"users": users, "rate": rate, "piece": piece, "think": pause},
    )


def hog(planted: Planted, draw: random.Random) -> Truth:
    """One user with many processes that compute, beside others who do a little."""
    uid, processes = 2100 + draw.randint(1, 99), draw.randint(4, 8)
    for _ in range(processes):
        planted.start("compute", uid)
    _light(planted, draw, draw.randint(3, 5))
    return Truth(("processor",), (str(uid),), parameters={"uid": uid, "processes": processes})


def neighbour(planted: Planted, draw: random.Random) -> Truth:
    """The load is one group; another takes the CPU."""
    load, other = _name(draw), _name(draw) + "x"
    mine = planted.group("cpu", load)
    # CPU time by group is counted in another hierarchy of version 1.
    counted = planted.group("cpuacct", load)
    theirs = planted.group("cpu", other, {"cpu.shares": "4096"})
    users, processes = draw.randint(4, 6), draw.randint(4, 7)
    for uid in _uids(draw, users):
        planted.start("edit", uid, mine, counted, think=draw.uniform(0.3, 0.6), cpu=draw.uniform(0.05, 0.1))
    uid = 2300 + draw.randint(1, 99)
    for _ in range(processes):
        planted.start("compute", uid, theirs)
    return Truth(
        ("processor",),
        (f"/{MARK}{other}", str(uid)),
        ("--cgroup", f"/{MARK}{load}"),
        {"users": users, "processes": processes, "uid": uid},
    )


def healthy(planted: Planted, draw: random.Random) -> Truth:
    """Nothing: a few users who do a little."""
    _light(planted, draw, draw.randint(4, 7))
    return Truth(())


PLANTS: dict[str, Callable[[Planted, random.Random], Truth]] = {
    f.__name__: f for f in (quota, flock, server, thrash, io_cap, hog, neighbour, healthy)
}

if __name__ == "__main__":
    _, command, kind, lifetime, *told = sys.argv
    work(kind, float(lifetime), dict(part.split("=", 1) for part in told))
