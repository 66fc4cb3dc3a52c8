"""Replacement policies on traces, beside libCacheSim: the same misses, and how many requests per second.

    python benches/traces/run.py [--json] [--rounds 5] [--references 2000000] [--trace FILE]
    python benches/traces/run.py --write crates/satline-traces/tests/data/libcachesim.json

1. Misses of every policy that both have, at several sizes, on a made trace (hot pages whose place moves,
   strangers, a loop) and on the recorded one of the tests: they must be equal.
2. Requests per second of processor time, one thread, in turns so that a busy moment meets both: time of a
   replay without reading the trace (ours: several sizes against one, the difference is the replays alone;
   theirs: its own process_trace over a binary trace, which reads as it goes).

libCacheSim (pip install libcachesim) is under the GPL: it is a peer for this bench, run beside Satline, and
no part of it. Without it only ours is shown. Build first: cargo build --release -p satline-traces
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import resource
import statistics
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "target/release/satline-traces"
RECORDED = ROOT / "crates/satline-traces/tests/data/sort.trace"
# Ours and the peer's name of each policy that both have.
BOTH = {
    "fifo": "FIFO",
    "lru": "LRU",
    "clock": "Clock",
    "lfu": "LFU",
    "arc": "ARC",
    "s3-fifo": "S3FIFO",
    "sieve": "Sieve",
}
TIMED = ("clock", "lru")
GOAL = 20.0


def made(references: int, pages: int, seed: int) -> list[int]:
    draw = random.Random(seed)
    base, found = 0, []
    for at in range(references):
        if at % 5000 == 0:
            base = draw.randrange(pages)
        kind = draw.random()
        if kind < 0.6:
            found.append((base + int(draw.paretovariate(1.1) * 3)) % pages)
        elif kind < 0.9:
            found.append(draw.randrange(pages))
        else:
            found.append(at // 3 % pages)
    return found


def ours(trace: Path, sizes: list[int], policies: list[str]) -> tuple[dict[str, list[int]], float, int]:
    """Misses by policy; processor seconds; references."""
    command = [
        str(PROGRAM),
        "replay",
        str(trace),
        "--policies",
        ",".join(policies),
        "--json",
        "--workers",
        "1",
    ]
    command += ["--sizes", ",".join(map(str, sizes))]
    with tempfile.TemporaryFile() as output:
        pid = os.posix_spawn(
            command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, output.fileno(), 1)]
        )
        _, status, usage = os.wait4(pid, 0)
        if status != 0:
            raise SystemExit(f"error: {' '.join(command)} ended with status {status}\nhint: run it by hand")
        output.seek(0)
        shown = json.loads(output.read())
    misses = {policy["name"]: policy["misses"] for policy in shown["policies"]}
    return misses, usage.ru_utime + usage.ru_stime, shown["references"]


def theirs(binary: Path, references: int, size: int, policy: str) -> tuple[int, float]:
    """Misses, and processor seconds of the peer's own loop."""
    import libcachesim

    parameters = libcachesim.ReaderInitParam(ignore_obj_size=True)
    reader = libcachesim.TraceReader(str(binary), libcachesim.TraceType.ORACLE_GENERAL_TRACE, parameters)
    cache = getattr(libcachesim, BOTH[policy])(size)
    before = resource.getrusage(resource.RUSAGE_SELF)
    ratio, _ = cache.process_trace(reader)
    after = resource.getrusage(resource.RUSAGE_SELF)
    spent_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return round(ratio * references), spent_s


