"""What a recording tells of work done and of what it used, one value per observation."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from satline.diagnosis import MOST_ENTITIES, Courses, Histories, mix_changes, work_completed
from satline.prediction._network import Floats
from satline.reduction import Reduction, Source, texts

# Devices made of others: what they are busy with, those are busy with too.
_STACKED = re.compile(r"^(dm-|md|loop|bcache|drbd|zram|nbd\d+p)")
LEAST_BUSY = 1e-4
LEAST_KNOWN = 0.9
ALONE = 0.9
PROCESSORS, QUOTA, CAP = "processors", "quota", "read cap"
DEVICE, SERVER = "device:", "server:"


@dataclass(frozen=True)
class Resource:
    """Something that transactions use.

    name
        ``processors``; ``quota``, the processors that the load may use where that is less; ``read cap``;
        ``device:NAME``; ``server:NAME`` of a user with one busy thread.
    used
        How much of it is in use in each observation: of processors how many, else the part of time.
    capacity
        How much there is.
    own
        The part of `used` that is known to be the load's own; ``None``: not known apart.
    page_share
        Part of `used` that is paging, where it is known of this one; ``None``: as of all reading.
    """

    name: str
    used: Floats
    capacity: float
    own: Floats | None = None
    page_share: Floats | None = None


@dataclass(frozen=True)
class Signals:
    """The observations of a recording that count, NaN where missing.

    load
        Users; number: class of each, −1 for none; batches: blocks that are taken as independent.
    work
        Units of work done per second.
    unit
        What a unit of work is: ``transaction``, or ``second of user time``.
    in_transaction
        Users in a transaction; ``None`` where there are none.
    page_share
        Part of what was read that was paging.
    supervisor
        Processors in system time.
    stolen
        Mean processors that a hypervisor withheld; in `used` of the processors they are counted.
    closed
        The load is the number of users that a study intended.
    by_work
        A unit of work is a transaction of the mix at light load: each counts as what one of its class takes
        there.
    """

    load: Floats
    number: np.ndarray[tuple[int], np.dtype[np.int64]]
    batches: np.ndarray[tuple[int], np.dtype[np.int64]]
    seconds: Floats
    work: Floats
    unit: str
    resources: tuple[Resource, ...]
    in_transaction: Floats | None
    page_share: Floats
    supervisor: Floats
    stolen: float
    closed: bool
    by_work: bool = False

    def between(self, low: float, high: float) -> Signals:
        """Only loads from `low` to `high`."""
        inside = (self.load >= low) & (self.load <= high)
        return replace(self, number=np.where(inside, self.number, -1))

    @property
    def usable(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Observations of a class in which work, and what was used of every resource, are known."""
        good = (self.number >= 0) & np.isfinite(self.work)
        for resource in self.resources:
            good &= np.isfinite(resource.used)
        if self.in_transaction is not None:
            good &= np.isfinite(self.in_transaction)
        return np.asarray(good)


def signals(recording: Source, reduction: Reduction) -> Signals:
    """Take from a reduced recording what a prediction needs."""
    observed = reduction.observations
    rate = observed["transaction_rate"]
    transactions = bool(np.isfinite(rate).any()) and float(np.nansum(rate)) > 0
    stolen = np.nan_to_num(observed["stolen"])
    # Of a simulated machine every user is known, and programs beside them are no users.
    alone = observed["user_run"] if _simulated(recording) else observed["load_cpu"]
    processors = _processors(reduction, observed["total_cpu"] + stolen, alone)
    resources = [] if processors is None else [processors]
    cap = observed["load_read_cap_fraction"]
    if np.isfinite(cap).any():
        resources.append(Resource(CAP, cap, 1.0))
    histories = Histories(recording, reduction)
    resources += _devices(histories, reduction)
    server = _server(histories, reduction)
    resources += [server] if server is not None else []
    return Signals(
        load=reduction.load,
        number=reduction.number,
        batches=reduction.batches,
        seconds=reduction.seconds,
        work=rate if transactions else observed["problem_state"],
        unit="transaction" if transactions else "second of user time",
        resources=tuple(resources),
        in_transaction=observed["users_in_transaction"] if transactions else None,
        page_share=observed["page_share"],
        supervisor=observed["supervisor_state"],
        stolen=float(stolen.mean()) if len(stolen) else 0.0,
        closed=reduction.load_axis == "users",
    )


