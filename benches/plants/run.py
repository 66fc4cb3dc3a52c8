"""Does `satline record` alone show a fault on a live host, and does `satline diagnose` name it?

    python benches/plants/run.py RESULTS [--seconds 600] [--seed 1] [--only quota,flock] [--rounds 3]
                                         [--thermometer trivial,io] [--collectors] [--again] [--json]
                                         [--rules] [--waits]

As root, on a Linux host with control groups of version 1. Plants one fault at a time (see plants.py), records
the host meanwhile, and keeps recording, truth and verdict below RESULTS. What is there already is not done
again: end it at any time (Ctrl-C, kill) and start it again. Two processors and 1 GB of disk suffice.
`--again` plants nothing: it diagnoses the recordings that are there with the code of today.
`--collectors` has sysstat, PCP and atop record at the same time (see collectors.py); the verdicts from their
archives are held against that of `satline record` (see foreign.py).

A verdict is

right     the first finding that names a component names one that the fault is in; with nothing planted, none
          is named but the processors, which other work on the host may well fill;
wrong     another component is given a chance or a strength of 0.8 or more;
undecided anything else;
void      the kernel's own count shows that the fault never took hold: there was nothing to name.

and "culprit" says whether the group, file, process or user is in that finding's words.

`--rules` adds the plants of more.py, one for each further rule that a live host can show, and prints by rule
whether it names its own plant (it holds, as a remark or not, and with the culprit in its words), and where it
holds though that is neither planted nor known to be true besides.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(Path(__file__).parent)]

import expected  # noqa: E402
import more  # noqa: E402
import plants  # noqa: E402
from collectors import Collectors  # noqa: E402
from foreign import SURE, compared, cpu_short, surety, verdicts  # noqa: E402

SPARE_S = 180.0
# Users have to reach their files: not below a directory that only its owner may enter.
SCRATCH = Path(tempfile.gettempdir()) / "satline-plants"
ALL = {**plants.PLANTS, **more.PLANTS}
REQUESTS = """\
[time]
column = "begin"
format = "unix_s"
[transaction]
time_is = "begin"
response_column = "duration"
unit = "ms"
user_column = "user"
"""


def stop(_number: int, _frame: FrameType | None) -> None:
    """A signal ends the run as Ctrl-C does, so that all is taken away."""
    raise KeyboardInterrupt


def record(
    name: str, seed: int, seconds: float, thermometer: str, beside: bool, place: Path, waits: bool = False
) -> None:
    """Plant one fault, record the host for so long, and take the fault away again.

    beside
        Whether other collectors record at the same time.
    waits
        Whether the kernel is to tell what users wait for.
    """
    scratch = SCRATCH
    plants.leftovers(scratch)
    if place.exists():
        shutil.rmtree(place)
    place.mkdir(parents=True)
    scratch.mkdir(mode=0o755)
    scratch.chmod(0o755)
    planted = plants.Planted(scratch, seconds + 2 * SPARE_S, seconds)
    recording: subprocess.Popen[bytes] | None = None
    others = Collectors()
    try:
        truth = ALL[name](planted, random.Random(f"{name} {seed}"))
        time.sleep(2)
        if beside:
            others.start(place, plants.end_with_parent)
        command = [sys.executable, "-m", "satline.cli", "record", str(place / "host.satline")]
        command += ["--duration", f"{seconds:g}s", "--delay-accounting", "--quiet", *truth.record]
        command += ["--waits"] if waits else []
        if thermometer:
            command += ["--thermometer", thermometer, "--thermometer-every", "10s"]
        before = truth.counter() if truth.counter is not None else 0
        with (place / "record.log").open("wb") as log:
            recording = subprocess.Popen(
                command, stdout=log, stderr=log, env=environment(), preexec_fn=plants.end_with_parent
            )
            if truth.beside is not None:
                begun(place / "host.satline", recording)
                truth.beside(place / "host.satline")
            status = recording.wait(seconds + SPARE_S)
        if status:
            raise RuntimeError(f"satline record ended with {status}: {(place / 'record.log').read_text()}")
        if planted.dead():
            raise RuntimeError(f"processes of the plant ended early: {planted.dead()}")
        if truth.requests:
            join_requests(scratch, place)
        gained = (truth.counter() - before) / seconds if truth.counter is not None else None
        kept = {
            "in_force": gained is None or gained >= truth.least,
            "counted_per_second": gained,
            "components": truth.components,
            "culprit": truth.culprit,
            "parameters": truth.parameters,
            "seconds": seconds,
            "seed": seed,
            "load_average": os.getloadavg(),
            "collectors_missing": others.without,
        }
        (place / "truth.json").write_text(json.dumps(kept, indent=1))
    finally:
        if recording is not None and recording.poll() is None:
            # Not SIGINT: whoever started this in the background may have had it ignored.
            recording.terminate()
        others.stop()
        planted.remove()
        if recording is not None:
            recording.wait(SPARE_S)


def begun(recording: Path, program: subprocess.Popen[bytes]) -> None:
    """Wait until a recording is there."""
    until = time.monotonic() + SPARE_S
    while not list(recording.glob("*.toml")) and program.poll() is None and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(1)


def join_requests(scratch: Path, place: Path) -> None:
    """Join the log that the plant's processes kept of their requests."""
    lines = [line for log in sorted(scratch.glob("requests-*.csv")) for line in log.read_text().splitlines()]
    (place / "requests.csv").write_text("\n".join(["begin,user,duration", *sorted(lines)]) + "\n")
    (place / "requests.toml").write_text(REQUESTS)
    command = [sys.executable, "-m", "satline.cli", "join", str(place / "host.satline")]
    command += [str(place / "requests.csv"), "--mapping", str(place / "requests.toml")]
    subprocess.run(command, check=True, capture_output=True, env=environment())


