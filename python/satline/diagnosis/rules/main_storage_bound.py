"""Memory is the true bottleneck.

What: even the few users that are admitted do not fit into memory.
Why: the multiprogramming level is already low and users are held back, yet those inside page heavily:
lowering it further would idle the processors still more.
Signs: a low multiprogramming level, eligible users, heavy paging, little user time.
Without a knee: a control group at its memory limit whose pages come back just after they were taken.
False readings: a high multiprogramming level with heavy paging is thrashing; one user with a very large
working set pages heavily whatever the level.
Remedy: more memory. Memory beyond what the level needs still pays: it keeps interactive working sets
between interactions, in proportion to users.
References: [Bard].
"""

from __future__ import annotations

from satline.diagnosis._results import Finding
from satline.diagnosis.rules._context import Context
from satline.diagnosis.rules._rule import Rule, unmet
from satline.diagnosis.rules._short import from_periods
from satline.diagnosis.rules._wait import as_cause, held_back, wait_at_saturation

RULE = Rule(
    name="main_storage_bound",
    title="memory too small",
    vm_title="main storage too small",
    component="storage",
    needs=("mpl", "user_eligible", "paging_rate", "problem_fraction", "share_page_wait"),
    remedies=(
        "Put a compressed tier before swap (zram, zswap), if processors stand idle.",
        "Raise the memory limit of the load (memory.max), or the guest's memory.",
        "More memory; it pays beyond the need of those admitted, for it keeps users' pages while they think.",
    ),
    false_readings=("One user with a very large working set pages heavily at any level.",),
    references=("[Bard]",),
    vm_remedies=(
        "Smaller virtual machines, shared systems, and release of pages that are not needed.",
        "More main storage; it pays beyond the need of the multiprogramming level, for it keeps interactive "
        "working sets between interactions.",
    ),
)


def judge(context: Context) -> Finding:
    """Holds when fewer users are admitted than held back, and those admitted page heavily with little
    done."""
    unfit = RULE.unfit(context)
    if unfit is not None:
        return unfit
    short = from_periods(RULE, context, "memory limit of ", "memory limit too low")
    if short is not None:
        return short
    memory = [u for u in context.uses if u.name == "memory" or u.name.startswith("memory limit of ")]
    if (
        context.watched
        and not context.recorded("user_eligible")
        and memory
        and not any(use.counted.any() for use in memory)
    ):
        return RULE.finding("does-not-hold", "neither a memory limit nor the host's memory was short")
    eligible, level = context.high("user_eligible"), context.high("mpl")
    paging, problem = context.high("paging_rate"), context.high("problem_fraction")
    wait = wait_at_saturation(context, "user_page_wait", "page_wait")
    known = {"user_eligible": eligible, "mpl": level, "paging_rate": paging, "problem_fraction": problem}
    missing = [name for name, m in known.items() if m is None]
    if wait is None:
        missing.append("share_page_wait")
    held = held_back(context)
    if (
        missing
        or held is None
        or eligible is None
        or level is None
        or paging is None
        or problem is None
        or wait is None
    ):
        return RULE.blind(context, *missing)
    few = level.high < eligible.low
    heavy, little = wait.large and paging.low > 5, problem.high < 0.5
    full = context.filled_by_users
    evidence = [
        *held.evidence,
        context.evidence("mpl", "surely below the eligible users", few),
        context.evidence("paging_rate", "above 5 pages/s", paging.low > 5),
        wait.evidence,
        context.evidence("problem_fraction", "surely below 0.5", little),
    ]
    demanded = context.high("storage_demanded_fraction")
    if demanded is not None:
        evidence.append(context.evidence("storage_demanded_fraction", "above 1", demanded.low > 1))
    if lacking := unmet(
        (held.words, held.holds),
        ("the multiprogramming level is not low", few),
        (f"paging is not heavy: page wait is {wait.value:.0%} of {wait.of}", heavy),
        (f"user time is {problem.value:.0%} of capacity", little),
        ("users fill the processors", not full),
    ):
        return RULE.finding("does-not-hold", lacking, evidence=evidence)
    text = (
        f"only {level.value:.1f} users are admitted and {eligible.value:.1f} held back, yet page wait is"
        f" {wait.value:.0%} of {wait.of}"
    )
    return RULE.finding("holds", text, strength=as_cause(wait.value, 0.1), evidence=evidence)
