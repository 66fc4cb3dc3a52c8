"""One step as the emulator is told it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StepLine:
    """A step: users, and the seconds of its parts."""

    users: int
    ramp_s: float
    warmup_s: float
    window_s: float

    @property
    def words(self) -> str:
        """The line for the emulator's standard input.

        >>> StepLine(12, 1.2, 3, 14).words
        '12 ramp=1200ms warmup=3000ms window=14000ms'
        """
        parts = {"ramp": self.ramp_s, "warmup": self.warmup_s, "window": self.window_s}
        return " ".join([str(self.users), *(f"{name}={round(s * 1000)}ms" for name, s in parts.items())])