def environment() -> dict[str, str]:
    """The programs' environment: this source, and the installed binaries."""
    found = dict(os.environ)
    found["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python"), found.get("PYTHONPATH", "")]).rstrip(":")
    return found


def diagnose(place: Path) -> dict[str, Any]:
    """The verdict by the command line, kept beside the recording."""
    command = [sys.executable, "-m", "satline.cli", "diagnose", str(place / "host.satline"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    if done.returncode not in (0, 1) or not done.stdout.strip():
        raise RuntimeError(f"satline diagnose ended with {done.returncode}: {done.stderr}")
    (place / "verdict.json").write_text(done.stdout)
    verdict: dict[str, Any] = json.loads(done.stdout)
    return verdict


def judged(truth: dict[str, Any], verdict: dict[str, Any]) -> dict[str, Any]:
    """A verdict held against the truth."""
    named = [f for f in verdict["findings"] if f["component"] != "none"]
    likely = verdict["standing"]["likely"] if verdict.get("standing") else []
    right = set(truth["components"])
    # Other work may fill the processors of a host with nothing planted: that is then true.
    allowed = right | ({"processor", "supervisor"} if not right else set())
    sure = [
        f"{f['rule']} {surety(f):.2f}" for f in named if f["component"] not in allowed and surety(f) >= SURE
    ]
    same = {"storage": {"storage", "paging", "paging and io"}, "one processor": {"server", "processor"}}
    sure += [
        f"{one['component']} {one['chance']:.2f}"
        for one in likely
        if one["chance"] >= SURE and not (same.get(one["component"], {one["component"]}) & allowed)
    ]
    first = named[0] if named else None
    if not truth.get("in_force", True):
        outcome = "void"
    elif sure:
        outcome = "wrong"
    elif right:
        outcome = "right" if first is not None and first["component"] in right else "undecided"
    else:
        outcome = "right" if all(f["component"] in allowed for f in named) else "undecided"
    told = bool(
        right
        and first is not None
        and any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", first["summary"]) for word in truth["culprit"])
    )
    return {
        "outcome": outcome,
        "culprit": told,
        "sure_of_wrong": sure,
        "first": first and first["rule"],
        "chance": first and surety(first),
        "headline": verdict["headline"],
    }


def by_rule(name: str, truth: dict[str, Any], verdict: dict[str, Any]) -> dict[str, Any]:
    """What the rules say of a plant: its own, and those that hold with no reason."""
    own = expected.RULES[name]
    holding = {f["rule"]: f for f in verdict["findings"]}
    found = holding.get(own.name)
    also = dict(own.also)
    if cpu_short(verdict) >= 0.5:
        also.setdefault("cpu_bound", "the host's CPU was full, by whatever else it does")
    for rule, finding in holding.items():
        if _of_others(finding["summary"]):
            also.setdefault(rule, "of a group or a lock of other work on the host")
    wrong = set(holding) - {own.name} - set(also)
    state = next((f for f in verdict["others"] if f["rule"] == own.name), None)
    return {
        "rule": own.name,
        "named": None if not own.name else found is not None,
        "culprit_in_it": found is not None and _says(truth["culprit"], found["summary"]),
        "words": (found or state or {"summary": ""})["summary"],
        "besides": sorted(
            f"{rule} {surety(holding[rule]):.2f}: {also[rule]}"
            for rule in set(holding) & set(also) - {own.name}
        ),
        "unexpected": sorted(f"{rule} {surety(holding[rule]):.2f}" for rule in wrong),
    }


def _of_others(text: str) -> bool:
    """Is what these words name no plant's: a group, the file of a lock, or who waits or fills the CPU?"""
    if "user root waits for locks" in text or "work of user root that never rests" in text:
        return True
    named = re.findall(r"(?:group|lock \w+) (/[^\s,;]+)", text)
    return bool(named) and not any(plants.MARK in one or one.startswith(f"{SCRATCH}/") for one in named)


def _says(words: list[str], text: str) -> bool:
    return not words or any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) for word in words)