def counted_by_work(found: Signals, reduction: Reduction) -> Signals:
    """The same with transactions counted by their work where that tells more; else as it was.

    Beyond saturation short commands go on completing where the scheduler serves them first. The mean
    transaction that completes then needs ever less, and a model of it carries ever more users.
    """
    work = work_completed(reduction) if found.closed and found.in_transaction is not None else None
    if work is None or not mix_changes(reduction, work):
        return found
    here = (found.number >= 0) & np.isfinite(work) & np.isfinite(found.work)
    levels = np.unique(found.number[here])
    light = here & np.isin(found.number, levels[: max(1, len(levels) // 3)])
    done = float((found.work * found.seconds)[light].sum())
    brought = float((work * found.seconds)[light].sum())
    if done <= 0 or brought <= 0:
        return found
    return replace(found, work=work * (done / brought), by_work=True)


def _simulated(recording: Source) -> bool:
    return bool(recording.description.get("system_under_test", {}).get("kind") == "simulated")


def _processors(reduction: Reduction, total: Floats, own: Floats) -> Resource | None:
    """The processors; where a quota gives the load less, what it has of them, without the rest."""
    observed, settings = reduction.observations, reduction.settings
    capacity = observed["capacity_processors"]
    if not (np.isfinite(total).any() and np.isfinite(capacity).any()):
        return None
    room = float(np.nanmedian(capacity))
    known = float(np.isfinite(own[np.isfinite(total)]).mean()) >= LEAST_KNOWN
    count = len(settings.processors) if settings.processors else settings.host_processors
    limited = room < count - 1e-6 if count else room != round(room)
    if limited and known:
        return Resource(QUOTA, own, room, own)
    return Resource(PROCESSORS, total, room, own if known else None)


def _devices(histories: Histories, reduction: Reduction) -> list[Resource]:
    """Devices that are known throughout and ever busy; those that are made of others only where there are no
    plain ones."""
    rows = histories.connection.execute("SELECT column_name FROM (DESCRIBE device)").fetchall()
    apart = {"requests", "paging_requests"} <= {name for (name,) in rows}
    counters = ("busy_us", "requests", "paging_requests") if apart else ("busy_us",)
    found = []
    for name, course in sorted(_courses(histories, counters).items()):
        busy = np.minimum(course["busy_us"] / 1e6 / reduction.seconds, 1.0)
        # A device that was there for a part of the recording only cannot be held against all of the work.
        if np.isfinite(busy).mean() >= LEAST_KNOWN and float(np.nanmean(busy)) >= LEAST_BUSY:
            share = course["paging_requests"] / np.maximum(course["requests"], 1) if apart else None
            known = share is not None and np.isfinite(share).mean() >= LEAST_KNOWN
            found.append(Resource(DEVICE + name, busy, 1.0, page_share=share if known else None))
    plain = [r for r in found if not _STACKED.match(r.name.removeprefix(DEVICE))]
    return plain or found


def _courses(histories: Histories, counters: tuple[str, ...]) -> Courses:
    """The counters of all devices: histories give those of so many at a time. A swap area that knows no busy
    time is a part of a device that does."""
    kinds = "device_kind IN ('block', 'swap')"
    rows = histories.connection.execute(f"SELECT DISTINCT device FROM device WHERE {kinds}").fetchall()
    names = sorted(name for (name,) in rows if name is not None)
    found: Courses = {}
    for start in range(0, len(names), MOST_ENTITIES):
        some = texts(tuple(names[start : start + MOST_ENTITIES]))
        found |= histories.counters("device", "device", counters, f"{kinds} AND device IN ({some})")
    return found


def _server(histories: Histories, reduction: Reduction) -> Resource | None:
    """The user whose one thread is the busiest at the heaviest load, and is there at other loads too.

    Its time is that of the whole user, which is known at every load; threads are recorded only while busy.
    """
    top = max((t.load_class for t in reduction.tasks), default=0)
    busiest = max((t for t in reduction.tasks if t.load_class == top), key=lambda t: t.cpu, default=None)
    if busiest is None or len({t.load_class for t in reduction.tasks if t.tid == busiest.tid}) < 2:
        return None
    name = texts((busiest.user,))
    course = histories.counters("user", "user", ("cpu_us",), f'"user" = {name}').get(busiest.user)
    if course is None:
        return None
    used = course["cpu_us"] / 1e6 / reduction.seconds
    here = used[(reduction.number == top) & np.isfinite(used)]
    if np.isfinite(used).mean() < LEAST_KNOWN or not len(here) or busiest.cpu < ALONE * float(here.mean()):
        return None
    return Resource(SERVER + busiest.user, used, 1.0)
