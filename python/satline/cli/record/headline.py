"""What can be said already while recording: the headline after 5 minutes, then at growing intervals."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

from satline.outside import parse_json

FIRST_AFTER_S = 300.0
LONGEST_ERROR = 200


class Headlines:
    """Asks for a recording's headline 5, 10, 20, 40, … minutes after its beginning.

    Each is worked out by a process of its own (`satline.headline_process`). It may fail, hang or be killed:
    then there is no headline, and nothing else happens.

    Parameters
    ----------
    recording
        The recording, which is being written.
    first_after_s
        When the first is asked for; the next ones at twice the time of the last.
    """

    def __init__(self, recording: Path, first_after_s: float = FIRST_AFTER_S) -> None:
        self._recording = recording
        self._due_s = first_after_s
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None

    def poll(self, seconds: float) -> str | None:
        """A new headline, if there is one `seconds` after the beginning; starts the next when it is due."""
        answer = None
        if self._process is not None and self._process.poll() is not None:
            answer = self._take()
        if seconds >= self._due_s:
            while self._due_s <= seconds:
                self._due_s *= 2
            if self._process is None:  # one that still works is not hurried
                self.start()
        return answer

    def start(self) -> None:
        """Begin to work it out."""
        from satline.systems.janitor import python_environment

        # A file: nobody reads a pipe between two looks, and a full one would hold the process up.
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 (closed by _take)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "satline.headline_process", str(self._recording.absolute())],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.DEVNULL,
                env={**python_environment(), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
                start_new_session=True,
            )
        except OSError:  # no more processes or memory: the recording matters more
            self._output.close()

    def wait(self) -> str | None:
        """The headline that was begun, when it is worked out; ``None``: none was."""
        if self._process is None:
            return None
        self._process.wait()
        return self._take()

    def stop(self) -> None:
        """End what is being worked out."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._take()

    def _take(self) -> str:
        assert self._process is not None
        assert self._output is not None
        status, self._process = self._process.returncode, None
        with self._output as output:
            output.seek(0)
            try:
                answer = parse_json(output.read())
            except ValueError:
                answer = {"error": f"the process that works it out ended with {status}"}
        if "headline" in answer:
            return str(answer["headline"])
        return f"no answer yet: {str(answer.get('error', ''))[:LONGEST_ERROR]}"
