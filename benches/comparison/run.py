"""How often `satline compare` tells the truth, on pairs whose difference is known.

    python benches/comparison/run.py [--pairs 400] [--simulated] [--json]
    python benches/comparison/run.py --known --pairs 12 [--json]

1. Synthetic pairs: loads that shift from before to after and from day to day, autocorrelated noise, days
   that differ in themselves; effects of 0, 5, 10 and 30 %. How often the 95 % interval holds the truth, and
   how often a difference is claimed; and the same for raw means with the textbook's interval, which take
   neither load nor autocorrelation into account.
2. With --simulated: weeks of the simulated machine, before and after another device, at shifted loads.
3. With --known: simulated machines whose truth is known from long runs (known.py), so many of each change.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from dataclasses import replace

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from pairs import Case, made

from satline.comparison import Blocks, Observed, hold

EFFECTS = (0.0, -0.05, -0.10, -0.30)
KINDS = (
    Case("10 + 10 days"),
    Case("10 + 10 days, 25 % more load after", shift=1.25),
    Case("5 + 5 days, 25 % more load after", days=5, shift=1.25),
    Case("20 + 20 days, 30 % less load after", days=20, shift=0.7, every_s=300.0),
    Case("1 + 1 day of 24 h, days alike", days=1, shift=1.25, every_s=30.0, day_sd=0.0, all_day=True),
    Case(
        "2 + 2 days of 24 h, days alike", days=2, shift=1.25, day_sd=0.0, all_day=True, correlation_s=1800.0
    ),
    Case("1 + 1 day of 10 h, days alike", days=1, shift=1.25, every_s=30.0, day_sd=0.0),
)


def raw(seen: tuple[Observed, Observed]) -> tuple[float, float, float]:
    """Difference of plain means, as a part, with the textbook's interval."""
    means, errors = [], []
    for o in seen:
        there = o.weights > 0
        each = o.values[there] / o.weights[there]
        mean = float(o.values.sum() / o.weights.sum())
        means.append(mean)
        errors.append(float(each.std(ddof=1)) / math.sqrt(len(each)) / mean)
    size, error = math.log(means[1] / means[0]), math.hypot(*errors)
    return math.expm1(size), math.expm1(size - 1.96 * error), math.expm1(size + 1.96 * error)


def of_case(case: Case, pairs: int, seed: int) -> dict[str, object]:
    """Counts over many pairs of one kind."""
    random = np.random.default_rng((99, seed))
    told = held = claimed = wrong = raw_held = raw_claimed = raw_wrong = 0
    widths, values, raws = [], [], []
    for _ in range(pairs):
        seen = made(case, random)
        found = hold(seen, "active_users", 50, Blocks.of(seen)).matched
        plain = raw(seen)
        raws.append(plain[0])
        raw_held += plain[1] <= case.effect <= plain[2]
        sure = plain[1] > 0 or plain[2] < 0
        raw_claimed += sure
        raw_wrong += sure and (plain[0] > 0) != (case.effect > 0)
        answer = None if found is None else found.relative
        if answer is None or answer.low is None or answer.high is None:
            continue
        told += 1
        held += answer.low <= case.effect <= answer.high
        claimed += answer.sure
        wrong += answer.sure and (answer.value > 0) != (case.effect > 0)
        widths.append((answer.high - answer.low) / 2)
        values.append(answer.value)
    part = max(1, told)
    return {
        "case": case.name,
        "effect": case.effect,
        "told": told / pairs,
        "held": held / part,
        "claimed": claimed / part,
        "wrong_sign": wrong / part,
        "mean": float(np.mean(values)) if values else None,
        "half_width": float(np.mean(widths)) if widths else None,
        "raw_held": raw_held / pairs,
        "raw_claimed": raw_claimed / pairs,
        "raw_mean": float(np.mean(raws)),
    }


def main() -> None:
    """Run the bench and print its tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=400, help="pairs of each kind and effect (400)")
    parser.add_argument("--simulated", action="store_true", help="pairs of the simulated machine too")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--known", action="store_true", help="pairs of changed machines, and nothing else")
    options = parser.parse_args()
    if options.known:
        from known import of_known, table

        known = of_known(options.pairs)
        print(json.dumps(known, indent=2) if options.json else table(known))
        return
    rows = [
        of_case(replace(kind, effect=effect), options.pairs, number)
        for number, (kind, effect) in enumerate((k, e) for k in KINDS for e in EFFECTS)
    ]
    simulated: list[dict[str, object]] = []
    if options.simulated:
        from simulated import of_machine

        simulated = of_machine()
    if options.json:
        print(json.dumps({"synthetic": rows, "simulated": simulated}, indent=2))
        return
    print("                                                        at equal load            raw means")
    print(
        f"{'pairs':<38}{'effect':>7}{'held':>8}{'claimed':>9}{'±':>7}{'mean':>8}{'held':>8}{'claimed':>9}{'mean':>8}"
    )
    for row in rows:
        print(
            f"{row['case']:<38}{row['effect']:>7.0%}{row['held']:>8.1%}{row['claimed']:>9.1%}"
            f"{row['half_width'] or math.nan:>7.1%}{row['mean'] or math.nan:>8.1%}"
            f"{row['raw_held']:>8.1%}{row['raw_claimed']:>9.1%}{row['raw_mean']:>8.1%}"
        )
    if simulated:
        print("\nPairs of the simulated machine, 5 + 5 days")
        print(f"{'paging device':<38}{'pairs':>7}{'held':>8}{'claimed':>9}{'±':>7}{'mean':>8}  raw means")
    for row in simulated:
        held = "" if row["held"] is None else f"{row['held']:.0%}"
        print(
            f"{row['case']:<38}{row['pairs']:>7}{held:>8}{row['claimed']:>9.0%}"
            f"{row['half_width']:>7.1%}{row['mean']:>8.1%}  {row['raw_means']}"
        )


if __name__ == "__main__":
    main()
