"""How full each resource was in each observation, from whatever a recording holds of it.

Nothing here needs a load axis, transactions or more than two samples: a resource that was recorded has a use,
and what was not recorded is left out. Where only a part of a resource's use was recorded (CPU time in user
mode alone), its use is a lower bound, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satline.diagnosis._histories import Histories
from satline.reduction import Reduction

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# From here on a resource is short: work that comes has to wait.
CPU_SHORT = 0.9
DISK_SHORT = 0.9
QUOTA_SHORT = 0.5
THREAD_SHORT = 0.9
SWAP_SHORT = 0.95
MEMORY_PRESSURE = 0.1
IO_PRESSURE = 0.3
# Waiting beyond this confirms that a full resource is also waited for.
RUN_QUEUE = 1.25
DISK_QUEUE = 2.0
# A device that is full at each of so many successive reads is no single request in flight.
LEAST_REFAULTS = 50.0
LEAST_PAGES = 20.0
SLOW_PROBE = 3.0
DELAYED = 0.3


@dataclass(frozen=True)
class Use:
    """The course of one resource.

    name
        As a user would say it: "CPU", "disk sda", "memory", "quota of /batch".
    component
        What a finding about it names: processor, one processor, io, storage, paging, quota, server, lock.
    fraction
        Part of it in use in each observation; NaN where unknown. ``None``: nothing says how full it was.
    short
        Where it was short: full, or waited for.
    confirmed
        Where it was short and something waited for it; ``None``: no signal of waiting was recorded.
    lower_bound
        Only a part of its use was recorded: the true use is at least this.
    scales
        Its use grows in proportion to the load, so that a headroom can be told from it.
    limit
        Use from which on it counts as short.
    of
        What was measured, in a few words.
    """

    name: str
    component: str
    fraction: Floats | None
    short: Mask
    confirmed: Mask | None
    lower_bound: bool = False
    scales: bool = True
    limit: float = 1.0
    of: str = ""


@dataclass(frozen=True)
class Courses:
    """What the readers below look at: the reduction, single entities, and variables by observation."""

    reduction: Reduction
    history: Histories

    @property
    def count(self) -> int:
        """Number of observations."""
        return len(self.reduction.seconds)

    def course(self, name: str) -> Floats | None:
        """A variable by observation; ``None`` where it has no value at all."""
        observed = self.reduction.observations
        if name not in observed:
            return None
        values = np.asarray(observed[name], dtype=np.float64)
        return values if np.isfinite(values).any() else None

    def rate(self, counters: Mapping[str, Floats], name: str) -> Floats | None:
        """A counter's growth per microsecond of the observation; ``None`` where it is missing."""
        values = counters[name]
        if not np.isfinite(values).any():
            return None
        return np.asarray(values / (self.reduction.seconds * 1e6))


def uses(reduction: Reduction, history: Histories) -> tuple[Use, ...]:
    """Every resource that was recorded."""
    courses = Courses(reduction, history)
    return tuple(use for read in READERS for use in read(courses))


def above(values: Floats | None, limit: float) -> Mask | None:
    """Where a course is known and at least `limit`; ``None`` without a course."""
    return None if values is None else np.nan_to_num(values, nan=-np.inf) >= limit


def _any(masks: list[Mask | None]) -> Mask | None:
    """Where any of the signals that were recorded speaks; ``None``: none was."""
    known = [m for m in masks if m is not None]
    return np.logical_or.reduce(known) if known else None


# ------------------------------------------------------------------ the processors

BUSY = ("user_us", "nice_us", "system_us", "irq_us", "guest_us")
IDLE = ("idle_us", "iowait_us")


def _processors(courses: Courses) -> list[Use]:
    """All processors together, relative to what hypervisor and quota of the partition left; and the busiest
    of them where it is much busier than the others."""
    states = courses.history.processors()
    if states is None:
        return []
    reduction = courses.reduction
    busy_part, bound = _busy(states.total, states.elapsed_us)
    found = []
    if busy_part is not None:
        left = _left(courses, states.total, states.elapsed_us)
        fraction = np.clip(busy_part / np.maximum(left, 1e-3), 0, 1)
        waited = _cpu_waited(courses, states.count)
        short = np.nan_to_num(fraction) >= CPU_SHORT
        found.append(
            Use(
                "CPU",
                "processor",
                fraction,
                short,
                None if waited is None else short & waited,
                lower_bound=bound,
                limit=CPU_SHORT,
                of="user time only" if bound else "all but idle, of what the hypervisor left",
            )
        )
        alone = _one_processor(states.each, fraction, reduction.seconds)
        if alone is not None:
            name, course = alone
            full = np.nan_to_num(course) >= CPU_SHORT
            found.append(
                Use(
                    f"CPU {name} alone",
                    "one processor",
                    course,
                    full & ~short,
                    None,
                    lower_bound=bound,
                    limit=CPU_SHORT,
                    of="the busiest CPU",
                )
            )
    return found


