"""A broken line through throughput against load, and a block bootstrap of it.

Own, since all replicates are fitted at all breakpoints at once; scipy fits one curve at a time, from a start.

The model is X(n) = a + b·min(n, c) + b'·max(n − c, 0): slope b up to the breakpoint c, b' beyond. Where no
users mean no throughput, a = 0. c is sought on a grid between the lowest load and the last but one, so that
two loads at least lie at or beyond it; the rest is weighted least squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

COARSE, FINE = 81, 61


@dataclass(frozen=True)
class Levels:
    """Throughput by load, with bootstrap replicates.

    load, mean, seconds, observations
        One value per level, loads ascending.
    replicates
        Shape (replicates, levels): means of resampled blocks.
    freedom
        Degrees of freedom of the errors: independent blocks less what was estimated of them.
    """

    load: Floats
    mean: Floats
    seconds: Floats
    observations: Integers
    replicates: Floats
    freedom: float

    @property
    def error(self) -> Floats:
        """Standard error of each level's mean."""
        return np.asarray(self.replicates.std(axis=0, ddof=1))


@dataclass(frozen=True)
class Hinge:
    """Fits of many vectors of level means: one value each.

    at, before, after, top
        Breakpoint, slopes below and beyond it, throughput at it.
    """

    at: Floats
    before: Floats
    after: Floats
    top: Floats
    residual: Floats
    grid: Floats


