"""Bounds where the capacity of a thing is not known: what it carried, what was free, how many were there.

A rate is no utilisation. But what was sustained over an observation was carried, so that the capacity is no
less; in most of the time at most a part of that was asked for. What was free was not needed. No more than
this is said: how much beyond it could be carried is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from satline.diagnosis._histories import PROCESSOR_STATES, Courses, Histories
from satline.diagnosis._resources import BUSY, IDLE, on_others
from satline.diagnosis._results import Bound, Carried
from satline.diagnosis._use import LOOPBACK, NO_DISK, Floats, Use, quantile
from satline.reduction import Reduction

# Shorter observations than this part of the usual length rest on a clock that was set, or on ticks.
_SHORT = 0.5
# Of what is shown to be carried, a part is told from so many observations on.
LEAST_RELATIVE = 3
_HIGH = 0.95
# Of many disks or interfaces those that did most are listed.
MOST_ALIKE = 20

_BUSY_TIME = "how long {} was busy (sar -d; disk.dev.avactive in PCP)"
_SPEED = "the speed of {} (network.interface.speed in PCP; ethtool)"
_CPU = "CPU times (sar -u; kernel.all.cpu in PCP)"
_COUNT = "the number of processors (hinv.ncpu in PCP)"
_TOTAL = "the size of memory (sar -r; mem.physmem in PCP)"
Sums = tuple[tuple[str, str], ...]
"""Counters with what each counts: of both directions, and of either."""
_BYTES: Sums = (("moved_bytes", "bytes"), ("read_bytes", "bytes read"), ("write_bytes", "bytes written"))
_REQUESTS: Sums = (("requests", "requests"), ("reads", "reads"), ("writes", "writes"))
_BYTES_OF_LINK: Sums = (("moved_bytes", "bytes"), ("read_bytes", "bytes in"), ("write_bytes", "bytes out"))
_PACKETS: Sums = (("requests", "packets"), ("reads", "packets in"), ("writes", "packets out"))
_COUNTERS = tuple(name for name, _ in (*_REQUESTS, *_BYTES))

_FREE_MEMORY = (("mem_available_bytes", "available"), ("mem_free_bytes", "free"))
_USED_MEMORY = (("anonymous_bytes", "of processes"), ("slab_bytes", "of the kernel's slabs"))
_BLOCKS = ("block_in_bytes", "block_out_bytes")
# So many were held at once: the load that it carries is no less. Tasks that exist are no load.
_LOADS = (
    ("tcp_connections", "TCP", "connections"),
    ("users_logged_on", "it", "users logged on"),
)
_LEVELS = (
    ("tasks_runnable", "tasks", "tasks runnable"),
    ("run_queue_mean", "tasks", "tasks in the run queue"),
    ("tasks_blocked", "tasks", "tasks blocked"),
    ("tasks_total", "tasks", "tasks"),
    ("processes_seen", "processes", "processes listed"),
)
_KERNEL = (
    ("context_switches", "kernel", "context switches/s"),
    ("system_calls", "kernel", "system calls/s"),
    ("forks", "kernel", "processes created/s"),
    ("interrupts", "kernel", "interrupts/s"),
    ("page_faults", "kernel", "page faults/s"),
    ("swap_in_pages", "swap", "pages swapped in/s"),
    ("swap_out_pages", "swap", "pages swapped out/s"),
    ("tcp_segments_in", "TCP", "segments received/s"),
    ("tcp_segments_out", "TCP", "segments sent/s"),
    ("tcp_segments_resent", "TCP", "segments sent again/s"),
)
# Read together: each reading costs as much as all.
_SYSTEM_LEVELS = ("load_average_1", *(n for n, *_ in (*_FREE_MEMORY, *_USED_MEMORY, *_LOADS, *_LEVELS)))
_SYSTEM_COUNTERS = (*(n for n, *_ in _KERNEL), *_BLOCKS)

_Made = list[Carried]


class _Maker:
    """What the functions below need of a recording."""

    def __init__(self, reduction: Reduction, history: Histories, found: Sequence[Use]) -> None:
        self.history = history
        self.seconds = reduction.seconds
        self.settings = reduction.settings
        self.usable = self.seconds >= _SHORT * float(np.median(self.seconds))
        self.used = {use.name for use in found if use.fraction is not None}
        self.nothing_used = not self.used
        disks = [use for use in found if use.name.startswith("disk")]
        self.disks_known = bool(disks) and all(use.fraction is not None for use in disks)

    def bound(
        self,
        kind: Bound,
        resource: str,
        component: str,
        what: str,
        unit: str,
        course: Floats | None,
        needs: str = "",
    ) -> _Made:
        """A row for a course in `unit`, by observation; none where it has no value."""
        if course is None:
            return []
        known = np.isfinite(course) & self.usable
        if not known.any():
            return []
        values, weight = course[known], self.seconds[known]
        mean = float(np.average(values, weights=weight))
        if kind == "free":
            usual, place = -quantile(-values, weight, _HIGH), int(np.argmin(values))
        else:
            usual, place = quantile(values, weight, _HIGH), int(np.argmax(values))
        extreme = float(values[place])
        relative = None
        if kind == "carried" and extreme > 0 and len(values) >= LEAST_RELATIVE:
            relative = usual / extreme
        return [
            Carried(
                resource,
                component,
                kind,
                what,
                unit,
                mean,
                usual,
                extreme,
                float(weight[place]),
                relative,
                len(values),
                float(weight.sum() / self.seconds.sum()),
                needs,
            )
        ]

    def moved(
        self,
        resource: str,
        component: str,
        what: str,
        counters: Mapping[str, Floats],
        names: Sums,
        needs: str,
    ) -> _Made:
        """A row for the first counter, else for the sum of the two others; where one of these alone was
        recorded, for that one by its name. Without a value of any there is none for an observation."""
        whole, one, other = (counters[name] / self.seconds for name, _ in names)
        unit = f"{what}/s"
        if np.isfinite(whole).any():
            return self.bound("carried", resource, component, what, unit, whole, needs)
        if np.isfinite(one).any() and np.isfinite(other).any():
            return self.bound("carried", resource, component, what, unit, one + other, needs)
        rows: _Made = []
        for course, (_, alone) in ((one, names[1]), (other, names[2])):
            own = unit if what == "bytes" else f"{alone}/s"
            rows += self.bound("carried", resource, component, alone, own, course, needs)
        return rows

    def system_rate(self, name: str) -> Floats | None:
        """Growth per second of a counter of table system."""
        found = self.history.whole_counters("system", "'all'", _SYSTEM_COUNTERS).get("all")
        return np.asarray(found[name] / self.seconds) if found else None

    def system_growth(self, name: str) -> Floats | None:
        """By how much a level of table system rose per second, from reading to reading; falls are none."""
        level = self.system_level(name)
        if level is None:
            return None
        gained = self.history.counters("system", "'all'", (name,))["all"][name]
        return np.where(np.isfinite(level), np.nan_to_num(gained), np.nan) / self.seconds

    def system_level(self, name: str) -> Floats | None:
        """Mean of a level of table system by observation."""
        return self.history.system_levels(*_SYSTEM_LEVELS).get(name)


def carried(reduction: Reduction, history: Histories, found: Sequence[Use]) -> tuple[Carried, ...]:
    """Bounds on everything that was recorded and of which no use is known, what tells most first.

    Parameters
    ----------
    found
        The uses that are known.
    """
    made = _Maker(reduction, history, found)
    readers: list[Callable[[_Maker], _Made]] = [_processors, _disks, _memory, _interfaces]
    if made.nothing_used:
        readers += [_levels, _kernel]
    return tuple(row for read in readers for row in read(made))


def _processors(made: _Maker) -> _Made:
    """Of how many processors the times are is not known, or no times of processors were recorded."""
    if "CPU" in made.used:
        return []
    rows: _Made = []
    needs = _CPU
    each = made.history.whole_counters("processor", "processor", PROCESSOR_STATES)
    if each:
        needs = _COUNT
        idle = _sum(each, IDLE)
        if idle is not None:
            rows += made.bound(
                "free", "CPU", "processor", "idle", "processors", idle / (made.seconds * 1e6), needs
            )
        busy = _sum(each, BUSY)
        if busy is not None:
            rows += made.bound(
                "carried", "CPU", "processor", "in use", "processors", busy / (made.seconds * 1e6), needs
            )
    elif made.nothing_used:
        users = made.history.whole_counters("user", '"user"', ("cpu_us",))
        used = _sum(users, ("cpu_us",))
        if used is not None:
            rows += made.bound(
                "carried", "CPU", "processor", "in use", "processors", used / (made.seconds * 1e6), needs
            )
    load = made.system_level("load_average_1")
    # No more processors can be at work than there are tasks that run, are ready, or wait for a disk.
    return rows + made.bound(
        "at most", "CPU", "processor", "in use by the load average", "processors", load, needs
    )


def _sum(courses: Courses, names: tuple[str, ...]) -> Floats | None:
    """Sum over entities and counters, of those that were recorded; NaN where one of these is missing."""
    known = [c[n] for c in courses.values() for n in names if n in c and np.isfinite(c[n]).any()]
    return np.asarray(np.sum(known, axis=0)) if known else None


def _disks(made: _Maker) -> _Made:
    """Disks whose busy time was not recorded: requests and bytes; that there was none is an answer too."""
    if made.disks_known:
        return []
    names = (*_COUNTERS, "busy_us")
    found = made.history.whole_counters("device", "device", names, "device_kind = 'block'")
    left = {name: own for name, own in found.items() if not name.startswith(NO_DISK)}
    inner = on_others(left)
    rows: list[tuple[float, _Made]] = []
    for name, counters in left.items():
        resource = "disks together" if name == "all" else f"disk {name}"
        if name in inner or resource in made.used or np.isfinite(counters["busy_us"]).any():
            continue
        needs = _BUSY_TIME.format("each disk" if name == "all" else resource)
        own = made.moved(resource, "io", "requests", counters, _REQUESTS, needs)
        moved = made.moved(resource, "io", "bytes", counters, _BYTES, needs)
        # Of requests that are none nothing is moved.
        if own and moved and own[0].extreme == 0:
            moved = []
        if own or moved:
            rows.append((sum(row.mean for row in (*moved, *own)), own + moved))
    if not rows:
        blocks = {n: made.system_rate(n) for n in _BLOCKS}
        known = [rate for rate in blocks.values() if rate is not None]
        if known and not any(name.startswith("disk") for name in made.used):
            total = np.asarray(np.sum(known, axis=0))
            needs = _BUSY_TIME.format("each disk")
            return made.bound("carried", "disks together", "io", "bytes", "bytes/s", total, needs)
    return _busiest(rows)


def _interfaces(made: _Maker) -> _Made:
    """Interfaces whose speed is not known: bytes and packets, errors where there were any."""
    names = (*_COUNTERS, "errors")
    found = made.history.whole_counters("device", "device", names, "device_kind = 'network'")
    rows: list[tuple[float, _Made]] = []
    for name, counters in found.items():
        resource = f"interface {name}"
        if name in LOOPBACK or resource in made.used:
            continue
        needs = _SPEED.format(resource)
        own = made.moved(resource, "network", "bytes", counters, _BYTES_OF_LINK, needs)
        own += made.moved(resource, "network", "packets", counters, _PACKETS, needs)
        if np.nansum(counters["errors"]) > 0:
            errors = np.asarray(counters["errors"] / made.seconds)
            own += made.bound("level", resource, "network", "errors and drops", "per second", errors)
        if any(row.extreme > 0 for row in own):
            rows.append((own[0].mean, own))
    return _busiest(rows)


def _busiest(rows: list[tuple[float, _Made]]) -> _Made:
    """The rows of the devices that did most."""
    chosen = sorted(rows, key=lambda item: -item[0])[:MOST_ALIKE]
    return [replace(row, alike=len(rows)) for _, own in chosen for row in own]


def _memory(made: _Maker) -> _Made:
    """Memory whose size is not known: what was free, else what was in use."""
    if "memory" in made.used:
        return []
    for name, what in _FREE_MEMORY:
        level = made.system_level(name)
        if level is not None:
            return made.bound("free", "memory", "storage", what, "bytes", level, _TOTAL)
    rows: _Made = []
    for name, what in _USED_MEMORY:
        level = made.system_level(name)
        rows += made.bound("carried", "memory", "storage", what, "bytes", level, _TOTAL)
    return rows


def _levels(made: _Maker) -> _Made:
    """How many tasks, users and connections there were."""
    rows: _Made = []
    for name, resource, unit in _LOADS:
        rows += made.bound("carried", resource, "none", unit, unit, made.system_level(name), _CPU)
    for name, resource, unit in _LEVELS:
        rows += made.bound("level", resource, "none", unit, unit, made.system_level(name), _CPU)
    return rows


def _kernel(made: _Maker) -> _Made:
    """What the kernel did, per second."""
    rows: _Made = []
    for name, resource, unit in _KERNEL:
        what = unit.removesuffix("/s")
        # Sending again is no service: what was resent was lost before.
        kind: Bound = "level" if name == "tcp_segments_resent" else "carried"
        rows += made.bound(kind, resource, "none", what, unit, made.system_rate(name), _CPU)
    if not any(row.what == "processes created" for row in rows):
        # Where there are more than before, so many were created, and more where others ended.
        grown = made.system_growth("tasks_total")
        what = "tasks created by the growth of their number"
        rows += made.bound("at least", "kernel", "none", what, "tasks created/s", grown, _CPU)
    return [row for row in rows if row.extreme > 0]
