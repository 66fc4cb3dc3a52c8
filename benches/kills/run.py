"""What a recorder that is killed at any instant has lost, and whether compaction loses or doubles a row.

    python benches/kills/run.py [--kills 1000] [--at-once 12] [--seed 1] [--json]

Each time `satline-monitor` records, every 100 ms or once in a second, into a new recording or, with a second
run, into one that a kill has cut; up to 3 s after its first rows, or while it starts, it gets SIGKILL. Then:

- the recording opens, and `satline recording check` finds nothing wrong;
- of each run's samples those up to a second before the kill are there, none missing between;
- half of the time `satline recording compact` is killed too, at a random instant, until one ends by itself;
  afterwards the same rows are there as before it, each once.

The instant of the kill is the bench's own stamp, taken before the signal is sent. Where other work delays the
recorder, a sample that was never taken is counted by the recorder's own account (`late`), and is no loss.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
MONITOR = ROOT / "target/release/satline-monitor"
SECOND = 10**9


@dataclass
class Outcome:
    """What came of one recording.

    lost_s
        Of each run, from its last sample that is there to the kill, s; None: killed before its first.
    """

    kills: int = 0
    lost_s: list[float | None] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def killed_run(path: Path, interval: str, alive_s: float) -> int:
    """Record for so long; the time of the kill, ns of CLOCK_MONOTONIC."""
    words = [str(MONITOR), "--recording", str(path), "--interval", interval]
    before = sum(1 for _ in path.glob("segments/system/*"))
    recorder = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # A tenth are killed while they start.
    if alive_s > 0.3:
        while sum(1 for _ in path.glob("segments/system/*")) == before and recorder.poll() is None:
            time.sleep(0.01)
    time.sleep(alive_s)
    now = time.monotonic_ns()
    recorder.send_signal(signal.SIGKILL)
    if (status := recorder.wait()) != -signal.SIGKILL:
        raise RuntimeError(f"{' '.join(words)} ended by itself, with {status}")
    return now


def rows_of(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The samples and users of each run, in order."""
    from satline.recording import Recording

    connection = Recording.open(path).connect(tables=["system", "user"])
    try:
        system = connection.execute("SELECT monotonic_ns, sample FROM system ORDER BY ALL").fetchall()
        users = connection.execute('SELECT monotonic_ns, "user", cpu_us FROM "user" ORDER BY ALL').fetchall()
    finally:
        connection.close()
    return {"system": system, "user": users}


def judge_runs(outcome: Outcome, system: list[tuple[Any, ...]], kills_ns: list[int]) -> None:
    """Hold the samples against the kills: each run's are those after the kill before it."""
    before = 0
    for kill in kills_ns:
        own = [(at, number) for at, number in system if before < at <= kill]
        before = kill
        if not own:
            outcome.lost_s.append(None)
            continue
        outcome.lost_s.append((kill - own[-1][0]) / SECOND)
        numbers = [number for _, number in own]
        if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            outcome.faults.append(f"samples missing between: {numbers[:3]} … {numbers[-3:]}")


def compacted_by_kills(path: Path, draw: random.Random) -> int:
    """Compact, killed at random instants, until it ends by itself; how often it was killed."""
    words = [sys.executable, "-m", "satline.cli", "recording", "compact", str(path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    kills = 0
    while True:
        work = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        try:
            work.wait(draw.uniform(0.3, 2.0) if kills < 2 else 600)
            return kills
        except subprocess.TimeoutExpired:
            work.kill()
            work.wait()
            kills += 1


def one(path: Path, seed: int) -> Outcome:
    """Record, kill, judge."""
    from satline.errors import SatlineError
    from satline.recording import check

    draw = random.Random(seed)
    outcome, kills_ns = Outcome(), []
    interval = draw.choice(("100ms", "100ms", "1s"))
    for _ in range(draw.choice((1, 1, 2))):
        kills_ns.append(killed_run(path, interval, draw.uniform(0.0, 3.0)))
        outcome.kills += 1
    try:
        if not (path / "recording.toml").exists():
            outcome.lost_s.append(None)
            return outcome
        found = check(path)
        outcome.faults += found.problems
        rows = rows_of(path)
        judge_runs(outcome, rows["system"], kills_ns)
        if draw.random() < 0.5:
            outcome.kills += compacted_by_kills(path, draw)
            found = check(path)
            outcome.faults += [f"after compaction: {problem}" for problem in found.problems]
            after = rows_of(path)
            outcome.faults += [
                f"compaction: {len(rows[table])} rows of {table} became {len(after[table])}"
                for table in rows
                if rows[table] != after[table]
            ]
    except (SatlineError, OSError) as error:
        outcome.faults.append(f"{type(error).__name__}: {error}")
    except Exception as error:  # any other kind is a fault of Satline's
        outcome.faults.append(f"unexpected {type(error).__name__}: {error}")
    return outcome


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--at-once", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    said = parser.parse_args()
    draw = random.Random(said.seed)
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="satline-kills-") as scratch:
        place = Path(scratch)
        with ThreadPoolExecutor(said.at_once) as pool:
            while (done := sum(o.kills for o in outcomes)) < said.kills:
                if sys.stderr.isatty():
                    print(f"\r{done} of {said.kills} kills", end="", file=sys.stderr, flush=True)
                names = [f"{len(outcomes) + n}.satline" for n in range(said.at_once)]
                outcomes += pool.map(
                    one, (place / name for name in names), (draw.getrandbits(48) for _ in names)
                )
    lost = sorted(seconds for o in outcomes for seconds in o.lost_s if seconds is not None)
    result = {
        "kills": sum(o.kills for o in outcomes),
        "recordings": len(outcomes),
        "killed before the first sample": sum(seconds is None for o in outcomes for seconds in o.lost_s),
        "faults": sum(bool(o.faults) for o in outcomes),
        "lost_s": {"median": lost[len(lost) // 2], "most": lost[-1]},
        "lost more than 1 s": sum(seconds > 1 for seconds in lost),
        "kinds": dict(Counter(fault for o in outcomes for fault in o.faults).most_common(10)),
    }
    if said.json:
        print(json.dumps(result, indent=2))
    else:
        print(
            f"{result['kills']} kills of {result['recordings']} recordings: {result['faults']} with a fault"
        )
        print(
            f"from the last sample to the kill: median {lost[len(lost) // 2]:.2f} s, at most {lost[-1]:.2f} s"
        )
        print(f"more than 1 s: {result['lost more than 1 s']} of {len(lost)} runs")
        for kind, count in result["kinds"].items():
            print(f"  {count} ×  {kind[:200]}")
    return 1 if result["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
