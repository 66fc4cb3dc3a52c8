"""What load, the time of day or a trend explains, taken out of every series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from satline.correlation._panel import Floats, Panel
from satline.errors import InputError

Given = Literal["load", "time-of-day", "trend"]
GIVEN: tuple[Given, ...] = ("load", "time-of-day", "trend")
DAY_S = 86_400.0
_DAYS = 3
_CLASSES = 12


def without(panel: Panel, given: Sequence[str]) -> tuple[Panel, int]:
    """`panel` with what `given` explains taken out, and the number of parameters that took.

    load
        Class means over twelve classes of equal count, and a straight line within.
    time-of-day
        The mean of each hour of the day, working days and weekends apart where there are two weeks; needs
        three days.
    trend
        A parabola over the whole recording.

    Raises
    ------
    InputError
        An unknown word; no load; less than three days.
    """
    if not given:
        return panel, 0
    parts = [np.ones((len(panel.time_s), 1))]
    for word in given:
        if word == "load":
            parts.append(_load(panel))
        elif word == "time-of-day":
            parts.append(_day(panel))
        elif word == "trend":
            t = np.linspace(-1, 1, len(panel.time_s))
            parts.append(np.stack([t, t * t - 1 / 3], axis=1))
        else:
            raise InputError(f"--given {word}: not known", hint=f"choose among {', '.join(GIVEN)}")
    design = np.concatenate(parts, axis=1)
    return replace(panel, values=residuals(panel.values, design)), design.shape[1] - 1


def residuals(values: Floats, design: Floats) -> Floats:
    """What least squares on `design` leaves of each row; NaN where either is missing."""
    usable = np.isfinite(design).all(axis=1)
    found = np.full(values.shape, np.nan)
    groups: dict[bytes, list[int]] = {}
    good = np.isfinite(values) & usable
    for k, row in enumerate(np.packbits(good, axis=1)):
        groups.setdefault(row.tobytes(), []).append(k)
    for listed in groups.values():
        rows = np.array(listed)
        at = np.flatnonzero(good[rows[0]])
        if len(at) <= design.shape[1]:
            continue
        left, size, _ = np.linalg.svd(design[at], full_matrices=False)
        basis = left[:, size > 1e-9 * size[0]]
        part = values[np.ix_(rows, at)]
        middle = part.mean(axis=1, keepdims=True)
        scale = np.maximum(1e-300, np.abs(part - middle).max(axis=1, keepdims=True))
        away = (part - middle) / scale
        rest = away - (away @ basis) @ basis.T
        # What is left of a series that is explained wholly is rounding.
        rest[np.abs(rest).max(axis=1) < 1e-9] = 0.0
        found[np.ix_(rows, at)] = rest * scale
    return found


def _load(panel: Panel) -> Floats:
    load = panel.load
    good = np.isfinite(load)
    if not good.any() or np.ptp(load[good]) == 0:
        raise InputError(
            f"--given load: the load ({panel.load_axis or 'none'}) is not recorded, or never changes",
            hint="choose another with --load",
        )
    edges = np.unique(np.quantile(load[good], np.linspace(0, 1, _CLASSES + 1)[1:-1]))
    number = np.searchsorted(edges, load, side="right")
    found = np.where(good, load, np.nan)[:, None]
    found = (found - load[good].mean()) / np.ptp(load[good])
    columns = [found]
    for k in range(1, len(edges) + 1):
        columns.append(np.where(good, (number == k).astype(np.float64), np.nan)[:, None])
    return np.concatenate(columns, axis=1)


def _day(panel: Panel) -> Floats:
    good = np.isfinite(panel.time_s)
    days = np.ptp(panel.time_s[good]) / DAY_S if good.any() else 0.0
    if days < _DAYS:
        raise InputError(
            f"--given time-of-day: the recording lasts {days:.1f} days, which do not show a daily course",
            hint="it needs three days; --given trend takes a slow course out",
        )
    t = np.where(good, panel.time_s, 0.0)
    bins = max(1, min(24, int(DAY_S // panel.step_s)))
    hour = np.floor((t % DAY_S) / DAY_S * bins).astype(np.int64)
    if days >= 14:
        hour = hour + bins * (((t // DAY_S).astype(np.int64) + 3) % 7 >= 5)  # 1970-01-01 was a Thursday
    known = np.unique(hour[good])[1:]
    columns = (hour[:, None] == known[None, :]).astype(np.float64)
    columns[~good] = np.nan
    return np.asarray(columns, dtype=np.float64)
