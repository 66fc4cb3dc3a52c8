"""Least squares with coefficients that are not negative, from the normal equations [Lawson and Hanson,
Solving Least Squares Problems, 1974, ch. 23]."""

from __future__ import annotations

import numpy as np

from satline.prediction._network import Floats

TOLERANCE = 1e-10


def nonnegative(square: Floats, left: Floats) -> Floats:
    """The x ≥ 0 that makes xᵀ G x / 2 − xᵀ b least.

    Parameters
    ----------
    square
        G = AᵀA, shape (n, n): symmetric, and positive at least in part.
    left
        b = Aᵀy.
    """
    count = len(left)
    found = np.zeros(count)
    free = np.zeros(count, dtype=bool)
    least = TOLERANCE * max(float(np.abs(left).max(initial=0.0)), 1e-300)
    # each round frees one coefficient and lowers the sum of squares: no set of them comes twice
    for _ in range(3 * 2**count):
        slope = np.where(free, -np.inf, left - square @ found)
        if free.all() or slope.max() <= least:
            break
        free[int(slope.argmax())] = True
        while free.any():
            wanted = np.zeros(count)
            inside = np.ix_(free, free)
            wanted[free] = np.linalg.lstsq(square[inside], left[free], rcond=None)[0]
            if (wanted[free] > 0).all():
                found = wanted
                break
            falls = free & (wanted <= 0)
            step = float((found[falls] / np.maximum(found[falls] - wanted[falls], 1e-300)).min())
            found = np.where(free, found + step * (wanted - found), 0.0)
            free &= found > TOLERANCE * max(float(found.max()), 1e-300)
            found = np.where(free, found, 0.0)
    return found
