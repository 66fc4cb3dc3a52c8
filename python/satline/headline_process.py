"""The present headline of a recording, in a process of its own that takes little from the host.

Usage: python -m satline.headline_process RECORDING

Prints one JSON line: ``{"headline": …}``, or ``{"error": …}`` where there is none. It runs at the lowest
priority on one processor, is the first to go when memory runs out, and ends with the process that started it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
from pathlib import Path

_SET_PARENT_DEATH_SIGNAL = 1


def be_small() -> None:
    """Take little from the host; what is refused stays as it was."""
    os.nice(19)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, int(signal.SIGKILL))


def headline(path: Path) -> dict[str, str]:
    """What `satline diagnose` says first of a recording, or why it says nothing."""
    try:
        from satline.diagnosis import diagnose
        from satline.recording import Recording
        from satline.reduction import reduce

        opened = Recording.open(path)
        return {"headline": diagnose(opened, reduce(opened)).headline}
    except Exception as error:  # whatever it is, the recording goes on
        return {"error": " ".join(str(error).split()) or type(error).__name__}


def main(arguments: list[str]) -> int:
    be_small()
    print(json.dumps(headline(Path(arguments[0]))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
