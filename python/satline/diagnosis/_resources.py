"""How full each resource was in each observation, from whatever a recording holds of it.

Nothing here needs a load axis, transactions or more than two samples: a resource that was recorded has a use,
and what was not recorded is left out. Where only a part of a resource's use was recorded (CPU time in user
mode alone), its use is a lower bound, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np

from satline.diagnosis._held import background, held_back, listed
from satline.diagnosis._histories import Histories
from satline.diagnosis._limits import admission, group_memory, io_caps, quotas
from satline.diagnosis._probes import probes
from satline.diagnosis._serial import locks, queues, thread
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
    quantile,
)
from satline.reduction import Reduction

# From here on a resource is short: work that comes has to wait.
DISK_SHORT = 0.9
IO_PRESSURE = 0.3
LINK_SHORT = 0.9
GPU_SHORT = 0.9
# By how much of memory more may seem available than there is: readings that are not of the same instant.
_ABOVE_MEMORY = 0.01
# By how much of its speed a link may seem to carry more: bytes counted that are not sent, ends of intervals.
_ABOVE_SPEED = 1.05
# Waiting beyond this confirms that a full resource is also waited for.
RUN_QUEUE = 1.25
DISK_QUEUE = 2.0


def uses(reduction: Reduction, history: Histories) -> tuple[Use, ...]:
    """Every resource that was recorded."""
    courses = Courses(reduction, history, held_back(reduction, history))
    return _waited_for(courses, tuple(use for read in READERS for use in read(courses)))


def _waited_for(courses: Courses, found: tuple[Use, ...]) -> tuple[Use, ...]:
    """The uses with the users whom each holds back.

    A wait for a processor in a group that is at its quota is the quota's, or that part of it which the kernel
    told to be the quota's; one for a device in a group at its
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
                of_quota = own.delay if own.throttled is None else own.throttled
                total = total + take(name, "delay", np.where(use.short, of_quota, 0))
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

    # A queue in front of a thread that has to wait for a processor itself: more processors and more threads
    # would shorten it alike.
    shared = nothing
    for use in found:
        if use.held is not None and use.delayed is not None:
            shared = shared + np.where(use.counted, use.held * use.delayed / 2, 0)

    kinds = {"processor": "delay", "one processor": "delay", "io": "io", "storage": "page", "lock": "lock"}
    made = []
    for use in found:
        if use.name in limits:
            group = use.name.partition(" of ")[2]
            inside = sorted(held.inside(group))
            says = f"{use.says}; it holds {listed(inside)}" if inside else use.says
            made.append(replace(use, held=limits[use.name], says=says))
        elif use.held is not None and use.delayed is not None:
            made.append(replace(use, held=use.held * (1 - use.delayed / 2)))
        elif use.held is None and kinds.get(use.component) in held.known:
            more = shared if use.component == "processor" else 0.0
            made.append(replace(use, held=left(kinds[use.component]) + more))
        else:
            made.append(use)
    return tuple(made)


# ------------------------------------------------------------------ the processors

BUSY = ("user_us", "nice_us", "system_us", "irq_us", "guest_us")
IDLE = ("idle_us", "iowait_us")


def _processors(courses: Courses) -> list[Use]:
    """All processors together, relative to what hypervisor and quota of the partition left; and the busiest
    of them where it is much busier than the others."""
    states = courses.history.processors()
    if states is None:
        return _by_load(courses)
    reduction = courses.reduction
    whole = _accounted(states.total, states.elapsed_us)
    busy_part, bound = _busy(states.total, whole)
    found = []
    if busy_part is not None:
        left = _left(courses, states.total, states.elapsed_us, whole)
        fraction = np.clip(busy_part / np.maximum(left, 1e-3), 0, 1)
        waited = _cpu_waited(courses, states.count)
        short = np.nan_to_num(fraction) >= CPU_SHORT
        if waited is not None and courses.held is not None and short.any():
            others = background(courses.held, short, reduction.seconds)
            if others is not None and others.yields:
                # What waits is the background work itself; nobody else does.
                waited = np.zeros(courses.count, dtype=bool)
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


def _by_load(courses: Courses) -> list[Use]:
    """A bound by the load average where no times of processors tell: no more processors can be at work than
    there are tasks that run, are ready, or wait for a disk. Without their number there is one at least."""
    load = courses.level("load_average_1")
    if load is None:
        return []
    many = courses.reduction.settings.host_processors
    fraction = np.clip(load / (many or 1), 0, 1)
    if not _holds_below(fraction, courses.reduction.seconds, CPU_SHORT):
        return []
    on = f"{many} CPU{'s' if many > 1 else ''}" if many else "even if there is a single CPU"
    none = np.zeros(courses.count, dtype=bool)
    of = f"load average, {on}"
    return [Use("CPU", "processor", fraction, none, None, limit=CPU_SHORT, of=of, upper_bound=True)]