def write_binary(pages: list[int], path: Path) -> None:
    """libCacheSim's oracleGeneral: time u32, object u64, size u32, next use i64 (not used here)."""
    with path.open("wb") as file:
        for at, page in enumerate(pages):
            file.write(struct.pack("<IQIq", at // 1000 + 1, page + 1, 1, -2))


def pages_of(trace: Path) -> list[int]:
    """The page numbers of a compact trace, by the example `pages`."""
    done = subprocess.run(
        [str(ROOT / "target/release/examples/pages"), str(trace)], stdout=subprocess.PIPE, check=True
    )
    return [int(line) for line in done.stdout.split()]


def compared(name: str, trace: Path, binary: Path, sizes: list[int]) -> dict[str, Any]:
    misses, _, references = ours(trace, sizes, list(BOTH))
    rows = {}
    for policy in BOTH:
        peer = [theirs(binary, references, size, policy)[0] for size in sizes]
        rows[policy] = {"ours": misses[policy], "libcachesim": peer, "equal": misses[policy] == peer}
    return {"trace": name, "references": references, "sizes": sizes, "policies": rows}


def rates(trace: Path, binary: Path | None, sizes: list[int], rounds: int) -> dict[str, Any]:
    found: dict[str, Any] = {policy: {"ours": [], "libcachesim": []} for policy in TIMED}
    size = sizes[len(sizes) // 2]
    # The same work many times over, so that the reading of the trace is small beside it and can be taken off.
    many = [size + step for step in range(24)]
    for _ in range(rounds):
        for policy in TIMED:
            _, once_s, references = ours(trace, [size], [policy])
            _, often_s, _ = ours(trace, many, [policy])
            found[policy]["ours"].append((len(many) - 1) * references / (often_s - once_s))
            if binary is not None:
                _, spent_s = theirs(binary, references, size, policy)
                found[policy]["libcachesim"].append(references / spent_s)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--references", type=int, default=2_000_000)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--trace", type=Path, default=RECORDED, help="a compact trace to compare on too")
    parser.add_argument("--write", type=Path, help="write the peer's misses on --trace here and end")
    options = parser.parse_args()
    if not PROGRAM.exists():
        raise SystemExit(
            f"error: {PROGRAM} is not built\nhint: cargo build --release -p satline-traces --examples"
        )
    peer = importlib.util.find_spec("libcachesim") is not None
    with tempfile.TemporaryDirectory() as scratch:
        result = run(options, peer, Path(scratch))
    if options.write is None:
        print(json.dumps(result, indent=1)) if options.json else show(result, peer)


def run(options: argparse.Namespace, peer: bool, scratch: Path) -> dict[str, Any]:
    if options.write is not None:
        if not peer:
            raise SystemExit("error: libcachesim is not installed\nhint: pip install libcachesim")
        write_expected(options, scratch)
        return {}
    pages = made(options.references, options.pages, 1)
    text, trace, binary = scratch / "made.txt", scratch / "made.trace", scratch / "made.bin"
    text.write_text("\n".join(map(str, pages)) + "\n")
    subprocess.run(
        [str(PROGRAM), "import", str(text), "-o", str(trace)], check=True, stdout=subprocess.DEVNULL
    )
    sizes = [max(20, options.pages * part // 100) for part in (1, 5, 10, 20, 50)]
    result: dict[str, Any] = {"misses": [], "goal": GOAL}
    if peer:
        write_binary(pages, binary)
        result["misses"].append(compared("made", trace, binary, sizes))
    result["rates"] = rates(trace, binary if peer else None, sizes, options.rounds)
    return result


def write_expected(options: argparse.Namespace, scratch: Path) -> None:
    import libcachesim

    pages = pages_of(options.trace)
    binary = scratch / "recorded.bin"
    write_binary(pages, binary)
    footprint = len(set(pages))
    sizes = [20, 50, 120, 200]
    misses = {policy: [theirs(binary, len(pages), size, policy)[0] for size in sizes] for policy in BOTH}
    content = {
        "made_by": f"python benches/traces/run.py --write, libcachesim {libcachesim.__version__}",
        "trace": options.trace.name,
        "references": len(pages),
        "pages": footprint,
        "sizes": sizes,
        "misses": misses,
    }
    options.write.write_text(json.dumps(content, indent=1) + "\n")
    print(f"{options.write}: {len(BOTH)} policies at {len(sizes)} sizes")


def show(result: dict[str, Any], peer: bool) -> None:
    for one in result["misses"]:
        print(f"Misses, {one['trace']} trace of {one['references']} references; sizes {one['sizes']}")
        for policy, row in one["policies"].items():
            words = "equal" if row["equal"] else f"DIFFERENT: {row['ours']} and {row['libcachesim']}"
            print(f"  {policy:10} {words}")
    print("Million requests per second of processor time, one thread; medians")
    for policy, row in result["rates"].items():
        own = statistics.median(row["ours"])
        line = (
            f"  {policy:10} {own / 1e6:8.1f}  ({min(row['ours']) / 1e6:.1f} to {max(row['ours']) / 1e6:.1f})"
        )
        if peer:
            other = statistics.median(row["libcachesim"])
            ratio = statistics.median(a / b for a, b in zip(row["ours"], row["libcachesim"], strict=True))
            line += f"   libCacheSim {other / 1e6:6.2f}   ratio {ratio:6.1f}"
            line += f"   goal {result['goal']:g}: {'met' if ratio >= result['goal'] else 'NOT met'}"
        print(line)
    if not peer:
        print("  libCacheSim: skipped, not installed here (pip install libcachesim)")


if __name__ == "__main__":
    main()
