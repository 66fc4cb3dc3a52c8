"""How long a diagnosis of a week's recording takes, beside a bare scan of the columns it needs.

    python benches/diagnose/run.py [--json] [--repeats N] [--confusion SYSTEMS]

Makes a recording at rest of one week at 10 s: 60,480 observations, 50 users, two processors, three devices,
a daily load that saturates the processors in the busiest hours. Takes the processor time (all threads) of
`satline.diagnosis.diagnose` and of DuckDB reading the same columns (their sums) alternately, and prints both
with their ratio. With --confusion
it also judges so many simulated closed systems and prints how often each verdict was given, and how often a
confident one was wrong.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/unit/diagnosis"), str(ROOT / "tests/unit/reduction")]

SAMPLES, USERS, INTERVAL_S, PROCESSORS = 60_480, 50, 10, 2
EPOCH = 1_700_000_000


def week(path: Path, seed: int = 1) -> None:
    """Write the recording."""
    from satline.recording import describe, write_parquet_table

    random = np.random.default_rng(seed)
    describe.create(
        path, "benches/diagnose", host={"page_bytes": 4096, "processors": PROCESSORS, "name": "made"}
    )
    describe.write_source(
        path, "monitor", {"sampling": {"interval_ms": INTERVAL_S * 1000}, "users": {"definition": "uid"}}
    )
    k = np.arange(SAMPLES)
    monotonic = k * INTERVAL_S * 10**9
    hour = k * INTERVAL_S / 3600 % 24
    chance = 0.04 + 0.9 * np.exp(-(((hour - 14) / 4) ** 2))
    active = random.random((USERS, SAMPLES)) < chance
    wanted = active * random.exponential(0.06e6 * INTERVAL_S, active.shape)
    total = wanted.sum(axis=0)
    used = wanted * np.minimum(1, 1.9e6 * INTERVAL_S / np.maximum(total, 1))
    delay = wanted - used
    common = {
        "time_ns": EPOCH * 10**9 + monotonic,
        "monotonic_ns": monotonic,
        "run": np.ones(SAMPLES, dtype=np.int64),
    }

    def write(table: str, columns: dict[str, object]) -> None:
        write_parquet_table(path, table, pa.table(columns).sort_by("time_ns"))

    def grow(per_sample: np.ndarray) -> np.ndarray:
        return np.cumsum(per_sample, axis=-1).astype(np.int64)

    cpu = used.sum(axis=0)
    swap = grow(random.poisson(5 + 0.2 * active.sum(axis=0) ** 2))
    write(
        "system",
        {
            **common,
            "sample": k,
            "lateness_us": random.integers(0, 300, SAMPLES),
            "context_switches": grow(cpu / 100),
            "swap_in_pages": swap,
            "swap_out_pages": swap,
            "major_faults": swap,
            "block_in_bytes": swap * 8192,
            "block_out_bytes": swap * 8192,
            "mem_total_bytes": np.full(SAMPLES, 8 * 10**9),
            "mem_available_bytes": random.integers(10**9, 4 * 10**9, SAMPLES),
            "users_logged_on": active.sum(axis=0),
            "users_in_queue": (active.sum(axis=0) + 1) // 2,
            "pressure_cpu_some_us": grow(np.minimum(1e7, delay.sum(axis=0))),
            "pressure_io_some_us": grow(random.random(SAMPLES) * 1e5),
            "refault_anonymous_pages": swap,
            "refault_file_pages": swap,
        },
    )
    for_all = {n: np.tile(c, PROCESSORS) for n, c in common.items()}
    write(
        "processor",
        {
            **for_all,
            "processor": [str(p) for p in range(PROCESSORS) for _ in range(SAMPLES)],
            "user_us": np.tile(grow(cpu * 0.8 / PROCESSORS), PROCESSORS),
            "nice_us": np.zeros(SAMPLES * PROCESSORS, np.int64),
            "system_us": np.tile(grow(cpu * 0.2 / PROCESSORS), PROCESSORS),
            "irq_us": np.zeros(SAMPLES * PROCESSORS, np.int64),
            "idle_us": np.tile(grow(np.maximum(0, 1e7 - cpu / PROCESSORS)), PROCESSORS),
            "iowait_us": np.tile(grow(random.random(SAMPLES) * 1e5), PROCESSORS),
            "steal_us": np.zeros(SAMPLES * PROCESSORS, np.int64),
            "guest_us": np.zeros(SAMPLES * PROCESSORS, np.int64),
        },
    )
    for_all = {n: np.tile(c, USERS) for n, c in common.items()}
    write(
        "user",
        {
            **for_all,
            "user": pa.array([f"user-{u:02d}" for u in range(USERS) for _ in range(SAMPLES)]),
            "processes": np.full(SAMPLES * USERS, 3),
            "cpu_us": grow(used).ravel(),
            "cpu_system_us": grow(used * 0.2).ravel(),
            "run_delay_us": grow(delay).ravel(),
            "io_delay_us": grow(used * 0.05).ravel(),
            "page_delay_us": grow(used * 0.01).ravel(),
            "major_faults": grow(used / 1e5).ravel(),
            "minor_faults": grow(used / 1e3).ravel(),
            "read_bytes": grow(used).ravel(),
            "write_bytes": grow(used).ravel(),
            "tasks_page_wait": np.zeros(SAMPLES * USERS, np.int64),
            "tasks_io_wait": np.zeros(SAMPLES * USERS, np.int64),
            "resident_bytes": random.integers(10**7, 10**8, SAMPLES * USERS),
        },
    )
    devices = ["vda", "vdb", "eth0"]
    for_all = {n: np.tile(c, len(devices)) for n, c in common.items()}
    rate = grow(random.poisson(200, (len(devices), SAMPLES))).ravel()
    write(
        "device",
        {
            **for_all,
            "device": [d for d in devices for _ in range(SAMPLES)],
            "device_kind": ["network" if d == "eth0" else "block" for d in devices for _ in range(SAMPLES)],
            "reads": rate,
            "writes": rate,
            "read_bytes": rate * 4096,
            "write_bytes": rate * 4096,
            "read_wait_us": rate * 200,
            "write_wait_us": rate * 200,
            "busy_us": rate * 300,
            "queue_us": rate * 400,
        },
    )
    describe.end(path, "complete")


def scan(path: Path) -> float:
    """CPU seconds that DuckDB takes to read and add up the columns that a diagnosis needs."""
    from satline.recording import Recording
    from satline.reduction import needed_columns

    began = time.process_time()
    connection = Recording.open(path).connect()
    for table, columns in needed_columns().items():
        sums = ", ".join(f'sum("{c}")' for c in ("monotonic_ns", "run", *sorted(columns)))
        entity = {"user": ', max("user")', "device": ", max(device)", "processor": ", max(processor)"}.get(
            table, ""
        )
        connection.execute(f'SELECT {sums}{entity} FROM "{table}"').fetchall()
    return time.process_time() - began


def whole(path: Path) -> tuple[float, str]:
    """CPU seconds that a diagnosis takes from opening the recording to its answer, and the answer."""
    from satline.diagnosis import diagnose
    from satline.recording import Recording

    began = time.process_time()
    answer = diagnose(Recording.open(path))
    return time.process_time() - began, answer.headline


def main() -> None:
    """Run the bench and print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each, alternately; the median counts")
    parser.add_argument(
        "--confusion", type=int, default=0, metavar="SYSTEMS", help="judge so many simulated systems"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "week.satline"
        week(path)
        size = sum(f.stat().st_size for f in path.rglob("*") if f.is_file())
        diagnoses, scans, headline = [], [], ""
        for _ in range(options.repeats):
            scans.append(scan(path))
            seconds, headline = whole(path)
            diagnoses.append(seconds)
    result = {
        "observations": SAMPLES - 1,
        "users": USERS,
        "recording_bytes": size,
        "diagnose_s": statistics.median(diagnoses),
        "diagnose_s_worst": max(diagnoses),
        "scan_s": statistics.median(scans),
        "ratio": statistics.median(diagnoses) / statistics.median(scans),
        "headline": headline,
    }
    if options.confusion:
        from confusion import confusion

        table, wrong = confusion(options.confusion)
        result["confusion"] = {f"{truth}: {verdict}": n for (truth, verdict), n in sorted(table.items())}
        result["wrong_confident"] = wrong
    if options.json:
        print(json.dumps(result, indent=2))
        return
    for name, value in result.items():
        if isinstance(value, dict):
            for key, count in value.items():
                print(f"  {key:<40} {count:>6}")
        else:
            print(f"{name:<18} {value:.3f}" if isinstance(value, float) else f"{name:<18} {value}")


if __name__ == "__main__":
    main()
