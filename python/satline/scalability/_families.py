"""The curves that throughput may follow by load: each is a scale times a shape of at most two parameters.

The universal scalability law [Gunther: Guerrilla Capacity Planning, 2007]: shape
N/(1 + σ(N − 1) + κN(N − 1)). Amdahl's law is that with κ = 0, a line through the origin that with σ = 0 too.
A broken line from the origin: shape min(N, c) + r·max(N − c, 0), r the slope beyond the breakpoint c as a
part of that before.

Parameters are searched in coordinates between 0 and 1, in which the sum of squares is smooth and nothing is
out of reach: σ = s·w/(1 − w).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Name = Literal["usl", "amdahl", "linear", "broken-line"]

FURTHEST = 0.99999
STEEPEST = 3.0


@dataclass(frozen=True)
class Family:
    """A curve but for its scale.

    parameters
        Number of parameters, the scale among them.
    shape
        Of coordinates w₁, w₂ (any shapes that broadcast) and loads on the last axis; NaN where none.
    natural
        The parameters of coordinates: (σ, κ), or (c, r).
    free
        Which of the two coordinates are free; the others are 0.
    """

    name: Name
    parameters: int
    shape: Callable[[Floats, Floats, Floats], Floats]
    natural: Callable[[Floats, Floats], tuple[Floats, Floats]]
    free: tuple[bool, bool]


def law(contention: Floats, coherency: Floats, load: Floats) -> Floats:
    """N/(1 + σ(N − 1) + κN(N − 1)); NaN where the divisor is not above 0 (loads below 1)."""
    below = 1 + contention * (load - 1) + coherency * load * (load - 1)
    return np.asarray(np.where(below > 0, load / np.where(below > 0, below, 1), np.nan))


def laws(load: Floats) -> tuple[Family, Family, Family]:
    """Universal scalability law, Amdahl's law and the line through the origin, scaled for these loads."""
    first, last = float(load[0]), float(load[-1])
    one, pair = 1 / np.sqrt(first * last), 1 / last**2

    def natural(w1: Floats, w2: Floats) -> tuple[Floats, Floats]:
        return np.asarray(one * w1 / (1 - w1)), np.asarray(pair * w2 / (1 - w2))

    def shape(w1: Floats, w2: Floats, at: Floats) -> Floats:
        return law(*natural(w1, w2), at)

    return (
        Family("usl", 3, shape, natural, (True, True)),
        Family("amdahl", 2, shape, natural, (True, False)),
        Family("linear", 1, shape, natural, (False, False)),
    )


def broken_line(load: Floats) -> Family:
    """A broken line from the origin, its breakpoint between the first load and the last but one."""
    first, second_last, last = float(load[0]), float(load[-2]), float(load[-1])

    def natural(w1: Floats, w2: Floats) -> tuple[Floats, Floats]:
        at = first + w1 / FURTHEST * (second_last - first)
        least = -at / (last - at)  # throughput at the last load is above 0
        return np.asarray(at), np.asarray(least + w2 * (STEEPEST - least))

    def shape(w1: Floats, w2: Floats, at: Floats) -> Floats:
        bend, ratio = natural(w1, w2)
        found = np.minimum(at, bend) + ratio * np.maximum(at - bend, 0)
        return np.asarray(np.where(found > 0, found, np.nan))

    return Family("broken-line", 3, shape, natural, (True, True))
