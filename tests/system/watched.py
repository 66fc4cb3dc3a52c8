"""Recordings by the monitor's programs in the kernel, for tests."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from satline.systems.binaries import find_binary

from .conftest import Satline, wait_for


def skip_unless_had(signal_name: str) -> None:
    """Skip the test, with the reason, where the monitor says that this cannot be had here."""
    said = subprocess.run(
        [find_binary("satline-monitor"), "--explain-sources"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    at = next(n for n, line in enumerate(said) if signal_name in line)
    if not said[at].startswith("+"):
        pytest.skip(f"{said[at + 1].strip()}; {said[at + 2].strip()}")


class Recorder:
    """A recording with these options in a block."""

    def __init__(self, satline: Satline, *words: str) -> None:
        self.satline = satline
        self.words = words

    def __enter__(self) -> Path:
        recording = self.satline.recording
        words = ["--interval", "200ms", "--quiet", *self.words]
        self.process = self.satline.start("record", str(recording), *words)
        # With the first sample all is attached.
        wait_for(lambda: list(recording.glob("segments/system/*")), "the first sample")
        return recording

    def __exit__(self, *_: object) -> None:
        time.sleep(0.5)
        self.process.send_signal(signal.SIGINT)
        output, _ = self.process.communicate(timeout=600)
        assert self.process.returncode == 0, output
