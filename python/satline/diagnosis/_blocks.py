"""Blocks of successive observations that may be taken as independent."""

from __future__ import annotations

import numpy as np

from satline.diagnosis._hinge import Floats, Integers
from satline.stats import NORMAL_97_5

LEAST_BLOCKS = 16


def lengthen(batches: Integers, deviations: Floats, groups: Integers) -> tuple[Integers, float]:
    """Blocks joined in pairs, again and again, until their totals no longer resemble those of the next.

    Parameters
    ----------
    batches
        Block of each observation, numbered in the order of time.
    deviations
        Of each observation from what is usual at its load, weighted by its length; 0 where missing.
    groups
        0 for light loads, 1 for heavy: what is independent in sum need not be so in each.

    The first-order autocorrelation of B independent totals has the standard error 1/√B; joining ends where
    it is not above 1.3 of these, or fewer than `LEAST_BLOCKS` would be left.

    Returns
    -------
    The blocks, and how much wider than theirs the intervals must be for the autocorrelation r that is left:
    √(1 + 2 r).
    """
    _, block = np.unique(batches, return_inverse=True)
    while True:
        count = int(block.max()) + 1
        totals = np.bincount(block * 2 + groups, deviations, 2 * count).reshape(count, 2)
        square = float((totals**2).sum())
        alike = float((totals[1:] * totals[:-1]).sum()) / square if square > 0 else 0.0
        if count < 2 * LEAST_BLOCKS or alike <= 1.3 / np.sqrt(count):
            return np.asarray(block, dtype=np.int64), float(np.sqrt(1 + 2 * max(0.0, alike)))
        block = block // 2


def student(freedom: float) -> float:
    """How much wider than the normal distribution's a 95 % interval of Student's t is.

    By the expansion of Cornish and Fisher, good to 1 % from 4 degrees of freedom on. Own: every diagnosis
    asks for it, and so does `satline info`, which would have to load scipy for this number alone.
    """
    z = NORMAL_97_5
    more = (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return 1 + more / z
