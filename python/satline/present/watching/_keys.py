"""Keys of a terminal, one by one and without echo; the terminal is as before afterwards."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from types import TracebackType
from typing import Any, Self


class Keys:
    """Keys pressed at a file that is a terminal; none where it is not. A context."""

    def __init__(self, file: int | None = None) -> None:
        self._file = _standard_input() if file is None else file
        self._before: list[Any] | None = None

    @property
    def are_there(self) -> bool:
        return self._file is not None and os.isatty(self._file)

    def __enter__(self) -> Self:
        if self.are_there:
            assert self._file is not None
            self._before = termios.tcgetattr(self._file)
            # Not raw: Ctrl-C stays a signal. Ctrl-Z does not: the shell would get the terminal as it is now.
            tty.setcbreak(self._file, termios.TCSADRAIN)
            modes = termios.tcgetattr(self._file)
            modes[6][termios.VSUSP] = b"\0"
            termios.tcsetattr(self._file, termios.TCSADRAIN, modes)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            assert self._file is not None
            termios.tcsetattr(self._file, termios.TCSADRAIN, self._before)

    def files(self) -> list[int]:
        """What to wait for."""
        return [self._file] if self._before is not None and self._file is not None else []

    def pressed(self) -> str:
        """Keys since the last call, at once; a terminal that is gone presses ``q``."""
        pressed = ""
        for file in self.files():
            while select.select([file], [], [], 0)[0]:
                try:
                    part = os.read(file, 1024)
                except OSError:
                    part = b""
                if not part:
                    return pressed + "q"
                pressed += part.decode("latin-1")
        return _without_escapes(pressed)


def _without_escapes(text: str) -> str:
    """Arrows and the like begin with an escape; what follows it is no key of its own."""
    return text.split("\x1b", 1)[0]


def _standard_input() -> int | None:
    try:
        return sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):
        return None
