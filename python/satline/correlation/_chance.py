"""How far a coefficient may go by chance alone, in series that resemble themselves from moment to moment.

The null is that the two series have nothing to do with each other, whatever each is by itself. Then the
phases of one say nothing of the other's, and the variance of the coefficient is

    σ² = Σ_f |X_f|² |Y_f|² / N²                                   (x, y: mean 0, sum of squares 1)

which by Parseval is also the mean square of the coefficient over all circular shifts of one series against
the other; 1/σ² is the effective number of pairs (it is Bartlett's 1 / Σ ρx ρy, with each lag's products as
they are). Given the powers, the coefficient is a sum of bounded terms with random signs: its tail is no
heavier than the normal one, however few frequencies carry it. So a shared daily cycle or two trends cannot be
a discovery: few frequencies, a large σ.

Phases do not know of bursts, of variances that rise and fall together, and of coefficients that rest on a few
moments. So a second deviate is taken from the products in stretches of time, W_b = Σ x_t y_t over stretch b,

    z = Σ_b W_b / √(Σ_b W_b²),

which is bounded alike for symmetric W of any distribution (self-normalised sums, Efron 1969): one coincidence
of two spikes, however high, gives 1. The lesser of the two deviates counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from satline.correlation._panel import Floats, Integers

_STRETCHES, _LEAST_STRETCHES = 100, 40


def by_stretches(x: Floats, rows: Integers, y: Floats, lags: Integers) -> Floats:
    """Deviate of each of the `rows` of `x` with `y`, from sums over about a hundred stretches; each at its
    own of the `lags`, which are of all rows."""
    n = len(y)
    count = min(n, max(_LEAST_STRETCHES, min(_STRETCHES, n // 10)))
    edges = np.linspace(0, n, count + 1).astype(np.int64)[:-1]
    found = np.zeros(len(rows))
    later = np.zeros(n)
    for place, row in enumerate(rows.tolist()):
        lag = int(lags[row])
        at = slice(0, n - lag) if lag >= 0 else slice(-lag, n)
        later[:] = 0.0
        np.multiply(x[row, at], y[at.start + lag : at.stop + lag], out=later[at])
        sums = np.add.reduceat(later, edges)
        size = float(np.sqrt(sums @ sums))
        found[place] = sums.sum() / size if size > 0 else 0.0
    return found


def tails(z: Floats) -> Floats:
    """Two-sided chance that a normal deviate is beyond `z`; 1 for NaN."""
    return np.array([1.0 if math.isnan(v) else math.erfc(abs(v) / math.sqrt(2)) for v in z.tolist()])


def fold(matrix: Floats, order: Sequence[int], least: float) -> list[list[int]]:
    """Groups of near-identical series: each joins the first leader, in `order`, with which its coefficient is
    at least `least` in size; else it leads a group of its own."""
    groups: list[list[int]] = []
    free = np.ones(len(matrix), dtype=bool)
    for k in order:
        if free[k]:
            joins = free & (np.abs(matrix[k]) >= least)
            joins[k] = False
            groups.append([k, *np.flatnonzero(joins).tolist()])
            free[joins] = False
            free[k] = False
    return groups
