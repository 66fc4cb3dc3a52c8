"""How full each resource was in each observation, from whatever a recording holds of it.

Nothing here needs a load axis, transactions or more than two samples: a resource that was recorded has a use,
and what was not recorded is left out. Where only a part of a resource's use was recorded (CPU time in user
mode alone), its use is a lower bound, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from satline.diagnosis._held import Held, held_back, listed
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
CAP_SHORT = 0.8
LEAST_PROBES, IN_SUCCESSION, LEAST_SLOWER_US = 12, 5, 5000.0
# A thread never rests that runs or waits for a processor for so much of the time; it is a server's where
# requests wait for it.
NEVER_RESTS, LEAST_CPU, LEAST_QUEUE = 0.85, 0.2, 0.5
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
    held
        Mean number of users that it holds back, by their own waits; ``None``: not known.
    says
        What was seen, and whom it holds back, as a finding would say it; empty: nothing beyond the figures.
    remedy
        What would help, where the cause is that clear.
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
    held: Floats | None = None
    says: str = ""
    remedy: str = ""

    @property
    def counted(self) -> Mask:
        """Where it counts as short: full, and not contradicted by an empty queue."""
        return self.short if self.confirmed is None else self.confirmed

    def weight(self, seconds: Floats) -> float:
        """User-seconds held back while short; where users' waits are not known, the time."""
        held = 1.0 if self.held is None else self.held
        return float((seconds * self.counted * held).sum())


@dataclass(frozen=True)
class Courses:
    """What the readers below look at: the reduction, single entities, and variables by observation."""

    reduction: Reduction
    history: Histories
    held: Held | None = None

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
    courses = Courses(reduction, history, held_back(reduction, history))
    return _waited_for(courses, tuple(use for read in READERS for use in read(courses)))


def _waited_for(courses: Courses, found: tuple[Use, ...]) -> tuple[Use, ...]:
    """The uses with the users whom each holds back.

    A wait for a processor in a group that is at its quota is the quota's, one for a device in a group at its
    cap the cap's; in a group that thrashes within its memory limit, I/O, and time in the kernel with the wait
    that it adds, are the limit's. What is left is that of the host's own resources.
    """
    held = courses.held
    if held is None:
        return found
    nothing = np.zeros(courses.count)
    taken: dict[str, dict[str, Floats]] = {name: {} for name in held.users}

    def take(name: str, kind: str, amount: Floats) -> Floats:
        before = taken[name].get(kind, nothing)
        more = np.minimum(amount, np.maximum(getattr(held.users[name], kind) - before, 0))
        taken[name][kind] = before + more
        return np.asarray(more)

    limits: dict[str, Floats] = {}
    for use in found:
        kind, _, group = use.name.partition(" of ")
        if not use.short.any() or kind not in ("CPU quota", "memory limit", "I/O cap"):
            continue
        total = nothing
        for name, own in held.inside(group).items():
            if kind == "CPU quota":
                total = total + take(name, "delay", np.where(use.short, own.delay, 0))
            elif kind == "I/O cap":
                total = total + take(name, "io", np.where(use.short, own.io, 0))
                total = total + take(name, "page", np.where(use.short, own.page, 0))
            else:
                kernel = np.clip(own.system / np.maximum(own.cpu, 1e-9), 0, 1)
                total = total + take(name, "io", np.where(use.short, own.io, 0))
                total = total + take(name, "page", np.where(use.short, own.page, 0))
                total = total + take(name, "delay", np.where(use.short, kernel * own.delay, 0))
                total = total + np.where(use.short, np.minimum(own.system, 1.0), 0)
        limits[use.name] = total

    def left(kind: str) -> Floats:
        total = nothing
        for name, own in held.users.items():
            whole = held.of_processors(name) if kind == "delay" else getattr(own, kind)
            gone = taken[name].get(kind, nothing) / np.maximum(getattr(own, kind), 1e-12)
            total = total + whole * (1 - np.clip(gone, 0, 1))
        return np.asarray(total)

    kinds = {"processor": "delay", "one processor": "delay", "io": "io", "storage": "page", "lock": "lock"}
    made = []
    for use in found:
        if use.name in limits:
            group = use.name.partition(" of ")[2]
            inside = sorted(held.inside(group))
            says = f"{use.says}; it holds {listed(inside)}" if inside else use.says
            made.append(replace(use, held=limits[use.name], says=says))
        elif use.held is None and use.component in kinds:
            made.append(replace(use, held=left(kinds[use.component])))
        else:
            made.append(use)
    return tuple(made)


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

