"""What is known of one resource, and what the readers of resources look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satline.diagnosis._held import Held
from satline.diagnosis._histories import Histories
from satline.reduction import Reduction

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# From here on a resource is short: work that comes has to wait.
CPU_SHORT = 0.9
SWAP_SHORT = 0.95
MEMORY_PRESSURE = 0.1
LEAST_REFAULTS = 50.0
LEAST_PAGES = 20.0
# Waiting beyond this confirms that a full resource is also waited for.
DELAYED = 0.3
# Devices that lie on others, or in memory: the devices below them are the resource.
NO_DISK = ("loop", "ram", "zram", "sr", "fd", "nbd-")
# What a host sends to itself: by Linux's name, and by that of AIX, IRIX, Solaris, BSD and macOS.
LOOPBACK = ("lo", "lo0")


@dataclass(frozen=True)
class Use:
    """The course of one resource.

    name
        As a user would say it: "CPU", "disk sda", "memory", "quota of /batch".
    component
        What a finding about it names: processor, one processor, io, storage, paging, quota, server, lock.
    fraction
        Part of it in use in each observation; NaN where unknown. ``None``: nothing says how full it was.
    short
        Where it was short: full, or waited for.
    confirmed
        Where it was short and something waited for it; ``None``: no signal of waiting was recorded.
    lower_bound
        Only a part of its use was recorded: the true use is at least this.
    upper_bound
        A bound on its use was recorded, not the use itself: the true use is at most this.
    scales
        Its use grows in proportion to the load, so that a headroom can be told from it.
    limit
        Use from which on it counts as short.
    of
        What was measured, in a few words.
    held
        Mean number of users that it holds back, by their own waits; ``None``: not known.
    delayed
        Part of that which a lack of processors causes: what serves them waits for one itself.
    says
        What was seen, and whom it holds back, as a finding would say it; empty: nothing beyond the figures.
    remedy
        What would help, where the cause is that clear.
    probe
        Known from the times of a probe, and by nothing else.
    """

    name: str
    component: str
    fraction: Floats | None
    short: Mask
    confirmed: Mask | None
    lower_bound: bool = False
    scales: bool = True
    limit: float = 1.0
    of: str = ""
    held: Floats | None = None
    delayed: Floats | None = None
    says: str = ""
    remedy: str = ""
    probe: bool = False
    upper_bound: bool = False

    @property
    def counted(self) -> Mask:
        """Where it counts as short: full, and not contradicted by an empty queue."""
        return self.short if self.confirmed is None else self.confirmed

    def weight(self, seconds: Floats) -> float:
        """User-seconds held back while short; where users' waits are not known, the time."""
        held = 1.0 if self.held is None else self.held
        return float((seconds * self.counted * held).sum())


@dataclass(frozen=True)
class Courses:
    """What the readers below look at: the reduction, single entities, and variables by observation."""

    reduction: Reduction
    history: Histories
    held: Held | None = None

    @property
    def count(self) -> int:
        """Number of observations."""
        return len(self.reduction.seconds)

    def course(self, name: str) -> Floats | None:
        """A variable by observation; ``None`` where it has no value at all."""
        observed = self.reduction.observations
        if name not in observed:
            return None
        values = np.asarray(observed[name], dtype=np.float64)
        return values if np.isfinite(values).any() else None

    def level(self, name: str) -> Floats | None:
        """A level of table system by observation, also one that no variable is made of; ``None`` where it has
        no value at all."""
        return self.history.system_levels(name).get(name)

    def rate(self, counters: Mapping[str, Floats], name: str) -> Floats | None:
        """A counter's growth per microsecond of the observation; ``None`` where it is missing."""
        values = counters[name]
        if not np.isfinite(values).any():
            return None
        return np.asarray(values / (self.reduction.seconds * 1e6))


def above(values: Floats | None, limit: float) -> Mask | None:
    """Where a course is known and at least `limit`; ``None`` without a course."""
    return None if values is None else np.nan_to_num(values, nan=-np.inf) >= limit


def any_of(masks: list[Mask | None]) -> Mask | None:
    """Where any of the signals that were recorded speaks; ``None``: none was."""
    known = [m for m in masks if m is not None]
    return np.logical_or.reduce(known) if known else None


def quantile(values: Floats, weight: Floats, part: float) -> float:
    """The least value that is not exceeded for `part` of the time. Own: numpy's quantiles have weights from
    2.0 on."""
    order = np.argsort(values)
    passed = np.cumsum(weight[order])
    place = int(np.searchsorted(passed, part * passed[-1] * (1 - 1e-12)))
    return float(values[order][min(place, len(values) - 1)])


def over(values: Floats, where: Mask, seconds: Floats) -> float:
    """Mean by time of a course where it is known and `where` holds; 0 where that is nowhere."""
    known = where & np.isfinite(values)
    return float(np.average(values[known], weights=seconds[known])) if known.any() else 0.0
