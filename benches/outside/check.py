"""Hold each statement of the answers against numbers from the collector's own tool.

    python benches/outside/check.py --out DIR [--json]

DIR is that of `run.py`. For each archive: mean, 95th percentile, greatest use and time short of each
resource, the time observed, the headroom, the busiest device, what is said to have been carried or free at
least, and a bend that is claimed. Every difference is listed; exit code 1 when one is beyond its tolerance.

Tolerances: of the mean 0.01 (one per cent of the resource) or 5 % of the value, whichever is greater, since
text has rounded figures; of the 95th percentile 0.02 or 10 %, and it may lie anywhere between the 92nd and
the 98th of the tool's intervals, because Satline joins readings that are close together; of the greatest use
0.02 above the tool's, and no less than its 92nd percentile; of the part of the time short 0.02; of the
headroom and of the time observed 10 %. The tool's intervals are joined to the length of Satline's
observations where they are much shorter, and those that are more than 2.5 times as long are left out: gaps,
of which Satline says how much of the span they are. Of rates, which come in bursts, they are joined from each
instant within the first observation on: a percentile holds that holds for one of these, or lies between them.
A clock tick of 10 ms in an observation is added to the tolerances, which counts where these are shorter than
a second.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _amounts import pcp_amounts
from _courses import Courses, read

Course = list[tuple[float, float]]
FULL = 0.9
MEAN, MEAN_PART = 0.01, 0.05
HIGH, HIGH_PART = 0.02, 0.1
SHORT = 0.02
HEADROOM_PART = 0.1
SEEN_PART = 0.1
# Of rates: the greatest beyond the tool's, the mean; the part of the time that a counter must have been read
# for its mean and usual rate to be held against the tool's; fewer observations have no percentile.
RATE_PART, MEAN_OF_RATE = 0.05, 0.1
READ = 0.95
FEW = 20
GAP = 2.5
TICK_S = 0.01


def quantile(course: Course, part: float) -> float:
    """Least value that is not exceeded for `part` of the time."""
    ordered = sorted(course, key=lambda x: x[1])
    whole = sum(seconds for seconds, _ in course)
    passed = 0.0
    for seconds, value in ordered:
        passed += seconds
        if passed >= part * whole * (1 - 1e-9):
            return value
    return ordered[-1][1]


def mean(course: Course) -> float:
    return sum(s * v for s, v in course) / sum(s for s, _ in course)


def tolerance(value: float, least: float, part: float) -> float:
    return max(least, part * abs(value))


def joined(course: Course, length: float) -> Course:
    """The tool's intervals joined to the length of Satline's observations, where they are much shorter."""
    course = usual(course, length)
    if sum(s for s, _ in course) / len(course) > 0.75 * length:
        return course
    found: Course = []
    seconds = amount = 0.0
    for s, v in course:
        seconds, amount = seconds + s, amount + s * v
        if seconds >= length * 0.99:
            found.append((seconds, amount / seconds))
            seconds = amount = 0.0
    # What is left at the end is no observation of its own, and is not lost.
    return [*found, (seconds, amount / seconds)] if seconds > 0 else found


def joined_anywhere(course: Course, length: float) -> list[Course]:
    """The tool's intervals joined from the first on, from the second on, …: Satline's observations may begin
    at any of those within the first of them, and bursts fall into one or two."""
    found = [joined(course, length)]
    passed = 0.0
    for k, (seconds, _) in enumerate(course[:-1], 1):
        passed += seconds
        if passed >= length:
            break
        found.append(joined(course[k:], length))
    return found


def usual(course: Course, length: float) -> Course:
    """Without gaps: an interval much longer than Satline's observations is none of them (and the answer says
    how much of the span was observed)."""
    return [(s, v) for s, v in course if s <= GAP * length] or course


def clipped(course: Course) -> Course:
    return [(seconds, min(1.0, max(0.0, value))) for seconds, value in course]


def greatest(course: Course, length: float) -> float:
    """The greatest mean over successive intervals of about `length`, wherever the first of them begins."""
    most = max(v for s, v in course if s > length / 2) if any(s > length / 2 for s, _ in course) else 0.0
    first, seconds, amount = 0, 0.0, 0.0
    for s, v in course:
        seconds, amount = seconds + s, amount + s * v
        while seconds - course[first][0] >= 0.99 * length:
            seconds, amount = seconds - course[first][0], amount - course[first][0] * course[first][1]
            first += 1
        if seconds >= 0.9 * length:
            most = max(most, amount / seconds)
    return most or max(v for _, v in course)


def resource(use: dict[str, Any], raw: Course, length: float) -> list[tuple[str, float, float, bool]]:
    """(statement, said, by the tool, within tolerance) of one resource; `length`: of an observation, s."""
    course = clipped(joined(raw, length))
    known, high, most = mean(course), quantile(course, 0.95), min(1.0, greatest(usual(raw, length), length))
    said, said_high, said_most = use["mean"]["value"], use["high95"], use["most"]
    # Processor time is counted in ticks, by `all` and by single processors apart.
    tick = TICK_S / length
    low = quantile(course, 0.92) - tolerance(high, HIGH + tick, HIGH_PART)
    top = quantile(course, 0.98) + tolerance(high, HIGH + tick, HIGH_PART)
    found = [
        ("mean", said, known, abs(said - known) <= tolerance(known, MEAN + tick, MEAN_PART)),
        ("95th percentile", said_high, high, low <= said_high <= top),
        ("most", said_most, most, low <= said_most <= most + tolerance(most, HIGH + tick, MEAN_PART)),
    ]
    if use["resource"] == "CPU":
        short = sum(s for s, v in course if v >= FULL) / sum(s for s, _ in course)
        found.append(("short", use["short"], short, abs(use["short"] - short) <= SHORT))
    elif use["resource"].startswith("disk "):
        # A queue may be asked for too: the time that it was full is the most.
        short = sum(s for s, v in course if v >= FULL) / sum(s for s, _ in course)
        found.append(("short", use["short"], short, use["short"] <= short + SHORT))
    return found


def check(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Every statement of one answer that can be checked."""
    standing = result["answer"]["standing"]
    name = result["archive"]
    if standing is None or result["kind"] == "openmetrics":
        return []
    courses = read(result["kind"], Path(result["path"]))
    statements: list[dict[str, Any]] = []

    def say(what: str, said: Any, known: Any, holds: bool) -> None:
        statements.append({"archive": name, "what": what, "said": said, "tool": known, "holds": holds})

    observation = standing["seconds"] / max(1, standing["observations"])
    if standing.get("carried"):
        if result["kind"] == "pcp":
            pcp_amounts(Path(result["path"]), courses)
        for row in standing["carried"]:
            amounts = courses.amounts.get((row["resource"], row["what"]))
            if amounts:
                bounded(row, amounts, observation, say)
    for use in standing["uses"]:
        course = named(courses, use["resource"])
        if use["mean"] is None or not course:
            continue
        if use.get("upper_bound"):
            # A bound from above: what the tool finds is no more.
            known = mean(clipped(course))
            say(
                f"{use['resource']}: mean at most",
                use["mean"]["value"],
                known,
                known <= use["mean"]["value"] + MEAN,
            )
            continue
        if use["resource"] == "CPU":
            say(
                "CPU is a lower bound",
                use["lower_bound"],
                courses.partial,
                use["lower_bound"] == courses.partial,
            )
        for what, said, known, holds in resource(use, course, observation):
            say(f"{use['resource']}: {what}", said, known, holds)
    if courses.used.get("CPU") and not any(u["resource"] == "CPU" for u in standing["uses"]):
        say("CPU is among the uses", False, True, False)
    whole = max(
        (sum(s for s, _ in usual(c, observation)) for n, c in courses.used.items() if n != "memory" and c),
        default=0.0,
    )
    if whole > 0:
        said = standing["seconds"]
        say("seconds observed", said, whole, abs(said - whole) <= max(SEEN_PART * whole, 2 * observation))
    busiest(standing, courses, say)
    headroom(standing, courses, observation, say)
    bend(result["answer"], say)
    return statements


