"""Chances and quantiles of the usual distributions, by `scipy.special`.

Each function loads it when it is first called, so that commands which ask for no chance do not. It is
`scipy.special` and not `scipy.stats`, which takes four times as long to load for the same numbers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
