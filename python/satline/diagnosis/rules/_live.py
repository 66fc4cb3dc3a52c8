"""What a recording of a live host shows by absolute levels, where there are no loads to compare: where the
time of single users goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from satline.diagnosis._held import Held, Waits, listed
from satline.diagnosis._use import Floats, Mask
from satline.diagnosis.rules._context import Context, Measure
from satline.diagnosis.rules._short import users_held

LEAST_BLOCKS = 8


@dataclass(frozen=True)
class Times:
    """Parts of the time in which users ran or waited; they add up to 1.

    page
        Waiting for pages, in block I/O or in reclaim; io: for other block I/O.
    users
        How many of them ran or waited for at least a hundredth of the time.
    """

    run: Measure
    delay: Measure
    page: Measure
    io: Measure
    lock: Measure
    users: int


def inside(context: Context, classes: tuple[int, ...]) -> Mask:
    """The observations of these classes."""
    return np.isin(context.reduction.number, classes)


def mean_over(context: Context, values: Floats, where: Mask) -> Measure | None:
    """Mean by time of a course where it is known and `where` holds; its error is by blocks of successive
    observations. ``None``: known nowhere."""
    return ratio_over(context, values * context.reduction.seconds, context.reduction.seconds, where)


def ratio_over(context: Context, part: Floats, whole: Floats, where: Mask) -> Measure | None:
    """Sum of one course by the sum of another, with its standard error by blocks; ``None``: nothing known.

    Of a short recording single observations are the blocks, and the error is wider by what neighbours have in
    common: √(1 + 2 r).
    """
    known = where & np.isfinite(part) & np.isfinite(whole)
    total = float(whole[known].sum())
    if not total > 0:
        return None
    _, block = np.unique(context.reduction.batches[known], return_inverse=True)
    value = float(part[known].sum()) / total
    left: Floats = np.bincount(block.ravel(), part[known] - value * whole[known]).astype(np.float64)
    wider = 1.0
    if len(left) < LEAST_BLOCKS:
        left = part[known] - value * whole[known]
        square = float((left**2).sum())
        alike = float((left[1:] * left[:-1]).sum()) / square if square > 0 else 0.0
        wider = 1 + 2 * max(0.0, alike)
    count = len(left)
    if count < 2:
        return Measure(value, float("inf"))
    return Measure(value, float(np.sqrt(wider * (left**2).sum() * count / (count - 1)) / total))


def times_of(context: Context, where: Mask, users: Collection[str] | None = None) -> Times | None:
    """Where users' time goes in these observations; ``None`` where it was not recorded.

    A user counts by its own time, however many processes it has: one hog of twenty does not hide what others
    wait for.

    users
        Those that count; ``None``: all.
    """
    held = users_held(context)
    if held is None or not {"io", "delay"} <= held.known:
        return None
    chosen = [own for name, own in held.users.items() if users is None or name in users]
    if not chosen or any(own.paged is None for own in chosen):
        return None
    whole = np.sum([own.wanted for own in chosen], axis=0)
    parts = {
        "run": [np.clip(own.cpu, 0, 1) for own in chosen],
        "delay": [own.delay for own in chosen],
        "page": [own.page + paged(own) for own in chosen],
        "io": [own.io - paged(own) for own in chosen],
        "lock": [own.lock for own in chosen],
    }
    seconds = context.reduction.seconds
    found = {
        name: ratio_over(context, np.sum(courses, axis=0) * seconds, whole * seconds, where)
        for name, courses in parts.items()
    }
    if any(measure is None for measure in found.values()):
        return None
    length = max(float(seconds[where].sum()), 1e-9)
    active = sum(float((own.wanted * seconds)[where].sum()) >= 0.01 * length for own in chosen)
    return Times(**{name: m for name, m in found.items() if m is not None}, users=active)


def waiters(context: Context, kind: str) -> str:
    """Who waits most, for pages (page) or other block I/O (io), at saturation, in words; with the limited
    group that most of them are in. Empty: nobody to speak of, or not recorded."""
    held = users_held(context)
    if held is None:
        return ""
    where, seconds = inside(context, context.top), context.reduction.seconds
    waited = {}
    for name, own in held.users.items():
        course = own.page + paged(own) if kind == "page" else own.io - paged(own)
        waited[name] = float(np.average(course[where], weights=seconds[where])) if where.any() else 0.0
    most = sorted((name for name in waited if waited[name] >= 0.1), key=lambda name: -waited[name])
    if not most:
        return ""
    groups = Counter(held.users[name].group for name in most if held.users[name].group)
    group, count = groups.most_common(1)[0] if groups else ("", 0)
    return listed(most) + (f" in group {group}" if count > len(most) / 2 else "")


def paged(own: Waits) -> Floats:
    """The part of a user's wait for block I/O that is for pages; 0 where that was not recorded."""
    return np.zeros_like(own.io) if own.paged is None else own.paged


def members(context: Context, group: str) -> dict[str, Waits]:
    """The users in a control group; empty where that was not recorded."""
    held: Held | None = users_held(context)
    return {} if held is None else held.inside(group)
