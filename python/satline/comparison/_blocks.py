"""Independent blocks of time on each side, and estimates from drawing them anew.

Own: `scipy.stats.bootstrap` draws single values, not blocks of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satline.comparison._results import Estimate
from satline.diagnosis import lengthen
from satline.stats import t_quantile, t_two_sided

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LEAST_DAYS = 5
LEAST_HOURS = 16
HOURS = 24
# Fewer tell nothing: the interval of so few would be a matter of luck.
LEAST_EFFECTIVE = 3.5
REPLICATES = 2000
_SEED = 20261122
CONFIDENCE, POWER = 0.95, 0.80


@dataclass(frozen=True)
class Scatter:
    """How far a side's draws tell of its scatter.

    wider
        As of `Side`.
    effective
        Independent blocks of equal size that would tell as much.
    freedom
        Degrees of freedom of the variance that they give.
    """

    wider: float
    effective: float
    freedom: float


@dataclass(frozen=True)
class Side:
    """Blocks of one side.

    block
        Of each observation, from 0 in the order of time.
    draws
        How often each block is in each replicate, shape (replicates, blocks).
    wider
        How much wider intervals must be for the likeness of neighbouring blocks that is left.
    unsure
        Relative variance of wider², as that likeness is itself estimated; 0 for days, which are taken as they
        are.
    """

    block: Integers
    draws: Floats
    wider: float
    unsure: float = 0.0

    @property
    def count(self) -> int:
        """Number of blocks."""
        return int(self.draws.shape[1])

    def totals(self, cell: Integers, cells: int, *values: Floats) -> Floats:
        """Sums by block and cell: shape (blocks, cells, values); a cell of −1 counts nowhere."""
        inside = cell >= 0
        place = self.block[inside] * cells + cell[inside]
        sums = [np.bincount(place, v[inside], self.count * cells) for v in values]
        stacked = np.stack(sums, axis=1).reshape(self.count, cells, len(values))
        return np.asarray(stacked, dtype=np.float64)

    def replicate(self, totals: Floats) -> Floats:
        """Sums over each replicate's blocks: shape (replicates, cells, values); the first is the real one."""
        flat = totals.reshape(self.count, -1)
        whole = np.concatenate([flat.sum(axis=0, keepdims=True), self.draws @ flat])
        return np.asarray(whole.reshape(-1, *totals.shape[1:]))

    def effective(self, totals: Floats) -> float:
        """Independent blocks of equal size that would tell as much.

        (Σ s)²/Σ s² of their sizes s, fewer by the likeness of neighbours that is left.
        """
        sizes = totals.reshape(self.count, -1).sum(axis=1)
        square = float((sizes**2).sum())
        return float(sizes.sum()) ** 2 / square / self.wider**2 if square > 0 else 0.0

    def scatter(self, totals: Floats, share: Floats | None = None) -> Scatter:
        """Of what has these totals; with `share`, of means over cells, which have these shares in it.

        A variance from n blocks has the relative variance 2/(n − 1); to it comes that of wider², and the
        degrees of freedom are those of a chi-square with both: 2/ν = 2/(n − 1) + unsure.
        """
        n = self.effective(totals)
        freedom = 1 / (1 / (n - 1) + self.unsure / 2) if n > 1 else 0.0
        # Days, most of which visit most loads, hold without (benches/comparison), and would hold too often.
        whole_days = self.unsure == 0.0
        wider = self.wider * (1.0 if share is None or whole_days else self._fitted(totals, share))
        return Scatter(wider, n, freedom)

    def _fitted(self, totals: Floats, share: Floats) -> float:
        """How much wider intervals must be as each cell's mean is of the same blocks as what departs from it.

        With h_bj the part of cell j that is of block b, and one deviation η_b in all of a block, the mean
        departs by Σ c_b η_b, c = h·share; what is seen is (diag c − G) η, G_bb' = Σ_j share_j h_bj h_b'j. In
        one cell with n equal blocks that is the well-known (n − 1)/n, which the draws allow for (cf. Bell and
        McCaffrey 2002).
        """
        size = totals.sum(axis=0)
        part = totals / np.where(size > 0, size, 1.0)
        own = part @ share
        seen = float(((np.diag(own) - (part * share) @ part.T) ** 2).sum())
        if self.count < 2 or not seen > 0:
            return math.inf
        return math.sqrt(float(own @ own) / seen * (self.count - 1) / self.count)


