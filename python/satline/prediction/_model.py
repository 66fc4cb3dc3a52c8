"""From demands to a closed model, for all draws at once: throughput and response by users.

Background work takes its part of a resource as an open class would: what is left serves the users, so that a
single server's demand becomes D/(1 − a) [Lazowska et al. 1984, ch. 8]; of several processors the speed with j
present is min(j, capacity − a).

What a transaction takes beyond its demands and their queues (waits for other processes, locks, pipes, a
network) is a delay, found from the response times that were measured at light load. Without transactions it
is part of the pause between units of work.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from satline.diagnosis import Integers
from satline.prediction._demands import Demand, Sums, surely_positive
from satline.prediction._exact import exact_curve
from satline.prediction._network import Floats

LIGHT = 0.7
ROUNDS = 4
MOST, HALVINGS = 5000, 40
MANY = 100


@dataclass(frozen=True)
class Model:
    """A closed model with its draws; draw 0 is the estimate.

    think_s
        Pause between two units of work.
    elsewhere_s
        Delay of a unit of work outside the resources.
    """

    demands: tuple[Demand, ...]
    think_s: Floats
    elsewhere_s: Floats

    @cached_property
    def saturation_users(self) -> Floats:
        """N* = (ΣD + delay + Z) / max D_k/capacity_k, by draw; of demands that change with load those of
        N*."""
        if not self.changing:
            return np.asarray((self.alone_s + self.think_s) * self.ceiling)
        low, high = np.ones(len(self.think_s)), np.full(len(self.think_s), float(MOST))
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            slots = self._slots(middle).max(axis=1)
            full = middle * slots >= self._alone(middle) + self.think_s
            low, high = np.where(full, low, middle), np.where(full, middle, high)
        return np.asarray(high)

    @property
    def changing(self) -> bool:
        """Does any demand change with load?"""
        return any(d.trend is not None for d in self.demands)

    @property
    def alone_s(self) -> Floats:
        """Response time of one user alone, by draw, with the demands of the loads seen."""
        return np.asarray(self.elsewhere_s + sum(d.seconds / np.minimum(d.room, 1.0) for d in self.demands))

    def _alone(self, users: Floats) -> Floats:
        return np.asarray(self.elsewhere_s + sum(d.at(users) / np.minimum(d.room, 1.0) for d in self.demands))

    @cached_property
    def slots_s(self) -> Floats:
        """Time that a unit of work takes of a full resource, D/(capacity − a), with demands that change with
        load at N*: shape (draws, resources)."""
        return self._slots(self.saturation_users if self.changing else np.ones(len(self.think_s)))

    def _slots(self, users: Floats) -> Floats:
        return np.stack([d.at(users) / d.room for d in self.demands], axis=1)

    @property
    def ceiling(self) -> Floats:
        """Throughput at which the first resource is full, at N*: what no number of users exceeds."""
        return np.asarray(1 / np.maximum(self.slots_s.max(axis=1), 1e-300))

    def first(self) -> int:
        """Which resource saturates first."""
        return int(self.slots_s[0].argmax())

    def surely_first(self) -> float:
        """In which part of the draws it does."""
        return float((self.slots_s.argmax(axis=1) == self.first()).mean())

    def solve(self, users: int, only: Iterable[int] | None = None) -> tuple[Floats, Floats]:
        """Throughput and response time with 1 … `users` users: shape (users, draws) each.

        Parameters
        ----------
        only
            These numbers of users suffice; where demands change with load the others are NaN, for each number
            is a network of its own.
        """
        if not self.changing:
            return self._solved(users, [d.seconds for d in self.demands])
        rate = np.full((users, len(self.think_s)), np.nan)
        response = rate.copy()
        for n in sorted({*(range(1, users + 1) if only is None else only)}):
            draws = np.arange(len(self.think_s))
            if n > MANY:
                # so many networks of so many users take long: a quarter of the draws does for an interval
                draws[1:] = 1 + (draws[1:] - 1) % max(1, (len(draws) - 1) // 4)
            some, place = np.unique(draws, return_inverse=True)
            one, two = self._only(some)._solved(n, [d.at(n)[some] for d in self.demands])
            rate[n - 1], response[n - 1] = one[-1][place], two[-1][place]
        return rate, response

    def _only(self, draws: Integers) -> Model:
        """The same of these draws only, for demands that are given."""
        kept = tuple(replace(d, background=d.background[draws]) for d in self.demands)
        return Model(kept, self.think_s[draws], self.elsewhere_s[draws])

    def _solved(self, users: int, seconds: Sequence[Floats]) -> tuple[Floats, Floats]:
        columns, speeds = [], []
        for d, needed in zip(self.demands, seconds, strict=True):
            several = d.capacity > 1
            columns.append(needed if several else needed / d.room)
            present = np.arange(1, users + 1)
            speeds.append(np.minimum(present, d.room[:, None]) if several else None)
        made = exact_curve(np.stack(columns, axis=1), self.think_s + self.elsewhere_s, speeds, users)
        return made.throughput, made.response_s + self.elsewhere_s


def fit(
    demands: tuple[Demand, ...], made: Sums, think_s: float | None = None, mix_changes: bool = False
) -> Model:
    """The model whose pause and delay agree with what was seen at light load.

    Parameters
    ----------
    think_s
        The pause, where it is known better than the recording tells.
    mix_changes
        What the users do changes with load, and so does the pause that belongs to a unit of work: only that
        of light load counts.
    """
    work = np.maximum(made.work, 1e-12)
    draws = len(made.work)
    users = made.load * made.seconds
    if made.inside is not None:
        # Little's law for the users who are not in a transaction: Z = (N − L)/X
        outside = users - made.inside

        def paused(part: Floats) -> Model:
            pause = np.maximum((outside * part).sum(axis=1) / (work * part).sum(axis=1), 0.0)
            return Model(demands, pause if think_s is None else np.full(draws, think_s), np.zeros(draws))

        model = paused(np.ones(len(made.load)))
        for _ in range(ROUNDS if mix_changes else 0):
            model = paused(_light(made, model))
        response = made.inside / work
        light = _light(made, model)
        return replace(model, elsewhere_s=_elsewhere(model, made, response, light))
    # without transactions N/X is pause and response together
    cycle = users / work
    model = Model(demands, np.full(draws, think_s or 0.0), np.zeros(draws))
    light = _light(made, replace(model, think_s=np.maximum(cycle[:, 0] - model.alone_s, 0.0)))
    for _ in range(ROUNDS):
        gap = _gap(model, made, cycle - model.think_s[:, None], light)
        model = replace(model, think_s=np.maximum(model.think_s + gap, 0.0)) if think_s is None else model
    if think_s is None:
        return model
    return replace(model, elsewhere_s=_elsewhere(model, made, cycle - think_s, light))


def _light(made: Sums, model: Model) -> Floats:
    """The classes well below saturation, as 0 or 1; the lightest one in any case."""
    light = made.load <= LIGHT * model.saturation_users[0]
    light[0] = True
    return np.asarray(light, dtype=np.float64)


def _elsewhere(model: Model, made: Sums, response: Floats, light: Floats) -> Floats:
    """The delay that responses at light load show; 0 where it is not surely there."""
    if not surely_positive(_missing(model, made, response, light)):
        return np.zeros(len(made.work))
    return _gap(model, made, response, light)


def _missing(model: Model, made: Sums, response: Floats, light: Floats) -> Floats:
    """Mean response at light load less the model's, by draw."""
    users = np.rint(made.load).astype(int)
    most = int(max(1, users[light > 0].max()))
    weight = np.maximum(made.work, 1e-12) * light
    _, expected = model.solve(most, np.clip(users[light > 0], 1, most).tolist())
    here = np.nan_to_num(expected[np.clip(users, 1, most) - 1].T)
    return np.asarray((weight * (response - here)).sum(axis=1) / weight.sum(axis=1))


def _gap(model: Model, made: Sums, response: Floats, light: Floats) -> Floats:
    """The delay that makes the model's responses at light load as long as these: at least 0, by draw."""
    gap = np.zeros(len(made.work))
    for _ in range(ROUNDS):
        slower = replace(model, elsewhere_s=model.elsewhere_s + gap)
        gap = np.maximum(gap + _missing(slower, made, response, light), 0.0)
    return gap
