"""A broken line through throughput against load, and a block bootstrap of it.

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


@dataclass(frozen=True)
class Levels:
    """Throughput by load, with bootstrap replicates.

    load, mean, seconds, observations
        One value per level, loads ascending.
    replicates
        Shape (replicates, levels): means of resampled blocks.
    """

    load: Floats
    mean: Floats
    seconds: Floats
    observations: Integers
    replicates: Floats

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
    pairs = np.unique(np.stack([number, batches]), axis=1)
    level, blocks = np.unique(pairs[0], return_counts=True)
    return np.asarray(level[blocks >= at_least], dtype=np.int64)


def make_levels(
    number: Integers,
    load: Floats,
    value: Floats,
    seconds: Floats,
    batches: Integers,
    *,
    nested: bool,
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
        for k in range(levels):
            own = np.flatnonzero(length[:, k] > 0)
            if len(own) < 2:
                drawn[:, k] = mean[k]
                continue
            weight = random.multinomial(len(own), np.full(len(own), 1 / len(own)), replicates)
            drawn[:, k] = (weight @ amount[own, k]) / (weight @ length[own, k])
            # a resample of G blocks varies (G − 1)/G as much as the truth
            drawn[:, k] = mean[k] + (drawn[:, k] - mean[k]) * np.sqrt(len(own) / (len(own) - 1))
    else:
        weight = random.multinomial(blocks, np.full(blocks, 1 / blocks), replicates).astype(np.float64)
        total = weight @ length
        drawn = np.where(total > 0, (weight @ amount) / np.where(total > 0, total, 1), mean)
    counts = np.bincount(number, minlength=levels)
    return Levels(loads, mean, length.sum(axis=0), counts, drawn)


def fit(load: Floats, means: Floats, weights: Floats, *, origin: bool, grid_size: int = 121) -> Hinge:
    """Fit the broken line to each row of `means` (shape: replicates × levels)."""
    grid = np.linspace(load[0], load[-2], grid_size)
    design = np.stack([np.minimum(load, grid[:, None]), np.maximum(load - grid[:, None], 0)], axis=2)
    if not origin:
        design = np.concatenate([design, np.ones((*design.shape[:2], 1))], axis=2)
    root = np.sqrt(weights)
    solve = np.linalg.pinv(design * root[:, None]) * root
    coefficients = np.einsum("cpk,bk->bcp", solve, means)
    fitted = np.einsum("bcp,ckp->bck", coefficients, design)
    residual = (weights * (means[:, None, :] - fitted) ** 2).sum(axis=2)
    best = residual.argmin(axis=1)
    rows = np.arange(len(means))
    chosen = coefficients[rows, best]
    at = grid[best]
    top = chosen[:, 0] * at + (0 if origin else chosen[:, 2])
    return Hinge(at, chosen[:, 0], chosen[:, 1], top, residual[rows, best], grid)


def slopes_at(load: Floats, means: Floats, weights: Floats, at: Floats, *, origin: bool) -> Floats:
    """Slopes of every row of `means`, breakpoint held at each of `at`: shape (replicates, len(at), 2)."""
    design = np.stack([np.minimum(load, at[:, None]), np.maximum(load - at[:, None], 0)], axis=2)
    if not origin:
        design = np.concatenate([design, np.ones((*design.shape[:2], 1))], axis=2)
    root = np.sqrt(weights)
    coefficients = np.einsum("cpk,bk->bcp", np.linalg.pinv(design * root[:, None]) * root, means)
    return np.asarray(coefficients[:, :, :2])


def slope_ratio(slopes: Floats) -> Floats:
    """b'/b of slopes (last axis: b, b'); NaN where b is nothing."""
    before = slopes[..., 0]
    return np.asarray(slopes[..., 1] / np.where(np.abs(before) > 1e-12, before, np.nan))
