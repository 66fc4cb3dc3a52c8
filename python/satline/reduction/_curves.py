"""Curves of every kind of variable: of the system, of devices, of transactions, of probes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import duckdb
import numpy as np

from satline.reduction._results import Curve, Point
from satline.reduction._statistics import Floats, Grouped, Integers
from satline.reduction._values import Columns, weight_column
from satline.reduction._variables import Derived

_MANY = 1_000_000
PARTS = ("run", "cpu_wait", "page_wait", "io_wait", "throttled", "eligible")
_SHARES = tuple(f"share_{part}" for part in PARTS)


def with_shares(names: frozenset[str]) -> frozenset[str]:
    """`names`, with every share of transaction time where one is asked for: together they make a whole."""
    return names | set(_SHARES) if any(n.startswith("share_") for n in names) else names


def make_curves(
    connection: duckdb.DuckDBPyConnection,
    wanted: Sequence[Derived],
    columns: Columns,
    number: Integers,
    batches: Integers,
    count: int,
) -> dict[str, Curve]:
    """A curve for each variable of `wanted` that was seen, and for each of its devices or probes.

    Parameters
    ----------
    number, batches
        Class and batch of each observation.
    count
        Number of classes.
    """
    curves: dict[str, Curve] = {}

    def add(d: Derived, name: str, values: Floats, grouped: Grouped, weights: Floats | None) -> None:
        if np.isfinite(values).any():
            curves[name] = Curve(name, d.unit, d.meaning, grouped.points(values, weights))

    whole = [d for d in wanted if not d.per]
    grouped = Grouped(number, batches, count)
    weighing = {d.name: d.weight if d.weight in columns else weight_column(d) for d in whole if d.weight}
    weights = dict(columns.together(dict.fromkeys(weighing.values()))) if weighing else {}
    known = {d.name: d for d in whole}
    # numpy works outside Python's lock: two columns at a time, while DuckDB reads the next.
    with ThreadPoolExecutor(2 if len(number) > _MANY else 1) as pool:
        waiting: list[Future[None]] = []
        for name, values in columns.together(known):
            work = (known[name], name, values, grouped, weights.get(weighing.get(name, "")))
            waiting.append(pool.submit(add, *work))
            del values, work
            if len(waiting) > 1:
                waiting.pop(0).result()
        for one in waiting:
            one.result()
    for per in ("device", "lock", "transaction", "thermometer"):
        several = [d for d in wanted if d.per == per]
        for member, at, found in members(connection, per, several):
            part = Grouped(number[at], batches[at], count)
            for d, (value, weight) in zip(several, found, strict=True):
                add(d, f"{d.name}:{member}" if member else d.name, value, part, weight)
    order = {d.name: k for k, d in enumerate(wanted)}
    return whole_shares(dict(sorted(curves.items(), key=lambda one: order[one[0].partition(":")[0]])))


def members(
    connection: duckdb.DuckDBPyConnection, per: str, wanted: Sequence[Derived]
) -> Iterator[tuple[str, Integers, list[tuple[Floats, Floats | None]]]]:
    """Of each device, lock or probe (of all transactions together, without a name): name, observation of each
    row, values and weights of each variable."""
    if not wanted:
        return
    source = {
        "device": "SELECT device AS member, * FROM satline_device JOIN satline_observation USING (obs)"
        " ORDER BY device, obs",
        "lock": 'SELECT "lock" AS member, * FROM satline_lock JOIN satline_observation USING (obs)'
        ' ORDER BY "lock", obs',
        "transaction": "SELECT '' AS member, * FROM satline_completion WHERE outcome IN ('ok', 'unexpected')"
        " ORDER BY obs, ended",
        "thermometer": "SELECT t.thermometer AS member, o.obs, t.* FROM thermometer t"
        " ASOF JOIN satline_observation o ON t.monotonic_ns >= o.t0 WHERE t.monotonic_ns < o.t1"
        " ORDER BY member, obs",
    }[per]
    columns = "".join(
        f", coalesce(({formula})::DOUBLE, 'nan'::DOUBLE) AS \"{what} {k}\""
        for k, d in enumerate(wanted)
        for what, formula in (("value", d.formula), ("weight", d.weight))
        if formula
    )
    rows = connection.execute(f"SELECT obs, member {columns} FROM ({source})").fetchnumpy()
    at, names = np.asarray(rows["obs"], dtype=np.int64) - 1, np.asarray(rows["member"], dtype=object)
    values = [rows[f"value {k}"] for k in range(len(wanted))]
    weights = [rows.get(f"weight {k}") for k in range(len(wanted))]
    # Rows of one name follow each other.
    first = np.concatenate([[0], np.flatnonzero(names[1:] != names[:-1]) + 1, [len(names)]])
    for a, b in pairwise(first):
        if a < b:
            parts = [(v[a:b], None if w is None else w[a:b]) for v, w in zip(values, weights, strict=True)]
            yield str(names[a]), at[a:b], parts


def make_batches(stretch: Floats) -> Integers:
    """Blocks of successive observations: about √n of them in each stretch of n."""
    if not len(stretch):
        return np.zeros(0, dtype=np.int64)
    first = np.concatenate([[0], np.flatnonzero(np.diff(stretch)) + 1])
    sizes = np.diff([*first, len(stretch)])
    lengths = np.maximum(1, np.ceil(0.8 * np.sqrt(sizes))).astype(np.int64)
    blocks = -(-sizes // lengths)
    before = np.concatenate([[0], np.cumsum(blocks)[:-1]])
    place = np.arange(len(stretch)) - np.repeat(first, sizes)
    return np.asarray(np.repeat(before, sizes) + place // np.repeat(lengths, sizes), dtype=np.int64)


def whole_shares(curves: dict[str, Curve]) -> dict[str, Curve]:
    """The curves, with the `share_` curves of each class scaled down where their sum is above 1.

    Delay clocks can count more than the time there was: on a virtual machine, waits for a capped device were
    seen a fifth too long on average. A single observation may rightly exceed the whole (a wait is counted
    when it ends), so the correction is made on the means of a class.
    """
    parts = [f"share_{part}" for part in PARTS if f"share_{part}" in curves]
    if not parts:
        return curves
    sums = [
        sum(point.mean or 0.0 for point in points)
        for points in zip(*(curves[p].points for p in parts), strict=True)
    ]
    scaled = dict(curves)
    for name in parts:
        points = zip(curves[name].points, sums, strict=True)
        scaled[name] = replace(
            curves[name], points=tuple(_times(p, 1 / total) if total > 1 else p for p, total in points)
        )
    if (other := curves.get("share_other")) is not None:
        scaled["share_other"] = replace(
            other,
            points=tuple(
                replace(p, mean=0.0) if total > 1 and p.mean is not None else p
                for p, total in zip(other.points, sums, strict=True)
            ),
        )
    return scaled


def _times(point: Point, factor: float) -> Point:
    def times(value: float | None) -> float | None:
        return None if value is None else value * factor

    return replace(
        point,
        mean=times(point.mean),
        sd=times(point.sd),
        standard_error=times(point.standard_error),
        honest_error=times(point.honest_error),
        percentiles={at: value * factor for at, value in point.percentiles.items()},
        percentile_intervals={
            at: (times(low), times(high)) for at, (low, high) in point.percentile_intervals.items()
        },
    )
