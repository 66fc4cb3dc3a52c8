"""Whether two builds of the simulated machine give the same results, number for number.

    python benches/machine/same.py BEFORE AFTER [--seeds 3] [--seconds 120]

BEFORE and AFTER are programs satline-machine. Every machine of machines/ runs with a workload of its size,
for each seed; results are compared as JSON, all measures of all sample periods included. Of what differs the
first measure is named. Left out are the processor time of this host, and what AFTER says and BEFORE did not
know of. Exit code 1: something differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# By the beginning of a machine's name: workload and users.
LOADS = {
    "155-II": ("cms", "20"),
    "3081D": ("tso310", "310"),
    "4341-2": ("paging-heavy", "30"),
    "central-server": ("central-server", "20"),
    "ideal": ("ideal", "30"),
}
LEFT_OUT = frozenset({"cpu_s", "not_modelled"})


def result(program: str, machine: Path, seed: int, seconds: float) -> dict[str, Any] | str:
    """What a run printed, or, where it was refused, why."""
    load = next((load for name, load in LOADS.items() if machine.stem.startswith(name)), LOADS["155-II"])
    workload = ROOT / "workloads/simulated" / f"{load[0]}.toml"
    command = [program, "run", str(machine), str(workload), "--users", load[1], "--json"]
    command += ["--seed", str(seed), "--step-seconds", str(seconds), "--warmup-seconds", "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stderr.strip()
    return {key: value for key, value in json.loads(done.stdout).items() if key not in LEFT_OUT}


def difference(before: Any, after: Any, place: str = "") -> str | None:
    """Where two results differ first; what only the second has is no difference."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before:
            if key not in after:
                return f"{place}.{key} is missing"
            found = difference(before[key], after[key], f"{place}.{key}")
            if found:
                return found
        return None
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return next((d for k, (a, b) in pairs if (d := difference(a, b, f"{place}[{k}]"))), None)
    return None if before == after else f"{place}: {before!r} became {after!r}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=120.0, help="simulated seconds of each run")
    options = parser.parse_args()
    differ = 0
    for machine in sorted((ROOT / "machines").glob("*.toml")):
        if machine.stem == "processors":
            continue
        for seed in range(1, options.seeds + 1):
            before, after = (
                result(program, machine, seed, options.seconds) for program in (options.before, options.after)
            )
            if isinstance(before, str):
                print(f"{machine.stem}, seed {seed}: not known before")
                continue
            found = difference(before, after)
            events = before["events"]
            print(f"{machine.stem}, seed {seed}: {found or f'the same, {events} events'}")
            differ += found is not None
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
