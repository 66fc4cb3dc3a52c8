"""The load of saturation of a study that chose its steps, by the posterior that chose them.

Such a study has windows of unequal length, many of them near the knee, some at loads that it came back to,
and often on a host of which others took more or less meanwhile. `satline.knee` knows all that: drift, what
was left of the CPU in each window, and shapes other than a broken line. So the interval that the study
narrowed is the one that the diagnosis gives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from satline.diagnosis._left import TAKEN, USED
from satline.diagnosis._results import Estimate, LeftCpu, Outcome, Saturation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from satline.knee import Interval, Posterior, Window
    from satline.reduction import Reduction

# As `judge` has it: so sure must it be that throughput bends, and the slope beyond so much less.
SURE, SLOPE_RATIO = 0.975, 0.5
SURELY_NONE = 0.05
FEWEST_WINDOWS, FEWEST_LOADS = 5, 3
# Users at the heaviest loads wait for so much of their responses, or the system does not hold them back.
WAITED = 0.2
# What was left of the CPU limits where the windows say so by this chance; below the second it does not.
LIMITS, LIMITS_NOT = 0.8, 0.2
USERS = "users"


def search_of(description: Mapping[str, Any]) -> tuple[int, int] | None:
    """The most users of the search that chose the steps, and its seed; ``None``: they were stated."""
    search = description.get("study", {}).get("search")
    if not isinstance(search, dict):
        return None
    most, seed = search.get("most_users"), search.get("seed", 1)
    return (most, seed) if isinstance(most, int) and isinstance(seed, int) and most >= 1 else None


def fills_what_was_left(reduction: Reduction) -> bool:
    """Did the heaviest third of the loads use most of the CPU that others left?"""
    curve = reduction.curves.get("busy_of_left")
    points = [p.mean for p in curve.points if p.mean is not None] if curve is not None else []
    heaviest = points[len(points) * 2 // 3 :]
    return bool(heaviest) and min(heaviest) >= USED


def by_posterior(
    verdict: Saturation, windows: Sequence[Window], most_users: int, seed: int, full: bool = False
) -> Saturation:
    """The verdict with the place and the chance of the bend by the posterior; as it was of too few windows.

    Parameters
    ----------
    verdict
        Of the recording as of any other.
    windows
        Of the study.
    full
        The heaviest loads filled what was left of the CPU.
    """
    from satline.knee import fit

    settled = [w for w in windows if w.settled]
    loads = {w.users for w in settled}
    if len(settled) < FEWEST_WINDOWS or len(loads) < FEWEST_LOADS or not any(w.mean > 0 for w in windows):
        return verdict
    found = fit(windows, most_users=most_users, seed=seed)
    knee, chance, heaviest = found.knee, found.chance_within, max(loads)
    outcome, reasons = _outcome(found, settled)
    place = _estimate(knee, USERS)
    made = replace(
        verdict,
        outcome=outcome,
        throughput_variable="transaction_rate",
        range_low=float(min(loads)),
        range_high=float(heaviest),
        at=place if outcome == "saturated" else None,
        bend=place if chance > SURELY_NONE and math.isfinite(knee.value) else None,
        chance=chance,
        carries=knee.low if chance > SURELY_NONE else None,
        regimes=(),
        flat=None,
        left=None,
        usl=None,
        retrograde=None,
        peak=None,
        reasons=reasons,
        advice=() if outcome == "saturated" else _advice(outcome, found, min(loads), heaviest),
    )
    return _with_left(_with_slopes(made, found), full or verdict.left is not None, found, settled)


def in_work(verdict: Saturation, line_s: float, unit: str) -> Saturation:
    """The verdict of windows whose lines count as the work they do, in the measure of that work.

    Parameters
    ----------
    line_s
        Seconds of work that the windows count as one line.
    unit
        Of `work_rate`.
    """

    def scaled(estimate: Estimate | None, unit: str) -> Estimate | None:
        if estimate is None:
            return None
        ends = (estimate.value * line_s, estimate.low * line_s, estimate.high * line_s)
        return Estimate(*ends, unit)

    slope = f"{unit} per user"
    return replace(
        verdict,
        throughput_variable="work_rate",
        throughput_at=scaled(verdict.throughput_at, unit),
        slope_before=scaled(verdict.slope_before, slope),
        slope_after=scaled(verdict.slope_after, slope),
        retrograde=scaled(verdict.retrograde, slope),
    )


def _outcome(found: Posterior, settled: Sequence[Window]) -> tuple[Outcome, tuple[str, ...]]:
    """What the posterior comes to, and why."""
    knee, chance = found.knee, found.chance_within
    heaviest = max(w.users for w in settled)
    loads = len({w.users for w in settled})
    seen = f"{len(settled)} windows at {loads} loads, up to {heaviest} users"
    if chance <= SURELY_NONE:
        return "not-saturated", (f"throughput goes on rising with the users: {seen}",)
    bent = f"throughput bends near {knee.value:.3g} users"
    if chance < SURE or not math.isfinite(knee.high):
        return "partly-known", (f"{bent}, but that it does is not sure ({chance:.0%}): {seen}",)
    ratio = found.slope_ratio
    if not ratio.value < SLOPE_RATIO:
        return "partly-known", (
            f"{bent}, but beyond it still rises at {ratio.value:.0%} of the slope: {seen}",
        )
    if knee.low < min(w.users for w in settled):
        return "partly-known", (f"{bent}, at or below the lightest load: {seen}",)
    if heaviest <= knee.high:
        return "partly-known", (f"{bent}, but no load beyond the interval was seen: {seen}",)
    heavy = [w.waiting for w in settled if w.users >= knee.value and w.waiting is not None]
    if heavy and max(heavy) < WAITED:
        return "partly-known", (
            f"{bent}, but users wait for hardly any of their responses there: they, not the system, limit it",
        )
    return "saturated", (f"{bent}, by {seen}",)


def _advice(outcome: Outcome, found: Posterior, lightest: int, heaviest: int) -> tuple[str, ...]:
    if outcome == "not-saturated":
        return ()
    if found.knee.low < lightest:
        fewest = "a single user saturates" if lightest == 1 else f"{lightest} users saturate"
        return (f"Give the load more of the CPU, or less work: {fewest} it already.",)
    if found.knee.value > heaviest / 2:
        return (f"Allow more users (--most {2 * heaviest}), and more time (--for).",)
    return ("Go on with it: --resume, with a longer --for.",)


def _with_slopes(verdict: Saturation, found: Posterior) -> Saturation:
    """Throughput at the knee, and how it rises below and falls beyond."""
    unit = "per second"
    rate = found.interval(found.draws.rate)
    beyond = found.interval(found.draws.rate * found.slopes)
    made = replace(
        verdict,
        slope_before=_estimate(rate, f"{unit} per user"),
        slope_after=_estimate(beyond, f"{unit} per user") if verdict.outcome == "saturated" else None,
        throughput_at=(
            _estimate(found.throughput(found.knee.value), unit) if verdict.outcome == "saturated" else None
        ),
    )
    if made.outcome == "saturated" and beyond.high < 0:
        return replace(made, retrograde=made.slope_after, peak=made.at)
    return made


def _with_left(verdict: Saturation, full: bool, found: Posterior, settled: Sequence[Window]) -> Saturation:
    """The verdict with what others left of the CPU, where that limits."""
    mean, chance = found.left.mean, found.left.chance
    limits = full if chance is None or LIMITS_NOT < chance < LIMITS else chance >= LIMITS
    if verdict.at is None or mean is None or 1 - mean <= TAKEN or not limits:
        return verdict
    part = [1 - w.taken for w in settled if w.taken is not None and w.users >= verdict.at.value]
    low, high = (min(part), max(part)) if part else (mean, mean)
    left = LeftCpu(mean, min(low, mean), max(high, mean), _estimate(found.knee_of_whole, USERS))
    said = f"others left {low:.0%}" + (f" to {high:.0%}" if high - low >= 0.005 else "")
    return replace(
        verdict, left=left, reasons=(*verdict.reasons, f"{said} of the CPU where it held users back")
    )


def _estimate(interval: Interval, unit: str) -> Estimate:
    return Estimate(interval.value, interval.low, interval.high, unit)
