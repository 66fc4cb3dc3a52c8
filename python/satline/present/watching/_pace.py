"""How fast simulated time goes, and what keys do."""

from __future__ import annotations

from dataclasses import dataclass

PACES = tuple(float(f"{digit}e{power}") for power in range(-3, 5) for digit in (1, 2, 5))
USUAL_PACE = 10.0
FRAMES_PER_S = 5


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
