"""Planning questions that curves and percentiles answer [Bard]: how many users may be allowed so that the
chance of saturation is at most 25 %; what storage holds a multiprogramming level of six 90 % of the time."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from satline.errors import InputError
from satline.reduction._axes import axis_named
from satline.reduction._reduce import Reduction
from satline.reduction._results import LoadClass
from satline.reduction._statistics import Floats, Grouped, order_statistics, variance_seen
from satline.reduction._variables import variables
from satline.stats import isotonic, wilson

LEAST = 50
_CONDITION = re.compile(r"\s*([A-Za-z_]\w*)\s*(>=|<=|>|<)\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*(%?)\s*")


Outcome = Literal["limit", "beyond", "none", "cannot-tell"]


@dataclass(frozen=True)
class Condition:
    """When an observation counts as saturated: a variable above or below a threshold."""

    variable: str
    above: bool
    threshold: float
    text: str

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read ``total_cpu_fraction > 0.9``, or ``… > 90%``.

        Raises
        ------
        InputError
            It is no such condition.
        """
        found = _CONDITION.fullmatch(text)
        try:
            threshold = float(found[3]) / (100 if found[4] else 1) if found else math.nan
        except ValueError:
            threshold = math.nan
        if found is None or not math.isfinite(threshold):
            raise InputError(
                f"condition {text!r}: not a variable, a sign and a number",
                hint="write for instance 'total_cpu_fraction > 0.9'",
            )
        return cls(found[1], found[2].startswith(">"), threshold, " ".join(text.split()))

    def holds(self, values: Floats) -> Floats:
        """1 where it holds, 0 where not, NaN where the variable is missing."""
        met = values > self.threshold if self.above else values < self.threshold
        return np.where(np.isfinite(values), met, np.nan)


@dataclass(frozen=True)
class ClassChance:
    """Part of a class's observations in which the condition holds, with the ends of its 95 % interval.

    fitted
        The chance when it may only grow with load.
    """

    load_class: LoadClass
    n: int
    effective_n: float
    chance: float
    low: float
    high: float
    fitted: float


@dataclass(frozen=True)
class Allowance:
    """How much load may be allowed.

    outcome
        ``limit``: up to `load`, in the interval from `low` to `high`. ``beyond``: at least `low`, the highest
        load seen. ``none``: surely less than the lowest load seen. ``cannot-tell``: see `reason`.
    low
        Load up to which the chance is surely no greater; ``None``: not known.
    high
        Load from which the chance is surely greater; ``None``: not known.
    """

    outcome: Outcome
    condition: str
    chance: float
    load_axis: str
    load: float | None
    low: float | None
    high: float | None
    classes: tuple[ClassChance, ...]
    reason: str = ""


def allowance(reduction: Reduction, condition: Condition, chance: float) -> Allowance:
    """How much load may be allowed so that `condition` holds in at most the part `chance` of the time.

    In each class the part of observations in which it holds has Wilson's interval for the effective number of
    observations. The chance is taken to grow with load: what surely holds at one load bounds all those above
    it (below it).
    """
    if not 0 < chance < 1:
        raise InputError(f"chance {chance:g}", hint="give a chance between 0 and 1, or between 0% and 100%")
    axis = reduction.load_axis
    if condition.variable not in reduction.curves or not reduction.classes:
        reason = reduction.missing.get(condition.variable, "no observation has a load")
        return Allowance("cannot-tell", condition.text, chance, axis, None, None, None, (), reason)
    classes = _chances(reduction, condition)
    if not classes:
        reason = "no load class has enough observations for an interval"
        return Allowance("cannot-tell", condition.text, chance, axis, None, None, None, (), reason)
    at = np.array([c.load_class.midpoint for c in classes])
    upper = np.minimum.accumulate([c.high for c in reversed(classes)])[::-1]
    lower = np.maximum.accumulate([c.low for c in classes])
    safe, unsafe = np.flatnonzero(upper <= chance), np.flatnonzero(lower > chance)
    low = float(at[safe[-1]]) if len(safe) else None
    high = float(at[unsafe[0]]) if len(unsafe) else None
    outcome: Outcome
    if (lower > upper).any():
        outcome, reason = (
            "cannot-tell",
            "the chance surely falls again at higher load: load alone does not decide",
        )
        low = high = None
    elif low is not None and high is not None:
        outcome, reason = "limit", ""
    elif low is not None and low == at[-1]:
        outcome, reason = "beyond", "the loads seen are too low to reach it"
    elif high is not None and high == at[0]:
        outcome, reason = "none", "it is surely more at the lowest load seen"
    else:
        outcome, reason = "cannot-tell", "too few observations near that chance, or none at such loads"
    load = _crossing(at, np.array([c.fitted for c in classes]), chance) if outcome == "limit" else None
    if load is not None and low is not None and high is not None:
        load = min(max(load, low), high)
    return Allowance(outcome, condition.text, chance, axis, load, low, high, tuple(classes), reason)


