"""How near the recorded lines are to what their typists saw, what a key costs, and whether lines get lost.

    python benches/terminals/run.py [--terminals 50] [--seconds 60] [--loads 1,20] [--seed 1]
        [--json] [--without accuracy,cost,faults]

Needs root. In one run:

1. Accuracy, once for each load: so many users at pseudo-terminals (bash, dash, zsh, python, tmux, script;
   what is not installed is left out) type lines and stamp what they are shown (`emulated.py`), while
   `satline-monitor --terminals` records and as many processes as the load says compute beside them. The
   typists run in real time, so that their stamps are right on a busy machine too. Told: lines matched, and
   the differences of both stamps. What tmux shows it holds back by some milliseconds of its own.
2. Cost: the time that the programs in the kernel take for each key at a shell's line editor and for each
   context switch of a task with a terminal, by the kernel's own account of programs (BPF_ENABLE_STATS), and
   the round trip of a key with and without them, in turns.
3. Faults: 5,000 terminals that come and go, each tenth hung up in the midst of a line; a reader that is
   stopped while 20,000 lines are typed, more than the map holds, and for 60 s while users type on. Every
   line must be recorded or counted as lost.

Build first: cargo build --release -p satline-monitor
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
MONITOR = ROOT / "target/release/satline-monitor"
# What these show they have to get a processor for first.
NESTED = ("tmux", "script")
KINDS = ["bash", "dash", "zsh", "python", "tmux", "script"]

import costs  # noqa: E402
import emulated  # noqa: E402
import faults  # noqa: E402
from matching import match, rows_of  # noqa: E402


@contextmanager
def recording(*words: str) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """A monitor that records terminals, from its first sample on."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "x.satline"
        command = [str(MONITOR), "--recording", str(path), "--terminals", "--users", "terminal", *words]
        monitor = subprocess.Popen(command)
        try:
            while not list(path.glob("segments/system/*")):
                if monitor.poll() is not None:
                    raise SystemExit("the monitor has ended")
                time.sleep(0.05)
            yield path, monitor
        finally:
            if monitor.poll() is None:
                monitor.send_signal(signal.SIGTERM)
            monitor.wait()


def finish(monitor: subprocess.Popen[bytes]) -> None:
    """End the recording."""
    time.sleep(1)
    monitor.send_signal(signal.SIGTERM)
    monitor.wait()


@contextmanager
def burners(count: int) -> Iterator[None]:
    """So many processes that compute."""
    started = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


