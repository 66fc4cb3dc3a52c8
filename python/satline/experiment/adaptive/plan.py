"""From a study and the limits in force to what a search may do, and how long its steps take."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from satline.errors import InputError
from satline.experiment.adaptive.targets import counts_transactions, parse_target
from satline.experiment.emulator import StepLine
from satline.experiment.study import Load

if TYPE_CHECKING:
    from satline.experiment.search import Settings, Target
    from satline.systems import Limits

# Where a study does not say how many users there may be: interactive use saturates a processor with some
# tens, and a shell with a small program takes some megabytes.
USERS_A_PROCESSOR = 64
BYTES_A_USER = 8_000_000
FEWEST, GREATEST = 8, 4000
# `ramp_seconds` is the time in which so many users log on for each processor.
USERS_IN_A_RAMP = 10
SHORTEST_RAMP_S = 0.5
MANY_PROCESSORS = 8
# A window of the stated length is cut to this for a first look, and may be lengthened.
SHORT, LONG = 2 / 3, 2.0
SHORTEST_WINDOW_S = 4.0


def usual_most(limits: Limits, processors: int | None = None, memory_bytes: int | None = None) -> int:
    """The most users that a load under these limits may have where its study does not say.

    Parameters
    ----------
    processors
        Of this host that a process may use; ``None``: ask the kernel.
    memory_bytes
        Main storage of this host; ``None``: ask the kernel.
    """
    have = load_processors(limits, processors)
    memory = limits.memory_bytes
    if memory is None:
        memory = memory_bytes or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    most = min(round(USERS_A_PROCESSOR * have), memory // BYTES_A_USER, GREATEST)
    return max(FEWEST, most)


def load_processors(limits: Limits, processors: int | None = None) -> float:
    """Processors that the load has, by its limits."""
    have: float = len(os.sched_getaffinity(0)) if processors is None else processors
    if limits.processors is not None:
        have = min(have, limits.processors)
    if limits.cpu_quota_processors is not None:
        have = min(have, limits.cpu_quota_processors)
    return have


def has_room(limits: Limits, processors: int | None = None) -> bool:
    """Is there a processor beside those that the load may fill, or so many that a look is nothing?"""
    have = len(os.sched_getaffinity(0)) if processors is None else processors
    return have >= MANY_PROCESSORS or load_processors(limits, have) <= have - 1


@dataclass
class StepTimes:
    """How long the parts of a step take."""

    ramp_s: float
    warmup_s: float
    processors: float

    def ramp(self, before: int | None, users: int) -> float:
        """Seconds over which they log on or off; none where nobody does."""
        changed = abs(users - (before or 0))
        if not changed:
            return 0.0
        return max(SHORTEST_RAMP_S, self.ramp_s * changed / (USERS_IN_A_RAMP * max(1.0, self.processors)))

    def warmup(self, before: int | None, users: int) -> float:
        """Seconds until all has settled. Those who leave and wait for an answer hang up within them."""
        return 0.0 if before == users else self.warmup_s

    def overhead(self, before: int | None, users: int) -> float:
        """Seconds before the window."""
        return self.ramp(before, users) + self.warmup(before, users)

    def step(self, before: int | None, users: int, window_s: float) -> StepLine:
        """The step from a number of users (``None``: none) to another."""
        return StepLine(users, self.ramp(before, users), self.warmup(before, users), window_s)


@dataclass(frozen=True)
class SearchPlan:
    """A search of a study.

    counted
        Throughput is the number of transactions, since a target is one.
    """

    most_users: int
    least_users: int
    within: float
    seconds: float
    window_s: tuple[float, float]
    targets: tuple[str, ...]
    seed: int

    @classmethod
    def of(cls, load: Load, limits: Limits, processors: int | None = None) -> SearchPlan:
        """The search of a study's load under its limits.

        Raises
        ------
        InputError
            The least users are more than there may be.
        """
        most = load.most or max(usual_most(limits, processors), load.least_users)
        if load.least_users > most:
            raise InputError(
                f"load.least_users: {load.least_users}, but there may be {most} users",
                hint="raise load.most_users",
            )
        shortest = min(load.window_seconds, max(SHORTEST_WINDOW_S, SHORT * load.window_seconds))
        return cls(
            most,
            load.least_users,
            load.within,
            load.seconds,
            (shortest, LONG * load.window_seconds),
            tuple(load.targets),
            load.seed,
        )

    @property
    def sought(self) -> tuple[Target, ...]:
        """The targets."""
        return tuple(parse_target(text) for text in self.targets)

    @property
    def counted(self) -> bool:
        """Is throughput a number of transactions?"""
        return counts_transactions(self.sought)

    def settings(self, times: StepTimes) -> Settings:
        """For `satline.experiment.search`."""
        from satline.experiment.search import Settings

        return Settings(
            most_users=self.most_users,
            least_users=self.least_users,
            within=self.within,
            seconds=self.seconds,
            window_s=self.window_s,
            overhead_s=times.overhead,
            targets=self.sought,
        )

    def as_toml(self) -> dict[str, Any]:
        """For ``[study.search]`` of the recording."""
        return {
            "most_users": self.most_users,
            "least_users": self.least_users,
            "within": self.within,
            "seconds": self.seconds,
            "window_seconds": list(self.window_s),
            "targets": list(self.targets),
            "seed": self.seed,
        }
