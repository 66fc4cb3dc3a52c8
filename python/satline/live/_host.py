"""The monitor on this host for a moment, its recording in a directory that goes with it."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from satline.errors import SatlineError

if TYPE_CHECKING:
    from satline.recording import Recording

INTERVAL_MS = 500
_START_S = 20.0


@contextlib.contextmanager
def sampled(users: str = "uid", seconds: float = 2.0, interval_ms: int = INTERVAL_MS) -> Iterator[Recording]:
    """A recording of this host that is being written while the block runs and has at least `seconds`.

    Raises
    ------
    SatlineError
        The monitor is not there, or ends by itself.
    """
    from satline.interruption import signals_held, signals_interrupt
    from satline.systems.binaries import end, end_with_parent, find_binary

    program = str(find_binary("satline-monitor"))
    directory = Path(tempfile.mkdtemp(prefix="satline-now-"))
    path, said = directory / "now.satline", directory / "said"
    command = [program, "--recording", str(path), "--interval", f"{interval_ms}ms", "--users", users]
    with signals_interrupt():
        monitor = None
        try:
            with said.open("wb") as errors:
                monitor = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stderr=errors,
                    start_new_session=True,
                    preexec_fn=end_with_parent(),
                )
            yield _opened(path, monitor, seconds, said)
        finally:
            with signals_held():
                if monitor is not None:
                    end(monitor)
                shutil.rmtree(directory, ignore_errors=True)


def _opened(path: Path, monitor: subprocess.Popen[bytes], seconds: float, said: Path) -> Recording:
    """The recording as soon as it holds `seconds`."""
    from satline.errors import InputError
    from satline.live._window import Window
    from satline.recording import Recording

    deadline = time.monotonic() + seconds + _START_S
    time.sleep(seconds)
    while time.monotonic() < deadline:
        if monitor.poll() is not None:
            why = said.read_text("utf-8", "replace").strip() or monitor.returncode
            raise SatlineError(f"the monitor ended by itself: {why}", hint="`satline record` shows more")
        with contextlib.suppress(InputError):
            recording = Recording.open(path)
            if Window.last(recording, seconds).seconds >= 0.9 * seconds:
                return recording
        time.sleep(0.1)
    raise SatlineError(
        "the monitor took no samples", hint="the host may be too busy; `satline record` shows more"
    )
