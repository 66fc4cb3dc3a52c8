"""Satline's own programs: where they are; as children that are told to end, and never left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from satline.errors import SatlineError

STOP_TIMEOUT_S = 30.0


def find_binary(
    name: str, environment: Mapping[str, str] = os.environ, executable: str = sys.executable
) -> Path:
    """The program `name` in $SATLINE_BIN_DIR, else beside the Python interpreter, else on the PATH.

    Raises
    ------
    SatlineError
        It is in none of them.
    """
    stated = environment.get("SATLINE_BIN_DIR")
    beside = [Path(stated)] if stated else [Path(executable).parent]
    for directory in beside:
        if os.access(directory / name, os.X_OK):
            return (directory / name).absolute()
    found = None if stated else shutil.which(name, path=environment.get("PATH"))
    if found is None:
        places = stated or f"{beside[0]} or on the PATH"
        raise SatlineError(
            f"the program {name} is not in {places}",
            hint="`pip install .` builds it; or build with cargo and set SATLINE_BIN_DIR=target/release",
        )
    return Path(found).absolute()


def message_and_hint(lines: Sequence[str]) -> tuple[str, str]:
    """What a program that failed wrote on standard error: what is wrong, and the first remedy, or empty."""
    hint = next((line.removeprefix("hint: ") for line in lines if line.startswith("hint: ")), "")
    message = "\n".join(line.removeprefix("error: ") for line in lines if not line.startswith("hint: "))
    return message, hint


def end(process: subprocess.Popen[bytes], timeout_s: float = STOP_TIMEOUT_S) -> None:
    """Have it finish, as a monitor its part of the recording; kill it when it does not."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def end_with_parent() -> Callable[[], None]:
    """For `preexec_fn`: SIGTERM when this process dies, so that no monitor stays behind.

    Call it in the thread that starts the child, and that lives as long as the child is to.
    """
    import ctypes

    pr_set_pdeathsig = 1
    parent = os.getpid()
    prctl = ctypes.CDLL(None).prctl

    def in_child() -> None:
        prctl(pr_set_pdeathsig, int(signal.SIGTERM))
        if os.getppid() != parent:  # it died before it was asked for
            os._exit(1)

    return in_child
