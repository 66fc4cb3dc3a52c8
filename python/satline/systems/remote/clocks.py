"""How far another host's clocks are from this one's, and readings brought onto this host's time.

One round trip: this host's clock before (t₀) and after (t₁), the other's in between (r). The other's clock,
put in the middle, is off by

    offset = (t₀ + t₁)/2 − r,    by at most ± (t₁ − t₀)/2 wrong,

whatever the two ways take. Of several trips the shortest counts. Measured before and after the window, the
offset between is on the line through both: the clocks' difference in rate is taken out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

TRIPS = 21


@dataclass(frozen=True)
class Offset:
    """This host's clock minus the other's, ns.

    at_time_ns, at_monotonic_ns
        The other's clocks when it was measured.
    time_ns, monotonic_ns
        What to add to them.
    bound_ns
        The most by which that may be wrong.
    """

    at_time_ns: int
    at_monotonic_ns: int
    time_ns: int
    monotonic_ns: int
    bound_ns: int


def measure(ask: Callable[[], list[int]], trips: int = TRIPS) -> Offset:
    """Offset from `trips` round trips; `ask` returns the other's time_ns and monotonic_ns."""
    best: Offset | None = None
    for _ in range(trips):
        monotonic_before = time.monotonic_ns()
        now = time.time_ns()
        other_time, other_monotonic = ask()
        monotonic_after = time.monotonic_ns()
        half = (monotonic_after - monotonic_before + 1) // 2
        if best is None or half < best.bound_ns:
            best = Offset(
                other_time,
                other_monotonic,
                now + half - other_time,
                monotonic_before + half - other_monotonic,
                half,
            )
    assert best is not None
    return best


@dataclass(frozen=True)
class Shift:
    """Offsets before and after a window."""

    before: Offset
    after: Offset

    def rate(self) -> float:
        """Seconds that this host's clock gains on the other's per second of the other's."""
        span = self.after.at_monotonic_ns - self.before.at_monotonic_ns
        return (self.after.monotonic_ns - self.before.monotonic_ns) / span if span > 0 else 0.0

    def line(self, clock: str) -> tuple[int, int, float]:
        """``(origin, offset there, slope)`` for the clock ``time_ns`` or ``monotonic_ns``, all ns."""
        origin = getattr(self.before, f"at_{clock}")
        offset = getattr(self.before, clock)
        span = getattr(self.after, f"at_{clock}") - origin
        slope = (getattr(self.after, clock) - offset) / span if span > 0 else 0.0
        return origin, offset, slope

    def told(self) -> dict[str, int | float]:
        """As the recording's source says it: µs, and parts per million."""
        return {
            "offset_us": round(self.before.monotonic_ns / 1000),
            "time_offset_us": round(self.before.time_ns / 1000),
            "bound_us": round(max(self.before.bound_ns, self.after.bound_ns) / 1000),
            "rate_ppm": round(self.rate() * 1e6, 2),
        }
