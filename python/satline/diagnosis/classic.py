"""Two classic figures of a load series, by their makers' published definitions, to compare with others.

They come from the same transactions as `capacity` and `peak`, have no interval by their definitions, and
name no cause. Interactions stand in place of the makers' own work: for Login VSI's weighted sum of five
actions, and for AIM's jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from satline.reduction import Source

BASE_SAMPLES, BASE_DROPPED = 15, 2
THRESHOLD_S = 1.0
LATEST, SHARE_OF_USERS, TRIMMED = 5, 0.4, 0.05
JOBS_PER_MINUTE = 1.0
CHUNK = 4096


@dataclass(frozen=True)
class VsiMax:
    """VSImax 4.1 of Login VSI (its documentation, pages "Basephase" and "Login VSI VSImax").

    base_s
        Mean response of the 15 quickest of the whole run without the 2 quickest.
    threshold_s
        base + 1 s.
    users
        The greatest load before the running mean response passes the threshold; ``None``: the lightest does.
    reached
        It was passed; else `users` is the greatest load seen, and the figure is more.
    """

    base_s: float
    threshold_s: float
    users: int | None
    reached: bool

    @property
    def words(self) -> str:
        """In a sentence."""
        how = f"mean response above {self.threshold_s:.3g} s, the base of {self.base_s:.3g} s and 1 s"
        if not self.reached:
            return f"VSImax 4.1: not reached up to {self.users} users ({how})."
        if self.users is None:
            return f"VSImax 4.1: the lightest load seen is beyond it ({how})."
        return f"VSImax 4.1: {self.users} users ({how})."


def vsimax_of(recording: Source) -> VsiMax | None:
    """VSImax 4.1 over all interactions of a load series; ``None``: too few for its base.

    At every sample the latest 5 + 0.4 × users count; of these the quickest and the slowest 5 % are left out,
    at least one of each.
    """
    import numpy as np

    with recording.connect(tables=["transaction"]) as connection:  # type: ignore[call-arg]
        rows = connection.execute(
            "SELECT users, response_us / 1e6 AS s FROM transaction WHERE phase <> 'logon' "
            "AND outcome IN ('ok', 'unexpected') AND users IS NOT NULL AND response_us IS NOT NULL "
            "ORDER BY monotonic_ns + response_us * 1000"
        ).fetchnumpy()
    users, seconds = (np.asarray(rows[name], dtype=np.float64) for name in ("users", "s"))
    if len(seconds) < BASE_SAMPLES:
        return None
    base = float(np.sort(seconds)[BASE_DROPPED:BASE_SAMPLES].mean())
    threshold = base + THRESHOLD_S
    loads = np.unique(users).astype(int)
    beyond = np.array([_passes(seconds, users, load, threshold) for load in loads])
    if not beyond.any():
        return VsiMax(base, threshold, int(loads[-1]), False)
    first = int(beyond.argmax())
    return VsiMax(base, threshold, int(loads[first - 1]) if first else None, True)


def _passes(seconds: NDArray[np.float64], users: NDArray[np.float64], load: int, threshold: float) -> bool:
    """Whether the running mean passes the threshold at any sample of this load."""
    import numpy as np

    latest = LATEST + round(SHARE_OF_USERS * load)
    cut = max(1, round(TRIMMED * latest))
    ends = np.flatnonzero(users == load)
    ends = ends[ends >= latest - 1]
    for start in range(0, len(ends), CHUNK):
        places = ends[start : start + CHUNK, None] - np.arange(latest)
        kept = np.sort(seconds[places], axis=1)[:, cut : latest - cut]
        if (kept.mean(axis=1) > threshold).any():
            return True
    return False


@dataclass(frozen=True)
class Crossover:
    """The crossover of AIM's multiuser benchmark (Suite VII, its README): more tasks than jobs per minute.

    users
        Where the course of interactions per minute crosses one per user; ``None``: beyond the loads seen.
    """

    users: float | None

    @property
    def words(self) -> str:
        """In a sentence."""
        if self.users is None:
            return "AIM's crossover: not reached; every user seen has more than one interaction per minute."
        return f"AIM's crossover: {self.users:.1f} users, each with one interaction per minute."


def crossover_of(rates: Sequence[tuple[int, float]]) -> Crossover:
    """Where interactions per minute fall below one per user, by a straight line between the loads next to it.

    Parameters
    ----------
    rates
        Users and interactions per minute of each step, as `Peak.rates` has them.
    """
    before: tuple[int, float] | None = None
    for users, rate in sorted(rates):
        surplus = rate - JOBS_PER_MINUTE * users
        if surplus < 0:
            if before is None:
                return Crossover(float(users))
            last, was = before
            return Crossover(last + (users - last) * was / (was - surplus))
        before = users, surplus
    return Crossover(None)
