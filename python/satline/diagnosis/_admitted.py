"""Users whom a swapper holds back until their working sets fit, while memory is free."""

from __future__ import annotations

import numpy as np

from satline.diagnosis._use import DELAYED, Courses, Use, over

# Part of memory that has to be free for it to be the admission that holds users back, and not the memory.
ROOM = 0.25


def admission(courses: Courses) -> list[Use]:
    """The users that a swapper holds, as it recorded them; short where memory has room for them.

    Where little memory is free, it is the memory that is short: memory and limits of groups tell that.
    """
    names = ("users_eligible", "free_bytes", "total_bytes")
    level = courses.history.levels("swapper", "'all'", names).get("all")
    if level is None or not np.isfinite(level["users_eligible"]).any():
        return []
    eligible = np.nan_to_num(level["users_eligible"])
    free = np.nan_to_num(level["free_bytes"] / np.maximum(level["total_bytes"], 1))
    short = (eligible >= DELAYED) & (free >= ROOM)
    says = ""
    if short.any():
        seconds = courses.reduction.seconds
        says = (
            f"the swapper holds {over(eligible, short, seconds):.1f} users until their working sets fit,"
            f" while {over(free, short, seconds):.0%} of the memory that it watches is free"
        )
    return [
        Use(
            "admission by the swapper",
            "admission",
            None,
            short,
            short,
            scales=False,
            of=f"mean number of users held {float(np.mean(eligible)):.2g}",
            held=eligible,
            says=says,
            remedy="Raise admission.storage_share in the swapper's policy: memory has room for who waits.",
        )
    ]