def _busy(total: Mapping[str, Floats], elapsed: Floats) -> tuple[Floats | None, bool]:
    """Part of all processor time in use, and whether it is only a lower bound.

    By the idle time where it was recorded (what is neither idle nor stolen is in use), else by the states
    that were.
    """
    idle = total.get("idle_us")
    if idle is not None:
        # Linux counts a processor that waits for a block device as idle; other systems in idle itself.
        waiting = total.get("iowait_us")
        stolen = total.get("steal_us")
        rest = idle + (0.0 if waiting is None else waiting) + (0.0 if stolen is None else stolen)
        return np.clip(1 - rest / elapsed, 0, 1), False
    known = [total[name] for name in BUSY if name in total]
    if not known:
        return None, False
    return np.clip(sum(known) / elapsed, 0, 1), "system_us" not in total or "user_us" not in total


def _left(courses: Courses, total: Mapping[str, Floats], elapsed: Floats) -> Floats:
    """Part of all processor time that the hypervisor and a cap of the partition left."""
    stolen = total.get("steal_us")
    left = np.ones(courses.count) if stolen is None else np.nan_to_num(1 - stolen / elapsed, nan=1.0)
    settings = courses.reduction.settings
    if settings.quota is not None and settings.cgroup is None:
        processors = elapsed / (courses.reduction.seconds * 1e6)
        left = np.minimum(left, settings.quota / np.maximum(processors, 1e-9))
    return np.asarray(left)


def _cpu_waited(courses: Courses, processors: int) -> Mask | None:
    """Where tasks waited for a processor, by any signal of it."""
    signals: list[Mask | None] = [above(courses.course("pressure_cpu"), DELAYED)]
    for name in ("runnable_tasks", "load_average"):
        queue = courses.course(name)
        if queue is not None and processors:
            signals.append(queue / processors >= RUN_QUEUE)
            break
    delay, run = courses.course("user_cpu_wait"), courses.course("user_run")
    if delay is not None and run is not None:
        signals.append(np.nan_to_num(delay) >= DELAYED * np.maximum(np.nan_to_num(run), 1e-9))
    return _any(signals)


def _one_processor(each: Mapping[str, Floats], whole: Floats, seconds: Floats) -> tuple[str, Floats] | None:
    """The busiest processor where it is full while the others together are not: by its own mean, relative to
    theirs, whatever the others do."""
    if len(each) < 2:
        return None
    means = {name: _mean(course, seconds) for name, course in each.items()}
    name = max(means, key=lambda k: means[k])
    rest = [mean for other, mean in means.items() if other != name]
    others = float(np.mean(rest))
    full = float(np.average(np.nan_to_num(each[name]) >= CPU_SHORT, weights=seconds))
    together = float(np.average(np.nan_to_num(whole) >= CPU_SHORT, weights=seconds))
    if means[name] < 2 * others or full < max(0.01, 2 * together):
        return None
    return name, each[name]


def _mean(course: Floats, seconds: Floats) -> float:
    known = np.isfinite(course)
    return float(np.average(course[known], weights=seconds[known])) if known.any() else 0.0


# ------------------------------------------------------------------ disks

# Devices in memory, or that lie on files and media: no disk of their own.
_NO_DISK = ("loop", "ram", "zram", "sr", "fd", "nbd-")
# Names of whole disks: Linux (by name, and by numbers in sar), HP-UX, AIX, Solaris, FreeBSD.
_WHOLE_DISK = re.compile(
    r"(?:[shv]d|xvd|dasd)[a-z]+|nvme\d+(?:c\d+)?n\d+|mmcblk\d+|dev(?:8|65|66|179|202|259)-\d+"
    r"|(?:disk|hdisk|sd|ssd|cmdk|dad|da|ada|vdc)\d+|c\d+(?:t\w+)?d\d+"
)
# What lies on disks, by its name: device-mapper, software RAID, encrypted volumes.
_ON_DISKS = re.compile(r"dm-\d+|md\d+|luks-.+")
_PART_OF = re.compile(r"(.+?)(?:[,.].*|p?\d+)")
# Use above that of the disks below it by which a device is one of its own.
_OF_ITS_OWN = 0.02


