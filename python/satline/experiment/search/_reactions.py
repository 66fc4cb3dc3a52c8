"""What part of the reactions comes within a time, by the number of users.

The part in time is p1 + (p0 − p1) / (1 + (N/N₅₀)^s): p0 at few users, falling to p1, the more steeply the
greater s. N* is where it falls to the part asked for. With p1 = 0 it is a logistic curve; with p1 above 0 and
a great s it drops where the system saturates and falls slowly beyond, as it does where a queue comes up at
the knee. A lattice over N*, s, p0 and p1, with draws within its cells; each window tells how many of its
reactions came in time. Reactions of one window resemble each other: however many they are, they tell as
little as so many independent ones, whose number is estimated too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from satline.knee import Floats, Integers, Window

# Cells of N* (over all that is possible), s, 1 − p0, p1 by the part asked for, and of how many independent
# reactions a window is worth at most; how likely each of 1 − p0 is.
PLACES = 40
STEEP = np.geomspace(0.7, 80.0, 8)
LATE = np.array([0.0, 0.003, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.14, 0.2, 0.5])
LATE_PART = np.array([0.4, *np.full(9, 0.6 / 9)])
FLOOR = np.array([0.0, 0.25, 0.5, 0.75, 0.95])
MOST_FREE = np.array([8.0, 30.0, 120.0, 1000.0])
DRAWS = 4000
TEMPER, WIDE = 0.6, 0.05


@dataclass(frozen=True)
class Reactions:
    """Draws of the most users of whom enough reactions come in time, with their weights.

    users
        N* of each; 0 where not even a single user has enough of them in time.
    steep, in_time, floor, most_free, half
        s, p0, p1, how many independent reactions a window is worth at most, and N₅₀.
    """

    users: Floats
    steep: Floats
    in_time: Floats
    floor: Floats
    most_free: Floats
    half: Floats
    weights: Floats

    def take(self, index: Integers) -> Reactions:
        """Those of these numbers."""
        return Reactions(*(getattr(self, f.name)[index] for f in fields(self)))

    def part(self, users: Floats) -> Floats:
        """Part in time at each of these numbers of users: shape (draws, users)."""
        odds = np.exp(np.clip(self.steep[:, None] * np.log(users / self.half[:, None]), -40, 40))
        floor = self.floor[:, None]
        return np.asarray(floor + (self.in_time[:, None] - floor) / (1 + odds))

    def free(self, count: Floats) -> Floats:
        """How many independent reactions these counts of a window are worth: shape (draws, counts)."""
        return np.asarray(count / (1 + count / self.most_free[:, None]))


def reactions(
    windows: Sequence[Window], part: float, seconds: float, most_users: int, seed: int = 1
) -> Reactions | None:
    """The draws from these windows; ``None``: no window holds reactions."""
    seen = [w for w in windows if len(w.reactions_s)]
    if not seen:
        return None
    users = np.array([w.users for w in seen], dtype=np.float64)
    count = np.array([len(w.reactions_s) for w in seen], dtype=np.float64)
    good = np.array([(w.reactions_s <= seconds).sum() for w in seen], dtype=np.float64)
    shrink = np.array([1.0 if w.settled else 0.25 for w in seen])
    first, last = np.log(max(0.5, 0.4 * float(users.min()))), np.log(6.0 * most_users)
    edges = (np.linspace(first, last, PLACES + 1), np.log(STEEP), LATE, FLOOR, np.log(MOST_FREE))
    cells = np.meshgrid(*(np.arange(len(e) - 1) for e in edges), indexing="ij")
    index = [c.ravel() for c in cells]
    low, high = (np.stack([e[i + k] for e, i in zip(edges, index, strict=True)], axis=1) for k in (0, 1))
    prior = LATE_PART[index[2]]
    prior = prior / prior.sum()

    def likely(place: Floats) -> tuple[Reactions, Floats]:
        made = _made(place, part)
        p = np.clip(made.part(users), 1e-4, 1 - 1e-4)
        free, share = made.free(count * shrink), good / count
        log = (free * (share * np.log(p) + (1 - share) * np.log1p(-p))).sum(axis=1)
        # the fit of the counts tells how much reactions of a window resemble each other
        log += (0.5 * np.log(free)).sum(axis=1) + (free * -(_plogp(share) + _plogp(1 - share))).sum(axis=1)
        return made, log

    # Cells by their centres first, then places by chance within those that are likely.
    log = likely((low + high) / 2)[1] + np.log(prior)
    flat = np.exp(TEMPER * (log - log.max()))
    drawn = (1 - WIDE) * flat / flat.sum() + WIDE * prior
    random = np.random.default_rng(seed)
    places = (np.arange(DRAWS) + random.random()) / DRAWS
    chosen = np.minimum(np.searchsorted(np.cumsum(drawn), places), len(drawn) - 1)
    made, log = likely(low[chosen] + (high - low)[chosen] * random.random((DRAWS, len(edges))))
    log += np.log(prior[chosen]) - np.log(drawn[chosen])
    weight = np.exp(log - log.max())
    keep = np.flatnonzero(weight > 1e-6)
    return replace(made.take(keep), weights=weight[keep] / weight[keep].sum())


def _made(place: Floats, part: float) -> Reactions:
    """The curves at these places of the lattice: shape (curves, 5)."""
    users, steep, late = np.exp(place[:, 0]), np.exp(place[:, 1]), place[:, 2]
    in_time, floor = 1 - late, place[:, 3] * part
    never = in_time <= part
    # N₅₀ so that p(N*) = part; a system that is never in time falls at the place itself
    odds = np.where(never, 1.0, (in_time - floor) / (part - floor) - 1)
    half = users / np.maximum(odds, 1e-3) ** (1 / steep)
    most_free = np.exp(place[:, 4])
    return Reactions(np.where(never, 0.0, users), steep, in_time, floor, most_free, half, np.ones(len(users)))


def _plogp(x: Floats) -> Floats:
    return np.asarray(np.where(x > 0, x * np.log(np.maximum(x, 1e-300)), 0.0))
