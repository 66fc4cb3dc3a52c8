"""How far a day is from the usual, against how far days usually are.

Each day is foretold from the days before it, by the same hours and the same kind of day (working day,
weekend), later ones counting more, and at equal load. It is done on arsinh(value / its usual size), which is
the value itself where that is small and its logarithm where it is large. The errors of these forecasts over
past days tell how large an error is usual: drifts, weekly courses and days that resemble each other are all
in them. So a quiet host raises few alarms whatever its series are like (benches/correlation/history.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satline.history._figures import Figures, Floats, is_weekend

# Whole day, then six parts of four hours: trouble that lasts some hours is diluted in a day's mean.
PARTS = (slice(0, 24), *(slice(k, k + 4) for k in range(0, 24, 4)))
_KIND_DAYS = 10
_LEAST_KIND = 2
LEAST_ERRORS = 6
_ERRORS = 40
_FORGET = 0.85
_ALIKE_HOURS = 8.0
_KEEP = 0.95


@dataclass(frozen=True)
class Forecasts:
    """Errors of the forecasts in arsinh's terms: shape (days, parts, series), NaN where none was made.

    doubt
        What is added to their usual size because the course with load is not known well: a load beyond those
        seen makes a forecast less sure.
    expected
        The forecast itself, of the same shape, in the unit of the series.
    """

    errors: Floats
    doubt: Floats
    expected: Floats


def forecasts(figures: Figures, usable: NDArray[np.bool_]) -> Forecasts:
    """Foretell every day from the `usable` ones before it."""
    scale = _scale(figures.values)
    values = np.arcsinh(figures.values / scale)
    load = np.arcsinh(figures.load / _scale(figures.load[:, :, None])[0])
    days, _, series = values.shape
    errors = np.full((days, len(PARTS), series), np.nan)
    expected, doubt = np.full_like(errors, np.nan), np.zeros_like(errors)
    weekend = np.array([is_weekend(d) for d in figures.days])
    # Sums for the slope on load, over hours of past days: errors of value and of load.
    cross, square, own, hours = (np.zeros(series) for _ in range(4))
    for d in range(days):
        same = [e for e in range(d) if usable[e] and weekend[e] == weekend[d]][-_KIND_DAYS:]
        if len(same) < _LEAST_KIND:
            # Days of the other kind are no measure: an error from them would count as usual ever after.
            continue
        weights = _FORGET ** np.arange(len(same) - 1, -1, -1.0)
        base = _mean(values[same], weights)
        rest = values[d] - base
        load_rest = load[d] - _mean(load[same], weights)
        known_load = np.isfinite(load_rest)
        slope = np.where(square > 0, cross / np.where(square > 0, square, 1.0), 0.0)
        shift = np.where(known_load, load_rest, 0.0)[:, None] * slope
        left = rest - shift
        # Standard error of the slope; hours of a day resemble each other.
        spread = np.maximum(0.0, own - cross * slope) / np.maximum(1.0, hours)
        slope_error = np.sqrt(_ALIKE_HOURS * spread / np.where(square > 0, square, np.inf))
        with np.errstate(invalid="ignore", divide="ignore"):
            for p, part in enumerate(PARTS):
                good = np.isfinite(left[part])
                n = good.sum(axis=0)
                enough = n >= (1 if p else 3)
                reach = load_rest[part][known_load[part]]
                doubt[d, p] = abs(float(reach.mean())) * slope_error if len(reach) else 0.0
                total = np.where(good, left[part], 0.0).sum(axis=0)
                errors[d, p] = np.where(enough, total / np.maximum(n, 1), np.nan)
                foretold = np.where(good, np.sinh(base[part] + shift[part]), 0.0).sum(axis=0)
                expected[d, p] = np.where(enough, scale * foretold / np.maximum(n, 1), np.nan)
        if usable[d]:
            both = np.isfinite(rest) & known_load[:, None]
            moved = np.where(known_load, load_rest, 0.0)[:, None]
            value = np.where(both, rest, 0.0)
            cross = _KEEP * cross + (value * moved).sum(axis=0)
            square = _KEEP * square + np.where(both, moved**2, 0.0).sum(axis=0)
            own = _KEEP * own + (value**2).sum(axis=0)
            hours = _KEEP * hours + both.sum(axis=0)
    return Forecasts(errors, doubt, expected)


@dataclass(frozen=True)
class Usual:
    """Errors of a day in units of the usual error, as normal deviates; shape (parts, series).

    deviate
        Infinite where every past error was nothing; NaN with fewer than six.
    number
        Past errors behind it.
    restless
        Series that are nothing in most hours, or whose past errors were mostly small and a few large: bursts
        are in their nature. A tenth of the range that they ever covered counts as usual.
    """

    deviate: Floats
    number: Floats
    restless: NDArray[np.bool_]


def usual(figures: Figures, made: Forecasts, usable: NDArray[np.bool_], day: int) -> Usual:
    """How usual the errors of `day` are, by those of the days before."""
    past = [e for e in range(day) if usable[e]][-_ERRORS:]
    errors = made.errors
    shape = errors.shape[1:]
    if not past:
        return Usual(np.full(shape, np.nan), np.zeros(shape), np.zeros(shape, dtype=np.bool_))
    before = errors[past]
    good = np.isfinite(before)
    number = good.sum(axis=0)
    squares = np.where(good, before, 0.0) ** 2
    second = squares.sum(axis=0) / np.maximum(number, 1)
    fourth = (squares**2).sum(axis=0) / np.maximum(number, 1)
    size = np.sqrt(second)
    restless = (second > 0) & (fourth > 5.0 * second**2)
    seen = np.arcsinh(figures.values[:day][usable[:day]] / _scale(figures.values))
    there = np.isfinite(seen)
    idle = (there & (seen == 0)).sum(axis=(0, 1)) > 0.5 * there.sum(axis=(0, 1))
    restless |= idle[None, :]
    with np.errstate(invalid="ignore"):
        reach = np.fmax.reduce(seen, axis=(0, 1)) - np.fmin.reduce(seen, axis=(0, 1))
    size = np.where(restless, np.fmax(size, 0.1 * reach[None, :]), size)
    now = errors[day]
    size = np.where(size > 0, np.hypot(size, made.doubt[day]), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(size > 0, now / np.where(size > 0, size, 1.0), np.where(now == 0, 0.0, np.inf))
    t = np.where(np.isfinite(now) & (number >= LEAST_ERRORS), t, np.nan)
    # Student's t as the normal deviate that is as seldom [Wallace 1959], so that days with few errors behind
    # them compare with later ones. Not by scipy's tails: so far out they are 0, and all deviates alike.
    freedom = np.maximum(1, number)
    with np.errstate(invalid="ignore"):
        z = (8 * freedom + 1) / (8 * freedom + 3) * np.sqrt(freedom * np.log1p(t**2 / freedom))
    t = np.where(np.isinf(t), t, np.copysign(z, t))
    return Usual(t, number.astype(np.float64), restless)


def _scale(values: Floats) -> Floats:
    """Usual size of each series: the mean of what is not nothing."""
    size = np.abs(values)
    some = np.isfinite(size) & (size > 0)
    mean = np.where(some, size, 0.0).sum(axis=(0, 1)) / np.maximum(1, some.sum(axis=(0, 1)))
    return np.where(mean > 0, mean, 1.0)


def _mean(values: Floats, weights: Floats) -> Floats:
    """Weighted mean over the first axis of what is there."""
    good = np.isfinite(values)
    w = weights.reshape(-1, *([1] * (values.ndim - 1)))
    total = np.where(good, w, 0.0).sum(axis=0)
    summed = np.where(good, values * w, 0.0).sum(axis=0)
    return np.where(total > 0, summed / np.where(total > 0, total, 1.0), np.nan)
