"""Further plants, one for each rule beyond those of plants.py that a live host can show.

Like the eight of plants.py: users that think and work, parameters from a seed, one fault each, and a count
that shows that it took hold. What they stand on (swap on modelled disks and in compressed memory, network
namespaces) is taken away at their end, and by the next run where this one was killed.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import random
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from plants import MARK, Planted, Truth, _name, _stat, _uids, burn, end_with_parent, think
from stands import (
    compressed_swap,
    files_on,
    for_all,
    later,
    modelled_disk,
    modelled_swap,
    preferred,
    requests,
    swap_used,
)

# ------------------------------------------------------------------ what the processes do


def shifts(values: dict[str, str]) -> None:
    """Touch pages of memory of its own, here and there, and compute; with `off` only in every other spell of
    time, with `from` only from then on, before with `few` bytes of it; with `whole` all pages, in order; with
    `blind` the kernel is told not to guess from what was used what will be."""
    size, few = int(values["bytes"]), int(values.get("few", 0))
    on, off, start = (float(values.get(name, 0)) for name in ("on", "off", "from"))
    # Private, or it would count as files.
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if values.get("blind"):
        pages.madvise(mmap.MADV_RANDOM)
    begun = time.time()
    filled = 0
    while True:
        now = time.time()
        at_work = now >= start and (not off or (now - begun) % (on + off) >= off)
        part = size if at_work else few
        if not part:
            time.sleep(0.2)
            continue
        for place in range(filled, part, 4096):
            pages[place] = 1
        filled = max(filled, part)
        think(float(values["think"]))
        if values.get("whole"):
            for place in range(0, part, 4096):
                pages[place] = 1
        else:
            for _ in range(int(values["touches"])):
                pages[random.randrange(0, part, 4096)] = 1
        burn(float(values["cpu"]))


def scan(values: dict[str, str]) -> None:
    """Read a file through the file cache, from begin to end, again and again."""
    size, piece = int(values["bytes"]), 64 << 10
    file = os.open(values["file"], os.O_RDONLY)
    while True:
        for place in range(0, size, piece):
            os.pread(file, piece, place)
            burn(float(values["cpu"]))
            think(float(values["think"]))


def once(values: dict[str, str]) -> None:
    """Hold memory that it never touches again, and read a file through the file cache once: `first` bytes of
    it at once, the rest with so many bytes a second."""
    idle = mmap.mmap(-1, int(values["idle"]), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for place in range(0, len(idle), 4096):
        idle[place] = 1
    file, done = os.open(values["file"], os.O_RDONLY), 0
    while piece := os.read(file, 256 << 10):
        done += len(piece)
        if done > int(values["first"]):
            time.sleep(len(piece) / float(values["rate"]))
    time.sleep(1e6)


def stream(values: dict[str, str]) -> None:
    """Read, or now and then write, a part of a disk past the file cache: in order and round again, or here
    and there; with `off` only in every other spell of time."""
    first, size, piece = (int(values[name]) for name in ("first", "bytes", "piece"))
    on, off = (float(values.get(name, 0)) for name in ("on", "off"))
    writes, order = float(values.get("writes", 0)), bool(values.get("order"))
    disk = os.open(values["disk"], os.O_RDWR | os.O_DIRECT)
    buffer = mmap.mmap(-1, piece)
    begun, place = time.time(), 0
    while True:
        if off and (time.time() - begun) % (on + off) < off:
            time.sleep(0.2)
            continue
        think(float(values["think"]))
        place = (place + piece) % size if order else random.randrange(0, size, piece)
        if random.random() < writes:
            os.pwritev(disk, [buffer], first + place)
        else:
            os.preadv(disk, [buffer], first + place)
        burn(float(values["cpu"]))


def answer(values: dict[str, str]) -> None:
    """Answer each client in a thread of its own."""
    import threading

    def serve(client: socket.socket) -> None:
        with suppress(OSError):
            while client.recv(200):
                client.sendall(b"x" * 2000)

    listening = socket.create_server((values["address"], int(values["port"])), backlog=64)
    while True:
        client, _ = listening.accept()
        threading.Thread(target=serve, args=(client,), daemon=True).start()


def fetch(values: dict[str, str]) -> None:
    """Ask over the network, compute with what came, think."""
    for _ in range(100):
        with suppress(OSError):
            server = socket.create_connection((values["address"], int(values["port"])))
            break
        time.sleep(0.2)
    while True:
        think(float(values["think"]))
        server.sendall(b"please\n")
        left = 2000
        while left:
            got = server.recv(left)
            if not got:
                return
            left -= len(got)
        burn(float(values["cpu"]))


def order(values: dict[str, str]) -> None:
    """Users' requests, each under a lock on a file; they are logged as begin, user, duration in ms."""
    user = os.getuid()
    with Path(values["file"]).open("r+b") as file, Path(values["log"]).open("a") as log:
        while True:
            think(float(values["think"]))
            begin = time.time()
            fcntl.flock(file, fcntl.LOCK_EX)
            end = begin + float(values.get("hold", 0))
            burn(random.uniform(0.5, 1.5) * float(values["cpu"]))
            # A long transaction that computes now and then, and lets go of nothing.
            while time.time() < end:
                burn(0.05)
                time.sleep(0.05)
            fcntl.flock(file, fcntl.LOCK_UN)
            log.write(f"{begin:.6f},{user},{(time.time() - begin) * 1000:.3f}\n")
            log.flush()


