"""How often the 95 % intervals of `analyse predict TABLE` hold the truth, on tables whose truth is known.

    python benches/scalability/run.py [--tables 1000] [--noise 0.05] [--jobs 2] [--json]

Half of the tables follow the universal scalability law, half a broken line, with 7, 9 or 12 loads from 1 to
64, or three rows at each of 6 loads. The noise is in proportion to throughput, or equal at all loads and then
a part of the mean throughput. Prints how often each interval held the truth, its median width, and how often
the law and the verdict were right. Goal: 93 to 97 %.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from satline.scalability import Table, analyse

LOADS = {
    "7 loads": (1, 4, 8, 16, 32, 48, 64),
    "9 loads": (1, 2, 4, 8, 16, 24, 32, 48, 64),
    "12 loads": (1, 2, 4, 6, 8, 12, 16, 24, 32, 40, 52, 64),
    "6 loads, 3 rows each": (1, 1, 1, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64),
}
RATE, BEYOND = 100.0, 128.0


def made(index: int, noise: float) -> tuple[Table, dict[str, float], str, str, str]:
    """Table number `index`, its truth, what it follows, its noise and its loads."""
    random = np.random.default_rng(index)
    name = list(LOADS)[index % 4]
    kind = ("usl", "broken line")[index // 4 % 2]
    errors = ("relative", "equal")[index // 8 % 2]
    load = np.array(LOADS[name], dtype=np.float64)

    def law(n: Any) -> Any:
        if kind == "usl":
            return RATE * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))
        return RATE * (np.minimum(n, bend) + ratio * np.maximum(n - bend, 0))

    if kind == "usl":
        sigma, peak = random.uniform(0.01, 0.08), random.uniform(20, 60)
        kappa = (1 - sigma) / peak**2
        truth = {"rate": RATE, "sigma": sigma, "kappa": kappa, "peak": peak, "X(128)": float(law(BEYOND))}
    else:
        bend, ratio = random.uniform(6, 30), random.uniform(-0.1, 0.15)
        truth = {"breakpoint": bend, "slope below": RATE, "slope ratio": ratio}
    right = law(load)
    z = random.normal(size=len(load))
    rate = right * (1 + noise * z) if errors == "relative" else right + noise * right.mean() * z
    table = Table(Path(f"{index}.csv"), load, np.maximum(rate, 1.0), None, (), "N", "X", "per second")
    return table, truth, kind, errors, name


def judged(index: int, noise: float) -> dict[str, Any]:
    """Which intervals hold the truth of table number `index`."""
    table, truth, kind, errors, name = made(index, noise)
    answer = analyse(table, at=[BEYOND])
    usl, line = answer.usl, answer.broken_line
    assert usl is not None
    assert line is not None
    if kind == "usl":
        found = {"rate": usl.rate, "sigma": usl.contention, "kappa": usl.coherency, "peak": usl.peak}
        found["X(128)"] = next(r.usl for r in answer.rows if r.load == BEYOND and r.usl is not None)
    else:
        found = {"breakpoint": line.at, "slope below": line.before, "slope ratio": line.ratio}
    held, width = {}, {}
    for key, value in found.items():
        assert value.low is not None
        assert value.high is not None
        held[key] = value.low <= truth[key] <= value.high
        width[key] = (value.high - value.low) / abs(truth[key])
    turn = truth.get("peak", truth.get("breakpoint", math.nan))
    at = answer.at
    return {
        "of": kind,
        "errors": errors,
        "loads": name,
        "held": held,
        "width": width,
        "taken": answer.errors,
        "outcome": answer.outcome,
        "at_held": None if at is None else at.low <= turn <= at.high,
        "right_law": (answer.better == "broken-line") == (kind != "usl"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--noise", type=float, default=0.05)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    every = range(options.first, options.first + options.tables)
    with ProcessPoolExecutor(options.jobs) as pool:
        found = list(pool.map(partial(judged, noise=options.noise), every, chunksize=8))
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for one in found:
        groups[one["of"], one["errors"], one["loads"]].append(one)
        groups[one["of"], one["errors"], "all"].append(one)
        groups[one["of"], "all", "all"].append(one)
    rows = []
    for (kind, errors, loads), ones in sorted(groups.items()):
        for key in ones[0]["held"]:
            rows.append(
                {
                    "of": kind,
                    "noise": errors,
                    "loads": loads,
                    "quantity": key,
                    "tables": len(ones),
                    "covered": float(np.mean([o["held"][key] for o in ones])),
                    "median_width": float(np.median([o["width"][key] for o in ones])),
                }
            )
    claimed = [o for o in found if o["at_held"] is not None]
    summary = {
        "saturated": sum(o["outcome"] == "saturated" for o in found) / len(found),
        "not_saturated_and_wrong": sum(o["outcome"] == "not-saturated" for o in found) / len(found),
        "claimed": len(claimed),
        "claimed_interval_holds": sum(o["at_held"] for o in claimed) / max(1, len(claimed)),
        "right_law": sum(o["right_law"] for o in found) / len(found),
    }
    if options.json:
        print(json.dumps({"rows": rows, "summary": summary}, indent=1))
        return
    print(f"{'of':12} {'noise':9} {'loads':21} {'quantity':12} {'tables':>6} {'held':>7} {'width':>7}")
    for r in rows:
        print(
            f"{r['of']:12} {r['noise']:9} {r['loads']:21} {r['quantity']:12} {r['tables']:6}"
            f" {r['covered']:7.1%} {r['median_width']:7.0%}"
        )
    print("\n" + ", ".join(f"{k} {v if isinstance(v, int) else f'{v:.1%}'}" for k, v in summary.items()))


if __name__ == "__main__":
    main()
