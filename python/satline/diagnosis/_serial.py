"""What is done by one at a time: threads that others wait for, locks on files."""

from __future__ import annotations

import numpy as np

from satline.diagnosis._held import listed
from satline.diagnosis._told import LOCKS, Told, told, waiting_words
from satline.diagnosis._use import CPU_SHORT, DELAYED, Courses, Floats, Mask, Use, over

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
    kernel = told(courses.history)
    if not level and kernel is None:
        return []
    counters = courses.history.counters("task", entity, ("cpu_us", "run_delay_us"))
    seconds, found = courses.reduction.seconds, []
    for thread, own in counters.items():
        user, name, pid, tid = thread.split(chr(31))
        asking, clients = kernel.asking(user, name) if kernel is not None else (None, ())
        if thread not in level and not clients:
            continue
        cpu = np.nan_to_num(own["cpu_us"] / (seconds * 1e6))
        ready = np.nan_to_num(own["run_delay_us"] / (seconds * 1e6))
        waiting = np.zeros(courses.count)
        if thread in level:
            waiting = np.nan_to_num(level[thread]["waiting_requests"])
        if asking is not None and clients and _alone(user, name, counters):
            # One of those that wait is being answered.
            waiting = np.maximum(waiting, asking - 1)
        short = (cpu + ready >= NEVER_RESTS) & (cpu >= LEAST_CPU) & (waiting >= LEAST_QUEUE)
        if not short.any():
            continue
        which = f"thread {tid} of process {pid}" if tid != pid else f"process {pid}"
        says = (
            f"{name} of user {user} ({which}) answers one request at a time and is never idle:"
            f" {over(waiting, short, seconds):.1f} requests wait for it on average, while it runs"
            f" {over(cpu, short, seconds):.0%} of the time"
        )
        delayed = over(ready, short, seconds)
        if delayed >= 0.2:
            says += f" and itself waits for a CPU {delayed:.0%} of it"
        if asking is not None and clients:
            part = over(asking, short, seconds) / len(clients)
            says += f"; {listed(list(clients))} wait for its answers {min(1.0, part):.0%} of the time"
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


def _alone(user: str, name: str, threads: dict[str, dict[str, Floats]]) -> bool:
    """Is it the only busy thread of the user's programs of that name?"""
    return sum(one.split(chr(31))[:2] == [user, name] for one in threads) == 1


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


def _by_kernel(kernel: Told, where: Mask, resource: str, says: str, remedy: str) -> tuple[str, str, str]:
    """Name, words and remedy of the locks, with what the kernel told: who waits, and who holds them."""
    amount = {cause: sum(kernel.shares((cause,), where).values()) for cause in LOCKS}
    main = max(LOCKS, key=lambda cause: amount[cause])
    blame = kernel.blame((main,), where)
    if blame is None:
        return resource, says, remedy
    words = waiting_words(blame, (main,))
    if main == "mutex":
        resource, says = "locks between threads", ""
    says = f"{says}; {words}" if says else words
    one = blame.one
    if main == "mutex" or not remedy:
        remedy = (
            "Do less while that lock is held (no think time, no I/O, no other locks), or divide what it"
            " guards: more CPU or faster disks change nothing."
        )
    if one is not None:
        remedy = f"See what {one.who} does while it holds the lock, and shorten that. {remedy}"
    return resource, says, remedy


def locks(courses: Courses) -> list[Use]:
    """Those that wait for locks, as far as locks were recorded."""
    waiting, kernel = courses.course("lock_wait"), told(courses.history)
    if kernel is not None and courses.held is not None and courses.held.users:
        waiting = np.sum([own.lock for own in courses.held.users.values()], axis=0)
    elif waiting is None:
        return []
    elif courses.held is not None:
        waiting = waiting - sum(own.standby for own in courses.held.users.values())
    assert waiting is not None
    held_up = np.nan_to_num(waiting) >= DELAYED
    seconds = courses.reduction.seconds
    # The kernel's own locks are short, and nobody's to hold.
    counters = courses.history.counters("lock", "lock", ("wait_us", "hold_us"), "lock NOT LIKE 'kernel: %'")
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
        if kernel is None and courses.held is not None:
            waited = {user: over(own.lock, held_up, seconds) for user, own in courses.held.users.items()}
            most = sorted((user for user in waited if waited[user] >= 0.05), key=lambda user: -waited[user])
            says += f"; those who wait are {listed(most)}" if most else ""
        remedy = (
            f"Do less while lock {name} is held (no think time, no I/O, no other locks), or divide what it"
            " guards: more CPU or faster disks change nothing."
        )
    if held_up.any() and kernel is not None:
        resource, says, remedy = _by_kernel(kernel, held_up, resource, says, remedy)
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
