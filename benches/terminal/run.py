"""How exactly the terminal emulator times, and how many sessions one processor carries.

(a) Added timing error. A responder stamps when it writes each answer; the error is what the emulator
    recorded minus that. Beside it, in the same run, a bare loop of write, poll and read on one pty, for the
    same responder and for `cat`.
(b) Sessions on one core. Emulator and shells share one processor; each user thinks 10 s in the mean and
    types at 8 characters a second.

Run: `python benches/terminal/run.py [--json FILE] [--sessions 300] [--window 60]`. Build first:
`cargo build --release -p satline-terminal --bins --examples`.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa

ROOT = Path(__file__).resolve().parents[2]
FRAME = struct.Struct("<4sII")

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


def rows(recording: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a table of a recording that has just been written."""
    found: list[dict[str, Any]] = []
    for path in sorted((recording / "segments" / table).glob("*.seg")):
        data, at, stream = path.read_bytes(), 0, b""
        while at + FRAME.size <= len(data):
            _, length, _ = FRAME.unpack_from(data, at)
            stream += data[at + FRAME.size : at + FRAME.size + length]
            at += FRAME.size + length
        reader = pa.ipc.open_stream(io.BytesIO(stream))
        while True:
            try:
                found += reader.read_next_batch().to_pylist()
            except (StopIteration, pa.ArrowInvalid):
                break
    return found


def spread(values: list[float]) -> dict[str, float]:
    """Count, median, 99th percentile and maximum."""
    ordered = sorted(values)
    return {
        "n": len(ordered),
        "p50": statistics.median(ordered),
        "p99": ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))],
        "max": ordered[-1],
    }


def emulate(binary: Path, place: Path, name: str, workload: str, *options: str) -> Path:
    """Runs a workload and gives its recording."""
    (place / f"{name}.toml").write_text(workload)
    recording = place / f"{name}.satline"
    command = [str(binary), "run", "--workload", str(place / f"{name}.toml"), "--recording", str(recording)]
    subprocess.run([*command, "--directory", str(place / f"{name}-users"), *options], check=True)
    return recording


def stamps(text: str) -> list[tuple[int, int]]:
    """Pairs of times, ns."""
    return [(int(first), int(second)) for first, second in (line.split() for line in text.splitlines())]


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
    plan = ("--steps", str(users), "--ramp", "30s", "--warmup", "15s", "--window", f"{window}s")
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
        "valid": source["valid"],
    }


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
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="satline-bench-") as directory:
        place = Path(directory)
        exact = timing(options.release, place, options.seconds)
        many = sessions(options.release, place, options.sessions, options.window, options.processor)
    print(f"{'us':<30}{'n':>8}{'p50':>10}{'p99':>10}{'max':>10}")
    for name, figures in [
        *exact.items(),
        ("lateness", many["lateness_us"]),
        ("reaction", many["reaction_us"]),
    ]:
        values = "".join(f"{figures[key]:>10.1f}" for key in ("p50", "p99", "max"))
        label = name if name in exact else f"{name}, {many['sessions']} sessions"
        print(f"{label:<30}{figures['n']:>8}{values}")
    print(
        f"{many['sessions']} sessions on processor {options.processor}: {many['transactions']} transactions"
        f" in {options.window} s, {many['failures']} failures, emulator {many['processor_share']:.1%} of it,"
        f" {many['cpu_us_per_transaction']:.0f} us of processor per transaction, valid: {many['valid']}"
    )
    if options.json:
        options.json.write_text(json.dumps({"timing_us": exact, "sessions": many}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
