"""Memory looks saturated but is not the bottleneck.

What: memory is full, yet the users wait for something else.
Why: Linux fills memory with file pages, and pages out what nobody uses; full memory is normal.
Signs: memory or its limit nearly full, swap in use, or eligible users; paging moderate, processors (or the
quota) fully used.
False readings: a memory limit that is hit all the time with heavy refaults is a bottleneck: see
paging_bound.
Remedy: none until the processors are replaced.
References: [Bard].
"""

from __future__ import annotations

from collections.abc import Mapping

from satline.diagnosis._limits import LimitedGroup, memory_groups
from satline.diagnosis._results import Finding
from satline.diagnosis._use import LEAST_PAGES, Mask
from satline.diagnosis.rules._context import Context, Measure
from satline.diagnosis.rules._live import inside, mean_over, members, times_of
from satline.diagnosis.rules._rule import Rule, unmet
from satline.diagnosis.rules._wait import held_back

RULE = Rule(
    name="storage_not_bottleneck",
    title="memory looks full but is not the bottleneck",
    vm_title="storage looks full but is not the bottleneck",
    component="none",
    needs=(
        "load_memory_fraction",
        "memory_used_fraction",
        "user_eligible",
        "total_cpu_fraction",
        "paging_rate",
        "share_page_wait",
    ),
    remedies=("None: more memory would not raise throughput until the processors are faster or more.",),
    false_readings=(
        "With heavy refaults or swap-ins that users wait for, memory is a bottleneck after all.",
    ),
    references=("[Bard]",),
)
LIMIT_OF = "memory limit of "
# Below these a group's pages come and go unnoticed: pages/s, each of which costs the kernel microseconds, and
# the part of its users' time in which they wait for pages and devices.
FEW_PAGES, FELT = 500.0, 0.05


def judge(context: Context) -> Finding:
    """Holds when memory is full, the processors (or the quota) are used up, and nobody waits for pages."""
    unfit = RULE.unfit(context)
    if unfit is not None:
        return unfit
    looks = [
        (name, m)
        for name in ("load_memory_fraction", "memory_used_fraction")
        if (m := context.high(name)) is not None
    ]
    total, paging = context.high(context.busy), context.high("paging_rate")
    eligible = context.high("user_eligible")
    if not looks and eligible is None:
        return RULE.blind(context, "load_memory_fraction", "memory_used_fraction", "user_eligible")
    if total is None or paging is None:
        return RULE.blind(context, context.busy, "paging_rate")
    unfelt = _unfelt(context)
    groups = _groups(context, unfelt)
    looks += groups
    name, most = max(looks, key=lambda item: item[1].value, default=("", Measure(0.0, 0.0)))
    held = held_back(context)
    # Users whom a swapper holds while memory is free do not make it look full.
    roomy = any(use.component == "admission" and use.counted.any() for use in context.uses)
    crowded = held is not None and held.holds and not roomy
    full = most.value >= 0.9 or crowded
    quota = bool(context.quota_holds())
    busy = total.value >= 0.9 or quota
    share = context.inside("user_page_wait")
    waited = share.value if share is not None else None
    if waited is None:
        wait, capacity = context.high("page_wait"), context.high("capacity_processors")
        if wait is None or capacity is None or not capacity.value > 0:
            return RULE.blind(context, "share_page_wait", "page_wait")
        waited = wait.value / capacity.value
    if context.basis == "periods" and (times := times_of(context, inside(context, context.top))) is not None:
        waited = max(waited, times.page.value)
    # A limit that costs its group pages that it needs is a bottleneck, whatever the others wait for.
    wanted = [
        u.name
        for u in context.uses
        if u.name.startswith(LIMIT_OF)
        and u.counted.any()
        and not unfelt.get(u.name.removeprefix(LIMIT_OF), False)
    ]
    calm = waited < 0.1 and not wanted
    evidence = [
        *(
            [context.evidence(name, "at least 0.9: it looks full", most.value >= 0.9, value=most)]
            if name
            else []
        ),
        *(held.evidence if held is not None else ()),
        context.evidence(context.busy, "at least 0.9 of capacity", busy),
        context.evidence("paging_rate", "moderate: nobody waits for it", calm),
    ]
    if full and busy and calm:
        what = name.removeprefix("memory of ") if dict(groups).get(name) else ""
        looks_full = f"{'the memory limit of ' + what if what else 'memory'} is {most.value:.0%} full"
        looks_full = looks_full if most.value >= 0.9 else "users are held back"
        text = f"{looks_full}, but page wait is only {waited:.0%}"
        text += "; the processors are used up"
        return RULE.finding("holds", text, strength=0.2, evidence=evidence)
    lacking = unmet(
        ("memory is not full", full),
        ("the processors are not used up", busy),
        (
            f"{wanted[0]} is short" if wanted and waited < 0.1 else f"users wait for pages ({waited:.0%})",
            calm,
        ),
    )
    return RULE.finding("does-not-hold", lacking, evidence=evidence)


def _unfelt(context: Context) -> dict[str, bool]:
    """Of each control group with a memory limit, by its name: are its pages taken and brought back so seldom
    that neither its users nor the kernel take time for it?"""
    found: dict[str, bool] = {}
    if context.history is None:
        return found
    where = inside(context, context.top)
    for group in memory_groups(context.history):
        rates = _rates(context, group, where)
        own = members(context, group.name)
        times = times_of(context, where, own) if own else None
        found[group.name] = (
            bool(rates)
            and all(rate is not None and rate.high <= FEW_PAGES for rate in rates)
            and times is not None
            and times.page.value + times.io.value < FELT
        )
    return found


def _rates(context: Context, group: LimitedGroup, where: Mask) -> list[Measure | None]:
    """Of what is known of a group's pages that come back, pages/s."""
    rates = [group.rate(name, context.reduction.seconds) for name in ("major_faults", "refault_pages")]
    return [mean_over(context, rate, where) for rate in rates if rate is not None]


def _groups(context: Context, unfelt: Mapping[str, bool]) -> list[tuple[str, Measure]]:
    """Control groups with a memory limit that want no page back, or do not feel it, and whose users mostly
    run or wait for processors: how full each is."""
    if context.history is None or context.basis != "periods":
        return []
    where, found = inside(context, context.top), []
    for group in memory_groups(context.history):
        full = mean_over(context, group.fraction, where)
        known = _rates(context, group, where)
        calm = bool(known) and all(rate is not None and rate.high <= LEAST_PAGES for rate in known)
        own = members(context, group.name)
        times = times_of(context, where, own) if own else None
        if full is None or times is None or not (calm or unfelt.get(group.name, False)):
            continue
        if times.run.value + times.delay.value >= 0.4:
            found.append((f"memory of {group.name}", full))
    return found
