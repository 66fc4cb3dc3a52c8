"""Statistics that several analyses use: below all of them, and thin over scipy.

    from satline.stats import f_tail, holm, isotonic

Each function loads what it needs of scipy when it is first called, so that commands which ask for no chance
do not. Chances are by `scipy.special` and not `scipy.stats`, which takes four times as long to load for the
same numbers. Corrections, intervals and courses are own. They are a few lines each, and every diagnosis asks
for them; scipy has Holm's correction not at all, Wilson's interval for whole cases only, and false
discoveries in `scipy.stats`, which takes half a second of CPU time to load.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

NORMAL_97_5 = 1.959963984540054
"""z with P(Z ≤ z) = 97.5 %."""


def f_tail(f: float, above: float, below: float) -> float:
    """P(F > f) with `above` and `below` degrees of freedom."""
    from scipy.special import fdtrc

    return float(fdtrc(above, below, max(f, 0.0)))


def f_quantile(tail: float, above: float, below: float) -> float:
    """f with P(F > f) = `tail`: x = below/(below + above f) has I_x(below/2, above/2) = tail.

    Not by `fdtri`, which takes 1 − tail and so loses the digits of a small one.
    """
    from scipy.special import betaincinv

    x = float(betaincinv(below / 2.0, above / 2.0, tail))
    return below * (1.0 - x) / (above * x) if x > 0.0 else math.inf


def f_power(f: float, above: float, below: float, shift: float) -> float:
    """P(F′ > f) of the noncentral F with noncentrality `shift`."""
    from scipy.special import ncfdtr

    within = float(ncfdtr(above, below, shift, f))
    # NaN where e^(−shift/2) underflows; what is within is then nothing.
    return 1.0 if math.isnan(within) else 1.0 - within


def t_two_sided(t: float, freedom: float) -> float:
    """P(|T| > |t|); `freedom` need not be whole."""
    from scipy.special import stdtr

    return 2.0 * float(stdtr(freedom, -abs(t)))


def t_quantile(confidence: float, freedom: float) -> float:
    """t with P(|T| ≤ t) = `confidence`."""
    from scipy.special import stdtrit

    return -float(stdtrit(freedom, (1.0 - confidence) / 2.0))


def chi_square_tail(statistic: float, freedom: float) -> float:
    """P(X ≥ statistic) of chi-square."""
    from scipy.special import chdtrc

    return float(chdtrc(freedom, max(statistic, 0.0)))


def normal_cdf(z: Floats) -> Floats:
    """P(Z ≤ z), elementwise."""
    from scipy.special import ndtr

    found: Floats = ndtr(z)
    return found


def kolmogorov_tail(distance: float, n: int) -> float:
    """P(D ≥ distance) for n draws from a distribution, by its limit at Stephens' (1970) size,
    (√n + 0.12 + 0.11/√n) D."""
    from scipy.special import kolmogorov

    root = math.sqrt(n)
    return float(kolmogorov((root + 0.12 + 0.11 / root) * distance))


def holm(chances: Sequence[float]) -> list[float]:
    """Chances of several tests, made such that all of them together keep their level [Holm 1979]."""
    adjusted, greatest = [0.0] * len(chances), 0.0
    order = sorted(range(len(chances)), key=chances.__getitem__)
    for rank, place in enumerate(order):
        greatest = max(greatest, min(1.0, (len(chances) - rank) * chances[place]))
        adjusted[place] = greatest
    return adjusted


def false_discoveries(chances: ArrayLike, *, any_dependence: bool = False) -> Floats:
    """The least rate of false discoveries at which each would be one (Benjamini and Hochberg 1995); under any
    dependence whatever times 1 + 1/2 + … + 1/m (Benjamini and Yekutieli 2001)."""
    import numpy as np

    p = np.asarray(chances, dtype=np.float64)
    m = len(p)
    order = np.argsort(p)
    factor = float((1.0 / np.arange(1, m + 1)).sum()) if any_dependence else 1.0
    raised = p[order] * (m * factor) / np.arange(1, m + 1)
    found = np.empty(m)
    found[order] = np.minimum(1.0, np.minimum.accumulate(raised[::-1])[::-1])
    return found


def wilson(part: float, n: float) -> tuple[float, float]:
    """95 % interval of a part of `n` independent cases [Wilson 1927]; of none, all that a part can be.

    (p + z²/2n ± z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n). n is what autocorrelated cases are worth, and need
    not be whole.
    """
    if n <= 0:
        return 0.0, 1.0
    z2 = NORMAL_97_5**2
    middle = (part + z2 / (2 * n)) / (1 + z2 / n)
    half = NORMAL_97_5 / (1 + z2 / n) * math.sqrt(part * (1 - part) / n + z2 / (4 * n**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def isotonic(values: Floats, weights: Floats, *, rising: bool = True) -> Floats:
    """The course that never falls, or never rises, and is nearest to `values` by weighted squares; every
    weight is above 0.

    Neighbours that are out of order are pooled to their mean, forwards and then backwards [Busing 2022]. Own:
    a few lines, with scipy's sums in scipy's order, and `scipy.optimize` takes as long to load as a small
    recording to reduce.
    """
    import numpy as np

    order = slice(None) if rising else slice(None, None, -1)
    left, sizes = values[order].tolist(), weights[order].tolist()
    pools: list[tuple[float, float, int]] = []
    at = 0
    while at < len(left):
        mean, size, end = left[at], sizes[at], at + 1
        if pools and pools[-1][0] >= mean:
            before, its, _ = pools.pop()
            total = its * before + size * mean
            size += its
            mean = total / size
            while end < len(left) and mean >= left[end]:
                total += sizes[end] * left[end]
                size += sizes[end]
                mean = total / size
                end += 1
            while pools and pools[-1][0] >= mean:
                before, its, _ = pools.pop()
                total += its * before
                size += its
                mean = total / size
        pools.append((mean, size, end))
        at = end
    starts = [0, *(end for *_, end in pools)]
    course = np.repeat([mean for mean, *_ in pools], np.diff(starts)).astype(np.float64)
    return course[order]