def _holds_below(fraction: Floats, seconds: Floats, limit: float) -> bool:
    """Does a bound tell that a resource was not short: is it below the limit for 95 % of the time?"""
    known = np.isfinite(fraction)
    return bool(known.any()) and quantile(fraction[known], seconds[known], 0.95) < limit


def _accounted(total: Mapping[str, Floats], elapsed: Floats) -> Floats:
    """Processor time of which states are shares: their sum where all of them were recorded, else what passed.

    A kernel counts busy time in clock ticks and idle time by another clock, and some count waiting for I/O
    twice: the sum may miss what passed by some per cent, and the rest is no use. The system's own tools (sar,
    mpstat) divide by the sum too.
    """
    if not {"user_us", "system_us", "idle_us"} <= total.keys() or not {"irq_us", "nice_us"} & total.keys():
        return elapsed
    known = np.sum([total[name] for name in (*BUSY, *IDLE, "steal_us") if name in total], axis=0)
    with np.errstate(invalid="ignore"):
        return np.where(known > 0, known, elapsed)


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


def _left(courses: Courses, total: Mapping[str, Floats], elapsed: Floats, whole: Floats) -> Floats:
    """Part of all processor time that the hypervisor and a cap of the partition left."""
    stolen = total.get("steal_us")
    left = np.ones(courses.count) if stolen is None else np.nan_to_num(1 - stolen / whole, nan=1.0)
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
    return any_of(signals)


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
    found = on_others(busy)
    for name, course in busy.items():
        if name in disks or name in found:
            continue
        if np.all(np.nan_to_num(course) <= busiest + _OF_ITS_OWN):
            found.add(name)
    return found


def on_others(names: Iterable[str]) -> set[str]:
    """Devices that lie on others by their names, where there are disks: partitions, slices and volumes."""
    every = set(names)
    disks = {name for name in every if _WHOLE_DISK.fullmatch(name)}
    parts = {name: _PART_OF.fullmatch(name) for name in every - disks}
    return {
        name
        for name, whole in parts.items()
        if disks and (_ON_DISKS.fullmatch(name) or (whole is not None and whole.group(1) in disks))
    }


def _disks(courses: Courses) -> list[Use]:
    """Each block device by its busy time; a queue or a slow request confirms that it is short."""
    waits = ("read_wait_us", "write_wait_us", "request_wait_us")
    names = ("busy_us", "queue_us", "reads", "writes", "requests", *waits)
    devices = courses.history.counters("device", "device", names, "device_kind = 'block'")
    rates = {
        device: courses.rate(counters, "busy_us")
        for device, counters in devices.items()
        if not device.startswith(NO_DISK)
    }
    volumes = layered({device: busy for device, busy in rates.items() if busy is not None})
    found = []
    for device, busy in rates.items():
        counters = devices[device]
        if device in volumes:
            continue
        none = np.zeros(courses.count, dtype=bool)
        if busy is None:
            outstanding = _outstanding(courses, counters)
            if outstanding is not None and device != "all":
                fraction = np.clip(outstanding, 0, 1)
                if _holds_below(fraction, courses.reduction.seconds, DISK_SHORT):
                    of = "mean number of requests outstanding (rate times response)"
                    own = Use(f"disk {device}", "io", fraction, none, None, limit=DISK_SHORT, of=of)
                    found.append(replace(own, upper_bound=True))
                    continue
            if sum(np.nansum(counters[name]) for name in ("reads", "writes", "requests")) > 0:
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


def _busiest_disk(courses: Courses) -> Floats | None:
    """Use of the busiest device that counts as a resource: of one that lies on a file (loop) nothing else
    tells that it is full. ``None``: none was recorded."""
    devices = courses.history.counters("device", "device", ("busy_us",), "device_kind = 'block'")
    busy = [
        rate
        for device, counters in devices.items()
        if not device.startswith(NO_DISK) and (rate := courses.rate(counters, "busy_us")) is not None
    ]
    return (
        np.max([np.nan_to_num(rate) for rate in busy], axis=0) if busy else courses.course("busiest_device")
    )


