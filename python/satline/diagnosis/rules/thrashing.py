"""Thrashing.

What: too many users share memory, and steal each other's pages.
Why: with a multiprogramming level beyond what memory holds, each user runs only until it misses the pages
that were taken from it; useful work falls while paging climbs.
Signs: the multiprogramming level is high and rises with load, paging climbs (where the paging devices are
full: paging for each unit of work), user time falls, users wait for pages, processors stand idle. Where
admission is recorded, somebody sets the level: then it comes before the paging and the overflow that it
causes.
Without a knee: in a control group that is short of its memory limit at times, its users' work (time in user
mode) against that in calm periods, whatever other work the host does.
False readings: where the processors are full, it is paging_overhead; where few users are admitted and yet
page heavily, memory itself is too small (main_storage_bound). A failing load also brings user time down,
but without paging.
Remedy: lower the multiprogramming level.
References: [Bard].
"""

from __future__ import annotations

import numpy as np

from satline.diagnosis._held import listed
from satline.diagnosis._limits import memory_groups
from satline.diagnosis._results import Evidence, Finding
from satline.diagnosis.rules._context import Context, Measure
from satline.diagnosis.rules._live import mean_over, members, times_of
from satline.diagnosis.rules._rule import Rule, unmet
from satline.diagnosis.rules._wait import LARGE_SHARE, as_cause, wait_at_saturation

RULE = Rule(
    name="thrashing",
    title="thrashing: too many users at once in memory",
    vm_title="thrashing: too many users at once in storage",
    component="storage",
    needs=("mpl", "paging_rate", "problem_fraction", "total_cpu_fraction", "share_page_wait"),
    remedies=(
        "Let fewer users work at once: queue batch work, and give background slices a memory.high "
        "(MemoryHigh=) of their own, so that they page and not the users.",
        "Protect the working sets of interactive users with memory.low (MemoryLow=).",
        "More memory, or a higher memory limit of the load.",
    ),
    false_readings=("User time falls without paging too, when users fail or a server stops.",),
    references=("[Bard]",),
    vm_remedies=(
        "Lower the multiprogramming level: admit fewer users, or project larger working sets.",
        "More main storage.",
    ),
)

CAUSE = 0.15
LEAST_CALM = 5


def judge(context: Context) -> Finding:
    """Holds when, beyond the load of most user time, that falls while MPL and paging climb and users wait
    for pages."""
    unfit = RULE.unfit(context)
    if unfit is not None:
        return unfit
    wait = wait_at_saturation(context, "user_page_wait", "page_wait")
    if wait is None:
        return RULE.blind(context, "share_page_wait", "page_wait")
    inside = _in_group(context)
    if inside is not None:
        return inside
    problem = context.problem
    peak = context.peak(problem)
    last = (len(context.reduction.classes) - 1,)
    before = (peak[0],) if peak else ()
    pairs = {
        name: (context.mean(name, before), context.mean(name, last))
        for name in (problem, "mpl", "paging_rate", context.busy)
    }
    (p0, p1), (m0, m1), (g0, g1), (_, busy) = pairs.values()
    if context.basis == "periods" and not wait.large:
        text = f"page wait is only {wait.value:.0%} of {wait.of}"
        return RULE.finding("does-not-hold", text, evidence=[wait.evidence])
    if context.basis == "periods" and not context.bottom:
        return RULE.finding(
            "cannot-judge",
            "users wait for pages all the time: whether fewer of them at once would do more was not seen",
            evidence=[wait.evidence],
            missing=("a time with fewer users at work",),
        )
    if not (p0 and p1 and m0 and m1 and g0 and g1 and busy):
        return RULE.blind(context, *(name for name, pair in pairs.items() if None in pair))
    falls = p1.high < p0.low and p1.value < 0.8 * p0.value
    rises = m1.low > m0.high and m1.value > 1.2 * m0.value
    climbs = g1.low > g0.high and g1.value > max(5.0, 1.5 * g0.value)
    # A full paging device caps the rate: then paging climbs per unit of work, while ever less is done.
    least, most = g1.low / max(p1.high, 1e-9), g0.high / max(p0.low, 1e-9)
    capped = g1.low > 5.0 and least > most and g1.value * p0.value > 1.5 * g0.value * p1.value
    idle = busy.value < 0.85
    evidence = [
        context.evidence(problem, f"below its peak of {p0.value:.3g}", falls, value=p1),
        context.evidence("mpl", f"above {m0.value:.3g}, where user time peaks", rises, value=m1),
        context.evidence(
            "paging_rate",
            f"above {g0.value:.3g}, where user time peaks, or surely more for each unit of it",
            climbs or capped,
            value=g1,
        ),
        context.evidence(context.busy, "below 0.85: processors stand idle", idle, value=busy),
        wait.evidence,
    ]
    if lacking := unmet(
        ("user time does not fall", falls),
        ("the multiprogramming level does not rise beyond it", rises),
        ("paging does not climb, nor does it for each unit of work", climbs or capped),
        ("the processors are full", idle),
        (f"page wait is only {wait.value:.0%} of {wait.of}", wait.large),
    ):
        return RULE.finding("does-not-hold", lacking, evidence=evidence)
    same = context.partial("problem_fraction", "paging_rate")
    if same is not None:
        evidence.append(
            context.partial_evidence("problem_fraction ~ paging_rate", same, "below 0", same.high < 0)
        )
    text = (
        f"user time falls from {p0.value:.0%} to {p1.value:.0%} of capacity while the multiprogramming "
        "level"
        f" climbs to {m1.value:.1f} and paging to {g1.value:.0f} pages/s"
    )
    # Where somebody sets the level, too high a level is the cause: paging and overflow are its effects.
    strength = as_cause(wait.value, CAUSE if context.high("user_eligible") is not None else 0.0)
    return RULE.finding("holds", text, strength=strength, evidence=evidence)


