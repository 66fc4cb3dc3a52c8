"""Quota bound.

What: the processor quota of the load is the bottleneck.
Why: a group that has used its quota is held back until the next quota period, whatever processors stand idle.
Signs: the load's processor time is at its quota; the part of quota periods in which it is held back rises
with load.
A capped partition shows no quota periods: there, its processor time is at the cap while the rest looks idle.
Without a knee: a group that is held back in most periods.
False readings: single periods are throttled at light load too, when a burst of threads uses up the quota
at once.
Remedy: raise the quota; the processors are not the bottleneck.
References: the Linux CFS bandwidth controller (Documentation/scheduler/sched-bwc).
"""

from __future__ import annotations

from satline.diagnosis._results import Finding
from satline.diagnosis.rules._context import Context
from satline.diagnosis.rules._rule import Rule
from satline.diagnosis.rules._short import from_periods

RULE = Rule(
    name="quota_bound",
    title="quota bound",
    component="quota",
    needs=("throttled_periods", "load_cpu_fraction", "share_throttled"),
    remedies=(
        "Raise the quota (cpu.max, CPUQuota=), or replace it by a weight (cpu.weight), which holds back "
        "only under contention.",
        "Allow bursts (cpu.max.burst), if it is bursts that are held back.",
        "Lower the load on this group, or split it over groups with quotas of their own.",
    ),
    vm_remedies=(
        "Raise the cap of the partition or virtual machine, or replace it by a share, which holds back only "
        "under contention.",
    ),
    false_readings=(
        "Held-back periods at light load come from bursts; only with the load's processor time at its "
        "quota is the quota full.",
    ),
    references=("Linux: Documentation/scheduler/sched-bwc",),
    absent="no control group has a CPU quota",
)


def judge(context: Context) -> Finding:
    """Holds when the load is at its quota at saturation and is held back in most quota periods, rising
    with load."""
    unfit = RULE.unfit(context)
    if unfit is not None:
        return unfit
    short = from_periods(RULE, context, "CPU quota of ")
    if short is not None:
        return short
    throttled, used = context.high("throttled_periods"), context.high("load_cpu_fraction")
    if throttled is None:
        if context.partition_cap() is not None:
            return _partition(context)
        if context.reduction.settings.cgroup is None:
            if not context.watched:
                return RULE.blind(context, "throttled_periods")
            quotas = [use for use in context.uses if use.name.startswith("CPU quota of ")]
            return RULE.finding(
                "does-not-hold",
                "no CPU quota holds its group back" if quotas else RULE.absent,
            )
        if context.reduction.settings.quota is None:
            return RULE.finding("does-not-hold", "the load has no processor quota")
        return RULE.blind(context, "throttled_periods")
    if used is None:
        return RULE.blind(context, "load_cpu_fraction")
    light = context.low("throttled_periods")
    rises = light is None or throttled.value > light.value or light.value > 0.9
    evidence = [
        context.evidence("throttled_periods", "at least 0.5", throttled.value >= 0.5),
        context.evidence("throttled_periods", "lower at light load", rises and light is not None, light=True),
        context.evidence("load_cpu_fraction", "at least 0.85 of the quota", used.value >= 0.85),
        context.evidence("capacity_processors", "the quota", True),
    ]
    idle = context.high("idle_wait")
    if idle is not None:
        evidence.append(context.evidence("idle_wait", "above 0.05: processors stand idle", idle.value > 0.05))
    if not (context.quota_holds() and rises):
        return RULE.finding(
            "does-not-hold",
            f"the load uses {used.value:.0%} of its quota and is held back in {throttled.value:.0%} of"
            " the quota periods",
            evidence=evidence,
        )
    parts = [context.share(n) for n in ("user_run", "user_cpu_wait", "user_throttled")]
    known = [p.value for p in parts if p is not None]
    strength = max(min(1.0, sum(known)), throttled.value) if known else throttled.value
    held = context.share("user_throttled")
    if held is not None:
        evidence.append(
            context.evidence(
                "share_throttled", "a large part of transaction time", held.value > 0.2, value=held
            )
        )
    return RULE.finding(
        "holds",
        f"the load uses {used.value:.0%} of its quota and is held back in {throttled.value:.0%} of"
        " the quota periods",
        strength=strength,
        evidence=evidence,
    )


def _partition(context: Context) -> Finding:
    """A capped partition: its processors look half idle, but the other half is not its own."""
    total, light = context.high("total_cpu_fraction"), context.low("total_cpu_fraction")
    capacity = context.high("capacity_processors")
    if total is None or capacity is None:
        return RULE.blind(context, "total_cpu_fraction")
    full = total.value >= 0.9 and total.low > 0.8
    lower = light is None or light.value < total.value
    evidence = [
        context.evidence("total_cpu_fraction", "at least 0.9 of the cap", full),
        context.evidence("total_cpu_fraction", "lower at light load", lower, light=True),
        context.evidence("capacity_processors", "the cap", True),
    ]
    idle = context.high("idle_wait")
    if idle is not None:
        evidence.append(context.evidence("idle_wait", "above 0.05: processors seem idle", idle.value > 0.05))
    text = f"the partition uses {total.value:.0%} of its cap of {capacity.value:.3g} processors"
    if not (full and lower):
        return RULE.finding("does-not-hold", text, evidence=evidence)
    if idle is not None and idle.value > 0.05:
        text += f", while {idle.value:.1f} processors seem idle"
    return RULE.finding("holds", text, strength=min(1.0, total.value), evidence=evidence)
