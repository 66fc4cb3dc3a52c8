"""Rows of intervals → runs of readings.

A recording has counters at instants; `sar` prints rates over intervals. Every instant at which an interval
begins or ends becomes a reading, and instants that no interval joins are in different runs: nothing is known
of the time between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from satline.importers._sink import Floats, Integers, Sink


class Interval(NamedTuple):
    """From `start` (``None``: unknown) to `end`, s since 1970 UTC; `steps`: clock steps before it."""

    steps: int
    start: int | None
    end: int


Point = tuple[int, int]


@dataclass
class Series:
    """Rows of one table by end of their interval and entity: column → (value, is it per second).

    constant
        Columns that have the same text in every row.
    """

    table: str
    constant: Mapping[str, str] = field(default_factory=dict)
    rows: dict[tuple[Point, str], dict[str, tuple[float, bool]]] = field(default_factory=dict)
    starts: dict[tuple[Point, str], Point | None] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, interval: Interval, entity: str, values: Mapping[str, tuple[float, bool]]) -> None:
        """Add columns of a row; a column that is there already is replaced."""
        key = ((interval.steps, interval.end), entity)
        self.rows.setdefault(key, {}).update(values)
        self.starts[key] = None if interval.start is None else (interval.steps, interval.start)


def write_runs(series: Sequence[Series], sink: Sink) -> None:
    """Write all series as runs of readings."""
    ends = {point for s in series for point, _ in s.rows}
    joined = {
        (start, point)
        for s in series
        for (point, entity) in s.rows
        if (start := s.starts[point, entity]) is not None
    }
    points = sorted(ends | {start for start, _ in joined})
    place = {point: i for i, point in enumerate(points)}
    cover = np.zeros(len(points) + 1, dtype=np.int64)
    for start, end in joined:
        cover[place[start]] += 1
        cover[place[end]] -= 1
    edges = [0, *(np.flatnonzero(np.cumsum(cover[:-1])[:-1] == 0) + 1).tolist(), len(points)]
    made = [(s, *_amounts(s, place)) for s in series if len(s)]
    for first, last in pairwise(edges):
        sink.begin_run()
        time = np.array([t for _, t in points[first:last]], dtype=np.int64) * 1_000_000_000
        if not any(s.table == "system" for s, *_ in made):
            sink.table("system", time, {})
        for s, names, starts, columns in made:
            run = {c: (v[first:last], rate) for c, (v, rate) in columns.items()}
            _write(s, names, starts[first:last] - first, run, time, sink)


Columns = dict[str, tuple[Floats, bool]]


def _amounts(series: Series, place: Mapping[Point, int]) -> tuple[list[str], Integers, Columns]:
    """Amounts and levels at each point, shape (points, entities), and where each row's interval starts."""
    names = sorted({entity for _, entity in series.rows})
    column_of = {name: i for i, name in enumerate(names)}
    shape = (len(place), len(names))
    starts = np.full(shape, -1, dtype=np.int64)
    columns: Columns = {}
    points = list(place)
    for (point, entity), values in series.rows.items():
        p, e = place[point], column_of[entity]
        start = series.starts[point, entity]
        if start is not None:
            starts[p, e] = place[start]
        seconds = points[p][1] - start[1] if start is not None else np.nan
        for name, (value, rate) in values.items():
            if name not in columns:
                columns[name] = (np.full(shape, np.nan), rate)
            columns[name][0][p, e] = value * seconds if rate else value
    return names, starts, columns


def _counter(amounts: Floats, starts: Integers) -> Floats:
    """Counter at each point from the amounts of the intervals that end there.

    The beginning of an interval is a reading too. Where the reading before it was one (a device was away for
    an interval, and is back), nothing is known between those two, and an equal count would say that nothing
    happened: the count begins again below what it was, as that of a device that was registered anew.
    """
    known = np.isfinite(amounts)
    total = np.cumsum(np.where(known, amounts, 0.0), axis=0)
    counter = np.where(known, total, np.nan)
    rows, entities = np.nonzero(known & (starts >= 0))
    begin = starts[rows, entities]
    free = np.isnan(counter[begin, entities])
    again = free & (begin > 0) & ~np.isnan(counter[np.maximum(begin - 1, 0), entities])
    before = total[rows, entities] - amounts[rows, entities]
    counter[begin[free], entities[free]] = before[free]
    # Each count begins one lower than the one before it, and so below all that it had.
    for entity in np.unique(entities[again]):
        own = np.flatnonzero(again & (entities == entity))
        for left, k in zip(range(len(own) - 1, -1, -1), own, strict=True):
            first = begin[k] + 1
            until = begin[own[len(own) - left]] if left else len(counter)
            counter[begin[k] : until, entity] += left - before[k]
            if left == len(own) - 1:
                counter[: first - 1, entity] += len(own)
    return counter


def _write(
    series: Series, names: list[str], starts: Integers, run: Columns, time: Integers, sink: Sink
) -> None:
    made = {c: _counter(v, starts) if rate else v for c, (v, rate) in run.items()}
    if series.table == "system":
        sink.table("system", time, {c: v[:, 0] for c, v in made.items()})
        return
    present = np.any([np.isfinite(v) for v in made.values()], axis=0)
    rows, entities = np.nonzero(present)
    columns: dict[str, object] = {c: v[rows, entities] for c, v in made.items()}
    columns[series.table] = np.array(names, dtype=object)[entities]
    for name, text in series.constant.items():
        columns[name] = [text] * len(rows)
    sink.table(series.table, time[rows], columns)
