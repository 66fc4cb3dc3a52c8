"""Rows of a table → levels of load, and what tells the size of the errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from satline.scalability._families import Floats
from satline.scalability._region import Levels
from satline.scalability._results import Bounds, Little, Value

MOST_LEVELS = 150
LEAST_PURE = 3


@dataclass(frozen=True)
class Grouped:
    """Levels, and what is known of the rows in them.

    pure
        Degrees of freedom of repeated rows at one load; 0 where they do not count as repeated.
    joined
        Loads that were joined into levels; 0 where each load is a level of its own.
    dependent
        Successive rows at one load resemble each other, so that they do not count as independent.
    """

    levels: Levels
    pure: int
    joined: int
    dependent: bool


def group(load: Floats, throughput: Floats) -> Grouped:
    """Levels of rows with throughput above 0, loads ascending; each load is one unless they are too many."""
    loads, number = np.unique(load, return_inverse=True)
    number = number.ravel()
    joined = 0
    if len(loads) > MOST_LEVELS:
        joined = len(loads)
        # as many rows in each, neighbours in load together
        rank = np.cumsum(np.bincount(number)) - 1
        number = (rank[number] * MOST_LEVELS // len(load)).astype(np.int64)
        number = np.unique(number, return_inverse=True)[1].ravel()
    rows = np.bincount(number).astype(np.float64)
    log = np.log(throughput)
    mean, log_mean = np.bincount(number, throughput) / rows, np.bincount(number, log) / rows
    off, log_off = throughput - mean[number], log - log_mean[number]
    levels = Levels(
        np.bincount(number, load) / rows,
        rows,
        mean,
        log_mean,
        float((off**2).sum()),
        float((log_off**2).sum()),
    )
    pure = 0 if joined else int(rows.sum()) - len(rows)
    dependent = pure > 0 and _follow(log_off, number)
    if joined or dependent:
        # the levels' means are then the measurements
        pure = 0
        levels = Levels(levels.load, np.ones(len(rows)), mean, log_mean, 0.0, 0.0)
    return Grouped(levels, pure, joined, dependent)


def _follow(off: Floats, number: np.ndarray) -> bool:
    """Do rows that follow each other at one load surely resemble each other (autocorrelation at lag 1)?"""
    same = number[1:] == number[:-1]
    pairs, square = int(same.sum()), float((off**2).mean())
    if pairs < 20 or square <= 0:
        return False
    return bool(float((off[1:] * off[:-1])[same].mean()) / square > 2 / np.sqrt(pairs))


IMPOSSIBLE = 1.1
GROWS = 1.3


def bounds_of(load: Floats, throughput: Floats) -> Bounds:
    """Asymptotic bounds of means by load, ascending, all above 0."""
    cycle = float((load / throughput).min())
    top = int(throughput.argmax())
    ceiling = float(throughput[top])
    return Bounds(cycle, ceiling, float(load[top]), cycle * ceiling, top == len(load) - 1 and len(load) > 1)


def bound_at(load: Floats, throughput: Floats, at: float) -> tuple[float | None, float]:
    """Between what throughput lies if no user is served faster in company.

    X(M)/M ≤ X(N)/N for M ≥ N; between two loads seen no less than on the straight line, as curves that bend
    down only; beyond them it may fall, and there is no lower bound.
    """
    if at < load[0]:
        return float(throughput[0] * at / load[0]), np.inf
    high = float((throughput / load)[load <= at].min() * at)
    if at > load[-1]:
        return None, high
    return float(np.interp(at, load, throughput)), high


def little(load: Floats, throughput: Floats, response_s: Floats) -> Little | None:
    """Little's law at rows with all three; ``None`` without any."""
    good = np.isfinite(response_s) & (throughput > 0)
    if not good.any():
        return None
    loads, number = np.unique(load[good], return_inverse=True)
    count = np.bincount(number.ravel())
    rate = np.bincount(number.ravel(), throughput[good]) / count
    response = np.bincount(number.ravel(), response_s[good]) / count
    cycle = loads / rate
    think = cycle - response
    grown = cycle[-1] - cycle[0]
    unseen = None
    if len(loads) > 1 and cycle[-1] > GROWS * cycle[0]:
        unseen = float(1 - (response[-1] - response[0]) / grown)
    return Little(
        Value(float(np.median(think)), float(think.min()), float(think.max()), "s"),
        float(response[0]),
        float(max(cycle[0], response[0]) * rate.max()),
        tuple(float(n) for n in loads[response > IMPOSSIBLE * cycle]),
        unseen,
    )
