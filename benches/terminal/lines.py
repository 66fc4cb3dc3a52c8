"""What a transaction costs on each kind of line, and how exactly it is timed there.

A responder answers every line at once and stamps when. `paced`: 50 users who think 0.5 s; `saturated`: 8
users who do not think and whose prompt is believed at once: there a transaction is one write of some 9
characters. `typed`: as paced, but they type them at 8 a second, each a write of its own. The cost is the
processor time of the emulator, and of the `ssh` that carries its lines, in the measured window, divided by
the transactions in it; what sshd and responder use is not in it. `tls`, `https`: the responder is Python's,
and slower where it saturates. `ssh`: OpenSSH's client, a connection for each user; `ssh2`: libssh2 in the
emulator; `ssh-10`, `ssh2-10`: a connection for ten users; these run in turn at each pace. Beside the pty,
turn by turn with it, runs its floor: pseudo-terminals and epoll with nothing else; `x floor` is the median
of the ratios. Beside all, where they can be imported: pexpect, asyncssh and locust.
"""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from recorded import emulate, rows, spread, stamps
from secure_responder import certificate
from sshd import Sshd

WORKLOAD = """
name = "stamped"
prompt = {{ pattern = '\\n' }}
settle_seconds = {settle}
typing = {{ characters_per_second = {rate} }}
think = {{ distribution = "exponential", mean_seconds = {think} }}
{line}
[[script]]
name = "line"
[[script.command]]
class = "line"
input = "line {{random:1:1000}}"
"""

HTTP = """
name = "stamped"
think = {{ distribution = "exponential", mean_seconds = {think} }}
{line}
[[script]]
name = "line"
[[script.command]]
class = "line"
request = "GET /line/{{random:1:1000}}"
"""

SSH = ("ssh", "ssh2", "ssh-10", "ssh2-10")
TLS = ("tls", "https")
KINDS = ("pty", "tcp", "telnet", "http", *TLS, *SSH)
# Name, users, think time and quiet time, s, characters a second.
PACES = (
    ("one", 1, 0.02, 0.02, 0),
    ("paced", 50, 0.5, 0.02, 0),
    ("typed", 50, 0.5, 0.02, 8),
    ("saturated", 8, 0.0, 0, 0),
)
# Turns of the pty and its floor.
TURNS = 5


def _line(kind: str, responder: Path, logs: Path, port: str, sshd: Sshd | None) -> str:
    """The workload's keys for one kind of line."""
    shell = f"shell = {json.dumps([str(responder), str(logs)])}"
    if kind == "pty":
        return shell
    if sshd is not None:
        client = "libssh2" if kind.startswith("ssh2") else "ssh"
        return f"{shell}\n{sshd.line(10 if kind.endswith('-10') else 1, client)}"
    if kind == "http":
        return f'line = {{ to = "http://127.0.0.1:{port}" }}'
    if kind in TLS:
        to = f"{kind}:127.0.0.1:{port}" if kind == "tls" else f"https://127.0.0.1:{port}"
        return f"line = {{ to = {json.dumps(to)}, ca = {json.dumps(str(logs / '../certificate.pem'))} }}"
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


def lines(
    release: Path, place: Path, window: int, kinds: list[str], turns: int = TURNS
) -> dict[str, dict[str, Any]]:
    """By kind of line and pace: transactions a second, us of processor each, lateness, error (one user)."""
    found: dict[str, dict[str, Any]] = {}
    for kind in (kind for kind in kinds if kind not in SSH):
        for pace in PACES:
            _pace(release, place, window, kind, pace, None, found, turns)
    over_ssh = [kind for kind in kinds if kind in SSH]
    if over_ssh and Sshd.is_here():
        with Sshd(place / "sshd") as sshd:
            for pace, kind in itertools.product(PACES, over_ssh):
                _pace(release, place, window, kind, pace, sshd, found)
            for kind in over_ssh:
                found[f"{kind}-300 log-ons"] = _log_ons(release, place, kind, sshd)
    return found


def _pace(
    release: Path,
    place: Path,
    window: int,
    kind: str,
    pace: tuple[str, int, float, float, int],
    sshd: Sshd | None,
    found: dict[str, dict[str, Any]],
    count: int = TURNS,
) -> None:
    """Adds one kind of line at one pace, where there is one."""
    word, users, think, settle, rate = pace
    if rate and kind not in ("pty", *SSH):
        return
    name = f"{kind}-{word}"
    drawn = {"think": think, "settle": settle, "rate": rate}
    if kind != "pty" or rate or users == 1:
        found[name] = _one(release, place, window, (kind, name, users), drawn, sshd)
        return
    turns = []
    for turn in range(count):
        ours = _one(release, place, window, (kind, f"{name}-{turn}", users), drawn, sshd)
        turns.append((ours, _floor(release, place, window, users, think)))
    ratio = statistics.median(ours["cpu_us"] / floor["cpu_us"] for ours, floor in turns)
    found[name] = {**_medians([ours for ours, _ in turns]), "x_floor": ratio}
    found[f"floor-{word}"] = _medians([floor for _, floor in turns])


def _medians(turns: list[dict[str, Any]]) -> dict[str, Any]:
    """Of each figure that every turn has."""
    there = {key for key in turns[0] if all(turn[key] is not None for turn in turns)}
    return {key: statistics.median(turn[key] for turn in turns) for key in turns[0] if key in there}


