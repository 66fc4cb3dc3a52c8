"""What a search is to find: each target one class, all in one table.

A target has a value in each draw of the posterior; its interval narrows as windows come in.

knee        where throughput bends
headroom    how many times the users of today it carries up to there
throughput  the fewest users who complete so much work per second
percentile  the most users of whom a part of the reactions comes within a time
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from satline.errors import SatlineError
from satline.experiment.search._reactions import Reactions
from satline.knee import Floats, Posterior


class Target(Protocol):
    """What every target tells of itself."""

    name: ClassVar[str]

    @property
    def words(self) -> str:
        """The target in words."""
        ...

    @property
    def unit(self) -> str:
        """Unit of its value."""
        ...

    def most(self, most_users: int) -> float:
        """The greatest value that can be told within the limits."""
        ...

    def values(self, found: Posterior, table: Reactions | None, /) -> tuple[Floats, Floats]:
        """Its value in each draw, infinite beyond all limits, and the draws' weights."""
        ...


@dataclass(frozen=True)
class Knee:
    """Where throughput bends: the users up to whom it rises in proportion."""

    name: ClassVar[str] = "knee"
    unit: ClassVar[str] = "users"

    @property
    def words(self) -> str:
        return "users at which throughput bends"

    def most(self, most_users: int) -> float:
        return float(most_users)

    def values(self, found: Posterior, _table: Reactions | None, /) -> tuple[Floats, Floats]:
        return found.draws.knee, found.draws.weights


@dataclass(frozen=True)
class Headroom:
    """How many times the users of today it carries before throughput bends."""

    users: float
    name: ClassVar[str] = "headroom"
    unit: ClassVar[str] = "times"

    @property
    def words(self) -> str:
        return f"times the {self.users:g} users of today at which throughput bends"

    def most(self, most_users: int) -> float:
        return most_users / self.users

    def values(self, found: Posterior, _table: Reactions | None, /) -> tuple[Floats, Floats]:
        return found.draws.knee / self.users, found.draws.weights


@dataclass(frozen=True)
class Throughput:
    """The fewest users who complete so much work per second."""

    per_second: float
    name: ClassVar[str] = "throughput"
    unit: ClassVar[str] = "users"

    @property
    def words(self) -> str:
        return f"fewest users who complete {self.per_second:g} per second"

    def most(self, most_users: int) -> float:
        return float(most_users)

    def values(self, found: Posterior, _table: Reactions | None, /) -> tuple[Floats, Floats]:
        users = np.geomspace(0.5, 2.0 * found.most_users, 160)
        value, _ = found.draws.curves.at(users)
        enough = found.draws.rate[:, None] * value >= self.per_second
        first = np.argmax(enough, axis=1)
        # between the last number of users that is too few and the first that suffices
        before = np.maximum(first - 1, 0)
        rows = np.arange(len(first))
        low, high = (found.draws.rate * value[rows, k] for k in (before, first))
        part = np.clip((self.per_second - low) / np.maximum(high - low, 1e-12), 0, 1)
        needed = users[before] + part * (users[first] - users[before])
        return np.where(enough.any(axis=1), needed, np.inf), found.draws.weights


@dataclass(frozen=True)
class Percentile:
    """The most users of whom this part of the reactions comes within so many seconds."""

    part: float
    seconds: float
    name: ClassVar[str] = "percentile"
    unit: ClassVar[str] = "users"

    def __post_init__(self) -> None:
        if not 0 < self.part < 1 or not self.seconds > 0:
            raise SatlineError(
                f"{self.part:g} of reactions within {self.seconds:g} s is no target",
                hint="a part between 0 and 1, such as 0.9, and seconds above 0",
            )

    @property
    def words(self) -> str:
        return f"most users of whom {self.part:.0%} of reactions come within {self.seconds:g} s"

    def most(self, most_users: int) -> float:
        return float(most_users)

    def values(self, found: Posterior, reactions: Reactions | None, /) -> tuple[Floats, Floats]:
        if reactions is None:
            count = len(found.draws.weights)
            return np.full(count, math.inf), np.full(count, 1 / count)
        return reactions.users, reactions.weights


TARGETS: dict[str, type[Knee] | type[Headroom] | type[Throughput] | type[Percentile]] = {
    t.name: t for t in (Knee, Headroom, Throughput, Percentile)
}
