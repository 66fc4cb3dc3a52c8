"""Where throughput bends with the number of users: a posterior from windows at several loads.

    from satline.knee import Window, fit
    found = fit(windows, most_users=200, seed=1)
    found.knee, found.chance_within, found.throughput(30)

It is own and not a sampler's: what is linear is integrated in closed form, so that a study that runs has its
next load at once.

The families of shapes are in `_curves`, the errors of the windows in `_noise`, drift and single bad windows
in `_evidence`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from satline.errors import SatlineError
from satline.knee._capacity import views
from satline.knee._curves import FALL, HINGE, LAW, POWER, STRAIGHT, Curves
from satline.knee._evidence import Data, Nuisance, evidence
from satline.knee._noise import UNSETTLED, Noise, pooled
from satline.knee._posterior import Draws, Left, Posterior, quantiles
from satline.knee._window import Floats, Integers, Interval, Window

__all__ = ["Draws", "Floats", "Integers", "Interval", "Posterior", "Window", "fit", "quantiles"]

# Prior: part of each family; a knee is as likely in each octave up to BEYOND times the most users.
STRAIGHT_PART = 0.15
FAMILY_PART = {HINGE: 0.65, FALL: 0.12, POWER: 0.13, LAW: 0.1}
BEYOND = 6.0
COARSE, FINE = 24, 24  # cells of the knee: over all octaves, then over those that are likely
NOWHERE = 1e-4
# Cells of the shapes: bounds, and how likely each is.
ROUND = {
    HINGE: ((0.0, 0.15, 0.5, 1.0), (0.4, 0.35, 0.25)),
    FALL: ((0.0, 0.15, 0.5, 1.0), (0.4, 0.35, 0.25)),
    POWER: ((1.2, 1.8, 2.6, 3.8, 6.0), (0.25, 0.25, 0.25, 0.25)),
    LAW: ((0.0, 0.01, 0.1, 0.6), (0.5, 0.25, 0.25)),
}
SLOPE = (
    (-0.6, -0.4, -0.25, -0.15, -0.08, -0.03, 0.03, 0.1, 0.25, 0.45),
    (0.04, 0.06, 0.07, 0.07, 0.08, 0.5, 0.08, 0.06, 0.04),
)
LOSS = ((0.03, 0.12, 0.25, 0.5, 1.0), (0.25, 0.25, 0.25, 0.25))
FLAT = ((0.0, 0.0), (1.0,))
SLOPES = {HINGE: SLOPE, FALL: LOSS, POWER: FLAT, LAW: FLAT}
# Cells of the nuisance parameters (bounds of logarithmic ones as such).
BETWEEN = ((0.001, 0.008, 0.03, 0.15), (0.45, 0.4, 0.15))
DRIFT = (0.003, 0.15)
SWELL = 0.2
DRAWS = 2000
TEMPER = 0.8
WIDE = 0.08  # part of the draws that comes from the prior


def fit(windows: Sequence[Window], *, most_users: int, seed: int) -> Posterior:
    """Where throughput bends, given windows at several numbers of users.

    Parameters
    ----------
    windows
        In any order; loads may come more than once.
    most_users
        The greatest number of users asked about: `chance_within` is the chance that the knee lies within it.
    seed
        Of the draws: the same windows and seed give the same posterior.

    Raises
    ------
    SatlineError
        No window, or none with any throughput.
    """
    if not windows:
        raise SatlineError("there is no window to fit a curve to", hint="observe at least one load")
    if not any(w.mean > 0 for w in windows):
        raise SatlineError(
            "nothing was completed in any window",
            hint="make the windows longer, or see why users complete nothing",
        )
    random = np.random.default_rng(seed)
    # Does the CPU limit, so that what others took moves the curve, or something else? As likely, before.
    limiting, others = views(windows)
    tried = [_fitted(windows, one.relative, most_users, random) for one in (*limiting, *others)]
    prior = [1 / len(limiting) for _ in limiting] + [1.0 for _ in others]
    parts = np.array([one.log_evidence for one in tried]) + np.log(prior)
    parts = np.exp(parts - parts.max())
    parts /= parts.sum()
    chance = float(parts[: len(limiting)].sum()) if limiting and others else None
    means = [one.mean for one in (*limiting, *others)]
    scale = [
        np.full(len(one.draws.rate), 1.0 if mean is None else mean)
        for one, mean in zip(tried, means, strict=True)
    ]
    likeliest = int(np.argmax(parts[: len(limiting)])) if limiting else 0
    left = Left(means[likeliest], chance, np.concatenate(scale))
    best = tried[int(np.argmax(parts))]
    made = Draws.joined([one.draws for one in tried], parts)
    return Posterior(made, best.data, best.noise, most_users, left)


@dataclass(frozen=True)
class _Fitted:
    """A posterior under one model of the capacity, and how well the model explains the windows."""

    draws: Draws
    data: Data
    noise: Noise
    log_evidence: float


def _fitted(
    windows: Sequence[Window], capacity: Floats, most_users: int, random: np.random.Generator
) -> _Fitted:
    data, noise = _data(windows, capacity)
    fewest = float((data.users / capacity).min())
    ends = float(np.log(max(0.8, 0.4 * fewest))), float(np.log(BEYOND * most_users))
    edges = np.linspace(*ends, COARSE + 1)
    coarse = _Lattice(edges, ends, middle=True)
    lattice = _Lattice(coarse.likely_edges(coarse.chance(data)), ends)
    cells, chance = lattice.draw(lattice.chance(data), random)
    curves, nuisance = lattice.inside(cells, noise, random)
    fitted = evidence(data, curves, nuisance)
    logs = fitted.log_likelihood + lattice.log_prior[cells] - np.log(chance[cells])
    weight = np.exp(logs - logs.max())
    # Draws by importance: the mean of their weights is the likelihood of the windows.
    log_evidence = float(logs.max() + np.log(weight.mean()))
    draws = Draws.of(curves, nuisance, fitted, weight / weight.sum(), random)
    return _Fitted(draws, data, noise, log_evidence)


def _data(windows: Sequence[Window], capacity: Floats) -> tuple[Data, Noise]:
    users = np.array([w.users for w in windows], dtype=np.float64)
    mean = np.array([w.mean for w in windows])
    seconds = np.array([w.seconds for w in windows])
    pilot = _pilot(users / capacity, mean / capacity, seconds) * capacity
    noise = pooled(windows, pilot)
    variance = noise.variance(pilot, users, seconds)
    variance = np.where([w.settled for w in windows], variance, variance * UNSETTLED)
    middle = np.array([w.middle_s for w in windows])
    return Data(users, middle, mean, pilot, variance, capacity), noise


def _pilot(users: Floats, mean: Floats, seconds: Floats) -> Floats:
    """The broken line that is nearest, by weights of counts: for the errors' sizes only."""
    knees = np.concatenate([np.unique(users), [np.inf]])
    best, found = np.inf, mean
    for slope in (0.0, -0.15):
        shape = np.minimum(users, knees[:, None])
        shape = shape + slope * np.maximum(users - knees[:, None], 0)
        shape = np.maximum(shape, 0.1 * np.minimum(users, knees[:, None]))
        weight = seconds / shape
        rate = (weight * shape * mean).sum(axis=1) / (weight * shape**2).sum(axis=1)
        error = mean - rate[:, None] * shape
        left = (weight * error**2).sum(axis=1) / np.maximum(rate, 1e-12)
        k = int(np.argmin(left))
        if left[k] < best:
            best, found = float(left[k]), rate[k] * shape[k]
    return np.asarray(np.maximum(found, 1e-6 * mean.max()))