def quantiles(values: list[float]) -> dict[str, float]:
    """Median, 99th percentile and the largest, of absolute values."""
    ordered = sorted(abs(value) for value in values)
    if not ordered:
        return {}
    at = min(len(ordered) - 1, int(0.99 * len(ordered)))
    return {"p50": ordered[len(ordered) // 2], "p99": ordered[at], "max": ordered[-1]}


def accuracy(terminals: int, seconds: float, load: int, seed: int) -> dict[str, Any]:
    """One round at a load."""
    users = emulated.crowd(terminals, KINDS, (1.0, 5.0), seed)
    with recording() as (path, monitor), burners(load):
        with emulated.real_time():
            typed = emulated.run(users, seconds)
        average = os.getloadavg()[0]
        finish(monitor)
        rows = rows_of(path)
        lost = lines_lost(path)
    pairs, left = match(typed, rows)
    result: dict[str, Any] = {
        "burners": load,
        "load_average": average,
        "lines": len(pairs),
        "unmatched": sum(pair.row is None for pair in pairs),
        "marked": sum(pair.row is not None and pair.row.marked for pair in pairs),
        "rows_left": len(left),
        "lost": lost,
        "kinds": {},
    }
    told = [pair for pair in pairs if pair.row is not None and not pair.row.marked]
    kinds = list(dict.fromkeys(pair.typed.kind for pair in pairs))
    groups = {kind: [kind] for kind in kinds}
    groups["direct"] = [kind for kind in kinds if kind not in NESTED]
    groups["nested"] = [kind for kind in kinds if kind in NESTED]
    for kind, members in groups.items():
        chosen = [pair for pair in told if pair.typed.kind in members]
        first = [value for pair in chosen if (value := pair.first_ms) is not None]
        prompt = [value for pair in chosen if (value := pair.prompt_ms) is not None]
        result["kinds"][kind] = {
            "lines": len(chosen),
            "first_ms": quantiles(first),
            "prompt_ms": quantiles(prompt),
            "over_20_ms": sum(abs(value) > 20 for value in [*first, *prompt]),
        }
    result["worst"] = [
        (p.typed.kind, p.typed.text, p.first_ms, p.prompt_ms)
        for p in pairs
        if p.row is not None and not p.row.marked and max(abs(p.first_ms or 0), abs(p.prompt_ms or 0)) > 5
    ][:20]
    result["not_matched"] = [(p.typed.kind, p.typed.text) for p in pairs if p.row is None][:20]
    return result


def lines_lost(path: Path) -> int:
    """Lines that the recording counts as lost."""
    from satline.recording import Recording

    connection = Recording.open(path).connect(tables=["event"])
    rows = connection.execute("SELECT value FROM event WHERE event = 'lines-lost'").fetchall()
    connection.close()
    return int(sum(value for (value,) in rows))


def recorded_lines(path: Path, sessions: list[int]) -> int:
    """Lines of these sessions in the recording, those with them that were typed ahead."""
    return sum(1 + row.typed_ahead for row in rows_of(path) if row.session in set(sessions))


def cost(keys: int) -> dict[str, Any]:
    """What a key costs."""
    rounds: dict[str, list[float]] = {"with": [], "without": []}
    for _ in range(3):
        rounds["without"].append(costs.round_trip_us(keys))
        with recording("--interval", "1s"):
            rounds["with"].append(costs.round_trip_us(keys))
    # Others may run monitors, too.
    others = costs.loaded()
    with recording("--interval", "1s"), costs.counted():
        own = costs.loaded() - others
        before = costs.spent(own)
        costs.round_trip_us(keys)
        after = costs.spent(own)
    spent = {name: (after[name][0] - before[name][0], after[name][1] - before[name][1]) for name in after}
    # Those at context switches and ends of programs have the rest of the host in them.
    total_ns = sum(spent.get(name, (0, 0))[0] for name in ("on_queue", "on_start", "on_end"))
    switch_ns, switches = spent.get("on_switch", (0, 0))
    return {
        "keys": keys,
        "us_per_key": total_ns / 1000 / keys,
        "ns_per_context_switch": switch_ns / switches if switches else None,
        "by_program_ns_and_runs_per_key": {n: (ns / keys, runs / keys) for n, (ns, runs) in spent.items()},
        "round_trip_us": {name: statistics.median(values) for name, values in rounds.items()},
    }


def losses(terminals: int, lines: int, stopped_s: float) -> dict[str, Any]:
    """Each fault: typed, recorded, counted as lost."""
    found = {}
    with recording("--interval", "500ms") as (path, monitor):
        sessions = faults.come_and_go(terminals, 10)
        finish(monitor)
        found[f"{terminals} terminals come and go"] = (
            len(sessions),
            recorded_lines(path, sessions),
            lines_lost(path),
        )
    with recording("--interval", "500ms") as (path, monitor):
        with faults.stopped(monitor.pid):
            session, answered = faults.fast_lines(lines)
        finish(monitor)
        found[f"reader stopped for {lines} lines"] = (
            answered,
            recorded_lines(path, [session]),
            lines_lost(path),
        )
    users = emulated.crowd(20, ["bash", "dash"], (0.5, 2.0), seed=9)
    with recording("--interval", "500ms") as (path, monitor):
        with faults.stopped(monitor.pid):
            seen = emulated.run(users, stopped_s)
        finish(monitor)
        pairs, _ = match(seen, rows_of(path))
        recorded = sum(pair.row is not None for pair in pairs)
        found[f"reader stopped for {stopped_s:g} s"] = (len(seen), recorded, lines_lost(path))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="How right recorded lines at terminals are.")
    parser.add_argument("--terminals", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--loads", default="1,20")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keys", type=int, default=3000)
    parser.add_argument("--opened", type=int, default=5000)
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--stopped", type=float, default=60.0)
    parser.add_argument("--without", default="")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    without = options.without.split(",")
    if os.geteuid() != 0:
        raise SystemExit("needs root: programs are loaded into the kernel")
    result: dict[str, Any] = {}
    if "accuracy" not in without:
        result["accuracy"] = [
            accuracy(options.terminals, options.seconds, int(load), options.seed + n)
            for n, load in enumerate(options.loads.split(","))
        ]
    if "cost" not in without:
        result["cost"] = cost(options.keys)
    if "faults" not in without:
        result["faults"] = losses(options.opened, options.lines, options.stopped)
    if options.json:
        print(json.dumps(result, indent=2))
        return
    for one in result.get("accuracy", []):
        print(f"{one['burners']} busy processes, load average {one['load_average']:.1f}")
        print(f"  {one['lines']} lines: {one['unmatched']} not matched, {one['marked']} marked,")
        print(f"  {one['lost']} lost")
        for kind, told in one["kinds"].items():
            parts = [f"{kind:<14} {told['lines']:5}"]
            for name in ("first_ms", "prompt_ms"):
                q = told[name]
                if q:
                    parts.append(f"{name[:-3]} {q['p50']:.2f} / {q['p99']:.2f} / {q['max']:.2f} ms")
            print("  " + "  ".join(parts) + f"  over 20 ms: {told['over_20_ms']}")
        for line in one["worst"]:
            print("    over 5 ms:", *line)
        for line in one["not_matched"]:
            print("    not matched:", *line)
    if "cost" in result:
        one = result["cost"]
        trip = one["round_trip_us"]
        print(f"a key: {one['us_per_key']:.2f} µs in the programs; round trip {trip['without']:.1f} µs")
        print(f"  without and {trip['with']:.1f} µs with; a switch {one['ns_per_context_switch']:.0f} ns")
        for name, (ns, runs) in one["by_program_ns_and_runs_per_key"].items():
            print(f"    {name}: {ns:.0f} ns and {runs:.2f} runs a key")
    for name, (typed, recorded, lost) in result.get("faults", {}).items():
        print(f"{name}: {typed} typed, {recorded} recorded, {lost} counted as lost")


if __name__ == "__main__":
    main()
