"""MLRsearch on the same systems: what it can be asked, and how near it comes.

MLRsearch (FD.io CSIT, PyPI `MLRsearch`) looks for the load at which a given part of what is offered is lost.
A closed system loses nothing; but users who wait offer less than they would. So the load offered is users ×
the rate of a user alone, measured first for 20 s at a light load; the loss is what throughput lacks of it.
Its conditional throughput at a loss of 10 %, divided by that rate, is an estimate of the knee. It gives no
interval, and does not say that nothing saturates. Trials last 10 s at first and 20 s at last, of which 60 s
in all decide a load; half of the trials may exceed the loss; the width to reach is 15 %. The same ramps and
warm-ups are counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from systems import STUDY_S, made

from satline.experiment.search import Search, Settings

OVERHEAD_S = 7.0
LOSS, WIDTH = 0.1, 0.15


@dataclass
class Compared:
    """Relative errors of the knee, study seconds and steps of each; nan: no answer."""

    index: int
    kind: str
    search_error: float
    search_s: float
    search_steps: int
    mlr_error: float
    mlr_s: float
    mlr_steps: int


def compared(index: int, seed: int) -> Compared | None:
    """Both on system number `index`, each until it ends by itself or at ± 15 %, at most ten times 300 s."""
    from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal

    system = made(index, seed)
    if system.knee is None or not system.stationary:
        return None
    search = Search(Settings(most_users=system.most, seconds=10 * STUDY_S), seed=index + 1)
    elapsed = 0.0
    while (decision := search.decide(elapsed)).users is not None:
        elapsed += OVERHEAD_S
        length = max(1, int(decision.window_s))
        search.add(system.observe(decision.users, elapsed, length).window())
        elapsed += length
    value = search.path[-1].estimates[0].value

    other = made(index, seed)
    light = max(1, round(other.most / 16))
    rate = max(other.observe(light, OVERHEAD_S, 20).completed.mean() / light, 1e-3)
    spent = {"seconds": OVERHEAD_S + 20.0, "steps": 1}

    class Measurer(AbstractMeasurer):  # type: ignore[misc]
        def measure(self, intended_duration: float, intended_load: float) -> object:
            users = max(1, round(intended_load / rate))
            spent["seconds"] += OVERHEAD_S
            spent["steps"] += 1
            if spent["seconds"] > 10 * STUDY_S:
                raise RuntimeError("time is up")
            seen = other.observe(users, spent["seconds"], max(1, int(intended_duration)))
            spent["seconds"] += intended_duration
            offered = max(1, round(intended_load * intended_duration))
            return MeasurementResult(
                intended_duration=intended_duration,
                intended_load=intended_load,
                offered_count=offered,
                forwarding_count=min(offered, int(seen.completed.sum())),
            )

    goal = SearchGoal(
        loss_ratio=LOSS,
        exceed_ratio=0.5,
        relative_width=WIDTH,
        initial_trial_duration=10.0,
        final_trial_duration=20.0,
        duration_sum=60.0,
        preceding_targets=1,
        expansion_coefficient=2,
    )
    config = Config(
        goals=[goal],
        min_load=rate,
        max_load=rate * other.most,
        search_duration_max=600.0,
        warmup_duration=None,
    )
    found = math.nan
    try:
        result = MultipleLossRatioSearch(config=config).search(measurer=Measurer(), debug=lambda _: None)[
            goal
        ]
        if result.relevant_lower_bound is not None:
            found = float(result.conditional_throughput) / rate
    except RuntimeError:
        pass
    return Compared(
        index,
        system.kind,
        abs(value / system.knee - 1),
        elapsed,
        len(search.windows),
        abs(found / system.knee - 1),
        float(spent["seconds"]),
        int(spent["steps"]),
    )


def show_compared(answers: list[Compared]) -> None:
    """Medians, and how often each had no answer."""
    print(f"{len(answers)} systems of stationary kinds with a knee")
    for name in ("search", "mlr"):
        error, seconds, steps = (
            np.array([getattr(a, f"{name}_{x}") for a in answers]) for x in ("error", "s", "steps")
        )
        known = error[np.isfinite(error)]
        print(
            f"  {name:<7} error median {np.median(known):.1%}, 90 % below {np.percentile(known, 90):.1%};"
            f" {np.median(seconds):.0f} s and {np.median(steps):.0f} steps in the median;"
            f" no answer {1 - len(known) / len(error):.1%}"
        )
