"""Cache throttled by a tuning knob.

What: a bound keeps a cache small although storage is free.
Why: the cache gives up blocks that are wanted again at once; finding victims and reading again costs
processor time and I/O.
Signs: the cache is pinned near its configured bound, blocks are stolen from it at a high rate, much storage
is unallocated, and processor time of the supervisor goes with the steals at equal load.
False readings: a cache fills whatever it is given: to be full is normal, steals with free storage are not. A
scan of files that are read once steals blocks that nobody misses.
Remedy: remove the bias or the maximum.
References: [Bitner].
"""

from __future__ import annotations

from satline.diagnosis._results import Finding
from satline.diagnosis.rules._context import Context
from satline.diagnosis.rules._rule import Rule
from satline.diagnosis.rules._wait import wait_at_saturation

RULE = Rule(
    name="cache_throttled",
    title="cache throttled by its bound",
    component="cache",
    needs=("cache_fill", "cache_steal_rate", "memory_used_fraction", "supervisor_state"),
    remedies=(
        "Remove or raise the bound: memory.high or memory.max of the group (its file pages count), or the "
        "cache's "
        "own maximum (zfs_arc_max, a database's buffer size).",
        "Read large files that are read once without the cache (direct I/O, posix_fadvise).",
    ),
    false_readings=("A scan of files that are read once steals blocks that nobody misses.",),
    references=("[Bitner]",),
    vm_remedies=("Remove the bias against the minidisk cache, or its maximum.",),
)
STEALS, FREE = 10.0, 0.25


def judge(context: Context) -> Finding:
    """Holds when the cache is at its bound, steals rise above 10 per second with at least a quarter of
    storage free, and supervisor time surely goes with them at equal load. It needs no saturation, but is then
    a remark."""
    fill, steals = context.high("cache_fill"), context.high("cache_steal_rate")
    used = context.high("memory_used_fraction")
    known = {"cache_fill": fill, "cache_steal_rate": steals, "memory_used_fraction": used}
    missing = [name for name, m in known.items() if m is None]
    if missing or fill is None or steals is None or used is None:
        return RULE.blind(context, *missing)
    pinned, many, free = fill.value >= 0.95, steals.low > STEALS, used.high < 1 - FREE
    evidence = [
        context.evidence("cache_fill", "at least 0.95 of its bound", pinned),
        context.evidence("cache_steal_rate", f"surely above {STEALS:g} per second", many),
        context.evidence("memory_used_fraction", f"surely below {1 - FREE:g}: storage is free", free),
    ]
    lacking = [
        why
        for why, ok in (
            (f"the cache is at {fill.value:.0%} of its bound", pinned),
            (f"{max(0.0, steals.value):.0f} blocks are stolen each second", many),
            (f"{used.value:.0%} of main storage is used", free),
        )
        if not ok
    ]
    if lacking:
        return RULE.finding("does-not-hold", "; ".join(lacking), evidence=evidence)
    same = context.partial("supervisor_state", "cache_steal_rate")
    if same is None:
        return RULE.finding(
            "cannot-judge",
            "the cache is at its bound, but too few data tell whether processor time goes with its steals",
            evidence=evidence,
            missing=("a longer recording",),
        )
    goes = same.low > 0
    evidence.append(context.partial_evidence("supervisor_state ~ cache_steal_rate", same, "above 0", goes))
    if not goes:
        return RULE.finding(
            "does-not-hold", "supervisor time does not go with the steals at equal load", evidence=evidence
        )
    wait = wait_at_saturation(context, "user_io_wait", "io_wait")
    strength = wait.value + 0.05 if wait is not None and wait.large else 0.3
    text = (
        f"the cache is at {fill.value:.0%} of its bound and gives up {steals.value:.0f} blocks each second, "
        "while"
        f" {1 - used.value:.0%} of main storage is free"
    )
    return RULE.finding("holds", text, strength=strength, evidence=evidence, remark=not context.saturated)