def bounded(row: dict[str, Any], amounts: Course, observation: float, say: Any) -> None:
    """A bound without a capacity: what is said to have been carried was, for so long; the usual amount and
    the mean are those of the tool."""
    name = f"{row['resource']} {row['what']}"
    course = joined(amounts, observation)
    free = row["kind"] == "free"
    if free:
        least = min(v for _, v in course)
        say(f"{name}: at least", row["extreme"], least, row["extreme"] >= least * (1 - RATE_PART) - 1e-9)
    most = greatest(usual(amounts, observation), row["over_s"])
    if row["kind"] in ("carried", "at least"):
        holds = row["extreme"] <= most * (1 + RATE_PART) + 1e-9
        say(f"{name}: carried at least", row["extreme"], most, holds)
        if row["relative"] is not None:
            part = row["usual"] / row["extreme"]
            say(f"{name}: at most of that", row["relative"], part, abs(row["relative"] - part) < 1e-9)
    if row["seen"] < READ:
        # The observations in which a counter was not read to the end are left out, which the answer says.
        return
    known = mean(course)
    say(f"{name}: mean", row["mean"], known, abs(row["mean"] - known) <= tolerance(known, 1e-9, MEAN_OF_RATE))
    # Of few observations the 95th percentile is the greatest, wherever they begin.
    least_part = 0.92 if row["observations"] >= FEW else 0.5
    begun = [[(s, -v if free else v) for s, v in own] for own in joined_anywhere(amounts, observation)]
    ends = [min(quantile(own, least_part) for own in begun), max(quantile(own, 0.98) for own in begun)]
    signed = begun[0]
    low, high = (
        (-ends[1], -ends[0])
        if free
        else (ends[0], max(ends[1], most) if row["observations"] < FEW else ends[1])
    )
    near = low * (1 - HIGH_PART) - 1e-9 <= row["usual"] <= high * (1 + HIGH_PART) + 1e-9
    say(f"{name}: usual", row["usual"], (-1 if free else 1) * quantile(signed, 0.95), near)


