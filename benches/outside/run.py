"""Diagnose every archive of other people's hosts below a directory, and count what comes of it.

    python benches/outside/run.py --data DIR [--out DIR] [--limit 300] [--jobs 2] [--json]

Each archive is imported by `satline import` and diagnosed by `satline diagnose --json`, each with a limit of
time. What was done is kept in OUT, so that a run that was broken off goes on where it was; `check.py` reads
it. What an archive without an answer holds about a host is looked up without Satline: one that holds nothing,
or single readings, is counted apart.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from _archives import Archive, archives
from _holds import holds as held_about_host

SATLINE = [sys.executable, "-m", "satline.cli"]
SURE = 0.8
LEAST_VERDICTS = 0.95
ANSWERED = ("answered", "bounds alone")
OUTCOMES = (
    "answered",
    "bounds alone",
    "levels alone",
    "without a verdict",
    "refused by import",
    "refused by diagnose",
    "crashed",
    "out of time",
)


def run(words: list[str], limit: float) -> tuple[int | None, str, str]:
    """Exit code (``None``: out of time), output and errors of a command of Satline."""
    try:
        done = subprocess.run(
            [*SATLINE, *words], capture_output=True, text=True, errors="replace", timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return None, "", ""
    return done.returncode, done.stdout, done.stderr


def failure(step: str, code: int | None, errors: str, limit: float) -> dict[str, Any]:
    """What went wrong, in a line."""
    if code is None:
        return {"outcome": "out of time", "reason": f"{step}: not done after {limit:g} s"}
    if "Traceback (most recent call last)" in errors or code < 0:
        last = errors.strip().splitlines()[-1:] or [f"signal {-code}"]
        return {"outcome": "crashed", "reason": f"{step}: {last[0]}"}
    line = next((x for x in errors.splitlines() if x.strip()), f"exit code {code}")
    return {"outcome": f"refused by {step}", "reason": line.removeprefix("error: ").strip()}


def diagnose(archive: Archive, work: Path, limit: float) -> dict[str, Any]:
    """What Satline makes of one archive."""
    recording = work / f"{archive.name.replace('/', '__')}.satline"
    shutil.rmtree(recording, ignore_errors=True)
    result: dict[str, Any] = {"archive": archive.name, "kind": archive.kind, "path": str(archive.path)}
    code, output, errors = run(["import", str(archive.path), "-o", str(recording), "--json"], limit)
    if code != 0:
        return result | failure("import", code, errors, limit)
    imported = json.loads(output)
    result |= {"readings": imported["readings"], "notes": imported["notes"], "damage": imported["damage"]}
    code, output, errors = run(["diagnose", str(recording), "--json"], limit)
    if code != 0:
        return result | failure("diagnose", code, errors, limit)
    answer = json.loads(output)
    return result | {"outcome": graded(answer), "answer": answer}


def graded(answer: dict[str, Any]) -> str:
    """What an answer is worth: a use or what was short, a bound without a capacity, or levels."""
    standing = answer["standing"] or {}
    if verdict(answer):
        return "answered"
    if any(row["kind"] != "level" for row in standing.get("carried", ())):
        return "bounds alone"
    return "levels alone" if standing.get("carried") or standing.get("known") else "without a verdict"


def verdict(answer: dict[str, Any]) -> bool:
    """Whether an answer says anything of the host: how full a resource was, a bound, or what was short."""
    standing = answer["standing"] or {}
    used = any(use["mean"] is not None or use["short"] > 0 for use in standing.get("uses", ()))
    curve = answer["saturation"]
    bound = curve["outcome"] in ("saturated", "not-saturated", "nongranular")
    return used or bound or curve["bend"] is not None or curve["carries"] is not None


def confident(answer: dict[str, Any]) -> list[str]:
    """Statements of an answer that claim a cause or a bend with a chance or strength of 0.8 or more."""
    found = []
    for finding in answer["findings"]:
        sure = max(finding["chance"] or 0.0, finding["strength"])
        if finding["component"] != "none" and sure >= SURE:
            found.append(f"{finding['title']} ({sure:.2f}): {finding['summary']}")
    for likely in (answer["standing"] or {}).get("likely", ()):
        if likely["chance"] >= SURE:
            found.append(f"{likely['resource']} short ({likely['chance']:.2f})")
    curve = answer["saturation"]
    if curve["outcome"] == "saturated":
        found.append(f"saturated at {curve['at']['value']:.3g} {curve['load_axis']}")
    elif (curve["chance"] or 0.0) >= SURE and curve["bend"] is not None:
        found.append(f"bend at {curve['bend']['value']:.3g} {curve['load_axis']} ({curve['chance']:.2f})")
    return found


def uses(answer: dict[str, Any]) -> str:
    """The utilisation of each resource that was recorded: mean and 95th percentile, in percent."""
    rows = (answer["standing"] or {}).get("uses", ())
    parts = [
        f"{use['resource']} {100 * use['mean']['value']:.2g}/{100 * use['high95']:.2g} %"
        for use in rows
        if use["mean"] is not None
    ]
    more = f", {len(parts) - 5} more" if len(parts) > 5 else ""
    return (", ".join(parts[:5]) + more) or "none"


def bounds(answer: dict[str, Any]) -> str:
    """What was bounded without a capacity: the first three."""
    rows = (answer["standing"] or {}).get("carried", ())
    parts = [f"{r['resource']} {r['kind']} {r['extreme']:.2g} {r['unit']} {r['what']}" for r in rows]
    more = f", {len(parts) - 3} more" if len(parts) > 3 else ""
    return (", ".join(parts[:3]) + more) or "none"


def holds(result: dict[str, Any]) -> str:
    """What an archive without an answer holds about a host; empty: not looked up."""
    if result["outcome"] in ANSWERED:
        return ""
    return held_about_host(result["kind"], Path(result["path"]))


def lines(result: dict[str, Any]) -> list[str]:
    """What a table row says of an archive, a fact a line."""
    words = [f"{result['archive']}  [{result['kind']}]"]
    if "answer" not in result:
        return [*words, f"    {result['outcome']}: {result['reason']}"]
    answer = result["answer"]
    standing = answer["standing"] or {}
    room = standing.get("headroom")
    words += [
        f"    {result['readings']} readings; {standing.get('state', 'no standing')}; {answer['headline']}",
        f"    used (mean/95th percentile): {uses(answer)}",
        f"    bounds: {bounds(answer)}",
        f"    headroom: {'unknown' if room is None else format(room['value'], '.2g') + ' ×'}",
        f"    next: {standing.get('next_step', '')}",
    ]
    return words


def reason_class(reason: str) -> str:
    """A reason without the name of the file and without its numbers, to be counted."""
    text = re.sub(r"^\S+:\s+|\S*/\S+:?\s*", "", reason)
    # What an archive holds is its own: the reason ends before it.
    text = re.split(r": it holds|; known: | \(|; ", text)[0]
    return re.sub(r"\d+", "N", text)


def summary(results: list[dict[str, Any]]) -> dict[str, Any]:
    """The counts of a whole run, and what a person should look at."""
    outcomes = Counter(result["outcome"] for result in results)
    answered = [r for r in results if "answer" in r]
    return {
        "archives": len(results),
        "kinds": dict(Counter(r["kind"] for r in results)),
        "outcomes": {name: outcomes[name] for name in OUTCOMES},
        "states": dict(Counter((r["answer"]["standing"] or {}).get("state") for r in answered)),
        "holds": dict(Counter(f"{r['outcome']}: {h}" for r in results if (h := r.get("holds")))),
        "no answer though it holds several readings": {
            r["archive"]: r.get("reason") or r["answer"]["headline"]
            for r in results
            if r.get("holds") == "several readings"
        },
        "refused": dict(Counter(reason_class(r["reason"]) for r in results if "reason" in r).most_common()),
        "without a verdict": [r["archive"] for r in results if r["outcome"] == "without a verdict"],
        "confident": {r["archive"]: c for r in answered if (c := confident(r["answer"]))},
    }


def show(total: dict[str, Any]) -> None:
    """The summary as text."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(total["kinds"].items()))
    print(f"\n{total['archives']} archives: {kinds}")
    for name, count in total["outcomes"].items():
        print(f"  {count:4}  {name}")
    print("  states: " + ", ".join(f"{count} {state}" for state, count in total["states"].items()))
    if total["refused"]:
        print("not answered, by reason:")
    for reason, count in total["refused"].items():
        print(f"  {count:4}  {reason}")
    if total["holds"]:
        print("without an answer, by what it holds about a host:")
    for held, count in sorted(total["holds"].items()):
        print(f"  {count:4}  {held}")
    for name, why in total["no answer though it holds several readings"].items():
        print(f"        {name}: {why}")
    if total["without a verdict"]:
        print(f"without a verdict: {', '.join(total['without a verdict'])}")
    print(f"confident statements, to be reviewed ({sum(map(len, total['confident'].values()))}):")
    for name, said in total["confident"].items():
        for one in said:
            print(f"  {name}: {one}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="directory with archives, at any depth")
    parser.add_argument("--out", type=Path, help="what was done is kept here; default: a temporary directory")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each command")
    parser.add_argument("--jobs", type=int, default=1, help="archives at the same time")
    parser.add_argument("--json", action="store_true", help="print as JSON")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    if not options.data.is_dir():
        print(f"error: {options.data}: no such directory", file=sys.stderr)
        return 2
    out = options.out or Path(tempfile.mkdtemp(prefix="satline-outside-"))
    done, work = out / "results", out / "recordings"
    for directory in (done, work):
        directory.mkdir(parents=True, exist_ok=True)

    def one(archive: Archive) -> dict[str, Any]:
        kept = done / f"{archive.name.replace('/', '__')}.json"
        if not kept.exists():
            part = kept.with_suffix(".part")
            result = diagnose(archive, work, options.limit)
            part.write_text(json.dumps(result | {"holds": holds(result)}))
            part.rename(kept)
        found: dict[str, Any] = json.loads(kept.read_text())
        return found

    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(one, archives(options.data, out / "unpacked")))
    total = summary(results)
    if options.json:
        print(json.dumps({"results": results, "summary": total}))
    else:
        for result in results:
            print("\n".join(lines(result)))
        show(total)
    answered = sum(total["outcomes"][name] for name in ANSWERED)
    to_answer = [r for r in results if r.get("holds") not in ("nothing", "single readings")]
    return 0 if to_answer and answered >= LEAST_VERDICTS * len(to_answer) else 1


if __name__ == "__main__":
    sys.exit(main())
