"""Time of the next interaction of one user who was swapped out: the kernel alone, and with the swapper.

    python benches/swapper/resume.py [--kinds disk,network,…] [--arms kernel,swapper] [--repeats N]

One user (workloads/programs/kernel.py) works on some lines and goes idle; another program in the same
control group then fills the storage until he is out; it ends, and what is still held of him is reclaimed; he
types the next line. Each repeat is one such round with the same user, so that what the swapper has learnt of
him counts; the first `--learning` rounds of either arm do not. Needs root; makes its own swap device, which
is gone after it.

Figures: medians; the interval is that of the order statistics, at the level that so many repeats give.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import secrets
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from satline.experiment.study import StudySwapper
from satline.experiment.swapper import Swapper
from satline.systems import Conditions, Configuration, Knobs, Limits
from satline.systems.binaries import find_binary
from satline.systems.swapdevices import KINDS
from satline.systems.this_host import ThisHost

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
PROMPT = b"kernel> "
PROGRAM = Path(__file__).parents[2] / "workloads/programs/kernel.py"
PRESSER = """
import os, sys, time
limit, held = int(sys.argv[1]), []
while sum(map(len, held)) < limit:
    held.append(bytearray(os.urandom(4 << 20)))
    time.sleep(0.02)
while True:
    for part in held:
        part[::4096] = bytes(len(part) // 4096)
    time.sleep(0.05)
"""
OUT_SHARE = 0.05
OUT_TIMEOUT_S = 60.0


@dataclass
class Round:
    """One resume.

    resume_ms, settled_ms
        Time of the first line after the pause; of the line before it, which found in storage what the two
        before had brought, and only its new part out.
    reads, read_bytes
        From the swap device, over the resume and the second after it.
    out_share
        Part of the user's storage that was out, and not still held as swap cache.
    touched_pages, touched_runs
        Anonymous pages in the user's tables after the line, and runs of neighbours among them: what it
        touched, and what had stayed in. What is only read ahead is not in the tables.
    processor_wait
        Share of the resume in which some task of the host waited for a processor; a quiet host: hardly any.
    swapper_cpu_ms
        Of the whole round; ``None``: no swapper.
    """

    resume_ms: float
    settled_ms: float
    reads: int
    read_bytes: int
    out_share: float
    touched_pages: int
    touched_runs: int
    processor_wait: float | None
    swapper_cpu_ms: float | None


class User:
    """The user's program inside the limits."""

    def __init__(self, conditions: Conditions, words: list[str]) -> None:
        def enter() -> None:
            for path in conditions.cgroup_procs:
                path.write_text("0")
            if conditions.processors is not None:
                os.sched_setaffinity(0, conditions.processors)

        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(PROGRAM), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **conditions.environment},
            preexec_fn=enter,
        )
        self._prompt()

    def work(self) -> float:
        """Milliseconds from the line to the next prompt."""
        assert self.process.stdin is not None
        began = time.perf_counter()
        self.process.stdin.write(b"work\n")
        self.process.stdin.flush()
        self._prompt()
        return (time.perf_counter() - began) * 1e3

    def _prompt(self) -> None:
        assert self.process.stdout is not None
        said = b""
        while not said.endswith(PROMPT):
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                raise SystemExit(f"the user's program ended: {said.decode(errors='replace')}")
            said += more

    def storage(self) -> tuple[int, int]:
        """Bytes of anonymous storage that are in, and that are out."""
        found = dict.fromkeys(("RssAnon", "VmSwap"), 0)
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name in found:
                found[name] = int(rest.split()[0]) * 1024
        return found["RssAnon"], found["VmSwap"]

    def mapped(self) -> tuple[int, int]:
        """Anonymous pages in the user's tables, and runs of neighbours among them."""
        import numpy as np

        pages = runs = 0
        process = Path(f"/proc/{self.process.pid}")
        with (process / "pagemap").open("rb", buffering=0) as file:
            for line in (process / "maps").read_text().splitlines():
                bounds, access, _, _, inode = line.split()[:5]
                if inode != "0" or "w" not in access:
                    continue
                low, high = (int(bound, 16) // PAGE_BYTES for bound in bounds.split("-"))
                entries = np.frombuffer(os.pread(file.fileno(), (high - low) * 8, low * 8), dtype="<u8")
                here = (entries >> np.uint64(63)).astype(np.int8)
                pages += int(here.sum())
                runs += int((np.diff(here, prepend=0) == 1).sum())
        return pages, runs


@contextlib.contextmanager
def pressed(conditions: Conditions, limit_bytes: int) -> Iterator[None]:
    """Another program of the group that takes all of its storage."""

    def enter() -> None:
        for path in conditions.cgroup_procs:
            path.write_text("0")
        if conditions.processors is not None:
            os.sched_setaffinity(0, conditions.processors)

    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", PRESSER, str(limit_bytes)],
        env={**os.environ, **conditions.environment},
        preexec_fn=enter,
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()


def emptied(conditions: Conditions) -> None:
    """Free what is out but still held: pages whose write had not ended when the pressure did (swap cache)."""
    for path in (one.parent for one in conditions.cgroup_procs):
        with contextlib.suppress(
            OSError
        ):  # it has freed what it could when it says that there was not as much
            if (path / "memory.force_empty").exists():
                (path / "memory.force_empty").write_text("0")
            elif (path / "memory.reclaim").exists():
                (path / "memory.reclaim").write_text((path / "memory.current").read_text())


def swap_cached(conditions: Conditions) -> int:
    """Bytes of the group that are out and still held."""
    for path in (one.parent / "memory.stat" for one in conditions.cgroup_procs):
        if path.exists():
            for line in path.read_text().splitlines():
                if line.startswith("swapcached "):
                    return int(line.split()[1])
    return 0


def device_reads() -> tuple[int, int]:
    """Reads completed and bytes read of the swap device, or of the disk that holds the swap file."""
    line = Path("/proc/swaps").read_text().splitlines()[1].split()[0]
    path = Path(line)
    number = path.stat().st_rdev if path.is_block_device() else path.stat().st_dev
    fields = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/stat").read_text().split()
    return int(fields[0]), int(fields[2]) * 512


def processor_wait_ms() -> float | None:
    """Time so far in which some task waited for a processor; ``None``: the kernel does not tell."""
    try:
        line = Path("/proc/pressure/cpu").read_text().splitlines()[0]
    except OSError:
        return None
    return int(line.rpartition("total=")[2]) / 1e3


def cpu_ms(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def one_round(
    user: User, conditions: Conditions, swapper: Swapper | None, options: argparse.Namespace
) -> Round:
    before = cpu_ms(swapper.pid) if swapper else 0.0
    for _ in range(3):
        settled = user.work()
        time.sleep(0.3)
    time.sleep(options.idle_seconds + 1.0)
    inside, outside = user.storage()
    whole, end = inside + outside, time.monotonic() + OUT_TIMEOUT_S
    with pressed(conditions, options.memory_bytes):
        while inside > OUT_SHARE * whole and time.monotonic() < end:
            time.sleep(0.05)
            inside, outside = user.storage()
    time.sleep(options.pause_seconds)
    emptied(conditions)
    inside, outside = user.storage()
    held = swap_cached(conditions)
    reads, read_bytes = device_reads()
    waited_ms = processor_wait_ms()
    resume = user.work()
    waited = None if waited_ms is None else ((processor_wait_ms() or 0.0) - waited_ms) / resume
    pages, runs = user.mapped()
    time.sleep(1.0)  # what is still being read for him counts
    reads_after, bytes_after = device_reads()
    spent = cpu_ms(swapper.pid) - before if swapper else None
    return Round(
        resume_ms=resume,
        settled_ms=settled,
        reads=reads_after - reads,
        read_bytes=bytes_after - read_bytes,
        out_share=(outside - held) / (inside + outside),
        touched_pages=pages,
        touched_runs=runs,
        processor_wait=waited,
        swapper_cpu_ms=spent,
    )


def measure(kind: str, arm: str, options: argparse.Namespace) -> list[Round]:
    host = ThisHost(state=options.state)
    try:
        limits = Limits(processors=1, memory_bytes=options.memory_bytes, swap_bytes=options.swap_bytes)
        knobs = Knobs(swap_kind=kind, page_cluster=options.page_cluster, swap_discard=options.discard or None)
        conditions = host.prepare(
            Configuration(secrets.token_hex(16), limits, options.scratch, knobs=knobs, delay_accounting=False)
        )
        if conditions.not_set:
            raise SystemExit(f"{kind}: {conditions.not_set}")
        user = User(conditions, options.user.split())
        with conditions.users_file.open("a") as file:
            file.write(f"{user.process.pid}\tuser\n")
        swapper = None
        if arm == "swapper":
            recording = Path(options.keep or conditions.data) / f"{kind}-{secrets.token_hex(4)}.satline"
            settings = StudySwapper(policy=policy(options))
            swapper = Swapper(find_binary("satline-swapper"), settings, conditions, recording)
        try:
            rounds = []
            for number in range(options.learning + options.repeats):
                rounds.append(one_round(user, conditions, swapper, options))
                if swapper:
                    swapper.check()
                if options.verbose:
                    print(f"  {kind} {arm} {number}: {rounds[-1]}", flush=True)
        finally:
            if swapper:
                swapper.stop()
        return rounds[options.learning :]
    finally:
        for problem in host.restore():
            print(f"left behind: {problem}", file=sys.stderr)


def policy(options: argparse.Namespace) -> dict[str, dict[str, object]]:
    made: dict[str, dict[str, object]] = {
        "queue_drop": {"idle_seconds": options.idle_seconds},
        "storage": {"low": 0.25, "high": 0.35},
    }
    for setting in options.set:
        key, _, value = setting.partition("=")
        table, _, name = key.partition(".")
        made.setdefault(table, {})[name] = json.loads(value)
    return made


def median_interval(values: list[float]) -> tuple[float, float, float, float]:
    """Median, the pair of order statistics around it that has at least 95 % where any has, and its level."""
    ordered, n = sorted(values), len(values)
    cut = 0
    while cut + 1 < n / 2 and 1 - 2 * sum(math.comb(n, k) for k in range(cut + 2)) / 2**n >= 0.95:
        cut += 1
    level = 1 - 2 * sum(math.comb(n, k) for k in range(cut + 1)) / 2**n
    return statistics.median(ordered), ordered[cut], ordered[n - 1 - cut], level


def median_of(rounds: list[Round]) -> float:
    return statistics.median(one.resume_ms for one in rounds)


def shown(name: str, arm: str, rounds: list[Round]) -> str:
    middle, low, high, level = median_interval([one.resume_ms for one in rounds])
    reads = statistics.median(one.reads for one in rounds)
    megabytes = statistics.median(one.read_bytes for one in rounds) / 1e6
    settled = statistics.median(one.settled_ms for one in rounds)
    out = statistics.median(one.out_share for one in rounds)
    waits = [one.processor_wait for one in rounds if one.processor_wait is not None]
    waited = f"{statistics.median(waits):.0%}" if waits else "–"
    interval = f"{low:.0f}–{high:.0f} ({level:.0%})"
    return (
        f"| {name} | {arm} | {middle:.0f} | {interval} | {reads:.0f} | {megabytes:.1f} | {settled:.0f} "
        f"| {out:.0%} | {waited} | {len(rounds)} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--arms", default="kernel,swapper")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--learning", type=int, default=2)
    parser.add_argument("--idle-seconds", type=float, default=1.0)
    parser.add_argument("--pause-seconds", type=float, default=0.5)
    parser.add_argument("--memory-bytes", type=int, default=300_000_000)
    parser.add_argument("--swap-bytes", type=int, default=2_000_000_000)
    parser.add_argument("--page-cluster", type=int)
    parser.add_argument("--discard", action="store_true", help="swap devices as by swapon --discard=pages")
    parser.add_argument("--user", default="--seed 1", help="words of the user's program")
    parser.add_argument("--set", action="append", default=[], metavar="TABLE.KEY=JSON", help="of the policy")
    parser.add_argument("--scratch", type=Path, default=Path("/var/tmp"))
    parser.add_argument("--state", type=Path)
    parser.add_argument("--keep", help="directory for the swapper's recordings")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print("| device | arm | resume ms | interval | reads | MB read | settled ms | out | others' work | n |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    found = []
    for kind in options.kinds.split(","):
        for arm in options.arms.split(","):
            rounds = measure(kind, arm, options)
            print(shown(kind, arm, rounds), flush=True)
            found.append({"device": kind, "arm": arm, "rounds": [asdict(one) for one in rounds]})
            if options.json:  # each time, so that an early end costs one arm
                options.json.write_text(json.dumps({"arguments": sys.argv[1:], "measured": found}, indent=1))


if __name__ == "__main__":
    main()