def layered(busy: Mapping[str, Floats]) -> set[str]:
    """Devices that lie on others in the list: partitions, slices, paths and volumes.

    What they do, the disks below them do, and they must not count as resources of their own. A name that
    tells neither is taken for a volume where it is never busier than the busiest disk: leaving it out changes
    no answer.

    Parameters
    ----------
    busy
        By device its busy time as a part of each observation; NaN where unknown.
    """
    disks = {name for name in busy if _WHOLE_DISK.fullmatch(name)}
    known = [busy[name] for name in disks if np.isfinite(busy[name]).any()]
    if not known:
        return set()
    busiest = np.max([np.nan_to_num(course) for course in known], axis=0)
    found = set()
    for name, course in busy.items():
        if name in disks:
            continue
        whole = _PART_OF.fullmatch(name)
        part = _ON_DISKS.fullmatch(name) or (whole is not None and whole.group(1) in disks)
        if part or np.all(np.nan_to_num(course) <= busiest + _OF_ITS_OWN):
            found.add(name)
    return found


def _disks(courses: Courses) -> list[Use]:
    """Each block device by its busy time; a queue or a slow request confirms that it is short."""
    names = ("busy_us", "queue_us", "reads", "writes", "read_wait_us", "write_wait_us")
    devices = courses.history.counters("device", "device", names, "device_kind = 'block'")
    rates = {
        device: courses.rate(counters, "busy_us")
        for device, counters in devices.items()
        if not device.startswith(_NO_DISK)
    }
    volumes = layered({device: busy for device, busy in rates.items() if busy is not None})
    found = []
    for device, busy in rates.items():
        counters = devices[device]
        if device in volumes:
            continue
        none = np.zeros(courses.count, dtype=bool)
        if busy is None:
            if np.nansum(counters["reads"]) + np.nansum(counters["writes"]) > 0:
                of = "requests only: its busy time was not recorded"
                name = "disks together" if device == "all" else f"disk {device}"
                found.append(Use(name, "io", None, none, None, of=of))
            continue
        fraction = np.clip(busy, 0, 1)
        full = np.nan_to_num(fraction) >= DISK_SHORT
        queue = courses.rate(counters, "queue_us")
        waited = above(queue, DISK_QUEUE)
        found.append(
            Use(
                f"disk {device}",
                "io",
                fraction,
                # A device that serves many requests at once is busy long before it is full: without a queue
                # nobody waits.
                full if waited is None else full & waited,
                None if waited is None else full & waited,
                limit=DISK_SHORT,
                of="time with a request outstanding",
            )
        )
    return found


def _io_stalls(courses: Courses) -> list[Use]:
    """Time in which tasks wait for I/O while no device that was recorded is full: a cap, a network file
    system, or a device that was not recorded."""
    pressure = courses.course("pressure_io")
    blocked, seconds = courses.course("user_io_wait"), courses.reduction.seconds
    if pressure is None and blocked is None:
        return []
    signal = pressure if pressure is not None else np.asarray(blocked)
    busiest = courses.course("busiest_device")
    idle = np.ones(len(seconds), dtype=bool) if busiest is None else np.nan_to_num(busiest) < DISK_SHORT
    paging = courses.course("page_share")
    mostly_pages = np.zeros(len(seconds), dtype=bool) if paging is None else np.nan_to_num(paging) >= 0.5
    short = (np.nan_to_num(signal) >= IO_PRESSURE) & idle & ~mostly_pages
    run, confirmed = courses.course("user_run"), None
    if blocked is not None and run is not None:
        confirmed = short & (np.nan_to_num(blocked) >= DELAYED * np.maximum(np.nan_to_num(run), 1e-9))
    return [
        Use(
            "I/O",
            "io",
            np.clip(signal, 0, 1),
            short,
            confirmed,
            scales=False,
            limit=IO_PRESSURE,
            of="time with a task waiting for I/O" if pressure is not None else "users that wait for I/O",
        )
    ]


# ------------------------------------------------------------------ memory


def _memory(courses: Courses) -> list[Use]:
    """Memory by what cannot be had without paging; short where tasks stall for it, or pages come back that
    were just taken."""
    used = courses.course("memory_used_fraction")
    total, free = courses.course("mem_total_bytes"), courses.course("mem_free_bytes")
    of, bound = "not available without paging", False
    if used is None and total is not None and free is not None:
        cached = courses.course("cached_bytes")
        used = 1 - (free + (0.0 if cached is None else cached)) / np.maximum(total, 1)
        of = "neither free nor file cache" if cached is not None else "not free, file cache included"
    stall = above(courses.course("pressure_memory"), MEMORY_PRESSURE)
    swapped = above(courses.course("swap_in_rate"), LEAST_PAGES)
    taken = above(courses.course("swap_out_rate"), LEAST_PAGES)
    back = above(courses.course("refault_rate"), LEAST_REFAULTS)
    direct = above(courses.course("direct_steal_rate"), LEAST_REFAULTS)
    # Pages both leave and come back: neither a program that wakes up nor one that is put aside does both.
    both = None if swapped is None or taken is None else swapped & taken
    thrash = None if back is None or direct is None else back & direct
    signals = _any([stall, both, thrash])
    waiting, run = courses.course("user_page_wait"), courses.course("user_run")
    if waiting is not None and run is not None:
        stall = _any([stall, np.nan_to_num(waiting) >= DELAYED * np.maximum(np.nan_to_num(run), 1e-9)])
    if used is None and signals is None:
        return []
    none = np.zeros(courses.count, dtype=bool)
    return [
        Use(
            "memory",
            "storage",
            None if used is None else np.clip(used, 0, 1),
            none if signals is None else signals,
            None if stall is None or signals is None else signals & stall,
            lower_bound=bound,
            scales=False,
            limit=1.0,
            of=of,
        )
    ]