def reindex(values: dict[str, str]) -> None:
    """Seldom, and long: work under the users' lock, as a program of its own name."""
    ctypes.CDLL(None).prctl(15, values["name"].encode()[:15])
    with Path(values["file"]).open("r+b") as file:
        while True:
            time.sleep(float(values["every"]))
            fcntl.flock(file, fcntl.LOCK_EX)
            end = time.time() + float(values["hold"])
            while time.time() < end:
                burn(0.05)
                time.sleep(0.02)
            fcntl.flock(file, fcntl.LOCK_UN)


def mutex_in(path: str, new: bool = False) -> tuple[ctypes.CDLL, ctypes.c_void_p, mmap.mmap]:
    """The C library, and a lock that processes share in a file."""
    library = ctypes.CDLL(None, use_errno=True)
    with Path(path).open("r+b") as file:
        memory = mmap.mmap(file.fileno(), 4096)
    place = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    if new:
        attributes = ctypes.create_string_buffer(64)
        library.pthread_mutexattr_init(attributes)
        library.pthread_mutexattr_setpshared(attributes, 1)
        library.pthread_mutex_init(place, attributes)
    return library, place, memory


def share(values: dict[str, str]) -> None:
    """Change memory that processes share, which one at a time may change: under a lock that no file shows."""
    library, lock, _memory = mutex_in(values["file"])
    while True:
        think(float(values["think"]))
        library.pthread_mutex_lock(lock)
        burn(float(values["cpu"]))
        time.sleep(random.uniform(0.5, 1.5) * float(values["hold"]))
        library.pthread_mutex_unlock(lock)


KINDS: dict[str, Callable[[dict[str, str]], None]] = {
    f.__name__: f for f in (shifts, scan, once, stream, answer, fetch, order, reindex, share)
}

# ------------------------------------------------------------------ the plants


def slow_swap(planted: Planted, draw: random.Random) -> Truth:
    """Users whose memory is more than the limit of their group, with swap on a slow disk."""
    preferred(planted)
    name, users, limit = _name(draw), draw.randint(3, 5), draw.choice((96, 128)) << 20
    group = planted.group("memory", name, {"memory.limit_in_bytes": str(limit)})
    each, iops = int(limit * draw.uniform(0.6, 0.8)) >> 12 << 12, draw.choice((400, 600, 800))
    device = modelled_swap(planted, 1 << 30, iops)
    for uid in _uids(draw, users):
        planted.start("shifts", uid, group, bytes=each, think=0.02, touches=draw.randint(50, 150), cpu=0.005)
    return Truth(
        ("paging", "storage"),
        (f"/{MARK}{name}",),
        parameters={"users": users, "limit": limit, "each": each, "iops": iops},
        counter=requests(device),
        least=100.0,
    )


