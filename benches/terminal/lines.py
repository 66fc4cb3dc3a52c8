"""What a transaction costs on each kind of line, and how exactly it is timed there.

A responder answers every line at once and stamps when. `paced`: 50 users who think 0.5 s; `saturated`: 8
users who do not think and whose prompt is believed at once. The cost is the emulator's own processor time in
the measured window, divided by the transactions in it. Beside it, where pexpect can be imported, one pexpect
session on the same responder, as fast as it goes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

from recorded import emulate, rows, spread, stamps

WORKLOAD = """
name = "stamped"
prompt = {{ pattern = '\\n' }}
settle_seconds = {settle}
typing = {{ characters_per_second = 0 }}
think = {{ distribution = "exponential", mean_seconds = {think} }}
{line}
[[script]]
name = "line"
[[script.command]]
class = "line"
input = "line {{random:1:1000}}"
"""


def _line(kind: str, responder: Path, logs: Path, port: str) -> str:
    """The workload's keys for one kind of line."""
    if kind == "pty":
        return f"shell = {json.dumps([str(responder), str(logs)])}"
    return f'line = {{ to = "{kind}:127.0.0.1:{port}", line_end = "lf" }}'


def _error(transactions: list[dict[str, Any]], logs: Path) -> dict[str, float]:
    """Recorded time of the first character minus the responder's own, us, of whichever user left a log."""
    first = min(logs.iterdir(), key=lambda path: path.name)
    true = [written for _, written in stamps(first.read_text())]
    # Connections are numbered as they come, users as they are dealt: only a run of one user can be matched.
    seen = [row for row in transactions if row["class"] == "line"]
    return spread(
        [(row["monotonic_ns"] - at) / 1000 + row["reaction_us"] for row, at in zip(seen, true, strict=False)]
    )


def lines(release: Path, place: Path, window: int) -> dict[str, dict[str, Any]]:
    """By kind of line and pace: transactions a second, us of processor each, lateness, error (one user)."""
    responder = release / "examples/stamping_responder"
    found: dict[str, dict[str, Any]] = {}
    for kind in ("pty", "tcp", "telnet"):
        for pace, users, think, settle in (
            ("one", 1, 0.02, 0.02),
            ("paced", 50, 0.5, 0.02),
            ("saturated", 8, 0.0, 0),
        ):
            name = f"{kind}-{pace}"
            logs = place / f"{name}-logs"
            logs.mkdir()
            server = None
            port = ""
            if kind != "pty":
                command = [str(responder), str(logs), "listen"]
                server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
                assert server.stdout is not None
                port = server.stdout.readline().strip()
            try:
                plan = ("--steps", str(users), "--ramp", "1s", "--warmup", "1s", "--window", f"{window}s")
                text = WORKLOAD.format(think=think, settle=settle, line=_line(kind, responder, logs, port))
                recording = emulate(release / "satline-terminal", place, name, text, *plan)
            finally:
                if server is not None:
                    server.kill()
                    server.wait()
            transactions = rows(recording, "transaction")
            measured = [row for row in transactions if row["phase"] == "window"]
            source = tomllib.loads((recording / "sources/terminal.toml").read_text())
            share = source["cost"]["window_processor_share"]
            found[name] = {
                "per_second": len(measured) / window,
                "cpu_us": share * window * 1e6 / max(1, len(measured)),
                "lateness_p99_us": source.get("lateness", {}).get("p99_us"),
                "not_ok": sum(row["outcome"] not in ("ok", "cut") for row in measured),
                "error_us": _error(transactions, logs) if users == 1 else None,
            }
    return found


def peer(release: Path, place: Path, seconds: int) -> dict[str, Any] | None:
    """The same responder on a pty, driven by pexpect; ``None``: it cannot be imported."""
    try:
        import pexpect
    except ImportError:
        return None
    log = place / "pexpect.log"
    child = pexpect.spawn(str(release / "examples/stamping_responder"), [str(log)], echo=False)
    child.delaybeforesend = None
    child.expect("ready\r\n")
    read: list[int] = []
    began, cpu = time.monotonic(), time.process_time()
    while time.monotonic() - began < seconds:
        child.sendline(f"line {len(read)}")
        child.expect("answer [0-9]+\r\n")
        read.append(time.monotonic_ns())
    cpu = time.process_time() - cpu
    child.close(force=True)
    true = [written for _, written in stamps(log.read_text())]
    error = spread([(at - written) / 1000 for at, written in zip(read, true, strict=False)])
    return {
        "per_second": len(read) / seconds,
        "cpu_us": cpu * 1e6 / len(read),
        "error_us": error,
        "version": pexpect.__version__,
        "python": sys.version.split()[0],
    }


def show(found: dict[str, dict[str, Any]], beside: dict[str, Any] | None) -> None:
    """A table of all of them."""
    head = [f"{name:>10}" for name in ("per s", "us each", "late p99", "error p50", "error p99", "not ok")]
    print(f"\n{'line, pace':<20}{''.join(head)}")
    for name, row in found.items():
        error = row["error_us"]
        timed = f"{error['p50']:>10.1f}{error['p99']:>10.1f}" if error else f"{'':>20}"
        late = row["lateness_p99_us"]
        print(
            f"{name:<20}{row['per_second']:>10.0f}{row['cpu_us']:>10.1f}"
            f"{late if late is not None else '-':>10}{timed}{row['not_ok']:>10}"
        )
    if beside is None:
        print("pexpect: not installed, no peer")
    else:
        error = beside["error_us"]
        print(
            f"{'pexpect saturated':<20}{beside['per_second']:>10.0f}{beside['cpu_us']:>10.1f}{'-':>10}"
            f"{error['p50']:>10.1f}{error['p99']:>10.1f}"
        )
