"""Faults at length: the power goes after every write and sync; every call for a file fails in every way.

python tests/faults/run.py [--states N] [--drawn N] [--only WORDS] [--seed N]

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

from power import SCENARIOS, replay

TOLD = 5


def main() -> int:
    """Run all; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, help="at most about so many disks for each kind of work")
    parser.add_argument("--drawn", type=int, default=4, help="disks drawn at random for each prefix")
    parser.add_argument("--only", default="", help="work whose name holds this")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    memory = Path("/dev/shm")
    bad = 0
    for name in (n for n in SCENARIOS if options.only in n):
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as place:
            draw = random.Random(options.seed)
            done = replay(name, Path(place), draw, most=options.states, drawn=options.drawn)
        bad += len(done.wrong)
        print(
            f"power: {name:32} {done.prefixes:5} prefixes, {done.states:6} disks, {len(done.wrong):4} wrong,"
            f" {time.monotonic() - begun:4.0f} s",
            flush=True,
        )
        for number, kind, what in done.wrong[:TOLD]:
            print(f"    after {number}, {kind}: {what}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