def too_many(planted: Planted, draw: random.Random) -> Truth:
    """Two users fit into the memory of their group; in spells more come, and all steal pages.

    All touch every page that they have at each turn, and who waits for pages loses his own meanwhile. They
    tell the kernel not to guess, as databases do (MADV_RANDOM): else it keeps the pages of those who get on,
    so that two of them get on as before, the others not at all, and no work is lost.
    """
    preferred(planted)
    name, each, more = _name(draw), draw.randint(15, 18) << 20, draw.randint(4, 5)
    # A Python program takes some MiB itself.
    limit, iops = int(2.3 * each) + ((2 + more) * 7 << 20), draw.choice((800, 1000, 1200))
    group = planted.group("memory", name, {"memory.limit_in_bytes": str(limit)})
    device = modelled_swap(planted, 1 << 30, iops)
    on, off = draw.uniform(38, 44), draw.uniform(48, 54)
    work = {"bytes": each, "think": 1.0, "whole": 1, "blind": 1, "cpu": 0.5}
    for k, uid in enumerate(_uids(draw, 2 + more)):
        planted.start("shifts", uid, group, **work, **({"on": on, "off": off} if k >= 2 else {}))
    return Truth(
        ("storage", "paging"),
        (f"/{MARK}{name}",),
        parameters={"each": each, "more": more, "limit": limit, "on": on, "off": off, "iops": iops},
        counter=requests(device),
        least=50.0,
    )


def two_waits(planted: Planted, draw: random.Random) -> Truth:
    """Of one group, some page to a slow disk, others read past the cache at the group's cap on I/O."""
    preferred(planted)
    name, some = _name(draw), draw.randint(3, 4)
    limit, iops = 128 << 20, draw.choice((400, 600))
    group = planted.group("memory", name, {"memory.limit_in_bytes": str(limit)})
    size, piece, rate = 128 << 20, 128 << 10, draw.choice((2, 4)) << 20
    file = planted.file("data", size)
    where = f"{os.major(file.stat().st_dev)}:{os.minor(file.stat().st_dev)} {rate}"
    caps = {f"blkio.throttle.{way}_bps_device": where for way in ("read", "write")}
    capped = planted.group("blkio", name, caps)
    device = modelled_swap(planted, 1 << 30, iops)
    for k, uid in enumerate(_uids(draw, 2 * some)):
        if k % 2:
            planted.start("shifts", uid, group, bytes=64 << 20, think=0.02, touches=100, cpu=0.005)
        else:
            planted.start(
                "copy",
                uid,
                group,
                capped,
                file=file,
                bytes=size,
                piece=piece,
                way="read",
                think=0.03,
                cpu=0.002,
            )
    return Truth(
        ("paging and io", "storage", "paging", "io"),
        (f"/{MARK}{name}",),
        parameters={"users": 2 * some, "limit": limit, "iops": iops, "rate": rate},
        counter=requests(device),
        least=100.0,
    )


def overflow(planted: Planted, draw: random.Random) -> Truth:
    """Swap in compressed memory is filled first; then users need more, and the rest goes to a slow disk."""
    preferred(planted)
    name, users, limit = _name(draw), draw.randint(3, 4), 128 << 20
    group = planted.group("memory", name, {"memory.limit_in_bytes": str(limit)})
    slow = modelled_swap(planted, 1 << 30, draw.choice((400, 600)), priority=5)
    fast = compressed_swap(planted, draw.choice((32, 48)) << 20, priority=100)
    # Of the time that is recorded, the first part is calm.
    start = time.time() + 2 + 0.35 * planted.seconds
    for uid in _uids(draw, users):
        planted.start(
            "shifts",
            uid,
            group,
            bytes=80 << 20,
            few=16 << 20,
            think=0.02,
            touches=draw.randint(60, 120),
            cpu=0.01,
            **{"from": start},
        )
    return Truth(
        ("paging", "storage"),
        (fast, slow),
        parameters={"users": users, "limit": limit, "fast": fast, "slow": slow},
        counter=swap_used(slow),
        least=1000.0,
    )


