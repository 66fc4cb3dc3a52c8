"""What each upgrade would bring at the heaviest load, by a queueing model of the recording.

The share of a wait tells who waits, not what would help: paging devices are full both where they are slow and
where storage is too small, and storage is full both where users are too many and where it is too little. So
the system in queue is modelled as a closed network [Bard] with the demands that the recording shows, and each
upgrade is put to it; the greatest gain tells the bottleneck.

Page reads per unit of work are of two kinds. Those that steals from users in queue cause fall with the
multiprogramming level, as the steals do over the loads seen; the others bring back the pages of users who
were not in queue, and fall only where storage has room for more of these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from satline.diagnosis._hinge import Floats
from satline.reduction import Reduction

STEP = 1.5
ADMISSION = (STEP, STEP**3)
KINDS = ("processor", "storage", "paging", "files", "admit more", "admit fewer")

# What page steals grow with beyond the levels seen: each user in queue takes from every other.
# And what part of the reads steals cause at least, for the levels beyond. Tuned on pairs 0-45 and 2000-2016
# of benches/confusion (of 0.02, 0.05, 0.1 and 0.2), as is the lower end of FIT.
STEAL_POWER = 2.0
LEAST_STOLEN = 0.05
# A model further off than this from the work that was measured tells nothing.
FIT = (0.65, 1.25)
LEAST_CLASSES = 4
# Where steals cause so large a part of the reads, what paging devices would bring is overstated: users who
# get their pages sooner take each other's sooner. Set on pairs 4000-4299, so that most of what was
# confidently wrong there is left undecided; some drums brought less still.
STEALING = 0.4
SURE_OF_PAGING = 0.4
# What a pack's next type is faster by, roughly: 3330 to 3350 1.2 times, 3350 to 3380 1.4 times.
NEWER = 1.25


def gains(reduction: Reduction) -> Mapping[str, float] | None:
    """Part by which each upgrade would raise the work done at the heaviest load.

    Half as much again of processor speed, of main storage, of paging devices (the fast tier, or the slow) or
    of devices for files (or all used alike); admission of more, or of fewer, at once. ``None`` unless the
    recording is of a virtual-machine system that counts what the model needs, and the model comes near the
    work that was measured.
    """
    seen = Observed.of(reduction)
    if seen is None:
        return None
    model = _Model(seen)
    base = model.work(_Change())
    if not FIT[0] <= base / seen.work <= FIT[1]:
        return None
    found = {
        kind: max(model.work(change) for change in changes) / base - 1
        for kind, changes in _changes(seen).items()
    }
    # What was lost from the peak comes back as far as steals from users in queue took it.
    lost = seen.stolen * (seen.peak / seen.work - 1)
    return {**found, "admit fewer": max(found["admit fewer"], lost)}


def sure_part(reduction: Reduction) -> Mapping[str, float]:
    """What part of its gain each upgrade would bring at least, where that is not the whole."""
    seen = Observed.of(reduction)
    stealing = seen is not None and seen.stolen >= STEALING
    return {"paging": SURE_OF_PAGING} if stealing else {}


@dataclass(frozen=True)
class Station:
    """A device: seconds per unit of work, the part of them that is paging, and whether it is of the fast
    tier."""

    demand: float
    paging: float
    fast: bool


@dataclass(frozen=True)
class Observed:
    """What the recording shows at the heaviest load, and over the loads.

    work
        Processors in problem state; demands are seconds per processor-second of it.
    level, eligible, thinking
        Users in queue, held back by admission, and between transactions.
    demanded
        Storage demanded by users in queue and eligible, in parts of storage; ``None`` if not recorded.
    reads, stolen
        Pages read per unit of work, and the part of them that steals from users in queue caused.
    fast_share, overflow
        Part of paging that the fast tier carries; pages on slower tiers for each page on it.
    peak
        Most work done at any load.
    supervisor_per_read
        Supervisor seconds that go with a page read, by regression over the loads.
    loads, levels, steals, others
        Over the classes: users; level; steals, and other reads, per unit of work.
    """

    work: float
    peak: float
    level: float
    eligible: float
    thinking: float
    demanded: float | None
    processors: float
    supervisor: float
    supervisor_per_read: float
    reads: float
    stolen: float
    fast_share: float
    fast_devices: int
    overflow: float
    stations: tuple[Station, ...]
    loads: Floats
    levels: Floats
    steals: Floats
    others: Floats

    @classmethod
    def of(cls, reduction: Reduction) -> Observed | None:
        """``None`` where something is missing that the model needs."""

        def course(name: str) -> Floats | None:
            curve = reduction.curves.get(name)
            if curve is None or any(p.mean is None for p in curve.points):
                return None
            return np.array([p.mean for p in curve.points], dtype=np.float64)

        def last(name: str) -> float | None:
            values = course(name)
            return None if values is None else float(values[-1])

        names = ("problem_state", "supervisor_state", "mpl_exact", "user_eligible", "users_in_transaction")
        found = [course(n) for n in (*names, "logged_on", "swap_in_rate", "in_queue_steal_rate")]
        if len(reduction.classes) < LEAST_CLASSES or any(values is None for values in found):
            return None
        work, supervisor, level, eligible, inside, logged_on, reads, steals = (
            values for values in found if values is not None
        )
        if not (work > 0).all() or not level[-1] > 0:
            return None
        steals = np.minimum(steals, reads)
        stations, share, fast, overflow = _stations(reduction, last, float(work[-1]))
        if not stations:
            return None
        return cls(
            work=float(work[-1]),
            peak=float(work.max()),
            level=float(level[-1]),
            eligible=float(eligible[-1]),
            thinking=max(0.0, float(logged_on[-1] - inside[-1])),
            demanded=last("storage_demanded_fraction"),
            processors=last("capacity_processors") or 1.0,
            supervisor=float(supervisor[-1] / work[-1]),
            supervisor_per_read=_slope(reads / work, supervisor / work, work),
            reads=float(reads[-1] / work[-1]),
            stolen=float(steals[-1] / max(reads[-1], 1e-9)),
            fast_share=share,
            fast_devices=fast,
            overflow=overflow,
            stations=stations,
            loads=np.array([c.midpoint for c in reduction.classes]),
            levels=level,
            steals=steals / work,
            others=np.maximum.accumulate((reads - steals) / work),
        )


def _stations(
    reduction: Reduction, last: Callable[[str], float | None], work: float
) -> tuple[tuple[Station, ...], float, int, float]:
    """Devices with their demands (utilization law: busy = work × demand); the fast tier's share of paging,
    how many devices it has, and how many pages overflow for each that it holds."""
    prefix = "device_busy:"
    busy = {n.removeprefix(prefix): last(n) for n in reduction.curves if n.startswith(prefix)}
    priority = {d: p for d in busy if (p := last(f"device_priority:{d}")) is not None}
    best = max(priority.values(), default=0.0)
    rate = {d: last(f"device_rate:{d}") or 0.0 for d in priority}
    fast = {d for d, p in priority.items() if p == best}
    slow_rate = sum(r for d, r in rate.items() if d not in fast)
    # A slow device may hold files too: of its requests, paging makes what the fast tier did not take.
    left = (last("paging_sio_rate") or 0.0) - sum(rate[d] for d in fast)
    slow = min(1.0, max(0.0, left) / slow_rate) if slow_rate > 0 else 0.0
    slow = round(slow, 2)  # rates that should agree do so only nearly: no file is on a device of paging alone
    share = last("fast_paging_share")
    part = {d: 1.0 if d in fast else slow for d in priority}
    stations = tuple(
        Station(value / work, part.get(device, 0.0), device in fast)
        for device, value in busy.items()
        if value is not None
    )
    used = {d: last(f"device_used:{d}") or 0.0 for d in priority}
    held = sum(used[d] for d in fast)
    overflow = (sum(used.values()) - held) / held if held > 0 else 0.0
    return stations, 1.0 if share is None else float(share), len(fast), overflow


def _slope(x: Floats, y: Floats, weight: Floats) -> float:
    """Slope of a weighted regression, at least 0; without the lightest load, which nothing competes in."""
    x, y, weight = x[1:], y[1:], weight[1:]
    dx, dy = x - np.average(x, weights=weight), y - np.average(y, weights=weight)
    spread = float((weight * dx * dx).sum())
    return max(0.0, float((weight * dx * dy).sum()) / spread) if spread > 0 else 0.0


@dataclass(frozen=True)
class _Change:
    """What is changed.

    processor, storage, admission
        By what factor.
    fast, slow, packs
        Devices added to the fast tier of paging, to the slow, and for files.
    newer_slow, newer_files
        By what factor the devices of the slow tier, or those that hold files, are faster.
    level
        Files are spread evenly.
    """

    processor: float = 1.0
    storage: float = 1.0
    admission: float = 1.0
    fast: int = 0
    slow: int = 0
    packs: int = 0
    newer_slow: float = 1.0
    newer_files: float = 1.0
    level: bool = False


def _changes(seen: Observed) -> dict[str, list[_Change]]:
    """Each upgrade; of several ways to do it the best counts."""

    def more(devices: int) -> int:
        return math.ceil(STEP * devices) - devices

    slow = sum(not s.fast and s.paging > 0 for s in seen.stations)
    packs = sum(s.paging == 0 for s in seen.stations)
    return {
        "processor": [_Change(processor=STEP)],
        "storage": [_Change(storage=STEP)],
        "paging": [
            _Change(fast=more(seen.fast_devices)),
            _Change(slow=more(slow)),
            _Change(newer_slow=NEWER),
        ],
        "files": [_Change(packs=more(packs)), _Change(newer_files=NEWER), _Change(level=True)],
        "admit more": [_Change(admission=factor) for factor in ADMISSION],
        "admit fewer": [_Change(admission=1 / factor) for factor in ADMISSION],
    }


class _Model:
    """The users in queue at the processors and the devices."""

    def __init__(self, seen: Observed) -> None:
        self.seen = seen
        self.steals = np.maximum.accumulate(seen.steals[np.argsort(seen.levels)])
        self.levels = np.sort(seen.levels)

    def work(self, change: _Change) -> float:
        """Work done after a change: the level at which reads, and so demands, and so the level agree."""
        seen = self.seen
        # Where nobody is held back, admission binds only once what it projects exceeds storage.
        free = 1.0 if seen.eligible > 0.3 else min(1.0, max(seen.demanded or 1.0, 0.05))
        most = seen.level * change.storage * change.admission / free
        users = seen.level + seen.eligible + seen.thinking
        think = seen.thinking / seen.work
        level = min(seen.level, most)
        found = 0.0
        for _ in range(60):
            demands = self._demands(change, self._reads(level, change.storage) / max(seen.reads, 1e-9))
            found, inside = schweitzer(demands, think, users)
            if inside > most:
                found, inside = schweitzer(demands, 0.0, most)
            if abs(inside - level) < 1e-3 * level:
                break
            level = 0.5 * (level + inside)
        return found

    def _reads(self, level: float, storage: float) -> float:
        """Page reads per unit of work with so many in queue and so much storage."""
        seen = self.seen
        stolen, each = max(seen.stolen, LEAST_STOLEN), level / storage
        if each > seen.level:
            steals = (each / seen.level) ** STEAL_POWER
        else:
            now = float(np.interp(seen.level, self.levels, self.steals))
            steals = float(np.interp(each, self.levels, self.steals)) / now if now > 0 else 1.0
        # As much storage for each user, in queue or not, as at a load that was so much lighter.
        lighter = float(np.interp(seen.loads[-1] / storage, seen.loads, seen.others))
        others = lighter / seen.others[-1] if seen.others[-1] > 0 else 1.0
        return float(seen.reads * ((1 - stolen) * others + stolen * steals))

    def _demands(self, change: _Change, reads: float) -> Floats:
        """Seconds per unit of work at the processors and at each device; `reads`: times those measured."""
        seen = self.seen
        supervisor = max(0.0, seen.supervisor + seen.supervisor_per_read * seen.reads * (reads - 1))
        processors = (1.0 + supervisor) / change.processor / seen.processors
        room = change.fast / max(1, seen.fast_devices)
        # Pages of the slow tier that now find room on the fast one.
        taken = min(1.0, room / seen.overflow) if seen.overflow > 0 else 0.0
        into_fast = 1 + taken * (1 - seen.fast_share) / max(seen.fast_share, 1e-9)
        fast = np.array([s.demand for s in seen.stations if s.fast]) * reads * into_fast
        others = [s for s in seen.stations if not s.fast]
        paging = np.array([s.demand * s.paging for s in others]) * reads * (1 - taken)
        files = np.array([s.demand * (1 - s.paging) for s in others])
        holds = np.array([s.paging < 1 for s in others], dtype=bool)
        slow = np.array([s.paging > 0 for s in others], dtype=bool)
        if change.level and holds.any():
            files[holds] = files[holds].mean()
        files, new_packs = _spread(files, holds, change.packs)
        whole = files + paging
        whole[slow] /= change.newer_slow
        whole[holds] /= change.newer_files
        whole, new_slow = _spread(whole, slow, change.slow)
        fast, new_fast = _spread(fast, np.ones(len(fast), dtype=bool), change.fast)
        return np.concatenate([[processors], fast, new_fast, whole, new_slow, new_packs])


def _spread(demands: Floats, which: NDArray[np.bool_], more: int) -> tuple[Floats, Floats]:
    """Demands when some of the devices share theirs with so many new ones; and those of the new."""
    count = int(which.sum())
    if not more or not count:
        return demands, np.zeros(0)
    left = np.where(which, demands * count / (count + more), demands)
    return left, np.full(more, float(left[which].mean()))


def schweitzer(demands: Floats, think: float, users: float) -> tuple[float, float]:
    """Work done by, and users at the stations of, a closed network of one class.

    Bard–Schweitzer: an arrival finds (N − 1)/N of the mean queue, R = D (1 + Q (N − 1)/N). `users` may be a
    mean, and so no whole number.
    """
    queues = np.full(len(demands), users / len(demands))
    part = max(0.0, users - 1) / max(users, 1e-9)
    work = 0.0
    for _ in range(500):
        waits = demands * (1 + part * queues)
        work = users / (think + float(waits.sum()))
        after = work * waits
        done = float(np.abs(after - queues).max()) < 1e-4 * max(1.0, users)
        queues = after
        if done:
            break
    return work, float(queues.sum())
