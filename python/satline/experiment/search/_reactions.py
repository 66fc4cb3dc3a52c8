"""What part of the reactions comes within a time, by the number of users.

The part in time is p0 / (1 + (N/N₅₀)^s): p0 at few users, falling the more steeply the greater s. N* is where
it falls to the part asked for. A lattice over N*, s and p0; each window tells how many of its reactions came
in time. Reactions of one window resemble each other: a window's count tells as little as that of a `deff`-th
of them, whose size is estimated by the lattice too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from satline.knee import Floats, Window

PLACES = 64
STEEP = np.geomspace(0.7, 16.0, 9)
LATE = np.concatenate([[0.0], np.geomspace(0.003, 0.5, 14)])  # 1 − p0
RESEMBLE = np.array([1.0, 2.5, 6.0])


@dataclass(frozen=True)
class Reactions:
    """Draws of the most users of whom enough reactions come in time, with their weights.

    users
        N* of each; 0 where not even a single user has enough of them in time.
    steep, in_time, resemble
        s, p0 and how many reactions tell as much as one independent one.
    """

    users: Floats
    steep: Floats
    in_time: Floats
    resemble: Floats
    half: Floats
    weights: Floats

    def part(self, users: Floats) -> Floats:
        """Part in time at each of these numbers of users: shape (draws, users)."""
        odds = np.exp(np.clip(self.steep[:, None] * np.log(users / self.half[:, None]), -40, 40))
        return np.asarray(self.in_time[:, None] / (1 + odds))


def reactions(windows: Sequence[Window], part: float, seconds: float, most_users: int) -> Reactions | None:
    """The draws from these windows; ``None``: no window holds reactions."""
    seen = [w for w in windows if len(w.reactions_s)]
    if not seen:
        return None
    users = np.array([w.users for w in seen], dtype=np.float64)
    count = np.array([len(w.reactions_s) for w in seen], dtype=np.float64)
    good = np.array([(w.reactions_s <= seconds).sum() for w in seen], dtype=np.float64)
    shrink = np.array([1.0 if w.settled else 0.25 for w in seen])
    places = np.geomspace(max(0.5, 0.4 * users.min()), 6.0 * most_users, PLACES)
    place, steep, late, alike = (x.ravel() for x in np.meshgrid(places, STEEP, LATE, RESEMBLE, indexing="ij"))
    in_time = 1 - late
    never = in_time <= part
    # N₅₀ so that p(N*) = part; a system that is never in time falls at the place itself
    odds = np.where(never, 1.0, in_time / part - 1)
    half = place / np.maximum(odds, 1e-3) ** (1 / steep)
    made = Reactions(np.where(never, 0.0, place), steep, in_time, alike, half, np.ones(len(place)))
    p = np.clip(made.part(users), 1e-4, 1 - 1e-4)
    free = count * shrink / alike[:, None]
    share = good / count
    likely = (free * (share * np.log(p) + (1 - share) * np.log1p(-p))).sum(axis=1)
    # the fit of the counts tells how much reactions of a window resemble each other
    likely += (0.5 * np.log(free)).sum(axis=1) + (free * -(_plogp(share) + _plogp(1 - share))).sum(axis=1)
    prior = np.where(late > 0, 0.5 / (len(LATE) - 1), 0.5)
    weight = np.exp(likely - likely.max()) * prior
    keep = np.flatnonzero(weight > 1e-6 * weight.max())
    step = np.log(places[1] / places[0])
    spread = np.exp(step * (np.modf(np.arange(len(keep)) * 0.618)[0] - 0.5))
    return Reactions(
        made.users[keep] * spread,
        steep[keep],
        in_time[keep],
        alike[keep],
        half[keep] * spread,
        weight[keep] / weight[keep].sum(),
    )


def _plogp(x: Floats) -> Floats:
    return np.asarray(np.where(x > 0, x * np.log(np.maximum(x, 1e-300)), 0.0))
