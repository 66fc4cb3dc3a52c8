"""Where predicted throughput bends: what `satline diagnose` looks for in measured throughput."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from satline.diagnosis.steps import fit_hinge
from satline.prediction._network import Floats


def bend_loads(seen: list[int], reach: int) -> list[int]:
    """The loads that were recorded, where they reach far enough, else some up to `reach`."""
    if len(seen) >= 4 and seen[-1] >= 0.7 * reach:
        return seen
    return [int(n) for n in np.unique(np.linspace(1, reach, 16).round())]


def bend(rate: Floats, users: Sequence[int]) -> Floats:
    """Where a broken line through throughput at these loads bends, by draw; `rate` is by load and draw."""
    means = rate.T
    weights = 1 / np.maximum(means[0], 0.2 * means[0].max())
    return fit_hinge(np.array(users, dtype=np.float64), means, weights, origin=True).at
