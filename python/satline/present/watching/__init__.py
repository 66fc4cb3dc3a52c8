"""The picture of a simulated run as it goes, on a terminal."""

from __future__ import annotations

import select
import time
from collections.abc import Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from satline.present.watching._keys import FRAMES_PER_S, USUAL_PACE, Keys, Pace
from satline.present.watching._letters import Room
from satline.present.watching._picture import picture
from satline.simulation.watching import Frame, History, Machine, Watched

__all__ = ["USUAL_PACE", "Pace", "watch"]

# The size of the terminal is looked at so often while nothing comes.
PATIENCE_S = 0.2


def watch(command: Sequence[str], console: Console, pace: Pace) -> None:
    """Run the program, and show it until its end or until it is told to quit; the last picture stays.

    Raises
    ------
    InputError, SatlineError
        The program refuses its input, or fails.
    """
    with Watched(command) as run:
        machine = run.machine()
        with Keys() as keys:
            show = Show(run, machine, console, pace, keys)
            try:
                with Live(console=console, screen=True, auto_refresh=False) as live:
                    show.run(live)
            finally:
                for line in show.lines(last=True):
                    console.print(line, no_wrap=True, crop=True)


class Show:
    """A run, its past, and how they are shown."""

    def __init__(self, run: Watched, machine: Machine, console: Console, pace: Pace, keys: Keys) -> None:
        self._run, self._machine, self._console = run, machine, console
        self._pace, self._keys = pace, keys
        self._history = History()
        self._size = console.size

    def run(self, live: Live) -> None:
        """To the end, or until the user has had enough."""
        # The first frame, of the start, comes unasked.
        asked, due = True, time.monotonic()
        while not self._pace.quit:
            now = time.monotonic()
            if not asked and self._is_time(now, due):
                self._run.go(self._pace.interval_s)
                asked, due = True, max(due + 1 / FRAMES_PER_S, now)
            wait_s = PATIENCE_S if asked or self._pace.paused else min(PATIENCE_S, max(0.0, due - now))
            select.select([*self._keys.files(), *([self._run.fileno()] if asked else [])], [], [], wait_s)
            changed = self._obey()
            line = self._run.line(wait=False) if asked else None
            if line is not None:
                content = self._run.content(line)
                if content.get("kind") == "end":
                    return
                self._history.add(Frame.from_line(content))
                asked, changed = False, True
            elif asked and self._run.ended:
                return
            if changed and self._history.frames:
                live.update(Group(*self.lines()), refresh=True)

    def lines(self, last: bool = False) -> list[Text]:
        """The picture now; the `last` one without what keys do."""
        if not self._history.frames:
            return []
        room = Room(self._size.width, self._size.height, self._console.encoding)
        return picture(
            self._machine, self._history, self._pace, room, None if last else bool(self._keys.files())
        )

    def _is_time(self, now: float, due: float) -> bool:
        if not self._pace.paused:
            return now >= due
        if self._pace.steps == 0:
            return False
        self._pace.steps -= 1
        return True

    def _obey(self) -> bool:
        """Whether the picture is another after the keys pressed, or in the terminal's new size."""
        pressed = self._keys.pressed()
        self._pace.press(pressed)
        if self._pace.users and self._history.frames:
            users = self._history.now.users_wanted + self._pace.users
            self._run.want(max(0, min(self._machine.users, users)))
            self._pace.users = 0
        size = self._console.size
        resized, self._size = size != self._size, size
        return bool(pressed) or resized
