"""What studies on this host find, kind by kind and seed by seed: quiet, beside a neighbour, or by a grid.

    python benches/search/studies.py RESULTS --seeds 42,43 [--only light,io-bound] [--neighbour 0.33] [--grid]

As root; two to four minutes a study, one after the other. What RESULTS holds already is not run again, only
judged again: end it at any time and start it again. Each of studies/ below is built for one verdict:

right     the place is told and the first finding that names a component is what the study is built for; for
          the light one, nothing is saturated;
wrong     something else is named with a chance or a strength of 0.8 or more, or the light one is saturated;
undecided anything else.

`--neighbour PART` has a program on each processor that works so large a part of the time in bursts of some
tenths of a second, beside the study and outside its group. Each way should have RESULTS of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# By study, the rules that say what it is built for; of the light one, none.
BUILT_FOR: dict[str, set[str]] = {
    "paging-bound": {"paging_bound", "main_storage_bound", "thrashing"},
    "io-bound": {"io_bound"},
    "quota-bound": {"quota_bound"},
    "one-server": {"serialised_server"},
    "light": set(),
}
SURE = 0.8
BURST_S = 0.2


def work(processor: int, part: float, seed: int) -> None:
    """Take this part of a processor in bursts and rests of random length, as long as its parent lives."""
    os.sched_setaffinity(0, {processor})
    drawn, parent = random.Random(seed), os.getppid()
    while os.getppid() == parent:
        burst_s = drawn.expovariate(1 / BURST_S)
        until = time.thread_time() + burst_s
        begun = time.monotonic()
        while time.thread_time() < until:
            pass
        # What it had to wait for the processor it does not rest.
        rest_s = burst_s / part - (time.monotonic() - begun)
        time.sleep(max(0.0, rest_s))


@contextmanager
def neighbour(part: float, seed: int) -> Iterator[None]:
    """One worker on each processor, each in a session of its own."""
    command = [sys.executable, __file__, "--work", str(part)]
    running = [
        subprocess.Popen([*command, str(processor), "--seeds", str(seed)], start_new_session=True)
        for processor in sorted(os.sched_getaffinity(0))
        if part
    ]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def run(study: str, seed: int, place: Path, part: float, grid: bool) -> None:
    """Run one study; its recording, what it printed, and how busy the host was before go below `place`."""
    place.mkdir(parents=True, exist_ok=True)
    busy = os.getloadavg()[0]
    command = [sys.executable, "-m", "satline.cli", "study", study, "--seed", str(seed)]
    command += ["--out", str(place / "study.satline"), *(["--grid"] if grid else [])]
    begun = time.monotonic()
    with neighbour(part, seed), (place / "study.log").open("wb") as log:
        done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False)
    kept = {
        "load_before": busy,
        "load_after": os.getloadavg()[0],
        "seconds": time.monotonic() - begun,
        "status": done.returncode,
    }
    (place / "run.json").write_text(json.dumps(kept))


def judged(study: str, place: Path) -> dict[str, Any]:
    """The diagnosis of a recording, held against what the study is built for."""
    command = [sys.executable, "-m", "satline.cli", "diagnose", str(place / "study.satline"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout.strip():
        return {"outcome": "no verdict", "headline": done.stderr.strip()}
    (place / "verdict.json").write_text(done.stdout)
    verdict = json.loads(done.stdout)
    built_for = BUILT_FOR[study]
    at = verdict["saturation"]["at"] or verdict["saturation"]["bend"]
    named = [f for f in verdict["findings"] if f["component"] != "none"]
    sure = [
        f["rule"]
        for f in named
        if f["rule"] not in built_for
        and (f["strength"] if f.get("chance") is None else f["chance"]) >= SURE
        and built_for
    ]
    first = named[0]["rule"] if named else None
    saturated = verdict["saturation"]["at"] is not None
    if not built_for:
        outcome = "wrong" if saturated else "right"
    elif first in built_for and at is not None:
        outcome = "right"
    else:
        outcome = "wrong" if sure else "undecided"
    return {"outcome": outcome, "at": at, "first": first, "headline": verdict["headline"]}


def main() -> None:
    """Run what is missing, judge all, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, nargs="?", help="directory of the results")
    parser.add_argument("--seeds", default="1", help="seeds of the users, by commas (1)")
    parser.add_argument("--only", default=",".join(BUILT_FOR), help="which studies, by commas (all five)")
    parser.add_argument("--neighbour", type=float, default=0.0, help="part of each processor it takes (none)")
    parser.add_argument("--grid", action="store_true", help="take the studies' grid of steps")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(int(options.work[1]), float(options.work[0]), int(options.seeds))
        return
    if options.results is None:
        parser.error("which directory is for the results?")
    rows = []
    for seed in (int(word) for word in options.seeds.split(",")):
        for study in options.only.split(","):
            place = options.results / f"{study}-{seed}"
            if not (place / "run.json").exists():
                run(study, seed, place, options.neighbour, options.grid)
            ran = json.loads((place / "run.json").read_text())
            rows.append({"study": study, "seed": seed, **ran, **judged(study, place)})
            print(line(rows[-1]), file=sys.stderr if options.json else sys.stdout, flush=True)
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    outcomes = [row["outcome"] for row in rows]
    print(*(f"{outcomes.count(o)} {o}" for o in sorted(set(outcomes))), sep=", ")
    widths = [half_width(row["at"]) for row in rows if row.get("at") and row["at"]["high"] is not None]
    if widths:
        inside = sum(width <= 0.15 for width in widths)
        print(
            f"half-width of the intervals: median {statistics.median(widths):.0%}; "
            f"within 15 %: {inside} of {len(widths)}"
        )


def half_width(at: dict[str, float]) -> float:
    """Half of an interval's width, as a part of its value."""
    return (at["high"] - at["low"]) / 2 / at["value"]


def line(row: dict[str, Any]) -> str:
    """One study in one line."""
    at = row.get("at")
    high = "..." if not at or at["high"] is None else f"{at['high']:.1f}"
    place = f"{at['value']:.1f} [{at['low']:.1f}, {high}]" if at else "-"
    return (
        f"{row['study']:<14}{row['seed']:>4}  {row['outcome']:<11}{place:<22}{row.get('first') or '-':<22}"
        f"{row['seconds']:>5.0f} s  load {row['load_before']:.1f}, {row['load_after']:.1f}"
    )


if __name__ == "__main__":
    main()
