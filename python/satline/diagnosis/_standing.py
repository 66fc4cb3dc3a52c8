"""What is known without a knee: how full every resource was, how much room is left, and when it was short.

A curve that bends needs loads beyond saturation; most recordings of the world have none. But how full each
resource was is known from the first two readings on, and so is a bound: load cannot grow further than the
fullest resource has room.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from satline.diagnosis._carried import carried
from satline.diagnosis._histories import Histories
from satline.diagnosis._resources import uses
from satline.diagnosis._results import Estimate, Likely, ResourceUse, Room, Standing
from satline.diagnosis._series import student
from satline.diagnosis._use import Mask, Use, quantile
from satline.reduction import Reduction

Floats = NDArray[np.float64]

# Short for less of the time than this, and in fewer observations than that, is nothing to act on.
SELDOM, LEAST_SHORT = 0.01, 3
MOSTLY = 0.5
# A part of the chance that stays with what was not recorded: always, and for each kind of wait not recorded.
UNKNOWN, BLIND = 0.08, 0.12
# How far a full resource speaks for itself: with a queue seen before it, without any signal, against one.
WAITED, UNSEEN, NOT_WAITED = 1.0, 0.6, 0.1
# What a probe shows makes nothing likelier than this.
PROBED = (1 - UNKNOWN) * UNSEEN
# What is short and waited for holds back at least so much of a user, whatever clocks of single users say.
LEAST_HELD = 0.02
LEAST_DAYS = 2.0
HOUR_S = 3600.0
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class Assessment:
    """The standing, and in which observations what was short, for analyses that go on from there.

    short
        By component, where it was short.
    uses
        The course of every resource.
    """

    standing: Standing
    short: dict[str, Mask] = field(default_factory=dict)
    uses: tuple[Use, ...] = ()

    @property
    def limited(self) -> bool:
        """Is the likeliest cause a limit of a group, a lock or a thread, seen with whom it holds back?"""
        likely = self.standing.likely
        return bool(likely) and any(use.says and use.name == likely[0].resource for use in self.uses)

    @property
    def pressed(self) -> Mask | None:
        """Where anything was short that something waited for, or that nothing contradicts; ``None``: nothing
        was recorded."""
        return np.logical_or.reduce(list(self.short.values())) if self.short else None


def assess(reduction: Reduction, history: Histories) -> Assessment:
    """How every recorded resource stood, over the observations of a reduction."""
    found = uses(reduction, history)
    seconds = reduction.seconds
    rows = tuple(
        sorted((_summed(use, reduction) for use in found), key=lambda row: (-row.short, -_fullness(row)))
    )
    short: dict[str, Mask] = {}
    for use in found:
        counted = _counted(use)
        if counted.any():
            short[use.component] = short.get(use.component, np.zeros(len(seconds), dtype=bool)) | counted
    whole = float(seconds.sum())
    pressed = np.logical_or.reduce(list(short.values())) if short else np.zeros(len(seconds), dtype=bool)
    part = float(seconds[pressed].sum()) / whole if whole > 0 else 0.0
    seldom = part < SELDOM or (int(pressed.sum()) < LEAST_SHORT and part < MOSTLY)
    known = [row for row in rows if row.mean is not None]
    state: Room = "unknown" if not known and not short else "room"
    if not seldom:
        state = "short" if part >= MOSTLY else "short at times"
    times = _times(reduction)
    span = float(times[-1] - times[0] + seconds[0]) if times is not None and len(times) else whole
    standing = Standing(
        state,
        rows,
        _headroom(rows),
        part,
        _likely(found, seconds) if not seldom else (),
        whole,
        min(1.0, whole / span) if span > 0 else 1.0,
        _when(pressed, times, seconds) if not seldom else "",
        len(seconds),
        carried=carried(reduction, history, found),
    )
    return Assessment(standing, short, found)


def _counted(use: Use) -> Mask:
    """Where a resource counts as short: full, and where signals of waiting were recorded, waited for."""
    return use.short if use.confirmed is None else use.confirmed


def _fullness(row: ResourceUse) -> float:
    return row.high95 / row.limit if row.high95 is not None else -1.0


def _summed(use: Use, reduction: Reduction) -> ResourceUse:
    """The figures of one course."""
    seconds = reduction.seconds
    part = _recorded(use, seconds)
    total = part * float(seconds.sum())
    short = float(seconds[use.short].sum()) / total if total > 0 else 0.0
    confirmed = None if use.confirmed is None else float(seconds[use.confirmed].sum()) / max(total, 1e-12)
    if use.fraction is None or not np.isfinite(use.fraction).any():
        return ResourceUse(
            use.name, use.component, None, None, None, use.limit, short, confirmed, None, False, use.of
        )
    known = np.isfinite(use.fraction)
    values, weight, block = use.fraction[known], seconds[known], reduction.batches[known]
    mean = _mean(values, weight, block)
    high95 = quantile(values, weight, 0.95)
    most = float(values.max())
    headroom = None
    # By the 95th percentile: what counts is the busy hour, not the mean of the night.
    if use.scales and not use.lower_bound and high95 > 0:
        headroom = use.limit / high95
    return ResourceUse(
        use.name,
        use.component,
        mean,
        high95,
        most,
        use.limit,
        short,
        confirmed,
        headroom,
        use.lower_bound,
        use.of,
        part,
        use.upper_bound,
    )


def _recorded(use: Use, seconds: Floats) -> float:
    """Part of the time in which a resource was recorded: nothing is known of the rest."""
    if use.fraction is None or not np.isfinite(use.fraction).any():
        return 1.0
    known = np.isfinite(use.fraction) | use.short
    return float(seconds[known].sum() / seconds.sum())


def _mean(values: Floats, weight: Floats, block: NDArray[np.int64]) -> Estimate:
    """Mean by time, with the interval of means of blocks of successive observations."""
    mean = float(np.average(values, weights=weight))
    _, place = np.unique(block, return_inverse=True)
    length = np.bincount(place, weight)
    count = len(length)
    if count < 2:
        return Estimate(mean, max(0.0, float(values.min())), min(1.0, float(values.max())), "fraction")
    means = np.bincount(place, weight * values) / length
    share = length / length.sum()
    error = math.sqrt(float((share**2 * (means - mean) ** 2).sum()) * count / (count - 1))
    wide = 1.96 * student(max(1.0, count - 1.0)) * error
    return Estimate(mean, max(0.0, mean - wide), min(1.0, mean + wide), "fraction")


def _headroom(rows: Sequence[ResourceUse]) -> Estimate | None:
    """By what factor load may grow before the first resource is short; ``None`` where no use tells it.

    The value is by the 95th percentile of each resource's use, the low end by its greatest use.
    """
    known = [row for row in rows if row.headroom is not None and row.most]
    if not known:
        return None
    value = min(row.headroom for row in known if row.headroom is not None)
    low = min(row.limit / row.most for row in known if row.most)
    high = min(row.limit / row.mean.value if row.mean and row.mean.value > 0 else math.inf for row in known)
    return Estimate(value, min(low, value), max(high, value), "times")


def _likely(found: Sequence[Use], seconds: Floats) -> tuple[Likely, ...]:
    """The components that were short, with the chance of each to be what holds the load back.

    Each counts by the time that it was short, times the users that it held back where their waits were
    recorded, and more where something was seen to wait for it; a part is left for what was not recorded. It
    is a weighing of signs, not a measured frequency. A probe alone makes nothing likelier than `PROBED`.
    """
    likely = _by_weight(found, seconds)
    others = [use for use in found if not use.probe]
    if len(others) == len(found):
        return likely
    known = {one.component: one.chance for one in _by_weight(others, seconds)}
    most = {one.component: max(PROBED, known.get(one.component, 0.0)) for one in likely}
    probed = {use.component for use in found if use.probe}
    return tuple(
        replace(one, chance=min(one.chance, most[one.component])) if one.component in probed else one
        for one in likely
    )


def _by_weight(found: Sequence[Use], seconds: Floats) -> tuple[Likely, ...]:
    """See `_likely`."""
    weights: dict[str, tuple[float, str]] = {}
    blind, strongest = UNKNOWN, 0.0
    for use in found:
        if not use.short.any():
            continue
        # What was recorded for a part of the time only counts by its share of that part.
        rate = _recorded(use, seconds)
        factor = np.full(len(seconds), UNSEEN)
        if use.confirmed is not None:
            factor = np.where(use.confirmed, WAITED, NOT_WAITED)
        # Users' own waits decide where they were recorded: a full resource counts by whom it holds back.
        held = 1.0 if use.held is None else np.maximum(use.held, LEAST_HELD)
        weight = float((seconds * factor * held)[use.short].sum()) / rate
        strongest = max(strongest, float((seconds * factor)[use.short].sum() / seconds[use.short].sum()))
        before = weights.get(use.component)
        if before is None or weight > before[0]:
            weights[use.component] = (weight, use.name)
    if not any(use.confirmed is not None for use in found if use.short.any()):
        blind += BLIND
    total = sum(weight for weight, _ in weights.values())
    if not total > 0:
        return ()
    # What only seems short leaves more room for what was not seen.
    left = (1 - blind) * min(1.0, strongest)
    return tuple(
        Likely(component, name, left * weight / total)
        for component, (weight, name) in sorted(weights.items(), key=lambda item: -item[1][0])
    )


def _times(reduction: Reduction) -> Floats | None:
    """End of each observation, seconds since 1970 UTC; ``None`` without a clock."""
    ended = reduction.observations.get("time_ns")
    if ended is None or not len(ended) or not np.isfinite(ended).all():
        return None
    return np.asarray(ended / 1e9)


def _when(pressed: Mask, times: Floats | None, seconds: Floats) -> str:
    """When it was short, in words: the day and hours (UTC) that hold most of the short time; empty where it
    is spread, or the recording too short to tell."""
    if times is None or not pressed.any():
        return ""
    begins = times - seconds
    if float(times[-1] - begins[0]) < LEAST_DAYS * 86400:
        first, last = begins[pressed].min(), times[pressed].max()
        if (last - first) < 0.5 * (times[-1] - begins[0]):
            return f"between {_clock(first)} and {_clock(last)} UTC"
        return ""
    hour = ((begins // HOUR_S) % 24).astype(np.int64)
    total = np.bincount(hour[pressed], seconds[pressed], 24)
    order = np.argsort(total)[::-1]
    share = np.cumsum(total[order]) / total.sum()
    count = int(np.searchsorted(share, 0.8) + 1)
    if count > 6:
        return ""
    hours = sorted(int(h) for h in order[:count])
    days = {datetime.fromtimestamp(t, UTC).weekday() for t in begins[pressed]}
    which = "on weekdays " if days and max(days) < 5 and len(days) > 1 else ""
    if len(days) == 1:
        which = f"on {_DAYS[days.pop()]} "
    return f"{which}at {_hours(hours)} UTC"


def _clock(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"


def _hours(hours: list[int]) -> str:
    """Hours as ranges: [9, 10, 11, 15] → "9-12, 15-16"."""
    runs: list[list[int]] = []
    for hour in hours:
        if runs and hour == runs[-1][1]:
            runs[-1][1] = hour + 1
        else:
            runs.append([hour, hour + 1])
    return ", ".join(f"{a}-{b} h" for a, b in runs)