# Devices that lie on others, or in memory: the devices below them are the resource.
_NO_DISK = ("loop", "ram", "zram", "sr", "fd", "nbd-")


def _disks(courses: Courses) -> list[Use]:
    """Each block device by its busy time; a queue or a slow request confirms that it is short."""
    names = ("busy_us", "queue_us", "reads", "writes", "read_wait_us", "write_wait_us")
    devices = courses.history.counters("device", "device", names, "device_kind = 'block'")
    found = []
    for device, counters in devices.items():
        busy = courses.rate(counters, "busy_us")
        if device.startswith(_NO_DISK):
            continue
        none = np.zeros(courses.count, dtype=bool)
        if busy is None:
            if np.nansum(counters["reads"]) + np.nansum(counters["writes"]) > 0:
                of = "requests only: its busy time was not recorded"
                found.append(Use(f"disk {device}", "io", None, none, None, of=of))
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


def _over(values: Floats, where: Mask, seconds: Floats) -> float:
    """Mean by time of a course where it is known and `where` holds; 0 where that is nowhere."""
    known = where & np.isfinite(values)
    return float(np.average(values[known], weights=seconds[known])) if known.any() else 0.0


def _quotas(courses: Courses) -> list[Use]:
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
                    f"used {_over(fraction, short, seconds):.0%} of its quota of"
                    f" {_over(limit / 1000, short, seconds):.2g} CPUs and "
                )
            says = (
                f"group {group} {of}was held back in {_over(part, short, seconds):.0%} of its quota periods"
            )
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
        says = ""
        if short.any():
            seconds = courses.reduction.seconds
            says = (
                f"group {group} is at {_over(fraction, short, seconds):.0%} of its memory limit of"
                f" {_over(limit, short, seconds) / 2**20:,.0f} MiB"
            )
            rates = {
                what: _over(own[name] / seconds, short, seconds)
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


def _io_caps(courses: Courses) -> list[Use]:
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
            first = max(reached, key=lambda one: _over(one[0], short, seconds))
            says = (
                f"group {group} is at {_over(first[0], short, seconds):.0%} of its cap of {first[2]} on"
                f" {first[1]}"
            )
            if busiest is not None:
                device = _busiest_name(courses, short)
                says += f", while {device} is {_over(busiest, short, seconds):.0%} busy"
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
        if not device.startswith(_NO_DISK)
    }
    return f"disk {max(busy, key=lambda d: busy[d])}" if busy else "the busiest disk"


