"""Paging bound.

What: users wait for pages: memory is too small for their working sets, or the paging devices are too
slow.
Why: beyond saturation the time of a transaction goes into swap-ins and refaults, while processors stand idle.
Signs: page wait is a large part of the users' time at saturation, wait does not vanish, paging climbs with
load.
False readings: long-evicted pages that are swapped in raise io.pressure and I/O wait, hardly
memory.pressure; the split by swapped-in pages and major faults tells them from other I/O. A cap on reads
makes paging slow while the device is idle. Where the users of a virtual-machine system fill its processors
themselves, these limit them, however long pages take.
Remedy: raise a cap, then fewer users at once, more memory, more or faster swap devices.
References: [Bard]; [TB84].
"""

from __future__ import annotations

from satline.diagnosis._results import Finding
from satline.diagnosis._use import LEAST_PAGES
from satline.diagnosis.rules._context import Context
from satline.diagnosis.rules._live import waiters
from satline.diagnosis.rules._rule import Rule
from satline.diagnosis.rules._wait import cap_note, device_evidence, wait_at_saturation

RULE = Rule(
    name="paging_bound",
    title="paging bound",
    component="paging",
    needs=("share_page_wait", "page_wait", "paging_rate", "load_memory_fraction"),
    remedies=(
        "Let fewer users work at once, or give background work a memory.high of its own, so that it "
        "pages and not the users.",
        "Raise the memory limit of the load (memory.max), or the guest's memory.",
        "Put a fast swap device before the slow one: zram, or NVMe at a higher swap priority.",
        "Spread swap over several devices of equal priority; move other I/O off the swap device.",
        "More memory.",
    ),
    false_readings=(
        "Pages of programs and libraries that are read for the first time are major faults too: a "
        "warm-up shows them, a steady state does not.",
    ),
    references=("[Bard]", "[TB84]"),
    vm_remedies=(
        "Where the rate is too high, lower the multiprogramming level.",
        "Spread paging areas over devices; move other I/O off the paging channel.",
        "More or faster paging devices.",
        "More main storage.",
    ),
)


def judge(context: Context) -> Finding:
    """Holds when page wait is a large part of users' time (or of idle processors) at saturation and paging
    climbs; where something was short all the time, when pages are read at a high rate."""
    unfit = RULE.unfit(context)
    if unfit is not None:
        return unfit
    names = ("paging_rate", "major_fault_rate", "load_major_fault_rate")
    wait = wait_at_saturation(context, "user_page_wait", "page_wait")
    alone = context.basis == "periods" and not context.bottom
    if alone and wait is not None and not wait.large:
        return RULE.finding(
            "does-not-hold", f"page wait is only {wait.value:.0%} of {wait.of}", evidence=[wait.evidence]
        )
    # A rate that was not recorded at light load cannot be seen to climb; where it was short all the time, its
    # level tells.
    rates = [n for n in names if context.high(n) is not None and (alone or context.low(n) is not None)]
    if not rates:
        return RULE.blind(context, "paging_rate", "major_fault_rate")
    if wait is None:
        return RULE.blind(context, "share_page_wait", "page_wait")
    climbs = False
    evidence = [wait.evidence]
    if alone:
        for name in rates:
            high = context.high(name)
            many = high is not None and high.low > LEAST_PAGES
            climbs = climbs or many
            evidence.append(context.evidence(name, f"surely above {LEAST_PAGES:g} per second", many))
    for name in rates:
        high, low = context.high(name), context.low(name)
        if high is None or low is None:
            continue
        more = high.value > 5 and high.low > low.value and high.value > 1.5 * low.value
        climbs = climbs or more
        evidence.append(context.evidence(name, "above 5 per second, and 1.5 × that at light load", more))
        evidence.append(context.evidence(name, "lower at light load", more, light=True))
    for name in ("load_memory_fraction", "memory_used_fraction"):
        full = context.high(name)
        if full is not None:
            evidence.append(context.evidence(name, "near 1: memory is full", full.value > 0.85))
            break
    evidence += device_evidence(context)
    if not wait.large or not climbs or context.filled_by_users:
        lacking = ["users fill the processors"] if context.filled_by_users else []
        lacking += [] if wait.large else [f"page wait is only {wait.value:.0%} of {wait.of}"]
        slow = "hardly any page is read" if alone else "paging does not climb with load"
        lacking += [] if climbs else [slow]
        return RULE.finding("does-not-hold", "; ".join(lacking), evidence=evidence)
    text = f"page wait is {wait.value:.0%} of {wait.of}"
    if alone or context.basis == "periods":
        who = waiters(context, "page")
        text += f"; those who wait are {who}" if who else ""
    remedy, note = cap_note(context, evidence)
    problem, peak = context.high("problem_fraction"), _peak(context)
    if problem is not None and peak is not None and problem.high < 0.8 * peak:
        text += "; user time falls while paging climbs (thrashing: too many users at once)"
    return RULE.finding("holds", text + note, strength=wait.value, evidence=evidence, first_remedies=remedy)


def _peak(context: Context) -> float | None:
    means = [context.mean("problem_fraction", (k,)) for k in range(len(context.reduction.classes))]
    return max((m.value for m in means if m is not None), default=None)