def reclaim(planted: Planted, draw: random.Random) -> Truth:
    """Users fill the processors; in spells they need more memory than their group may have, and then the
    kernel fills them, with compressed swap."""
    preferred(planted)
    # With less the kernel gives up now and then, and ends one of them.
    name, users, limit = _name(draw), draw.randint(5, 6), 200 << 20
    group = planted.group("memory", name, {"memory.limit_in_bytes": str(limit)})
    compressed_swap(planted, 1 << 30)
    on, off = draw.uniform(36, 42), draw.uniform(40, 46)
    for uid in _uids(draw, users):
        planted.start(
            "shifts",
            uid,
            group,
            bytes=64 << 20,
            few=8 << 20,
            on=on,
            off=off,
            think=0.0,
            touches=2000,
            cpu=0.02,
        )
    return Truth(
        ("storage", "paging"),
        (),
        parameters={"users": users, "limit": limit, "on": on, "off": off},
        counter=_stat(group / "memory.stat", "total_pgmajfault"),
        least=100.0,
    )


def small_cache(planted: Planted, draw: random.Random) -> Truth:
    """Users who read files of a slow disk again and again, in a group whose memory limit is too small.

    On a fast disk they would hardly feel it: there was nothing to name.
    """
    preferred(planted)
    name, users, limit = _name(draw), draw.randint(4, 5), draw.choice((64, 96, 128)) << 20
    group = planted.group("memory", name, {"memory.limit_in_bytes": str(limit)})
    each, iops = int(limit * draw.uniform(0.6, 0.8)) >> 20 << 20, draw.choice((100, 150, 200))
    device = modelled_disk(planted, 1 << 30, "network", "--latency-us", "1000", "--iops", str(iops))
    files_on(planted, device)
    for k, uid in enumerate(_uids(draw, users)):
        file = planted.file(f"files/table{k}", each)
        planted.start("scan", uid, group, file=file, bytes=each, think=0.001, cpu=0.0003)
    whole = draw.random() < 0.5
    return Truth(
        ("cache", "storage", "io"),
        (f"/{MARK}{name}",),
        ("--cgroup", f"/{MARK}{name}") if whole else (),
        {"users": users, "limit": limit, "each": each, "iops": iops, "as_load": whole},
        # One request to the disk brings many pages.
        counter=_stat(group / "memory.stat", "total_workingset_refault_file"),
        least=200.0,
    )


def background(planted: Planted, draw: random.Random) -> Truth:
    """Compute-bound work of low priority fills the processors; others do a little, and hardly notice."""
    # The users come before all else that the host does; the work that fills the processors does not.
    preferred(planted, 262144)
    low = planted.group("cpu", "rest")
    uid, processes, nice = 2500 + draw.randint(1, 99), draw.randint(4, 8), draw.choice((15, 17, 19))
    for _ in range(processes):
        planted.start("compute", uid, low, nice=nice)
    for other in _uids(draw, draw.randint(4, 6)):
        planted.start("edit", other, think=draw.uniform(0.4, 1.0), cpu=draw.uniform(0.04, 0.08))
    return Truth((), (str(uid),), parameters={"uid": uid, "processes": processes, "nice": nice})


def full_storage(planted: Planted, draw: random.Random) -> Truth:
    """The memory of a group is full of what nobody uses again: of a program that is idle, and of files that
    are read once, all the time; its users want more CPU."""
    preferred(planted)
    name, users, limit = _name(draw), draw.randint(5, 7), draw.choice((192, 256)) << 20
    group = planted.group("memory", name, {"memory.limit_in_bytes": str(limit)})
    idle, rate = limit // 3, 4 << 20
    file = planted.file("old", limit + int(rate * (planted.seconds + 60)))
    uids = _uids(draw, users)
    planted.start("once", uids[0], group, file=file, idle=idle, first=limit, rate=rate)
    for uid in uids[1:]:
        planted.start("edit", uid, group, think=draw.uniform(0.01, 0.05), cpu=draw.uniform(0.1, 0.2))
    return Truth(
        ("processor",),
        (f"/{MARK}{name}",),
        parameters={"users": users, "limit": limit, "idle": idle, "rate": rate},
        counter=lambda: int((group / "memory.failcnt").read_text()),
        least=1.0,
    )


