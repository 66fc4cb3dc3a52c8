"""The monitor as a child: told to end, and never left behind."""

from __future__ import annotations

import signal
import subprocess

STOP_TIMEOUT_S = 30.0


def end(monitor: subprocess.Popen[bytes]) -> None:
    """Ctrl-C is how a recording ends: the monitor is told that it is complete."""
    if monitor.poll() is None:
        monitor.terminate()
        try:
            monitor.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            monitor.kill()
            monitor.wait()


def end_with_parent() -> None:
    """In the child: SIGTERM when this process dies, so that no monitor stays behind."""
    import ctypes

    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, int(signal.SIGTERM))