def named(courses: Courses, resource: str) -> Course | None:
    """The tool's course of a resource."""
    return courses.used.get(resource) or courses.used.get(f"disk {resource}")


def disk_name(resource: str) -> str:
    return resource.removeprefix("disk ")


def busiest(standing: dict[str, Any], courses: Courses, say: Any) -> None:
    """The disk that the answer shows as fullest is the fullest of the tool's, or as full."""
    disks = [u for u in standing["uses"] if u["component"] == "io" and u["high95"] is not None]
    disks = [u for u in disks if named(courses, u["resource"])]
    found = {n: clipped(c) for n, c in courses.used.items() if n.startswith("disk ") and c}
    # A slice or a path (Solaris: sd5,a and sd5.t3.m) is a part of its disk.
    found = {
        n: c for n, c in found.items() if re.split("[,.]", n)[0] == n or re.split("[,.]", n)[0] not in found
    }
    if not disks or not found:
        return
    said = max(disks, key=lambda u: u["high95"])
    top = max(quantile(c, 0.95) for c in found.values())
    own = named(courses, said["resource"]) or []
    least = top - tolerance(top, HIGH, HIGH_PART)
    # A volume or slice may be fuller than its disk, and is no disk.
    say("busiest disk", disk_name(said["resource"]), round(top, 4), quantile(clipped(own), 0.98) >= least)


def headroom(standing: dict[str, Any], courses: Courses, observation: float, say: Any) -> None:
    """The least of limit / 95th percentile over the resources of the answer, by the tool's percentiles: as of
    these, anywhere between the 92nd and the 98th."""
    room = standing["headroom"]
    scaling = [u for u in standing["uses"] if u["headroom"] is not None]
    rooms = []
    for u in scaling:
        course = named(courses, u["resource"])
        if course:
            course = clipped(joined(course, observation))
            if (most := quantile(course, 0.98)) > 0:
                rooms.append((u["limit"] / most, u["limit"] / max(quantile(course, 0.92), 1e-9)))
    if room is None or not rooms or len(rooms) < len(scaling):
        return
    least, most = (min(r[k] for r in rooms) for k in (0, 1))
    near = least * (1 - HEADROOM_PART) <= room["value"] <= most * (1 + HEADROOM_PART)
    # Beyond 20, percentages of text and clock ticks are too coarse for a ratio.
    say("headroom", room["value"], least, near or min(room["value"], least) > 20)


def bend(answer: dict[str, Any], say: Any) -> None:
    """A bend lies within the loads seen."""
    curve = answer["saturation"]
    place = curve["at"] or (curve["bend"] if (curve["chance"] or 0.0) >= 0.5 else None)
    if place is None or curve["range_low"] is None:
        return
    low, high = curve["range_low"], curve["range_high"]
    say("bend within the loads seen", place["value"], [low, high], low <= place["value"] <= high)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the directory that run.py was given")
    parser.add_argument("--json", action="store_true", help="every statement, as JSON")
    options = parser.parse_args()
    results = [json.loads(p.read_text()) for p in sorted((options.out / "results").glob("*.json"))]
    answered = [r for r in results if "answer" in r]
    if not answered:
        print(f"error: {options.out}: no answers in it; hint: run run.py first", file=sys.stderr)
        return 2
    statements, silent = [], []
    for result in answered:
        own = check(result)
        statements += own
        if not own:
            silent.append(result["archive"])
    wrong = [s for s in statements if not s["holds"]]
    if options.json:
        print(json.dumps({"statements": statements, "not checked": silent}))
        return 1 if wrong else 0
    for one in wrong:
        said, known = (f"{x:.4g}" if isinstance(x, float) else x for x in (one["said"], one["tool"]))
        print(f"{one['archive']}: {one['what']}: said {said}, by the tool {known}")
    archives = len(answered) - len(silent)
    print(f"{len(statements)} statements of {archives} archives checked: {len(wrong)} differ")
    if silent:
        print(f"nothing to check in {len(silent)}: {', '.join(silent)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
