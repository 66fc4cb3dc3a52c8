"""The laws fitted to levels: which errors, how well, and intervals.

Least squares are those of errors that are equal at all loads, as in R's package usl, unless the data say much
sooner that errors are in proportion to throughput. Where the data do not tell which of the two, intervals
hold what either gives: with few rows a wrong choice would make them much too narrow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from satline.scalability._families import Family, Floats, Name, broken_line, law, laws
from satline.scalability._levels import LEAST_PURE, Grouped
from satline.scalability._region import (
    Errors,
    Least,
    Levels,
    Point,
    Quantity,
    Region,
    least,
    region,
)
from satline.scalability._results import Compared, Value
from satline.stats import f_quantile, f_tail

# Differences of log likelihood, relative less equal errors: chosen by benches/scalability/run.py.
SURELY_RELATIVE, SURELY_EQUAL = 3.0, -6.0
LACK_OF_FIT = 0.05
EXACT = 1e-9


@dataclass(frozen=True)
class Fitted:
    """A law, its values, and the regions of parameters that are as good but for chance (none: not known)."""

    best: Least
    regions: tuple[Region, ...]

    @property
    def first(self) -> float:
        return float(self._natural()[0])

    @property
    def second(self) -> float:
        return float(self._natural()[1])

    def _natural(self) -> tuple[Floats, Floats]:
        return self.best.family.natural(np.array(self.best.w1), np.array(self.best.w2))

    def value(self, of: Quantity, unit: str) -> Value:
        """A quantity of the parameters with its interval."""
        at = float(of(Point(np.array(self.best.scale), *self._natural())))
        if not self.regions:
            return Value(at, None, None, unit)
        ends = [r.interval(of) for r in self.regions]
        return Value(at, min(at, *(e[0] for e in ends)), max(at, *(e[1] for e in ends)), unit)

    def throughput(self, load: float, unit: str) -> Value:
        """Throughput at a load."""
        if self.best.family.name != "broken-line":
            return self.value(lambda p: np.asarray(p.scale * law(p.first, p.second, np.array(load))), unit)

        def line(p: Point) -> Floats:
            beyond = p.second * np.maximum(load - p.first, 0)
            return np.asarray(np.maximum(p.scale * (np.minimum(load, p.first) + beyond), 0))

        return self.value(line, unit)


@dataclass(frozen=True)
class Fits:
    """All laws for a table."""

    fitted: dict[Name, Fitted]
    compared: tuple[Compared, ...]
    errors: tuple[Errors, ...]
    source: str
    misfit: float | None
    exact: bool

    @property
    def better(self) -> Name:
        """The law of the least AICc; of the least parameters where it cannot be had."""
        known = [c for c in self.compared if c.aicc is not None]
        if known:
            return min(known, key=lambda c: c.aicc or 0.0).law
        return min(self.compared, key=lambda c: (c.residual, c.parameters)).law

    def aicc(self, name: Name) -> float | None:
        """AICc of a law."""
        return next((c.aicc for c in self.compared if c.law == name), None)


def fit_all(grouped: Grouped) -> Fits:
    """Fit every law that the number of levels allows: at least three."""
    levels = grouped.levels
    families: list[Family] = list(laws(levels.load))
    if len(levels.load) >= 4:
        families.append(broken_line(levels.load))
    both: tuple[Errors, ...] = ("equal", "relative")
    best = {(f.name, e): least(levels, f, e) for f in families for e in both}
    n = levels.count
    floor = {"equal": n * (EXACT * float(levels.mean.max())) ** 2, "relative": n * EXACT**2}
    total = {
        (name, e): max(one.left + (levels.within if e == "equal" else levels.log_within), floor[e])
        for (name, e), one in best.items()
    }
    likely = {e: max(_likelihood(levels, total[f.name, e], e) for f in families) for e in both}
    more = likely["relative"] - likely["equal"]
    exact = min(total[f.name, "equal"] for f in families) <= floor["equal"] * 1.0001
    chosen: Errors = "relative" if more > SURELY_RELATIVE and not exact else "equal"
    tried: tuple[Errors, ...] = (chosen,)
    if SURELY_EQUAL < more <= SURELY_RELATIVE and not exact:
        tried = both
    fitted: dict[Name, Fitted] = {}
    misfits: dict[Name, float | None] = {}
    sources: dict[Name, str] = {}
    for family in families:
        regions = []
        for e in tried:
            one = best[family.name, e]
            within = levels.within if e == "equal" else levels.log_within
            size = _size(one, within, grouped, max(total[family.name, e] - within, floor[e]))
            if size is None:
                continue
            variance, freedom, misfits[family.name], sources[family.name] = size
            regions.append(region(levels, one, variance * f_quantile(0.05, 1.0, freedom)))
        fitted[family.name] = Fitted(best[family.name, chosen], tuple(regions))
    compared = _compared(families, {f.name: total[f.name, chosen] for f in families}, n)
    fits = Fits(fitted, compared, tried, "none", None, exact)
    return replace(fits, source=sources.get(fits.better, "none"), misfit=misfits.get(fits.better))


def _likelihood(levels: Levels, total: float, errors: Errors) -> float:
    """Log likelihood of normal errors of the best size, but for a constant."""
    n = levels.count
    of_logs = float((levels.rows * levels.log_mean).sum()) if errors == "relative" else 0.0
    return -n / 2 * math.log(total / n) - of_logs


def _size(
    one: Least, within: float, grouped: Grouped, left: float
) -> tuple[float, float, float | None, str] | None:
    """Variance of a row, its degrees of freedom, the chance of the misfit, and what tells it.

    Repeated rows tell it, unless what the law leaves over between loads is surely more than they can explain:
    then that is what it misses by.
    """
    levels = grouped.levels
    rest = len(levels.load) - one.family.parameters
    if grouped.pure >= LEAST_PURE and within > 0:
        pure = within / grouped.pure
        if rest <= 0:
            return pure, grouped.pure, None, "repeated rows"
        chance = f_tail(left / rest / pure, rest, grouped.pure)
        if chance >= LACK_OF_FIT:
            return pure, grouped.pure, chance, "repeated rows"
        return left / rest, rest, chance, "misfit"
    freedom = rest + grouped.pure
    if freedom <= 0:
        return None
    return (left + within) / freedom, freedom, None, "residuals"


def _compared(families: list[Family], total: dict[Name, float], n: int) -> tuple[Compared, ...]:
    """AICc = n ln(S/n) + 2k + 2k(k + 1)/(n − k − 1), k parameters and the error's size."""
    found: dict[Name, float | None] = {}
    for family in families:
        k = family.parameters + 1
        found[family.name] = (
            n * math.log(total[family.name] / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1)
            if n - k - 1 > 0
            else None
        )
    known = [a for a in found.values() if a is not None]
    if len(known) < len(families):  # held against each other or not at all
        found = dict.fromkeys(found, None)
        known = []
    weights = {name: math.exp((min(known) - a) / 2) for name, a in found.items() if a is not None}
    return tuple(
        Compared(
            f.name,
            f.parameters,
            math.sqrt(total[f.name] / max(1, n - f.parameters)),
            found[f.name],
            weights[f.name] / sum(weights.values()) if weights else None,
        )
        for f in families
    )
