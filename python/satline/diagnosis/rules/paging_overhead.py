"""CPU saturated by paging overhead.

What: the processors are full, and paging fills them.
Why: reclaim, faults and compressed swap cost processor time; with too many users in memory at once they
cost more than the work.
Signs: total CPU near capacity at saturation, user time falls, paging rate climbs with load.
Where little of the most user time is lost, faster processors bring more than less paging: cpu_bound
holds, too, and comes first.
False readings: system time that grows with forks or file I/O is not paging; at equal load it must go with
paging and not with those.
Remedy: fewer users at once, more memory at the same multiprogramming level, fewer and larger transfers.
References: [Bard].
"""

from __future__ import annotations

from satline.diagnosis._results import Evidence, Finding
from satline.diagnosis.rules._context import Context, Measure
from satline.diagnosis.rules._rule import Rule, unmet
from satline.stats import false_discoveries

RULE = Rule(
    name="paging_overhead",
    title="CPU saturated by paging overhead",
    component="storage",
    needs=("total_cpu_fraction", "problem_fraction", "supervisor_fraction", "paging_rate"),
    remedies=(
        "Let fewer users work at once: a lower memory.high or MemoryHigh= for background slices, queued "
        "batch work.",
        "Give the same users more memory (memory.max, the guest's memory), or smaller working sets.",
        "Fewer, larger transfers: raise vm.page-cluster for disk swap; for zram choose a cheaper "
        "compressor (lz4).",
    ),
    vm_remedies=(
        "Lower the multiprogramming level: working sets were underestimated.",
        "More storage at the same multiprogramming level.",
        "Fewer, larger transfers: block paging, swap sets.",
    ),
    false_readings=(
        "System time also grows with forks, system calls and file I/O: paging must climb with it.",
    ),
    references=("[Bard]",),
)


# Lowering the MPL to where user time peaked would bring more, 1/(1 − 0.4) = 1.67 times, than half as much
# processor again, which brings a little more than its 1.5: transactions leave memory sooner, too.
LOST = 0.4
FULL, PAGES = 0.85, 50.0


def judge(context: Context) -> Finding:
    """Holds when the processors are full, user time falls from its peak and the paging rate climbs."""
    unfit = RULE.unfit(context)
    if unfit is not None:
        return unfit
    problem = context.problem
    needed = (context.busy, problem, "supervisor_fraction", "paging_rate")
    total, paging = context.high(context.busy), context.high("paging_rate")
    missing = tuple(n for n in needed if context.high(n) is None or context.low(n) is None)
    if missing:
        # What is not there needs no second load to be seen.
        if total is not None and total.high < FULL:
            return RULE.finding("does-not-hold", f"the processors are only {total.value:.0%} busy")
        if paging is not None and paging.high < PAGES:
            return RULE.finding("does-not-hold", f"hardly any paging: {paging.value:.2g} pages/s")
        return RULE.blind(context, *missing)
    supervisor = context.high("supervisor_fraction")
    last = (len(context.reduction.classes) - 1,)
    problem_top, paging_top = context.mean(problem, last), context.mean("paging_rate", last)
    means = [context.mean(problem, (k,)) for k in range(len(context.reduction.classes))]
    peak = max((m for m in means if m is not None), key=lambda m: m.value, default=None)
    paging_low, supervisor_low = context.low("paging_rate"), context.low("supervisor_fraction")
    if problem_top is None or paging_top is None or peak is None:
        return RULE.blind(context, problem, "paging_rate")
    if total is None or supervisor is None or paging_low is None or supervisor_low is None:
        return RULE.blind(context, *needed)
    full = total.value >= FULL
    falls = problem_top.high < peak.low and problem_top.value < 0.9 * peak.value
    climbs = paging_top.low > paging_low.high and paging_top.value > max(PAGES, 2 * paging_low.value)
    kernel = supervisor.low > supervisor_low.high
    evidence = [
        context.evidence(context.busy, f"at least {FULL:g} of capacity", full),
        context.evidence(problem, f"below its peak of {peak.value:.3g}", falls, value=problem_top),
        context.evidence(
            "paging_rate",
            f"above {PAGES:g}, and more than twice that at light load",
            climbs,
            value=paging_top,
        ),
        context.evidence("supervisor_fraction", "grows with load", kernel),
    ]
    if full and falls and climbs and kernel and (rival := _rival(context, evidence)):
        return RULE.finding(
            "does-not-hold",
            f"at equal load system time goes with {rival}, not with paging",
            evidence=evidence,
        )
    if full and falls and climbs and kernel:
        text = (
            f"user time falls from {peak.value:.0%} to {problem_top.value:.0%} of capacity while "
            f"paging climbs to {paging_top.value:.0f} pages/s"
        )
        strength = 1 - problem_top.value / max(total.value, 1e-9)
        if _lost(peak, problem_top) < LOST:
            # Faster processors would bring more than less paging: cpu_bound comes first.
            strength = _lost(peak, problem_top)
        return RULE.finding("holds", text, strength=strength, evidence=evidence)
    lacking = unmet(
        ("the processors are not full", full),
        ("user time does not fall", falls),
        ("paging does not climb", climbs),
        ("system time does not grow", kernel),
    )
    return RULE.finding("does-not-hold", lacking, evidence=evidence)


def fills_processors(context: Context) -> bool:
    """Does it hold, and is it paging rather than work that fills the processors?"""
    peak = context.peak(context.problem)
    now = context.mean(context.problem, (len(context.reduction.classes) - 1,))
    if peak is None or now is None or _lost(peak[1], now) < LOST:
        return False
    return judge(context).state == "holds"


def _lost(peak: Measure, now: Measure) -> float:
    """Part of the most user time that is lost at the top of the range."""
    return 1 - now.value / max(peak.value, 1e-9)


def _rival(context: Context, evidence: list[Evidence]) -> str:
    """What system time surely goes with at equal load where it does not with paging; empty: nothing. All
    of these grow with load, so that their curves cannot tell."""
    rates = {"paging": "paging_rate", "forks": "fork_rate", "context switches": "context_switch_rate"}
    found = {what: context.partial("supervisor_fraction", name) for what, name in rates.items()}
    known = {what: partial for what, partial in found.items() if partial is not None}
    paging = known.pop("paging", None)
    if paging is None:
        return ""
    goes = paging.low > 0
    evidence.append(context.partial_evidence("supervisor_fraction ~ paging_rate", paging, "above 0", goes))
    sure = false_discoveries([partial.p for partial in known.values()]) <= 0.05
    rivals = [
        w
        for (w, partial), ok in zip(known.items(), sure, strict=True)
        if ok and partial.low > max(0, paging.value)
    ]
    return "" if goes or not rivals else max(rivals, key=lambda what: known[what].value)
