"""Processor time of the swapper that watches users who do nothing, against the same one that watches nobody.

    python benches/swapper/idle.py [--users 0,50,200] [--seconds 60] [--heartbeat 1.0] [--json FILE]

Each user is a process that wakes for a moment every heartbeat, as idle kernels of notebooks do. The policy is
the default one. Nothing is swapped: this is what watching alone costs. Build first: make setup.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from resume import cpu_ms

from satline.swapper import read_status
from satline.systems.binaries import find_binary

IDLE = "import sys, time\nwhile True:\n    time.sleep(float(sys.argv[1]))"
POLICY = '[[watch]]\npid_file = "{list}"\ninteractive = true\n'
# Users are known, have left the queue and are recorded.
SETTLE_S = 20.0


@contextlib.contextmanager
def users(number: int, heartbeat: str, file: Path) -> Iterator[None]:
    command = [sys.executable, "-I", "-S", "-c", IDLE, heartbeat]
    processes = [subprocess.Popen(command) for _ in range(number)]
    try:
        lines = (f"{process.pid}\tuser-{place}\n" for place, process in enumerate(processes))
        file.write_text("".join(lines))
        yield
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


def measure(number: int, options: argparse.Namespace, directory: Path) -> dict[str, float]:
    """Share of one processor, and users who were seen idle."""
    listed, policy, status = directory / "users", directory / "policy.toml", directory / "status.json"
    listed.touch()
    policy.write_text(POLICY.format(list=listed))
    command = [find_binary("satline-swapper"), "run", "--policy", policy, "--status", status]
    with users(number, options.heartbeat, listed):
        daemon = subprocess.Popen([str(word) for word in command], stderr=subprocess.DEVNULL)
        try:
            time.sleep(SETTLE_S)
            before, began = cpu_ms(daemon.pid), time.monotonic()
            time.sleep(options.seconds)
            spent, passed = cpu_ms(daemon.pid) - before, time.monotonic() - began
            idle = sum(user.state == "idle" for user in read_status(status).users)
        finally:
            daemon.terminate()
            daemon.wait()
    if idle < number:
        raise SystemExit(f"only {idle} of {number} users were seen idle")
    return {
        "users": number,
        "share": spent / 1e3 / passed,
        "us_per_user_s": spent * 1e3 / passed / max(number, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--users", default="0,50,200")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--heartbeat", default="1.0", help="seconds")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("needs root, or the capabilities of the swapper")
    found = []
    for number in map(int, options.users.split(",")):
        with tempfile.TemporaryDirectory() as directory:
            one = measure(number, options, Path(directory))
        print(f"{number} users: {one['share']:.2%} of one processor", flush=True)
        found.append(one)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
