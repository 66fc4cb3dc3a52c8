"""Arm contention.

What: too many users at once make the arms of a disk travel.
Why: with a very high multiprogramming level the requests of many users fall on the same device in turn; each
seek then leads to another user's data, and the device itself gets slower, not only its queue longer.
Signs: a very high multiprogramming level together with high I/O wait; the busy time of the device for each
request grows with load, though requests are no larger.
False readings: larger requests take longer too; a device without arms slows down when it cleans up behind
writes; a cap on I/O makes requests wait while the device is not busy.
Remedy: restrict the multiprogramming level.
References: [Bard].
"""

from __future__ import annotations

from satline.diagnosis._results import Finding
from satline.diagnosis.rules._context import Context, Measure
from satline.diagnosis.rules._rule import Rule, unmet
from satline.diagnosis.rules._wait import wait_at_saturation

RULE = Rule(
    name="arm_contention",
    title="arm contention: too many users at once at a disk",
    component="io",
    needs=("mpl", "share_io_wait", "io_wait", "device_busy", "device_service"),
    remedies=(
        "Let fewer work at that disk at once: queue background work, or run it at the idle I/O class "
        "(ionice -c 3, a low io.weight).",
        "Use an I/O scheduler that keeps a process's requests together (bfq), and larger read-ahead.",
        "Spread the data over more disks, or put it on a device without arms.",
    ),
    false_readings=("A solid-state device that cleans up behind writes gets slower with load too.",),
    references=("[Bard]",),
    vm_remedies=(
        "Restrict the multiprogramming level.",
        "Put minidisks that are used together side by side, and spread busy ones over packs.",
    ),
)
GROWTH = 1.3


def judge(context: Context) -> Finding:
    """Holds when I/O wait is large, MPL has more than doubled, and the fullest device takes surely longer for
    a request of the same size."""
    unfit = RULE.unfit(context)
    if unfit is not None:
        return unfit
    wait = wait_at_saturation(context, "user_io_wait", "io_wait")
    if wait is None:
        return RULE.blind(context, "share_io_wait", "io_wait")
    if not wait.large:
        return RULE.finding(
            "does-not-hold", f"I/O wait is only {wait.value:.0%} of {wait.of}", evidence=[wait.evidence]
        )
    level, light = context.high("mpl"), context.low("mpl")
    if level is None or light is None:
        return RULE.blind(context, "mpl")
    paging = set(context.entities("device_priority"))
    busy = {
        device: m.value
        for device in context.entities("device_service")
        if device not in paging and (m := context.high(f"device_busy:{device}")) is not None
    }
    if not busy:
        return RULE.blind(context, "device_service", "device_busy")
    device = max(busy, key=lambda name: busy[name])
    now, then = (context.mean(f"device_service:{device}", k) for k in (context.top, context.bottom))
    if now is None or then is None:
        return RULE.blind(context, "device_service")
    full, many = busy[device] >= 0.7, level.low > light.high and level.value >= max(4.0, 2 * light.value)
    slower = now.low > then.high and now.value > GROWTH * then.value
    larger = _size(context, device, context.top), _size(context, device, context.bottom)
    same = None in larger or larger[0].value < 1.2 * larger[1].value  # type: ignore[union-attr]
    evidence = [
        wait.evidence,
        context.evidence("mpl", "at least 4, and twice that at light load", many),
        context.evidence(f"device_busy:{device}", "at least 0.7", full),
        context.evidence(f"device_service:{device}", f"above {GROWTH:g} × that at light load", slower),
        context.evidence(f"device_service:{device}", "shorter at light load", slower, light=True),
    ]
    if lacking := unmet(
        ("the multiprogramming level is not much higher than at light load", many),
        ("no device is full", full),
        ("the fullest device takes no longer for a request than at light load", slower),
        ("its requests are larger", same),
    ):
        return RULE.finding("does-not-hold", lacking, evidence=evidence)
    text = (
        f"I/O wait is {wait.value:.0%} of {wait.of}, and {device} takes {now.value * 1000:.2g} ms of its "
        "own time for"
        f" a request, {then.value * 1000:.2g} ms at light load, while {level.value:.1f} users are at work "
        "at once"
    )
    return RULE.finding("holds", text, strength=wait.value + 0.05, evidence=evidence)


def _size(context: Context, device: str, classes: tuple[int, ...]) -> Measure | None:
    """Mean bytes of a request."""
    moved, rate = (context.mean(f"device_{what}:{device}", classes) for what in ("bytes", "rate"))
    if moved is None or rate is None or not rate.value > 0:
        return None
    return Measure(moved.value / rate.value, 0.0)
