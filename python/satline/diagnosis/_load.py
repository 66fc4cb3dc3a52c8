"""What kind of load a recording without transactions shows: one batch machine, or users that wait."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from satline.diagnosis._hinge import Floats
from satline.diagnosis._left import TAKEN
from satline.reduction import Reduction

Mask = NDArray[np.bool_]

# What a signal of waiting reaches where something is short.
LIMITS = {
    "busy": 0.85,
    "queue": 1.5,
    "pressure_cpu": 0.5,
    "pressure_io": 0.3,
    "pressure_memory": 0.1,
    "throttled_periods": 0.3,
    "busiest_task": 0.85,
}
RISE = 1.2
# Of users in transactions: what part of their time they must wait, and how much longer than at light load.
WAITING, LONGER = 0.5, 2.0


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
    """Does anything wait in the topmost third of the load classes that does not in the lowest? ``None``: no
    signal tells.

    What is as high at light load is not the users' doing: compute-bound background work fills processors at
    every load.
    """
    count = len(reduction.classes)
    top = reduction.number >= max(0, round(count * 2 / 3) - 1)
    bottom = (reduction.number >= 0) & (reduction.number <= (count - 1) // 3) & ~top
    high, low = _signals(reduction, top), _signals(reduction, bottom)
    longer = _waits_longer(reduction, top, bottom)
    if not high and longer is None:
        return None
    return bool(longer) or any(
        value >= LIMITS[name] and (low.get(name, 0.0) < LIMITS[name] or value >= RISE * low[name])
        for name, value in high.items()
    )


def _waits_longer(reduction: Reduction, top: Mask, bottom: Mask) -> bool | None:
    """Do users wait most of their transaction time at the top, and for each transaction far longer than at
    the bottom? ``None``: transactions or users' processor time were not recorded.

    By Little's law (L − U) / X is the wait for each of X transactions per second, with L users in a
    transaction of whom U run. It sees a lock or a server that nothing else in the recording shows.
    """

    def waits(where: Mask) -> tuple[float, float] | None:
        names = ("users_in_transaction", "user_run", "transaction_rate")
        values = np.stack([reduction.observations[n][where] for n in names])
        known = values[:, np.isfinite(values).all(axis=0)]
        inside, run, rate = known.mean(axis=1) if known.shape[1] else np.zeros(3)
        return ((inside - run) / rate, (inside - run) / inside) if rate > 0 and inside > 0 else None

    high, low = waits(top), waits(bottom)
    if high is None or low is None:
        return None
    return high[1] >= WAITING and high[0] >= LONGER * max(0.0, low[0])


def _signals(reduction: Reduction, where: Mask) -> dict[str, float]:
    """Signals of waiting in some observations; what was not recorded is left out."""

    def mean(name: str) -> float | None:
        values: Floats = reduction.observations[name][where]
        return float(np.nanmean(values)) if np.isfinite(values).any() else None

    found = {name: mean(name) for name in LIMITS if name not in {"busy", "queue"}}
    capacity, total, runnable = mean("capacity_processors"), mean("total_cpu"), mean("runnable_tasks")
    if capacity:
        # Processors that others hold are no room, however idle the rest.
        found["busy"] = None if total is None else (total + (mean("stolen") or 0.0)) / capacity
        left = mean("left_cpu") if "left_cpu" in reduction.observations else None
        own = mean("load_cpu") if left is not None else None
        if left is not None and left < (1 - TAKEN) * capacity and total is not None:
            found["busy"] = min(1.0, (total if own is None else own) / max(left, 1e-9))
        found["queue"] = None if runnable is None else runnable / capacity
    # On many processors some task waits at every moment, though nearly all of them idle.
    crowded = (found.get("busy") or 0.0) >= 0.5 or (found.get("queue") or 0.0) >= 1
    if not crowded and not (found["throttled_periods"] or 0.0) >= LIMITS["throttled_periods"]:
        del found["pressure_cpu"]
    return {name: value for name, value in found.items() if value is not None}


# What a load is counted in, where it is no number of users.
_UNITS = {
    "run_queue": ("task in the run queue", "tasks in the run queue"),
    "load_average": ("unit of load average", "of load average"),
    "requests": ("request per second", "requests per second"),
    "in_flight": ("request in flight", "requests in flight"),
    "in_system": ("task in the system", "tasks in the system"),
}
_USERS = ("users", "active_users", "in_queue", "sessions")


def in_users(load_axis: str) -> bool:
    """Is the load a number of users?"""
    return load_axis in _USERS


def load_units(load_axis: str) -> tuple[str, str]:
    """One and many of what the load is counted in: "user", "users"."""
    if in_users(load_axis):
        return "user", "users"
    return _UNITS.get(load_axis, (f"unit of {load_axis}", f"of {load_axis}"))
