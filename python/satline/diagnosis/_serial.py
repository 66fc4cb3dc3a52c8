"""What is done by one at a time: threads that others wait for, locks on files."""

from __future__ import annotations

import numpy as np

from satline.diagnosis._held import listed
from satline.diagnosis._use import CPU_SHORT, DELAYED, Courses, Floats, Use, over

THREAD_SHORT = 0.9
# A thread never rests that runs or waits for a processor for so much of the time; it is a server's where
# requests wait for it.
NEVER_RESTS, LEAST_CPU, LEAST_QUEUE = 0.85, 0.2, 0.5


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
