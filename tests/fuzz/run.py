"""Thousands of mutations of every kind of file that Satline reads: hangs, tracebacks, memory.

python tests/fuzz/run.py --mutations 10000

Each mutation is read in a process of its own, forked from one that has everything loaded. It must end with 0,
1 or 2 within 10 s of processor time (60 s in all) and 1 GB more than the process that it was forked from.
What fails is kept in --keep.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from readers import Reader, mutated, read, readers

SECONDS = 10
WALL_SECONDS = 60.0
BYTES = 1 << 30
OWN_RSS = 400 << 20


def outcome_of(code: int) -> str:
    """What an exit code of the child means."""
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return "hang"
    names = {0: "ok", 99: "traceback"}
    return names.get(code, f"signal {-code}" if code < 0 else "exit code")


def attempt(reader: Reader, sample: Path, seed: int, keep: Path | None) -> tuple[str, float, int]:
    """Read one mutation in a child: what became of it (`ok`, or what is wrong), its seconds and its bytes."""
    place = Path(tempfile.mkdtemp(prefix="satline-fuzz-"))
    target = place / f"file{reader.suffix}"
    mutated(sample, target, random.Random(seed))
    told = place / "told"
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        code = 99
        try:
            with told.open("w") as out, redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                try:
                    code = 0 if set(read(reader, target, place)) <= {0, 1, 2} else 98
                except BaseException:
                    traceback.print_exc(file=out)
        finally:
            os._exit(code)
    outcome, usage = "", None
    while not outcome:
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid:
            outcome = outcome_of(os.waitstatus_to_exitcode(status))
        elif time.monotonic() - begun > WALL_SECONDS:
            os.killpg(child, signal.SIGKILL)
            os.wait4(child, 0)
            outcome = "hang"
        else:
            time.sleep(0.002)
    seconds = time.monotonic() - begun
    peak = usage.ru_maxrss * 1024 if usage is not None else 0
    if outcome == "ok" and peak > BYTES + OWN_RSS:
        outcome = "memory"
    if outcome != "ok":
        words = told.read_text(errors="replace").strip().splitlines() if told.exists() else []
        print(
            f"{reader.name}, seed {seed}: {outcome} after {seconds:.1f} s: {words[-1] if words else ''}",
            flush=True,
        )
        if keep is not None:
            shutil.move(place, keep / f"{reader.name.replace(' ', '-')}-{seed}")
    shutil.rmtree(place, ignore_errors=True)
    return outcome, seconds, peak


def main() -> int:
    """Run, print a line for each reader; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutations", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="readers whose name holds this")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
    # Loaded once, so that a child need not.
    import duckdb  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    chosen = [r for r in readers() if options.only in r.name]
    samples = Path(tempfile.mkdtemp(prefix="satline-samples-"))
    each = -(-options.mutations // len(chosen))
    wrong: Counter[str] = Counter()
    for number, reader in enumerate(chosen):
        sample = samples / f"{number}{reader.suffix}"
        reader.make(sample)
        results = [attempt(reader, sample, options.seed * 1_000_000 + n, options.keep) for n in range(each)]
        counts = Counter(outcome for outcome, _, _ in results)
        wrong += counts
        longest, peak = max(s for _, s, _ in results), max(p for _, _, p in results)
        print(
            f"{reader.name:30} {each:6} mutations, longest {longest:5.2f} s,"
            f" {peak >> 20:5} MiB at most, {dict(counts)}",
            flush=True,
        )
    shutil.rmtree(samples, ignore_errors=True)
    total = sum(wrong.values())
    bad = total - wrong["ok"]
    print(f"{total} mutations of {len(chosen)} kinds of files: {bad} wrong {dict(wrong)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
