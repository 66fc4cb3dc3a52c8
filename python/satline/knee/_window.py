"""What was seen at one number of users for a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from satline.errors import SatlineError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Interval:
    """A value with its 95 % interval; `high` is infinite without an upper limit."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of the interval's width relative to the value; infinite without an upper limit."""
        if not math.isfinite(self.high) or not self.value > 0:
            return math.inf
        return (self.high - self.low) / (2 * self.value)


@dataclass(frozen=True)
class Window:
    """What was seen at one number of users for a time.

    users
        Number logged on, constant during it.
    begin_s
        Its begin, seconds since the study's begin (for drift).
    block_s
        Length of each block of it, seconds.
    throughput
        Completed work per second in each block; shape (blocks,). Several blocks, so that its error can be
        told: with one block the error is that of the other windows.
    reactions_s
        Reaction times of the lines answered in it, seconds; may be empty.
    waiting
        Mean part of users' response time that was wait (0 … 1); ``None``: not known.
    taken
        Part of the load's CPU that others took (0 … 1); ``None``: not known.
    settled
        False for windows cut out of ramps or of a doubtful warm-up: they count less.
    spread_is_error
        The blocks' spread is such that their standard error, as if they were independent, is the window's,
        however much they resemble each other (`satline.windows`).
    """

    users: int
    begin_s: float
    block_s: float
    throughput: Floats
    reactions_s: Floats = field(default_factory=lambda: np.empty(0))
    waiting: float | None = None
    taken: float | None = None
    settled: bool = True
    spread_is_error: bool = False

    def __post_init__(self) -> None:
        throughput = np.asarray(self.throughput, dtype=np.float64)
        object.__setattr__(self, "throughput", throughput)
        object.__setattr__(self, "reactions_s", np.asarray(self.reactions_s, dtype=np.float64))
        if self.users < 1 or not self.block_s > 0:
            raise SatlineError(
                f"a window of {self.users} users in blocks of {self.block_s:g} s tells nothing",
                hint="at least 1 user, and blocks of more than 0 s",
            )
        if throughput.ndim != 1 or not len(throughput) or not np.isfinite(throughput).all():
            raise SatlineError(
                f"the throughput of the window at {self.begin_s:g} s is not a row of finite numbers",
                hint="leave out blocks without a value",
            )

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.block_s * len(self.throughput)

    @property
    def middle_s(self) -> float:
        """Its middle, seconds since the study's begin."""
        return self.begin_s + self.seconds / 2

    @property
    def mean(self) -> float:
        """Completed work per second in all of it."""
        return float(self.throughput.mean())
