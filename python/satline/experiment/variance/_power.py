"""How many replicates, and how long a window, an effect of a given size needs to be seen."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from satline.stats import f_power, f_quantile

USUAL = 0.8
MOST_REPLICATES = 1000


@dataclass(frozen=True)
class Needed:
    """What was asked for, and what it takes.

    power
        The chance of seeing the effect with so many `runs`.
    """

    replicates: int
    runs: int
    error_freedom: int
    power: float


def power_of_contrast(difference: float, error: float, freedom: int, level: float = 0.05) -> float:
    """Chance that a difference is found, given its standard error: F′(1, ν, (δ/error)²)."""
    if freedom < 1:
        return 0.0
    return f_power(f_quantile(level, 1, freedom), 1, freedom, (difference / error) ** 2)


def smallest_seen(error: float, freedom: int, level: float = 0.05, power: float = USUAL) -> float:
    """The difference that is found with chance `power`, given its standard error."""
    from scipy.optimize import brentq

    def beyond(times: float) -> float:
        return power_of_contrast(times, 1.0, freedom, level) - power

    high = 4.0
    while beyond(high) < 0.0:
        high *= 2.0
    return float(brentq(beyond, 0.0, high)) * error


def power_of_factor(
    difference: float, deviation: float, levels: int, per_level: float, freedom: int, level: float = 0.05
) -> float:
    """Chance that the F test of a main effect sees two levels `difference` apart, the others midway:
    the case that is hardest to see, λ = n δ²/(2σ²) with n runs at each level [Cohen 1988, 8.2].
    """
    if freedom < 1:
        return 0.0
    above = levels - 1
    shift = per_level * difference**2 / (2.0 * deviation**2)
    return f_power(f_quantile(level, above, freedom), above, freedom, shift)


def terms_of_two(levels: Sequence[int]) -> int:
    """Degrees of freedom of main effects and interactions of two."""
    own = [n - 1 for n in levels]
    return sum(own) + (sum(own) ** 2 - sum(n * n for n in own)) // 2


def replicates_needed(
    levels: Sequence[int],
    difference: float,
    deviation: float,
    *,
    cells: int | None = None,
    terms_freedom: int | None = None,
    level: float = 0.05,
    power: float = USUAL,
) -> Needed | None:
    """The fewest replicates with which every main effect of that size is seen.

    Parameters
    ----------
    levels
        Of each factor.
    difference
        Between two levels, in the response's unit.
    deviation
        Standard deviation of a run.
    cells
        Of one replicate; without it those of the whole design.
    terms_freedom
        Degrees of freedom of the model's terms; without it, of main effects and interactions of two.
    level
        Chance of a false finding in each test.

    Returns
    -------
    ``None``: not with a thousand.
    """
    cells = math.prod(levels) if cells is None else cells
    terms = min(terms_of_two(levels) if terms_freedom is None else terms_freedom, cells - 1)

    def at(replicates: int) -> Needed:
        runs = cells * replicates
        freedom = runs - 1 - terms
        found = min(power_of_factor(difference, deviation, n, runs / n, freedom, level) for n in levels)
        return Needed(replicates, runs, freedom, found)

    low, high = 0, 1
    while at(high).power < power:
        low, high = high, 2 * high
        if low >= MOST_REPLICATES:
            return None
    return at(bisect_left(range(high), power, low + 1, key=lambda replicates: at(replicates).power))


def effective_size(count: int, correlation: float) -> float:
    """How many independent observations so many autocorrelated ones are worth, for their mean:
    n / (1 + 2 Σ_{k<n} (1 − k/n) φ^k), of a series whose correlation falls as φ^k.
    """
    if count < 1:
        return 0.0
    phi = correlation
    # Σ (1 − k/n) φ^k in closed form
    total = phi / (1.0 - phi) - phi * (1.0 - phi**count) / (count * (1.0 - phi) ** 2)
    return count / (1.0 + 2.0 * total)


def window_variance(count: int, deviation: float, correlation: float, between: float = 0.0) -> float:
    """Variance of a run's mean: between runs alike in all, and of the window, σ²/n_effective."""
    return between**2 + deviation**2 / effective_size(count, correlation)


def observations_needed(
    levels: Sequence[int],
    difference: float,
    deviation: float,
    correlation: float,
    replicates: int,
    *,
    between: float = 0.0,
    cells: int | None = None,
    level: float = 0.05,
    power: float = USUAL,
    most: int = 10_000_000,
) -> int | None:
    """The shortest window, in observations, with which `replicates` are enough; ``None``: no window is."""

    def enough(count: int) -> bool:
        of_run = math.sqrt(window_variance(count, deviation, correlation, between))
        found = replicates_needed(levels, difference, of_run, cells=cells, level=level, power=power)
        return found is not None and found.replicates <= replicates

    low, high = 0, 1
    while not enough(high):
        low, high = high, 2 * high
        if low > most:
            return None
    return bisect_left(range(high), True, low + 1, key=enough)