class _Lattice:
    """Cells of shapes and of what is not asked for: each has bounds and a prior chance.

    edges
        Of the cells of the knee, logarithms; ends: of the knee's prior.
    middle
        Only usual differences between windows, to see where knees are likely at all.
    """

    def __init__(self, edges: Floats, ends: tuple[float, float], middle: bool = False) -> None:
        self.edges = edges
        tau = np.log(BETWEEN[0])
        between = [(tau[k], tau[k + 1], part) for k, part in enumerate(BETWEEN[1])]
        if middle:
            between = [(tau[0], tau[-1], 1.0)]
        self.betweens = len(between)
        # cells of the knee as parts of its prior
        parts = np.diff(edges) / (ends[1] - ends[0])
        rows: list[tuple[float, ...]] = []
        prior: list[float] = []
        for low, high, part in between:
            rows.append((STRAIGHT, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, low, high))
            prior.append(STRAIGHT_PART * part)
            for family, share in FAMILY_PART.items():
                bends, slopes = ROUND[family], SLOPES[family]
                for k in range(len(parts)):
                    for i, bend in enumerate(bends[1]):
                        for j, slope in enumerate(slopes[1]):
                            inner = (*bends[0][i : i + 2], *slopes[0][j : j + 2])
                            rows.append((family, edges[k], edges[k + 1], *inner, low, high))
                            prior.append((1 - STRAIGHT_PART) * share * bend * slope * parts[k] * part)
        columns = np.array(rows)
        self.family: Integers = columns[:, 0].astype(np.int64)
        self.low, self.high = columns[:, 1:8:2], columns[:, 2:9:2]  # log knee, round, slope, log between
        self.prior = np.array(prior)
        self.log_prior = np.log(self.prior)

    def chance(self, data: Data) -> Floats:
        """Of each cell, as far as its centre tells."""
        found = evidence(data, self.curves(), self.nuisance()).log_likelihood + self.log_prior
        chance = np.exp(found - found.max())
        return np.asarray(chance / chance.sum())

    def likely_edges(self, chance: Floats) -> Floats:
        """Cells of the knee, finer, over the range outside which it hardly lies."""
        flat = chance**TEMPER
        knee = np.flatnonzero(self.family != STRAIGHT)
        number = np.searchsorted(self.edges, (self.low[knee, 0] + self.high[knee, 0]) / 2) - 1
        mass = np.bincount(number, flat[knee], len(self.edges) - 1)
        good = np.flatnonzero(mass > NOWHERE * mass.sum())
        first, last = max(0, good[0] - 1), min(len(mass), good[-1] + 2)
        return np.linspace(self.edges[first], self.edges[last], FINE + 1)

    def _made(self, family: Integers, place: Floats) -> tuple[Curves, Floats]:
        knee = np.where(family == STRAIGHT, np.inf, np.exp(place[:, 0]))
        return Curves(family, knee, place[:, 1], place[:, 2]), np.exp(place[:, 3])

    def curves(self) -> Curves:
        """At the centres."""
        return self._made(self.family, (self.low + self.high) / 2)[0]

    def nuisance(self) -> Nuisance:
        """At the centres; the others at usual values."""
        between = self._made(self.family, (self.low + self.high) / 2)[1]
        one = np.ones(len(between))
        return Nuisance(between, one, 0.02 * one, 0.5 * one, 0.5 * one)

    def draw(self, chance: Floats, random: np.random.Generator) -> tuple[Integers, Floats]:
        """Numbers of cells, and the chance of each to be drawn: flatter than the lattice's own finding, since
        a cell's centre need not be its best, and spread over neighbours in the knee."""
        flat = chance**TEMPER
        flat = 0.7 * flat + 0.3 * self._spread(flat)
        drawn = (1 - WIDE) * flat / flat.sum() + WIDE * self.prior / self.prior.sum()
        # systematic draws: one uniform number, equal steps
        places = (np.arange(DRAWS) + random.random()) / DRAWS
        cells = np.minimum(np.searchsorted(np.cumsum(drawn), places), len(drawn) - 1)
        return cells.astype(np.int64), drawn

    def _spread(self, flat: Floats) -> Floats:
        """Each cell's share given to the cells of the neighbouring knees of the same shape."""
        made = flat.copy()
        start = 0
        count = len(self.edges) - 1
        for _ in range(self.betweens):
            start += 1
            for family in FAMILY_PART:
                shapes = len(ROUND[family][1]) * len(SLOPES[family][1])
                size = count * shapes
                block = flat[start : start + size].reshape(count, shapes)
                padded = np.pad(block, ((1, 1), (0, 0)))
                made[start : start + size] = (0.5 * (padded[:-2] + padded[2:])).reshape(-1)
                start += size
        return made

    def inside(self, cells: Integers, noise: Noise, random: np.random.Generator) -> tuple[Curves, Nuisance]:
        """A place in each of these cells, by chance; nuisance parameters without cells from their priors."""
        low, high = self.low[cells], self.high[cells]
        place = low + (high - low) * random.random(low.shape)
        curves, between = self._made(self.family[cells], place)
        count = len(cells)
        freedom = noise.freedom
        scale = freedom / np.maximum(random.chisquare(freedom, count), 1e-3)
        drift = np.exp(random.uniform(np.log(DRIFT[0]), np.log(DRIFT[1]), count))
        whole = random.random(count)
        swell = SWELL * np.abs(random.normal(size=count))
        return curves, Nuisance(between, np.clip(scale, 0.2, 8.0), drift, whole, swell)