def _queues(courses: Courses) -> list[Use]:
    """Threads that never rest while requests wait in front of their process: what they serve is done by one
    at a time. What a thread waits for a processor itself makes it slower; requests queue for it all the same.
    """
    entity = 'concat("user", chr(31), name, chr(31), pid, chr(31), tid)'
    level = courses.history.levels("task", entity, ("waiting_requests",), "waiting_requests IS NOT NULL")
    if not level:
        return []
    counters = courses.history.counters("task", entity, ("cpu_us", "run_delay_us"))
    seconds, found = courses.reduction.seconds, []
    for thread, seen in level.items():
        own = counters.get(thread)
        if own is None:
            continue
        cpu = np.nan_to_num(own["cpu_us"] / (seconds * 1e6))
        ready = np.nan_to_num(own["run_delay_us"] / (seconds * 1e6))
        waiting = np.nan_to_num(seen["waiting_requests"])
        short = (cpu + ready >= NEVER_RESTS) & (cpu >= LEAST_CPU) & (waiting >= LEAST_QUEUE)
        if not short.any():
            continue
        user, name, pid, tid = thread.split(chr(31))
        which = f"thread {tid} of process {pid}" if tid != pid else f"process {pid}"
        says = (
            f"{name} of user {user} ({which}) answers one request at a time and is never idle:"
            f" {_over(waiting, short, seconds):.1f} requests wait for it on average, while it runs"
            f" {_over(cpu, short, seconds):.0%} of the time"
        )
        delayed = _over(ready, short, seconds)
        if delayed >= 0.2:
            says += f" and itself waits for a CPU {delayed:.0%} of it"
        found.append(
            Use(
                f"thread {name} of user {user}",
                "server",
                np.clip(cpu + ready, 0, 1),
                short,
                short,
                limit=NEVER_RESTS,
                scales=False,
                of="time that it ran or was ready to",
                held=waiting,
                says=says,
                remedy=f"Let {name} of user {user} answer with several threads or processes, or make its"
                " requests cheaper"
                + ("; a higher CPU weight helps too while others fill the CPU." if delayed >= 0.2 else "."),
            )
        )
    return sorted(found, key=lambda use: -use.weight(seconds))[:3]


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
    seconds = courses.reduction.seconds
    counters = courses.history.counters("lock", "lock", ("wait_us", "hold_us"))
    cost = {
        name: _over(own["wait_us"] / seconds / 1e6, held_up, seconds)
        for name, own in counters.items()
        if np.isfinite(own["wait_us"]).any()
    }
    total, says, remedy, resource = sum(cost.values()), "", "", "locks"
    if held_up.any() and total > 0:
        name = max(cost, key=lambda one: cost[one])
        resource = f"lock {name}" if cost[name] >= 0.5 * total else "locks"
        kept = _over(counters[name]["hold_us"] / seconds / 1e6, held_up, seconds)
        says = f"{cost[name]:.1f} processes on average wait for lock {name}"
        says += f" ({cost[name] / total:.0%} of all waits for locks)" if cost[name] < 0.995 * total else ""
        says += f", which is held {min(1.0, kept):.0%} of the time" if kept > 0 else ""
        if courses.held is not None:
            waited = {user: _over(own.lock, held_up, seconds) for user, own in courses.held.users.items()}
            most = sorted((user for user in waited if waited[user] >= 0.05), key=lambda user: -waited[user])
            says += f"; those who wait are {listed(most)}" if most else ""
        remedy = (
            f"Do less while lock {name} is held (no think time, no I/O, no other locks), or divide what it"
            " guards: more CPU or faster disks change nothing."
        )
    return [
        Use(
            resource,
            "lock",
            None,
            held_up,
            held_up,
            scales=False,
            limit=DELAYED,
            of=f"mean waiting {float(np.nanmean(waiting)):.2g}",
            says=says,
            remedy=remedy,
        )
    ]


# What a probe waits for when it takes much longer than usual.
_PROBES = {"trivial": "processor", "compute": "processor", "io": "io", "paging": "storage"}


def _probes(courses: Courses) -> list[Use]:
    """Probes that ran now and then: where one took much longer than is usual for it, several times in
    succession, what it needs was short, whatever else says so. One of I/O proves nothing while the CPU is
    full.
    """
    total = courses.course("total_cpu_fraction")
    full = np.zeros(courses.count, dtype=bool) if total is None else np.nan_to_num(total) >= CPU_SHORT
    found = []
    for probe, own in courses.history.levels("thermometer", "thermometer", ("elapsed_us",)).items():
        component = _PROBES.get(probe)
        taken = own["elapsed_us"]
        ran = np.flatnonzero(np.isfinite(taken))
        if component is None or len(ran) < LEAST_PROBES:
            continue
        # Running medians: a single slow run shows nothing.
        padded = np.pad(taken[ran], IN_SUCCESSION // 2, mode="edge")
        middle = np.median(sliding_window_view(padded, IN_SUCCESSION), axis=1)
        usual = float(np.quantile(middle, 0.25))
        slow = np.zeros(courses.count, dtype=bool)
        slow[ran] = (middle >= SLOW_PROBE * usual) & (middle >= usual + LEAST_SLOWER_US)
        if component != "processor":
            slow &= ~full
        if not slow.any():
            continue
        took = float(np.nanmean(taken[slow]))
        found.append(
            Use(
                f"probe {probe}",
                component,
                None,
                slow,
                None,
                scales=False,
                of=f"took {took / 1000:.3g} ms where it usually takes {usual / 1000:.3g} ms",
            )
        )
    return found


READERS: tuple[Callable[[Courses], list[Use]], ...] = (
    _processors,
    _quotas,
    _disks,
    _io_stalls,
    _memory,
    _group_memory,
    _swap,
    _io_caps,
    _queues,
    _thread,
    _locks,
    _probes,
)
