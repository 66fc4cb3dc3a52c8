"""What the model of the upgrades needs of a recording of a virtual-machine system."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from satline.diagnosis._hinge import Floats
from satline.reduction import Reduction

LEAST_CLASSES = 4
# A level below this says nothing of who competes for storage.
LEAST_LEVEL = 0.3
# Rates that should agree do so only nearly: a device so near to paging alone holds no files.
ALONE = 0.995
# A device without arms: its path is held for at least this part of a request's service; with arms, a tenth.
NO_ARM = 0.2
# Types of disk, each replaced by the next (3330, 3350, 3380): bytes per second, and mean seek with half a
# revolution, s, as in machines/devices. A disk is of the type whose rate is within a factor of ALIKE of its
# own; of others the next is roughly NEWER times as fast.
DISKS = ((806e3, 0.03835), (1198e3, 0.0334), (3e6, 0.0243))
ALIKE, NEWER = 1.35, 1.25


@dataclass(frozen=True)
class Station:
    """A device, in seconds per unit of work.

    reads, writes, files
        That page reads, page writes, and users' own I/Os hold it. Nobody waits for a page write.
    latency
        That users wait for a page to come under its head while it serves others: a drum with exposures.
    fast, slow
        It pages, and is of the fast tier, or of another.
    holds
        It holds files.
    newer
        By what factor its next type is faster.
    """

    reads: float
    writes: float
    files: float
    latency: float
    fast: bool
    slow: bool
    holds: bool
    newer: float


@dataclass(frozen=True)
class Observed:
    """What the recording shows at the heaviest load, and over the loads.

    work
        Processors in user mode; demands are seconds per processor-second of it.
    level, eligible, thinking
        Users in queue, held back by admission, and between transactions.
    demanded
        Storage demanded by users in queue and eligible, in parts of storage; ``None`` if not recorded.
    waits
        Seconds per unit of work that users run or wait for a processor (processor), wait for pages (page) and
        for other I/O (files); what was not recorded is missing.
    supervisor_per_read
        Supervisor seconds that go with a page read, by regression over the loads.
    reads, stolen
        Pages read per unit of work, and the part of them that steals from users in queue caused.
    fast_share, fast_devices, overflow
        Part of paging that the fast tier carries; its devices; pages on slower tiers for each page on it.
    peak
        Most work done at any load.
    stuck
        Users in queue who wait for a page from a slow tier.
    loads, works, competing, steals, others
        Over the classes: users; work; users in queue who are not stuck; steals, and other reads, per unit of
        work.
    occupied
        Part of users' storage that users in queue hold; ``None``: not recorded.
    """

    work: float
    level: float
    eligible: float
    thinking: float
    demanded: float | None
    waits: dict[str, float]
    processors: float
    supervisor: float
    supervisor_per_read: float
    reads: float
    stolen: float
    fast_share: float
    fast_devices: int
    overflow: float
    peak: float
    stations: tuple[Station, ...]
    stuck: float
    loads: Floats
    works: Floats
    competing: Floats
    steals: Floats
    others: Floats
    occupied: float | None

    @property
    def lost(self) -> float:
        """Work that steals took from the most that was done at any load, in parts of that done now."""
        return self.stolen * (self.peak / self.work - 1)

    @property
    def freed(self) -> float:
        """Part by which full processors would do more work without the reads that steals cause."""
        for_steals = min(self.stolen * self.reads * self.supervisor_per_read, self.supervisor)
        return for_steals / (1 + self.supervisor - for_steals)

    @classmethod
    def of(cls, reduction: Reduction) -> Observed | None:
        """``None`` where something is missing that the model needs."""
        seen = _Curves(reduction)
        names = ("problem_state", "supervisor_state", "mpl_exact", "user_eligible", "users_in_transaction")
        found = [seen.course(n) for n in (*names, "logged_on", "swap_in_rate", "in_queue_steal_rate")]
        if len(reduction.classes) < LEAST_CLASSES or any(values is None for values in found):
            return None
        work, supervisor, level, eligible, inside, logged_on, reads, steals = (
            values for values in found if values is not None
        )
        if not (work > 0).all() or not level[-1] > 0:
            return None
        steals = np.minimum(steals, reads)
        stations, fast_devices, overflow = _stations(seen, float(work[-1]))
        if not stations:
            return None
        stuck = _stuck(seen)
        return cls(
            work=float(work[-1]),
            level=float(level[-1]),
            eligible=float(eligible[-1]),
            thinking=max(0.0, float(logged_on[-1] - inside[-1])),
            demanded=seen.last("storage_demanded_fraction"),
            waits=_waits(seen, float(work[-1])),
            processors=seen.last("capacity_processors") or 1.0,
            supervisor=float(supervisor[-1] / work[-1]),
            supervisor_per_read=_slope(reads / work, supervisor / work, work),
            reads=float(reads[-1] / work[-1]),
            stolen=float(steals[-1] / max(reads[-1], 1e-9)),
            fast_share=seen.at("fast_paging_share", missing=1.0),
            fast_devices=fast_devices,
            overflow=overflow,
            peak=float(work.max()),
            stations=stations,
            stuck=float(stuck[-1]),
            loads=np.array([c.midpoint for c in reduction.classes]),
            works=work,
            competing=np.maximum(level - stuck, LEAST_LEVEL),
            steals=steals / work,
            others=np.maximum.accumulate((reads - steals) / work),
            occupied=_occupied(seen, level),
        )


class _Curves:
    """Class means by name."""

    def __init__(self, reduction: Reduction) -> None:
        self.curves = reduction.curves
        self.classes = len(reduction.classes)
        prefix = "device_busy:"
        self.devices = [n.removeprefix(prefix) for n in self.curves if n.startswith(prefix)]
        priority = {d: p for d in self.devices if (p := self.last(f"device_priority:{d}")) is not None}
        best = max(priority.values(), default=0.0)
        self.fast = {d for d, p in priority.items() if p == best}
        self.slow = set(priority) - self.fast

    def course(self, name: str) -> Floats | None:
        curve = self.curves.get(name)
        if curve is None or any(p.mean is None for p in curve.points):
            return None
        return np.array([p.mean for p in curve.points], dtype=np.float64)

    def last(self, name: str) -> float | None:
        curve = self.curves.get(name)
        return None if curve is None else curve.points[-1].mean

    def at(self, name: str, k: int = -1, missing: float = 0.0) -> float:
        curve = self.curves.get(name)
        mean = None if curve is None else curve.points[k].mean
        return missing if mean is None else float(mean)

    def paging_part(self, device: str, k: int = -1) -> float:
        """Part of a device's requests that carry pages."""
        if device not in self.fast | self.slow:
            return 0.0
        rate = self.at(f"device_rate:{device}", k)
        part = self.at(f"device_paging_rate:{device}", k, missing=rate) / rate if rate > 0 else 1.0
        return 1.0 if part > ALONE else part

    def read_part(self, device: str, k: int = -1) -> float:
        """Part of the pages carried that are read."""
        reads = self.at(f"device_page_in_rate:{device}", k)
        both = reads + self.at(f"device_page_out_rate:{device}", k)
        return reads / both if both > 0 else 1.0


