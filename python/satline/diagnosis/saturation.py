"""Is it saturated, and at what load [Bard].

Up to saturation throughput rises with the number of users; beyond it throughput is flat or falls. A broken
line is fitted to throughput against load; the verdict "saturated" needs the breakpoint's interval inside the
range seen with loads measured beyond it, a slope beyond it that is surely less than half of that before, and
signs of waiting there. "Not saturated" needs as good evidence. Everything else is "cannot tell", with the
reason and what to record.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from satline.diagnosis._hinge import (
    Floats,
    Integers,
    Levels,
    firm_levels,
    fit,
    make_levels,
    slope_ratio,
    slopes_at,
)
from satline.diagnosis._load import contended, nongranular
from satline.diagnosis._results import Estimate, Outcome, Saturation
from satline.reduction import Reduction

LEAST_LEVELS = 4
LEAST_OBSERVATIONS = 20
SLOPE_RATIO = 0.5
LEAST_RISE = 1.25
KEPT = 0.85
LOST = 0.65
CHANCE_MISFIT = 2.0


@dataclass(frozen=True)
class Series:
    """What a verdict is made from, one value per observation, NaN where missing.

    number
        Level of each observation; batches: block of successive observations.
    in_transaction
        Users in a transaction; ``None`` when there are no transactions.
    think_s
        Mean time a user waits before a line; ``None``: unknown.
    contended
        For recordings without transactions: does anything show a queue in the topmost classes?
    closed
        The loads are those that a study intended: no users, no throughput.
    """

    load: Floats
    number: Integers
    throughput: Floats
    seconds: Floats
    batches: Integers
    in_transaction: Floats | None = None
    think_s: float | None = None
    contended: bool | None = None
    closed: bool = True


@dataclass(frozen=True)
class _Verdict:
    """Makes a `Saturation` of what all outcomes have in common."""

    load_axis: str
    variable: str
    unit: str
    low: float | None = None
    high: float | None = None

    def __call__(
        self, what: Outcome, reasons: list[str], advice: list[str], **more: Estimate | None
    ) -> Saturation:
        return Saturation(
            what,
            self.load_axis,
            self.low,
            self.high,
            self.variable,
            reasons=tuple(reasons),
            advice=tuple(advice),
            **more,
        )


def judge(
    series: Series, *, load_axis: str, variable: str, unit: str, replicates: int = 1000, seed: int = 1
) -> Saturation:
    """The verdict on a series of observations."""
    outcome = _Verdict(load_axis, variable, unit)
    usable = (series.number >= 0) & np.isfinite(series.throughput)
    if usable.sum() < LEAST_OBSERVATIONS:
        return outcome(
            "cannot-tell", [f"only {int(usable.sum())} usable observations"], ["Record for longer."]
        )
    seen = np.unique(series.number[usable])
    if len(seen) >= LEAST_LEVELS:
        firm = firm_levels(series.number[usable], series.batches[usable])
        if len(firm) < LEAST_LEVELS:
            thin = f"{len(seen) - len(firm)} of {len(seen)} load levels"
            return outcome(
                "cannot-tell",
                [f"{thin} have too few observations for their error to be known"],
                ["Record for longer at each load, or with a shorter interval between samples."],
            )
        series = replace(series, number=np.where(np.isin(series.number, firm), series.number, -1))
    levels = _levels(series, series.throughput, replicates, seed)
    low, high = float(levels.load[0]), float(levels.load[-1])
    outcome = _Verdict(load_axis, variable, unit, low, high)
    count = len(levels.load)
    if count < LEAST_LEVELS:
        return outcome(
            "cannot-tell",
            [f"{count} load level{'s' if count > 1 else ''} cannot show where a curve bends"],
            [
                f"Record at least {LEAST_LEVELS} loads, better 8, from very light to beyond what seems "
                "too much."
            ],
        )
    if high < 2 * low:
        return outcome(
            "cannot-tell",
            [f"the range of loads is narrow: {low:g} to {high:g} users"],
            [f"Record loads from {max(1, round(low / 4))} to {round(high * 2)} users."],
        )
    if not levels.mean.max() > 0:
        return outcome(
            "cannot-tell", ["nothing was completed at any load"], ["See the failures of the users first."]
        )
    doubt = _took_part(series, levels)
    if doubt is not None:
        return outcome("cannot-tell", [doubt], ["Find out why users did not take part; then record again."])
    return _bend(series, _sharpened(series, levels, replicates, seed), outcome)


def _levels(series: Series, value: Floats, replicates: int, seed: int) -> Levels:
    return make_levels(
        series.number,
        series.load,
        value,
        series.seconds,
        series.batches,
        nested=series.closed,
        replicates=replicates,
        seed=seed,
    )


def _sharpened(series: Series, levels: Levels, replicates: int, seed: int) -> Levels:
    """Throughput with less of the noise of think times, where they are known.

    In a closed system X = (N - L) / Z too, by Little's law for the users that think: L users in a
    transaction, mean think time Z over the whole study. At light load it is far less noisy than the count of
    completions. The two are averaged by the inverse of their variances, smoothed over neighbouring loads.
    """
    if series.in_transaction is None or not series.closed or not series.think_s:
        return levels
    same = np.where(np.isfinite(series.throughput), series.load - series.in_transaction, np.nan)
    other = _levels(series, same / series.think_s, replicates, seed)
    if other.mean.shape != levels.mean.shape:
        return levels

    def variance(of: Levels) -> Floats:
        padded = np.pad(of.error**2, 1, mode="edge")
        return np.asarray(np.convolve(padded, np.ones(3) / 3, mode="valid"))

    counted, thought = variance(levels), variance(other)
    share = (thought + 1e-12) / (counted + thought + 2e-12)
    return replace(
        levels,
        mean=share * levels.mean + (1 - share) * other.mean,
        replicates=share * levels.replicates + (1 - share) * other.replicates,
    )


def _bend(series: Series, levels: Levels, outcome: _Verdict) -> Saturation:
    load, high = levels.load, float(levels.load[-1])
    weights = np.minimum(levels.seconds, 3 * np.median(levels.seconds))
    if series.closed:  # a count's variance grows with its mean
        weights = weights / np.maximum(levels.mean, 0.2 * levels.mean.max())
    weights = weights / weights.mean()
    point = fit(load, levels.mean[None, :], weights, origin=series.closed)
    # Lack of fit beyond what the blocks and chance explain widens every interval: conditions drifted.
    error = levels.error
    error = np.maximum(error, 0.5 * np.median(error))
    freedom = max(1, len(load) - 3)
    misfit = float(point.residual[0]) / max(1e-300, float((weights * error**2).mean()) * freedom)
    widened = np.sqrt(misfit) if misfit > CHANCE_MISFIT else 1.0
    means = levels.mean + (levels.replicates - levels.mean) * widened
    fits = fit(load, means, weights, origin=series.closed)

    def estimate(value: Floats, replicates: Floats, unit: str) -> Estimate:
        lower, upper = np.percentile(replicates, [2.5, 97.5])
        centre = float(value[0])
        return Estimate(centre, min(float(lower), centre), max(float(upper), centre), unit)

    held = slopes_at(load, means, weights, point.at, origin=series.closed)
    ratio_low, ratio_high = np.percentile(slope_ratio(held)[:, 0], [2.5, 97.5])
    ratio_any = np.percentile(fits.after / np.where(np.abs(fits.before) > 1e-12, fits.before, 1e-12), 90)
    rises = float(np.percentile(held[:, 0, 0], 2.5)) > 0
    plateau = means[:, load >= point.at[0]].mean(axis=1)
    rise = np.percentile(plateau / np.maximum(means[:, 0], 1e-12), 2.5)
    at = estimate(point.at, fits.at, "users")
    kept = _kept(series)
    estimates = {
        "at": at,
        "throughput_at": estimate(point.top, fits.top, outcome.unit),
        "slope_before": estimate(point.before, fits.before, outcome.unit + " per user"),
        "slope_after": estimate(point.after, fits.after, outcome.unit + " per user"),
    }
    slopes = {k: estimates[k] for k in ("slope_before", "slope_after")}

    bent = bool(rises and ratio_high < SLOPE_RATIO and ratio_any < SLOPE_RATIO)
    # Users that surely lost so much of their throughput are beyond the bend, wherever it lies.
    decisive = kept is not None and kept[1] < LOST
    inside = (at.high < load[-2] - 1e-9 or decisive) and rise > LEAST_RISE
    reasons: list[str] = []
    advice: list[str] = []
    if bent and inside:
        doubt = _doubt(series, kept)
        if doubt is None:
            beyond = int((load > at.high).sum())
            reasons.append(
                f"throughput rises by {at_slope(estimates['slope_before'])} up to {at.value:.3g} users and by"
                f" {at_slope(estimates['slope_after'])} beyond; {beyond} of {len(load)} loads lie "
                "beyond the interval"
            )
            return outcome("saturated", reasons, [], **estimates)
        return outcome("cannot-tell", [doubt[0]], [doubt[1]], **slopes)
    straight = _straight(series, levels, means, weights, kept)
    if straight is not None and not (rises and ratio_high < SLOPE_RATIO):
        return outcome("not-saturated", [straight], [], **slopes)
    if not rises or rise <= LEAST_RISE:
        reasons.append(
            "throughput does not surely rise with load: it is saturated at or below the lowest load, or "
            "load does not drive it"
        )
        advice.append(f"Record lighter loads than {load[0]:g}, and longer.")
    elif bent:
        reasons.append(
            f"throughput bends near {at.value:.3g} users, but the interval [{at.low:.3g}, "
            f"{at.high:.3g}] reaches"
            f" the last but one load, {load[-2]:g}"
        )
        advice.append(f"Record more loads beyond {high:g} users, up to about {round(2 * high)}.")
    elif float(levels.error.max()) > 0.1 * float(levels.mean.max()):
        reasons.append("too few data: the errors are as large as the differences between loads")
        advice.append(f"Record about {_times(levels)} times as long at each load.")
    else:
        reasons.append(
            f"throughput bends, but neither surely nor surely not: slope beyond / before is"
            f" [{ratio_low:.2f}, {ratio_high:.2f}]"
        )
        advice.append(f"Record more loads, up to about {round(2 * high)} users.")
    return outcome("cannot-tell", reasons, advice, **slopes)


def at_slope(slope: Estimate) -> str:
    """A slope in words."""
    return f"{slope.value:.3g} [{slope.low:.3g}, {slope.high:.3g}] per user"


def _times(levels: Levels) -> int:
    return int(
        min(100, max(2, np.ceil((float(levels.error.max()) / (0.05 * float(levels.mean.max()))) ** 2)))
    )


def _kept(series: Series) -> tuple[float, float] | None:
    """Part of a user's throughput at the lightest loads that is kept at the heavier ones: 95 % bounds.

    By the interactive response-time law each user's throughput is (1 − f)/Z, where f is the part of time in
    a transaction and Z the think time; the ratio of two loads' 1 − f is free of the sampling noise of Z. The
    bounds are the least over the upper half of the loads. ``None`` without transactions or intended users.
    """
    if series.in_transaction is None or not series.closed:
        return None
    thinking = 1 - series.in_transaction / np.maximum(series.load, 1e-9)
    made = make_levels(
        series.number, series.load, thinking, series.seconds, series.batches, nested=True, seed=2
    )
    if len(made.load) < 2:
        return None
    light = made.load <= max(made.load[0], made.load[-1] / 4)
    weight = made.load * made.seconds * light
    base = made.replicates @ weight / weight.sum()
    upper = made.load >= made.load[-1] / 2
    base = np.maximum(base, 1e-9)
    ratios = made.replicates[:, upper] / base[:, None]
    lower, higher = np.percentile(ratios, [2.5, 97.5], axis=0)
    return float(lower.min()), float(higher[-1])


def _took_part(series: Series, levels: Levels) -> str | None:
    """Doubt that the intended users were there: far fewer completions than thinking users must have begun."""
    if series.in_transaction is None or not series.closed or not series.think_s:
        return None
    idle = np.where(np.isfinite(series.throughput), series.load - series.in_transaction, np.nan)
    thinking = _levels(series, idle, 2, 1).mean
    if thinking.shape != levels.mean.shape:
        return None
    for part in (slice(None), slice(len(levels.load) // 2, None)):
        expected = float((thinking * levels.seconds)[part].sum()) / series.think_s
        seen = float((levels.mean * levels.seconds)[part].sum())
        if expected > 0 and seen < expected - max(0.3 * expected, 4 * np.sqrt(expected)):
            return (
                f"{seen:.0f} transactions were completed where the users' think times account for"
                f" {expected:.0f}: not all of the intended users took part"
            )
    return None


def _doubt(series: Series, kept: tuple[float, float] | None) -> tuple[str, str] | None:
    """Why a bend in throughput need not be saturation, and what to do; ``None``: no doubt."""
    if kept is not None and kept[1] > KEPT:
        return (
            "throughput levels off although users spend no more of their time in transactions: the "
            "users, not the system, limit it",
            "See whether users failed to log on, died, or the emulator was late.",
        )
    if kept is None and series.contended is False:
        return (
            "throughput levels off, but nothing in the recording waits: more users may simply bring no "
            "more work",
            "Record a heavier period, or response times.",
        )
    if kept is None and series.contended is None:
        return (
            "throughput levels off, but the recording cannot show whether anything waits",
            "Record processor times, delays or response times.",
        )
    return None


def _straight(
    series: Series, levels: Levels, means: Floats, weights: Floats, kept: tuple[float, float] | None
) -> str | None:
    """Evidence that throughput still rises at the top of the range as at its bottom; ``None``: there is
    not enough."""
    if kept is not None:
        if kept[0] > KEPT:
            return (
                f"up to {levels.load[-1]:g} users each user keeps at least {kept[0]:.0%} of the "
                "throughput of the lightest loads"
            )
        return None
    span = levels.load[-1] - levels.load[0]
    at = levels.load[0] + span * np.array([0.4, 0.5, 0.6, 0.7])
    ratio = slope_ratio(slopes_at(levels.load, means, weights, at, origin=series.closed))
    if not np.isfinite(ratio).all():
        return None
    lowest = float(np.percentile(ratio, 2.5, axis=0).min())
    if lowest > SLOPE_RATIO:
        return (
            f"throughput rises at the top of the range with at least {lowest:.0%} of the slope at its "
            "bottom, wherever one"
            f" looks for a bend, up to {levels.load[-1]:.3g} users"
        )
    return None


def saturation(reduction: Reduction, *, seed: int = 1) -> Saturation:
    """The verdict on a reduced recording.

    Throughput is completed transactions per second where there are transactions, else processors in
    problem state.
    """
    observed = reduction.observations
    rate = observed["transaction_rate"]
    transactions = bool(np.isfinite(rate).any()) and float(np.nansum(rate)) > 0
    variable = "transaction_rate" if transactions else "problem_state"
    unit = "per second" if transactions else "processors"
    single = nongranular(reduction, LEAST_OBSERVATIONS) if not transactions else None
    if single is not None:
        loads = reduction.load[reduction.number >= 0]
        return Saturation(
            "nongranular",
            reduction.load_axis,
            float(loads.min()),
            float(loads.max()),
            variable,
            reasons=(single,),
            advice=("Split the batch work into several streams, or judge it by its own running time.",),
        )
    think = reduction.curves.get("think")
    thinks = [(p.mean, p.n) for p in think.points if p.mean is not None] if think else []
    series = Series(
        load=reduction.load,
        number=reduction.number,
        throughput=observed[variable],
        seconds=reduction.seconds,
        batches=reduction.batches,
        in_transaction=observed["users_in_transaction"] if transactions else None,
        think_s=sum(m * n for m, n in thinks) / sum(n for _, n in thinks) if thinks else None,
        contended=contended(reduction),
        closed=reduction.load_axis == "users",
    )
    return judge(series, load_axis=reduction.load_axis, variable=variable, unit=unit, seed=seed)
