"""Faults at length: the power goes after every write and sync; every call for a file fails in every way.

python tests/faults/run.py [--states N] [--drawn N] [--calls N] [--only WORDS] [--seed N]

One line for each kind of work. What is wrong is told with the number of the prefix and the kind of disk.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from io_errors import TASKS, Bench, Server, faults
from power import SCENARIOS, replay

TOLD = 5


def power(name: str, place: Path, options: argparse.Namespace) -> int:
    """Replay one kind of work; the number of things that are wrong."""
    begun = time.monotonic()
    done = replay(name, place, random.Random(options.seed), most=options.states, drawn=options.drawn)
    print(
        f"power: {name:32} {done.prefixes:5} prefixes, {done.states:6} disks, {len(done.wrong):4} wrong,"
        f" {time.monotonic() - begun:4.0f} s",
        flush=True,
    )
    for number, kind, what in done.wrong[:TOLD]:
        print(f"    after {number}, {kind}: {what}", flush=True)
    return len(done.wrong)


def errors(place: Path, options: argparse.Namespace) -> int:
    """Every fault in every task; the number of things that are wrong."""
    root, bad = place / "disk", 0
    root.mkdir()
    with Server(root) as server:
        for task in (t for t in TASKS if options.only in t.name):
            begun, came, wrong = time.monotonic(), 0, []
            bench = Bench(task, root / task.name, server)
            for fault in faults(bench, options.calls):
                there, problems = bench.attempt(*fault)
                came += there
                wrong += [(fault, problem) for problem in problems]
            bad += len(wrong)
            seconds = time.monotonic() - begun
            print(
                f"errors: {task.name:32} {came:5} faults, {len(wrong):4} wrong, {seconds:4.0f} s", flush=True
            )
            for fault, what in wrong[:TOLD]:
                print(f"    {fault}: {what}", flush=True)
    return bad


def main() -> int:
    """Run all; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, help="at most about so many disks for each kind of work")
    parser.add_argument("--drawn", type=int, default=4, help="disks drawn at random for each prefix")
    parser.add_argument("--calls", type=int, default=40, help="calls of each kind that fail in turn")
    parser.add_argument("--only", default="", help="work whose name holds this")
    parser.add_argument("--part", choices=["power", "errors"], help="only this part")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    memory = Path("/dev/shm")
    bad = 0
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as made:
        place = Path(made).resolve()
        if options.part != "errors":
            for number, name in enumerate(n for n in SCENARIOS if options.only in n):
                (place / str(number)).mkdir()
                bad += power(name, place / str(number), options)
        if options.part != "power":
            bad += errors(place, options)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
