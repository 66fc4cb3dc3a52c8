"""Drum overflow: the fast tier of paging is full.

What: pages no longer fit on the fast paging device, and overflow to the slow one.
Why: the fast device is filled first and gives no page up by itself; once it is full, each further page goes
to the slow device, and users wait for that.
Signs: total paging rises with load while the fast device's share levels off or falls; there page wait starts
to rise. On Linux: zram, zswap or the swap device of highest priority is full while a lower one fills.
False readings: a fast tier that was full from the start may hold pages that nobody wants back; then page wait
does not rise.
Remedy: release pages that are not needed, smaller working sets, migrate old pages to the slow device, a
second fast device.
References: [Bard]; [T87].
"""

from __future__ import annotations

from dataclasses import dataclass

from satline.diagnosis._results import Evidence, Finding
from satline.diagnosis.rules._context import Context
from satline.diagnosis.rules._live import inside, times_of
from satline.diagnosis.rules._rule import Rule, unmet
from satline.diagnosis.rules._wait import as_cause

RULE = Rule(
    name="drum_overflow",
    title="fast tier of paging full",
    component="paging",
    needs=("device_priority", "device_used_fraction", "fast_paging_share", "paging_rate", "user_page_wait"),
    remedies=(
        "Release what is not needed: restart programs that leak, clear tmpfs, end idle sessions.",
        "Let zswap write old pages back to the slow device (zswap shrinker), or zram (its backing device), "
        "so "
        "that the fast tier keeps what is in use.",
        "A larger or a second fast tier: more zram or zswap, or another NVMe swap device of equal priority.",
        "More memory.",
    ),
    false_readings=(
        "A fast tier full of pages that nobody wants back does no harm; what counts is that page wait rises "
        "where it overflows.",
    ),
    references=("[Bard]", "[T87]"),
    vm_title="drum overflow",
    vm_remedies=(
        "Release unneeded pages, smaller virtual machines, shared systems.",
        "Migrate old pages from the drum to the slow device.",
        "A second drum.",
    ),
)
FULL = 0.95


@dataclass(frozen=True)
class _Overflow:
    """Where the fast tier overflows, if it does; `text` says what was seen."""

    seen: bool
    text: str
    evidence: list[Evidence]
    load_class: int | None = None


def judge(context: Context) -> Finding:
    """Holds when the fast tier stops taking its part at some load while total paging climbs, and page wait
    rises there."""
    unfit = RULE.unfit(context)
    if unfit is not None:
        return unfit
    overflow = _by_devices(context) or _by_share(context)
    if overflow is None and context.watched and context.entities("device_rate"):
        swap = context.entities("device_priority")
        text = "all swap devices are of one priority" if swap else "there is no swap device"
        return RULE.finding("does-not-hold", text)
    if overflow is None:
        return RULE.blind(context, "device_priority", "fast_paging_share")
    wait = next((n for n in ("user_page_wait", "page_wait") if context.high(n) is not None), None)
    if wait is None:
        return RULE.blind(context, "user_page_wait", "page_wait")
    climbs, waits = context.rises("paging_rate", 1.2), context.rises(wait, 1.5)
    if climbs is None:
        return RULE.blind(context, "paging_rate")
    waits = bool(waits) or _users_wait(context)
    evidence = [
        *overflow.evidence,
        context.evidence("paging_rate", "above 1.2 × that at light load", climbs),
        context.evidence(wait, "above 1.5 × that at light load", bool(waits)),
    ]
    if lacking := unmet(
        (overflow.text, overflow.seen),
        ("paging does not climb", climbs),
        ("page wait does not rise", waits),
        ("users fill the processors", not context.filled_by_users),
    ):
        return RULE.finding("does-not-hold", lacking, evidence=evidence)
    same = context.partial(wait, "fast_paging_share")
    if same is not None:
        evidence.append(
            context.partial_evidence(f"{wait} ~ fast_paging_share", same, "below 0", same.high < 0)
        )
    where = ""
    if overflow.load_class is not None and context.basis == "load":
        where = f" from {context.where((overflow.load_class,))} on"
    share, processors = context.inside("user_page_wait"), context.high("capacity_processors")
    part = share.value if share is not None else 0.0
    if share is None and processors is not None and (m := context.high("page_wait")) is not None:
        part = m.value / max(processors.value, 1e-9)
    return RULE.finding("holds", overflow.text + where, strength=as_cause(part, 0.1), evidence=evidence)


def _users_wait(context: Context) -> bool:
    """Do users of a live host surely wait for pages for more of their time than before? The wait for swapped
    pages may stand under another clock than block I/O."""
    if context.basis != "periods":
        return False
    now, then = (times_of(context, inside(context, part)) for part in (context.top, context.bottom))
    if now is None or then is None:
        return False
    return now.page.low > then.page.high and now.page.value > 1.5 * then.page.value


def _by_devices(context: Context) -> _Overflow | None:
    """By how full the paging devices are; ``None`` without devices of at least two priorities."""
    priority = {
        device: m.value
        for device in context.entities("device_priority")
        if (m := context.high(f"device_priority:{device}")) is not None
        and context.high(f"device_used_fraction:{device}") is not None
    }
    if len(set(priority.values())) < 2:
        return None
    best = max(priority.values())
    fast = [d for d in priority if priority[d] == best]
    slow = [d for d in priority if priority[d] < best]
    fills = [_fullness(context, fast, k) for k in context.classes]
    full_from = next((k for k, fill in enumerate(fills) if fill is not None and fill >= FULL), None)
    evidence = [
        context.evidence(f"device_used_fraction:{d}", f"at least {FULL:g}: full", full_from is not None)
        for d in fast[:2]
    ]
    grows = [d for d in slow if context.rises(f"device_used:{d}")]
    evidence += [context.evidence(f"device_used:{d}", "more than at light load", True) for d in grows[:2]]
    names = ", ".join(fast)
    if full_from is None:
        top = fills[-1]
        state = "is not full" if top is None else f"is {top:.0%} full"
        return _Overflow(False, f"the fast tier ({names}) {state}", evidence)
    if not grows:
        return _Overflow(False, f"{names} is full, but no slower tier fills with load", evidence)
    return _Overflow(
        True, f"{names} is full while {', '.join(grows)} of lower priority fills", evidence, full_from
    )


def _fullness(context: Context, devices: list[str], load_class: int) -> float | None:
    """How full the emptiest of these is: pages overflow only when all of a priority are full."""
    known = [context.mean(f"device_used_fraction:{d}", (load_class,)) for d in devices]
    return min((m.value for m in known if m is not None), default=None)


def _by_share(context: Context) -> _Overflow | None:
    """By the fast tier's share of paging: it levels off, then falls, while all paging rises."""
    peak, now = context.peak("fast_paging_share"), context.high("fast_paging_share")
    if peak is None or now is None or peak[1].value < 0.05:
        return None
    most = peak[1]
    falls = now.high < most.low and now.value < 0.9 * most.value
    evidence = [context.evidence("fast_paging_share", f"surely below its peak of {most.value:.3g}", falls)]
    if context.high("fast_paging_rate") is not None:
        evidence.append(context.evidence("fast_paging_rate", "levels off", falls))
    text = f"the fast tier carries {now.value:.0%} of paging"
    if not falls:
        return _Overflow(False, text + ", no less than at lighter loads", evidence)
    shares = [context.mean("fast_paging_share", (k,)) for k in context.classes]
    over = (k for k, m in enumerate(shares) if k > peak[0] and m is not None and m.value < 0.9 * most.value)
    return _Overflow(True, f"{text}, {most.value:.0%} before it was full", evidence, next(over, None))
