"""The janitor: waits until the run ends, for whatever reason, and undoes what it made.

Usage: python -m satline.systems.janitor LEDGER < PIPE

The run holds the other end of the pipe (`JanitorProcess`). A line, or its end (also by kill -9), makes the
janitor undo the ledger; it then prints one JSON line, the list of what could not be undone, and ends with 0
when that is empty. Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from satline.outside import parse_json
from satline.systems.ledger import Ledger, ledgers, state_directory
from satline.systems.lock import noted_states
from satline.systems.undo import undo

FINISH_TIMEOUT_S = 180.0


def python_environment() -> dict[str, str]:
    """This environment, so that a child Python finds the same satline package."""
    package_root = str(Path(__file__).resolve().parents[2])
    rest = [
        path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != package_root
    ]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([package_root, *rest])}


@dataclass
class JanitorProcess:
    """A running janitor and the ledger it watches over."""

    ledger: Ledger
    process: subprocess.Popen[bytes]

    @classmethod
    def start(cls, run_id: str, state: Path | None = None) -> JanitorProcess:
        """A new ledger for this process, and a janitor in a session of its own that outlives it."""
        ledger = Ledger.create(state or state_directory(), run_id)
        environment = python_environment()
        environment.pop("SATLINE_RUN", None)  # or it would be one of those that an outer run's janitor kills
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "satline.systems.janitor", str(ledger.path.absolute())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=environment,
            start_new_session=True,
        )
        return cls(ledger, process)

    def finish(self) -> list[str]:
        """Have everything undone; returns what is left. Does it itself if the janitor has been killed."""
        try:
            answer, _ = self.process.communicate(b"\n", timeout=FINISH_TIMEOUT_S)
            problems = parse_json(answer)
            return [str(problem) for problem in problems]
        except (ValueError, BrokenPipeError):
            return undo(self.ledger)


def clean_stale(state: Path | None = None) -> tuple[list[str], list[str], list[str]]:
    """Undo the ledgers whose owners are dead, in `state`, or in all state directories that are known.

    Returns
    -------
    Runs that were undone, what could not be undone, and runs that still live.
    """
    undone, problems, living = [], [], []
    places = [state] if state is not None else list(dict.fromkeys([state_directory(), *noted_states()]))
    for ledger in (found for place in places for found in ledgers(place)):
        if ledger.owner_lives():
            living.append(ledger.path.stem)
            continue
        left = undo(ledger)
        if left:
            problems += left
        else:
            undone.append(ledger.path.stem)
    return undone, problems, living


def main(arguments: list[str]) -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    os.read(sys.stdin.fileno(), 1)
    problems = undo(Ledger(Path(arguments[0])))
    with contextlib.suppress(OSError):  # nobody is left to be told; the ledger stays and tells the next run
        os.write(sys.stdout.fileno(), json.dumps(problems).encode() + b"\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
