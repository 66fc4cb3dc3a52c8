"""A lasting step in a course over time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from satline.diagnosis._partial import Floats, Integers

LEAST_BLOCKS = 12
EACH_SIDE = 3
SHUFFLES = 999


@dataclass(frozen=True)
class Step:
    """The likeliest step.

    at
        Number of the first observation after it.
    size, error
        Mean after less mean before, with its standard error.
    p
        How often blocks in random order show as large a step.
    """

    at: int
    size: float
    error: float
    p: float


def largest_step(values: Floats, batches: Integers, *, seed: int = 1) -> Step | None:
    """The largest step in a course of observations in order of time; NaN are left out.

    The statistic is the greatest two-sample t over all places; its p-value comes from the blocks in random
    order, which needs no distribution and counts the search over places. ``None`` with fewer than twelve
    blocks or without variation.
    """
    good = np.isfinite(values)
    _, first, block = np.unique(batches[good], return_index=True, return_inverse=True)
    if len(first) < LEAST_BLOCKS:
        return None
    means = np.bincount(block.ravel(), weights=values[good]) / np.bincount(block.ravel())
    if not means.std() > 0:
        return None
    random = np.random.default_rng(seed)
    shuffled = random.permuted(np.tile(means, (SHUFFLES, 1)), axis=1)
    size, error = _splits(np.vstack([means, shuffled]))
    t = np.abs(size) / error
    best = int(t[0].argmax())
    p = float((1 + (t[1:].max(axis=1) >= t[0, best]).sum()) / (SHUFFLES + 1))
    at = int(np.flatnonzero(good)[first[best + EACH_SIDE]])
    return Step(at, float(size[0, best]), float(error[0, best]), p)


def _splits(rows: Floats) -> tuple[Floats, Floats]:
    """For each row and each place of a split: difference of the means, and its standard error."""
    n = rows.shape[1]
    before = np.arange(EACH_SIDE, n - EACH_SIDE + 1)
    after = n - before
    total, squares = rows.sum(axis=1, keepdims=True), (rows**2).sum(axis=1, keepdims=True)
    left = np.cumsum(rows, axis=1)[:, before - 1]
    difference = (total - left) / after - left / before
    within = squares - left**2 / before - (total - left) ** 2 / after
    spread = np.sqrt(np.maximum(within, 1e-12 * np.maximum(squares, 1e-300)) / (n - 2))
    return difference, spread * np.sqrt(1 / before + 1 / after)


def factor(step: Step) -> tuple[float, float, float]:
    """A step in a logarithm as a factor with its 95 % bounds."""
    return tuple(math.exp(step.size + k * step.error) for k in (0.0, -1.96, 1.96))  # type: ignore[return-value]
