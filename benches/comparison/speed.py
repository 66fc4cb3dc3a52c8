"""How long `satline compare` takes on two recordings of two days of 10-s readings with 50 users.

    python benches/comparison/speed.py [--repeats 5] [--json] [--profile] [--keep DIR]

Beside it, in turn: one DuckDB query that reads the same columns of both recordings and makes what no
comparison can do without: differences of every counter, sums of users by sample, and of transactions.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import numpy as np  # noqa: E402

USERS, DAYS, STEP_S = 50, 2, 10
MONDAY_S = 1_793_577_600  # 2026-11-02
S = 10**9


def make(path: Path, seed: int, slow: float, first_s: int) -> None:
    """Days in which users come and go; response climbs with the number at work, by `slow` more."""
    from satline.importers import Sink

    random = np.random.default_rng(seed)
    n = DAYS * 86_400 // STEP_S
    time_ns = (first_s + STEP_S * np.arange(n, dtype=np.int64)) * S
    hour = np.arange(n) * STEP_S / 3600 % 24
    part = 0.1 + 0.8 * np.exp(-(((hour - 13) / 4) ** 2))
    # A user is at work for stretches of some minutes.
    active = np.repeat(random.random((USERS, n // 30 + 1)), 30, axis=1)[:, :n] < part
    load = active.sum(axis=0)
    used = active * random.gamma(2, 0.004 * STEP_S * 1e6, active.shape)
    sink = Sink(path)
    sink.start()
    sink.host(name="made", processors=2)
    sink.begin_run()
    busy = np.minimum(used.sum(axis=0), 2 * STEP_S * 1e6)
    sink.table("system", time_ns, {"tasks_runnable": random.poisson(load / 5)})
    parts = {"user_us": 0.8 * busy, "system_us": 0.2 * busy, "idle_us": 2 * STEP_S * 1e6 - busy}
    each = {k: np.cumsum(v / 2) for k, v in parts.items()}
    rows = np.repeat(time_ns, 2)
    columns = {k: np.repeat(v, 2) for k, v in each.items()}
    sink.table("processor", rows, {"processor": ["0", "1"] * n, **columns})
    names = np.array([f"user{k:02d}" for k in range(USERS)], dtype=object)
    sink.table(
        "user",
        np.repeat(time_ns, USERS),
        {
            "user": np.tile(names, n),
            "cpu_us": np.cumsum(used, axis=1).T.reshape(-1),
            "run_delay_us": np.cumsum(used * load / 20, axis=1).T.reshape(-1),
            "processes": np.ones(n * USERS, dtype=np.int64),
        },
    )
    who, at = np.nonzero(active & (random.random(active.shape) < 0.4))
    order = np.argsort(at, kind="stable")
    who, at = who[order], at[order]
    response = slow * 0.2 / (1 - np.minimum(load[at], 48) / 52) * random.gamma(2, 0.5, len(at))
    sink.table(
        "transaction",
        time_ns[at],
        {
            "user": names[who],
            "class": np.array(["edit", "compile"], dtype=object)[who % 2],
            "outcome": ["ok"] * len(at),
            "response_us": response * 1e6,
            "cpu_us": random.gamma(2, 20_000, len(at)),
        },
    )
    sink.origin(format="made", files=[])
    sink.finish()


def bare(paths: list[Path]) -> None:
    """The least that must be read and added up."""
    from satline.recording import Recording

    for path in paths:
        connection = Recording.open(path).connect()
        for table, entity, counters in (
            ("system", "run", ("tasks_runnable",)),
            ("processor", "processor", ("user_us", "system_us", "idle_us")),
            ("user", '"user"', ("cpu_us", "run_delay_us", "processes")),
        ):
            parts = ", ".join(f"{c} - lag({c}) OVER w AS {c}" for c in counters)
            sums = ", ".join(f"sum({c})" for c in counters)
            connection.execute(f"""
                SELECT monotonic_ns, {sums} FROM (SELECT monotonic_ns, {parts} FROM {table}
                WINDOW w AS (PARTITION BY run, {entity} ORDER BY monotonic_ns)) GROUP BY 1 ORDER BY 1
            """).fetchnumpy()
        connection.execute("""
            SELECT monotonic_ns // 10000000000, class, count(*), sum(response_us), sum(cpu_us)
            FROM transaction GROUP BY ALL""").fetchnumpy()


def ours(paths: list[Path]) -> None:
    """As the command does it, reading included."""
    from satline.comparison import compare
    from satline.recording import Recording

    found = compare([Recording.open(paths[0])], [Recording.open(paths[1])])
    assert found.matched is not None


def main() -> None:
    """Run the bench and print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--profile", action="store_true", help="print where the time goes")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="make the recordings here, and keep them")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = options.keep or Path(name)
        paths = [directory / "before.satline", directory / "after.satline"]
        for k, path in enumerate(paths):
            if not path.exists():
                make(path, k, 1 - 0.2 * k, MONDAY_S + 7 * 86_400 * k)
        if options.profile:
            import cProfile

            cProfile.runctx("ours(paths)", globals(), {"paths": paths}, sort="cumtime")
            return
        took: dict[str, list[float]] = {"bare_s": [], "bare_cpu_s": [], "compare_s": [], "compare_cpu_s": []}
        for _ in range(options.repeats):
            for what, work in (("bare", bare), ("compare", ours)):
                began, busy = time.perf_counter(), time.process_time()
                work(paths)
                took[f"{what}_s"].append(time.perf_counter() - began)
                took[f"{what}_cpu_s"].append(time.process_time() - busy)
    row = {key: statistics.median(values) for key, values in took.items()}
    row["ratio"] = row["compare_cpu_s"] / row["bare_cpu_s"]
    if options.json:
        print(json.dumps(row, indent=2))
        return
    print("  ".join(f"{key:>13}" for key in row))
    print("  ".join(f"{value:>13.3g}" for value in row.values()))


if __name__ == "__main__":
    main()
