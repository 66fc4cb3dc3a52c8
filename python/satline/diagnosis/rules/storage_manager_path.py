"""Memory-manager path.

What: the kernel spends its time, and a lock, on managing its own memory.
Why: blocks larger than the largest subpool take the long path through the memory allocator, under one lock. A
new software level or a larger configuration can push a block beyond it.
Signs: the memory allocator's part of system time and the spin for locks rise together, after a change or
with load.
False readings: system time that grows with faults, forks or I/O has nothing to do with it.
Remedy: a further subpool.
References: [TB84].
"""

from __future__ import annotations

from satline.diagnosis._change import largest_step
from satline.diagnosis._partial import residuals
from satline.diagnosis._results import Finding
from satline.diagnosis.rules._context import Context
from satline.diagnosis.rules._rule import Rule, unmet

RULE = Rule(
    name="storage_manager_path",
    title="long path through the kernel's memory allocator",
    vm_title="long path through the storage manager",
    component="supervisor",
    needs=("storage_manager_fraction", "supervisor_fraction", "lock_spin"),
    remedies=(
        "See which blocks the kernel allocates (slabtop, a profile of the allocator), and from which change "
        "on.",
        "A cache of its own for blocks of that size, or a smaller size in the configuration that sets it.",
    ),
    false_readings=("A new workload allocates more, too: at equal work the part must have grown.",),
    references=("[TB84]",),
    vm_remedies=("A further subpool, large enough for the blocks that took the long path.",),
)
LARGE = 0.15


def judge(context: Context) -> Finding:
    """Holds when memory management is a large part of system time, has risen, and lock spin with it."""
    unfit = RULE.unfit(context)
    if unfit is not None:
        return unfit
    part = context.high("storage_manager_fraction")
    if part is None:
        return RULE.blind(context, "storage_manager_fraction")
    if context.high("lock_spin") is None:
        return RULE.blind(context, "lock_spin")
    large = part.value >= LARGE and part.low > LARGE / 2
    by_load = bool(context.rises("storage_manager_fraction", 1.3))
    stepped = _stepped(context)
    spin = context.rises("lock_spin", 1.5)
    same = context.partial("storage_manager_fraction", "lock_spin")
    together = same is not None and same.low > 0
    evidence = [
        context.evidence("storage_manager_fraction", f"at least {LARGE:g} of system time", large),
        context.evidence(
            "storage_manager_fraction", "has risen, with load or after a change", by_load or stepped
        ),
        context.evidence("lock_spin", "above 1.5 × that at light load", bool(spin)),
    ]
    if same is not None:
        evidence.append(
            context.partial_evidence("storage_manager_fraction ~ lock_spin", same, "above 0", together)
        )
    if large and (by_load or stepped) and (together or (spin and same is None)):
        when = "after a change within the recording" if stepped else "with load"
        text = f"managing its own memory takes {part.value:.0%} of system time; that rose {when}"
        return RULE.finding("holds", text + ", and lock spin with it", strength=part.value, evidence=evidence)
    lacking = unmet(
        (f"memory management is only {part.value:.0%} of system time", large),
        ("its part has not risen", by_load or stepped),
        ("lock spin does not go with it", together or (spin and same is None)),
    )
    return RULE.finding("does-not-hold", lacking, evidence=evidence)


def _stepped(context: Context) -> bool:
    """Did its part of system time surely step up at equal load?"""
    course = context.course("storage_manager_fraction")
    if course is None:
        return False
    reduction = context.reduction
    step = largest_step(residuals(course, reduction.load, reduction.number), reduction.batches)
    return step is not None and step.p < 0.01 and step.size > 0.05
