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
    """What others left.

    relative
        Of each window, by its mean over the windows in which it may have limited; 1 where it is not known.
    mean
        That mean, in parts of a whole CPU; ``None``: not known.
    varies
        It differs so much between windows that the curve tells whether it matters.
    """

    relative: Floats
    mean: float | None
    varies: bool

    @classmethod
    def of(cls, windows: Sequence[Window]) -> Capacity:
        """From the windows' `taken`.

        Others who take whatever is idle take most of it where the load is light, and would yield it: there
        it is no limit, and counts as the mean of the windows in which users waited.
        """
        left = np.array([np.nan if w.taken is None else 1 - w.taken for w in windows])
        known = np.isfinite(left)
        if not known.any():
            return cls(np.ones(len(windows)), None, False)
        left = np.clip(left, LEAST, 1.0)
        seconds = np.array([w.seconds for w in windows])
        held = np.array([w.waiting is None or w.waiting >= WAITED for w in windows])
        telling = known & held if (known & held).any() else known
        mean = float(np.average(left[telling], weights=seconds[telling]))
        left = np.where(known, np.where(held, left, np.maximum(left, mean)), mean)
        relative = left / mean
        return cls(relative, mean, bool(relative.max() - relative.min() > VARIES))
