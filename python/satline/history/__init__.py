"""History: recordings kept under rules, and a day held against the days before it [Bitner]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from statistics import NormalDist

import numpy as np

from satline.errors import InputError
from satline.history._add import Added, Pruned, add, prune
from satline.history._figures import Figures, Floats, Row, read_figures
from satline.history._hours import hour_figures, recorded_days
from satline.history._rows import ChangedRow, changed_rows
from satline.history._store import (
    DayNote,
    History,
    Kept,
    Rules,
    check_host,
    known_hosts,
    mixed,
    parse_day,
    today,
    used_bytes,
)
from satline.history._usual import PARTS, Usual, forecasts, usual
from satline.recording import Recording

__all__ = [
    "TOGETHER",
    "Added",
    "ChangedColumn",
    "ChangedRow",
    "DayNote",
    "Figures",
    "History",
    "HistoryComparison",
    "Kept",
    "Pruned",
    "Row",
    "Rules",
    "add",
    "compare_with_history",
    "judge",
    "parse_day",
    "prune",
    "read_figures",
    "today",
    "used_bytes",
]

TOGETHER = "times the usual error"
ALARMS_A_DAY = 0.06
"""Chance that a quiet day raises any alarm: less than one a week."""
# How that is divided: rows that vanish or appear, rows whose columns move together, single columns.
_FOR_ROWS, _FOR_TOGETHER, _FOR_COLUMNS = 0.5, 0.2, 0.3
_LEAST_COLUMNS = 3
_MOST_DEVIATE = 10.0
_WINDOW = 60
_LEAST_CHECKED = 8
_TAIL = 10
_STILL_DAYS = 30


@dataclass(frozen=True)
class ChangedColumn:
    """A variable of a row beyond its usual variation.

    part
        Hours of the day, UTC: ``0-24`` the whole.
    value, expected, reference
        Mean over those hours; the forecast from the days before at this load; that of the good day, ``None``
        where it has none.
    deviate
        The error of the forecast against its usual size, as a normal deviate; infinite where there never was
        one.
    days
        Past days behind that size.
    limit
        The deviate from which it is an alarm.
    never_changed
        It never did in the past days; `deviate` is infinite then.
    """

    name: str
    row: Row
    unit: str
    part: str
    value: float
    expected: float
    reference: float | None
    deviate: float
    days: int
    limit: float
    alarm: bool
    never_changed: bool


@dataclass(frozen=True)
class HistoryComparison:
    """A day against its history.

    reference
        The good day that values are held against; ``None``: none was asked for.
    past
        Days that say what is usual.
    load
        The variable that columns are compared at equal values of.
    alarms
        Rows and columns beyond what is usual.
    judged, unjudged
        Columns with enough past days, and with too few.
    rows, columns
        What changed, alarms first, each by how unusual it is; the rest is there to be looked at.
    notes
        What weakens the answer.
    """

    day: date
    reference: date | None
    past: tuple[date, ...]
    load: str
    alarms: int
    judged: int
    unjudged: int
    rows: tuple[ChangedRow, ...]
    columns: tuple[ChangedColumn, ...]
    notes: tuple[str, ...] = ()


def compare_with_history(
    today: Path | str | date, history: Path | str | History, with_: str = "last-good"
) -> HistoryComparison:
    """Hold a day against a history.

    Parameters
    ----------
    today
        A recording (its last day counts), or a day of the history.
    history
        The history, or its directory.
    with_
        ``last-good``: the last day before that was marked good; ``usual``: no single day; or a day, as
        2026-11-02.

    Raises
    ------
    InputError
        No such recording, day or history; no day was marked good; a recording of another host.
    """
    store = history if isinstance(history, History) else History.open(history)
    files = {day: store.of_day(day) for day in store.all_days()}
    known = known_hosts(store)
    extra = {}
    if not isinstance(today, date):
        recording = Recording.open(today)
        check_host(store, known, recording, today)
        days = recorded_days(recording)
        if not days:
            raise InputError(f"{today}: holds no samples of table system", hint="record for longer")
        # The last day may be a single sample at midnight.
        found = dict(hour_figures(recording, days[-2:]))
        if not found:
            raise InputError(f"{today}: holds no two samples in a row", hint="record for longer")
        day = max(found)
        extra[day] = found[day]
        files.pop(day, None)
    else:
        day = today
        if day not in files:
            near = max((d for d in files if d <= day), default=max(files, default=None))
            hint = f"the nearest is {near}" if near else "`satline history add RECORDING` adds some"
            raise InputError(f"{store.path}: has nothing of {day}", hint=hint)
    before = [d for d in sorted(files) if d < day]
    reference = _reference(store, before, with_)
    past = [d for d in before if d in before[-_WINDOW:] or d == reference]
    figures = read_figures({d: files[d] for d in [*past, *([day] if day in files else [])]}, extra)
    bad = [d for d in past if store.days.get(d, DayNote()).mark == "bad"]
    answer = judge(figures, bad, reference)
    note = mixed(store, known)
    return replace(answer, notes=(*answer.notes, note)) if note else answer


def _reference(store: History, before: Sequence[date], with_: str) -> date | None:
    if with_ == "usual":
        return None
    if with_ == "last-good":
        good = [d for d in before if store.days.get(d, DayNote()).mark == "good"]
        if not good:
            raise InputError(
                f"{store.path}: no day before was marked good",
                hint="`satline history mark DAY good` marks one; usual compares with all",
            )
        return good[-1]
    day = parse_day(with_, "the day to compare with")
    if day not in before:
        raise InputError(f"{day}: the history has nothing of it before", hint="`satline history list`")
    return day


def judge(figures: Figures, bad: Sequence[date] = (), reference: date | None = None) -> HistoryComparison:
    """The last day of `figures` against those before, of which the `bad` ones are no measure."""
    days, last = figures.days, len(figures.days) - 1
    usable = np.array([d not in bad for d in days])
    usable[last] = False
    notes = []
    past = int(usable.sum())
    rows = changed_rows(figures, usable, reference, ALARMS_A_DAY * _FOR_ROWS / 2)
    made = forecasts(figures, usable)
    days_seen = [e for e in range(last) if usable[e]]
    seen = [usual(figures, made, usable, e) for e in days_seen]
    now = usual(figures, made, usable, last)
    t, number = now.deviate, now.number
    limits = _limits(seen, now)
    columns = _columns(figures, made.expected, t, number, limits, reference)
    columns = sorted([*_together(figures, seen, now), *columns], key=lambda c: not c.alarm)
    judged = int(np.isfinite(np.where(np.isinf(t), 0, t)).any(axis=0).sum()) if t.size else 0
    present = int(np.isfinite(figures.values[last]).any(axis=0).sum())
    if past < _LEAST_CHECKED:
        notes.append(
            f"only {past} day{'s' * (past != 1)} before it: what is usual is not known well; columns need"
            f" about {_LEAST_CHECKED + 1} days"
        )
    hours = int(np.isfinite(figures.values[last]).any(axis=1).sum())
    if hours < 24:
        notes.append(f"of that day {hours} hours were recorded; the same hours of other days are compared")
    if not figures.load_variable:
        notes.append("no load was recorded: values are compared whatever the load")
    return HistoryComparison(
        days[last],
        reference,
        tuple(d for d, u in zip(days, usable, strict=True) if u),
        figures.load_variable,
        sum(r.alarm for r in rows) + sum(c.alarm for c in columns),
        judged,
        max(0, present - judged),
        tuple(rows),
        tuple(columns),
        tuple(notes),
    )


def _limits(seen: Sequence[Usual], now: Usual) -> Floats:
    """The deviate from which each column and part is an alarm, shape (parts, series).

    Restless series have a limit of their own, so that they do not hide the others. Each limit is that of the
    normal deviate for all of them at once, or what past days passed as seldom, whichever is greater.
    """
    limits = np.full(now.deviate.shape, np.inf)
    budget = ALARMS_A_DAY * _FOR_COLUMNS / 2
    for kind in (False, True):
        here = (now.restless == kind) & np.isfinite(now.deviate)
        count = int(here.sum())
        if not count:
            continue
        limit = _normal_limit(budget / count)
        greatest = []
        for one in seen:
            there = np.abs(one.deviate[(one.restless == kind) & np.isfinite(one.deviate)])
            if len(there):
                greatest.append(float(there.max()))
        if greatest:
            limit = max(limit, _seldom(greatest, budget))
        limits[here] = limit
    return limits


def _seldom(greatest: Sequence[float], budget: float) -> float:
    """What the greatest of a day passes with a chance of `budget`, by those of past days.

    With n of them, passing all has a chance of 1 in n + 1; beyond them the tail goes on as a power.
    """
    ordered = np.sort(greatest)
    n = len(ordered)
    rank = math.ceil((1 - budget) * (n + 1))
    return float(ordered[rank - 1] if rank <= n else ordered[-1] * (budget * (n + 1)) ** (-1 / _TAIL))


def _together(figures: Figures, seen: Sequence[Usual], now: Usual) -> list[ChangedColumn]:
    """Rows whose columns are further from the usual together than those of any row usually are.

    Of each row and part the root mean square of its columns' deviates, against its mean over past days.
    """
    columns: dict[Row, list[int]] = {}
    for k, row in enumerate(figures.rows):
        if row.entity:
            columns.setdefault(row, []).append(k)
    rows = [r for r, ks in columns.items() if len(ks) >= _LEAST_COLUMNS]
    if not rows or len(seen) < _LEAST_CHECKED:
        return []
    order = np.concatenate([columns[r] for r in rows])
    starts = np.concatenate([[0], np.cumsum([len(columns[r]) for r in rows])[:-1]])

    def size(one: Usual) -> Floats:
        t = one.deviate[:, order]
        good = np.isfinite(t)
        t = np.where(good, np.minimum(np.abs(t), _MOST_DEVIATE), 0.0) ** 2
        n = np.add.reduceat(good, starts, axis=1, dtype=np.int64)
        total = np.add.reduceat(t, starts, axis=1)
        return np.where(n >= _LEAST_COLUMNS, np.sqrt(total / np.maximum(1, n)), np.nan)

    sizes = np.stack([size(one) for one in seen])
    known = np.isfinite(sizes)
    before = np.cumsum(np.where(known, sizes, 0.0), axis=0)
    number = np.cumsum(known, axis=0)
    # A row with few days behind it leans on what deviates are by themselves: 1.
    usually = (np.where(number > 0, before, 0.0) + 3.0) / (number + 3.0)
    past = sizes[1:] / usually[:-1]
    greatest = [float(np.nanmax(p)) for p in past if np.isfinite(p).any()]
    if len(greatest) < _LEAST_CHECKED:
        return []
    limit = _seldom(greatest, ALARMS_A_DAY * _FOR_TOGETHER)
    found = []
    latest = size(now)
    ratio = latest / usually[-1]
    for r, row in enumerate(rows):
        if not np.isfinite(ratio[:, r]).any():
            continue
        p = int(np.nanargmax(ratio[:, r]))
        if ratio[p, r] <= limit:
            continue
        found.append(
            ChangedColumn(
                f"{row.scope} {row.entity}: {len(columns[row])} columns together", row, TOGETHER,
                f"{PARTS[p].start}-{PARTS[p].stop}", float(latest[p, r]), float(usually[-1][p, r]), None,
                float(ratio[p, r]), int(number[-1][p, r]), limit, True,
                math.isinf(ratio[p, r]),
            )
        )  # fmt: skip
    return found


def _normal_limit(chance: float) -> float:
    """z with P(|Z| > z) = `chance`."""
    return -NormalDist().inv_cdf(max(chance, 1e-300) / 2)


def _columns(
    figures: Figures,
    expected: Floats,
    t: Floats,
    number: Floats,
    limits: Floats,
    reference: date | None,
) -> list[ChangedColumn]:
    last = len(figures.days) - 1
    found = []
    size = np.where(np.isnan(t), -1.0, np.abs(t))
    if not size.size:
        return []
    with np.errstate(invalid="ignore"):
        over = np.where(np.isinf(size), np.inf, size / limits)
    woken = _woken(figures, t)
    for k in np.flatnonzero(size.max(axis=0) >= 3.0).tolist():
        p = int(np.argmax(np.nan_to_num(over[:, k], nan=-1.0, posinf=1e300)))
        alarm = bool(size[p, k] > limits[p, k]) if math.isfinite(t[p, k]) else woken
        part = PARTS[p]
        value = _mean(figures.values[last, part, k])
        if value is None:
            continue
        if not math.isfinite(t[p, k]) and abs(value - float(expected[last, p, k])) <= 1e-9 * abs(value):
            continue
        there = None
        if reference is not None and reference in figures.days:
            hours = np.isfinite(figures.values[last, part, k])
            there = _mean(figures.values[figures.days.index(reference), part, k][hours])
        found.append(
            ChangedColumn(
                figures.name(k), figures.rows[k], figures.units[k], f"{part.start}-{part.stop}", value,
                float(expected[last, p, k]), there, float(t[p, k]), int(number[p, k]),
                float(limits[p, k]), alarm, math.isinf(t[p, k]),
            )
        )  # fmt: skip
    found.sort(key=lambda c: (not c.alarm, -min(abs(c.deviate), 1e300) / max(c.limit, 1e-9), c.name))
    return found


def _woken(figures: Figures, t: Floats) -> bool:
    """Is it unusual that a series which never changed changes? By how many did on past days."""
    values = figures.values
    last = len(figures.days) - 1
    with np.errstate(invalid="ignore"):
        low, high = np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)
    events = exposed = 0
    for d in range(3, last):
        below, above = np.fmin.reduce(low[:d], axis=0), np.fmax.reduce(high[:d], axis=0)
        still = (above == below) & np.isfinite(high[d]) & (np.isfinite(high[:d]).sum(axis=0) >= 3)
        exposed += int(still.sum())
        events += int((still & ((high[d] > above) | (low[d] < below))).sum())
    now = int((np.isinf(t)).any(axis=0).sum()) if t.size else 0
    still_now = (
        int((np.fmax.reduce(high[:last], axis=0) == np.fmin.reduce(low[:last], axis=0)).sum()) if last else 0
    )
    # That is taken to be seldom until it is seen to happen: as in a month without it.
    expected = (events + 0.25) / (exposed + _STILL_DAYS * max(1, still_now)) * max(still_now, now)
    return expected <= ALARMS_A_DAY * _FOR_COLUMNS / 2


def _mean(values: Floats) -> float | None:
    good = values[np.isfinite(values)]
    return float(good.mean()) if len(good) else None
