"""How often the verdict on saturation is right, on systems whose saturation is known.

    python benches/saturation/run.py [--systems N] [--first N] [--kind mixed] [--json] [--jobs N] [--wrong]

Judges N systems of twelve kinds (`systems.py` beside this file makes them; the same N are the same systems)
and prints, by kind and truth: how often each verdict was given; how often an answer was silent; how often it
was wrong; how often the 95 % intervals held a sharp knee, those of verdicts and those of a bend that is only
likely. An answer is

wrong   a verdict that is not true; a chance of saturation of at least 0.8 where there is none in the range,
        or of at most 0.2 where there is; a load that is said to be carried and is beyond the knee by more
        than the tolerance of the kind; a change that is told where there was none.
silent  neither a verdict, nor a chance of at least 0.8 or at most 0.2, nor a change with its time, nor that
        throughput is the same at every load, nor a bend whose interval has an upper end within 2.5 times
        its lower one, nor a load of at least half of the greatest seen that is surely carried.

Goals: silent at most 15 %, wrong at most 1 %, coverage 93 to 97 %. --wrong lists the wrong ones by number;
`systems.made(number)` makes one again. --calibration prints how often it saturated, by chance told.
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

from satline.diagnosis import Saturation

NARROW, CARRIED = 2.5, 0.5
OUTCOMES = ("saturated", "not-saturated", "partly-known", "nongranular")


@dataclass(frozen=True)
class Judged:
    """One system's truth and verdict. covered: ``None`` where there is no sharp knee or no interval."""

    index: int
    kind: str
    truth: str
    outcome: str
    wrong: str
    silent: bool
    covered: tuple[bool, ...]
    knee: float | None
    interval: tuple[float, float] | None
    seconds: float
    reason: str
    chance: float | None


def judged(index: int, kind: str | None = None) -> Judged:
    """Make system number `index` and judge it."""
    system = made(index, kind)
    began = time.perf_counter()
    answer = system.verdict()
    seconds = time.perf_counter() - began
    at = answer.at
    covered = [bool(low <= knee <= high) for knee, low, high in system.intervals(answer) if system.sharp]
    at = answer.at or answer.bend
    return Judged(
        index,
        system.kind,
        system.truth,
        answer.outcome,
        system.wrong(answer),
        is_silent(answer),
        tuple(covered),
        system.knee,
        (at.low, at.high) if at else None,
        seconds,
        answer.reasons[0] if answer.reasons else "",
        answer.chance,
    )


def is_silent(answer: Saturation) -> bool:
    """Does an answer tell nothing that one could act on?"""
    if answer.outcome != "partly-known" or answer.regimes or answer.flat is not None:
        return False
    if answer.chance is not None and not 0.2 < answer.chance < 0.8:
        return False
    if answer.carries is not None and answer.range_high and answer.carries >= CARRIED * answer.range_high:
        return False
    return answer.bend is None or not answer.bend.high <= NARROW * answer.bend.low


def table(answers: list[Judged]) -> dict[str, object]:
    """Confusion matrix by kind and truth, coverage and wrong answers."""
    rows = Counter((a.kind, a.truth, a.outcome) for a in answers)
    kinds: dict[str, dict[str, object]] = {}
    for kind, truth in sorted({(a.kind, a.truth) for a in answers}):
        own = [a for a in answers if (a.kind, a.truth) == (kind, truth)]
        held = [c for a in own for c in a.covered]
        kinds[f"{kind}: {truth}"] = {
            **{o: rows[kind, truth, o] for o in OUTCOMES},
            "silent": sum(a.silent for a in own),
            "wrong": sum(bool(a.wrong) for a in own),
            "intervals": len(held),
            "covered": sum(held),
        }
    held = [c for a in answers for c in a.covered]
    confident = sum(a.outcome in {"saturated", "not-saturated"} for a in answers)
    return {
        "systems": len(answers),
        "kinds": kinds,
        "confident": confident,
        "silent_part": sum(a.silent for a in answers) / len(answers),
        "wrong": sum(bool(a.wrong) for a in answers),
        "wrong_part": sum(bool(a.wrong) for a in answers) / len(answers),
        "intervals": len(held),
        "coverage": sum(held) / len(held) if held else None,
        "judge_s_median": float(np.median([a.seconds for a in answers])),
    }


def show(result: dict[str, object]) -> None:
    """The table as text."""
    print(
        f"{'kind: truth':<24}{'saturated':>10}{'not':>6}{'partly':>8}{'silent':>8}{'wrong':>7}{'covered':>12}"
    )
    for name, row in result["kinds"].items():  # type: ignore[attr-defined]
        held = f"{row['covered']}/{row['intervals']}" if row["intervals"] else ""
        print(
            f"{name:<24}{row['saturated']:>10}{row['not-saturated']:>6}{row['partly-known']:>8}"
            f"{row['silent']:>8}{row['wrong']:>7}{held:>12}"
        )
    coverage = result["coverage"]
    print(
        f"\n{result['systems']} systems, {result['confident']} verdicts;"
        f" silent {result['silent_part']:.1%} (goal at most 15 %),"
        f" wrong {result['wrong_part']:.1%} (goal at most 1 %)"
    )
    if coverage is not None:
        print(f"coverage of the 95 % intervals: {coverage:.1%} of {result['intervals']} (goal 93 to 97 %)")
    print(f"median time of a verdict: {result['judge_s_median']:.3f} s")


def show_calibration(answers: list[Judged]) -> None:
    """By the chance told, in fifths: how many answers, the mean chance, and the part that saturated."""
    print("\nchance told   answers  mean chance  saturated in truth")
    told = [(a.chance, a.truth == "knee") for a in answers if a.chance is not None and a.truth != "moved"]
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        own = [(c, t) for c, t in told if low <= c < low + 0.2 or (low == 0.8 and c == 1.0)]
        if own:
            mean, true = (float(np.mean([o[k] for o in own])) for k in (0, 1))
            print(f"{low:.1f} to {low + 0.2:.1f}{len(own):>10}{mean:>13.2f}{true:>20.2f}")


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
    parser.add_argument("--calibration", action="store_true", help="how often it saturated, by chance told")
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
    bad = [a for a in answers if a.wrong or not all(a.covered)]
    if options.json:
        print(json.dumps({**result, "bad": [vars(a) for a in bad]} if options.wrong else result, indent=2))
        return
    show(result)
    if options.wrong:
        for a in bad:
            where = "[{:.1f}, {:.1f}]".format(*a.interval) if a.interval else ""
            knee = f"{a.knee:.1f}" if a.knee is not None else "none"
            print(f"{a.index:>5} {a.kind}: {a.truth} {knee}, {a.outcome} {where} {a.wrong}")
    if options.calibration:
        show_calibration(answers)


if __name__ == "__main__":
    main()
