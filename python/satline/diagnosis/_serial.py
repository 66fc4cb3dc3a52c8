"""What is done by one at a time, and probes: threads that others wait for, file locks, thermometers."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from satline.diagnosis._held import listed
from satline.diagnosis._use import CPU_SHORT, DELAYED, Courses, Floats, Use, over

THREAD_SHORT = 0.9
# A thread never rests that runs or waits for a processor for so much of the time; it is a server's where
# requests wait for it.
NEVER_RESTS, LEAST_CPU, LEAST_QUEUE = 0.85, 0.2, 0.5
# Slow is a probe whose running median is so many times the usual, and so much above it.
SLOW_PROBE, LEAST_SLOWER_US = 3.0, 5000.0
LEAST_PROBES, IN_SUCCESSION = 12, 5


def queues(courses: Courses) -> list[Use]:
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
            f" {over(waiting, short, seconds):.1f} requests wait for it on average, while it runs"
            f" {over(cpu, short, seconds):.0%} of the time"
        )
        delayed = over(ready, short, seconds)
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
                delayed=ready / np.maximum(cpu + ready, 1e-9),
                says=says,
                remedy=f"Let {name} of user {user} answer with several threads or processes, or make its"
                " requests cheaper"
                + ("; a higher CPU weight helps too while others fill the CPU." if delayed >= 0.2 else "."),
            )
        )
    return sorted(found, key=lambda use: -use.weight(seconds))[:3]


def thread(courses: Courses) -> list[Use]:
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


def _changes(course: Floats) -> bool:
    """Does it vary at all? Those who stand by for a lock wait evenly."""
    known = course[np.isfinite(course)]
    return len(known) > 0 and float(known.max() - known.min()) > 0.01 * float(known.mean())


def locks(courses: Courses) -> list[Use]:
    """Those that wait for locks, as far as locks were recorded."""
    waiting = courses.course("lock_wait")
    if waiting is None:
        return []
    if courses.held is not None:
        waiting = waiting - sum(own.standby for own in courses.held.users.values())
    held_up = np.nan_to_num(waiting) >= DELAYED
    seconds = courses.reduction.seconds
    counters = courses.history.counters("lock", "lock", ("wait_us", "hold_us"))
    cost = {
        name: over(own["wait_us"] / seconds / 1e6, held_up, seconds)
        for name, own in counters.items()
        if _changes(own["wait_us"] / seconds)
    }
    total, says, remedy, resource = sum(cost.values()), "", "", "locks"
    if held_up.any() and total > 0:
        name = max(cost, key=lambda one: cost[one])
        resource = f"lock {name}" if cost[name] >= 0.5 * total else "locks"
        kept = over(counters[name]["hold_us"] / seconds / 1e6, held_up, seconds)
        says = f"{cost[name]:.1f} processes on average wait for lock {name}"
        says += f" ({cost[name] / total:.0%} of all waits for locks)" if cost[name] < 0.995 * total else ""
        says += f", which is held {min(1.0, kept):.0%} of the time" if kept > 0 else ""
        if courses.held is not None:
            waited = {user: over(own.lock, held_up, seconds) for user, own in courses.held.users.items()}
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


def probes(courses: Courses) -> list[Use]:
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
