"""Lenth's method: which effects of an unreplicated design stand out from the others [Lenth 1989].

Own: neither scipy nor statsmodels has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

from satline.stats import t_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEAST = 5
DRAWS = 40_000


@dataclass(frozen=True)
class Lenth:
    """What of m effects is noise, if few of them are active.

    pseudo_error
        PSE, the standard error of an effect.
    margin, simultaneous_margin
        An effect beyond `margin` is active at the level by itself; beyond `simultaneous_margin`, with the
        level kept for all of them together. Both by simulation of m effects without an active one.
    margin_by_t, simultaneous_margin_by_t
        As Lenth gave them, t(m/3) · PSE: the first too cautious, the second far too much so.
    chances, adjusted
        Of an effect so large, by itself and as the largest of all, where none is active.
    half_normal
        The place of each effect in a half-normal plot: Φ⁻¹(½ + (rank − ½)/2m).
    """

    pseudo_error: float
    margin: float
    simultaneous_margin: float
    margin_by_t: float
    simultaneous_margin_by_t: float
    chances: tuple[float, ...]
    adjusted: tuple[float, ...]
    half_normal: tuple[float, ...]


def lenth(effects: Sequence[float], level: float = 0.05) -> Lenth:
    """Judge effects of equal variance.

    s₀ = 1.5 median |c|; PSE = 1.5 median of those |c| < 2.5 s₀; the ratios |c|/PSE are held against those of
    `DRAWS` sets of normal effects, of a fixed seed.

    Raises
    ------
    ValueError
        Fewer than five effects, or more than half of them are 0: there is no noise to see.
    """
    import numpy as np

    c = np.abs(np.asarray(effects, dtype=np.float64))
    m = len(c)
    if m < LEAST:
        raise ValueError(f"{m} effects: Lenth's method needs {LEAST}")
    pse = float(_pseudo_errors(c[None, :])[0])
    if not pse > 0.0:
        raise ValueError("more than half of the effects are 0: there is no noise to be seen")
    one, largest = _null(m)
    ratios = c / pse
    gamma = (1.0 + (1.0 - level) ** (1.0 / m)) / 2.0
    rank = np.empty(m)
    rank[np.argsort(c, kind="stable")] = np.arange(m)
    normal = NormalDist()
    return Lenth(
        pse,
        pse * _quantile(one, 1.0 - level),
        pse * _quantile(largest, 1.0 - level),
        pse * t_quantile(1.0 - level, m / 3.0),
        pse * t_quantile(2.0 * gamma - 1.0, m / 3.0),
        tuple(_beyond(one, ratios)),
        tuple(_beyond(largest, ratios)),
        tuple(normal.inv_cdf(0.5 + (float(r) + 0.5) / (2.0 * m)) for r in rank),
    )


def _pseudo_errors(c: NDArray[np.float64]) -> NDArray[np.float64]:
    """PSE of each row of absolute effects."""
    import numpy as np

    first = 1.5 * np.median(c, axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        kept = np.where(c < 2.5 * first, c, np.nan)
    kept[~np.isfinite(kept).any(axis=1)] = 0.0
    found: NDArray[np.float64] = 1.5 * np.nanmedian(kept, axis=1)
    return found


@lru_cache(maxsize=16)
def _null(m: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sorted ratios |c|/PSE without an active effect: of any one effect, and of the largest."""
    import numpy as np

    draws = max(2_000, min(DRAWS, 4_000_000 // m))
    c = np.abs(np.random.default_rng(1989).standard_normal((draws, m)))
    ratios = c / _pseudo_errors(c)[:, None]
    return np.sort(ratios.ravel()), np.sort(ratios.max(axis=1))


def _quantile(null: NDArray[np.float64], part: float) -> float:
    """Of sorted values: np.quantile would sort them again at every call."""
    return float(null[min(int(part * len(null)), len(null) - 1)])


def _beyond(null: NDArray[np.float64], ratios: NDArray[np.float64]) -> list[float]:
    import numpy as np

    above = len(null) - np.searchsorted(null, ratios, side="left")
    return [float(x) for x in (above + 1) / (len(null) + 1)]