def _outstanding(courses: Courses, counters: Mapping[str, Floats]) -> Floats | None:
    """Mean number of requests outstanding: by its integral, else by the times that requests took (Little's
    law). A device has a request outstanding for at most that part of the time."""
    queue = courses.rate(counters, "queue_us")
    if queue is not None:
        return queue
    both = courses.rate(counters, "request_wait_us")
    if both is not None:
        return both
    reads, writes = (courses.rate(counters, f"{what}_wait_us") for what in ("read", "write"))
    return None if reads is None or writes is None else reads + writes


# Interfaces that are no link of the host: what they carry, another carries, or none.
_NO_LINK = re.compile(r"(?:lo|veth|docker|virbr|vnet|br-|tap|tun|cali|cni|flannel|ifb|dummy).*|br\d+")


def _links(courses: Courses) -> list[Use]:
    """Network interfaces whose speed was recorded, by the direction that carries more."""
    where = "device_kind = 'network'"
    speeds = courses.history.levels("device", "device", ("speed_bytes_per_s",), where)
    known = {
        name: own["speed_bytes_per_s"]
        for name, own in speeds.items()
        if not _NO_LINK.fullmatch(name) and np.nanmax(own["speed_bytes_per_s"], initial=0.0) > 0
    }
    if not known:
        return []
    moved = courses.history.whole_counters("device", "device", ("read_bytes", "write_bytes"), where)
    found = []
    for name, speed in known.items():
        if name not in moved:
            continue
        ways = [moved[name][way] for way in ("read_bytes", "write_bytes")]
        if not all(np.isfinite(way).any() for way in ways):
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            fraction = np.maximum(*ways) / courses.reduction.seconds / np.where(speed > 0, speed, np.nan)
        # More than the link can carry: the driver does not tell its true speed.
        if not np.isfinite(fraction).any() or np.nanmax(fraction) > _ABOVE_SPEED:
            continue
        fraction = np.clip(fraction, 0, 1)
        full = np.nan_to_num(fraction) >= LINK_SHORT
        of = "of its link's speed, the busier direction"
        found.append(Use(f"interface {name}", "network", fraction, full, None, limit=LINK_SHORT, of=of))
    return found


def _gpus(courses: Courses) -> list[Use]:
    """GPUs, by what the card tells of itself at each reading, and their memory."""
    names = ("busy_part", "used_bytes", "size_bytes")
    found = []
    for name, own in courses.history.levels("device", "device", names, "device_kind = 'gpu'").items():
        busy = own["busy_part"]
        if np.isfinite(busy).any():
            fraction = np.clip(busy, 0, 1)
            full = np.nan_to_num(fraction) >= GPU_SHORT
            of = "time with work, as the card tells it at each reading"
            found.append(Use(f"GPU {name}", "gpu", fraction, full, None, limit=GPU_SHORT, of=of))
        with np.errstate(divide="ignore", invalid="ignore"):
            held = own["used_bytes"] / np.where(own["size_bytes"] > 0, own["size_bytes"], np.nan)
        if np.isfinite(held).any():
            none = np.zeros(courses.count, dtype=bool)
            held = np.clip(held, 0, 1)
            found.append(Use(f"GPU memory of {name}", "gpu", held, none, None, scales=False, of="in use"))
    return found


def _io_stalls(courses: Courses) -> list[Use]:
    """Time in which tasks wait for I/O while no device that was recorded is full: a cap, a network file
    system, or a device that was not recorded."""
    pressure = courses.course("pressure_io")
    blocked, seconds = courses.course("user_io_wait"), courses.reduction.seconds
    if pressure is None and blocked is None:
        return []
    signal = pressure if pressure is not None else np.asarray(blocked)
    busiest = _busiest_disk(courses)
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
    if used is not None:
        # More is said to be available than there is: the source's figure is none.
        used = np.where(used >= -_ABOVE_MEMORY, used, np.nan)
        used = used if np.isfinite(used).any() else None
    of, bound = "not available without paging", False
    parts = ("mem_total_bytes", "mem_free_bytes", "cached_bytes")
    total, free, cached = (None, None, None) if used is not None else map(courses.level, parts)
    if used is None and total is not None and free is not None:
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
    signals = any_of([stall, both, thrash])
    waiting, run = courses.course("user_page_wait"), courses.course("user_run")
    if waiting is not None and run is not None:
        stall = any_of([stall, np.nan_to_num(waiting) >= DELAYED * np.maximum(np.nan_to_num(run), 1e-9)])
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


READERS: tuple[Callable[[Courses], list[Use]], ...] = (
    _processors,
    quotas,
    _disks,
    _io_stalls,
    _links,
    _gpus,
    _memory,
    group_memory,
    _swap,
    io_caps,
    admission,
    queues,
    thread,
    locks,
    probes,
)
