"""Limits of control groups: CPU quotas, memory limits, caps on I/O, each held against what the group used.

Also the limit that a swapper sets: users whom it holds back until their working sets fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from satline.diagnosis._histories import Histories
from satline.diagnosis._use import (
    CPU_SHORT,
    DELAYED,
    LEAST_PAGES,
    LEAST_REFAULTS,
    MEMORY_PRESSURE,
    NO_DISK,
    SWAP_SHORT,
    Courses,
    Floats,
    Mask,
    Use,
    above,
    any_of,
    over,
)

# Part of the quota periods in which a group is held back, and part of a cap, from which on it is short of it.
QUOTA_SHORT = 0.5
CAP_SHORT = 0.8
# Part of storage that has to be free for it to be the admission that holds users back, and not the storage.
ROOM = 0.25


def quotas(courses: Courses) -> list[Use]:
    """Control groups with a CPU quota: periods in which they were held back."""
    names = ("quota_throttled_periods", "quota_periods", "quota_throttled_us", "cpu_us")
    limits = courses.history.levels("cgroup", "cgroup", ("quota_limit_millicpu",))
    seconds = courses.reduction.seconds
    found = []
    for group, counters in courses.history.counters("cgroup", "cgroup", names).items():
        periods, held = counters["quota_periods"], counters["quota_throttled_periods"]
        if not np.nansum(periods) > 0:
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(periods > 0, held / periods, 0.0)
        part = np.where(np.isfinite(periods) & np.isfinite(held), part, np.nan)
        limit = limits.get(group, {}).get("quota_limit_millicpu")
        cpu = courses.rate(counters, "cpu_us")
        if cpu is None and courses.held is not None and (own := courses.held.inside(group)):
            # The group's own account may be in another hierarchy (version 1): that of its users serves.
            cpu = np.sum([user.cpu for user in own.values()], axis=0)
        fraction = None
        if cpu is not None and limit is not None and np.isfinite(limit).any():
            fraction = np.clip(cpu / np.maximum(limit / 1000, 1e-9), 0, 1)
        short = np.nan_to_num(part) >= QUOTA_SHORT
        says = ""
        if short.any():
            of = ""
            if fraction is not None and limit is not None:
                of = (
                    f"used {over(fraction, short, seconds):.0%} of its quota of"
                    f" {over(limit / 1000, short, seconds):.2g} CPUs and "
                )
            says = f"group {group} {of}was held back in {over(part, short, seconds):.0%} of its quota periods"
        found.append(
            Use(
                f"CPU quota of {group}",
                "quota",
                part if fraction is None else fraction,
                short,
                short,
                limit=QUOTA_SHORT if fraction is None else CPU_SHORT,
                scales=fraction is not None,
                of="quota periods held back" if fraction is None else "CPU time of its quota",
                says=says,
                remedy=f"Raise the CPU quota of {group} (cpu.max; cpu.cfs_quota_us in version 1; CPUQuota=),"
                " or replace it by a weight, which holds back only while others want the CPU.",
            )
        )
    return found


@dataclass(frozen=True)
class LimitedGroup:
    """A control group with a memory limit, by observation.

    limit, used
        Bytes; fraction: used of the limit.
    file
        File pages, as a part of `used`; NaN where unknown.
    counters
        What it counted in each observation: ``limit_hits``, ``major_faults``, ``refault_pages``,
        ``pressure_memory_some_us``; empty where nothing was.
    """

    name: str
    limit: Floats
    fraction: Floats
    file: Floats
    counters: Mapping[str, Floats]

    def rate(self, name: str, seconds: Floats) -> Floats | None:
        """What it counted per second; ``None`` where it was not recorded."""
        course = self.counters.get(name)
        if course is None or not np.isfinite(course).any():
            return None
        return np.asarray(course / seconds)


def memory_groups(history: Histories) -> list[LimitedGroup]:
    """The control groups that have a memory limit."""
    levels = history.levels("cgroup", "cgroup", ("memory_bytes", "memory_limit_bytes", "file_bytes"))
    names = ("limit_hits", "major_faults", "refault_pages", "pressure_memory_some_us")
    counters = history.counters("cgroup", "cgroup", names)
    found = []
    for group, level in levels.items():
        limit, used = level["memory_limit_bytes"], level["memory_bytes"]
        if not (np.isfinite(limit).any() and np.isfinite(used).any()):
            continue
        fraction = np.clip(used / np.maximum(limit, 1), 0, 1)
        file = np.clip(level["file_bytes"] / np.maximum(used, 1), 0, 1)
        found.append(LimitedGroup(group, limit, fraction, file, counters.get(group, {})))
    return found


def group_memory(courses: Courses) -> list[Use]:
    """Control groups with a memory limit: short where they run into it and lose pages that they need."""
    found = []
    for one in memory_groups(courses.history):
        group, limit, fraction, own = one.name, one.limit, one.fraction, one.counters
        signals: list[Mask | None] = []
        for name, least in (("major_faults", LEAST_PAGES), ("refault_pages", LEAST_REFAULTS)):
            if name in own and np.isfinite(own[name]).any():
                signals.append(own[name] / courses.reduction.seconds >= least)
        if "pressure_memory_some_us" in own:
            signals.append(above(courses.rate(own, "pressure_memory_some_us"), MEMORY_PRESSURE))
        thrashing = any_of(signals)
        hits = own.get("limit_hits")
        at_limit = np.nan_to_num(fraction) >= SWAP_SHORT
        if hits is not None and np.isfinite(hits).any():
            at_limit = at_limit & (np.nan_to_num(hits) > 0)
        short = np.zeros(courses.count, dtype=bool) if thrashing is None else at_limit & thrashing
        says = ""
        if short.any():
            seconds = courses.reduction.seconds
            says = (
                f"group {group} is at {over(fraction, short, seconds):.0%} of its memory limit of"
                f" {over(limit, short, seconds) / 2**20:,.0f} MiB"
            )
            rates = {
                what: over(own[name] / seconds, short, seconds)
                for name, what in (("refault_pages", "refaults"), ("major_faults", "major faults"))
                if name in own and np.isfinite(own[name]).any()
            }
            says += f", and pages come back just after they were taken: {_rates(rates)}" if rates else ""
        found.append(
            Use(
                f"memory limit of {group}",
                "storage",
                fraction,
                short,
                None if thrashing is None else short,
                scales=False,
                limit=SWAP_SHORT,
                of="memory charged against its limit",
                says=says,
                remedy=f"Raise the memory limit of {group} (memory.max; memory.limit_in_bytes in version 1;"
                " MemoryMax=), or let fewer of its programs work at once: the limit is reached, not the"
                " host's memory.",
            )
        )
    return found


def _rates(rates: Mapping[str, float]) -> str:
    return " and ".join(f"{float(f'{rate:.2g}'):,.0f} {what} a second" for what, rate in rates.items())


# Limits of a group on I/O: the counter, its limit, and how to say a rate of it.
_CAPS = (
    ("reads", "read_limit_per_second", "reads", 1.0, "reads/s"),
    ("read_bytes", "read_limit_bytes_per_second", "reads", 2**20, "MiB/s"),
    ("writes", "write_limit_per_second", "writes", 1.0, "writes/s"),
    ("write_bytes", "write_limit_bytes_per_second", "writes", 2**20, "MiB/s"),
)


def io_caps(courses: Courses) -> list[Use]:
    """Control groups with a cap on I/O: short where they reach it and somebody in them waits for a device."""
    counters = courses.history.counters("cgroup", "cgroup", tuple(cap[0] for cap in _CAPS))
    levels = courses.history.levels("cgroup", "cgroup", tuple(cap[1] for cap in _CAPS))
    seconds, busiest = courses.reduction.seconds, courses.course("busiest_device")
    found = []
    for group, level in levels.items():
        own = counters.get(group, {})
        reached: list[tuple[Floats, str, str]] = []
        for counter, limit, what, unit, words in _CAPS:
            most = level[limit]
            if counter not in own or not (np.isfinite(most).any() and np.isfinite(own[counter]).any()):
                continue
            fraction = np.clip(own[counter] / seconds / np.maximum(most, 1e-9), 0, 1)
            known = most[np.isfinite(most)]
            reached.append((fraction, what, f"{float(known.mean()) / unit:.3g} {words}"))
        if not reached:
            continue
        fraction = np.nanmax(np.nan_to_num([one[0] for one in reached]), axis=0)
        short = fraction >= CAP_SHORT
        confirmed = None
        inside = courses.held.inside(group) if courses.held is not None else {}
        if inside:
            waiting = np.sum([user.io + user.page for user in inside.values()], axis=0)
            confirmed = short & (waiting >= DELAYED)
        says = ""
        if short.any():
            first = max(reached, key=lambda one: over(one[0], short, seconds))
            says = (
                f"group {group} is at {over(first[0], short, seconds):.0%} of its cap of {first[2]} on"
                f" {first[1]}"
            )
            if busiest is not None:
                device = _busiest_name(courses, short)
                says += f", while {device} is {over(busiest, short, seconds):.0%} busy"
        found.append(
            Use(
                f"I/O cap of {group}",
                "io",
                fraction,
                short,
                confirmed,
                limit=CAP_SHORT,
                scales=True,
                of="its rate against the cap",
                says=says,
                remedy=f"Raise the cap on I/O of {group} (io.max; blkio.throttle in version 1;"
                " IOReadBandwidthMax=): it is the cap that makes its programs wait, not the device.",
            )
        )
    return found


def _busiest_name(courses: Courses, where: Mask) -> str:
    """The block device with most busy time there, in words."""
    devices = courses.history.counters("device", "device", ("busy_us",), "device_kind = 'block'")
    busy = {
        device: float(np.nansum(np.where(where, own["busy_us"], 0)))
        for device, own in devices.items()
        if not device.startswith(NO_DISK)
    }
    return f"disk {max(busy, key=lambda d: busy[d])}" if busy else "the busiest disk"


def admission(courses: Courses) -> list[Use]:
    """The users that a swapper holds, as it recorded them; short where memory has room for them.

    Where little storage is free, it is the storage that is short: memory and limits of groups tell that.
    """
    names = ("users_eligible", "free_bytes", "total_bytes")
    level = courses.history.levels("swapper", "'all'", names).get("all")
    if level is None or not np.isfinite(level["users_eligible"]).any():
        return []
    eligible = np.nan_to_num(level["users_eligible"])
    free = np.nan_to_num(level["free_bytes"] / np.maximum(level["total_bytes"], 1))
    short = (eligible >= DELAYED) & (free >= ROOM)
    says = ""
    if short.any():
        seconds = courses.reduction.seconds
        says = (
            f"the swapper holds {over(eligible, short, seconds):.1f} users until their working sets fit,"
            f" while {over(free, short, seconds):.0%} of the memory that it watches is free"
        )
    return [
        Use(
            "admission by the swapper",
            "admission",
            None,
            short,
            short,
            scales=False,
            of=f"mean number of users held {float(np.mean(eligible)):.2g}",
            held=eligible,
            says=says,
            remedy="Raise admission.storage_share in the swapper's policy: memory has room for who waits.",
        )
    ]
