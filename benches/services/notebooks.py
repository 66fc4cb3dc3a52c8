"""Cells of notebooks: what the people at them waited for beside the rows that `--services` recorded.

    python benches/services/notebooks.py --jupyter BIN [--users 4] [--cells 40] [--seed 1] [--json]

Needs root, and a directory BIN with `jupyter-server` and a `python` that has jupyter_server, ipykernel and
websocket-client: they are none of Satline's own. It starts a Jupyter server, opens a kernel for each of the
users, has them execute cells that compute or sleep for a drawn time and print, and stamps when a cell was
sent, when its first message came back and when its reply came (`users.py` of this file, run by that Python).

A kernel's shell channel is a TCP connection that the Jupyter server keeps to it: the cell goes one way, its
reply comes back when it has ended. Told: of how many cells the shell's row is there, and its response beside
the user's. The rest are the rows of other channels and of the server's own port.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from run import recording

USER = r"""
import json, random, sys, time, uuid
import requests, websocket
base, token, cells, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
draw = random.Random(seed)
head = {"Authorization": f"token {token}"}
kernel = requests.post(f"http://{base}/api/kernels", headers=head, json={}, timeout=60).json()["id"]
line = websocket.create_connection(f"ws://{base}/api/kernels/{kernel}/channels", header=head, timeout=60)

def execute(code):
    name = uuid.uuid4().hex
    content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
    header = {"msg_id": name, "msg_type": "execute_request", "username": "", "session": "s", "version": "5.3"}
    sent = time.monotonic_ns()
    line.send(json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content,
                          "channel": "shell", "buffers": []}))
    first = replied = None
    idle = False
    while True:
        text = line.recv()
        now = time.monotonic_ns()
        message = json.loads(text)
        if message.get("parent_header", {}).get("msg_id") != name:
            continue
        first = first or now
        if message["msg_type"] == "execute_reply":
            replied = now
        idle = idle or (message["msg_type"] == "status" and message["content"]["execution_state"] == "idle")
        if idle and replied:
            return sent, first, replied

execute("import time")
print("ready", flush=True)
sys.stdin.readline()
for _ in range(cells):
    ms = draw.choice((0, 0, 5, 20, 100, 400))
    kind = draw.choice(("sleep", "compute"))
    code = f"time.sleep({ms / 1000})" if kind == "sleep" else (
        f"end = time.thread_time() + {ms / 1000}\nwhile time.thread_time() < end: pass")
    print(json.dumps([*execute(code + "\nprint('x')"), ms, kind]), flush=True)
    time.sleep(draw.expovariate(1 / 0.15))
requests.delete(f"http://{base}/api/kernels/{kernel}", headers=head, timeout=60)
"""
TOKEN = "bench"


def asked_by_users(bins: Path, port: int, users: int, cells: int, seed: int, place: Path) -> Any:
    """A function that has the users execute their cells; what each of them saw."""
    script = place / "users.py"
    script.write_text(USER)
    started = [
        subprocess.Popen(
            [bins / "python", script, f"127.0.0.1:{port}", TOKEN, str(cells), str(1000 * seed + n)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(users)
    ]
    for one in started:
        assert one.stdout is not None
        if one.stdout.readline().strip() != "ready":
            raise SystemExit("error: a user could not open its kernel\nhint: see what it said above")

    def go() -> list[list[Any]]:
        for one in started:
            assert one.stdin is not None
            one.stdin.write("\n")
            one.stdin.flush()
        seen = []
        for one in started:
            assert one.stdout is not None
            seen += [json.loads(text) for text in one.stdout]
            if one.wait():
                raise SystemExit("error: a user ended badly\nhint: see what it said above")
        return seen

    return go


def rows_of_cells(path: Path) -> dict[str, list[tuple[int, int]]]:
    """By class: when each request had come (monotonic, ns) and its response, µs."""
    from satline.recording import Recording

    connection = Recording.open(path).connect(tables=["transaction"])
    found = connection.execute(
        "SELECT class, monotonic_ns, response_us FROM transaction WHERE outcome = 'ok' ORDER BY monotonic_ns"
    ).fetchall()
    connection.close()
    classes: dict[str, list[tuple[int, int]]] = {}
    for name, at, response in found:
        classes.setdefault(name, []).append((at, response))
    return classes


def held(seen: list[list[Any]], classes: dict[str, list[tuple[int, int]]]) -> list[float | None]:
    """The user's response less the recorded one of a cell, ms; None: no row.

    Of a cell's rows, those that came within 50 ms of it, the one whose end is nearest to the reply is its
    shell's; a row counts once.
    """
    rows = [(at, response) for of in classes.values() for at, response in of]
    used: set[int] = set()
    found: list[float | None] = []
    for sent, _, replied, *_ in sorted(seen):
        near = [
            (abs(at + 1000 * response - replied), number)
            for number, (at, response) in enumerate(rows)
            if number not in used and -1_000_000 <= at - sent <= 50_000_000
        ]
        if not near or min(near)[0] > 50_000_000:
            found.append(None)
            continue
        number = min(near)[1]
        used.add(number)
        found.append((replied - sent) / 1e6 - rows[number][1] / 1e3)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jupyter", type=Path, required=True)
    parser.add_argument("--users", type=int, default=4)
    parser.add_argument("--cells", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", type=int, default=18_888)
    parser.add_argument("--json", action="store_true")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        server = subprocess.Popen(
            [
                *(said.jupyter / "jupyter-server", "--allow-root", "--no-browser", "--ip=127.0.0.1"),
                *(
                    f"--port={said.port}",
                    f"--IdentityProvider.token={TOKEN}",
                    f"--ServerApp.root_dir={place}",
                ),
                f"--ServerApp.root_dir={place}",
                "--ServerApp.log_level=ERROR",
            ],
            stderr=subprocess.DEVNULL,
        )
        try:
            time.sleep(5)
            with recording(place, "--interval", "500ms", "--command-names") as (path, _):
                go = asked_by_users(said.jupyter, said.port, said.users, said.cells, said.seed, place)
                seen = go()
                time.sleep(1)
            classes = rows_of_cells(path)
        finally:
            server.terminate()
            server.wait()
    differences = held(seen, classes)
    known = sorted(abs(value) for value in differences if value is not None)
    result = {
        "cells": len(seen),
        "not recorded": sum(value is None for value in differences),
        "response_ms": {
            "p50": statistics.median(known),
            "p99": known[min(len(known) - 1, int(0.99 * len(known)))],
            "max": known[-1],
        },
        "rows": {name: len(rows) for name, rows in sorted(classes.items())},
    }
    if said.json:
        print(json.dumps(result, indent=2))
        return
    times = result["response_ms"]
    print(f"{result['cells']} cells, {result['not recorded']} without a row")
    print(
        "response, the user's less the recorded one: "
        f"p50 {times['p50']:.2f}, p99 {times['p99']:.2f}, largest {times['max']:.2f} ms"
    )
    for name, count in result["rows"].items():
        print(f"  {name}: {count} rows")


if __name__ == "__main__":
    sys.exit(main())
