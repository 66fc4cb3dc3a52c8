"""Keys of a terminal, one by one and without echo, and what they do to the pace of simulated time."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

PACES = tuple(float(f"{digit}e{power}") for power in range(-3, 5) for digit in (1, 2, 5))
USUAL_PACE = 10.0
FRAMES_PER_S = 5


class Keys:
    """Keys pressed at a file that is a terminal; none where it is not; all is as before after the context."""

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


@dataclass
class Pace:
    """`pace`: simulated seconds in a real one; `steps`: frames wanted in a pause; `users`: more or fewer."""

    pace: float = USUAL_PACE
    paused: bool = False
    steps: int = 0
    users: int = 0
    quit: bool = False

    @property
    def interval_s(self) -> float:
        """Simulated time between two frames."""
        return self.pace / FRAMES_PER_S

    def press(self, keys: str) -> None:
        """Space pauses or goes on, ``.`` makes a step, + and - change the pace, U and u users, q quits."""
        for key in keys:
            match key:
                case " ":
                    self.paused, self.steps = not self.paused, 0
                case ".":
                    # While it runs it pauses after this one.
                    self.steps += int(self.paused)
                    self.paused = True
                case "+" | "=":
                    self.pace = min((one for one in PACES if one > self.pace * 1.001), default=self.pace)
                case "-" | "_":
                    self.pace = max((one for one in PACES if one < self.pace * 0.999), default=self.pace)
                case "U":
                    self.users += 1
                case "u":
                    self.users -= 1
                case "q" | "Q":
                    self.quit = True
                case _:
                    continue
