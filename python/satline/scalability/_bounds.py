"""What N, X and R say without any law: asymptotic bounds, and Little's law."""

from __future__ import annotations

import numpy as np

from satline.scalability._families import Floats
from satline.scalability._results import Bounds, Little, Value

IMPOSSIBLE = 1.1
GROWS = 1.3


def bounds_of(load: Floats, throughput: Floats) -> Bounds:
    """Asymptotic bounds of means by load, ascending, all above 0."""
    cycle = float((load / throughput).min())
    top = int(throughput.argmax())
    ceiling = float(throughput[top])
    return Bounds(cycle, ceiling, float(load[top]), cycle * ceiling, top == len(load) - 1 and len(load) > 1)


def bound_at(load: Floats, throughput: Floats, at: float) -> tuple[float | None, float]:
    """Between what throughput lies if no user is served faster in company.

    X(M)/M ≤ X(N)/N for M ≥ N; between two loads seen no less than on the straight line, as curves that bend
    down only; beyond them it may fall, and there is no lower bound.
    """
    if at < load[0]:
        return float(throughput[0] * at / load[0]), np.inf
    high = float((throughput / load)[load <= at].min() * at)
    if at > load[-1]:
        return None, high
    return float(np.interp(at, load, throughput)), high


def little(load: Floats, throughput: Floats, response_s: Floats) -> Little | None:
    """Little's law at rows with all three; ``None`` without any."""
    good = np.isfinite(response_s) & (throughput > 0)
    if not good.any():
        return None
    loads, number = np.unique(load[good], return_inverse=True)
    count = np.bincount(number.ravel())
    rate = np.bincount(number.ravel(), throughput[good]) / count
    response = np.bincount(number.ravel(), response_s[good]) / count
    cycle = loads / rate
    think = cycle - response
    grown = cycle[-1] - cycle[0]
    unseen = None
    if len(loads) > 1 and cycle[-1] > GROWS * cycle[0]:
        unseen = float(1 - (response[-1] - response[0]) / grown)
    return Little(
        Value(float(np.median(think)), float(think.min()), float(think.max()), "s"),
        float(response[0]),
        float(max(cycle[0], response[0]) * rate.max()),
        tuple(float(n) for n in loads[response > IMPOSSIBLE * cycle]),
        unseen,
    )
