"""The broken line through a series, and what decides of it."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property

import numpy as np

from satline.diagnosis import _users
from satline.diagnosis._hinge import Floats, Hinge, Levels, fit, profile, slope_ratio, slopes_at
from satline.diagnosis._results import Estimate
from satline.diagnosis._series import Series, student
from satline.diagnosis._stability import Cells, Change, Episode, change, rests_on_one_part

SLOPE_RATIO = 0.5
LEAST_RISE = 1.25
FLAT = 0.25


class Bend:
    """The broken line through a series, and what is known of it.

    Attributes
    ----------
    classes
        Levels as coarse as the load classes; `levels` may be finer.
    means
        Replicates of the levels' means, widened by what few blocks and a bad fit leave unknown.
    at
        Interval of the breakpoint; ratio: bounds of the slope beyond by that before.
    """

    def __init__(self, series: Series, levels: Levels, classes: Levels, widen: float = 1.0) -> None:
        self.series, self.levels, self.classes = series, levels, classes
        origin = series.closed
        load, mean = levels.load, levels.mean
        self.weights = _weights(series, levels)
        few = _few(levels.freedom) if not origin else 1.0
        deviations = (levels.replicates - mean) * (student(levels.freedom) * widen * few)
        first = fit(load, mean[None, :], self.weights, origin=origin)
        deviations = deviations * _misfit(levels, self.weights, first)
        self.means = mean + deviations
        self.point, self.fits, (low, high) = profile(load, mean, deviations, self.weights, origin=origin)
        if high >= load[-2] - 1e-9:  # the last but one load ends the search, not the interval
            high = float(load[-1])
        if origin:
            high = min(max(high, self._crossing()), float(load[-1]))
        self.at = Estimate(float(self.point.at[0]), low, high, "users")
        held = slopes_at(load, self.means, self.weights, self.point.at, origin=origin)
        self.ratio = tuple(np.percentile(slope_ratio(held)[:, 0], [2.5, 97.5]))
        free = self.fits.after / np.where(np.abs(self.fits.before) > 1e-12, self.fits.before, 1e-12)
        self.ratio_any = float(np.percentile(free, 90))
        self.rises = float(np.percentile(held[:, 0, 0], 2.5)) > 0
        plateau = self.means[:, load >= self.point.at[0]].mean(axis=1)
        self.rise = float(np.percentile(plateau / np.maximum(self.means[:, 0], 1e-12), 2.5))
        self.kept = _users.kept(series)

    def estimate(self, name: str, unit: str) -> Estimate:
        """A parameter of the line with its percentile interval."""
        lower, upper = np.percentile(getattr(self.fits, name), [2.5, 97.5])
        centre = float(getattr(self.point, name)[0])
        return Estimate(centre, min(float(lower), centre), max(float(upper), centre), unit)

    def _crossing(self) -> float:
        """Upper end of where the line through the light loads meets the throughput of the heaviest.

        In a closed system the bend is round: a broken line bends early, where throughput begins to lag
        behind, and goes on rising. The saturation load is where the asymptotes cross, N* = X_max ÷ (X/N at
        light load), which lies further on.
        """
        last = float(self.levels.load[-1])
        rising = self.fits.top + np.maximum(self.fits.after, 0) * (last - self.fits.at)
        crossing = rising / np.where(np.abs(self.fits.before) > 1e-12, self.fits.before, np.inf)
        return float(np.percentile(crossing, 97.5)) if self.point.after[0] > 0 else 0.0

    @property
    def bent(self) -> bool:
        """Is the slope surely less than half beyond the breakpoint?"""
        return bool(self.rises and self.ratio[1] < SLOPE_RATIO and self.ratio_any < SLOPE_RATIO)

    @property
    def inside(self) -> bool:
        """Is the bend surely inside the range seen?

        Users that surely lost so much of their throughput are beyond it, wherever it lies.
        """
        end = self.classes.load[-2] - 1e-9
        decisive = self.kept is not None and self.kept[1] < _users.LOST and self.at.value < end
        return (self.at.high < end or decisive) and self.rise > LEAST_RISE

    @property
    def place(self) -> Estimate:
        """The breakpoint with its interval; without an upper end where the range seen does not bound it."""
        end = float(self.levels.load[-2]) if len(self.levels.load) > 2 else float(self.levels.load[-1])
        return replace(self.at, high=math.inf) if self.at.high >= end - 1e-9 else self.at

    @property
    def chance(self) -> float:
        """Chance that throughput bends within the range seen.

        A line without a bend and a broken one, which spends two parameters more, are as likely before
        anything was seen; their likelihoods with the errors that the blocks show give the odds (by the
        Bayesian information criterion, whose penalty grows with the number of loads). Of the replicates of
        the broken line only those count whose bend lies inside the range and leaves less than half of the
        slope.
        """
        load, mean = self.levels.load, self.levels.mean
        shape = [load] if self.series.closed else [load, np.ones_like(load)]
        design = np.stack(shape, axis=1) * np.sqrt(self.weights)[:, None]
        target = mean * np.sqrt(self.weights)
        left = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
        straight, broken = float(left @ left), float(self.point.residual[0])
        spread = (self.means - mean).std(axis=0, ddof=1)
        spread = np.maximum(spread, 0.5 * float(np.median(spread)))
        unit = max(1e-300, float((self.weights * spread**2).mean()))
        odds = (straight - broken) / (2 * unit) - math.log(max(2, len(load)))
        bends = 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))
        free = self.fits.after / np.where(np.abs(self.fits.before) > 1e-12, self.fits.before, 1e-12)
        inside = (self.fits.before > 0) & (free < SLOPE_RATIO) & (self.fits.at < load[-2] - 1e-9)
        return float(bends * inside.mean())

    @property
    def flat(self) -> Estimate | None:
        """Throughput of the heaviest third of the loads by that of the lightest, where throughput surely
        differs by no more than `FLAT` between the thirds; ``None``: it does, or may."""
        third = max(1, len(self.levels.load) // 3)
        light = self.means[:, :third].mean(axis=1)
        light = np.where(light > 0, light, np.nan)
        middle = self.levels.mean[third:-third]
        between = float(middle.mean() / self.levels.mean[:third].mean()) if len(middle) else 1.0
        ratio = self.means[:, -third:].mean(axis=1) / light
        if not np.isfinite(ratio).all():
            return None
        low, high = (float(q) for q in np.percentile(ratio, [2.5, 97.5]))
        if not (low >= 1 - FLAT and high <= 1 + FLAT and 1 - FLAT <= between <= 1 + FLAT):
            return None
        centre = float(self.levels.mean[-third:].mean() / self.levels.mean[:third].mean())
        return Estimate(centre, min(low, centre), max(high, centre), "times")

    @property
    def creep(self) -> tuple[float, float]:
        """By what part throughput still rises from the breakpoint to the top of the range: the most likely
        value, and at least."""
        beyond = self.levels.load[-1] - self.point.at[0]
        rise = self.fits.after * beyond / np.maximum(self.fits.top, 1e-12)
        likely = float(self.point.after[0] * beyond / max(1e-12, float(self.point.top[0])))
        return likely, float(np.percentile(rise, 2.5))

    def straight(self) -> str | None:
        """Evidence that throughput still rises at the top of the range as at its bottom; ``None``: there is
        not enough."""
        load = self.levels.load
        if self.kept is not None:
            if self.kept[0] > _users.KEPT:
                return (
                    f"up to {load[-1]:g} users each user keeps at least {self.kept[0]:.0%} of the "
                    "throughput of the lightest loads"
                )
            return None
        at = load[0] + (load[-1] - load[0]) * np.array([0.4, 0.5, 0.6, 0.7])
        origin = self.series.closed
        ratio = slope_ratio(slopes_at(load, self.means, self.weights, at, origin=origin))
        if not np.isfinite(ratio).all():
            return None
        lowest = float(np.percentile(ratio, 2.5, axis=0).min())
        if lowest > SLOPE_RATIO:
            return (
                f"throughput rises at the top of the range with at least {lowest:.0%} of the slope at its "
                f"bottom, wherever one looks for a bend, up to {load[-1]:.3g} users"
            )
        return None

    @cached_property
    def changed(self) -> Change | None:
        """When throughput at equal loads became another, in a recording at rest."""
        if self.series.closed:
            return None
        return change(self.cells, int(np.searchsorted(self.levels.load, self.at.value)))

    @cached_property
    def episode(self) -> Episode | None:
        """The part of a recording at rest on which its bend rests."""
        if self.series.closed:
            return None
        interval = (self.at.low, self.at.high)
        return rests_on_one_part(self.levels.load, self.cells, self.weights, interval, SLOPE_RATIO)

    @cached_property
    def cells(self) -> Cells:
        """Sums by block and level."""
        inside = self.series.usable
        block = np.unique(self.series.batches[inside], return_inverse=True)[1]
        number = np.unique(self.series.number[inside], return_inverse=True)[1]
        s = self.series
        return Cells.of(block, number, s.throughput[inside], s.seconds[inside], s.began_s[inside])


def _few(freedom: float) -> float:
    """How much wider intervals of few blocks must be: a resample of G blocks varies (G − 1)/G as much as the
    truth, and of fewer than 16 it knows the tails badly."""
    blocks = freedom + 1
    return math.sqrt(blocks / max(1.0, blocks - 1)) * (1.5 if blocks < 16 else 1.0)


def _weights(series: Series, levels: Levels) -> Floats:
    """Weights of the levels: their length by the variance at such a load.

    A count's variance grows with its mean. Elsewhere a power of the load is fitted to the variances that the
    blocks show: each level's own would be too noisy.
    """
    cap = 3 if series.closed else 20
    seconds = np.minimum(levels.seconds, cap * np.median(levels.seconds))
    if series.closed:
        weights = seconds / np.maximum(levels.mean, 0.2 * levels.mean.max())
    else:
        variance = levels.error**2 * levels.seconds
        good = (variance > 0) & (levels.load > 0)
        power = 0.0
        if good.sum() >= 3:
            power = float(np.polyfit(np.log(levels.load[good]), np.log(variance[good]), 1)[0])
        weights = seconds / np.maximum(levels.load / levels.load[-1], 0.05) ** float(np.clip(power, 0, 4))
    return np.asarray(weights / weights.mean())


def _misfit(levels: Levels, weights: Floats, point: Hinge) -> float:
    """How much wider intervals must be because the line fits worse than blocks and chance explain:
    conditions drifted, or the bend is round."""
    error = np.maximum(levels.error, 0.5 * np.median(levels.error))
    freedom = max(1, len(levels.load) - 3)
    ratio = float(point.residual[0]) / max(1e-300, float((weights * error**2).mean()) * freedom)
    return float(np.sqrt(ratio)) if ratio > 1 + np.sqrt(5 / freedom) else 1.0