def choose(days: tuple[Integers, Integers], hours: tuple[Integers, Integers]) -> tuple[str, bool, int]:
    """Which blocks both sides suffice for: words, whether they are days, else of how many hours (0: batches).

    The longer the blocks, the less they resemble each other; about `HOURS` are enough.
    """
    if all(len(np.unique(d)) >= LEAST_DAYS for d in days):
        return "days", True, 0
    least = min(len(np.unique(h)) for h in hours)
    if least >= LEAST_HOURS:
        each = max(1, least // HOURS)
        return "hours" if each == 1 else f"{each}-hour pieces", False, each
    return "batches of successive observations", False, 0


def make_side(block: Integers, deviation: Floats, heavy: Integers, whole_days: bool, seed: int) -> Side:
    """The blocks of a side.

    Parameters
    ----------
    block
        Of each observation, ascending in time.
    deviation
        Of each observation from what is usual at its load, times its weight; 0 where missing.
    heavy
        1 for the upper half of the loads, 0 for the lower.
    whole_days
        Days are taken as they are: what one has to do with the next, so few cannot tell.
    """
    _, number = np.unique(block, return_inverse=True)
    number = np.asarray(number, dtype=np.int64).reshape(-1)
    wider, unsure = 1.0, 0.0
    if not whole_days and len(number) and number.max() > 0:
        number, wider = lengthen(number, deviation, heavy)
        left, blocks = (wider**2 - 1) / 2, int(number.max()) + 1
        # A correlation r found in B blocks is too small by about (1 + 4r)/B [Marriott and Pope 1954].
        wider = float(np.sqrt(1 + 2 * (left + (1 + 4 * left) / blocks)))
        # Its standard error is 1/√B, that of 1 + 2r twice as large.
        unsure = 4 / blocks / wider**4
    count = int(number.max()) + 1 if len(number) else 0
    random = np.random.default_rng((_SEED, seed))
    # One block fewer than there are: of n blocks the spread is (n − 1)/n of what it is.
    draws = random.multinomial(max(1, count - 1), np.full(count, 1 / count), REPLICATES) if count else None
    return Side(
        number,
        np.zeros((REPLICATES, 0)) if draws is None else np.asarray(draws, dtype=np.float64),
        wider,
        unsure,
    )


def estimate(value: float, parts: Sequence[Floats], scatters: Sequence[Scatter]) -> Estimate:
    """`value` with its interval, by Student's t with the degrees of freedom of Welch and Satterthwaite.

    Parameters
    ----------
    parts
        Of each side that is in the value: replicates in which only its blocks were drawn anew.
    """
    few = min(s.effective for s in scatters) < LEAST_EFFECTIVE or not all(_enough(p) for p in parts)
    few = few or not all(math.isfinite(s.wider) for s in scatters)
    if few or not np.isfinite(value):
        return Estimate(value)
    variances = [float(np.nanvar(p)) * s.wider**2 for p, s in zip(parts, scatters, strict=True)]
    total = sum(variances)
    if total <= 0:
        return Estimate(value)
    freedom = total**2 / sum(v**2 / s.freedom for v, s in zip(variances, scatters, strict=True))
    error = float(np.sqrt(total))
    half = t_quantile(CONFIDENCE, round(freedom, 2)) * error
    return Estimate(
        value, value - half, value + half, error, freedom, t_two_sided(value / error, round(freedom, 2))
    )


def detectable(found: Estimate) -> float | None:
    """Difference that is found with a chance of `POWER`: (t₀.₉₇₅ + t₀.₈) standard errors."""
    if found.error is None or found.freedom is None:
        return None
    freedom = round(found.freedom, 2)
    return (t_quantile(CONFIDENCE, freedom) + t_quantile(2 * POWER - 1, freedom)) * found.error


def in_parts(found: Estimate, change: Callable[[float], float] = np.expm1) -> Estimate:
    """A difference of logarithms as a part: e^x − 1. The error is that of the logarithm."""
    ends = (None if end is None else float(change(end)) for end in (found.low, found.high))
    low, high = ends
    return Estimate(float(change(found.value)), low, high, found.error, found.freedom, found.chance)


def _enough(replicates: Floats) -> bool:
    return bool(np.isfinite(replicates).mean() > 0.9)
