"""One shell in a guest for many commands: a session for each would cost an emulated processor much."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from satline.errors import SatlineError
from satline.systems.remote.connection import Connection

_END = b"\x00end "


class Shell:
    """A shell that is started with the first command, and anew after one that took too long.

    Parameters
    ----------
    log
        Where its standard error goes.
    """

    def __init__(self, connection: Connection, log: Path) -> None:
        self._connection, self._log = connection, log
        self._there: subprocess.Popen[bytes] | None = None

    def run(self, command: str, timeout_s: float) -> bytes:
        """What a command prints; each has a shell of its own below this one.

        Raises
        ------
        SatlineError
            It failed, or took too long; with what it said.
        """
        there = self._there or self._connection.start("exec bash", self._log)
        self._there = there
        assert there.stdin is not None
        said, told = self._log.stat().st_size, b""
        try:
            there.stdin.write(f"(\n{command}\n) </dev/null\nprintf '\\0end %s\\n' $?\n".encode())
            there.stdin.flush()
            for part in _parts(there, time.monotonic() + timeout_s):
                told += part
                text, found, status = told.rpartition(_END)
                if found and status.endswith(b"\n"):
                    break
            else:
                raise SatlineError(f"the guest's shell has ended at: {command}\n{self._said(said)}")
        except TimeoutError:
            self.close()
            raise SatlineError(f"not done after {timeout_s:.0f} s: {command}") from None
        except BaseException:
            self.close()
            raise
        if int(status):
            raise SatlineError(f"exit code {int(status)}: {command}\n{self._said(said)}")
        return text

    def _said(self, begin: int) -> str:
        return self._log.read_bytes()[begin:].decode(errors="replace").strip()

    def close(self) -> None:
        """End it; what it has started in the background stays."""
        there, self._there = self._there, None
        if there is not None:
            there.kill()
            with contextlib.suppress(BrokenPipeError):
                there.communicate()


def _parts(process: subprocess.Popen[bytes], deadline: float) -> Iterator[bytes]:
    """What it prints, as it comes, until its end."""
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    while True:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise TimeoutError
        part = os.read(descriptor, 65536)
        if not part:
            return
        yield part
