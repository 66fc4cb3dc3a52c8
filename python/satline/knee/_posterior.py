"""What is known of the curve: weighted draws of shapes with their linear parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from satline.knee._curves import Curves
from satline.knee._evidence import Data, Fitted, Nuisance, wave_error
from satline.knee._noise import Noise
from satline.knee._window import Floats, Integers, Interval

# Standard deviation of the logarithm of a system's knee about that of the shape that fits it best. Set on
# made queues (`benches/search`), whose curves are none of the shapes: without it their intervals hold nine
# in ten.
SHAPE_ERROR = 0.025


def quantiles(values: Floats, weights: Floats, parts: tuple[float, ...]) -> tuple[float, ...]:
    """Quantiles of weighted values; infinite ones are the greatest. Own: numpy's have weights from 2.0 on."""
    order = np.argsort(values)
    summed = np.cumsum(weights[order])
    place = np.searchsorted(summed, np.array(parts) * summed[-1])
    chosen = values[order][np.minimum(place, len(values) - 1)]
    return tuple(float(x) for x in chosen)


@dataclass(frozen=True)
class Draws:
    """Draws of the posterior.

    rate
        Throughput of a user alone, per second; waves: sizes of the host's drift (draws, waves), relative.
    knee
        Where the system's asymptotes cross. That of the curve is off by some per cent of it, since no
        system's curve is exactly one of the shapes.
    """

    curves: Curves
    nuisance: Nuisance
    rate: Floats
    waves: Floats
    weights: Floats
    knee: Floats

    @classmethod
    def of(
        cls,
        curves: Curves,
        nuisance: Nuisance,
        fitted: Fitted,
        weights: Floats,
        random: np.random.Generator,
    ) -> Draws:
        """With a draw of each one's linear part."""
        kept = np.flatnonzero(weights > 1e-9 * weights.max())
        mean, precision = fitted.linear[kept], fitted.precision[kept]
        root = np.linalg.cholesky(precision)
        noise = np.linalg.solve(root.transpose(0, 2, 1), random.normal(size=(*mean.shape, 1)))[:, :, 0]
        linear = mean + noise
        rate = np.maximum(linear[:, 0], 0.05 * mean[:, 0])
        weights = weights[kept] / weights[kept].sum()
        kept_curves = curves.take(kept)
        knee = kept_curves.knee * np.exp(SHAPE_ERROR * random.normal(size=len(kept)))
        return cls(kept_curves, nuisance.take(kept), rate, linear[:, 1:] / rate[:, None], weights, knee)

    @classmethod
    def joined(cls, each: Sequence[Draws], parts: Floats) -> Draws:
        """The draws of several models, each as likely as its part."""
        if len(each) == 1:
            return each[0]

        def together(values: Sequence[Floats]) -> Floats:
            return np.concatenate(values)

        curves = Curves(
            np.concatenate([one.curves.family for one in each]),
            *(together([getattr(one.curves, name) for one in each]) for name in ("knee", "round", "slope")),
        )
        nuisance = Nuisance(
            *(together([getattr(one.nuisance, f.name) for one in each]) for f in fields(Nuisance))
        )
        return cls(
            curves,
            nuisance,
            together([one.rate for one in each]),
            together([one.waves for one in each]),
            together([one.weights * part for one, part in zip(each, parts, strict=True)]),
            together([one.knee for one in each]),
        )

    @property
    def effective(self) -> float:
        """How many draws of equal weight tell as much."""
        return float(1 / (self.weights**2).sum())

    def equal(self, count: int) -> Integers:
        """Numbers of `count` draws that stand for all with equal weight."""
        places = (np.arange(count) + 0.5) / count
        found = np.searchsorted(np.cumsum(self.weights), places)
        return np.minimum(found, len(self.weights) - 1).astype(np.int64)


@dataclass(frozen=True)
class Left:
    """What others left of the load's CPU.

    mean
        Part of a whole CPU over the windows in which it may have limited; ``None``: not known.
    chance
        That the CPU limits, by how throughput follows what was left; ``None``: it hardly differed.
    scale
        Of each draw, what of a whole CPU its curve is of: 1 where the CPU does not limit.
    """

    mean: float | None
    chance: float | None
    scale: Floats


