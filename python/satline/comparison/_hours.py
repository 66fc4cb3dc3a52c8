"""Hour by hour, and the signs of the differences [TB84]."""

from __future__ import annotations

import math

import numpy as np

from satline.comparison._blocks import Side
from satline.comparison._periods import Observed
from satline.comparison._results import Hour, Hours

LEAST_IN_HOUR = 3
LEAST_HOURS = 3


def by_hour(
    sides: tuple[Side, Side], seen: tuple[Observed, Observed], whole_days: bool, timezone: str
) -> Hours | None:
    """Means of each hour of the day that both sides have; ``None`` with fewer than `LEAST_HOURS` of them."""
    totals = [
        side.totals(
            o.of_day,
            24,
            o.values,
            o.weights,
            np.where(np.isfinite(o.load), o.load, 0.0) * o.seconds,
            np.where(np.isfinite(o.load), o.seconds, 0.0),
            (o.weights > 0).astype(np.float64),
        )
        for side, o in zip(sides, seen, strict=True)
    ]
    drawn = [side.replicate(t) for side, t in zip(sides, totals, strict=True)]
    both = np.flatnonzero((drawn[0][0, :, 4] >= LEAST_IN_HOUR) & (drawn[1][0, :, 4] >= LEAST_IN_HOUR))
    if len(both) < LEAST_HOURS:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        means = [d[:, both, 0] / d[:, both, 1] for d in drawn]
        loads = [d[0, both, 2] / d[0, both, 3] for d in drawn]
    before, after = means
    hours = tuple(
        Hour(
            int(h),
            float(before[0, k]),
            float(after[0, k]),
            float(after[0, k] / before[0, k] - 1) if before[0, k] > 0 else None,
            (float(loads[0][k]), float(loads[1][k])),
        )
        for k, h in enumerate(both)
    )
    difference = after - before
    rose, fell = int((difference[0] > 0).sum()), int((difference[0] < 0).sum())
    honest = None
    if whole_days:
        # Without any difference the signs of an hour would be those of its scatter.
        scatter = difference[1:] - difference[0]
        score = np.abs(np.nansum(np.sign(scatter), axis=1))
        honest = float((1 + (score >= abs(rose - fell)).sum()) / (1 + len(score)))
    return Hours(hours, rose, fell, sign_test(rose, fell), honest, timezone)


def sign_test(rose: int, fell: int) -> float | None:
    """Chance of signs as unequal as these, if each is as likely as the other (binomial, two-sided)."""
    n = rose + fell
    if not n:
        return None
    tail = sum(math.comb(n, k) for k in range(min(rose, fell) + 1)) / 2.0**n
    return min(1.0, 2 * tail)