def network(planted: Planted, draw: random.Random) -> Truth:
    """Clients of a server over a network without a fault; what is slow is the CPU."""
    preferred(planted)
    number, port = draw.randint(10, 99), 20000 + draw.randint(1, 9999)
    space, here, there = f"{MARK}net{number}", f"plant{number}a", f"plant{number}b"
    for command in (
        ("ip", "netns", "add", space),
        ("ip", "link", "add", here, "type", "veth", "peer", "name", there, "netns", space),
        ("ip", "address", "add", f"10.213.{number}.1/30", "dev", here),
        ("ip", "link", "set", here, "up"),
        ("ip", "-n", space, "address", "add", f"10.213.{number}.2/30", "dev", there),
        ("ip", "-n", space, "link", "set", there, "up"),
    ):
        subprocess.run(command, check=True, capture_output=True)
        if command[2] == "add" and command[1] == "netns":
            # The pair of interfaces goes with the namespace.
            later(planted, "ip", "netns", "delete", space)
    address = f"10.213.{number}.2"
    planted.start("answer", 2700, netns=Path("/run/netns") / space, address=address, port=port)
    users = draw.randint(7, 9)
    for uid in _uids(draw, users):
        planted.start("fetch", uid, address=address, port=port, think=0.02, cpu=draw.uniform(0.01, 0.02))
    received = Path(f"/sys/class/net/{here}/statistics/rx_packets")
    return Truth(
        ("processor",),
        (here,),
        parameters={"users": users, "interface": here},
        counter=lambda: int(received.read_text()),
        least=50.0,
    )


def _orders(planted: Planted, draw: random.Random, users: list[int]) -> Path:
    """Users whose requests take a lock; its file."""
    file = planted.file("orders", 4096)
    for uid in users:
        log = planted.scratch / f"requests-{uid}.csv"
        log.touch()
        log.chmod(0o666)
        planted.start("order", uid, file=file, log=log, think=draw.uniform(0.15, 0.3), cpu=0.003)
    return file


def holder(planted: Planted, draw: random.Random) -> Truth:
    """Of users who share a lock one holds it for seconds; the users' requests are logged."""
    preferred(planted)
    users = _uids(draw, draw.randint(6, 8))
    file = _orders(planted, draw, users[1:])
    hold, pause = draw.uniform(4, 7), draw.uniform(12, 20)
    log = planted.scratch / f"requests-{users[0]}.csv"
    log.touch()
    log.chmod(0o666)
    planted.start("order", users[0], file=file, log=log, think=pause, cpu=0.003, hold=hold)
    return Truth(
        ("server", "lock"),
        (str(users[0]),),
        parameters={"users": len(users), "hold": hold, "think": pause, "holder": users[0]},
        requests=True,
    )


def mutex(planted: Planted, draw: random.Random) -> Truth:
    """Users who change shared memory under a lock; one of them holds it for long. No file shows the lock."""
    preferred(planted)
    users = _uids(draw, draw.randint(5, 7))
    file = planted.file("shared", 4096)
    mutex_in(str(file), new=True)
    hold, pause = draw.uniform(0.4, 0.8), draw.uniform(0.1, 0.3)
    for uid in users[1:]:
        planted.start("share", uid, file=file, think=pause, hold=0.01, cpu=0.005)
    planted.start("share", users[0], file=file, think=pause, hold=hold, cpu=0.02)
    return Truth(
        ("lock",),
        (str(users[0]),),
        parameters={"users": len(users), "hold": hold, "think": pause, "holder": users[0]},
    )


def maintenance(planted: Planted, draw: random.Random) -> Truth:
    """Every minute or so a program works for seconds under the users' lock; their requests are logged."""
    preferred(planted)
    file = _orders(planted, draw, _uids(draw, draw.randint(6, 8)))
    name, uid = draw.choice(("reindex", "vacuumd", "checkpt")), 2900 + draw.randint(1, 99)
    every, hold = draw.uniform(60, 68), draw.uniform(4, 6)
    planted.start("reindex", uid, file=file, name=name, every=every, hold=hold)
    return Truth(
        ("none", "lock", "server"),
        (name,),
        parameters={"name": name, "uid": uid, "every": every, "hold": hold},
        requests=True,
    )


