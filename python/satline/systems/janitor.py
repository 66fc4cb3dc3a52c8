"""The janitor: waits until the run ends, for whatever reason, and undoes what it made.

Usage: python -m satline.systems.janitor LEDGER < PIPE

The run holds the other end of the pipe. A line, or its end (also by kill -9), makes the janitor undo the
ledger; it then prints one JSON line, the list of what could not be undone, and ends with 0 when that is
empty. Standard library only.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from pathlib import Path

from satline.systems.ledger import Ledger
from satline.systems.undo import undo


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
