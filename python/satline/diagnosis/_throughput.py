"""What throughput is judged by: completed transactions, the work that they bring, or user time."""

from __future__ import annotations

import numpy as np

from satline.diagnosis._hinge import Floats, make_levels
from satline.reduction import Reduction

SURE_FALL = 0.9


def useful_work(reduction: Reduction) -> Floats | None:
    """Processors that users kept busy in user time: "the measure of useful work" [Bard].

    Only of a virtual-machine system, whose control program tells users' processor time from the background's:
    what processors did for nobody in the load is taken to be the background's user time. ``None``
    elsewhere.
    """
    observed = reduction.observations
    names = ("problem_state", "total_cpu", "user_run")
    if "mpl_exact" not in reduction.curves or not all(name in observed for name in names):
        return None
    problem, total, users = (np.asarray(observed[name], dtype=np.float64) for name in names)
    work = np.maximum(0.0, problem - np.maximum(0.0, total - users))
    return work if np.isfinite(work).any() else None


def work_completed(reduction: Reduction) -> Floats | None:
    """Work completed (`work_rate` of the catalogue), where commands differ in what they take."""
    observed = reduction.observations
    if "mpl_exact" in reduction.curves or "work_rate" not in observed:
        return None
    rate, work = (np.asarray(observed[name], dtype=np.float64) for name in ("transaction_rate", "work_rate"))
    done = np.isfinite(work) & (rate > 0)
    if not done.any() or np.ptp(work[done] / rate[done]) < 1e-9:
        return None
    return work


def work_kept(reduction: Reduction) -> float | None:
    """The least of `work_kept` of the catalogue over the upper third of the loads; ``None``: not known."""
    curve = reduction.curves.get("work_kept")
    if curve is None or reduction.load_axis != "users" or "mpl_exact" in reduction.curves:
        return None
    upper = curve.points[-max(2, len(curve.points) // 3) :]
    return min((point.mean for point in upper if point.mean is not None), default=None)


def mix_changes(reduction: Reduction, work: Floats) -> bool:
    """Does useful work per completed transaction surely fall with load?

    Then ever more of the short transactions complete and ever fewer of the long, as where Q1 goes before Q2:
    their number rises while the machine has long been saturated. Held against each other are the lowest and
    the topmost third of the loads.
    """
    rate = np.asarray(reduction.observations["transaction_rate"], dtype=np.float64)
    inside = np.isfinite(rate) & np.isfinite(work) & (reduction.number >= 0)
    if not inside.any():
        return False
    # The same blocks in both, so that a heavy transaction is in both or in neither.
    number = np.where(inside, reduction.number, -1)
    done, completed = (
        make_levels(number, reduction.load, v, reduction.seconds, reduction.batches, nested=True, seed=3)
        for v in (work, rate)
    )
    third = max(1, len(done.load) // 3)
    if len(done.load) < 3 or done.replicates.shape != completed.replicates.shape:
        return False

    def each(part: slice) -> Floats:
        whole = completed.replicates[:, part] @ completed.seconds[part]
        return np.asarray(done.replicates[:, part] @ done.seconds[part] / np.maximum(whole, 1e-12))

    return bool(np.percentile(each(slice(-third, None)) / each(slice(third)), 97.5) < SURE_FALL)
