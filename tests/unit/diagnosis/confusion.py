"""Verdicts on many simulated closed systems against the truth."""

from __future__ import annotations

from collections import Counter

import numpy as np
from closed_system import Closed

from satline.diagnosis.saturation import judge


def confusion(systems: int, seed: int = 3, replicates: int = 400) -> tuple[Counter[tuple[str, str]], int]:
    """How often each (truth, verdict) came, and how many confident verdicts were wrong.

    Truth by the asymptotes' crossing N* against the greatest load N: ``light`` N < 0.9 N*, ``at the knee``,
    ``saturated`` N > 1.3 N*. Wrong are "saturated" for a light system, "not saturated" for a saturated one,
    and a saturation load whose interval, widened by a quarter, leaves N* out: the knee is rounded, so that
    no one load is the true one.
    """
    random = np.random.default_rng(seed)
    found: Counter[tuple[str, str]] = Counter()
    wrong = 0
    for _ in range(systems):
        servers = int(random.integers(1, 3))
        think, crossing = float(random.uniform(0.5, 4)), float(random.uniform(3, 20))
        demand = think / (max(crossing, 1.3 * servers) / servers - 1)
        system = Closed(think, demand, servers, bool(random.integers(2)))
        greatest = max(4, round(system.saturation * float(np.exp(random.uniform(np.log(0.2), np.log(4))))))
        count = int(random.integers(4, 11))
        levels = sorted({max(1, round(greatest * x)) for x in np.linspace(1 / count, 1, count)})
        series = system.study(levels, int(random.choice([10, 20, 30])), random)
        answer = judge(
            series, load_axis="users", variable="transaction_rate", unit="per second", replicates=replicates
        )
        reach = levels[-1] / system.saturation
        truth = "light" if reach < 0.9 else "at the knee" if reach < 1.3 else "saturated"
        verdict: str = answer.outcome
        at = answer.at
        if at is not None and not at.low * 0.75 <= system.saturation <= at.high * 1.25:
            verdict = "saturated elsewhere"
        found[truth, verdict] += 1
        wrong += verdict == "saturated elsewhere"
        wrong += (truth, verdict) in {("light", "saturated"), ("saturated", "not-saturated")}
    return found, wrong
