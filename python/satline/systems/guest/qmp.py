"""QEMU's machine protocol over its socket: commands and answers, one JSON object a line."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from satline.errors import SatlineError
from satline.outside import parse_json


class Qmp:
    """A connection to a running QEMU.

    Parameters
    ----------
    path
        Its socket.
    alive
        Whether QEMU still runs: asked while the socket is not there yet.

    Raises
    ------
    SatlineError
        QEMU ended, or does not answer within `timeout_s`.
    """

    def __init__(self, path: Path, alive: Callable[[], bool], timeout_s: float = 20.0) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(timeout_s)
        end = time.monotonic() + timeout_s
        while True:
            try:
                self._socket.connect(str(path))
                break
            except OSError as error:
                if not alive() or time.monotonic() > end:
                    self._socket.close()
                    raise SatlineError(f"QEMU does not answer at {path}: {error.strerror}") from None
                time.sleep(0.02)
        self._lines = self._socket.makefile("rb")
        self._next()  # its greeting
        self.do("qmp_capabilities")

    def do(self, command: str, **arguments: Any) -> Any:
        """Carry out a command; returns its answer.

        Raises
        ------
        SatlineError
            QEMU refused it, or has gone.
        """
        try:
            self._socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        except OSError as error:
            raise SatlineError(f"QEMU has gone: {error.strerror}") from None
        while True:
            answer = self._next()
            if "error" in answer:
                raise SatlineError(f"QEMU does not {command}: {answer['error'].get('desc')}")
            if "return" in answer:
                return answer["return"]

    def wait_until(self, command: str, good: Callable[[Any], bool], timeout_s: float) -> Any:
        """Repeat a query until its answer is good; returns it.

        Raises
        ------
        SatlineError
            It is not within `timeout_s`.
        """
        end = time.monotonic() + timeout_s
        while not good(answer := self.do(command)):
            if time.monotonic() > end:
                raise SatlineError(f"QEMU: {command} still says {answer} after {timeout_s:.0f} s")
            time.sleep(0.05)
        return answer

    def close(self) -> None:
        """Leave QEMU to itself."""
        self._lines.close()
        self._socket.close()

    def _next(self) -> dict[str, Any]:
        try:
            line = self._lines.readline()
            answer = parse_json(line)
        except (OSError, ValueError):
            raise SatlineError("QEMU has gone, or does not answer") from None
        return answer if isinstance(answer, dict) else {}