def firm_levels(number: Integers, batches: Integers, at_least: int = 2) -> Integers:
    """The levels whose error can be known: their observations lie in at least so many blocks.

    To a level with one block the bootstrap would give no error at all, and the verdict would rest on it as on
    nothing else.
    """
    low, span = int(batches.min()), int(batches.max() - batches.min()) + 1
    pairs = np.unique(number.astype(np.int64) * span + (batches - low))
    level, blocks = np.unique(pairs // span, return_counts=True)
    return np.asarray(level[blocks >= at_least], dtype=np.int64)


def make_levels(
    number: Integers,
    load: Floats,
    value: Floats,
    seconds: Floats,
    batches: Integers,
    *,
    nested: bool,
    effects: Floats | None = None,
    replicates: int = 1000,
    seed: int = 1,
) -> Levels:
    """Means by level, and a bootstrap that resamples whole blocks of successive observations.

    Parameters
    ----------
    number
        Level of each observation, −1 for none; value may be NaN (left out).
    batches
        Block of each observation; blocks are taken as independent.
    nested
        True: each block belongs to one level (a study's window), and blocks are drawn within levels. False:
        a block may hold observations of many levels, and blocks are drawn from the whole recording.
    effects
        Not with `nested`. Shape (observations, effects): what may raise or lower throughput at any load by a
        part, like the time of day. What it explains of the differences at equal loads is taken out of the
        means, and what is not known of it is in the replicates.
    """
    good = (number >= 0) & np.isfinite(value)
    number, batches = number[good], batches[good]
    load, value, seconds = load[good], value[good], seconds[good]
    kept, number = np.unique(number, return_inverse=True)
    levels = len(kept)
    _, block = np.unique(batches, return_inverse=True)
    blocks = int(block.max()) + 1 if len(block) else 0
    cell = block * levels + number
    length = np.bincount(cell, seconds, blocks * levels).reshape(blocks, levels)
    amount = np.bincount(cell, seconds * value, blocks * levels).reshape(blocks, levels)
    loads = np.round(np.bincount(number, load * seconds, levels) / np.bincount(number, seconds, levels), 9)
    mean = amount.sum(axis=0) / length.sum(axis=0)
    random = np.random.default_rng(seed)
    if nested:
        drawn = np.empty((replicates, levels))
        scatter = _scatter(number, value, seconds, mean)
        for k in range(levels):
            own = np.flatnonzero(length[:, k] > 0)
            if len(own) < 2:
                drawn[:, k] = mean[k] + scatter[k] * random.standard_normal(replicates)
                continue
            weight = random.multinomial(len(own), np.full(len(own), 1 / len(own)), replicates)
            drawn[:, k] = (weight @ amount[own, k]) / (weight @ length[own, k])
            # a resample of G blocks varies (G − 1)/G as much as the truth
            drawn[:, k] = mean[k] + (drawn[:, k] - mean[k]) * np.sqrt(len(own) / (len(own) - 1))
        freedom = float(blocks - levels)
    else:
        # Replicates to first order: a ratio of resampled sums has no value where a level was not drawn.
        total = length.sum(axis=0)
        if effects is None:
            influence = (amount - mean * length) / total
        else:
            mean, influence = _adjusted(effects[good], number, block, value, seconds, mean)
        weight = random.multinomial(blocks, np.full(blocks, 1 / blocks), replicates).astype(np.float64)
        drawn = mean + weight @ influence
        freedom = float(blocks - 1)
    counts = np.bincount(number, minlength=levels)
    return Levels(loads, mean, length.sum(axis=0), counts, drawn, freedom)


def _scatter(number: Integers, value: Floats, seconds: Floats, mean: Floats) -> Floats:
    """Standard error of each level's mean by the scatter of its observations, in place of blocks: for a level
    that has but one. A level of one observation has the relative scatter of all."""
    count = np.bincount(number, minlength=len(mean)).astype(np.float64)
    square = np.bincount(number, seconds * (value - mean[number]) ** 2) / np.bincount(number, seconds)
    several = count > 1
    scale = np.maximum(np.abs(mean), 1e-12)
    usual = float(np.sqrt(np.median(square[several] / scale[several] ** 2))) if several.any() else 0.2
    spread = np.where(several, np.sqrt(square * count / np.maximum(count - 1, 1)), usual * scale)
    return np.asarray(np.maximum(spread, usual * scale) / np.sqrt(count))


def _adjusted(
    effects: Floats, number: Integers, block: Integers, value: Floats, seconds: Floats, mean: Floats
) -> tuple[Floats, Floats]:
    """Level means without the effects, and what each block adds to their errors (blocks × levels).

    Least squares of x = m_l + Σ a_j z_j with z_j = effect_j · (mean at level l), by deviations from the
    levels' means.
    """
    levels, blocks = len(mean), int(block.max()) + 1
    scaled = effects * mean[number][:, None]
    total = np.bincount(number, seconds, levels)
    centre = np.stack([np.bincount(number, seconds * z, levels) / total for z in scaled.T], axis=1)
    within = scaled - centre[number]
    weighted = within * seconds[:, None]
    inverse = np.linalg.pinv(weighted.T @ within, rcond=1e-9)
    size = inverse @ (weighted.T @ value)
    adjusted = mean - centre @ size
    error = value - adjusted[number] - scaled @ size
    score = np.stack([np.bincount(block, z * error, blocks) for z in weighted.T], axis=1)
    own = np.bincount(block * levels + number, seconds * error, blocks * levels).reshape(blocks, levels)
    return adjusted, own / total - score @ inverse @ centre.T


@dataclass(frozen=True)
class _Bases:
    """Least squares at every breakpoint of a grid: design (grid, levels, columns), what solves it, and an
    orthonormal basis of what it can fit."""

    grid: Floats
    design: Floats
    solve: Floats
    basis: Floats

    @classmethod
    def of(cls, grid: Floats, load: Floats, weights: Floats, origin: bool) -> _Bases:
        design = np.stack([np.minimum(load, grid[:, None]), np.maximum(load - grid[:, None], 0)], axis=2)
        if not origin:
            design = np.concatenate([design, np.ones((*design.shape[:2], 1))], axis=2)
        root = np.sqrt(weights)
        u, s, vt = np.linalg.svd(design * root[:, None], full_matrices=False)
        firm = s > 1e-10 * s[:, :1]
        basis = u * firm[:, None, :]
        inverse = np.where(firm, 1 / np.where(firm, s, 1), 0)
        solve = np.einsum("cqp,cq,clq->cpl", vt, inverse, basis) * root
        return cls(grid, design, solve, basis)

    def residuals(self, means: Floats, weights: Floats) -> Floats:
        """Weighted sums of squares left over: shape (rows of `means`, grid)."""
        scaled = means * np.sqrt(weights)
        grid, levels, columns = self.basis.shape
        fitted = scaled @ self.basis.transpose(1, 0, 2).reshape(levels, grid * columns)
        explained = (fitted.reshape(-1, grid, columns) ** 2).sum(axis=2)
        return np.asarray(np.maximum((scaled**2).sum(axis=1)[:, None] - explained, 0))


def _grid(load: Floats, size: int) -> Floats:
    return np.linspace(load[0], load[-2], size)


def fit(load: Floats, means: Floats, weights: Floats, *, origin: bool, grid_size: int = 121) -> Hinge:
    """Fit the broken line to each row of `means` (shape: replicates × levels)."""
    return _best(_Bases.of(_grid(load, grid_size), load, weights, origin), means, weights, origin)


def _best(bases: _Bases, means: Floats, weights: Floats, origin: bool) -> Hinge:
    residual = bases.residuals(means, weights)
    best = residual.argmin(axis=1)
    chosen = np.einsum("bpl,bl->bp", bases.solve[best], means)
    at = bases.grid[best]
    top = chosen[:, 0] * at + (0 if origin else chosen[:, 2])
    return Hinge(at, chosen[:, 0], chosen[:, 1], top, residual[np.arange(len(means)), best], bases.grid)


def profile(
    load: Floats, mean: Floats, deviations: Floats, weights: Floats, *, origin: bool
) -> tuple[Hinge, Hinge, tuple[float, float]]:
    """The broken line, its replicates, and the 95 % interval of its breakpoint.

    A percentile interval of replicated breakpoints is too narrow, because the breakpoint is not a smooth
    function of the means. Here the sum of squares S(c) is what decides: c is in the interval if
    S(c) − min S ≤ q. The 95 % point q of this difference at the true breakpoint is found by bootstrap from
    the fitted line: the fitted line plus the blocks' `deviations` (replicates × levels), so that the errors'
    autocorrelation and their growth with load are in it.
    """
    coarse = _Bases.of(_grid(load, COARSE), load, weights, origin)
    point, (low, high) = _inside(coarse, load, mean, deviations, weights, origin)
    step = coarse.grid[1] - coarse.grid[0]
    dense = np.linspace(max(coarse.grid[0], low - step), min(coarse.grid[-1], high + step), FINE)
    bases = _Bases.of(np.union1d(coarse.grid, dense), load, weights, origin)
    point, interval = _inside(bases, load, mean, deviations, weights, origin)
    return point, _best(bases, mean + deviations, weights, origin), interval


def _inside(
    bases: _Bases, load: Floats, mean: Floats, deviations: Floats, weights: Floats, origin: bool
) -> tuple[Hinge, tuple[float, float]]:
    """The best breakpoint of a grid, and the ends of those that are as good but for chance."""
    point = _best(bases, mean[None, :], weights, origin)
    null = _line(load, point, origin) + deviations
    held = _Bases.of(point.at, load, weights, origin).residuals(null, weights)[:, 0]
    limit = np.percentile(np.maximum(held - bases.residuals(null, weights).min(axis=1), 0), 95)
    excess = bases.residuals(mean[None, :], weights)[0] - point.residual[0]
    good, grid = np.flatnonzero(excess <= limit), bases.grid
    # half a step further: the limit is crossed between two points of the grid
    return point, (
        float(grid[max(0, good[0] - 1)] + grid[good[0]]) / 2,
        float(grid[min(len(grid) - 1, good[-1] + 1)] + grid[good[-1]]) / 2,
    )


def _line(load: Floats, point: Hinge, origin: bool) -> Floats:
    """The fitted line at the levels."""
    start = 0.0 if origin else point.top[0] - point.before[0] * point.at[0]
    at = point.at[0]
    return np.asarray(
        start + point.before[0] * np.minimum(load, at) + point.after[0] * np.maximum(load - at, 0)
    )


def slopes_at(load: Floats, means: Floats, weights: Floats, at: Floats, *, origin: bool) -> Floats:
    """Slopes of every row of `means`, breakpoint held at each of `at`: shape (replicates, len(at), 2)."""
    bases = _Bases.of(at, load, weights, origin)
    return np.asarray(np.einsum("cpl,bl->bcp", bases.solve, means)[:, :, :2])


def slope_ratio(slopes: Floats) -> Floats:
    """b'/b of slopes (last axis: b, b'); NaN where b is nothing."""
    before = slopes[..., 0]
    return np.asarray(slopes[..., 1] / np.where(np.abs(before) > 1e-12, before, np.nan))
