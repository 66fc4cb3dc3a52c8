"""CPU busy with compute-bound background work.

What: the processors are full at every load, yet not because of the users.
Why: compute-bound work takes whatever the users leave; total CPU then says nothing about saturation.
Signs: total CPU near capacity at every load, the lowest included; interactive response still good.
False readings: a range that begins in saturation looks the same, but there response grows with load.
Remedy: none unless that work's own response matters; lower its priority.
References: [Bard].
"""

from __future__ import annotations

from satline.diagnosis._results import Evidence, Finding
from satline.diagnosis.rules._context import Context, Measure
from satline.diagnosis.rules._rule import Rule

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
FULL = 0.9


def judge(context: Context) -> Finding:
    """Holds when total CPU is near capacity in every class and users' response or CPU wait does not grow
    with load."""
    classes = range(len(context.reduction.classes))
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