def _in_group(context: Context) -> Finding | None:
    """By the users of a control group whose memory limit is short at times; ``None``: there is none, or it
    was short all the time."""
    if context.basis != "periods" or context.history is None:
        return None
    seconds = context.reduction.seconds
    groups = {one.name: one for one in memory_groups(context.history)}
    short = [use for use in context.uses if use.name.startswith("memory limit of ") and use.counted.any()]
    for use in sorted(short, key=lambda use: -use.weight(seconds)):
        name = use.name.partition(" of ")[2]
        own = members(context, name)
        # Before its processes came, a group did nothing, and that is no light load.
        work = np.sum([one.cpu - one.system for one in own.values()], axis=0) if own else np.zeros(0)
        level = np.sum([one.wanted > 0.05 for one in own.values()], axis=0) if own else np.zeros(0)
        if not own or not len(work):
            continue
        now = use.counted
        calm = ~now & (level > 0)
        if min(int(calm.sum()), int(now.sum())) < LEAST_CALM:
            continue
        rates = [groups[name].rate(what, seconds) for what in ("major_faults", "refault_pages")]
        paging = np.max([np.nan_to_num(rate) for rate in rates if rate is not None], axis=0)
        pairs = [
            (mean_over(context, course, calm), mean_over(context, course, now))
            for course in (work, level.astype(np.float64), paging)
        ]
        times = times_of(context, now, own)
        if any(m is None for pair in pairs for m in pair) or times is None:
            continue
        return _judged(name, sorted(own), [(a, b) for a, b in pairs if a and b], times.page)
    return None


def _judged(group: str, users: list[str], pairs: list[tuple[Measure, Measure]], wait: Measure) -> Finding:
    """Work, users at work and paging of a group, in its calm and its short periods."""
    (w0, w1), (m0, m1), (g0, g1) = pairs
    falls = w1.high < w0.low and w1.value < 0.8 * w0.value
    rises = m1.low > m0.high and m1.value > 1.2 * m0.value
    climbs = g1.low > g0.high and g1.value > max(20.0, 1.5 * g0.value)
    waits = wait.value >= LARGE_SHARE and wait.low > LARGE_SHARE / 2
    where = f"when {group} is short of memory"
    facts = [
        Evidence(name, unit, where, measure.value, measure.error, threshold, supports)
        for name, unit, measure, threshold, supports in (
            ("user time of the group's users", "processors", w1, f"below {w0.value:.2g}, as else", falls),
            ("users at work at once", "users", m1, f"above {m0.value:.2g}, as else", rises),
            ("pages that come back", "pages/s", g1, f"above {g0.value:.2g}, as else", climbs),
            ("share_page_wait", "fraction", wait, f"at least {LARGE_SHARE:g} of their time", waits),
        )
    ]
    if lacking := unmet(
        (f"the users of {group} get no less done when they are short of memory", falls),
        (f"no more users of {group} are at work then", rises),
        ("paging does not climb then", climbs),
        (f"page wait is only {wait.value:.0%} of their time", waits),
    ):
        return RULE.finding("does-not-hold", lacking, evidence=facts)
    text = (
        f"in group {group} ({listed(users)}) work falls from {w0.value:.2g} to {w1.value:.2g} CPUs in user"
        f" mode when {m1.value:.1f} of its users are at work at once instead of {m0.value:.1f}, while"
        f" {g1.value:,.0f} pages a second come back just after they were taken, and page wait is"
        f" {wait.value:.0%} of their time"
    )
    return RULE.finding("holds", text, strength=min(1.0, wait.value + CAUSE), evidence=facts)
