"""How often the verdict on saturation is right, on systems whose saturation is known.

    python benches/saturation/run.py [--systems N] [--first N] [--kind mixed] [--json] [--jobs N] [--wrong]

Judges N systems of twelve kinds (`systems.py` beside this file makes them; the same N are the same systems)
and prints: by kind and truth how often each verdict was given, how often the 95 % interval of a sharp knee
held it, and the part of all answers that were confident and wrong. Goals: coverage 93 to 97 %, wrong below
2 %. --wrong lists the wrong ones by number; `systems.made(number)` makes one again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from systems import MORE, made

OUTCOMES = ("saturated", "not-saturated", "cannot-tell", "nongranular")


@dataclass(frozen=True)
class Judged:
    """One system's truth and verdict. covered: ``None`` where there is no sharp knee or no interval."""

    index: int
    kind: str
    truth: str
    outcome: str
    wrong: bool
    covered: bool | None
    knee: float | None
    interval: tuple[float, float] | None
    seconds: float
    reason: str


def judged(index: int, kind: str | None = None) -> Judged:
    """Make system number `index` and judge it."""
    system = made(index, kind)
    began = time.perf_counter()
    answer = system.verdict()
    seconds = time.perf_counter() - began
    at = answer.at
    covered = None
    if system.sharp and system.knee is not None and at is not None:
        covered = bool(at.low <= system.knee <= at.high)
    return Judged(
        index,
        system.kind,
        system.truth,
        answer.outcome,
        system.is_wrong(answer),
        covered,
        system.knee,
        (at.low, at.high) if at else None,
        seconds,
        answer.reasons[0] if answer.reasons else "",
    )


def table(answers: list[Judged]) -> dict[str, object]:
    """Confusion matrix by kind and truth, coverage and wrong answers."""
    rows = Counter((a.kind, a.truth, a.outcome) for a in answers)
    kinds: dict[str, dict[str, object]] = {}
    for kind, truth in sorted({(a.kind, a.truth) for a in answers}):
        own = [a for a in answers if (a.kind, a.truth) == (kind, truth)]
        held = [a.covered for a in own if a.covered is not None]
        kinds[f"{kind}: {truth}"] = {
            **{o: rows[kind, truth, o] for o in OUTCOMES},
            "wrong": sum(a.wrong for a in own),
            "intervals": len(held),
            "covered": sum(held),
        }
    held = [a.covered for a in answers if a.covered is not None]
    confident = sum(a.outcome in {"saturated", "not-saturated"} for a in answers)
    return {
        "systems": len(answers),
        "kinds": kinds,
        "confident": confident,
        "wrong_confident": sum(a.wrong for a in answers),
        "wrong_confident_part": sum(a.wrong for a in answers) / len(answers),
        "intervals": len(held),
        "coverage": sum(held) / len(held) if held else None,
        "judge_s_median": float(np.median([a.seconds for a in answers])),
    }


def show(result: dict[str, object]) -> None:
    """The table as text."""
    print(f"{'kind: truth':<24}{'saturated':>10}{'not':>6}{'cannot':>8}{'wrong':>7}{'covered':>12}")
    for name, row in result["kinds"].items():  # type: ignore[attr-defined]
        held = f"{row['covered']}/{row['intervals']}" if row["intervals"] else ""
        print(
            f"{name:<24}{row['saturated']:>10}{row['not-saturated']:>6}{row['cannot-tell']:>8}"
            f"{row['wrong']:>7}{held:>12}"
        )
    coverage = result["coverage"]
    print(
        f"\n{result['systems']} systems, {result['confident']} confident answers,"
        f" {result['wrong_confident']} of them wrong: {result['wrong_confident_part']:.1%} of all"
        " (goal < 2 %)"
    )
    if coverage is not None:
        print(f"coverage of the 95 % interval: {coverage:.1%} of {result['intervals']} (goal 93 to 97 %)")
    print(f"median time of a verdict: {result['judge_s_median']:.3f} s")


def main() -> None:
    """Run the bench and print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--systems", type=int, default=1000, help="how many systems (1000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first system (0)")
    parser.add_argument("--kind", choices=MORE, help="only systems of this kind, which is none of the twelve")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at the same time")
    parser.add_argument("--wrong", action="store_true", help="list the wrong answers and missed knees too")
    options = parser.parse_args()
    answers = []
    numbers = range(options.first, options.first + options.systems)
    with ProcessPoolExecutor(options.jobs) as pool:
        for answer in pool.map(partial(judged, kind=options.kind), numbers, chunksize=4):
            answers.append(answer)
            if sys.stderr.isatty():
                print(f"\r{len(answers)} of {options.systems}", end="", file=sys.stderr)
    print(file=sys.stderr)
    result = table(answers)
    bad = [a for a in answers if a.wrong or a.covered is False]
    if options.json:
        print(json.dumps({**result, "bad": [vars(a) for a in bad]} if options.wrong else result, indent=2))
        return
    show(result)
    if options.wrong:
        for a in bad:
            where = "[{:.1f}, {:.1f}]".format(*a.interval) if a.interval else ""
            knee = f"{a.knee:.1f}" if a.knee is not None else "none"
            print(f"{a.index:>5} {a.kind}: {a.truth} {knee}, {a.outcome} {where}{' WRONG' * a.wrong}")


if __name__ == "__main__":
    main()
