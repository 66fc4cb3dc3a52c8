"""How long the reduction of ten million readings takes, beside the bare DuckDB query.

    python benches/reduce/run.py [--json] [--repeats N] [--readings N] [--keep DIRECTORY]

Makes a recording at rest of table system: readings every second, 14 counters and 6 levels, load in
users_in_queue. Then alternately, each in a process of its own: a bare DuckDB query (differences with lag by
run, classes by two, n, mean, sd, p25, p50, p75, p90 of the 20 variables) and `satline.reduction.reduce` of
the same 20 variables, which gives the honest errors, the effective n and the intervals of the percentiles as
well. Both make exact percentiles and use the same number of threads. Prints both times, their ratio, and the
peak resident storage of each process.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

DAY = 86_400
EPOCH = 19_700 * DAY
COUNTERS = (
    "context_switches",
    "interrupts",
    "forks",
    "page_faults",
    "major_faults",
    "swap_in_pages",
    "swap_out_pages",
    "block_in_bytes",
    "block_out_bytes",
    "refault_anonymous_pages",
    "refault_file_pages",
    "steal_background_pages",
    "steal_direct_pages",
    "scan_direct_pages",
)
LEVELS = (
    "tasks_runnable",
    "tasks_blocked",
    "tasks_total",
    "users_logged_on",
    "mem_available_bytes",
    "cached_bytes",
)
LOAD = "users_in_queue"


def make(path: Path, readings: int, seed: int = 1) -> None:
    """Write the recording, some days at a time."""
    import numpy as np
    import pyarrow as pa

    from satline.recording import describe, write_parquet_table

    random = np.random.default_rng(seed)
    describe.create(path, "benches/reduce", host={"page_bytes": 4096, "processors": 2, "name": "made"})
    describe.write_source(
        path, "monitor", {"sampling": {"interval_ms": 1000}, "users": {"definition": "uid"}}
    )
    totals = dict.fromkeys(COUNTERS, 0)
    for start in range(0, readings, 5 * DAY):
        k = np.arange(start, min(start + 5 * DAY, readings))
        load = np.maximum(0, np.rint(10 + 8 * np.sin(k / DAY * 2 * np.pi) + random.normal(0, 2, len(k))))
        columns = {
            "time_ns": (EPOCH + k) * 10**9,
            "monotonic_ns": k * 10**9,
            "run": np.ones(len(k), dtype=np.int64),
            "sample": k,
            LOAD: load.astype(np.int64),
        }
        for name in COUNTERS:
            columns[name] = totals[name] + np.cumsum(random.poisson(1000 * (1 + load)))
            totals[name] = int(columns[name][-1])
        for name in LEVELS:
            columns[name] = (load * 1000).astype(np.int64) + random.integers(0, 5000, len(k))
        write_parquet_table(path, "system", pa.table(columns))
    describe.end(path, "complete")


def bare(path: Path) -> None:
    """The same statistics by one query, without errors of autocorrelated observations."""
    from satline.recording import Recording

    length = "((monotonic_ns - lag(monotonic_ns) OVER w) / 1e9)"
    rates = [
        f"CASE WHEN {c} >= lag({c}) OVER w THEN {c} - lag({c}) OVER w END / {length} AS {c}" for c in COUNTERS
    ]
    statistics_of = ", ".join(
        f"count({v}), avg({v}), stddev_samp({v}), quantile_cont({v}, [0.25, 0.5, 0.75, 0.9])"
        for v in (*COUNTERS, *LEVELS)
    )
    Recording.open(path).connect().execute(f"""
        SELECT ({LOAD} + 1) // 2, {statistics_of} FROM (
            SELECT {LOAD}, {", ".join((*rates, *LEVELS))} FROM system
            WINDOW w AS (PARTITION BY run ORDER BY monotonic_ns))
        WHERE {LOAD} >= 1 GROUP BY 1
    """).fetchall()


def reduction(path: Path) -> None:
    """The reduction of the same variables."""
    from satline.recording import Recording
    from satline.reduction import reduce

    curves = reduce(Recording.open(path), "in_queue", 1.0, variables=[*COUNTERS, *LEVELS])
    assert len(curves.curves) == len(COUNTERS) + len(LEVELS)


def measured(what: str, path: Path) -> dict[str, float]:
    """Wall time and peak resident storage of one run in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--one", what, "--keep", str(path)],
        check=True,
        capture_output=True,
        text=True,
    )
    return dict(json.loads(done.stdout))


def one(what: str, path: Path) -> None:
    """Run one of the two and print what it took."""
    import duckdb  # noqa: F401  both need it: the time of the import is nobody's
    import numpy as np  # noqa: F401

    began, busy = time.perf_counter(), time.process_time()
    {"bare": bare, "reduce": reduction}[what](path)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    took = {"seconds": time.perf_counter() - began, "cpu_s": time.process_time() - busy, "peak_bytes": peak}
    print(json.dumps(took))


def main() -> None:
    """Run the bench and print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each, alternately; the median counts")
    parser.add_argument("--readings", type=int, default=10_000_000)
    parser.add_argument(
        "--keep", type=Path, metavar="DIRECTORY", help="make the recording here, or use the one that is here"
    )
    parser.add_argument("--one", choices=("bare", "reduce"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one(options.one, options.keep)
        return
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        path = options.keep or Path(directory) / "long.satline"
        if not path.exists():
            make(path, options.readings)
        size = sum(f.stat().st_size for f in path.rglob("*") if f.is_file())
        runs: dict[str, list[dict[str, float]]] = {"bare": [], "reduce": []}
        for _ in range(options.repeats):
            for what, those in runs.items():
                those.append(measured(what, path))

    def middle(what: str, key: str) -> float:
        return statistics.median(run[key] for run in runs[what])

    result = {
        "readings": options.readings,
        "variables": len(COUNTERS) + len(LEVELS),
        "recording_bytes": size,
        "bare_s": middle("bare", "seconds"),
        "reduce_s": middle("reduce", "seconds"),
        "ratio": middle("reduce", "seconds") / middle("bare", "seconds"),
        "bare_cpu_s": middle("bare", "cpu_s"),
        "reduce_cpu_s": middle("reduce", "cpu_s"),
        "bare_peak_GiB": middle("bare", "peak_bytes") / 2**30,
        "reduce_peak_GiB": middle("reduce", "peak_bytes") / 2**30,
    }
    if options.json:
        print(json.dumps(result, indent=2))
        return
    for name, value in result.items():
        print(f"{name:<18} {value:.3f}" if isinstance(value, float) else f"{name:<18} {value}")


if __name__ == "__main__":
    main()
