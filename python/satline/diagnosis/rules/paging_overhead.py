"""CPU saturated by paging overhead.

What: the processors are full, and paging fills them.
Why: reclaim, faults and compressed swap cost processor time; with too many users in storage at once they
cost more than the work.
Signs: total CPU near capacity at saturation, problem state falls, paging rate climbs with load.
False readings: supervisor time that grows with forks or file I/O is not paging.
Remedy: fewer users at once, more storage at the same multiprogramming level, fewer and larger transfers.
References: [Bard].
"""

from __future__ import annotations

from satline.diagnosis._results import Finding
from satline.diagnosis.rules._rule import Context, Rule

RULE = Rule(
    name="paging_overhead",
    title="CPU saturated by paging overhead",
    component="storage",
    needs=("total_cpu_fraction", "problem_fraction", "supervisor_fraction", "paging_rate"),
    remedies=(
        "Let fewer users work at once: a lower memory.high or MemoryHigh= for background slices, queued "
        "batch work.",
        "Give the same users more storage (memory.max, the guest's memory), or smaller working sets.",
        "Fewer, larger transfers: raise vm.page-cluster for disk swap; for zram choose a cheaper "
        "compressor (lz4).",
    ),
    false_readings=(
        "Supervisor time also grows with forks, system calls and file I/O: paging must climb with it.",
    ),
    references=("[Bard]",),
)


def judge(context: Context) -> Finding:
    """Holds when the processors are full, problem state falls from its peak and the paging rate climbs."""
    unfit = RULE.unfit(context)
    if unfit is not None:
        return unfit
    needed = ("total_cpu_fraction", "problem_fraction", "supervisor_fraction", "paging_rate")
    missing = tuple(n for n in needed if context.high(n) is None or context.low(n) is None)
    if missing:
        return RULE.blind(*missing)
    total, supervisor = context.high("total_cpu_fraction"), context.high("supervisor_fraction")
    last = (len(context.reduction.classes) - 1,)
    problem_top, paging_top = context.mean("problem_fraction", last), context.mean("paging_rate", last)
    means = [context.mean("problem_fraction", (k,)) for k in range(len(context.reduction.classes))]
    peak = max((m for m in means if m is not None), key=lambda m: m.value, default=None)
    paging_low, supervisor_low = context.low("paging_rate"), context.low("supervisor_fraction")
    if problem_top is None or paging_top is None or peak is None:
        return RULE.blind("problem_fraction", "paging_rate")
    if total is None or supervisor is None or paging_low is None or supervisor_low is None:
        return RULE.blind(*needed)
    full = total.value >= 0.85
    falls = problem_top.high < peak.low and problem_top.value < 0.9 * peak.value
    climbs = paging_top.low > paging_low.high and paging_top.value > max(50.0, 2 * paging_low.value)
    kernel = supervisor.low > supervisor_low.high
    evidence = [
        context.evidence("total_cpu_fraction", "at least 0.85 of capacity", full),
        context.evidence("problem_fraction", f"below its peak of {peak.value:.3g}", falls, value=problem_top),
        context.evidence(
            "paging_rate", "above 50, and more than twice that at light load", climbs, value=paging_top
        ),
        context.evidence("supervisor_fraction", "grows with load", kernel),
    ]
    if full and falls and climbs and kernel:
        text = (
            f"problem state falls from {peak.value:.0%} to {problem_top.value:.0%} of capacity while "
            f"paging climbs to {paging_top.value:.0f} pages/s"
        )
        strength = 1 - problem_top.value / max(total.value, 1e-9)
        return RULE.finding("holds", text, strength=strength, evidence=evidence)
    lacking = [
        name
        for name, ok in (
            ("the processors are not full", full),
            ("problem state does not fall", falls),
            ("paging does not climb", climbs),
            ("supervisor time does not grow", kernel),
        )
        if not ok
    ]
    return RULE.finding("does-not-hold", "; ".join(lacking), evidence=evidence)
