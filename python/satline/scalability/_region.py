"""Least squares of one family, and the region of parameters that are as good but for chance.

The scale is linear and drops out. What is left are two coordinates: for each value of the first the second is
sought. Where S(w) − min S ≤ s²·F(1, ν) lies the region of which the projection on any quantity is its 95 %
profile-likelihood interval [Bates and Watts: Nonlinear Regression Analysis, 1988, ch. 6]. It is as skewed as
the data say, which intervals of value ± t·error are not.

The searches are own, since each is for all values of the first coordinate at once; those of `scipy.optimize`
are for one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from satline.scalability._families import FURTHEST, Family, Floats

Errors = Literal["equal", "relative"]


class Point(NamedTuple):
    """Parameters of a law: its scale and the two of its shape, each an array of any shape."""

    scale: Floats
    first: Floats
    second: Floats


Quantity = Callable[[Point], Floats]

COARSE, INNER, ZOOM, ROUNDS = 49, 33, 17, 5
ROUNDS_BEST = 7
GOLDEN = (np.sqrt(5) - 1) / 2
ACROSS, ALONG = 49, 11


@dataclass(frozen=True)
class Levels:
    """Throughput by load, ascending: what the rows at each load have in common, and how they differ.

    rows, mean, log_mean
        Of each load.
    within, log_within
        Sum of squares about the loads' means, all loads together, of throughput and of its logarithm.
    """

    load: Floats
    rows: Floats
    mean: Floats
    log_mean: Floats
    within: float
    log_within: float

    @property
    def count(self) -> int:
        """Number of rows."""
        return int(self.rows.sum())


@dataclass(frozen=True)
class Least:
    """The best of a family: its coordinates, its scale, and the sum of squares it leaves between loads."""

    family: Family
    errors: Errors
    w1: float
    w2: float
    scale: float
    left: float


@dataclass(frozen=True)
class _Squares:
    """Sum of squares of a family at coordinates, by least squares of the scale."""

    levels: Levels
    family: Family
    errors: Errors

    def __call__(self, w1: Floats, w2: Floats) -> Floats:
        return self.parts(w1, w2)[0]

    def parts(self, w1: Floats, w2: Floats) -> tuple[Floats, Floats, Floats]:
        """What is left, the scale, and how sharply the scale is known: ΔS = (Δscale)²·sharpness.

        Of relative errors scale and sharpness are those of the scale's logarithm.
        """
        shape = self.family.shape(w1[..., None], w2[..., None], self.levels.load)
        rows = self.levels.rows
        if self.errors == "equal":
            sharp = (rows * shape**2).sum(axis=-1)
            scale = (rows * shape * self.levels.mean).sum(axis=-1) / sharp
            left = (rows * (self.levels.mean - scale[..., None] * shape) ** 2).sum(axis=-1)
        else:
            off = self.levels.log_mean - np.log(shape)
            sharp = np.full(shape.shape[:-1], rows.sum())
            scale = (rows * off).sum(axis=-1) / sharp
            left = (rows * (off - scale[..., None]) ** 2).sum(axis=-1)
        return np.where(np.isfinite(left), left, np.inf), scale, sharp

    def inner(self, w1: Floats) -> tuple[Floats, Floats]:
        """The best second coordinate for each first, and what is left there."""
        if not self.family.free[1]:
            none = np.zeros_like(w1)
            return none, self(w1, none)
        grid = np.linspace(0, FURTHEST, INNER)
        best = self(w1[:, None], grid[None, :]).argmin(axis=1)
        low, high = grid[np.maximum(best - 1, 0)], grid[np.minimum(best + 1, INNER - 1)]
        a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        at_a, at_b = self(w1, a), self(w1, b)
        for _ in range(28):
            left = at_a <= at_b
            low, high = np.where(left, low, a), np.where(left, b, high)
            a, b = (
                np.where(left, high - GOLDEN * (high - low), b),
                np.where(left, a, low + GOLDEN * (high - low)),
            )
            fresh = self(w1, np.where(left, a, b))
            at_a, at_b = np.where(left, fresh, at_b), np.where(left, at_a, fresh)
        choice = np.stack([(low + high) / 2, np.zeros_like(low), np.full_like(low, FURTHEST)])
        sums = self(w1[None, :], choice)
        chosen = sums.argmin(axis=0)
        column = np.arange(len(w1))
        return choice[chosen, column], sums[chosen, column]


def least(levels: Levels, family: Family, errors: Errors) -> Least:
    """The best of a family."""
    squares = _Squares(levels, family, errors)
    w1, w2, left = _best(squares)
    scale = float(squares.parts(np.array(w1), np.array(w2))[1])
    return Least(family, errors, w1, w2, float(np.exp(scale)) if errors == "relative" else scale, left)


def _best(squares: _Squares) -> tuple[float, float, float]:
    grid = np.linspace(0, FURTHEST, COARSE) if squares.family.free[0] else np.zeros(1)
    found = (0.0, 0.0, np.inf)
    for _ in range(ROUNDS_BEST):
        w2, left = squares.inner(grid)
        k = int(left.argmin())
        if left[k] <= found[2]:
            found = (float(grid[k]), float(w2[k]), float(left[k]))
        if len(grid) == 1:
            break
        step = grid[1] - grid[0]
        grid = np.linspace(max(0.0, found[0] - step), min(FURTHEST, found[0] + step), ZOOM)
    return found


@dataclass(frozen=True)
class Region:
    """Parameters that are as good but for chance; the projection on a quantity is its interval.

    first, second, scale_low, scale_high
        Natural parameters, and between which the scale may lie with them: points that fill the region.
    at_low, at_high
        The first coordinate reaches the least or greatest value that it can have.
    """

    first: Floats
    second: Floats
    scale_low: Floats
    scale_high: Floats
    at_low: bool
    at_high: bool

    def interval(self, of: Quantity) -> tuple[float, float]:
        """The ends of a quantity that grows with the scale or does not know it."""
        low, high = (of(Point(scale, self.first, self.second)) for scale in (self.scale_low, self.scale_high))
        return float(np.nanmin(low)), float(np.nanmax(high))


def region(levels: Levels, best: Least, more: float) -> Region:
    """The region in which at most `more` is left beyond the least sum of squares."""
    squares = _Squares(levels, best.family, best.errors)
    limit = best.left + more
    low, high = _span(squares, best, limit)
    w1 = np.unique(np.append(np.linspace(low, high, ACROSS), best.w1))
    w2, left = squares.inner(w1)
    here = left <= limit * (1 + 1e-9)
    w1, w2 = w1[here], w2[here]
    if not len(w1):  # nothing left over at all: a point
        w1, w2 = np.array([best.w1]), np.array([best.w2])
    ends = [_edge(squares, w1, w2, side, limit) for side in (0.0, FURTHEST)]
    share = np.linspace(0, 1, ALONG)
    if not best.family.free[1]:
        share = np.zeros(1)
    filled = np.concatenate([ends[0][:, None] * (1 - share) + ends[1][:, None] * share, w2[:, None]], axis=1)
    across = np.broadcast_to(w1[:, None], filled.shape)
    left, scale, sharp = squares.parts(across, filled)
    good = left <= limit + 1e-9 * abs(limit)
    good[:, -1] = True
    slack = np.sqrt(np.maximum(limit - left, 0) / sharp)
    first, second = best.family.natural(across, filled)
    wide = (scale - slack, scale + slack)
    if best.errors == "relative":
        wide = (np.exp(wide[0]), np.exp(wide[1]))
    return Region(
        first[good], second[good], wide[0][good], wide[1][good], low <= 1e-9, high >= FURTHEST - 1e-9
    )


def _span(squares: _Squares, best: Least, limit: float) -> tuple[float, float]:
    """The least and the greatest first coordinate in the region, the whole of it or in parts."""
    if not squares.family.free[0]:
        return 0.0, 0.0
    grid = np.unique(np.append(np.linspace(0, FURTHEST, COARSE), best.w1))
    inside = np.flatnonzero((squares.inner(grid)[1] <= limit) | (grid == best.w1))
    lower = (float(grid[max(inside[0] - 1, 0)]), float(grid[inside[0]]))
    upper = (float(grid[min(inside[-1] + 1, len(grid) - 1)]), float(grid[inside[-1]]))
    return _crossing(squares, *lower, limit), _crossing(squares, *upper, limit)


def _crossing(squares: _Squares, outer: float, inner: float, limit: float) -> float:
    """Where between a point outside and one inside the limit is crossed; `outer` where it is inside too."""
    for _ in range(ROUNDS):
        points = np.linspace(inner, outer, ZOOM)
        outside = np.flatnonzero(squares.inner(points)[1] > limit)
        outside = outside[outside > 0]
        if not len(outside):
            return outer
        inner, outer = float(points[outside[0] - 1]), float(points[outside[0]])
    return inner


def _edge(squares: _Squares, w1: Floats, best: Floats, side: float, limit: float) -> Floats:
    """How far the second coordinate can go to one side, for each first."""
    if not squares.family.free[1]:
        return best
    near, far = best.copy(), np.full_like(best, side)
    reach = squares(w1, far) <= limit
    for _ in range(26):
        middle = (near + far) / 2
        good = squares(w1, middle) <= limit
        near, far = np.where(good, middle, near), np.where(good, far, middle)
    return np.where(reach, side, near)