def _swap(courses: Courses) -> list[Use]:
    """Swap space in use."""
    total, free = courses.course("swap_total_bytes"), courses.course("swap_free_bytes")
    if total is None or free is None or not np.nanmax(total) > 0:
        return []
    with np.errstate(divide="ignore", invalid="ignore"):
        used = np.where(total > 0, 1 - free / total, np.nan)
    full = np.nan_to_num(used) >= SWAP_SHORT
    return [
        Use(
            "swap space",
            "storage",
            np.clip(used, 0, 1),
            full,
            None,
            scales=False,
            limit=SWAP_SHORT,
            of="in use",
        )
    ]


# ------------------------------------------------------------------ limits of control groups, single threads


def _quotas(courses: Courses) -> list[Use]:
    """Control groups with a CPU quota: periods in which they were held back."""
    names = ("quota_throttled_periods", "quota_periods", "quota_throttled_us", "cpu_us")
    limits = courses.history.levels("cgroup", "cgroup", ("quota_limit_millicpu",))
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
        fraction = None
        if cpu is not None and limit is not None and np.isfinite(limit).any():
            fraction = np.clip(cpu / np.maximum(limit / 1000, 1e-9), 0, 1)
        short = np.nan_to_num(part) >= QUOTA_SHORT
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
            )
        )
    return found


def _group_memory(courses: Courses) -> list[Use]:
    """Control groups with a memory limit: short where they run into it and lose pages that they need."""
    levels = courses.history.levels("cgroup", "cgroup", ("memory_bytes", "memory_limit_bytes"))
    names = ("limit_hits", "major_faults", "refault_pages", "pressure_memory_some_us")
    counters = courses.history.counters("cgroup", "cgroup", names)
    found = []
    for group, level in levels.items():
        limit, used = level["memory_limit_bytes"], level["memory_bytes"]
        if not (np.isfinite(limit).any() and np.isfinite(used).any()):
            continue
        fraction = np.clip(used / np.maximum(limit, 1), 0, 1)
        own = counters.get(group, {})
        signals: list[Mask | None] = []
        for name, least in (("major_faults", LEAST_PAGES), ("refault_pages", LEAST_REFAULTS)):
            if name in own and np.isfinite(own[name]).any():
                signals.append(own[name] / courses.reduction.seconds >= least)
        if "pressure_memory_some_us" in own:
            signals.append(above(courses.rate(own, "pressure_memory_some_us"), MEMORY_PRESSURE))
        thrashing = _any(signals)
        hits = own.get("limit_hits")
        at_limit = np.nan_to_num(fraction) >= SWAP_SHORT
        if hits is not None and np.isfinite(hits).any():
            at_limit = at_limit & (np.nan_to_num(hits) > 0)
        short = np.zeros(courses.count, dtype=bool) if thrashing is None else at_limit & thrashing
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
            )
        )
    return found


def _thread(courses: Courses) -> list[Use]:
    """The busiest thread: near 1 it can do no more, whatever stands idle."""
    busy = courses.course("busiest_task")
    if busy is None:
        return []
    total = courses.course("total_cpu_fraction")
    full = np.nan_to_num(busy) >= THREAD_SHORT
    idle = np.ones(len(full), dtype=bool) if total is None else np.nan_to_num(total) < CPU_SHORT
    return [
        Use(
            "busiest thread",
            "server",
            np.clip(busy, 0, 1),
            full & idle,
            None,
            limit=THREAD_SHORT,
            scales=False,
            of="CPU time of one thread",
        )
    ]


def _locks(courses: Courses) -> list[Use]:
    """Those that wait for locks, as far as locks were recorded."""
    waiting = courses.course("lock_wait")
    if waiting is None:
        return []
    held_up = np.nan_to_num(waiting) >= DELAYED
    return [
        Use(
            "locks",
            "lock",
            None,
            held_up,
            held_up,
            scales=False,
            limit=DELAYED,
            of=f"mean waiting {float(np.nanmean(waiting)):.2g}",
        )
    ]


READERS: tuple[Callable[[Courses], list[Use]], ...] = (
    _processors,
    _quotas,
    _disks,
    _io_stalls,
    _memory,
    _group_memory,
    _swap,
    _thread,
    _locks,
)
