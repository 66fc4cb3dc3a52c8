"""How often a diagnosis is right where others take part of the CPU, on studies of known truth.

    python benches/contamination/run.py [--systems N] [--first N] [--json] [--jobs N] [--wrong]

`contaminated.py` beside this file makes the studies: a hypervisor, neighbours, hogs and a group take
from 0 to 75 % of the CPU, always, slowly varying, in bursts, rising or falling with time. Printed are, by who
takes and how: each verdict's count; how many are wrong and confident (goal 0); how often the 95 % interval
held the load of saturation for the CPU that was left, and for a whole one (goal 93 to 97 %); the part that is
silent. --alone judges the same systems with nobody who takes anything: what the estimator itself misses.

Wrong and confident is: a saturation that is not there, or was denied; a load of saturation whose interval,
widened by 15 % on each side, does not hold the true one; or a bottleneck named as strong or very strong that
is none. Coverage counts the intervals as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from contaminated import made

from satline.diagnosis import diagnose

TOLERANCE = 0.15
CONFIDENT = 0.6
OUTCOMES = ("saturated", "not-saturated", "partly-known")


@dataclass(frozen=True)
class Judged:
    """One system's truth and answer; held: ``None`` where there is nothing to hold."""

    index: int
    source: str
    course: str
    taken: float
    bound_by: str
    knee: tuple[float, float] | None
    outcome: str
    at: tuple[float, float, float] | None
    part: float
    seen_part: float | None
    wrong: str
    held: bool | None
    whole: float | None
    seen_whole: tuple[float, float, float] | None
    whole_held: bool | None
    named: str
    strength: float
    headline: str
    reason: str


def judged(index: int, alone: bool = False) -> Judged:
    """Make system number `index` and judge it; `alone`: nobody takes anything."""
    system = made(index)
    if alone:
        system = replace(system, taken=0.0)
    recording, truth = system.run()
    answer = diagnose(recording)
    verdict = answer.saturation
    at = None if verdict.at is None else (verdict.at.value, verdict.at.low, verdict.at.high)
    named = next((f for f in answer.findings if f.component != "none"), None)
    wrong, held, whole_held, seen_whole = "", None, None, None
    if truth.knee is not None and at is not None:
        # Beside hogs throughput has no one bend.
        if system.source != "hogs":
            held = at[1] <= truth.knee[1] and at[2] >= truth.knee[0]
        near = at[1] * (1 - TOLERANCE) <= truth.knee[1] and at[2] * (1 + TOLERANCE) >= truth.knee[0]
        wrong = "" if near else "place"
    elif truth.knee is None and at is not None:
        # A knee above the last but one load is not in the range; one below it by the tolerance may be seen.
        top = verdict.range_high or 0.0
        wrong = "" if at[2] * (1 + TOLERANCE) >= 0.8 * top else "there is none"
        # A load in between may have been saturated while others took most; then the whole one must be right.
        if verdict.left is not None and verdict.left.whole is not None and truth.bound_by == "processor":
            whole = verdict.left.whole
            near = whole.low * (1 - TOLERANCE) <= system.whole <= whole.high * (1 + TOLERANCE)
            wrong = "" if near and truth.robbed else wrong
    elif truth.knee is not None and verdict.outcome == "not-saturated" and not truth.free_at_top:
        wrong = "denied"
    left = verdict.left
    if left is not None and left.whole is not None:
        seen_whole = (left.whole.value, left.whole.low, left.whole.high)
        if truth.whole is not None and truth.knee is not None:
            whole_held = left.whole.low <= truth.whole <= left.whole.high
    if named is not None and not wrong and named.strength >= CONFIDENT and named.component != truth.bound_by:
        wrong = f"named {named.component}"
    return Judged(
        index,
        system.source,
        system.course,
        system.taken,
        truth.bound_by,
        truth.knee,
        verdict.outcome,
        at,
        truth.part,
        None if left is None else left.part,
        wrong,
        held,
        truth.whole,
        seen_whole,
        whole_held,
        named.rule if named else "",
        named.strength if named else 0.0,
        answer.headline,
        verdict.reasons[0] if verdict.reasons else "",
    )


def table(answers: list[Judged]) -> dict[str, dict[str, object]]:
    """Counts by who takes and how, by what limits, and of all."""
    groups: dict[str, list[Judged]] = defaultdict(list)
    for a in answers:
        for name in (f"{a.source}, {a.course}", f"limited by {a.bound_by}", "all"):
            groups[name].append(a)
    rows = {}
    for name in sorted(groups, key=lambda n: (n == "all", n.startswith("limited"), n)):
        own = groups[name]
        held = [a.held for a in own if a.held is not None]
        whole = [a.whole_held for a in own if a.whole_held is not None]
        rows[name] = {
            "systems": len(own),
            **{o: sum(a.outcome == o for a in own) for o in OUTCOMES},
            "wrong": sum(bool(a.wrong) for a in own),
            "covered": sum(held),
            "intervals": len(held),
            "whole_covered": sum(whole),
            "whole_intervals": len(whole),
            "silent_part": sum(a.outcome == "partly-known" for a in own) / len(own),
        }
    return rows


def show(rows: dict[str, dict[str, object]]) -> None:
    """The table as text."""
    print(
        f"{'':<24}{'systems':>8}{'saturated':>10}{'not':>5}{'silent':>8}{'wrong':>7}{'left':>11}{'whole':>11}"
    )
    for name, row in rows.items():
        print(
            f"{name:<24}{row['systems']:>8}{row['saturated']:>10}{row['not-saturated']:>5}"
            f"{row['partly-known']:>8}{row['wrong']:>7}"
            f"{row['covered']:>6}/{row['intervals']:<4}{row['whole_covered']:>6}/{row['whole_intervals']:<4}"
        )
    every = rows["all"]
    for what, held, count in (
        ("the CPU that was left", every["covered"], every["intervals"]),
        ("a whole CPU", every["whole_covered"], every["whole_intervals"]),
    ):
        if count:
            print(f"coverage for {what}: {held / count:.1%} of {count} (goal 93 to 97 %)")  # type: ignore[operator]
    print(
        f"wrong and confident: {every['wrong']} of {every['systems']} (goal 0);"
        f" silent: {every['silent_part']:.0%}"
    )


def main() -> None:
    """Run the bench and print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--systems", type=int, default=400, help="how many systems (400)")
    parser.add_argument("--first", type=int, default=0, help="number of the first system (0)")
    parser.add_argument("--alone", action="store_true", help="the same systems, but nobody takes anything")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at the same time")
    parser.add_argument("--wrong", action="store_true", help="list the wrong answers and missed loads too")
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.systems)
    answers = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for answer in pool.map(partial(judged, alone=options.alone), numbers, chunksize=4):
            answers.append(answer)
            if sys.stderr.isatty():
                print(f"\r{len(answers)} of {options.systems}", end="", file=sys.stderr)
    rows = table(answers)
    if options.json:
        print(json.dumps({"rows": rows, "answers": [asdict(a) for a in answers]}, indent=1))
        return
    show(rows)
    if options.wrong:
        for a in answers:
            if a.wrong or a.held is False or a.whole_held is False:
                what = a.wrong or ("missed" if a.held is False else "missed whole")
                print(
                    f"{a.index}: {what}; {a.source}, {a.course}, {a.taken:.0%}, {a.bound_by}; knee {a.knee} "
                    f"part {a.part:.2f} whole {a.whole}: {a.headline}"
                )


if __name__ == "__main__":
    main()
