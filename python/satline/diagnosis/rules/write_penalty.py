"""Write penalty.

What: writes to a device take far longer than reads.
Why: parity arrays read before they write, and a small write cache is soon full; a cache of reads is of no use
to a stream that is written once.
Signs: the mean time of a write far above that of a read, while few requests are outstanding.
False readings: writes that are flushed in bursts queue behind each other: that is a queue, not a penalty, so
only loads with a short queue count. A copy test writes as nobody else does: do not judge the device by it.
Remedy: do not judge the device by copy tests; more write cache.
References: [Bitner].
"""

from __future__ import annotations

import math
from dataclasses import replace

from satline.diagnosis._partial import discoveries
from satline.diagnosis._results import Finding
from satline.diagnosis.rules._context import Context, Measure
from satline.diagnosis.rules._rule import Rule
from satline.diagnosis.rules._wait import wait_at_saturation

RULE = Rule(
    name="write_penalty",
    title="writes far slower than reads",
    component="io",
    needs=("device_read_response", "device_write_response", "device_busy", "device_queue"),
    remedies=(
        "Do not judge the device by copy tests.",
        "Put what is written once (logs, temporary files) where writes are cheap: mirrored rather than "
        "parity "
        "storage.",
        "More write cache, protected by a battery.",
    ),
    false_readings=("Writes that are flushed together wait for each other; a longer queue is no penalty.",),
    references=("[Bitner]",),
    vm_remedies=(
        "Do not judge the device by copy tests.",
        "Move minidisks that are mostly written to a device without parity, or one with a larger write "
        "cache.",
    ),
)
PENALTY, NO_PENALTY, QUEUE = 3.0, 1.5, 2.0


def judge(context: Context) -> Finding:
    """Holds when writes take surely 3 times as long as reads at loads where the device has hardly a queue. It
    needs no saturation, but is a remark unless users wait for I/O."""
    devices = [
        d for d in context.entities("device_write_response") if d in context.entities("device_read_response")
    ]
    if not devices:
        return RULE.blind(context, "device_read_response", "device_write_response")
    if not context.entities("device_queue") or not context.entities("device_busy"):
        return RULE.blind(context, "device_busy", "device_queue")
    judged: list[tuple[str, float, float, tuple[int, ...]]] = []
    for device in devices:
        classes = _unqueued(context, device)
        read, write = (
            context.mean(f"device_{what}_response:{device}", classes) for what in ("read", "write")
        )
        if read is not None and write is not None and read.value > 0 and write.value > 0:
            ratio = write.value / read.value
            judged.append((device, ratio, _log_error(read, write), classes))
    if not judged:
        return RULE.finding(
            "cannot-judge",
            "every device has a queue at every load: what writes take by themselves cannot be seen",
            missing=("a lighter load",),
        )
    # One-sided: how likely such a ratio is where writes take at most 1.5 times as long.
    p = [
        0.5 * math.erfc(math.log(ratio / NO_PENALTY) / max(error, 1e-9) / math.sqrt(2))
        for _, ratio, error, _ in judged
    ]
    sure = discoveries(p, 0.05)
    slow = [j for j, ok in zip(judged, sure, strict=True) if ok and j[1] >= PENALTY]
    device, ratio, _, classes = max(slow or judged, key=lambda j: j[1])
    evidence = [
        replace(
            context.evidence(
                f"device_{what}_response:{device}",
                f"{PENALTY:g} × a read, with hardly a queue" if what == "write" else "of a read",
                bool(slow),
                value=context.mean(f"device_{what}_response:{device}", classes),
            ),
            load=context.where(classes),
        )
        for what in ("write", "read")
    ]
    text = f"a write to {device} takes {ratio:.1f} times as long as a read"
    if not slow:
        return RULE.finding("does-not-hold", f"at most: {text}", evidence=evidence)
    wait = wait_at_saturation(context, "user_io_wait", "io_wait")
    limits = context.saturated and wait is not None and wait.large
    return RULE.finding("holds", text, strength=0.25, evidence=evidence, remark=not limits)


def _unqueued(context: Context, device: str) -> tuple[int, ...]:
    """Classes in which hardly more than one request is outstanding while the device is busy."""
    found = []
    for k in context.classes:
        queue, busy = (context.mean(f"device_{what}:{device}", (k,)) for what in ("queue", "busy"))
        if queue is not None and busy is not None and busy.value > 0 and queue.value <= QUEUE * busy.value:
            found.append(k)
    return tuple(found)


def _log_error(read: Measure, write: Measure) -> float:
    """Standard error of the logarithm of their ratio."""
    return math.hypot(read.error / read.value, write.error / write.value)
