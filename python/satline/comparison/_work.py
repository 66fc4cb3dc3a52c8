"""Processor time for each unit of work, before and after: of transactions, of their classes, of users."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from satline.comparison._blocks import Floats, Integers, Side, estimate, in_parts
from satline.comparison._observations import Readings, fetched, placed
from satline.comparison._results import Work
from satline.reduction import Filters, floats

MOST_USERS = 10
LEAST_TRANSACTIONS = 20
LEAST_ACTIVE_S = 60.0
_LONG_S = 6 * 3600.0
_BUCKET_S = 60.0

Amounts = tuple[Floats, Floats]


def per_unit(
    sides: tuple[Side, Side],
    seen: tuple[Sequence[tuple[Readings, Integers]], Sequence[tuple[Readings, Integers]]],
    filters: Filters | None,
) -> list[Work]:
    """Accounts of both sides.

    Parameters
    ----------
    seen
        The readings of each side, each with its observations' places in the side, −1 for those of the other.
    """
    chosen = filters or Filters()
    before, after = (_amounts(parts, side, chosen) for parts, side in zip(seen, sides, strict=True))
    rows = []
    for key in before:
        if key not in after:
            continue
        what, name, unit = key
        sums = before[key], after[key]
        least = {"class": LEAST_TRANSACTIONS, "user": LEAST_ACTIVE_S}.get(what, 0.0)
        if min(float(w.sum()) for _, w in sums) <= least:
            continue
        rows.append(_row(sides, what, name, unit, sums))
    users = sorted((r for r in rows if r.what == "user"), key=lambda r: -r.before * r.counts[0])[:MOST_USERS]
    return [r for r in rows if r.what != "user"] + users


def _row(sides: tuple[Side, Side], what: str, name: str, unit: str, sums: tuple[Amounts, Amounts]) -> Work:
    """Sums by block on both sides as a ratio each, and how much they differ."""
    drawn = []
    for side, (amount, units) in zip(sides, sums, strict=True):
        totals = np.stack([amount, units], axis=1)[:, None, :]
        drawn.append(side.replicate(totals)[:, 0])
    with np.errstate(invalid="ignore", divide="ignore"):
        before, after = (d[:, 0] / d[:, 1] for d in drawn)
        logs = [np.log(np.where(v[1:] > 0, v[1:], np.nan)) for v in (before, after)]
    relative = None
    if before[0] > 0 and after[0] > 0:
        scatters = [s.scatter(units[:, None, None]) for s, (_, units) in zip(sides, sums, strict=True)]
        relative = in_parts(estimate(math.log(after[0] / before[0]), logs, scatters))
    counts = float(sums[0][1].sum()), float(sums[1][1].sum())
    return Work(what, name, unit, float(before[0]), float(after[0]), relative, counts)


def _amounts(
    parts: Sequence[tuple[Readings, Integers]], side: Side, filters: Filters
) -> dict[tuple[str, str, str], Amounts]:
    """Amount and units by block of everything that is accounted."""
    found: dict[tuple[str, str, str], list[Floats]] = {}

    def add(key: tuple[str, str, str], at: Integers, amount: Floats, units: Floats) -> None:
        good = (at >= 0) & np.isfinite(amount) & np.isfinite(units)
        block = side.block[at[good]]
        sums = [np.bincount(block, v[good], side.count).astype(np.float64) for v in (amount, units)]
        if sums[1].sum() > 0:
            known = found.setdefault(key, [np.zeros(side.count), np.zeros(side.count)])
            known[0], known[1] = known[0] + sums[0], known[1] + sums[1]

    for readings, places in parts:
        values, seconds = readings.values, readings.seconds
        done = values["transaction_rate"] * seconds
        for name in ("problem_state", "supervisor_state", "total_cpu"):
            add(("transaction", name, "s"), places, values[name] * seconds, done)
        active = values["active_users"] * seconds
        add(("user", "", "processors"), places, values["user_run"] * seconds, active)
        work = readings.transactions
        one = np.ones(len(work.at))
        for number, kind in enumerate(work.kinds):
            of = work.kind == number
            at = places[work.at[of]]
            add(("class", kind, "s"), at, work.values["cpu"][of], one[of])
        for user, at, amount, units in _users(readings, filters):
            add(("user", user, "processors"), places[at], amount, units)
    return {key: (sums[0], sums[1]) for key, sums in found.items()}


def _users(readings: Readings, filters: Filters) -> list[tuple[str, Integers, Floats, Floats]]:
    """Of each user: observations, processor seconds in them, and seconds in which there were any."""
    long = float(readings.seconds.sum()) > _LONG_S
    bucket_ns = round(1e9 * max(_BUCKET_S if long else 0.0, float(np.median(readings.seconds))))
    rows = fetched(
        readings.recording,
        "user",
        f"""
        SELECT "user" AS name, (time_ns // {bucket_ns} * {bucket_ns} + {bucket_ns // 2})::DOUBLE AS middle,
            sum(cpu) / 1e6::DOUBLE AS cpu, coalesce(sum(s) FILTER (cpu > 0), 0)::DOUBLE AS active
        FROM (SELECT "user", time_ns, processes,
                cpu_us - lag(cpu_us) OVER w AS cpu, (monotonic_ns - lag(monotonic_ns) OVER w) / 1e9 AS s
            FROM "user" WHERE left("user", 1) <> '_' AND {filters.user_sql()}
            WINDOW w AS (PARTITION BY run, "user" ORDER BY monotonic_ns))
        WHERE s > 0 AND cpu >= 0 AND cpu <= 4e6 * s * greatest(16, coalesce(processes, 0))
        GROUP BY ALL ORDER BY name""",
    )
    ends = (readings.middle_s + readings.seconds / 2) * 1e9
    at = placed(floats(rows["middle"]), ends, readings.seconds)
    names, cpu, active = np.asarray(rows["name"]), floats(rows["cpu"]), floats(rows["active"])
    first = np.concatenate([[0], np.flatnonzero(names[1:] != names[:-1]) + 1, [len(names)]]).astype(int)
    return [
        (str(names[a]), at[a:b][inside], cpu[a:b][inside], active[a:b][inside])
        for a, b in pairwise(first)
        if b > a and (inside := at[a:b] >= 0).any()
    ]