def _waits(seen: _Curves, work: float) -> dict[str, float]:
    """Users' waits per unit of work, by Little's law from how many wait."""
    parts = {
        "processor": ("user_run", "user_cpu_wait"),
        "page": ("user_page_wait",),
        "files": ("user_io_wait",),
    }
    known = {kind: [seen.last(name) for name in names] for kind, names in parts.items()}
    return {
        kind: sum(value for value in values if value is not None) / work
        for kind, values in known.items()
        if None not in values
    }


def _stations(seen: _Curves, work: float) -> tuple[tuple[Station, ...], int, float]:
    """Devices with their demands (utilization law: busy = work × demand), how many the fast tier has, and how
    many pages overflow for each that it holds."""
    stations = tuple(
        _station(seen, d, work) for d in seen.devices if seen.last(f"device_busy:{d}") is not None
    )
    held = sum(seen.at(f"device_used:{d}") for d in seen.fast)
    slow = sum(seen.at(f"device_used:{d}") for d in seen.slow)
    return stations, len(seen.fast), slow / held if held > 0 else 0.0


def _station(seen: _Curves, device: str, work: float) -> Station:
    demand, latency = seen.at(f"device_busy:{device}") / work, 0.0
    part, read = seen.paging_part(device), seen.read_part(device)
    connect, rate = seen.at(f"device_connect:{device}"), seen.at(f"device_rate:{device}")
    apart = seen.at(f"device_disconnect:{device}") + seen.at(f"device_pend:{device}")
    if device in seen.fast and part == 1.0 and connect > 0 and connect >= NO_ARM * (connect + apart):
        # A drum turns for all its requests at once, or they share one start-I/O: the others wait only while
        # one is on the path.
        demand, latency = connect * rate / work, apart * rate / work * read
    return Station(
        reads=demand * part * read,
        writes=demand * part * (1 - read),
        files=demand * (1 - part),
        latency=latency,
        fast=device in seen.fast,
        slow=device in seen.slow,
        holds=part < 1,
        newer=_newer(seen.at(f"device_bytes:{device}"), rate, connect),
    )