def parity(planted: Planted, draw: random.Random) -> Truth:
    """Users of a disk whose writes take several times as long as its reads, which hardly ever has a queue."""
    preferred(planted)
    read, times = draw.uniform(500, 1500), draw.uniform(4, 7)
    character = ("network", "--latency-us", f"{read:.0f}", "--write-latency-us", f"{times * read:.0f}")
    device = modelled_disk(planted, 512 << 20, *character, "--iops", "20000")
    users, writes, disk = draw.randint(3, 5), draw.uniform(0.25, 0.5), for_all(planted, device)
    for uid in _uids(draw, users):
        planted.start(
            "stream",
            uid,
            disk=disk,
            first=0,
            bytes=512 << 20,
            piece=16 << 10,
            writes=writes,
            think=draw.uniform(0.02, 0.04),
            cpu=0.001,
        )
    return Truth(
        ("none", "io"),
        (Path(device).name,),
        parameters={"users": users, "writes": writes, "read_us": read, "times": times, "device": device},
        counter=requests(device),
        least=20.0,
    )


def arm(planted: Planted, draw: random.Random) -> Truth:
    """One user reads a disk with an arm in order; in spells more come, each to a place of his own."""
    preferred(planted)
    size, more = 640 << 20, draw.randint(5, 7)
    device = modelled_disk(
        planted, size, "rotating", "--whole-bytes", str(size), "--stroke-ms", f"{draw.uniform(10, 16):.1f}"
    )
    disk, part = for_all(planted, device), size // (1 + more) >> 20 << 20
    on, off = draw.uniform(38, 44), draw.uniform(44, 50)
    work = {"disk": disk, "bytes": part, "piece": 64 << 10, "order": 1, "think": 0.015, "cpu": 0.001}
    for k, uid in enumerate(_uids(draw, 1 + more)):
        planted.start("stream", uid, first=k * part, **work, **({"on": on, "off": off} if k else {}))
    return Truth(
        ("io",),
        (Path(device).name,),
        parameters={"users": 1 + more, "on": on, "off": off, "device": device},
        counter=requests(device),
        least=20.0,
    )


def admission(planted: Planted, draw: random.Random) -> Truth:
    """A swapper lets users in while their working sets fill a part of their group's memory that is far too
    small: most of it stays empty, and users wait to be let in."""
    from satline.systems.binaries import find_binary

    preferred(planted)
    name, users, each = _name(draw), draw.randint(6, 8), draw.randint(30, 40) << 20
    limit = (users + 3) * (each + (12 << 20))
    group = planted.group("memory", name, {"memory.limit_in_bytes": str(limit)})
    compressed_swap(planted, 1 << 30)
    uids = _uids(draw, users)
    for uid in uids:
        planted.start("shifts", uid, group, bytes=each, think=draw.uniform(2.5, 4), whole=1, cpu=0.4)
    watched = planted.scratch / "users"
    pairs = zip(planted.processes, uids, strict=True)
    watched.write_text("".join(f"{process.pid}\t{uid}\n" for process, uid in pairs))
    policy = planted.scratch / "policy.toml"
    policy.write_text(POLICY.format(users=watched, group=f"/{MARK}{name}", share=1.2 * each / limit))
    status = planted.scratch / "swapper.sock"

    def swapper(recording: Path) -> None:
        planted.helpers.append(
            subprocess.Popen(
                [
                    find_binary("satline-swapper"),
                    "run",
                    "--policy",
                    policy,
                    "--recording",
                    recording,
                    "--status",
                    status,
                ],
                stdin=subprocess.DEVNULL,
                stdout=(planted.scratch / "swapper.log").open("wb"),
                stderr=subprocess.STDOUT,
                cwd="/",
                preexec_fn=end_with_parent,
            )
        )

    return Truth(
        ("admission",),
        (),
        parameters={"users": users, "each": each, "limit": limit},
        counter=_stat(group / "memory.stat", "total_pgpgin"),
        least=50.0,
        beside=swapper,
    )


# Users go out as soon as they rest, and one at a time fits into the share that is to be filled.
POLICY = """\
[[watch]]
pid_file = "{users}"
[queue_drop]
idle_seconds = 1
[storage]
cgroup = "{group}"
low = 0.97
high = 0.98
[swap_out]
unknown = "address"
[admission]
hold_seconds = 60
storage_share = {share:.3f}
[give_up]
prepage_error_share = 1.0
"""

PLANTS: dict[str, Callable[[Planted, random.Random], Truth]] = {
    f.__name__: f
    for f in (
        slow_swap,
        too_many,
        two_waits,
        overflow,
        reclaim,
        small_cache,
        background,
        full_storage,
        network,
        holder,
        mutex,
        maintenance,
        parity,
        arm,
        admission,
    )
}
