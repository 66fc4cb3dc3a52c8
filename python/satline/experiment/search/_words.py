"""Why a search does what it does: one plain sentence each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from satline.experiment.search._plan import Candidate
from satline.knee import Posterior

if TYPE_CHECKING:
    from satline.experiment.search import Known


def first(users: int) -> str:
    return f"a light load first: {_users(users)}"


def grow(heaviest: int, users: int) -> str:
    return f"up to {_users(heaviest)} nothing bends and responses do not grow: on to {users}"


def nothing_completed(heaviest: int) -> str:
    return f"nothing was completed in the windows up to {_users(heaviest)}: a heavier or a longer one"


def enough(estimates: Sequence[Known], within: float) -> str:
    told = "; ".join(_told(e) for e in estimates)
    return f"known to within {within:.0%}: {told}"


def none(most: int, chance: float) -> str:
    return (
        f"no load up to {_users(most)} saturates it: the chance that throughput bends within them is"
        f" {chance:.1%}"
    )


def out_of_time(seconds: float) -> str:
    return f"the {seconds:g} s are used up"


def remaining(users: int) -> str:
    return f"the time that is left is spent at {_users(users)}"


def best(candidate: Candidate, estimates: Sequence[Known], seen: Sequence[int], found: Posterior) -> str:
    """Of the candidate that narrows most per second."""
    open_ones = [e for e in estimates if not e.done]
    what = open_ones[0].target if open_ones else "knee"
    place = _place(candidate.users, found)
    again = " again" if candidate.users in seen else ""
    return (
        f"{_users(candidate.users)}{again} ({place}) for {candidate.window_s:.0f} s: expected to narrow the"
        f" {what} by {candidate.narrowing:.0%}, the most per second"
    )


def _place(users: int, found: Posterior) -> str:
    knee = found.knee
    if users < knee.low:
        return "below the bend: the rate of a user alone, and drift"
    if users > knee.high:
        return "beyond the bend: the ceiling"
    return "within the interval of the bend" if math.isfinite(knee.high) else "where it may bend"


def _told(known: Known) -> str:
    high = f"{known.high:.3g}" if math.isfinite(known.high) else "no limit"
    return f"{known.target} {known.value:.3g} [{known.low:.3g}, {high}] {known.unit}"


def _users(count: int) -> str:
    return f"{count} user{'' if count == 1 else 's'}"