class Posterior:
    """Where throughput bends, and what else is known of the curve.

    draws
        Weighted draws of it.
    noise
        The model of the windows' errors.
    most_users
        The greatest number of users asked about.
    left
        What others left of the load's CPU: the curve is that of its mean.
    """

    def __init__(self, draws: Draws, data: Data, noise: Noise, most_users: int, left: Left) -> None:
        self.draws, self.data, self.noise, self.most_users = draws, data, noise, most_users
        self.left = left

    @cached_property
    def knee(self) -> Interval:
        """Number of users where the asymptotes cross, 95 %. Without an upper limit where more than one in 40
        has no knee within the users asked about."""
        return self.interval(self.draws.knee, most=float(self.most_users))

    @cached_property
    def knee_of_whole(self) -> Interval:
        """The knee with a whole CPU where others took part of it, 95 %."""
        return self.interval(self.draws.knee / self.left.scale, most=float(self.most_users))

    @cached_property
    def chance_within(self) -> float:
        """Chance that throughput bends within the users asked about."""
        return float(self.draws.weights[self.draws.knee <= self.most_users].sum())

    def interval(self, values: Floats, most: float = math.inf) -> Interval:
        """Median and 95 % interval of a value of each draw; beyond `most` there is no limit."""
        low, value, high = quantiles(values, self.draws.weights, (0.025, 0.5, 0.975))
        return Interval(value, low, high if high <= most else math.inf)

    def throughput(self, users: float) -> Interval:
        """Throughput at a number of users, per second, in the mean of the study."""
        value, _ = self.draws.curves.at(np.array([float(users)]))
        return self.interval(self.draws.rate * value[:, 0])

    def curve(self, users: Floats) -> tuple[Floats, Floats, Floats]:
        """Throughput at each of these numbers of users: median and ends of the 95 % interval."""
        value, _ = self.draws.curves.at(np.asarray(users, dtype=np.float64))
        rows = [self.interval(v) for v in (self.draws.rate[:, None] * value).T]
        return (
            np.array([r.value for r in rows]),
            np.array([r.low for r in rows]),
            np.array([r.high for r in rows]),
        )

    @cached_property
    def _range(self) -> tuple[Floats, Floats]:
        """Numbers of users within the limits, and throughput there (draws, users)."""
        users = np.unique(np.rint(np.geomspace(1, self.most_users, 60)))
        value, _ = self.draws.curves.at(users)
        return users, self.draws.rate[:, None] * value

    @cached_property
    def peak(self) -> Interval:
        """Greatest throughput within the users asked about, per second."""
        return self.interval(self._range[1].max(axis=1))

    @cached_property
    def slopes(self) -> Floats:
        """Of each draw, the slope from the knee to twice the knee, relative to that of few users."""
        knee = np.where(np.isfinite(self.draws.curves.knee), self.draws.curves.knee, 1.0)
        value, _ = self.draws.curves.at(knee[:, None] * np.array([1.0, 2.0]))
        return np.asarray((value[:, 1] - value[:, 0]) / knee)

    @cached_property
    def slope_ratio(self) -> Interval:
        """Slope from the knee to twice the knee, relative to that of few users."""
        return self.interval(self.slopes)

    def expected(self, index: Integers, users: Floats, middle_s: float) -> tuple[Floats, Floats]:
        """Throughput that these draws foretell of windows at these numbers of users at a time, and how far
        it is by the host's drift: shapes (draws, users)."""
        value, stretch = self.draws.curves.take(index).at(users)
        whole = self.draws.nuisance.whole[index][:, None]
        exposed = whole + (1 - whole) * stretch
        span = self.data.span_s
        inside = min(middle_s, float(self.data.middle_s.min()) + span)
        drift = self.draws.waves[index] @ self.data.waves(np.array([inside]))[0]
        ahead = max(0.0, middle_s - inside)
        free = wave_error(self.draws.nuisance.drift[index], 300.0)[:, 0] * math.sqrt(ahead / 300.0)
        base = self.draws.rate[index][:, None] * value
        return base * (1 + exposed * drift[:, None]), base * exposed * free[:, None]

    def error(self, index: Integers, users: Floats, seconds: float) -> Floats:
        """Standard deviation of the mean of a window of so many seconds at each of these numbers of users:
        shape (draws, users)."""
        value, stretch = self.draws.curves.take(index).at(users)
        throughput = np.maximum(self.draws.rate[index][:, None] * value, 1e-12)
        by_blocks = self.noise.variance(throughput, users, seconds)
        variance = self.draws.nuisance.take(index).variance(by_blocks, stretch)
        return np.asarray(throughput * np.sqrt(variance))
