"""How often the intervals of simulated output hold the truth, on autoregressive series whose mean is known.

    python benches/intervals/run.py [--series 1000] [--json]

1. Batch means of one run: n values of autocorrelation φ^k.
2. MSER-5 and replications: the same with a start that decays over 50 values, truncated at MSER-5's point, or
   at twice that as `satline simulate` does.
3. Replications added until the half width is 5 % or 15 % of the mean.
"""

from __future__ import annotations

import argparse
import json
import math
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from satline.simulation import Goal, batch_means, mean_interval, mser

MEAN = 5.0
Series = np.ndarray


def ar1(random: np.random.Generator, many: int, length: int, phi: float) -> Series:
    """Series of the mean `MEAN`, variance 1, autocorrelation φ^k, one in each row."""
    x = random.normal(size=(many, length))
    x[:, 1:] *= math.sqrt(1 - phi * phi)
    for i in range(1, length):
        x[:, i] += phi * x[:, i - 1]
    return x + MEAN


def of_batch_means(random: np.random.Generator, many: int) -> list[dict[str, object]]:
    """Coverage, and how often "run longer" was said."""
    rows = []
    for length in (150, 500, 1500):
        for phi in (0.0, 0.5, 0.9):
            found = [batch_means(x) for x in ar1(random, many, length, phi)]
            held = sum(abs((e.value or 0) - MEAN) <= (e.half_width or 0) for e in found)
            longer = sum(bool(e.note) for e in found)
            rows.append({"n": length, "phi": phi, "covered": held / many, "run_longer": longer / many})
    return rows


def of_replications(random: np.random.Generator, many: int) -> list[dict[str, object]]:
    """Coverage of five replications with a warm-up that is found, left in, or known."""
    rows = []
    for phi in (0.0, 0.5, 0.9):
        held = {"MSER-5": 0, "twice": 0, "left in": 0, "known": 0}
        invalid = 0
        for _ in range(many):
            x = ar1(random, 5, 720, phi) + 4.0 * np.exp(-np.arange(720) / 50.0)
            batches = x.reshape(5, 144, 5).mean(axis=2)
            truncation = mser(batches.mean(axis=0))
            invalid += not truncation.valid
            point = truncation.batches
            for name, cut in (
                ("MSER-5", point),
                ("twice", min(2 * point, 72)),
                ("left in", 0),
                ("known", 40),
            ):
                found = mean_interval(batches[:, cut:].mean(axis=1).tolist(), "replications")
                held[name] += abs((found.value or 0) - MEAN) <= (found.half_width or 0)
        rows.append({"phi": phi, **{k: n / many for k, n in held.items()}, "invalid": invalid / many})
    return rows


def of_precision(random: np.random.Generator, many: int, width: float) -> dict[str, float]:
    """Coverage and replications of runs that go on until they are precise."""
    goal, held, made = Goal("x", width, True), 0, 0
    for _ in range(many):
        values = (MEAN + random.normal(size=5)).tolist()
        while True:
            found = mean_interval(values, "replications")
            needed = goal.needed(found, 1000)
            if needed == len(values):
                break
            values += (MEAN + random.normal(size=needed - len(values))).tolist()
        held += abs((found.value or 0) - MEAN) <= (found.half_width or 0)
        made += len(values)
    return {"width": width, "covered": held / many, "mean_replications": made / many}


def main() -> None:
    """Run the bench and print its tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--series", type=int, default=1000, help="series of each kind (1000)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args()
    random = np.random.default_rng(99)
    one = of_batch_means(random, options.series)
    many = of_replications(random, options.series)
    until = [of_precision(random, options.series, width) for width in (0.05, 0.15)]
    if options.json:
        print(json.dumps({"batch_means": one, "replications": many, "precision": until}, indent=2))
        return
    print("Batch means of one run: how often the 95 % interval held the mean")
    print(f"{'values':>8}{'φ':>6}{'held':>9}{'run longer':>12}")
    for row in one:
        print(f"{row['n']:>8}{row['phi']:>6}{row['covered']:>9.1%}{row['run_longer']:>12.1%}")
    print("\nFive replications of 720 values, with a start that decays over 50")
    print(f"{'φ':>8}{'MSER-5':>9}{'twice':>9}{'left in':>9}{'known':>9}{'invalid':>9}")
    for row in many:
        shown = "".join(f"{row[name]:>9.1%}" for name in ("MSER-5", "twice", "left in", "known", "invalid"))
        print(f"{row['phi']:>8}{shown}")
    print("\nReplications added until they are precise")
    for row in until:
        many_ = f"{row['mean_replications']:.1f} replications on average"
        print(f"  ± {row['width']:.0%}: held {row['covered']:.1%}, {many_}")


if __name__ == "__main__":
    main()
