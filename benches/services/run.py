"""How near recorded requests are to what clients saw, what a request costs, whether requests get lost.

    python benches/services/run.py [--clients 50] [--seconds 20] [--loads 0] [--seed 1] [--json]
        [--kinds threads,asyncio,single,tls,lines,nginx] [--without accuracy,cost,faults]

Needs root. In one run:

1. Accuracy, of each kind of service (`servers.py`) at each load: clients, in real time so that their stamps
   hold on a busy host, ask, wait for the answer, think and ask again (`clients.py`), while
   `satline-monitor --services` records and as many processes as the load says compute beside them. Told:
   requests matched, and the client's times less the recorded ones. Of `single` the time in its queue of
   connections is part of the reaction.
2. Cost: the time that the programs in the kernel take for a request, both ends of the connection on this
   host, by the kernel's own account of programs (BPF_ENABLE_STATS); and the time of a request with and
   without them.
3. Faults: a reader that is stopped while 20,000 requests are answered, more than the map holds. Every
   request must be recorded or counted as lost.

Build first: cargo build --release -p satline-monitor
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(ROOT / "benches/terminals"))
MONITOR = ROOT / "target/release/satline-monitor"

import servers  # noqa: E402
from answered import crowd, differences, lost_of, matched, paths_of, rows_of  # noqa: E402


@contextmanager
def recording(directory: Path, *words: str) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """A monitor that records services, from its first sample on to the block's end."""
    path = directory / f"{time.monotonic_ns()}.satline"
    monitor = subprocess.Popen([str(MONITOR), "--recording", str(path), "--services", *words])
    try:
        while not list(path.glob("segments/system/*")):
            if monitor.poll() is not None:
                raise SystemExit("error: satline-monitor ended\nhint: run it by hand")
            time.sleep(0.05)
        yield path, monitor
    finally:
        monitor.send_signal(signal.SIGCONT)
        monitor.terminate()
        monitor.wait()


def spread(values: Sequence[float]) -> dict[str, float] | None:
    if not values:
        return None
    ordered = sorted(abs(value) for value in values)
    return {
        "p50_ms": statistics.median(ordered),
        "p99_ms": ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))],
        "max_ms": ordered[-1],
    }


@contextmanager
def load(processes: int) -> Iterator[None]:
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(processes)]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


def accuracy(kind: str, directory: Path, options: argparse.Namespace, beside: int) -> dict[str, Any]:
    paths = paths_of(kind, directory)
    with ExitStack() as stack:
        port = stack.enter_context(servers.server(kind, directory))
        path, _ = stack.enter_context(recording(directory, "--interval", "500ms"))
        stack.enter_context(load(beside))
        # One connection after the other: no more than it can serve.
        think_s = 2.0 if kind == "single" else 0.3
        how = {"clients": options.clients, "seconds": options.seconds, "think_s": think_s}
        asked = crowd(port, kind, **how, seed=options.seed, paths=paths)
        time.sleep(1)
    rows = rows_of(path, port)
    pairs = matched(asked, rows)
    off = differences(pairs)
    unread = [row[3] / 1e3 for _, row in pairs if row is not None and row[3] is not None]
    return {
        "kind": kind,
        "processes_beside": beside,
        "requests": len(asked),
        "matched": sum(row is not None for _, row in pairs),
        "rows": len(rows),
        "lost": lost_of(path),
        "reaction": spread(off["reaction"]),
        "response": spread(off["response"]),
        "over_20_ms": sum(abs(value) > 20 for values in off.values() for value in values),
        "unread_p50_ms": statistics.median(unread) if unread else None,
    }


def cost(directory: Path, requests: int) -> dict[str, Any]:
    """What a request takes in the programs, and in all, with and without them."""
    from costs import counted, loaded, spent

    def one(kind: str, words: dict[str, Any]) -> float:
        with servers.server(kind, directory / f"{time.monotonic_ns()}") as port:
            began = time.monotonic()
            found = crowd(port, kind, clients=1, seconds=120, think_s=0, seed=1, requests=requests, **words)
            return (time.monotonic() - began) / len(found) * 1e6

    words = {"paths": ["/0/0/100"]}
    result: dict[str, Any] = {"requests": requests, "without_us": [], "with_us": []}
    for _ in range(3):
        result["without_us"].append(one("asyncio", words))
        with recording(directory):
            result["with_us"].append(one("asyncio", words))
    names = ("on_state", "on_ready", "on_recv", "on_piece", "on_probe", "on_send")
    before = loaded()
    with recording(directory), counted():
        one("asyncio", words)
        told = spent(loaded() - before, names)
    result["programs_us"] = {name: told[name][0] / 1e3 / requests for name in names if name in told}
    result["runs"] = {name: told[name][1] / requests for name in names if name in told}
    return result


def stopped(directory: Path, requests: int) -> dict[str, int]:
    with servers.server("asyncio", directory) as port, recording(directory) as (path, monitor):
        monitor.send_signal(signal.SIGSTOP)
        asked = crowd(
            port, "asyncio", clients=8, seconds=300, think_s=0, seed=1, requests=requests, paths=["/0/0/100"]
        )
        monitor.send_signal(signal.SIGCONT)
        time.sleep(3)
    return {"requests": len(asked), "recorded": len(rows_of(path, port)), "lost": lost_of(path)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--loads", default="0", help="processes that compute beside: 0,4")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(servers.KINDS))
    parser.add_argument("--without", default="")
    options = parser.parse_args()
    without = options.without.split(",")
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)
        if "accuracy" not in without:
            kinds = [kind for kind in options.kinds.split(",") if servers.installed(kind)]
            result["accuracy"] = [
                accuracy(kind, directory / f"{kind}-{beside}", options, int(beside))
                for beside in options.loads.split(",")
                for kind in kinds
            ]
        if "cost" not in without:
            result["cost"] = cost(directory, 5000)
        if "faults" not in without:
            result["stopped"] = stopped(directory / "stopped", 20_000)
    print(json.dumps(result, indent=None if options.json else 1))


if __name__ == "__main__":
    main()