def _floor(release: Path, place: Path, window: int, users: int, think: float) -> dict[str, Any]:
    """The same responders on pseudo-terminals that nothing but write, epoll and read drives."""
    programs = release / "examples"
    logs = place / f"floor-{users}-logs"
    logs.mkdir(exist_ok=True)
    plan = [str(users), str(think), str(window), str(logs), str(programs / "stamping_responder")]
    output = subprocess.run([str(programs / "pty_floor"), *plan], check=True, capture_output=True, text=True)
    figures: dict[str, Any] = json.loads(output.stdout)
    print(f"floor, {users} users: {figures['cpu_us']:.1f} us", file=sys.stderr, flush=True)
    return figures


def _one(
    release: Path,
    place: Path,
    window: int,
    what: tuple[str, str, int],
    drawn: dict[str, float],
    sshd: Sshd | None,
) -> dict[str, Any]:
    """One run of the emulator: a kind of line, the run's name, its users."""
    kind, name, users = what
    responder = release / "examples/stamping_responder"
    logs = place / f"{name}-logs"
    logs.mkdir()
    server = None
    port = ""
    if kind not in ("pty", *SSH):
        how = "http" if kind.startswith("http") else "listen"
        command = [str(responder), str(logs), how]
        if kind in TLS:
            secure = Path(__file__).with_name("secure_responder.py")
            command = [sys.executable, str(secure), *map(str, certificate(place)), str(logs), how]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        port = server.stdout.readline().strip()
    try:
        # A log-on over SSH costs some 0.1 s of processor on each side.
        ramp = users if sshd else 1
        plan = ("--steps", str(users), "--ramp", f"{ramp}s", "--warmup", "3s", "--window", f"{window}s")
        line = _line(kind, responder, logs, port, sshd)
        text = (HTTP if kind.startswith("http") else WORKLOAD).format(line=line, **drawn)
        recording = emulate(release / "satline-terminal", place, name, text, *plan)
    finally:
        if server is not None:
            server.kill()
            server.wait()
    transactions = rows(recording, "transaction")
    measured = [row for row in transactions if row["phase"] == "window"]
    source = tomllib.loads((recording / "sources/terminal.toml").read_text())
    share = source["cost"]["window_processor_share"]
    late = source.get("lateness", {})
    cost = share * window * 1e6 / max(1, len(measured))
    print(f"{name}: {cost:.1f} us of processor each", file=sys.stderr, flush=True)
    return {
        "per_second": len(measured) / window,
        "cpu_us": cost,
        "lateness_p50_us": late.get("p50_us"),
        "lateness_p99_us": late.get("p99_us"),
        "not_ok": sum(row["outcome"] not in ("ok", "cut") for row in measured),
        "error_us": _error(transactions, logs) if users == 1 else None,
    }


def _log_ons(release: Path, place: Path, kind: str, sshd: Sshd) -> dict[str, Any]:
    """300 users who log on over SSH at once, against sshd's own limits."""
    line = _line(kind, release / "examples/stamping_responder", Path("/dev/null"), "", sshd)
    text = WORKLOAD.format(think=60.0, settle=0.02, rate=0, line=line)
    wait = 75 if kind.endswith("-10") else 150
    plan = ("--steps", "300", "--ramp", "0s", "--warmup", f"{wait}s", "--window", "1s", "--drain", "0s")
    name = f"{kind}-log-ons"
    try:
        emulate(release / "satline-terminal", place, name, text, *plan, "--logon-timeout", f"{wait}s")
    except subprocess.CalledProcessError:
        print(f"{name}: see how many", file=sys.stderr)
    recording = place / f"{name}.satline"
    events = rows(recording, "event")
    on = [event["time_ns"] for event in events if event["event"] == "logged-on"]
    source = tomllib.loads((recording / "sources/terminal.toml").read_text())
    return {
        "log_ons": len(on),
        "refused": sum(event["event"] == "line-lost" for event in events),
        "seconds": (max(on) - events[0]["time_ns"]) / 1e9 if on else None,
        "cpu_ms_each": source["cost"]["cpu_us"] / 1000 / max(1, len(on)),
    }


def show(found: dict[str, dict[str, Any]], beside: dict[str, dict[str, Any] | None]) -> None:
    """A table of all of them."""
    names = ("per s", "us each", "x floor", "late p50", "late p99", "error p50", "error p99", "not ok")
    print(f"\n{'line, pace':<24}{''.join(f'{name:>10}' for name in names)}")

    def shown(value: float | None, digits: int = 0) -> str:
        return f"{'-' if value is None else format(value, f'.{digits}f'):>10}"

    for name, row in {**found, **beside}.items():
        if row is None:
            print(f"{name:<24}not installed, no peer")
        elif "log_ons" in row:
            print(
                f"{name:<24}{row['log_ons']} logged on within {row['seconds'] or 0:.0f} s, {row['refused']}"
                f" refused and tried again, {row['cpu_ms_each']:.0f} ms of processor each"
            )
        else:
            error = row.get("error_us") or {}
            figures = (row["per_second"], row["cpu_us"], row.get("x_floor"), row.get("lateness_p50_us"))
            figures += (row.get("lateness_p99_us"), error.get("p50"), error.get("p99"), row.get("not_ok"))
            print(f"{name:<24}" + "".join(map(shown, figures, (0, 1, 2, 0, 0, 1, 1, 0))))
