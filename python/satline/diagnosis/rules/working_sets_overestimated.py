"""Working sets overestimated.

What: admission holds users back although memory and processors have room: the multiprogramming level is too
low.
Why: users are admitted when their projected working sets fit. Projections that are too large leave memory
and processors unused while users wait.
Signs: eligible users at saturation, light paging, light I/O wait and processors that are not full. Without a
knee: a swapper holds users while a quarter or more of the memory that it watches is free.
False readings: a processor quota also holds users back; that is quota_bound. Where I/O wait is large the
processors are light too, but there devices are full: where I/O takes no longer than at light load, nobody
queues.
Remedy: admit more.
References: [Bard].
"""

from __future__ import annotations

from satline.diagnosis._held import background
from satline.diagnosis._results import Finding
from satline.diagnosis.rules._context import Context
from satline.diagnosis.rules._live import inside
from satline.diagnosis.rules._rule import Rule, unmet
from satline.diagnosis.rules._short import users_held
from satline.diagnosis.rules._wait import held_back, room_for_more, wait_at_saturation

RULE = Rule(
    name="working_sets_overestimated",
    title="working sets overestimated: too few users admitted",
    component="admission",
    needs=("user_eligible", "total_cpu_fraction", "share_page_wait", "share_io_wait"),
    remedies=(
        "Admit more at once: raise memory.high of the slices that are held back, or the slots of the batch "
        "queue.",
        "Ask for less: lower the memory that jobs state beforehand to what they are seen to use.",
    ),
    false_readings=("A quota holds users back too, and so does a queue that was closed on purpose.",),
    references=("[Bard]",),
    absent="nothing admits users here: there is no swapper",
    vm_remedies=(
        "Raise the multiprogramming level: let admission project smaller working sets.",
        "Raise the limit on users in queue, or the part of storage that they may take together.",
    ),
)
LIGHT = 0.7


def judge(context: Context) -> Finding:
    """Holds when users are held back at saturation while processors, paging and I/O are light."""
    unfit = RULE.unfit(context)
    if unfit is not None:
        return unfit
    eligible, total = context.high("user_eligible"), context.high(context.busy)
    held = held_back(context)
    page = wait_at_saturation(context, "user_page_wait", "page_wait")
    io = wait_at_saturation(context, "user_io_wait", "io_wait")
    if (eligible is None or held is None) and context.watched:
        return RULE.finding("does-not-hold", RULE.absent)
    if eligible is None or held is None:
        return RULE.blind(context, "user_eligible")
    if total is None:
        return RULE.blind(context, context.busy)
    swapper = next((use for use in context.uses if use.component == "admission"), None)
    if context.basis == "periods" and swapper is not None and not swapper.counted.any():
        return RULE.finding(
            "does-not-hold", "the swapper holds nobody while the memory that it watches is free"
        )
    if page is None or io is None:
        return RULE.blind(context, "share_page_wait", "share_io_wait")
    idle, yields = total.high < LIGHT, _yields(context)
    light = idle or yields
    room = room_for_more(context, "user_io_wait", "virtual_io_rate")
    calm, quiet = page.value < 0.15, not io.large or room is not None
    evidence = [
        *held.evidence,
        context.evidence(
            context.busy, f"surely below {LIGHT:g} of capacity, or filled by work that yields to users", light
        ),
        page.evidence_that("below 0.15: paging is light", calm),
        io.evidence_that("not large, or devices have room", quiet),
        *([room] if room is not None else []),
    ]
    if lacking := unmet(
        (held.words, held.holds),
        (f"the processors are {total.value:.0%} busy", light),
        (f"page wait is {page.value:.0%} of {page.of}", calm),
        (f"I/O wait is {io.value:.0%} of {io.of}", quiet),
        ("a quota holds the load back", not context.quota_holds()),
    ):
        return RULE.finding("does-not-hold", lacking, evidence=evidence)
    level = context.high("mpl")
    share = context.share("user_eligible")
    strength = share.value if share is not None else 0.5
    if level is not None:
        evidence.append(context.evidence("mpl", "users admitted", True))
        if share is None:
            strength = eligible.value / max(eligible.value + level.value, 1e-9)
    text = f"{eligible.value:.1f} users are held back while the processors are "
    text += f"only {total.value:.0%} busy" if idle else "filled by work that yields to users"
    text += " and paging is light"
    remedies: tuple[str, ...] = ()
    if context.basis == "periods" and swapper is not None:
        text, remedies = f"{swapper.says}; {text}", (swapper.remedy,)
    return RULE.finding("holds", text, strength=strength, evidence=evidence, first_remedies=remedies)


def _yields(context: Context) -> bool:
    """Are the processors of a live host filled by work that never rests, for which others hardly wait?"""
    held = users_held(context)
    if context.basis != "periods" or held is None or "delay" not in held.known:
        return False
    found = background(held, inside(context, context.top), context.reduction.seconds)
    return found is not None and found.yields
