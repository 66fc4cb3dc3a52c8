"""I/O bound.

What: users wait for block I/O that is not paging.
Why: beyond saturation transactions spend their time at a device, or behind a cap on I/O, while processors
stand idle.
Signs: I/O wait remains at saturation and is a large part of the users' time; the page share of what is
read is small.
Without a knee: a control group at its cap on I/O, whose programs wait for a device that is idle.
False readings: where admission holds users back and I/O takes no longer than at light load, nobody queues
for a device: too few are admitted, and more of them would fill the wait. Swap-ins also raise I/O wait and
io.pressure; they are taken out by the page share. I/O wait while processors are full says little.
Remedy: raise a cap, find the unbalanced device and move data, more cache, a faster device.
References: [Bard].
"""

from __future__ import annotations

from satline.diagnosis._results import Finding
from satline.diagnosis.rules._context import Context
from satline.diagnosis.rules._rule import Rule
from satline.diagnosis.rules._short import from_periods
from satline.diagnosis.rules._wait import cap_note, device_evidence, room_for_more, wait_at_saturation

RULE = Rule(
    name="io_bound",
    title="I/O bound",
    component="io",
    needs=("share_io_wait", "io_wait", "busiest_device", "page_share"),
    remedies=(
        "Find who reads or writes most, and spread it: move a mount or a hot directory to another device.",
        "Give the file cache more memory, so that files are read once.",
        "Protect interactive users: io.weight or io.latency for their control group, ionice for "
        "background work.",
        "A faster device, or more of them; else the processors are simply faster than the work needs.",
    ),
    false_readings=(
        "Swap-ins raise I/O wait and io.pressure too; the page share of what was read has been taken out.",
    ),
    references=("[Bard]",),
    vm_remedies=(
        "Find the unbalanced channel or device: move packs, move minidisks.",
        "Duplicate hot shared disks, only where the pattern is consistent.",
        "Else the processors are simply faster than the work needs.",
    ),
    single_class=True,
)


def judge(context: Context) -> Finding:
    """Holds when non-paging I/O wait is a large part of users' time (or of idle processors) at saturation."""
    unfit = RULE.unfit(context)
    if unfit is not None:
        return unfit
    short = from_periods(RULE, context, "I/O cap of ")
    if short is not None:
        return short
    wait = wait_at_saturation(context, "user_io_wait", "io_wait")
    if wait is None:
        return RULE.blind(context, "share_io_wait", "io_wait")
    evidence = [wait.evidence]
    share = context.high("page_share")
    if share is not None:
        evidence.append(
            context.evidence("page_share", "small: what is read is not paging", share.value < 0.5)
        )
    evidence += device_evidence(context)
    if not wait.large:
        return RULE.finding(
            "does-not-hold", f"I/O wait is only {wait.value:.0%} of {wait.of}", evidence=evidence
        )
    if share is None:
        return RULE.finding(
            "cannot-judge",
            "I/O wait is large, but whether it is paging was not recorded",
            evidence=evidence,
            missing=("page_share",),
        )
    room = room_for_more(context, "user_io_wait", "virtual_io_rate")
    if room is not None:
        return RULE.finding(
            "does-not-hold",
            "I/O takes hardly longer than at light load, and admission holds users back who could fill the"
            " wait",
            evidence=[*evidence, room],
        )
    remedy, note = cap_note(context, evidence)
    extra: tuple[str, ...] = ()
    device = context.high("busiest_device")
    if not remedy and device is not None and device.value < 0.3:
        extra = (
            "No block device is busy: the wait may be for a network file system, a cap, or a device "
            "that is not recorded.",
        )
    return RULE.finding(
        "holds",
        f"I/O wait is {wait.value:.0%} of {wait.of}" + note,
        strength=wait.value,
        evidence=evidence,
        first_remedies=remedy,
        false_readings=extra,
    )
