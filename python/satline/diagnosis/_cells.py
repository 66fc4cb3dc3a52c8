"""Observations of one load under like conditions: what was left of the CPU, and what the load made of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from satline.diagnosis._hinge import Floats, Integers
from satline.diagnosis._series import Series
from satline.reduction import Reduction

# Observations of one load are parted where c differs by more than this factor, and levels are like within it.
ALIKE = 1.2
# Of a fuller CPU it is not said how long users wait for each other.
BUSY = 0.9


@dataclass(frozen=True)
class Cell:
    """Observations of one load under like conditions.

    left
        Mean c: what was left of the CPU, had it all been wanted.
    used, own
        Part of what was left in fact, and of the whole, that the load used.
    waited
        Part of the users' transaction time in which they run or wait for a processor.
    robbed
        Part of the users who wait for what others took: at least, most likely, at most; ``None``: not known.
    """

    users: float
    rows: Integers
    left: float
    seconds: float
    rate: float
    error: float
    used: float
    own: float
    waited: float
    robbed: tuple[float, float, float] | None


def cells_of(series: Series, reduction: Reduction, left: Floats) -> list[Cell]:
    """Each load's observations, parted by blocks of like c where it varies; each part has two blocks."""
    usable = series.usable & np.isfinite(left)
    found = []
    for k in np.unique(series.number[usable]):
        own = np.flatnonzero(usable & (series.number == k))
        _, at = np.unique(series.batches[own], return_inverse=True)
        seconds = np.bincount(at, series.seconds[own])
        mean = np.bincount(at, series.seconds[own] * left[own]) / seconds
        for group in _alike(mean):
            rows = own[np.isin(at, group)]
            found.append(_cell(series, reduction, left, rows))
    return [cell for cell in found if cell.users > 0]


def _alike(mean: Floats) -> list[Integers]:
    """Blocks in groups of like c, at least two in each."""
    order = np.argsort(mean, kind="stable")
    groups: list[list[int]] = [[]]
    for place, k in enumerate(order):
        first = mean[groups[-1][0]] if groups[-1] else mean[k]
        rest = len(order) - place
        if len(groups[-1]) >= 2 and rest >= 2 and mean[k] > ALIKE * first + 0.02:
            groups.append([])
        groups[-1].append(int(k))
    return [np.array(group, dtype=np.int64) for group in groups]


def _cell(series: Series, reduction: Reduction, left: Floats, rows: Integers) -> Cell:
    seconds = series.seconds[rows]
    length = float(seconds.sum())

    def mean(values: Floats) -> float:
        good = np.isfinite(values)
        return float(np.average(values[good], weights=seconds[good])) if good.any() else float("nan")

    _, at = np.unique(series.batches[rows], return_inverse=True)
    each = np.bincount(at, seconds * series.throughput[rows]) / np.bincount(at, seconds)
    error = float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else float("inf")
    observed = reduction.observations
    capacity = np.asarray(observed["capacity_processors"], dtype=np.float64)[rows]
    own = mean(np.asarray(observed["busy_of_left"], dtype=np.float64)[rows] * left[rows] * capacity)
    total, stolen = (
        mean(np.asarray(observed[name], dtype=np.float64)[rows]) for name in ("total_cpu", "stolen")
    )
    part = mean(left[rows] * capacity)
    # A hypervisor withholds only what is wanted: of the idle rest it would as much as of what was.
    granted = total / (total + stolen) if total > 0 and stolen > 0 else 1.0
    return Cell(
        float(np.average(series.load[rows], weights=seconds)),
        rows,
        (own + max(0.0, part - own) * granted) / mean(capacity),
        length,
        mean(series.throughput[rows]),
        error if np.isfinite(error) else mean(series.throughput[rows]) / 2,
        own / part if part > 0 else 1.0,
        own / mean(capacity),
        _waited(reduction, rows, mean),
        _robbed(reduction, rows, mean, own / mean(capacity), own / max(total, own, 1e-9)),
    )


def _waited(reduction: Reduction, rows: Integers, mean: object) -> float:
    """Part of the users' transaction time in which they run or wait for a processor; 1 where it was not
    recorded."""
    observed = reduction.observations
    names = ("users_in_transaction", "user_run", "user_cpu_wait")
    whole, run, wait = (
        mean(np.asarray(observed[name], dtype=np.float64)[rows])  # type: ignore[operator]
        for name in names
    )
    if not np.isfinite(whole) or whole <= 0 or not np.isfinite(run):
        return 1.0
    if not np.isfinite(wait):
        return 1.0
    return float((run + wait) / max(whole, run + wait))


def _robbed(
    reduction: Reduction, rows: Integers, mean: object, busy: float, own: float
) -> tuple[float, float, float] | None:
    """Part of the users who wait for what others took: at least, most likely, at most.

    What a hypervisor stole from the users holds them back, whether their waits count it or not; a wait for a
    processor may be it, or for others' work, or for each other, as they would on a whole CPU too. `busy` is
    the part of a whole CPU that the load used, `own` its part of all that was used.
    """
    observed = reduction.observations
    names = ("users_in_transaction", "user_cpu_wait", "user_run", "stolen", "capacity_processors")
    inside, wait, run, stolen, capacity = (
        mean(np.asarray(observed[name], dtype=np.float64)[rows])  # type: ignore[operator]
        for name in names
    )
    left = mean(np.asarray(observed["left_fraction"], dtype=np.float64)[rows])  # type: ignore[operator]
    users = float(np.average(reduction.load[rows], weights=reduction.seconds[rows]))
    if not inside > 0 or users <= 0:
        return None
    taken = max(0.0, 1 - left) * capacity
    ran = max(0.0, taken - max(0.0, stolen)) / taken if taken > 0 else 0.0
    stolen = own * stolen if stolen > 0 else 0.0
    if not np.isfinite(wait) or not np.isfinite(run):
        least = min(stolen, inside)
        return least / users, least / users, max(least, (1 - left) * inside) / users
    each_other = run * (1 - 1 / max(users, 1.0)) * busy / (1 - min(busy, BUSY))
    least, most = max(stolen, wait - each_other), max(stolen, wait) + min(stolen, wait) * ran
    # Half of what may be for each other; queueing theory has it too long beside a nearly full CPU.
    likely = (least + max(stolen, wait)) / 2
    return min(least, inside) / users, min(likely, inside) / users, min(most, inside) / users
