"""A program as a child (monitor, swapper): told to end, and never left behind."""

from __future__ import annotations

import signal
import subprocess

STOP_TIMEOUT_S = 30.0


def end(process: subprocess.Popen[bytes], timeout_s: float = STOP_TIMEOUT_S) -> None:
    """Have it finish its part of the recording; kill it when it does not."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def end_with_parent() -> None:
    """In the child: SIGTERM when this process dies, so that no monitor stays behind."""
    import ctypes

    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, int(signal.SIGTERM))
