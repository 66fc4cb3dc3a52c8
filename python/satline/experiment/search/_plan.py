"""What each possible next window would bring: by how much it narrows the targets, per second spent.

For each candidate, outcomes are drawn from the posterior; each outcome gives the draws new weights, and these
a new scatter of each target. The precision that the candidate is expected to add, divided by the seconds that
the ramp, the warm-up and the window take, is what it is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from satline.experiment.search._reactions import Reactions
from satline.knee import Floats, Posterior

DRAWS, OUTCOMES = 400, 48


@dataclass(frozen=True)
class Candidate:
    """A possible next window.

    users, window_s
        What it would be.
    seconds
        What it costs, ramp and warm-up counted.
    narrowing
        By what part the targets' intervals are expected to narrow, the mean over the targets that are not
        yet known well enough.
    """

    users: int
    window_s: float
    seconds: float
    narrowing: float

    @property
    def worth(self) -> float:
        """Precision gained per second, in units of that of now.

        Precision, 1/width², adds up from window to window: its gain per second does not prefer short windows
        for being the first of a longer one.
        """
        return float(((1 - self.narrowing) ** -2 - 1) / self.seconds)


@dataclass(frozen=True)
class Sought:
    """A target's draws, and how a window tells of them.

    values
        One a draw; equal weights.
    reactions
        Draws of the part of reactions in time; ``None``: throughput tells.
    """

    values: Floats
    reactions: Reactions | None = None


def narrowing(
    found: Posterior,
    index: np.ndarray[tuple[int], np.dtype[np.int64]],
    sought: Sequence[Sought],
    users: Floats,
    window_s: float,
    middle_s: float,
    random: np.random.Generator,
) -> Floats:
    """Expected relative narrowing by a window at each of these numbers of users: shape (users,)."""
    noise = random.normal(size=OUTCOMES)
    chosen = np.linspace(0, len(index) - 1, OUTCOMES).astype(int)
    mean, drift = found.expected(index, users, middle_s)
    error = np.sqrt(found.error(index, users, window_s) ** 2 + drift**2)
    total = np.zeros(len(users))
    for one in sought:
        if one.reactions is None:
            total += _shrunk(one.values, mean, error, chosen, noise)
        else:
            part = one.reactions.part(users)
            rate = np.median(mean, axis=0)
            free = one.reactions.free(np.maximum(rate * window_s, 0.5))
            sd = np.sqrt(np.maximum(part * (1 - part), 0.002) / free)
            total += _shrunk(one.values, part, sd, chosen, noise)
    return total / max(1, len(sought))


def _shrunk(values: Floats, mean: Floats, error: Floats, chosen: np.ndarray, noise: Floats) -> Floats:
    """1 − expected scatter of the logarithm of the values by that of now, for each column of `mean`."""
    log = np.log(np.maximum(values, 0.25))
    now = float(log.std()) + 1e-9
    made = np.empty(mean.shape[1])
    for k in range(mean.shape[1]):
        outcome = mean[chosen, k] + error[chosen, k] * noise
        distance = (outcome[:, None] - mean[:, k]) / error[:, k]
        weight = np.exp(-0.5 * distance**2) / error[:, k]
        weight /= weight.sum(axis=1, keepdims=True)
        centre = weight @ log
        then = np.sqrt(np.maximum(weight @ log**2 - centre**2, 0.0))
        made[k] = 1 - float(then.mean()) / now
    return np.clip(made, 0.0, 0.999)
