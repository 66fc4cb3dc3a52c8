"""CPU busy with compute-bound background work.

What: the processors are full at every load, yet not because of the users.
Why: compute-bound work takes whatever the users leave; total CPU then says nothing about saturation.
Signs: total CPU near capacity at every load, the lowest included; interactive response still good.
On a live host, without loads to compare or responses: who takes the CPU never rests, and the other users
hardly wait for it.
False readings: a range that begins in saturation looks the same, but there response grows with load.
Remedy: none unless that work's own response matters; lower its priority.
References: [Bard].
"""

from __future__ import annotations

import numpy as np

from satline.diagnosis._held import HARMED, background, listed
from satline.diagnosis._results import Evidence, Finding
from satline.diagnosis.rules._context import Context, Measure
from satline.diagnosis.rules._rule import Rule
from satline.diagnosis.rules._short import users_held

RULE = Rule(
    name="cpu_background",
    title="CPU busy with compute-bound background work",
    component="none",
    needs=("total_cpu_fraction", "response", "user_cpu_wait"),
    remedies=(
        "None, unless the response of the background work itself matters.",
        "Lower its priority: nice 19, SCHED_IDLE, or a small cpu.weight for its control group.",
        "Leave its users or hours out of the reduction to see the rest.",
    ),
    false_readings=(
        "A range of loads that begins in saturation also shows full processors everywhere; there, "
        "response grows with load.",
    ),
    references=("[Bard]",),
    vm_remedies=(
        "None, unless the response of the background work itself matters.",
        "Lower its priority in the directory.",
    ),
)
FULL, ALWAYS = 0.9, 0.8


def judge(context: Context) -> Finding:
    """Holds when total CPU is near capacity in every class and users' response or CPU wait does not grow
    with load."""
    classes = range(len(context.reduction.classes))
    if context.high("response") is None and (by_user := _by_user(context)) is not None:
        return by_user
    if len(classes) < 2:
        return RULE.finding("cannot-judge", "one load class shows no trend", missing=("a range of loads",))
    means = [context.mean("total_cpu_fraction", (k,)) for k in classes]
    known = [m for m in means if m is not None]
    if len(known) < len(means):
        return RULE.blind(context, "total_cpu_fraction")
    lowest = min(known, key=lambda m: m.value)
    everywhere = lowest.value >= FULL
    first, last = (0,), (len(classes) - 1,)
    evidence = [
        context.evidence("total_cpu_fraction", f"at least {FULL:g} at every load", everywhere, value=lowest)
    ]
    if not everywhere:
        return RULE.finding(
            "does-not-hold",
            f"the processors are not full at every load: {lowest.value:.0%} in one class",
            evidence=evidence,
        )
    for name, growth in (("response", 1.5), ("reaction", 1.5)):
        low, high = context.mean(name, first), context.mean(name, last)
        if low is not None and high is not None and low.value > 0:
            good = high.value < growth * low.value
            evidence.append(
                context.evidence(name, f"less than {growth:g} × that at the lightest load", good, value=high)
            )
            if not good:
                return RULE.finding(
                    "does-not-hold",
                    f"{name} grows with load: the users suffer from the full processors",
                    evidence=evidence,
                )
            return _holds(lowest, evidence, "and response does not grow with load")
    wait, run = context.mean("user_cpu_wait", last), context.mean("user_run", last)
    if wait is None or run is None:
        return RULE.finding(
            "cannot-judge",
            "the processors are full at every load; whether users wait for them was not recorded",
            evidence=evidence,
            missing=("response", "user_cpu_wait"),
        )
    share = context.mean("largest_user_share", last)
    good = wait.value < 0.5 * max(run.value, 1e-9) or (share is not None and share.value > 0.7)
    evidence.append(context.evidence("user_cpu_wait", "less than half of the time run", good, value=wait))
    if share is not None:
        evidence.append(
            context.evidence("largest_user_share", "one user takes most", share.value > 0.5, value=share)
        )
    if not good:
        return RULE.finding("does-not-hold", "users wait for the full processors", evidence=evidence)
    return _holds(lowest, evidence, "and most of it goes to background work")


def _holds(lowest: Measure, evidence: list[Evidence], why: str) -> Finding:
    text = (
        f"the processors are at least {min(1.0, lowest.value):.0%} busy at every load, the lightest "
        f"included, {why}"
    )
    return RULE.finding("holds", text, strength=0.3, evidence=evidence)


def _by_user(context: Context) -> Finding | None:
    """By whom the CPU goes to and whether others wait for it; ``None``: users' waits, or the CPU, were not
    recorded."""
    held = users_held(context) if context.history is not None else None
    course, seconds = context.course("total_cpu_fraction"), context.reduction.seconds
    if held is None or "delay" not in held.known or course is None:
        return None
    known = np.isfinite(course)
    # The quietest twentieth of the time, so that one pause does not count.
    least = float(np.quantile(course[known], 0.05))
    mean = float(np.average(course[known], weights=seconds[known]))
    where = context.where(tuple(context.classes))
    full = mean >= FULL and least >= ALWAYS
    facts = [
        Evidence("total_cpu_fraction", "fraction", where, mean, None, f"at least {FULL:g}", mean >= FULL),
        Evidence(
            "total_cpu_fraction, quietest 5 %", "fraction", where, least, None, f"at least {ALWAYS:g}", full
        ),
    ]
    if not full:
        text = f"the processors are not full all the time: {least:.0%} in the quietest twentieth of it"
        return RULE.finding("does-not-hold", text, evidence=facts)
    found = background(held, known, seconds)
    if found is None:
        return RULE.finding(
            "does-not-hold",
            "the processors are full, but not of work that never rests while other users are at work",
            evidence=facts,
        )
    harmed = f"below {HARMED:g} of the {found.run:.2g} that run, or of three quarters of them"
    unharmed = found.yields or found.spares_most
    facts += [
        Evidence(
            "CPU time of work that never rests", "fraction of all", where, found.part, None, "most", True
        ),
        Evidence("others waiting for the CPU", "users", where, found.delay, None, harmed, unharmed),
    ]
    who = f"work of {listed(list(found.takers))} that never rests takes {found.part:.0%} of the CPU time used"
    if not unharmed:
        return RULE.finding(
            "does-not-hold",
            f"{who}, and {found.others} others wait for the CPU: {found.delay:.2g} of them at any time",
            evidence=facts,
        )
    niced, total = context.high("niced_state"), context.high("total_cpu")
    if niced is not None and total is not None and niced.value >= 0.2 * total.value:
        who += f" ({niced.value / max(total.value, 1e-9):.0%} of it at lowered priority)"
    calm = found.others if found.yields else found.others - len(found.harmed)
    text = (
        f"the processors are {mean:.0%} busy all the time: {who}, while {calm} other user"
        f"{'s' if calm > 1 else ''} hardly wait{'' if calm > 1 else 's'} for the CPU"
    )
    if found.yields:
        text += f" ({found.delay:.2g} at any time)"
    else:
        text += f"; {listed(list(found.harmed))} wait{'s' if len(found.harmed) == 1 else ''} for it"
    return RULE.finding("holds", text, strength=0.3, evidence=facts)
