"""Cache throttled by a tuning knob.

What: a bound keeps a cache small although memory is free.
Why: the cache gives up blocks that are wanted again at once; finding victims and reading again costs
processor time and I/O.
Signs: the cache is pinned near its configured bound, blocks are stolen from it at a high rate, much memory
is unallocated, and processor time of the kernel goes with the steals at equal load.
On a live host: a control group at its memory limit that mostly holds file pages. Those that it reads again
just after they were taken are steals that are missed, whoever counts them.
False readings: a cache fills whatever it is given: to be full is normal, steals with free memory are not. A
scan of files that are read once steals blocks that nobody misses.
Remedy: remove the bias or the maximum.
References: [Bitner].
"""

from __future__ import annotations

import numpy as np

from satline.diagnosis._held import listed
from satline.diagnosis._limits import LimitedGroup, memory_groups
from satline.diagnosis._results import Evidence, Finding
from satline.diagnosis.rules._context import Context, Measure
from satline.diagnosis.rules._live import mean_over, members, times_of
from satline.diagnosis.rules._rule import Rule, unmet
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
# Of what a group holds that is of files, and of its refaults that are faults and not system calls, for it to
# be a cache. The rest is its programs' own; the cache has what that leaves.
FILES, FAULTS = 0.25, 0.5
# Part of their time in which its users wait for devices or run in the kernel.
FELT = 0.1
LEAST_SEEN = 5


def judge(context: Context) -> Finding:
    """Holds when the cache is at its bound, steals rise above 10 per second with at least a quarter of
    memory free, and system time surely goes with them at equal load. It needs no saturation, but is then
    a remark."""
    fill, steals = context.high("cache_fill"), context.high("cache_steal_rate")
    used = context.high("memory_used_fraction")
    known = {"cache_fill": fill, "cache_steal_rate": steals, "memory_used_fraction": used}
    missing = [name for name, m in known.items() if m is None]
    if fill is None and (of_group := _groups(context)) is not None:
        return of_group
    if missing or fill is None or steals is None or used is None:
        return RULE.blind(context, *missing)
    pinned, many, free = fill.value >= 0.95, steals.low > STEALS, used.high < 1 - FREE
    evidence = [
        context.evidence("cache_fill", "at least 0.95 of its bound", pinned),
        context.evidence("cache_steal_rate", f"surely above {STEALS:g} per second", many),
        context.evidence("memory_used_fraction", f"surely below {1 - FREE:g}: memory is free", free),
    ]
    if lacking := unmet(
        (f"the cache is at {fill.value:.0%} of its bound", pinned),
        (f"{max(0.0, steals.value):.0f} blocks are stolen each second", many),
        (f"{used.value:.0%} of memory is used", free),
    ):
        return RULE.finding("does-not-hold", lacking, evidence=evidence)
    same = context.partial("supervisor_state", "cache_steal_rate")
    if (same is None or same.low <= 0) and (of_group := _groups(context)) is not None:
        # Where it is always so, nothing varies together: its users' own time tells.
        return of_group
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
            "does-not-hold", "system time does not go with the steals at equal load", evidence=evidence
        )
    wait = wait_at_saturation(context, "user_io_wait", "io_wait")
    strength = wait.value + 0.05 if wait is not None and wait.large else 0.3
    text = (
        f"the cache is at {fill.value:.0%} of its bound and gives up {steals.value:.0f} blocks each second, "
        "while"
        f" {1 - used.value:.0%} of memory is free"
    )
    return RULE.finding("holds", text, strength=strength, evidence=evidence, remark=not context.saturated)


def _groups(context: Context) -> Finding | None:
    """By control groups with a memory limit; ``None``: none was recorded, or it cannot be seen there."""
    if context.history is None or not context.watched:
        return None
    groups = memory_groups(context.history)
    used = context.high("memory_used_fraction")
    if not groups:
        return RULE.finding("does-not-hold", "no cache has a bound: no control group has a memory limit")
    if used is None:
        return None
    if used.high >= 1 - FREE:
        return RULE.finding("does-not-hold", f"{used.value:.0%} of memory is used")
    judged = [found for group in groups if (found := _group(context, group, used)) is not None]
    if not judged:
        return None
    holding = [found for found in judged if found.state == "holds"]
    return max(holding or judged, key=lambda found: found.strength)


def _group(context: Context, group: LimitedGroup, used: Measure) -> Finding | None:
    """One group as a cache; ``None``: not enough is known of it."""
    seconds = context.reduction.seconds
    again, faults = (group.rate(name, seconds) for name in ("refault_pages", "major_faults"))
    if again is None or faults is None or not np.isfinite(group.file).any():
        return None
    # While it misses what it gave up, not before its processes came.
    where = np.nan_to_num(again) > STEALS
    if where.sum() < LEAST_SEEN:
        return RULE.finding("does-not-hold", f"{group.name} reads hardly anything again that it gave up")
    fill, file = mean_over(context, group.fraction, where), mean_over(context, group.file, where)
    steals, missed = mean_over(context, again, where), mean_over(context, faults, where)
    own = members(context, group.name)
    times = times_of(context, where, own) if own else None
    if fill is None or file is None or steals is None or missed is None or times is None:
        return None
    system = mean_over(
        context,
        np.sum([one.system for one in own.values()], axis=0)
        / np.maximum(np.sum([one.wanted for one in own.values()], axis=0), 1e-9),
        where,
    )
    felt = times.io.value + times.page.value + (system.value if system is not None else 0.0)
    pinned, many = fill.value >= 0.95, steals.low > STEALS
    files, calls = file.value >= FILES, missed.value <= FAULTS * steals.value
    at = f"while {group.name} reads again"
    facts = [
        Evidence(name, unit, at, value, error, threshold, supports)
        for name, unit, value, error, threshold, supports in (
            ("memory of its limit", "fraction", fill.value, fill.error, "at least 0.95", pinned),
            ("file pages", "fraction of its memory", file.value, file.error, f"at least {FILES:g}", files),
            ("refaults", "pages/s", steals.value, steals.error, f"surely above {STEALS:g}", many),
            (
                "major faults",
                "per second",
                missed.value,
                missed.error,
                f"at most {FAULTS:g} of the refaults: files are read, not programs' own pages",
                calls,
            ),
            (
                "waits for devices, and kernel time",
                "fraction of its users' time",
                felt,
                None,
                f"at least {FELT:g}",
                felt >= FELT,
            ),
        )
    ]
    if lacking := unmet(
        (f"{group.name} is at {fill.value:.0%} of its memory limit", pinned),
        (f"only {file.value:.0%} of what it holds are file pages", files),
        (f"it reads {steals.value:.0f} pages a second again", many),
        ("what comes back are pages of programs, by faults", calls),
        (f"its users feel it in {felt:.0%} of their time", felt >= FELT),
    ):
        return RULE.finding("does-not-hold", lacking, evidence=facts)
    text = (
        f"the file cache of group {group.name} ({listed(sorted(own))}) is at {fill.value:.0%} of its memory"
        f" limit of {float(np.nanmean(group.limit)) / 2**20:,.0f} MiB, and {steals.value:,.0f} pages a second"
        f" are read again just after they were taken, while {1 - used.value:.0%} of memory is free"
    )
    strength = 0.3 + min(0.5, times.io.value)
    return RULE.finding(
        "holds",
        text,
        strength=strength,
        evidence=facts,
        first_remedies=(f"Raise the memory limit of {group.name}: the host has room for its files.",),
        remark=not context.saturated,
    )
