"""What kind of load a recording without transactions shows: one batch machine, or users that wait."""

from __future__ import annotations

import numpy as np

from satline.reduction import Reduction


def nongranular(reduction: Reduction, least: int) -> str | None:
    """Are one or a few users that never pause the whole load?"""
    if reduction.load_axis != "active_users":
        return None
    inside = reduction.number >= 0
    share, busy = reduction.observations["largest_user_share"], reduction.observations["total_cpu"]
    if inside.sum() < least or not np.isfinite(share[inside]).any():
        return None
    few = float(np.percentile(reduction.load[inside], 95)) <= 3
    typical = float(np.nanmedian(share[inside]))
    if few and typical >= 0.8 and np.nanmedian(busy[inside]) >= 0.5:
        return (
            f"one user takes {typical:.0%} of the users' processor time, and seldom more than 3 are "
            "active: a batch machine"
        )
    return None


def contended(reduction: Reduction) -> bool | None:
    """Does anything wait in the topmost third of the load classes? ``None``: no signal tells."""
    top = reduction.number >= max(0, round(len(reduction.classes) * 2 / 3) - 1)
    signals = {
        "total_cpu_fraction": 0.85,
        "pressure_cpu": 0.5,
        "pressure_io": 0.3,
        "pressure_memory": 0.1,
        "throttled_periods": 0.3,
        "busiest_task": 0.85,
    }
    seen = [
        (float(np.nanmean(v[top])), limit)
        for name, limit in signals.items()
        if np.isfinite((v := reduction.observations[name])[top]).any()
    ]
    return any(v >= limit for v, limit in seen) if seen else None