def _chances(reduction: Reduction, condition: Condition) -> list[ClassChance]:
    values = reduction.observations[condition.variable]
    grouped = Grouped(reduction.number, reduction.batches, len(reduction.classes))
    met = grouped.points(condition.holds(values))
    plain = reduction.curves[condition.variable].points
    found = []
    for load_class, p, q in zip(reduction.classes, met, plain, strict=True):
        if p.mean is None or p.batches is None or p.effective_n is None or q.effective_n is None:
            continue
        # A condition that always or never holds shows no correlation: that of the variable stands for it.
        n = min(p.effective_n, q.effective_n)
        n *= variance_seen(n, p.batches)
        found.append((load_class, p.n, n, p.mean, *wilson(p.mean, n)))
    if not found:
        return []
    fitted = isotonic(np.array([f[3] for f in found]), np.array([f[2] for f in found]))
    return [ClassChance(*f, fitted=float(fit)) for f, fit in zip(found, fitted, strict=True)]


def _crossing(at: Floats, fitted: Floats, chance: float) -> float:
    """Load at which the fitted chance passes `chance`, on straight lines between classes."""
    below = np.flatnonzero(fitted <= chance)
    if not len(below):
        return float(at[0])
    k = int(below[-1])
    if k == len(at) - 1:
        return float(at[-1])
    part = (chance - fitted[k]) / (fitted[k + 1] - fitted[k])
    return float(at[k] + part * (at[k + 1] - at[k]))


@dataclass(frozen=True)
class Demand:
    """A percentile of a variable at one load, with its 95 % interval.

    load_low, load_high
        Loads of the observations that were used.
    low, high
        ``None``: so few observations do not bound it.
    reason
        Why it cannot be told; empty: it can.
    """

    variable: str
    unit: str
    percentile: float
    load_axis: str
    at: float
    load_low: float | None
    load_high: float | None
    n: int
    effective_n: float | None
    value: float | None
    low: float | None
    high: float | None
    reason: str = ""


def demand(reduction: Reduction, variable: str, at: float, percentile: float) -> Demand:
    """The percentile of `variable` in the observations whose load is nearest to `at`: those of just this load
    (to the nearest whole user), and further ones until there are 50.

    Loads outside the range seen are not answered.
    """
    if not 0 < percentile < 100:
        raise InputError(f"percentile {percentile:g}", hint="give one between 0 and 100")
    d = variables().find(variable)
    unit = d.unit if d is not None else ""

    def unknown(reason: str, n: int = 0) -> Demand:
        return Demand(
            variable, unit, percentile, reduction.load_axis, at, None, None, n, None, None, None, None, reason
        )

    if variable not in reduction.curves:
        return unknown(reduction.missing.get(variable, "not recorded"))
    values = reduction.observations[variable]
    usable = np.isfinite(values) & np.isfinite(reduction.load)
    loads = reduction.load[usable]
    radius = 0.5 if axis_named(reduction.load_axis, variables()).users else 0.0
    if not len(loads) or not loads.min() - radius <= at <= loads.max() + radius:
        seen = f"from {loads.min():g} to {loads.max():g}" if len(loads) else "nowhere"
        return unknown(f"the load was seen {seen} only")
    if len(loads) < LEAST:
        return unknown(f"only {len(loads)} observations", len(loads))
    away = np.abs(loads - at)
    near = away <= max(radius, float(np.partition(away, LEAST - 1)[LEAST - 1]))
    chosen = values[usable][near]
    number = np.zeros(len(chosen), dtype=np.int64)
    p = Grouped(number, reduction.batches[usable][near], 1).points(chosen)[0]
    value = float(np.percentile(chosen, percentile))
    low = high = None
    if p.effective_n is not None and p.batches is not None:
        independent = p.effective_n * variance_seen(p.effective_n, p.batches)
        ends = order_statistics(max(1, int(independent)), percentile / 100)
        ordered, n = np.sort(chosen), len(chosen)
        low = None if ends[0] is None else float(ordered[max(0, math.floor(ends[0] * (n + 1)) - 1)])
        high = None if ends[1] is None else float(ordered[min(n, math.ceil(ends[1] * (n + 1))) - 1])
    reason = "" if low is not None and high is not None else "too few independent observations to bound it"
    return Demand(
        variable,
        unit,
        percentile,
        reduction.load_axis,
        at,
        float(loads[near].min()),
        float(loads[near].max()),
        len(chosen),
        p.effective_n,
        value,
        low,
        high,
        reason,
    )
