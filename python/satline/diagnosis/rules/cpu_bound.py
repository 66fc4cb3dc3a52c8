"""CPU bound.

What: the processors are the bottleneck.
Why: beyond saturation every processor that the load may use is busy, so that users wait for processors.
Signs: total CPU near capacity at saturation, wait near 0, paging moderate; users run or wait for a processor.
False readings: compute-bound background work (see cpu_background); system time spent on paging (see
paging_overhead); a quota (see quota_bound); a hypervisor that gives the processors to others.
Remedy: defer or lower the priority of background work, then faster or more processors.
References: [Bard].
"""

from __future__ import annotations

from satline.diagnosis._results import Finding
from satline.diagnosis.rules import paging_overhead
from satline.diagnosis.rules._context import Context
from satline.diagnosis.rules._rule import Rule
from satline.diagnosis.rules._short import cpu_takers

RULE = Rule(
    name="cpu_bound",
    title="CPU bound",
    component="processor",
    needs=("total_cpu_fraction", "share_run", "share_cpu_wait"),
    remedies=(
        "See whether compute-bound background work can be deferred, or given less: nice 19, or a lower "
        "cpu.weight for its control group.",
        "Find the commands that take most processor time per transaction, and make them cheaper.",
        "Allow the load more processors (cpuset.cpus, the guest's virtual processors), or move users to "
        "another host.",
        "Faster processors.",
    ),
    false_readings=(
        "Compute-bound background work keeps the processors busy at every load, while interactive "
        "response stays good.",
        "On a virtual machine the hypervisor may hold processors back: steal time shows it.",
    ),
    references=("[Bard]",),
    vm_remedies=(
        "See whether compute-bound background work can be deferred, or given a lower priority.",
        "Find the commands that take most processor time per transaction, and make them cheaper.",
        "Faster or more processors.",
    ),
    single_class=True,
)
FULL = 0.9


def judge(context: Context) -> Finding:
    """Holds when the processors are full at saturation, users wait for them, and it is not quota or paging
    that fills them."""
    unfit = RULE.unfit(context)
    if unfit is not None:
        return unfit
    busy = context.busy
    total = context.high(busy)
    if total is None:
        return RULE.blind(context, busy)
    full = total.value >= FULL or context.filled_by_users
    light = context.low(busy)
    supervisor, problem = context.high("supervisor_fraction"), context.high("problem_fraction")
    most = problem is not None and problem.value > 0.5 * total.value
    less = supervisor is not None and problem is not None and supervisor.value < problem.value
    lower = light is not None and light.value < total.value
    evidence = [
        context.evidence(busy, f"at least {FULL:g} of capacity", full),
        *(
            [context.evidence(busy, "lower at light load", lower, light=True)]
            # Of what was left: who computes without end takes all of what nobody else wants.
            if context.bottom and busy == "total_cpu_fraction"
            else []
        ),
        context.evidence("problem_fraction", "most of total CPU", most),
        context.evidence("supervisor_fraction", "less than user time", less),
    ]
    quota = context.quota_holds()
    if quota:
        evidence.append(context.evidence("throttled_periods", "below 0.25", False))
        return RULE.finding(
            "does-not-hold", "the quota holds the load back, not the processors", evidence=evidence
        )
    if quota is None and context.reduction.settings.quota is not None:
        return RULE.finding(
            "cannot-judge",
            "a quota is stated, but whether it holds the load back was not recorded",
            evidence=evidence,
            missing=("throttled_periods",),
        )
    cpu = next((use for use in context.uses if use.name == "CPU"), None)
    waited = cpu is None or cpu.confirmed is None or bool(cpu.confirmed.any())
    if context.basis == "periods" and full and not waited:
        return RULE.finding(
            "does-not-hold",
            "the processors are full, but hardly anyone waits for them beside who fills them",
            evidence=evidence,
        )
    if paging_overhead.fills_processors(context):
        return RULE.finding(
            "does-not-hold", "the processors are full, but paging fills them", evidence=evidence
        )
    run, wait = context.inside("user_run"), context.inside("user_cpu_wait")
    strength = min(1.0, total.value)
    text = f"the processors are {min(1.0, total.value):.0%} busy{context.of_what}"
    if run is not None:
        part = run.value + (wait.value if wait else 0.0)
        ok = part >= 0.4 or context.filled_by_users
        evidence.append(context.evidence("share_run", "with CPU wait at least 0.4", ok, value=run))
        if wait is not None:
            evidence.append(context.evidence("share_cpu_wait", "with running at least 0.4", ok, value=wait))
        total_cpu = context.high("total_cpu_fraction")
        crowded = full or (total_cpu is not None and total_cpu.value >= FULL)
        if crowded and not ok and wait is None:
            return RULE.finding(
                "cannot-judge",
                f"the processors are full and users run in {part:.0%} of their {context.whole}; whether "
                "they wait for a processor was not recorded",
                evidence=evidence,
                missing=("share_cpu_wait",),
            )
        if full and not ok:
            return RULE.finding(
                "does-not-hold",
                f"the processors are full, but users run or wait for them in only {part:.0%} of their"
                f" {context.whole}",
                evidence=evidence,
            )
        strength = total.value if context.filled_by_users else min(1.0, part)
        what = "run" if wait is None else "run or wait for a processor"
        text += f"; users {what} in {min(1.0, part):.0%} of their {context.whole}"
    if not full:
        return RULE.finding(
            "does-not-hold",
            f"the processors are only {total.value:.0%} busy{context.of_what} at"
            f" {context.where(context.top)}",
            evidence=evidence,
        )
    notes: list[str] = []
    if supervisor is not None and problem is not None and supervisor.value > problem.value:
        text += "; most of it system time"
        notes.append(
            "Most processor time is the kernel's: look at forks, system calls and faults before buying "
            "processors."
        )
    stolen = context.high("stolen")
    if stolen is not None and stolen.value > 0.1:
        evidence.append(context.evidence("stolen", "below 0.1 processors", False))
        notes.append(
            "The hypervisor takes a noticeable part of the processors: the host beneath may be the "
            "bottleneck."
        )
    takers, remedy = cpu_takers(context)
    text += f"; {takers}" if takers else ""
    return RULE.finding(
        "holds",
        text,
        strength=strength,
        evidence=evidence,
        first_remedies=(remedy,) if remedy else (),
        false_readings=tuple(notes),
    )
