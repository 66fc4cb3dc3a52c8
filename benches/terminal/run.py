"""How exactly the terminal emulator times, and how many sessions one processor carries.

(a) Added timing error. A responder stamps when it writes each answer; the error is what the emulator
    recorded minus that. Beside it, in the same run, a bare loop of write, poll and read on one pty, for the
    same responder and for `cat`.
(b) Sessions on one core. Emulator and shells share one processor; each user thinks 10 s in the mean and
    types at 8 characters a second.
(c) What a transaction costs on each kind of line, paced and saturated, and 300 log-ons over SSH at once;
    pexpect, asyncssh and locust beside it, if installed.

Run: `python benches/terminal/run.py [--json FILE] [--sessions 300] [--only lines] [--kinds pty,tcp]`.
Build first: `cargo build --release -p satline-terminal --bins --examples`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import lines
import peers
from recorded import emulate, rows, spread, stamps

ROOT = Path(__file__).resolve().parents[2]

CAT = """
name = "cat"
shell = ["sh", "-c", "echo ready; exec cat"]
prompt = { pattern = '\\n' }
typing = { characters_per_second = 0 }
think = { distribution = "fixed", mean_seconds = 0.02 }
[[script]]
name = "cat"
[[script.command]]
class = "line"
input = "line {random:1:1000}"
"""

SESSIONS = """
name = "sessions"
typing = { characters_per_second = 8.0, variation = 0.3 }
think = { distribution = "exponential", mean_seconds = 10.0, minimum_seconds = 0.1, maximum_seconds = 60.0 }
[[script]]
name = "small"
[[script.command]]
class = "builtin"
input = "echo hello"
weight = 2
[[script.command]]
class = "program"
input = "ls /"
"""


def timing(release: Path, place: Path, seconds: int) -> dict[str, dict[str, float]]:
    """Part (a), us."""
    binary, examples = release / "satline-terminal", release / "examples"
    plan = ("--steps", "1", "--ramp", "0s", "--warmup", "1s", "--window", f"{seconds}s")
    count = str(seconds * 40)

    def bare(*program: str) -> list[tuple[int, int]]:
        command = [str(examples / "bare_loop"), count, "20", *program]
        return stamps(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    log = place / "bare.log"
    loop = bare(str(examples / "stamping_responder"), str(log))
    pairs = zip(loop, stamps(log.read_text()), strict=True)
    bare_error = [(read - true) / 1000 for (_, read), (_, true) in pairs]
    logs = place / "logs"
    logs.mkdir()
    shell = json.dumps([str(examples / "stamping_responder"), str(logs)])
    responder = CAT.replace('["sh", "-c", "echo ready; exec cat"]', shell)
    stamped = rows(emulate(binary, place, "stamped", responder, *plan), "transaction")
    answered = [row for row in stamped if row["outcome"] == "ok"]
    true_times = [written for _, written in stamps((logs / "user-001").read_text())]
    error = [
        (row["monotonic_ns"] - true) / 1000 + row["reaction_us"]
        for row, true in zip(answered, true_times, strict=False)
    ]
    cat_bare = [(read - written) / 1000 for written, read in bare("cat")]
    catted = rows(emulate(binary, place, "cat", CAT, *plan), "transaction")
    cat = [float(row["reaction_us"]) for row in catted if row["outcome"] == "ok"]
    return {
        "error of the emulator": spread(error),
        "error of the bare loop": spread(bare_error),
        "reaction of cat, emulator": spread(cat),
        "reaction of cat, bare loop": spread(cat_bare),
    }


def sessions(release: Path, place: Path, users: int, window: int, processor: int) -> dict[str, Any]:
    """Part (b)."""
    own = str(processor)
    ramp = max(30, users // 20)
    plan = ("--steps", str(users), "--ramp", f"{ramp}s", "--warmup", "15s", "--window", f"{window}s")
    plan += ("--max-users", str(users), "--logon-timeout", "120s")
    pinned = ("--processor", own, "--affinity", own)
    recording = emulate(release / "satline-terminal", place, "sessions", SESSIONS, *plan, *pinned)
    source = tomllib.loads((recording / "sources/terminal.toml").read_text())
    measured = [row for row in rows(recording, "transaction") if row["phase"] == "window"]
    share = source["cost"]["window_processor_share"]
    return {
        "sessions": users,
        "transactions": len(measured),
        "failures": sum(row["outcome"] != "ok" for row in measured),
        "processor_share": share,
        "cpu_us_per_transaction": share * window * 1e6 / max(1, len(measured)),
        "lateness_us": spread([float(row["lateness_us"]) for row in measured]),
        "reaction_us": spread([float(row["reaction_us"]) for row in measured if row["reaction_us"]]),
        "late": source["late"],
    }


def show(figures: dict[str, Any], options: argparse.Namespace) -> None:
    """All figures as text."""
    rows_of = [(name, values) for name, values in figures.get("timing_us", {}).items()]
    many = figures.get("sessions")
    if many:
        rows_of += [
            (f"{name}, {many['sessions']} sessions", many[f"{name}_us"]) for name in ("lateness", "reaction")
        ]
    if rows_of:
        print(f"{'us':<30}{'n':>8}{'p50':>10}{'p99':>10}{'max':>10}")
    for name, values in rows_of:
        text = "".join(f"{values[key]:>10.1f}" for key in ("p50", "p99", "max"))
        print(f"{name:<30}{values['n']:>8}{text}")
    if many:
        print(
            f"{many['sessions']} sessions on processor {options.processor}:"
            f" {many['transactions']} transactions in {options.window} s, {many['failures']} failures,"
            f" emulator {many['processor_share']:.1%} of it,"
            f" {many['cpu_us_per_transaction']:.0f} us of processor per transaction,"
            f" late: {'yes' if many['late'] else 'no'}"
        )
    if "lines" in figures:
        lines.show(figures["lines"], figures["peers"])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument(
        "--release", type=Path, default=ROOT / "target/release", help="where the programs are"
    )
    parser.add_argument("--seconds", type=int, default=15, help="length of each run of part (a)")
    parser.add_argument("--sessions", type=int, default=300)
    parser.add_argument("--window", type=int, default=60, help="measured seconds of part (b)")
    parser.add_argument("--processor", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--kinds", default=",".join(lines.KINDS), help="kinds of line of part (c)")
    parser.add_argument("--turns", type=int, default=lines.TURNS, help="turns of the pty and its floor")
    parser.add_argument("--only", choices=["timing", "sessions", "lines"], help="this part alone")
    options = parser.parse_args()
    parts = [options.only] if options.only else ["timing", "sessions", "lines"]
    figures: dict[str, Any] = {}
    failed = False
    with tempfile.TemporaryDirectory(prefix="satline-bench-") as directory:
        place = Path(directory)
        if "timing" in parts:
            figures["timing_us"] = timing(options.release, place, options.seconds)
        if "sessions" in parts:
            try:
                figures["sessions"] = sessions(
                    options.release, place, options.sessions, options.window, options.processor
                )
            except subprocess.CalledProcessError:
                # On a host that others fill, shells start too late: the other parts stand all the same.
                print(f"{options.sessions} sessions: not measured, see above", file=sys.stderr)
                failed = True
        if "lines" in parts:
            kinds = options.kinds.split(",")
            figures["lines"] = lines.lines(options.release, place, options.seconds, kinds, options.turns)
            figures["peers"] = peers.peers(options.release, place, options.seconds)
    show(figures, options)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
