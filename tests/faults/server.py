"""Runs commands, each in a fork of this process, which has everything loaded: JSON lines in, exit codes out.

Under the shim (LD_PRELOAD), so that a fault comes to the child alone.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parent))

import duckdb  # noqa: F401  (loaded once)
import pyarrow.parquet  # noqa: F401
from work import TASKS

from satline.cli import commands, run
from satline.recording import Recording, compact, seal  # noqa: F401


@commands.command("work", hidden=True)
@click.argument("task", type=click.Choice(list(TASKS)))
@click.argument("recording", type=click.Path(path_type=Path))
def work(task: str, recording: Path) -> None:
    """A task of work.py, with the errors of a command."""
    TASKS[task](recording)


def child(job: dict[str, str]) -> int:
    """Run one job in this process."""
    shim = ctypes.CDLL(None)
    shim.satline_shim_fault.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    code = 99
    try:
        output = os.open(job["said"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        shim.satline_shim_fault(job["fault"].encode(), job["told"].encode())
        code = run(job["words"])
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        shim.satline_shim_count()
    return code


def wait(pid: int, seconds: float) -> int | None:
    """The exit code of a child; None: it hangs, and was killed."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.003)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def main() -> None:
    """Serve until standard input ends."""
    answers = os.dup(1)
    for line in sys.stdin:
        job = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os._exit(child(job))
        os.write(answers, f"{json.dumps(wait(pid, job['seconds']))}\n".encode())


if __name__ == "__main__":
    main()
