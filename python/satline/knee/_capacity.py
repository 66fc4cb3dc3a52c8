"""The part of the CPU that others left in each window, as far as it can have limited the load.

A closed system whose CPU is its bottleneck has the throughput c g(N/c), with g the curve of a whole CPU and c
what was left of it. So where c differs between windows, the curve is looked at in other places than N, and is
as much lower. Where something else is the bottleneck, c does not matter: which of the two it is, the windows
tell themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from satline.knee._window import Floats, Window

# Users who wait for less of their response than this were not held back by what was left.
WAITED = 0.4
# What was left, measured by samples and clocks, is no surer than this; less than the first is no CPU at all.
LEAST, VARIES = 0.02, 0.02


@dataclass(frozen=True)
class Capacity:
    """What others left, under one view of what limits.

    relative
        Of each window, by its mean over the windows in which it may have limited; 1 where it is not known.
    mean
        That mean, in parts of a whole CPU; ``None``: not known, or no limit.
    """

    relative: Floats
    mean: float | None

    @property
    def varies(self) -> bool:
        """Does it differ so much between windows that the curve tells whether it matters?"""
        return bool(self.relative.max() - self.relative.min() > VARIES)


def views(windows: Sequence[Window]) -> tuple[list[Capacity], list[Capacity]]:
    """The views under which the CPU limits, and those under which it does not; from the windows' `taken`.

    Others may take what they take whatever the load does. Or they yield to it, as under a scheduler that
    shares in parts: then a light load could have had what a heavier one got, and what was left beside a light
    one is what it did not ask for. In either case, where users waited for little, what was left was no limit,
    and counts as the mean of where they waited.
    """
    none = Capacity(np.ones(len(windows)), None)
    left = np.array([np.nan if w.taken is None else 1 - w.taken for w in windows])
    known = np.isfinite(left)
    if not known.any():
        return [], [none]
    left = np.clip(left, LEAST, 1.0)
    seconds = np.array([w.seconds for w in windows])
    users = np.array([w.users for w in windows])
    held = np.array([w.waiting is None or w.waiting >= WAITED for w in windows])
    telling = known & held if (known & held).any() else known
    mean = float(np.average(left[telling], weights=seconds[telling]))
    firm = np.where(known, np.where(held, left, np.maximum(left, mean)), mean)
    yielding = firm.copy()
    for k in range(len(windows)):
        heavier = telling & (users > users[k])
        if heavier.any():
            yielding[k] = max(firm[k], float(np.average(left[heavier], weights=seconds[heavier])))
    made = []
    for one in (firm, yielding):
        own = float(np.average(one[telling], weights=seconds[telling]))
        made.append(Capacity(one / own, own))
    if not any(one.varies for one in made):
        return made[:1], []
    return made, [none]
