"""What the users of a closed system tell besides throughput: who thinks will complete transactions [Bard]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from satline.diagnosis._hinge import Floats, Levels, make_levels
from satline.diagnosis._series import Series, levels_of

# What part of the lightest loads' throughput per user shows that a load is light, or beyond the bend.
KEPT = 0.85
LOST = 0.65
LEAST_THINKING = 0.02


def sharpened(series: Series, levels: Levels, replicates: int, seed: int) -> Levels:
    """Throughput with less of the noise of think times, where they are known.

    In a closed system X = (N - L) / Z too, by Little's law for the users that think: L users in a
    transaction, mean think time Z over the whole study. At light load it is far less noisy than the count of
    completions. The two are averaged by the inverse of their variances, smoothed over neighbouring loads.
    """
    if series.in_transaction is None or not series.counted or not series.closed or not series.think_s:
        return levels
    same = np.where(np.isfinite(series.throughput), series.load - series.in_transaction, np.nan)
    other = levels_of(series, same / series.think_s, replicates, seed)
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


def kept(series: Series) -> tuple[float, float] | None:
    """Part of a user's throughput at the lightest loads that is kept at the heavier ones: 95 % bounds.

    By the interactive response-time law each user's throughput is (1 − f)/Z, where f is the part of time in
    a transaction and Z the think time; the ratio of two loads' 1 − f is free of the sampling noise of Z. The
    bounds are the least over the upper half of the loads. ``None`` without transactions or intended users, or
    where nobody thinks.
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
    if np.percentile(base, 2.5) < LEAST_THINKING:
        return None  # hardly anyone thinks even at the lightest loads: nothing to compare with
    ratios = made.replicates[:, upper] / base[:, None]
    lower, higher = np.percentile(ratios, [2.5, 97.5], axis=0)
    return float(lower.min()), float(higher[-1])


def absent(series: Series, levels: Levels) -> str | None:
    """Doubt that the intended users were there: far fewer completions than thinking users must have begun."""
    if series.in_transaction is None or not series.counted or not series.closed or not series.think_s:
        return None
    idle = np.where(np.isfinite(series.throughput), series.load - series.in_transaction, np.nan)
    thinking = levels_of(series, idle, 2, 1).mean
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


def uneven(series: Series) -> tuple[str, str] | None:
    """Why throughput that goes on rising need not tell that nothing is saturated; ``None``: it does.

    Where short commands are served first, who types them keeps its throughput while who does the work has
    long lost it.
    """
    if series.work_kept is None or series.work_kept > KEPT:
        return None
    top = float(series.load.max())
    return (
        f"throughput still rises at {top:g} users, but by the work that they do users keep only "
        f"{series.work_kept:.0%} of the throughput of the lightest loads: the long commands wait",
        f"Record more loads beyond {top:g} users, up to about {round(2 * top)}.",
    )


def doubt(series: Series, part: tuple[float, float] | None) -> tuple[str, str] | None:
    """Why a bend in throughput need not be saturation, and what to do; ``None``: no doubt."""
    if part is not None and part[1] > KEPT:
        return (
            "throughput levels off although users spend no more of their time in transactions: the "
            "users, not the system, limit it",
            "See whether users failed to log on, died, or the emulator was late.",
        )
    if part is None and series.contended is False:
        return (
            "throughput levels off, but nothing in the recording waits: more users may simply bring no "
            "more work, or something that was not recorded (a lock, a server) holds them back",
            "Record transactions with their response times, the users' delays, or a heavier period.",
        )
    if part is None and series.contended is None:
        return (
            "throughput levels off, but the recording cannot show whether anything waits",
            "Record processor times, delays or response times.",
        )
    return None
