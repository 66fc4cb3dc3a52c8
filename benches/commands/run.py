"""Processor time of each daily command on small recordings, beside what Python and DuckDB take to start.

    python benches/commands/run.py [--json] [--repeats N] [--only NAME,NAME] [--beside TREE]

Makes two recordings of a simulated machine, each of 200 observations and below 1 MB, and runs every command
in a process of its own. Prints seconds of processor time (user and system, of the process and of what it
started, as the kernel counted them when it ended) and peak memory: medians of the repeats. The floor is
measured in the same rounds: a bare `import duckdb`, and the same with a scan of every table at rest. With
--beside the commands of another tree of Satline run in turns with these.

Processor time hardly depends on what else runs, elapsed time does: it is not shown. Each tree's modules are
compiled once before, as those of an installed package are.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STARTED = [sys.executable, "-m", "satline.cli"]
IMPORTED = [sys.executable, "-c", "import duckdb"]
SCAN = """
import sys
import duckdb
connection = duckdb.connect()
for table in sys.argv[1:]:
    columns = [row[0] for row in connection.execute(
        "DESCRIBE SELECT * FROM read_parquet(?)", [table]
    ).fetchall()]
    counted = ", ".join(f'count("{name}")' for name in columns)
    connection.execute(f"SELECT {counted} FROM read_parquet(?)", [table]).fetchall()
"""


@dataclass(frozen=True)
class Cost:
    """What a process took: user and system time in s, and its largest resident memory in MB."""

    cpu_s: float
    peak_mb: float


def spent(command: list[str], tree: Path, cwd: Path) -> Cost:
    """Run a command to its end, its output thrown away.

    Raises
    ------
    SystemExit
        It failed.
    """
    completing = {"_SATLINE_COMPLETE": "bash_complete", "COMP_WORDS": "satline di", "COMP_CWORD": "1"}
    wanted = command[-1] == "COMPLETE"
    compiled = {"PYTHONPYCACHEPREFIX": str(cwd / "compiled"), "PYTHONDONTWRITEBYTECODE": ""}
    process = subprocess.Popen(
        command[:-1] if wanted else command,
        cwd=cwd,
        env={
            **os.environ,
            "PYTHONPATH": str(tree / "python"),
            **compiled,
            **(completing if wanted else {}),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: ended with {process.returncode}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def simulated(directory: Path, name: str, seed: int) -> Path:
    """A recording of a simulated machine with 4 to 32 users, at rest: 200 observations of 10 s."""
    made = directory / name
    run = ["simulate", "run", "155-II-1mb", "cms", "--users", "4..32/4", "--seconds", "250"]
    for arguments in (
        [*run, "--seed", str(seed), "--record", str(made)],
        ["recording", "compact", str(made)],
    ):
        spent([*STARTED, *arguments], ROOT, directory)
    return made


def commands(first: Path, second: Path) -> dict[str, list[str]]:
    """What is run, by name."""
    one, other = str(first), str(second)
    return {
        "--version": ["--version"],
        "--help": ["--help"],
        "report --help": ["report", "--help"],
        "completion": ["COMPLETE"],
        "info": ["info", one],
        "diagnose": ["diagnose", one],
        "report": ["report", one, "-o", "page.html"],
        "report users": ["report", "users", one],
        "report --svg": ["report", one, "--svg", "pictures"],
        "reduce": ["analyse", "reduce", one, "--csv"],
        "capacity": ["analyse", "capacity", one],
        "compare": ["compare", one, other],
        "recording check": ["recording", "check", one],
    }


def measure(trees: list[Path], repeats: int, only: list[str]) -> dict[str, list[list[Cost]]]:
    """The costs of each run, by command and tree; the trees take turns."""
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        first, second = simulated(directory, "a.satline", 1), simulated(directory, "b.satline", 2)
        scanned = [str(file) for file in sorted(first.glob("tables/*/*.parquet"))]
        runs: dict[str, list[list[Cost]]] = {"import duckdb": [[]], "import and scan": [[]]}
        asked = {n: c for n, c in commands(first, second).items() if not only or n in only}
        runs |= {name: [[] for _ in trees] for name in asked}
        spent(IMPORTED, ROOT, directory)
        for arguments in asked.values():
            for tree in trees:
                spent([*STARTED, *arguments], tree, directory)
        for _ in range(repeats):
            runs["import duckdb"][0].append(spent(IMPORTED, ROOT, directory))
            runs["import and scan"][0].append(spent([sys.executable, "-c", SCAN, *scanned], ROOT, directory))
            for name, arguments in asked.items():
                for number, tree in enumerate(trees):
                    runs[name][number].append(spent([*STARTED, *arguments], tree, directory))
    return runs


def main() -> None:
    """Run the bench and print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each; the median counts")
    parser.add_argument("--only", default="", metavar="NAME,NAME", help="only these commands")
    parser.add_argument(
        "--beside", type=Path, metavar="TREE", help="another tree, whose commands run in turns"
    )
    options = parser.parse_args()
    trees = [ROOT, *([options.beside.resolve()] if options.beside else [])]
    runs = measure(trees, options.repeats, [n for n in options.only.split(",") if n])
    result = {
        name: [
            {
                "cpu_s": statistics.median(cost.cpu_s for cost in costs),
                "peak_mb": statistics.median(cost.peak_mb for cost in costs),
            }
            for costs in by_tree
        ]
        for name, by_tree in runs.items()
    }
    if options.json:
        print(json.dumps({"trees": len(trees), "repeats": options.repeats, "commands": result}, indent=2))
        return
    head = "".join(f"{word:>{width}}" for word, width in (("CPU s", 8), ("peak MB", 9)))
    print(f"{'':<18}{head}" + (f"   beside:{head}" if options.beside else ""))
    for name, costs in result.items():
        cells = [f"{cost['cpu_s']:>8.2f}{cost['peak_mb']:>9.0f}" for cost in costs]
        print(f"{name:<18}" + "          ".join(cells))


if __name__ == "__main__":
    main()
