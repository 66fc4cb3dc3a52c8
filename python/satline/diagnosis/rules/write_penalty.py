"""Write penalty.

What: writes to a device take far longer than reads.
Why: parity arrays read before they write, and a small write cache is soon full; a cache of reads is of no use
to a stream that is written once.
Signs: the mean time of a write far above that of a read, while few requests are outstanding; on one device,
or of a device that is mostly written against the slowest one of the same type that is mostly read.
False readings: writes that are flushed in bursts queue behind each other: that is a queue, not a penalty, so
only loads with a short queue count. Two devices may differ in more than their use: what is seen across
them is never more than a remark. A copy test writes as nobody else does: do not judge the device by it.
Remedy: do not judge the device by copy tests; more write cache.
References: [Bitner].
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from satline.diagnosis._results import Finding
from satline.diagnosis.rules._context import Context, Measure
from satline.diagnosis.rules._rule import Rule
from satline.diagnosis.rules._wait import wait_at_saturation
from satline.stats import false_discoveries

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
# A device is mostly written, or mostly read, where the other kind is at most this part of its requests.
OTHER_USE = 0.2


@dataclass(frozen=True)
class _Compared:
    """Writes of one device held against reads of the same or another, over its loads with hardly a queue."""

    writes: str
    reads: str
    write: Measure
    read: Measure
    where: str

    @property
    def ratio(self) -> float:
        return self.write.value / self.read.value

    @property
    def across(self) -> bool:
        return self.writes != self.reads


def judge(context: Context) -> Finding:
    """Holds when writes take surely 3 times as long as reads at loads where the device has hardly a queue. It
    needs no saturation, but is a remark unless users wait for I/O."""
    if not context.entities("device_write_response") or not context.entities("device_read_response"):
        return RULE.blind(context, "device_read_response", "device_write_response")
    if not context.entities("device_queue") or not context.entities("device_busy"):
        return RULE.blind(context, "device_busy", "device_queue")
    judged = _within(context) + _across(context)
    if not judged:
        return RULE.finding(
            "cannot-judge",
            "every device has a queue at every load: what writes take by themselves cannot be seen",
            missing=("a lighter load",),
        )
    # One-sided: how likely such a ratio is where writes take at most 1.5 times as long.
    p = [
        0.5
        * math.erfc(math.log(j.ratio / NO_PENALTY) / max(_log_error(j.read, j.write), 1e-9) / math.sqrt(2))
        for j in judged
    ]
    sure = false_discoveries(p) <= 0.05
    slow = [j for j, ok in zip(judged, sure, strict=True) if ok and j.ratio >= PENALTY]
    # What one device shows by itself comes before a comparison of two.
    worst = max(slow or judged, key=lambda j: (not j.across, j.ratio))
    evidence = [
        replace(context.evidence(name, threshold, bool(slow), value=value), load=worst.where)
        for name, threshold, value in (
            (
                f"device_write_response:{worst.writes}",
                f"{PENALTY:g} × a read, with hardly a queue",
                worst.write,
            ),
            (f"device_read_response:{worst.reads}", "of a read", worst.read),
        )
    ]
    text = f"a write to {worst.writes} takes {worst.ratio:.1f} times as long as a read"
    if worst.across:
        text += f" of {worst.reads}: one is mostly written, the other mostly read"
    if not slow:
        return RULE.finding("does-not-hold", f"at most: {text}", evidence=evidence)
    wait = wait_at_saturation(context, "user_io_wait", "io_wait")
    limits = context.saturated and wait is not None and wait.large and not worst.across
    return RULE.finding("holds", text, strength=0.25, evidence=evidence, remark=not limits)


def _within(context: Context) -> list[_Compared]:
    """Writes and reads of each device that has both."""
    reads = context.entities("device_read_response")
    found = []
    for device in context.entities("device_write_response"):
        classes = _unqueued(context, device)
        read = context.mean(f"device_read_response:{device}", classes) if device in reads else None
        write = context.mean(f"device_write_response:{device}", classes)
        if read is not None and write is not None and read.value > 0 and write.value > 0:
            found.append(_Compared(device, device, write, read, context.where(classes)))
    return found


def _across(context: Context) -> list[_Compared]:
    """Each device that is mostly written against the slowest of its type that is mostly read."""
    times: dict[str, dict[str, tuple[Measure, str]]] = {"read": {}, "write": {}}
    for device in context.entities("device_busy"):
        classes = _unqueued(context, device)
        rates = {kind: context.mean(f"device_{kind}_rate:{device}", classes) for kind in times}
        read, write = rates["read"], rates["write"]
        if read is None or write is None or not read.value + write.value > 0:
            continue
        part = write.value / (read.value + write.value)
        kind = "read" if part <= OTHER_USE else "write" if part >= 1 - OTHER_USE else ""
        time = context.mean(f"device_{kind}_response:{device}", classes) if kind else None
        if time is not None and time.value > 0:
            times[kind][device] = time, context.where(classes)
    found = []
    for device, (write, where) in times["write"].items():
        alike = [other for other in times["read"] if _type(other) == _type(device)]
        if alike:
            slowest = max(alike, key=lambda other: times["read"][other][0].value)
            found.append(_Compared(device, slowest, write, times["read"][slowest][0], where))
    return found


def _type(device: str) -> str:
    """What devices of one driver have in common: sda and sdb, hdisk0 and hdisk12, nvme0n1 and nvme1n1."""
    known = re.match(r"(?:sd|vd|xvd|hd|dasd)(?=[a-z]+$)|[A-Za-z]+", device)
    return known[0] if known else device


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
