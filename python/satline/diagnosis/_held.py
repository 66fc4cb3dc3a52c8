"""How many users each resource holds back, by the waits recorded of each user.

A user counts once, however many processes it has: its waits in an observation add up to at most 1. What a
user waits for the CPU because it takes the CPU itself is not counted as held back. Delay clocks of processes
that are older than the accounting stay at zero, so that sampled states stand in where they say more.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from satline.diagnosis._histories import Histories
from satline.reduction import Reduction

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

MOST_NAMED = 3
# A user who takes at least this part of the CPU time used is worth naming.
TAKES = 0.15
# Background work: its users never rest and together take so much; others are at work for such a part of the
# time, and hardly wait where their waits for the CPU are less than 0.4 of what they run.
RESTLESS, MOST, AT_WORK, HARMED = 0.9, 0.6, 0.005, 0.4


@dataclass(frozen=True)
class Waits:
    """What one user did in each observation, as parts of its length; waits add up to at most 1.

    cpu
        Processors used; system: the part of that in the kernel.
    delay, io, page, lock
        Waiting for a processor, a device, pages, file locks.
    standby
        Mean number of its processes that wait for a file lock all the time, none ever getting it: they stand
        by for whoever holds it (a second instance, a cluster's standby), and are not held back.
    group
        The control group with a limit that most of its processes were in; empty: none.
    processes
        Mean number of them.
    paged
        The part of `io` that is a wait for pages: of what the user read, the pages that it faulted in; where
        that was not recorded, as for the whole host. ``None``: neither was. 0 where the kernel told what is
        waited for: then they are in `page`.
    throttled
        The part of `delay` in which a CPU quota held the user back; ``None``: the kernel did not tell.
    """

    cpu: Floats
    system: Floats
    delay: Floats
    io: Floats
    page: Floats
    lock: Floats
    standby: float
    group: str
    processes: float
    paged: Floats | None = None
    throttled: Floats | None = None

    @property
    def wanted(self) -> Floats:
        """Part of the time in which it ran or waited for anything: with several processes up to 2."""
        return np.asarray(np.clip(self.cpu, 0, 1) + self.delay + self.io + self.page + self.lock)


@dataclass(frozen=True)
class Held:
    """All users that were recorded; names that begin with an underscore are not users (the kernel, Satline).

    used
        Processors used by all, users or not.
    known
        The waits that were recorded of any user: a wait that was not is not zero.
    servers
        Those of the users in front of whose programs requests were seen to wait.
    """

    users: dict[str, Waits]
    others: dict[str, Waits]
    used: Floats
    known: frozenset[str]
    servers: frozenset[str] = frozenset()

    def inside(self, group: str) -> dict[str, Waits]:
        """The users in a control group."""
        return {name: own for name, own in self.users.items() if own.group == group}

    def of_processors(self, name: str) -> Floats:
        """How much of a user is held back by a lack of processors that others take."""
        own = self.users[name]
        share = own.cpu / np.maximum(self.used, 1e-9)
        return np.asarray(own.delay * (1 - np.clip(share, 0, 1)))

    def takers(self, where: Mask, seconds: Floats) -> list[tuple[str, float, float]]:
        """Who took the CPU there: name, part of all CPU time used, processes; the most first."""
        weight = np.where(where, seconds, 0.0)
        total = float((self.used * weight).sum())
        if not total > 0:
            return []
        found = [
            (name, float((own.cpu * weight).sum()) / total, own.processes)
            for name, own in {**self.users, **self.others}.items()
        ]
        return sorted(found, key=lambda one: -one[1])

    def part_of(self, group: str, where: Mask, seconds: Floats) -> float | None:
        """Part of all CPU time used there that the users of a group used; ``None``: nobody is in it."""
        inside = self.inside(group)
        weight = np.where(where, seconds, 0.0)
        total = float((self.used * weight).sum())
        if not inside or not total > 0:
            return None
        return sum(float((own.cpu * weight).sum()) for own in inside.values()) / total


_KNOWN: WeakKeyDictionary[Histories, Held | None] = WeakKeyDictionary()


@dataclass(frozen=True)
class Background:
    """Work that never rests and takes most of the CPU time used, beside users whom it hardly holds back.

    takers
        Its users, the most first; part: of the CPU time used.
    others
        How many other users were at work; delay, run: their mean time waiting for a processor and running,
        in users.
    harmed
        Those of them that do not get the CPU nearly as soon as they want it, by name.
    """

    takers: tuple[str, ...]
    part: float
    others: int
    delay: float
    run: float
    harmed: tuple[str, ...] = ()

    @property
    def spares_most(self) -> bool:
        """Do at least three quarters of the others get the CPU nearly as soon as they want it?"""
        return 4 * len(self.harmed) <= self.others

    @property
    def yields(self) -> bool:
        """Do the others get the CPU nearly as soon as they want it?"""
        return self.delay < HARMED * self.run


def background(held: Held, where: Mask, seconds: Floats) -> Background | None:
    """The background work there; ``None``: nobody takes most without rest, or nobody else was at work."""
    weight = np.where(where, seconds, 0.0)
    length, used = float(weight.sum()), float((held.used * weight).sum())
    if not used > 0:
        return None

    def mean(course: Floats) -> float:
        return float((course * weight).sum()) / length

    names: tuple[str, ...] = ()
    part = 0.0
    # No more than it takes to make most: a busy server beside a hog is one of the others.
    for name in sorted(held.users, key=lambda name: -mean(held.users[name].cpu)):
        own = held.users[name]
        if part >= MOST or mean(own.cpu) * length < TAKES * used or mean(own.cpu + own.delay) < RESTLESS:
            break
        names, part = (*names, name), part + mean(own.cpu) * length / used
    if part < MOST:
        return None
    # Who computes with several processes without rest is background too, if nobody waits for an answer.
    rest = {
        name: own
        for name, own in held.users.items()
        if name not in names
        and mean(own.wanted) >= AT_WORK
        and (name in held.servers or own.processes < 1.5 or mean(own.cpu + own.delay) < RESTLESS)
    }
    if not rest:
        return None
    delay, run = (np.sum([getattr(own, what) for own in rest.values()], axis=0) for what in ("delay", "cpu"))
    harmed = tuple(name for name, own in rest.items() if mean(own.delay) >= HARMED * mean(own.cpu))
    return Background(names, part, len(rest), mean(delay), mean(run), harmed)


def held_back(reduction: Reduction, history: Histories) -> Held | None:
    """Every user's waits; ``None`` where no waits of single users were recorded."""
    if history not in _KNOWN:
        _KNOWN[history] = _held_back(reduction, history)
    return _KNOWN[history]


def _held_back(reduction: Reduction, history: Histories) -> Held | None:
    clocks = ("run_delay_us", "cpu_us", "cpu_system_us", "io_delay_us", "page_delay_us")
    exact = ("io_wait_us", "page_wait_us", "file_lock_wait_us", "mutex_wait_us", "throttled_us")
    counters = history.counters("user", '"user"', (*clocks, *exact, "major_faults", "read_bytes"))
    if not any(np.isfinite(own["run_delay_us"]).any() for own in counters.values()):
        return None
    levels = history.levels(
        "user", '"user"', ("tasks_io_wait", "tasks_page_wait", "tasks_lock_wait", "processes")
    )
    groups = _groups(history)
    time_us = reduction.seconds * 1e6
    nothing = np.zeros(len(time_us))
    fault_bytes, of_host = _fault_bytes(reduction), reduction.observations.get("page_share")

    def part(own: dict[str, Floats], name: str) -> Floats:
        return np.asarray(_or_zero(own[name]) / time_us) if name in own else nothing

    users: dict[str, Waits] = {}
    others: dict[str, Waits] = {}
    used = nothing.copy()
    for name, own in counters.items():
        seen = levels.get(name, {})

        def sampled(kind: str, seen: dict[str, Floats] = seen) -> Floats:
            return _or_zero(seen[kind]) if kind in seen else nothing

        cpu = part(own, "cpu_us")
        used = used + cpu
        waits = [
            np.clip(part(own, "run_delay_us"), 0, 1),
            np.clip(_for_io(own, sampled("tasks_io_wait"), time_us), 0, 1),
            np.clip(
                np.maximum(
                    np.maximum(part(own, "page_delay_us"), part(own, "page_wait_us")),
                    sampled("tasks_page_wait"),
                ),
                0,
                1,
            ),
            _for_locks(own, sampled("tasks_lock_wait"), time_us),
        ]
        whole = np.maximum(waits[0] + waits[1] + waits[2] + waits[3], 1.0)
        delay, io, page, lock = (np.asarray(wait / whole) for wait in waits)
        told = bool(np.isfinite(own["io_wait_us"]).any())
        of_pages = nothing if told else _of_pages(own, fault_bytes)
        if of_pages is None and of_host is not None and np.isfinite(of_host).any():
            of_pages = _or_zero(of_host)
        throttled = None
        if np.isfinite(own["throttled_us"]).any():
            # Of the wait for a processor by its own sums: of several threads some may be held back.
            of_delay = _or_zero(own["throttled_us"]) / np.maximum(_or_zero(own["run_delay_us"]), 1)
            throttled = np.asarray(delay * np.clip(of_delay, 0, 1))
        count = seen.get("processes")
        processes = float(np.nanmean(count)) if count is not None and np.isfinite(count).any() else 0.0
        place = others if name.startswith("_") else users
        place[name] = Waits(
            cpu,
            part(own, "cpu_system_us"),
            delay,
            io,
            page,
            lock,
            _standby(sampled("tasks_lock_wait")),
            groups.get(name, ""),
            processes,
            None if of_pages is None else np.asarray(io * of_pages),
            throttled,
        )
    sources = {
        "delay": ("run_delay_us",),
        "io": ("io_delay_us", "io_wait_us", "tasks_io_wait"),
        "page": ("page_delay_us", "page_wait_us", "tasks_page_wait"),
        "lock": ("tasks_lock_wait", "file_lock_wait_us"),
    }
    recorded = {
        name
        for courses in (*counters.values(), *levels.values())
        for name, course in courses.items()
        if np.isfinite(course).any()
    }
    known = frozenset(kind for kind, names in sources.items() if recorded & set(names))
    return Held(users, others, used, known, _servers(history))


def _or_zero(values: Floats) -> Floats:
    """The values, 0 where missing. `nan_to_num` also looks for infinite ones, in three times the time."""
    return np.where(np.isnan(values), 0.0, values)


def _for_io(own: dict[str, Floats], sampled: Floats, time_us: Floats) -> Floats:
    """Part of the time that a user waits for devices, pages that it misses not among it where the kernel told
    that: the clock of delays and the state of a task do not tell a page from a file."""
    told = own["io_wait_us"]
    if np.isfinite(told).any():
        return np.asarray(_or_zero(told) / time_us)
    return np.asarray(np.maximum(_or_zero(own["io_delay_us"]) / time_us, sampled))


def _for_locks(own: dict[str, Floats], sampled: Floats, time_us: Floats) -> Floats:
    """Part of the time that a user waits for locks: on files, as the kernel told it or as tasks were seen
    waiting; and between threads, where it told that.

    Of many threads some may wait for a lock while the others get on: they hold the user back by their part of
    what all of them did.
    """
    files = own["file_lock_wait_us"]
    if not np.isfinite(files).any():
        return np.asarray(np.clip(sampled - _standby(sampled), 0, 1))

    def part(name: str) -> Floats:
        return np.asarray(_or_zero(own[name]) / time_us)

    mutex = part("mutex_wait_us")
    others = ("cpu_us", "run_delay_us", "io_wait_us", "page_wait_us", "file_lock_wait_us")
    whole = mutex + np.sum([part(name) for name in others], axis=0)
    between = np.minimum(whole, 1) * mutex / np.maximum(whole, 1e-9)
    return np.asarray(np.clip(part("file_lock_wait_us") - _standby(sampled) + between, 0, 1))


def _fault_bytes(reduction: Reduction) -> Floats:
    """Bytes that a major fault brings: a page, or as many as swap reads ahead."""
    page = float(reduction.settings.page_bytes)
    rates = [reduction.observations.get(name) for name in ("swap_in_rate", "major_fault_rate")]
    if any(rate is None for rate in rates):
        return np.full(len(reduction.seconds), page)
    pages, faults = (_or_zero(np.asarray(rate, dtype=np.float64)) for rate in rates)
    return np.asarray(page * np.maximum(pages / np.maximum(faults, 1.0), 1.0))


def _of_pages(own: dict[str, Floats], fault_bytes: Floats) -> Floats | None:
    """Part of what a user read that is pages; where it read nothing, its usual part."""
    faults, read = own["major_faults"], own["read_bytes"]
    if not np.isfinite(faults).any() or not np.isfinite(read).any():
        return None
    paged, read = _or_zero(faults) * fault_bytes, _or_zero(read)
    total = float(read.sum())
    usual = min(1.0, float(paged.sum()) / total) if total > 0 else float(paged.sum() > 0)
    return np.asarray(np.clip(np.where(read > 0, paged / np.maximum(read, 1.0), usual), 0, 1))


def _standby(waiting: Floats) -> float:
    """Waiting processes whose number never changes."""
    least = float(waiting.min()) if len(waiting) else 0.0
    return least if least >= 0.99 and float(waiting.max()) <= 1.01 * least else 0.0


def _servers(history: Histories) -> frozenset[str]:
    rows = history.connection.execute(
        'SELECT DISTINCT "user" FROM task WHERE waiting_requests > 0 AND "user" IS NOT NULL'
    ).fetchall()
    return frozenset(str(user) for (user,) in rows)


def _groups(history: Histories) -> dict[str, str]:
    """The limited control group that each user was in most of the time."""
    rows = history.connection.execute(
        'SELECT "user", mode(cgroup) FROM "user" WHERE cgroup IS NOT NULL GROUP BY "user"'
    ).fetchall()
    return {str(user): str(group) for user, group in rows if group is not None}


def listed(names: list[str], kind: str = "user") -> str:
    """Names in words: "user a", "users a, b, c and 4 more"."""
    if not names:
        return f"no {kind}"
    shown = names[:MOST_NAMED]
    rest = len(names) - len(shown)
    text = f"{kind}{'s' if len(names) > 1 else ''} {', '.join(shown)}"
    return text + (f" and {rest} more" if rest else "")


def taker_words(takers: list[tuple[str, float, float]]) -> str:
    """Who took the CPU, in words; empty where nobody took much."""
    named = {"_kernel": "the kernel's threads", "_satline": "Satline's own programs"}
    parts: list[str] = []
    for name, part, count in takers[:MOST_NAMED]:
        if part >= TAKES:
            text = f"{named.get(name, f'user {name}')} {'' if parts else 'took '}{part:.0%}"
            text += "" if parts else " of the CPU time used"
            whole = round(count)
            parts.append(text + (f" (about {whole} process{'es' if whole > 1 else ''})" if whole else ""))
    return ", ".join(parts)
