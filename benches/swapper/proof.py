"""All measurements of docs/validation/swapper.md, and their tables in that page.

    python benches/swapper/proof.py --out DIR [--page FILE]
                                    [--parts resume,users,idle,factors,devices,fit,advised,read-ahead]

A part whose results are in DIR is not measured again. Needs root, a quiet host and six hours.
Each table of the page stands between `<!-- figures NAME -->` and `<!-- end -->`; others stay as they are.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from costs import HEADS, costs

from satline.errors import InputError
from satline.recording import describe
from satline.stats import t_quantile

HERE = Path(__file__).parent
STUDIES = HERE.parents[1] / "studies"
# Above this share of time in which tasks wait for a processor the host is not quiet.
QUIET = 0.05


def satline(*words: str) -> list[str]:
    return [sys.executable, "-c", "from satline.cli import main; main()", *words]


# As by `swapon --discard=pages`, and more than half of the area used by the user's 150 MB.
ADVISED = ("--discard", "--swap-bytes", "240000000", "--kinds", "disk,network,rotating")


def resume(out: Path, *words: str) -> list[list[str]]:
    command = [sys.executable, str(HERE / "resume.py"), "--repeats", "7", "--json", str(out / "result.json")]
    return [[*command, "--keep", str(out), *words]]


# Series of users: between two of one arm there is more than the intervals within each can tell.
SERIES = 3
ARMS = {"swapper-users-off": "kernel", "swapper-users": "swapper"}


def users(out: Path) -> list[list[str]]:
    commands = []
    for number in range(1, SERIES + 1):
        # In turn, so that what the host does in an hour comes to both.
        for arm in list(ARMS)[:: 1 if number % 2 else -1]:
            recording = out / f"{arm}-{number}"
            if not is_complete(recording):
                words = ("--seed", str(number), "--out", str(recording))
                commands.append(satline("study", str(STUDIES / f"{arm}.toml"), *words))
    return commands


def is_complete(recording: Path) -> bool:
    try:
        return bool(describe.read(recording)["recording"].get("end_reason") == "complete")
    except InputError:
        return False


def study(name: str) -> Callable[[Path], list[list[str]]]:
    """The commands of a part that is one shipped study."""
    return lambda out: [satline("study", str(STUDIES / f"{name}.toml"), "--out", str(out / "study"))]


def idle(out: Path) -> list[list[str]]:
    return [[sys.executable, str(HERE / "idle.py"), "--json", str(out / "result.json")]]


PARTS: dict[str, Callable[[Path], list[list[str]]]] = {
    "resume": resume,
    "users": users,
    "idle": idle,
    "factors": study("swapper-factors"),
    "devices": study("swapper-resume"),
    "fit": study("swapper-fit"),
    "advised": lambda out: resume(out, *ADVISED),
    "read-ahead": lambda out: resume(out, "--page-cluster", "0"),
}


def resume_table(out: Path) -> str:
    from resume import Round, median_of, shown

    told = json.loads((out / "result.json").read_text())
    lines = [
        "| device | arm | resume ms | interval | reads | MB read | settled ms | out | others' work | n |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    kernel: dict[str, float] = {}
    for one in told["measured"]:
        rounds = [Round(**values) for values in one["rounds"]]
        row = shown(one["device"], one["arm"], rounds)
        if one["arm"] == "kernel":
            kernel[one["device"]] = median_of(rounds)
        elif one["device"] in kernel:
            row = row.replace(
                "| swapper |", f"| swapper, {kernel[one['device']] / median_of(rounds):.1f} × |"
            )
        lines.append(row)
    return "\n".join(lines)


def header(*heads: str) -> list[str]:
    return [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]


def users_table(out: Path) -> str:
    """Users carried by each series that is there, the arms' ratio over all, and the steps of the last.

    log ratio of a series' arms = mean + residual; the interval is Student's.
    """
    lines = header("arm", "users", "reactions", "within 2 s", "median s", "90 % s")
    dear = header("arm", "users", *HEADS)
    carried: dict[str, list[float]] = {name: [] for name in ARMS.values()}
    series = header("series", "arm", "users carried", "interval")
    numbers = [n for n in range(1, SERIES + 1) if all(is_complete(out / f"{arm}-{n}") for arm in ARMS)]
    for number in numbers:
        for arm, name in ARMS.items():
            command = satline("capacity", str(out / f"{arm}-{number}"), "--json")
            told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            carried[name].append(told["users"])
            middle, low, high = (f"{told[key]:.1f}" if told[key] else "–" for key in ("users", "low", "high"))
            series.append(f"| {number} | {name} | {middle} | {low} to {high} |")
            if number < numbers[-1]:
                continue
            for step in told["steps"]:
                middle, most = (
                    f"{step[key]:.2f}" if step[key] is not None else "–" for key in ("median_s", "p90_s")
                )
                cells = [name, step["users"], step["reactions"], f"{step['within']:.0%}", middle, most]
                lines.append(f"| {' | '.join(map(str, cells))} |")
            for users, one in costs(out / f"{arm}-{number}").items():
                dear.append(f"| {' | '.join((name, str(users), *one.cells()))} |")
    steps = [f"The steps of series {numbers[-1]}:", "", *lines]
    words = ratio_words(list(zip(carried["kernel"], carried["swapper"], strict=True)))
    return "\n".join([words, "", *series, "", *steps, "", "What they cost (± standard errors):", "", *dear])


def ratio_words(pairs: list[tuple[float | None, float | None]]) -> str:
    logs = [math.log(on / off) for off, on in pairs if on is not None and off is not None]
    if not logs:
        return "In no series do both arms cross the bound."
    middle = statistics.mean(logs)
    said = f"The swapper carries {math.exp(middle):.2f} times as many"
    if len(logs) == 1:
        return f"{said}, by one series of each arm."
    half = t_quantile(0.95, len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    interval = f"[{math.exp(middle - half):.2f}, {math.exp(middle + half):.2f}]"
    return f"{said} {interval}, by {len(logs)} series of each arm."


def devices_table(out: Path) -> str:
    """The mean reaction of each device's runs, both arms, and their ratio.

    log reaction = device × swapper + residual [Jain]; the ratios' intervals are by the residual of all cells
    and Student's t, Šidák's for all devices together.
    """
    rows = list(csv.DictReader((out / "study/results.csv").read_text().splitlines()))
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in (row for row in rows if row["class"] == "all"):
        found.setdefault((row["device"], row["swapper"]), []).append(row)
    logs = {cell: [math.log(float(row["reaction_s"])) for row in rows] for cell, rows in found.items()}
    free = sum(len(values) - 1 for values in logs.values())
    squares = sum((v - statistics.mean(values)) ** 2 for values in logs.values() for v in values)
    named = list(dict.fromkeys(device for device, _ in logs))
    heads = ("device", "arm", "runs", "reactions", "mean s", "90 % s", "within 2 s", "sooner")
    lines, dear = header(*heads), header("device", "arm", *HEADS)
    for device in named:
        off, on = logs[device, "false"], logs[device, "true"]
        half = t_quantile(0.95 ** (1 / len(named)), free) * math.sqrt(
            squares / free * (1 / len(off) + 1 / len(on))
        )
        gain = statistics.mean(off) - statistics.mean(on)
        low, middle, high = (math.exp(gain + d) for d in (-half, 0.0, half))
        for arm, name, ratio in (
            ("false", "kernel", ""),
            ("true", "swapper", f"{middle:.2f} × [{low:.2f}, {high:.2f}]"),
        ):
            runs = found[device, arm]
            cells = [device, name, str(len(runs)), str(sum(int(row["interactions"]) for row in runs))]
            cells.append(f"{math.exp(statistics.mean(logs[device, arm])):.2f}")
            cells.append(f"{statistics.mean(float(row['reaction_p90_s']) for row in runs):.2f}")
            cells.append(f"{statistics.mean(float(row['satisfaction']) for row in runs):.0%}")
            lines.append(f"| {' | '.join((*cells, ratio))} |")
            for row in runs:
                one = costs(out / "study/runs" / row["recording"])[int(row["users"])]
                dear.append(f"| {' | '.join((device, name, *one.cells()))} |")
    return "\n".join([*lines, "", "What each run cost (± standard errors):", "", *dear])


def idle_table(out: Path) -> str:
    lines = ["| users | of one processor | µs a user and second |", "|---|---|---|"]
    for one in json.loads((out / "result.json").read_text()):
        each = f"{one['us_per_user_s']:.0f}" if one["users"] else "–"
        lines.append(f"| {one['users']} | {one['share']:.2%} | {each} |")
    return "\n".join(lines)


def factors_table(out: Path) -> str:
    results = out / "study/results.csv"
    names = "order,sets at once,set pages,page cluster"
    words = ("--factors", names, "--transform", "log", "--lenth")
    command = satline("anova", str(results), "--response", "reaction_s", *words)
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return f"```\n{text.rstrip()}\n```"


TABLES = {
    "resume": resume_table,
    "users": users_table,
    "idle": idle_table,
    "factors": factors_table,
    "devices": devices_table,
    "fit": devices_table,
    "advised": resume_table,
    "read-ahead": resume_table,
}


def put_tables(page: Path, out: Path) -> None:
    text = page.read_text()
    for name, table in TABLES.items():
        if not (out / name / "measured").exists():
            continue
        when = (out / name / "measured").read_text().strip()
        block = f"<!-- figures {name} -->\n{when}\n\n{table(out / name)}\n<!-- end -->"
        text = re.sub(rf"<!-- figures {name} -->.*?<!-- end -->", lambda _, new=block: new, text, flags=re.S)
    page.write_text(text)


def processor_wait() -> float | None:
    """Share of the last minute in which tasks waited for a processor; ``None``: the kernel does not tell."""
    try:
        found = re.search(r"avg60=([0-9.]+)", Path("/proc/pressure/cpu").read_text())
    except OSError:
        return None
    return float(found[1]) / 100 if found else None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    for name in options.parts.split(","):
        out = options.out / name
        if (out / "measured").exists():
            continue
        out.mkdir(parents=True, exist_ok=True)
        wait = processor_wait()
        state = (
            "the kernel does not tell how busy the host was"
            if wait is None
            else (
                f"the host was {'quiet' if wait < QUIET else 'NOT quiet'} before: "
                f"some task waited for a processor for {wait:.0%} of the last minute"
            )
        )
        print(f"{name}: {state}", flush=True)
        for command in PARTS[name](out):
            subprocess.run(command, check=True)
        (out / "measured").write_text(f"Measured {datetime.now():%Y-%m-%d}; {state}.\n")
    if options.page:
        put_tables(options.page, options.out)


if __name__ == "__main__":
    main()
