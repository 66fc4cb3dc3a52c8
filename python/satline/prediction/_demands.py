"""Service demands of a transaction, from a recording, by the utilisation law.

U_k = a_k + D_k X: what is in use of a resource is what the transactions need of it, and a background that
is there without them [Denning and Buzen, Computing Surveys 10(3), 1978]. Over the load classes D_k is the
slope and a_k the intercept of U on X, where that is surely above 0; else a_k = 0 and D_k = Σ U / Σ X. Class
means are taken, because in single observations X is a small count, whose error would flatten the slope.
Where the load has a control group of its own, its processor time needs no intercept; only what the rest of
the system adds is regressed. Where that surely falls as work grows, it is work that gives way, and leaves
its room to the users.

Demands that surely change with load have a trend (_trend.py): of devices, and of processors what is
supervisor state, where paging grows.

The error of everything made from the demands comes from one set of bootstrap draws of whole blocks of
successive observations, so that a change is compared with what is under the same draws.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from satline.diagnosis import Integers
from satline.prediction._network import Floats
from satline.prediction._signals import DEVICE, PROCESSORS, QUOTA, SERVER, Resource, Signals
from satline.prediction._trend import LEAST, LEAST_CLASSES, Trend, bends, slope, sure

DRAWS = 400


@dataclass(frozen=True)
class Sums:
    """Sums by draw and load class; draw 0 is what was observed.

    seconds, work
        Shape (draws, classes).
    used, own
        Of each resource; `own` where known.
    inside
        Users in a transaction × seconds; ``None`` without transactions.
    load
        Mean load of each class.
    """

    load: Floats
    seconds: Floats
    work: Floats
    used: tuple[Floats, ...]
    own: tuple[Floats | None, ...]
    inside: Floats | None
    paged: tuple[Floats, ...]
    supervisor: Floats


@dataclass(frozen=True)
class Demand:
    """What one unit of work needs of one resource; arrays are by draw, draw 0 what was observed.

    seconds
        D.
    background
        a, in the unit of the resource.
    page_share
        Part of D that is paging; NaN where unknown.
    trend
        How D changes with load; ``None``: it surely does not.
    yields
        Part of the background that gave way to the users, and is not in `background`; 0 of most.
    """

    name: str
    capacity: float
    seconds: Floats
    background: Floats
    page_share: Floats
    trend: Trend | None = None
    yields: float = 0.0

    def at(self, users: float | Floats) -> Floats:
        """D with so many users, by draw."""
        if self.trend is None:
            return self.seconds
        grown = self.seconds + self.trend.more(np.asarray(users, dtype=np.float64))
        return np.asarray(np.maximum(grown, LEAST * self.seconds))

    def paging_part(self, users: float | Floats | None) -> Floats:
        """What part of D is paging with so many users, by draw; ``None``: at the loads seen."""
        if users is None or self.trend is None:
            return self.page_share
        paged = self.seconds * self.page_share + self.trend.more_paging(np.asarray(users, dtype=np.float64))
        return np.asarray(np.clip(paged / np.maximum(self.at(users), 1e-300), 0.0, 1.0))

    def first(self, draws: int) -> Demand:
        """The same with so many draws only."""
        end = draws + 1
        return replace(
            self,
            seconds=self.seconds[:end],
            background=self.background[:end],
            page_share=self.page_share[:end],
            trend=None if self.trend is None else self.trend.first(draws),
        )

    def faster(self, factor: float) -> Demand:
        """Of a resource so many times as fast; the background runs faster too."""
        trend = None if self.trend is None else self.trend.faster(factor)
        return replace(self, seconds=self.seconds / factor, background=self.background / factor, trend=trend)

    @property
    def room(self) -> Floats:
        """Capacity that the background leaves: at least a hundredth."""
        return np.maximum(self.capacity - self.background, 0.01 * self.capacity)


@dataclass(frozen=True)
class Blocks:
    """Draws of blocks of successive observations; draw 0 is every block once.

    In a study the blocks of each step are drawn among themselves; elsewhere all blocks together.

    good
        The observations that count.
    weight
        How often each draw has each block: shape (draws, blocks, classes).
    length
        Seconds of each block and class.
    load
        Mean load of each class.
    labels
        Number of each class in the reduction.
    """

    good: np.ndarray[tuple[int], np.dtype[np.bool_]]
    weight: Floats
    length: Floats
    load: Floats
    labels: Integers
    _cell: Integers
    _seconds: Floats

    @classmethod
    def of(cls, signals: Signals, draws: int = DRAWS, seed: int = 1) -> Blocks:
        good = signals.usable
        labels, number = np.unique(signals.number[good], return_inverse=True)
        blocks_of, block = np.unique(signals.batches[good], return_inverse=True)
        classes, blocks = len(labels), len(blocks_of)
        cell, seconds = block * classes + number, signals.seconds[good]
        shape, size = (blocks, classes), blocks * classes
        length = np.asarray(np.bincount(cell, seconds, size).reshape(shape), dtype=np.float64)
        load = np.bincount(cell, seconds * signals.load[good], size).reshape(shape)
        random = np.random.default_rng(seed)
        weight = np.ones((draws + 1, blocks, classes))
        if signals.closed:
            for k in range(classes):
                own = np.flatnonzero(length[:, k] > 0)
                weight[1:, own, k] = random.multinomial(len(own), np.full(len(own), 1 / len(own)), draws)
        else:
            weight[1:] = random.multinomial(blocks, np.full(blocks, 1 / blocks), draws)[:, :, None]
        mean = load.sum(axis=0) / length.sum(axis=0)
        return cls(good, weight, length, np.asarray(mean), labels, cell, seconds)

    def first(self, draws: int) -> Blocks:
        """The same with so many draws only."""
        return replace(self, weight=self.weight[: draws + 1])

    def totals(self, amounts: Floats) -> Floats:
        """Sum by block and class of what each observation of the recording has."""
        return np.asarray(
            np.bincount(self._cell, amounts[self.good], self.length.size).reshape(self.length.shape),
            dtype=np.float64,
        )

    def drawn(self, amounts: Floats) -> Floats:
        """Sum by draw and class of what each observation of the recording has."""
        return np.asarray(np.einsum("dbk,bk->dk", self.weight, self.totals(amounts)))


def sums(signals: Signals, draws: int = DRAWS, seed: int = 1) -> Sums:
    """Sums of the usable observations, for each draw of their blocks."""
    made = Blocks.of(signals, draws, seed)

    def drawn(values: Floats) -> Floats:
        return made.drawn(signals.seconds * values)

    def paged(resource: Resource) -> Floats:
        part = signals.page_share if resource.page_share is None else resource.page_share
        share = np.nan_to_num(part, nan=-1.0)
        known = float((share[made.good] >= 0).mean()) > 0.9
        return drawn(resource.used * (np.maximum(share, 0.0) if known else np.nan))

    supervised = bool(np.isfinite(signals.supervisor[made.good]).all())
    return Sums(
        load=made.load,
        seconds=np.maximum(drawn(np.ones(len(signals.load))), 1e-9),
        work=drawn(signals.work),
        used=tuple(drawn(r.used) for r in signals.resources),
        own=tuple(None if r.own is None else drawn(np.nan_to_num(r.own)) for r in signals.resources),
        inside=None if signals.in_transaction is None else drawn(signals.in_transaction),
        paged=tuple(paged(r) for r in signals.resources),
        supervisor=drawn(signals.supervisor) if supervised else np.full(made.weight.shape[::2], np.nan),
    )


def demands(resources: tuple[Resource, ...], made: Sums) -> tuple[Demand, ...]:
    """Demand and background of each resource."""
    found = []
    for resource, used, own, paged in zip(resources, made.used, made.own, made.paged, strict=True):
        yields = 0.0
        if own is None:
            seconds, background = _line(used, made)
        else:
            alone = own.sum(axis=1) / _positive(made.work.sum(axis=1))
            rest, background = _line(used - own, made)
            part = _yielding(used - own, made, alone)
            yields = float(part[0])
            seconds, background = alone + rest, background * (1 - part)
        share = paged.sum(axis=1) / _positive(used.sum(axis=1))
        found.append(Demand(resource.name, resource.capacity, seconds, background, share, yields=yields))
    return _with_trends(_with_server(found), resources, made)


def _with_trends(
    found: tuple[Demand, ...], resources: tuple[Resource, ...], made: Sums
) -> tuple[Demand, ...]:
    """The same with a trend where a demand surely has one."""
    if len(made.load) < LEAST_CLASSES:
        return found
    place = {r.name: k for k, r in enumerate(resources)}
    work, none = _positive(made.work), np.zeros(len(made.work))
    logarithm = np.log(np.maximum(made.load, LEAST))
    blank = Trend(
        none,
        none,
        none,
        slope(work, made.load, made.work)[1],
        slope(work, logarithm, made.work)[1],
        float(made.load[0]),
        float(made.load[-1]),
        bends(len(none)),
    )
    trends: dict[str, Trend] = {}
    for d in found:
        if not d.name.startswith(DEVICE):
            continue
        used, paged = made.used[place[d.name]], made.paged[place[d.name]]
        known = bool(np.isfinite(paged).all())
        pages = paged if known else np.zeros_like(used)
        rest, _ = slope((used - pages - d.background[:, None] * made.seconds) / work, logarithm, made.work)
        grown, _ = slope(pages / work, made.load, made.work)
        rest, grown = (s if sure(s) else none for s in (rest, np.maximum(grown, 0.0)))
        if rest.any() or grown.any():
            part = d.seconds * d.page_share if known else none
            trends[d.name] = replace(blank, rest=rest, paging=grown, paged=part)
    # of processors only what paging takes: their problem state is what the programs need
    grown, _ = slope(made.supervisor / work, made.load, made.work)
    if (
        any(t.paging.any() for t in trends.values())
        and np.isfinite(grown).all()
        and grown[0] > 0
        and sure(grown)
    ):
        part = made.supervisor.sum(axis=1) / work.sum(axis=1)
        trends[PROCESSORS] = replace(blank, paging=np.maximum(grown, 0.0), paged=part)
    return tuple(replace(d, trend=trends.get(d.name)) for d in found)


def _yielding(rest: Floats, made: Sums, alone: Floats) -> Floats:
    """What part of all that the load took the rest of the system gave up, by draw, 0 to 1; 0 where the rest
    did not surely fall as work grew."""
    x, u = made.work / made.seconds, rest / made.seconds
    falls, _ = slope(u, x.mean(axis=0), made.seconds)
    if not (falls[0] < 0 and sure(falls)):
        return np.zeros(len(falls))
    return np.asarray(np.clip(-falls / _positive(alone), 0.0, 1.0))


def _with_server(found: list[Demand]) -> tuple[Demand, ...]:
    """A server with one thread is a station of its own where it fills before the processors do; what it runs
    is then left out of theirs. Elsewhere it is nothing but a part of them."""
    server = next((d for d in found if d.name.startswith(SERVER)), None)
    others = [d for d in found if d is not server]
    processors = next((d for d in others if d.name in (PROCESSORS, QUOTA)), None)
    if server is None or processors is None:
        return tuple(others)
    if server.seconds[0] / server.room[0] <= processors.seconds[0] / processors.room[0]:
        return tuple(others)
    rest = replace(
        processors,
        seconds=np.maximum(processors.seconds - server.seconds, 0.0),
        background=np.maximum(processors.background - server.background, 0.0),
    )
    return tuple(rest if d is processors else d for d in found)


def _line(used: Floats, made: Sums) -> tuple[Floats, Floats]:
    """Slope and intercept of use on work, by draw; neither below 0.

    Least squares of class means, weighted by length over the size of the use: a count's variance grows with
    its mean. An intercept that is not surely above 0 is none, and the slope then Σ U / Σ X: kept where it
    happens to be positive, it would make all demands too small.
    """
    x, u = made.work / made.seconds, used / made.seconds
    weight = made.seconds / np.maximum(x, 0.2 * x.max(axis=1, keepdims=True) + 1e-300)
    total = weight.sum(axis=1)
    x_mean, u_mean = (weight * x).sum(axis=1) / total, (weight * u).sum(axis=1) / total
    away = x - x_mean[:, None]
    spread = (weight * away**2).sum(axis=1)
    slope = (weight * away * (u - u_mean[:, None])).sum(axis=1) / _positive(spread)
    start = u_mean - slope * x_mean
    if not surely_positive(start) or spread[0] <= 0:
        return used.sum(axis=1) / _positive(made.work.sum(axis=1)), np.zeros(len(start))
    # work does not drive it: all of it is background
    level = used.sum(axis=1) / made.seconds.sum(axis=1)
    return np.maximum(slope, 0.0), np.where(slope < 0, level, np.maximum(start, 0.0))


def surely_positive(draws: Floats) -> bool:
    """Are it and 99 of 100 of its draws above 0? Of few blocks the draws are somewhat too alike."""
    return bool(draws[0] > 0 and np.percentile(draws[1:], 1) > 0)


def _positive(values: Floats) -> Floats:
    return np.maximum(values, 1e-300)


def growth(demand: Demand, used: Floats, made: Sums) -> Floats:
    """By how much of itself the demand grows from the lightest class to the heaviest, by draw: the slope over
    load of (U − a)/X, weighted by work."""
    each = (used / made.seconds - demand.background[:, None]) / _positive(made.work / made.seconds)
    weight = made.work
    total = _positive(weight.sum(axis=1))
    centre = (weight @ made.load) / total
    away = made.load - centre[:, None]
    mean = (weight * each).sum(axis=1) / total
    slope = (weight * away * each).sum(axis=1) / _positive((weight * away**2).sum(axis=1))
    return np.asarray(slope * (made.load.max() - made.load.min()) / _positive(mean))
