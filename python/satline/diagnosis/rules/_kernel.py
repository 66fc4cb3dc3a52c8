"""What the rules say of waits that the kernel told (`satline record --waits`): who waits, and who holds."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from satline.diagnosis._results import Evidence
from satline.diagnosis._told import CAUSE_WORDS, LOCKS, Blame, Told, told
from satline.diagnosis.rules._context import Context, Measure
from satline.diagnosis.rules._live import inside, mean_over
from satline.diagnosis.rules._short import users_held


def told_of(context: Context) -> Told | None:
    """What the kernel told; ``None``: the recording has nothing of it."""
    return told(context.history) if context.history is not None else None


def blame_facts(context: Context, blame: Blame, causes: Collection[str]) -> list[Evidence]:
    """Who waits, and for whom, as facts."""
    where = context.where(context.top)
    what = " and ".join(CAUSE_WORDS[cause] for cause in causes)
    count = len(blame.users)
    facts = [
        Evidence(
            f"waits of {count} user{'s' * (count > 1)} for {what}",
            "fraction of the time",
            where,
            blame.waiting,
            None,
            "told by the kernel",
            True,
        )
    ]
    facts += [
        Evidence(f"held by {one.who}", "fraction of that", where, one.part, None, "who ended the wait", True)
        for one in blame.holders[:3]
    ]
    return facts


def lock_facts(context: Context) -> list[Evidence]:
    """Waits for the kind of locks that users wait for most, as the kernel told them, and their holders;
    empty: not told, or nobody waits."""
    kernel = told_of(context)
    if kernel is None:
        return []
    where = inside(context, context.top)
    cause = max(LOCKS, key=lambda one: sum(kernel.shares((one,), where).values()))
    blame = kernel.blame((cause,), where)
    return blame_facts(context, blame, (cause,)) if blame is not None else []


def users_at_locks(context: Context) -> tuple[Measure, Measure | None] | None:
    """Mean number of users that wait for locks, at saturation and at light load, by what the kernel told."""
    held = users_held(context)
    if told_of(context) is None or held is None or not held.users:
        return None
    course = np.sum([own.lock for own in held.users.values()], axis=0)
    high = mean_over(context, course, inside(context, context.top))
    return None if high is None else (high, mean_over(context, course, inside(context, context.bottom)))
