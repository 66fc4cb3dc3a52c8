"""Stretches of time and hours of the day as groups of observations, and their batches."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar
from zoneinfo import ZoneInfo

import numpy as np

from satline.errors import InputError
from satline.reduction._curves import make_batches
from satline.reduction._statistics import Floats, Integers

MOST_STRETCHES = 2000
# From so many on, unbroken pieces of time (days, runs) are taken as independent of each other as a whole.
_PIECES = 4
_GroupT = TypeVar("_GroupT")


def stretches(
    middle: Floats,
    seconds: Floats,
    hours: bool,
    every_s: float,
    timezone: str,
    make: Callable[[str, float, float, float, int, float], _GroupT],
) -> tuple[list[_GroupT], Integers, Integers]:
    """The groups; of each observation its group, and the unbroken piece of time within it.

    Parameters
    ----------
    middle, seconds
        Of each observation: its middle, in seconds since 1970, and its length.
    hours
        Hours of the day, all days together, instead of stretches of `every_s`.
    make
        Makes a group of label, low, high, at, observations, seconds.

    Raises
    ------
    InputError
        There are more than `MOST_STRETCHES`.
    """
    clock = middle + _ahead(middle, timezone)
    key = np.floor(clock / 3600.0) % 24 if hours else np.floor(clock / every_s)
    keys, number = np.unique(key, return_inverse=True)
    if len(keys) > MOST_STRETCHES:
        hint = f"make them at least {every_s * len(keys) / MOST_STRETCHES:.0f} s long"
        raise InputError(f"{len(keys):,} stretches of time are more than {MOST_STRETCHES:,}", hint=hint)
    number = np.asarray(number, dtype=np.int64).reshape(-1)
    order = np.lexsort((middle, number))
    far = np.diff(middle[order]) > 3 * float(np.median(seconds)) if len(order) else np.zeros(0, dtype=bool)
    piece = np.zeros(len(order), dtype=np.int64)
    piece[order[1:]] = np.cumsum(far | (np.diff(number[order]) != 0))
    several_days = len(np.unique(np.floor(clock / 86400.0))) > 1
    step = 1.0 if hours else every_s
    groups = []
    for index, value in enumerate(keys):
        low = float(value) * step
        label = f"{int(value):02d}" if hours else _label(low, every_s, several_days)
        inside = number == index
        length = float(seconds[inside].sum())
        groups.append(make(label, low, low + step, low + step / 2, int(inside.sum()), length))
    return groups, number, piece


def batches_of(number: Integers, pieces: Integers, count: int) -> Integers:
    """Batch of each observation within its group: whole pieces where there are some, else about √n blocks
    of each."""
    batches = np.zeros(len(number), dtype=np.int64)
    for k in range(count):
        inside = np.flatnonzero(number == k)
        of = pieces[inside]
        few = len(np.unique(of)) < _PIECES
        order = np.argsort(of, kind="stable")
        made = np.empty(len(of), dtype=np.int64)
        made[order] = make_batches(of[order].astype(np.float64)) if few else of[order]
        batches[inside] = made
    return batches


def _ahead(moments: Floats, timezone: str) -> Floats:
    """By how many seconds the clock of the zone is ahead of UTC at each moment."""
    zone = ZoneInfo(timezone)
    # A clock changes at quarters of hours only.
    quarters, at = np.unique(np.floor(moments / 900.0), return_inverse=True)
    offsets = [datetime.fromtimestamp(float(q) * 900.0, zone).utcoffset() for q in quarters]
    return np.asarray([o.total_seconds() if o else 0.0 for o in offsets])[np.asarray(at).reshape(-1)]


def _label(seconds: float, every_s: float, several_days: bool) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    if every_s >= 86400 and every_s % 86400 == 0:
        return f"{moment:%Y-%m-%d}"
    shown = f"{moment:%H:%M}" if every_s >= 60 else f"{moment:%H:%M:%S}"
    return f"{moment:%Y-%m-%d} {shown}" if several_days else shown