def _newer(moved: float, rate: float, connect: float) -> float:
    """By what factor the next type of a disk is faster, of so many bytes and requests per second and so long
    a connection: t = mean seek + half a revolution + block / transfer rate, of its type and the next.

    Its type is told by its transfer rate, bytes / (requests × connect).
    """
    if not (moved > 0 and rate > 0 and connect > 0):
        return NEWER
    block, transfer = moved / rate, moved / (rate * connect)
    apart = [abs(math.log(transfer / one)) for one, _ in DISKS]
    if min(apart) > math.log(ALIKE):
        return NEWER
    k = apart.index(min(apart))
    if k == len(DISKS) - 1:
        return NEWER
    now, then = (still + block / one for one, still in DISKS[k : k + 2])
    return now / then


def _stuck(seen: _Curves) -> Floats:
    """By class: users who wait for a page from a slow tier; no more than wait for pages at all."""
    stuck = np.array(
        [
            sum(
                seen.at(f"device_queue:{d}", k) * seen.paging_part(d, k) * seen.read_part(d, k)
                for d in seen.slow
                if seen.at(f"device_rate:{d}", k) > 0
            )
            for k in range(seen.classes)
        ],
        dtype=np.float64,
    )
    waiting = seen.course("user_page_wait")
    return stuck if waiting is None else np.minimum(stuck, waiting)


def _occupied(seen: _Curves, level: Floats) -> float | None:
    """Part of the frames for users' pages that users in queue hold at the heaviest load.

    What they do not hold is available; at the lightest load they hold next to nothing: all the frames are
    available + level × what a user held more at the heaviest.
    """
    used, part = seen.course("memory_used"), seen.course("memory_used_fraction")
    if used is None or part is None or not (part > 0).all():
        return None
    available = used / part - used
    held, more = float(available[0] - available[-1]), float(level[-1] - level[0])
    if not (held > 0 and more > 0):
        return None
    frames = float(available[0]) + float(level[0]) * held / more
    return 1 - float(available[-1]) / frames


def _slope(x: Floats, y: Floats, weight: Floats) -> float:
    """Slope of a weighted regression, at least 0; without the lightest load, which nothing competes in."""
    x, y, weight = x[1:], y[1:], weight[1:]
    dx, dy = x - np.average(x, weights=weight), y - np.average(y, weights=weight)
    spread = float((weight * dx * dx).sum())
    return max(0.0, float((weight * dx * dy).sum()) / spread) if spread > 0 else 0.0
