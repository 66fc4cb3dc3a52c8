"""How long an import takes, beside what the collector's own reader needs to print the same figures.

    python benches/import/run.py [--rounds 7] [--interval 60] [--only NAME]

Each entry of `ENTRIES` makes an archive of 24 hours, and says how its own reader prints it. The sysstat
archive is made of real records of this host, taken at once, whose times are then set `interval` apart: its
counters therefore grow by little.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

SADC = Path("/usr/lib/sysstat/sadc")
SADF_FLAGS = [*("-u", "ALL"), *("-P", "ALL"), "-w", *("-I", "SUM"), "-W", "-B", *("-r", "ALL"), "-S"]
SADF_FLAGS += [*("-q", "ALL"), "-d", *("-n", "DEV")]
C = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}
DAY_S = 86_400
RECORD_HEADER = struct.Struct("<QQ")
RECORD = re.compile(r"^# uptime_cs; (\d+); ust_time; (\d+);", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """One kind of archive.

    make
        Makes it in a directory, with readings so many seconds apart; ``None``: cannot be made here.
    readers
        Its own readers: what they are called, and the command that prints the archive.
    """

    name: str
    make: Callable[[Path, int], Path | None]
    readers: Callable[[Path], dict[str, list[str]]]


def make_sysstat(directory: Path, interval_s: int) -> Path | None:
    """A day of records with the activities that sysstat collects by default."""
    if not SADC.exists() or shutil.which("sadf") is None:
        return None
    path = directory / "sa21"
    for _ in range(DAY_S // interval_s + 1):
        subprocess.run([SADC, "-S", "DISK", "1", "1", path], check=True, stdout=subprocess.DEVNULL)
    listed = subprocess.run(
        ["sadf", "-r", "-O", "debug", path], check=True, capture_output=True, text=True, env=C
    ).stdout
    data, at = bytearray(path.read_bytes()), 0
    begin_s, begin_cs = 1_795_219_200, 100_000
    for number, (uptime, real) in enumerate(RECORD.findall(listed)):
        at = data.index(RECORD_HEADER.pack(int(uptime), int(real)), at)
        seconds = number * interval_s
        RECORD_HEADER.pack_into(data, at, begin_cs + 100 * seconds, begin_s + seconds)
        clock = (seconds // 3600 % 24, seconds // 60 % 60, seconds % 60)
        struct.pack_into("<3B", data, at + RECORD_HEADER.size + 5, *clock)
        at += RECORD_HEADER.size
    path.write_bytes(data)
    return path


def sysstat_readers(archive: Path) -> dict[str, list[str]]:
    """`sadf` prints the figures that are imported: as a table, and as JSON in one pass."""
    return {
        "sadf -d": ["sadf", "-d", str(archive), "--", *SADF_FLAGS],
        "sadf -j": ["sadf", "-j", str(archive), "--", *SADF_FLAGS],
    }


PCP_PYTHON = "/usr/bin/python3"  # the one that has PCP's bindings, as pmrep needs it
MAKE_PCP = Path(__file__).resolve().parents[2] / "tests/unit/importers/_make_pcp_archive.py"
PCP_METRICS: dict[str, list[str | None]] = {
    "kernel.all.uptime": ["u32", "instant", "s", None],
    **{f"kernel.all.{m}": ["u64", "counter", "count", None] for m in ("pswitch", "intr", "sysfork")},
    **{
        f"kernel.all.pressure.{m}.total": ["u64", "counter", "ms", None]
        for m in ("cpu.some", "memory.some", "memory.full", "io.some", "io.full")
    },
    **{
        f"mem.util.{m}": ["u64", "instant", "KiB", None]
        for m in ("free", "used", "cached", "bufmem", "available", "anonpages", "dirty", "slab")
    },
    **{
        f"mem.vmstat.{m}": ["u64", "counter", "count", None]
        for m in ("pswpin", "pswpout", "pgfault", "pgmajfault", "pgpgin", "pgpgout")
    },
    **{
        f"kernel.percpu.cpu.{m}": ["u64", "counter", "ms", "cpu"]
        for m in ("user", "nice", "sys", "idle", "wait.total", "irq.hard", "irq.soft", "steal", "guest")
    },
    **{f"disk.dev.{m}": ["u32", "counter", "count", "disk"] for m in ("read", "write")},
    **{f"disk.dev.{m}": ["u32", "counter", "KiB", "disk"] for m in ("read_bytes", "write_bytes")},
    **{f"disk.dev.{m}": ["u32", "counter", "ms", "disk"] for m in ("avactive", "aveq")},
    **{f"network.interface.{m}": ["u64", "counter", "byte", "interface"] for m in ("in.bytes", "out.bytes")},
}
PCP_INSTANCES = {
    "cpu": {f"cpu{k}": k for k in range(4)},
    "disk": {f"sd{letter}": k for k, letter in enumerate("abc")},
    "interface": {"lo": 0, "eth0": 1},
}


def make_pcp(directory: Path, interval_s: int) -> Path | None:
    """A day of a small host, made through PCP's bindings; its figures only grow."""
    if not Path("/usr/bin/pmrep").exists() or not Path(PCP_PYTHON).exists():
        return None
    path = directory / "pcp"
    records = []
    for k in range(DAY_S // interval_s + 1):
        values = {
            name: 1000 + 7 * k if domain is None else dict.fromkeys(PCP_INSTANCES[domain], 1000 + 7 * k)
            for name, (_, _, _, domain) in PCP_METRICS.items()
        }
        records.append([1_795_219_200 + k * interval_s, values])
    job = {
        "path": str(path),
        "host": "made",
        "metrics": PCP_METRICS,
        "instances": PCP_INSTANCES,
        "records": records,
    }
    made = subprocess.run(
        [PCP_PYTHON, MAKE_PCP], input=json.dumps(job), text=True, capture_output=True, check=False
    )
    return path.with_suffix(".0") if made.returncode == 0 else None


def pcp_readers(archive: Path) -> dict[str, list[str]]:
    """`pmrep` prints the raw values of every metric in the archive."""
    pmrep = [PCP_PYTHON, "/usr/bin/pmrep", "-a", str(archive.with_suffix("")), "-r", "-u", "-o", "csv"]
    return {"pmrep": [*pmrep, *PCP_METRICS]}


ENTRIES = [Entry("sysstat", make_sysstat, sysstat_readers), Entry("pcp", make_pcp, pcp_readers)]


@dataclass(frozen=True)
class Cost:
    """Of one command: elapsed time, and processor time of it and its children, seconds."""

    elapsed_s: float
    cpu_s: float


def cost(command: list[str], before: Callable[[], None] = lambda: None) -> Cost:
    """What a command costs, its output thrown away."""
    before()
    used, begun = _children_s(), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=C)
    return Cost(time.perf_counter() - begun, _children_s() - used)


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(entry: Entry, directory: Path, interval_s: int, rounds: int) -> None:
    """Readers and import take turns, so that what else runs here meets all alike."""
    archive = entry.make(directory, interval_s)
    if archive is None:
        print(f"{entry.name}: its tools are not here")
        return
    output = directory / f"{entry.name}.satline"
    satline = [sys.executable, "-m", "satline.cli", "import", str(archive), "-o", str(output)]
    readers = entry.readers(archive)
    costs: dict[str, list[Cost]] = {name: [] for name in [*readers, "satline import"]}
    for _ in range(rounds):
        for name, command in readers.items():
            costs[name].append(cost(command))
        costs["satline import"].append(cost(satline, lambda: shutil.rmtree(output, ignore_errors=True)))
    size = sum(f.stat().st_size for f in output.rglob("*.parquet"))
    print(f"{entry.name}: 24 h every {interval_s} s, {archive.stat().st_size:,} bytes → {size:,} bytes")
    print(f"  {'median of ' + str(rounds):16} {'elapsed s':>10} {'cpu s':>8}   import / this")
    middle = {
        name: (median(c.elapsed_s for c in found), median(c.cpu_s for c in found))
        for name, found in costs.items()
    }
    ours = middle["satline import"]
    for name, (elapsed, cpu) in middle.items():
        ratio = "" if name == "satline import" else f"   {ours[0] / elapsed:.2f} (cpu {ours[1] / cpu:.2f})"
        print(f"  {name:16} {elapsed:10.3f} {cpu:8.3f}{ratio}")


def main() -> None:
    """Measure each entry."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--interval", type=int, default=60, help="seconds between readings")
    parser.add_argument("--only", choices=[e.name for e in ENTRIES])
    chosen = parser.parse_args()
    for entry in ENTRIES:
        if chosen.only in (None, entry.name):
            with tempfile.TemporaryDirectory(prefix="satline-bench-") as directory:
                measure(entry, Path(directory), chosen.interval, chosen.rounds)


if __name__ == "__main__":
    main()
