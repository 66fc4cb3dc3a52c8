"""A program as a child (monitor, swapper): told to end, and never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable

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
