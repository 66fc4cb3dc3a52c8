"""The observations of one side, of all its recordings one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from satline.comparison._blocks import Floats, Integers, Side
from satline.comparison._observations import THROUGHPUT, Readings
from satline.comparison._results import Period
from satline.reduction import stretches

HOUR_S, DAY_S = 3600.0, 86400.0


@dataclass(frozen=True)
class Observed:
    """One side, an entry for each observation, in the order of recordings and of time.

    values, weights
        Of the measure: sums, and what they are to be divided by.
    work
        Throughput times length, 0 where missing; `worked` is the length where it is there.
    day, hour, of_day
        Number of the day and of the hour by the zone's clock, and the hour of the day.
    batch
        Block of successive observations, by the reduction.
    source, index
        Number of the recording, and of the observation within it.
    """

    middle_s: Floats
    seconds: Floats
    load: Floats
    values: Floats
    weights: Floats
    work: Floats
    worked: Floats
    day: Integers
    hour: Integers
    of_day: Integers
    batch: Integers
    source: Integers
    index: Integers

    def part(self, which: np.ndarray[Any, np.dtype[np.bool_]]) -> Observed:
        """Only these observations."""
        return replace(self, **{f.name: getattr(self, f.name)[which] for f in fields(self)})

    def block(self, days: bool, hours: int) -> Integers:
        """Block of each observation: its day, its piece of so many hours, else its batch.

        Recordings of the same day, as of two hosts, are one.
        """
        return self.day if days else self.hour // hours if hours else self.batch

    def ordered(self, days: bool, hours: int) -> Observed:
        """The same in the order of its blocks, so that neighbours in number are neighbours in time."""
        order = np.lexsort((self.middle_s, self.block(days, hours)))
        return replace(self, **{f.name: getattr(self, f.name)[order] for f in fields(self)})

    def places(self, sides: Sequence[Readings]) -> list[tuple[Readings, Integers]]:
        """Each recording's observations by their places here, −1 for those that are not here."""
        found = []
        for number, r in enumerate(sides):
            places = np.full(len(r.seconds), -1, dtype=np.int64)
            here = np.flatnonzero(self.source == number)
            places[self.index[here]] = here
            found.append((r, places))
        return found


def observed(sides: Sequence[Readings], axis: str, measure: str, throughput: str, timezone: str) -> Observed:
    """The observations of these recordings."""
    middle = np.concatenate([r.middle_s for r in sides])
    seconds = np.concatenate([r.seconds for r in sides])
    sums = [r.sums(measure) for r in sides]
    work = (
        np.concatenate([r.values[throughput] for r in sides]) if throughput else np.full(len(middle), np.nan)
    )
    there = np.isfinite(work)
    day, _ = _clock(middle, seconds, False, DAY_S, timezone)
    of_day, lows = _clock(middle, seconds, True, HOUR_S, timezone)
    first, batches = 0, []
    for r in sides:
        batches.append(r.batches + first)
        first = int(batches[-1].max()) + 1
    hour = lows[of_day]
    source = np.repeat(np.arange(len(sides)), [len(r.seconds) for r in sides])
    # Simulated runs of one date have nothing in common but the date.
    simulated = np.array([r.simulated for r in sides])
    day = day + np.where(simulated[source], source * (int(day.max()) + 1), 0)
    return Observed(
        middle_s=middle,
        seconds=seconds,
        load=np.concatenate([r.load_of(axis) for r in sides]),
        values=np.concatenate([s for s, _ in sums]),
        weights=np.concatenate([w for _, w in sums]),
        work=np.where(there, work, 0.0) * seconds,
        worked=np.where(there, seconds, 0.0),
        day=day,
        hour=day * 24 + hour.astype(np.int64),
        of_day=hour.astype(np.int64),
        batch=np.concatenate(batches),
        source=source,
        index=np.concatenate([np.arange(len(r.seconds)) for r in sides]),
    )


def _clock(
    middle: Floats, seconds: Floats, hours: bool, every_s: float, timezone: str
) -> tuple[Integers, Floats]:
    groups, number, _ = stretches(middle, seconds, hours, every_s, timezone, lambda *group: group[1])
    return number, np.array(groups, dtype=np.float64)


def common_throughput(sides: Sequence[Readings]) -> str:
    """What stands for throughput: the first of `THROUGHPUT` that all have; empty without."""
    return next((n for n in THROUGHPUT if all(r.has(n) for r in sides)), "")


def period(sides: Sequence[Readings], found: Observed, side: Side) -> Period:
    """What is told of a side."""
    loads = found.load[np.isfinite(found.load) & (found.weights > 0)]
    low, high = (float(v) for v in np.percentile(loads, [0, 100])) if len(loads) else (np.nan, np.nan)
    totals = side.totals(np.zeros(len(found.load), dtype=np.int64), 1, found.weights)
    weight = float(found.weights.sum())
    return Period(
        recordings=tuple(dict.fromkeys(str(r.recording.path) for r in sides)),
        begins_s=float((found.middle_s - found.seconds / 2).min()),
        ends_s=float((found.middle_s + found.seconds / 2).max()),
        observations=len(found.load),
        seconds=float(found.seconds.sum()),
        days=len(np.unique(found.day)),
        blocks=side.count,
        effective_blocks=side.effective(totals),
        raw=float(found.values.sum()) / weight if weight > 0 else float("nan"),
        load_low=low,
        load_high=high,
        load_mean=float(loads.mean()) if len(loads) else float("nan"),
    )