def show_rules(rows: list[dict[str, Any]]) -> None:
    """A table by rule: how often it named its own plant, and where it held without a reason."""
    print("\nby rule")
    for rule in dict.fromkeys(row["by_rule"]["rule"] for row in rows):
        own = [row for row in rows if row["by_rule"]["rule"] == rule and row["outcome"] != "void"]
        named = sum(bool(row["by_rule"]["named"]) for row in own)
        told = sum(bool(row["by_rule"]["culprit_in_it"]) for row in own)
        elsewhere = [
            f"{row['plant']}-{row['seed']} {text.split()[1]}"
            for row in rows
            for text in row["by_rule"]["unexpected"]
            if rule and text.split()[0] == rule
        ]
        text = f"named {named} of {len(own)}, culprit {told}" if rule else "nothing planted"
        print(f"{rule or '-':22} {text}; holds elsewhere: {', '.join(elsewhere) or '-'}")
    known = {row["by_rule"]["rule"] for row in rows}
    for row in rows:
        rest = [text for text in row["by_rule"]["unexpected"] if text.split()[0] not in known]
        if rest:
            print(f"{'':22} on {row['plant']}-{row['seed']}: {', '.join(rest)}")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("results", type=Path)
    options.add_argument("--seconds", type=float, default=600)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--only", default="")
    options.add_argument("--rules", action="store_true")
    options.add_argument("--thermometer", default="")
    options.add_argument("--collectors", action="store_true")
    options.add_argument("--waits", action="store_true", help="record with --waits")
    options.add_argument("--again", action="store_true")
    options.add_argument("--json", action="store_true")
    told = options.parse_args()
    names = told.only.split(",") if told.only else list(ALL if told.rules else plants.PLANTS)
    unknown = [name for name in names if name not in ALL]
    if unknown:
        options.error(f"no such plant: {', '.join(unknown)}; there are {', '.join(ALL)}")
    if not told.again and os.geteuid() != 0:
        options.error("control groups and users of their own need root")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    rows = []
    try:
        for seed in range(told.seed, told.seed + told.rounds):
            for name in names:
                place = told.results / f"{name}-{seed}"
                if not (place / "truth.json").exists():
                    if told.again:
                        continue
                    print(f"{time.strftime('%H:%M:%S')} {name}, seed {seed}", file=sys.stderr, flush=True)
                    record(name, seed, told.seconds, told.thermometer, told.collectors, place, told.waits)
                done = place / "verdict.json"
                verdict = diagnose(place) if told.again or not done.exists() else json.loads(done.read_text())
                truth = json.loads((place / "truth.json").read_text())
                others = verdicts(place, environment(), told.again)
                beside = {who: compared(truth, verdict, other) for who, other in others.items()}
                rows.append(
                    {
                        "plant": name,
                        "seed": seed,
                        **judged(truth, verdict),
                        "by_rule": by_rule(name, truth, verdict),
                        "archives": beside,
                    }
                )
    except KeyboardInterrupt:
        print("ended; start it again to go on", file=sys.stderr)
        return 130
    if told.json:
        print(json.dumps(rows, indent=1))
        return 0
    for row in rows:
        chance = "" if row["chance"] is None else f"{row['chance']:.2f}"
        print(
            f"{row['plant']:12} {row['seed']:3}  {row['outcome']:9} "
            f"{'culprit' if row['culprit'] else '-':7} {row['first'] or '-':18} {chance:4} "
            f"{'; '.join(row['sure_of_wrong'])}\n    {row['headline']}"
        )
        own = row["by_rule"]
        if told.rules:
            state = {None: "", True: "holds", False: "does not hold"}[own["named"]]
            print(f"    {own['rule'] or 'no rule'} {state}: {own['words']}")
            for what in ("besides", "unexpected"):
                if own[what]:
                    print(f"    {what}: {'; '.join(own[what])}")
        for who, other in row["archives"].items():
            print(f"    {who:8} {other['outcome']:7} {other['why']}")
    count = {
        kind: sum(row["outcome"] == kind for row in rows) for kind in ("right", "wrong", "undecided", "void")
    }
    print(", ".join(f"{kind} {n}" for kind, n in count.items()), f"of {len(rows)}")
    if told.rules:
        show_rules(rows)
    archives = Counter(other["outcome"] for row in rows for other in row["archives"].values())
    if archives:
        print("archives:", ", ".join(f"{kind} {n}" for kind, n in archives.most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
