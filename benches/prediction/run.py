"""How far the approximations are from exact results, and how long each takes.

    python benches/prediction/run.py [--networks N] [--json] [--write]

Solves the central-server model about its knee (and has the simulator run it, where that is built), and random
networks (grid.py), exactly, by the Linearizer and by Bard and Schweitzer, and prints the relative errors of
throughput and response. With --write the errors on the grid become python/satline/prediction/accuracy.toml,
which `analyse predict` states with an approximation. Times stand beside a floor: the bare recursion of exact
analysis in numpy.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(Path(__file__).parent)]

from grid import central_server, networks  # noqa: E402

from satline.prediction import (  # noqa: E402  # noqa: E402
    BANDS,
    MEASURED,
    Network,
    band,
    exact_classes,
    exact_single,
    linearizer,
    pressure,
    schweitzer,
)

METHODS = {"linearizer": linearizer, "schweitzer": schweitzer}
NETWORKS = 1500
SIMULATOR = ROOT / "target/release/examples/central_server"
SIMULATED_S = 200_000
KNEE = (50, 80, 90, 100, 110, 120, 150)


def exact(network: Network) -> Any:
    """Exactly, by the way that fits."""
    return exact_single(network) if len(network.classes) == 1 else exact_classes(network)


def errors(count: int) -> dict[str, list[tuple[float, float]]]:
    """Relative errors of throughput and response, worst class, by ``method-servers-band``."""
    found = defaultdict(list)
    for several in (False, True):
        for network in networks(count // (2 if several else 1), several=several):
            truth = exact(network)
            for name, method in METHODS.items():
                made = method(network)
                place = f"{name}-{'several' if several else 'single'}-{band(float(pressure(network).max()))}"
                rate = np.abs(made.throughput / truth.throughput - 1).max()
                response = np.abs(made.response_s / truth.response_s - 1).max()
                found[place].append((float(rate), float(response)))
    return dict(sorted(found.items()))


def summary(pairs: list[tuple[float, float]]) -> dict[str, float]:
    """Median, 95th percentile and worst, of throughput and response."""
    rate, response = np.array(pairs).T
    return {
        "median": float(np.median(rate)),
        "p95": float(np.percentile(rate, 95)),
        "worst": float(rate.max()),
        "response_median": float(np.median(response)),
        "response_p95": float(np.percentile(response, 95)),
        "response_worst": float(response.max()),
        "networks": len(pairs),
    }


def about_the_knee() -> list[dict[str, float]]:
    """The central-server model: signed errors, in parts, about N* = 103.7."""
    rows = []
    for users in KNEE:
        network = central_server(users)
        truth = exact_single(network)
        row = {
            "users": users,
            "throughput": float(truth.throughput[0]),
            "response_s": float(truth.response_s[0]),
        }
        for name, method in METHODS.items():
            made = method(network)
            row[f"{name}_throughput"] = float(made.throughput[0] / truth.throughput[0] - 1)
            row[f"{name}_response"] = float(made.response_s[0] / truth.response_s[0] - 1)
        rows.append(row)
    return rows


def simulated() -> dict[str, float] | None:
    """Throughput of the central server by the simulator, and its error; ``None``: it is not built."""
    if not SIMULATOR.exists():
        return None
    done = subprocess.run([SIMULATOR, str(SIMULATED_S)], capture_output=True, text=True, check=True)
    throughput = float(json.loads(done.stdout)["throughput_per_s"])
    truth = float(exact_single(central_server()).throughput[0])
    return {"seconds": SIMULATED_S, "throughput": throughput, "exact": truth, "error": throughput / truth - 1}


def floor(demand: np.ndarray, think: float, users: int) -> float:
    """The bare recursion: the least that exact analysis of one class can be."""
    queue = np.zeros_like(demand)
    rate = 0.0
    for n in range(1, users + 1):
        residence = demand * (1 + queue)
        rate = n / (think + residence.sum())
        queue = rate * residence
    return rate


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Median time of `work`."""
    took = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def times() -> dict[str, float]:
    """Milliseconds for 1,000 users of the central server, and the ratio to the floor."""
    network = central_server(1000)
    demand = network.demand_s[0]
    least = seconds(lambda: floor(demand, 10.0, 1000))
    found = {"floor_ms": least * 1e3}
    for name, method in {"exact": exact_single, **METHODS}.items():
        found[f"{name}_ms"] = seconds(lambda method=method: method(network)) * 1e3
    found["exact_by_floor"] = found["exact_ms"] / found["floor_ms"]
    return found


def write(measured: dict[str, dict[str, float]], count: int) -> None:
    """Make accuracy.toml."""
    edges = ", ".join(f"{edge:g}" for edge in BANDS)
    lines = [
        "# Relative errors of the approximations against exact results, by method, servers and band of load.",
        f"# Bands: the load, N/N* of one class, below and above {edges}.",
        f"# Made by: python benches/prediction/run.py --write --networks {count}",
    ]
    for place, row in measured.items():
        lines += ["", f"[{place}]"]
        lines += [f"{k} = {v}" if k == "networks" else f"{k} = {v:.3g}" for k, v in row.items()]
    MEASURED.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Run the bench and print its tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--networks", type=int, default=NETWORKS, help="random networks of single servers")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--write", action="store_true", help="make the accuracy that is shipped")
    options = parser.parse_args()
    measured = {place: summary(pairs) for place, pairs in errors(options.networks).items()}
    if options.write:
        write(measured, options.networks)
    result = {
        "central_server": about_the_knee(),
        "simulated": simulated(),
        "grid": measured,
        "times": times(),
    }
    if options.json:
        print(json.dumps(result, indent=2))
        return
    print("Central server, N* = 103.7: error of throughput and response")
    print("users  exact X/s  exact R, s   Linearizer X       R   Schweitzer X       R")
    for row in result["central_server"]:
        print(
            f"{row['users']:5.0f}  {row['throughput']:9.4f}  {row['response_s']:10.4f}"
            f"  {row['linearizer_throughput']:13.2%}  {row['linearizer_response']:6.2%}"
            f"  {row['schweitzer_throughput']:13.2%}  {row['schweitzer_response']:6.2%}"
        )
    if result["simulated"] is not None:
        print(
            "Simulated, {seconds:,} s: {throughput:.4f}/s, {error:+.2%} of exact".format(
                **result["simulated"]
            )
        )
    print("\nRandom networks: absolute error of the worst class")
    print("method-servers-band  networks  X median    95 %   worst  R median    95 %   worst")
    for place, row in measured.items():
        rate = f"{row['median']:8.2%}  {row['p95']:6.2%}  {row['worst']:6.2%}"
        response = f"{row['response_median']:8.2%}  {row['response_p95']:6.2%}  {row['response_worst']:6.2%}"
        print(f"{place:<21} {row['networks']:8.0f}  {rate}  {response}")
    print("\nTime, 1,000 users of the central server")
    for name, value in result["times"].items():
        print(f"{name:<16} {value:8.2f}")


if __name__ == "__main__":
    main()
