"""Where the users' time went in each load class: running, waiting for a processor, pages, I/O, held back,
other."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from satline.diagnosis._held import held_back
from satline.diagnosis._histories import Histories
from satline.diagnosis._partial import Floats, Integers
from satline.diagnosis._results import HeldUp, WaitingUser, WaitPart, WaitShares
from satline.diagnosis._told import LOCKS, Told, told
from satline.reduction import (
    Readings,
    Reduction,
    Source,
    Table,
    numbers_table,
    reading,
    readings_of,
    settle,
)

PARTS = ("run", "cpu_wait", "page_wait", "io_wait", "throttled", "eligible", "other")
MOST_USERS = 5
MOST_OBSERVATIONS = 300
_CLOCKS = ("cpu_us", "run_delay_us", "io_delay_us", "eligible_us")


def wait_shares(
    reduction: Reduction, recording: Source | None = None, history: Histories | None = None
) -> tuple[WaitShares, ...]:
    """The users' time by load class, in order of load.

    Parameters
    ----------
    recording
        Where given, the users that waited most are named, and it is seen by which method page and I/O wait
        were found. With delay accounting they are times that add up; without, tasks that were seen waiting.
    history
        Where given too, waits for locks are a part of their own, and it is told who waited for whom, if the
        kernel told that.

    Returns
    -------
    Empty where neither transactions nor users were recorded. Shares are of transaction time where there were
    transactions, and then add up to at most 1; else of the time users ran or waited.
    """
    curves = reduction.curves
    if not any(f"user_{part}" in curves for part in PARTS):
        return ()
    transactions = "users_in_transaction" in curves
    connection = reading(recording) if recording is not None else None
    sampled = connection is not None and not _accounted(connection)
    users = _waiting_users(readings_of(recording), reduction) if recording is not None else {}
    kernel = told(history) if history is not None else None
    locks = _at_locks(reduction, history) if kernel is not None and history is not None else None
    found = []
    for k, load_class in enumerate(reduction.classes):
        at_locks = _of_class(reduction, locks, k) if locks is not None else None
        shares = (_of_transactions if transactions else _of_activity)(reduction, k, at_locks)
        parts = tuple(WaitPart(part, *shares[part], _method(part, sampled)) for part in shares)
        whole = "transaction time" if transactions else "time run or waiting"
        held_up = _held_up(kernel, reduction.number == k) if kernel is not None else ()
        found.append(WaitShares(load_class.low, load_class.high, whole, parts, users.get(k, ()), held_up))
    return tuple(found)


Known = tuple[float | None, float | None]


def _at_locks(reduction: Reduction, history: Histories) -> NDArray[np.float64] | None:
    """Mean number of users that wait for locks in each observation; ``None``: nothing is known of users."""
    held = held_back(reduction, history)
    if held is None or not held.users:
        return None
    return np.asarray(np.sum([own.lock for own in held.users.values()], axis=0))


def _of_class(reduction: Reduction, course: NDArray[np.float64], k: int) -> Known:
    """Mean by time of a course in a class, and its standard error by blocks of successive observations."""
    inside = reduction.number == k
    if not inside.any():
        return None, None
    seconds = reduction.seconds[inside]
    mean = float(np.average(course[inside], weights=seconds))
    _, block = np.unique(reduction.batches[inside], return_inverse=True)
    left = np.bincount(block.ravel(), (course[inside] - mean) * seconds)
    count = len(left)
    error = float(np.sqrt((left**2).sum() * count / (count - 1)) / seconds.sum()) if count > 1 else None
    return mean, error


def _held_up(kernel: Told, where: NDArray[np.bool_]) -> tuple[HeldUp, ...]:
    """Who waited for whom there: for locks, and for the programs that answer several users."""
    found = []
    for cause in LOCKS:
        blame = kernel.blame((cause,), where)
        if blame is not None:
            holders = blame.holders[:MOST_USERS]
            whos, parts = tuple(h.who for h in holders), tuple(h.part for h in holders)
            found.append(HeldUp(cause, blame.users, blame.waiting, whos, parts))
    for who, users, share in kernel.servers(where)[:MOST_USERS]:
        found.append(HeldUp("local", users, share, (who,), (1.0,)))
    return tuple(found)


def _method(part: str, sampled: bool) -> str:
    if part == "other":
        return "what is left"
    return "sampled states" if sampled and part in {"page_wait", "io_wait"} else "accumulators"


def _mean(reduction: Reduction, variable: str, k: int) -> tuple[float | None, float | None]:
    """Mean and standard error of a variable in a class."""
    curve = reduction.curves.get(variable)
    if curve is None:
        return None, None
    point = curve.points[k]
    return point.mean, point.honest_error if point.honest_error is not None else point.standard_error


def _of_transactions(reduction: Reduction, k: int, locks: Known | None) -> dict[str, Known]:
    """Waits for locks, where they are known, are taken from the rest: what is left is for another process."""
    found = {part: _mean(reduction, f"share_{part}", k) for part in PARTS}
    whole, _ = _mean(reduction, "users_in_transaction", k)
    if locks is None or locks[0] is None or not whole:
        return found
    share, error = locks[0] / whole, None if locks[1] is None else locks[1] / whole
    other, of_other = found.pop("other")
    rest = None if other is None else max(0.0, other - share)
    return {**found, "lock_wait": (share, error), "other": (rest, of_other)}


def _of_activity(reduction: Reduction, k: int, locks: Known | None) -> dict[str, Known]:
    """Ratios of means; errors as if the whole were known, which makes them a little too small for large
    parts."""
    known = {part: _mean(reduction, f"user_{part}", k) for part in PARTS}
    if locks is not None:
        known["lock_wait"] = locks
    whole = sum(mean for mean, _ in known.values() if mean is not None)
    if not whole > 0:
        return dict.fromkeys(known, (None, None))
    return {
        part: (None if mean is None else mean / whole, None if error is None else error / whole)
        for part, (mean, error) in known.items()
    }


def _accounted(connection: duckdb.DuckDBPyConnection) -> bool:
    """Was block I/O delay accounted at all, or told by the kernel at context switches?"""
    has = "io_delay_us IS NOT NULL OR file_lock_wait_us IS NOT NULL"
    return bool(connection.execute(f'SELECT 1 FROM "user" WHERE {has} LIMIT 1').fetchall())


def _waiting_users(readings: Readings, reduction: Reduction) -> dict[int, tuple[WaitingUser, ...]]:
    """By class, the users that waited most for processors, block devices and admission together.

    What a user gained in an observation is its reading at the end less that at the beginning. Of a class with
    many observations some hundreds, evenly spread, will do to name the users."""
    chosen = _spread(reduction)
    run, begin, end = (
        np.asarray(reduction.observations[name][chosen], dtype=np.float64).astype(np.int64)
        for name in ("run", "t0", "t1")
    )
    number = reduction.number[chosen]
    table = readings.of("user", _CLOCKS)
    if table is None:
        rows = _gained_by_sql(readings.connection, run, begin, end, number)
    else:
        rows = _gained(table, run, begin, end, number)
    seconds = np.bincount(number, weights=reduction.seconds[chosen])
    found: dict[int, tuple[WaitingUser, ...]] = {}
    waited = {(k, user): sum(v or 0.0 for v in values[1:]) for k, user, *values in rows}
    for k, user, *values in sorted(rows, key=lambda row: (row[0], -waited[row[0], row[1]], row[1])):
        if waited[k, user] > 0 and len(found.get(k, ())) < MOST_USERS:
            parts = [None if v is None else v / 1e6 / float(seconds[k]) for v in values]
            found[k] = (*found.get(k, ()), WaitingUser(user, *parts))
    return found


def _gained(table: Table, run: Integers, begin: Integers, end: Integers, number: Integers) -> list[Any]:
    """Class, user, and what each of `_CLOCKS` gained in the observations of the class, from readings."""
    rows = []
    both = {}
    for user, times, own in table.each():
        if user.startswith("_"):
            continue
        if id(times) not in both:
            both[id(times)] = times.at(run, begin), times.at(run, end)
        first, last = both[id(times)]
        inside = (first >= 0) & (last >= 0)
        sums: list[Floats] = []
        for clock in _CLOCKS:
            gain = own[clock][last] - own[clock][first] if clock in own else np.full(len(run), np.nan)
            known = inside & (gain >= 0)
            total = np.bincount(number[known], gain[known], len(run) and number.max() + 1)
            sums.append(np.where(np.bincount(number[known], minlength=len(total)), total, np.nan))
        for k in range(len(sums[0])):
            rows.append((k, user, *(None if np.isnan(v[k]) else float(v[k]) for v in sums)))
    return rows


def _gained_by_sql(
    connection: duckdb.DuckDBPyConnection, run: Integers, begin: Integers, end: Integers, number: Integers
) -> list[Any]:
    """The same, where there are too many readings to be held."""
    ends = {
        "run": np.tile(run, 2),
        "at": np.concatenate([begin, end]),
        "last": np.repeat([False, True], len(run)),
        "observation": np.tile(np.arange(len(run)), 2),
        "class": np.tile(number, 2),
    }
    settle(connection)
    connection.register("wait_end", numbers_table(ends))
    # One pass over the users' readings: joined with themselves they would be many.
    gains = ", ".join(f"max(u.{n}) FILTER (last) - max(u.{n}) FILTER (NOT last) AS {n}" for n in _CLOCKS)
    sums = ", ".join(f"sum({n}) FILTER ({n} >= 0)::DOUBLE AS {n}" for n in _CLOCKS)
    return connection.execute(f"""
        WITH gain AS (
            SELECT e.class, u."user", {gains} FROM "user" u
            JOIN wait_end e ON u.run = e.run AND u.monotonic_ns = e.at
            WHERE left(u."user", 1) <> '_' GROUP BY e.observation, e.class, u."user")
        SELECT class, "user", {sums} FROM gain GROUP BY class, "user"
    """).fetchall()


def _spread(reduction: Reduction) -> NDArray[np.int64]:
    """At most `MOST_OBSERVATIONS` of each class, evenly spread over it, in order."""
    chosen = []
    for k in range(len(reduction.classes)):
        inside = np.flatnonzero(reduction.number == k)
        take = min(len(inside), MOST_OBSERVATIONS)
        chosen.append(inside[np.linspace(0, len(inside) - 1, take).astype(np.int64)] if take else inside)
    return np.sort(np.concatenate(chosen)) if chosen else np.zeros(0, dtype=np.int64)
