"""What each upgrade would bring at the heaviest load, by a queueing model of the recording.

The share of a wait tells who waits, not what would help: paging devices are full both where they are slow and
where storage is too small, and storage is full both where users are too many and where it is too little. So
the system in queue is modelled as a closed network [Bard] with the demands that the recording shows, and each
upgrade is put to it; the greatest gain tells the bottleneck.

The model is held to the waits that were measured. Where users wait longer than it says, the rest is a delay
that grows with the level; where they wait less, its stations are faster. Nobody waits for a page write, but
it holds the device. A drum turns for all its requests at once, so that only its path is a station. Users who
wait for a slow tier of paging lose their pages and take none: they do not compete for storage. But where more
are admitted, all of them count: what they come to hold of storage tells what they steal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from operator import sub

import numpy as np
from numpy.typing import NDArray

from satline.diagnosis._hinge import Floats
from satline.diagnosis._observed import LEAST_LEVEL, Observed
from satline.diagnosis._steals import Steals
from satline.reduction import Reduction

STEP = 1.5
ADMISSION = (STEP, STEP**3)
KINDS = ("processor", "storage", "paging", "files", "admit more", "admit fewer")

# A model further off than this from the work that was measured tells nothing.
FIT = (0.65, 1.25)
# Admission lets in whole users, in order: so many working sets of room are left by the next one, who does
# not fit; with room for hardly two the second gets in now and then. The first is let in unasked, so that
# below ALONE the level does not tell how much room there is. Set on the levels simulated with more storage,
# and admission of more, on the pairs 4000-4299 and 5000-5092 with a level under 4.
UNUSED, SMOOTH, ALONE = 1.0, 0.3, 1.2
# A station is at most so much faster than measured, and held by writes for at most so much of the time.
FASTEST, MOST_WRITING = 0.2, 0.95
# Fewer held back than this are as good as none.
FREE = 0.3
_ROUNDS = 80

# Standard error of a modelled gain: a fixed part, and a part of the gain. The scatter (of Student's t with 3
# degrees of freedom, so that a few far off do not decide) against the gains that were bought on pairs
# 4000-4299 and 5000-5092 of benches/confusion. What admission of fewer brings is also in error where the
# model sees no gain: it hardly knows how far a system that thrashes comes back.
ERRORS: Mapping[str, tuple[float, float]] = {
    "processor": (0.005, 0.35),
    "storage": (0.003, 0.5),
    "paging": (0.01, 0.3),
    "files": (0.01, 0.15),
    "admit more": (0.003, 0.6),
    "admit fewer": (0.06, 0.35),
}
# What a system that steals pages has lost may come back in part by whatever eases the wait for pages, or not:
# standard error in parts of what was lost. OVERHEAD: of what admission of fewer brings, in parts of what the
# processors would do more without the steals and that the model does not see come back. Both by the scatter
# on pairs 7000-7149, and so that few of them are undecided for it.
LOST: Mapping[str, float] = {"storage": 0.12, "paging": 0.2, "files": 0.12}
OVERHEAD = 0.3
# Errors that go together, by rank on the same pairs where both gains are above 0.1: packs of the slow tier
# hold files too, and more storage lets in more users.
TOGETHER: Mapping[tuple[str, str], float] = {("paging", "files"): 0.4, ("storage", "admit more"): 0.5}


def gains(reduction: Reduction) -> Mapping[str, float] | None:
    """Part by which each upgrade would raise the work done at the heaviest load.

    Half as much again of processor speed, of main storage, of paging devices (the fast tier, or the slow) or
    of devices for files (or all used alike); admission of more, or of fewer, at once. ``None`` unless the
    recording is of a virtual-machine system that counts what the model needs, and the model comes near the
    work that was measured.
    """
    fitted = _fitted(reduction)
    if fitted is None:
        return None
    model, base = fitted
    seen = model.seen
    found = {
        kind: max(model.work(change) for change in changes) / base - 1
        for kind, changes in _changes(seen).items()
    }
    # What was lost from the peak comes back as far as steals from users in queue took it.
    return {**found, "admit fewer": max(found["admit fewer"], seen.lost)}


def joint_gains(reduction: Reduction) -> Mapping[tuple[str, str], float]:
    """Part by which two upgrades at once would raise the work done at the heaviest load, by pairs of kinds.

    Admission of fewer is left out: what comes back of what thrashing took is no matter of this model alone.
    Empty where `gains` tells nothing.
    """
    fitted = _fitted(reduction)
    if fitted is None:
        return {}
    model, base = fitted
    ways = _changes(model.seen)
    return {
        (one, other): max(model.work(a.with_(b)) for a in ways[one] for b in ways[other]) / base - 1
        for one, other in combinations([kind for kind in KINDS if kind != "admit fewer"], 2)
    }


def joint_error(kinds: tuple[str, str], gain: float) -> float:
    """Standard error of what two upgrades bring at once: as of the one that is known worse. What was set on
    bought gains was set on single ones."""
    return max(ERRORS[kind][0] for kind in kinds) + max(ERRORS[kind][1] for kind in kinds) * abs(gain)


def _fitted(reduction: Reduction) -> tuple[_Model, float] | None:
    """A model and the work it does as it is; ``None`` where it is too far from what was measured."""
    seen = Observed.of(reduction)
    if seen is None:
        return None
    model = _Model(seen)
    base = model.work(_Change())
    return (model, base) if FIT[0] <= base / seen.work <= FIT[1] else None


def errors(told: Mapping[str, float], reduction: Reduction) -> Mapping[str, float]:
    """Standard errors of these gains; greater where steals took much of the work, or of the processors."""
    found = {kind: ERRORS[kind][0] + ERRORS[kind][1] * abs(gain) for kind, gain in told.items()}
    seen = Observed.of(reduction)
    if seen is None:
        return found
    for kind in LOST.keys() & found.keys():
        found[kind] += LOST[kind] * seen.lost
    if "admit fewer" in found:
        found["admit fewer"] += OVERHEAD * max(0.0, seen.freed - told["admit fewer"])
    return found


@dataclass(frozen=True)
class _Change:
    """What is changed.

    processor, storage, admission
        By what factor.
    fast, slow, packs
        Devices added to the fast tier of paging, to the slow, and for files.
    newer_slow, newer_files
        The devices of the slow tier, or those that hold files, are of the next type.
    level
        Files are spread evenly.
    """

    processor: float = 1.0
    storage: float = 1.0
    admission: float = 1.0
    fast: int = 0
    slow: int = 0
    packs: int = 0
    newer_slow: bool = False
    newer_files: bool = False
    level: bool = False

    def with_(self, other: _Change) -> _Change:
        """Both at once."""
        return _Change(
            self.processor * other.processor,
            self.storage * other.storage,
            self.admission * other.admission,
            self.fast + other.fast,
            self.slow + other.slow,
            self.packs + other.packs,
            self.newer_slow or other.newer_slow,
            self.newer_files or other.newer_files,
            self.level or other.level,
        )


def _changes(seen: Observed) -> dict[str, list[_Change]]:
    """Each upgrade; of several ways to do it the best counts."""

    def more(devices: int) -> int:
        return math.ceil(STEP * devices) - devices

    slow = sum(s.slow for s in seen.stations)
    packs = sum(not s.slow and not s.fast for s in seen.stations)
    return {
        "processor": [_Change(processor=STEP)],
        "storage": [_Change(storage=STEP)],
        "paging": [
            _Change(fast=more(seen.fast_devices)),
            _Change(slow=more(slow)),
            _Change(newer_slow=True),
        ],
        "files": [_Change(packs=more(packs)), _Change(newer_files=True), _Change(level=True)],
        "admit more": [_Change(admission=factor) for factor in ADMISSION],
        "admit fewer": [_Change(admission=1 / factor) for factor in ADMISSION],
    }


@dataclass(frozen=True)
class _Demands:
    """Seconds per unit of work at the processors and at each device after a change; see `Station`."""

    processors: float
    reads: Floats
    writes: Floats
    files: Floats
    slow: NDArray[np.bool_]
    latency: float


@dataclass(frozen=True)
class _Solved:
    """Work done, users in queue, what they wait per unit of work, and how many wait for the slow tier."""

    work: float
    inside: float
    waits: dict[str, float]
    stuck: float


class _Model:
    """The users in queue at the processors and the devices."""

    def __init__(self, seen: Observed) -> None:
        self.seen = seen
        self.steals = Steals(seen)
        self.factor = {"processor": 1.0, "page": 1.0, "files": 1.0}
        self.delay = {"processor": 0.0, "page": 0.0, "files": 0.0}
        self._queues: Floats | None = None
        self._stuck = 1.0
        self.room = _room(seen)
        # Asked for a thousand times: see `_demands`.
        self._kinds = [
            np.array([getattr(s, name) for s in seen.stations], dtype=bool)
            for name in ("fast", "slow", "holds")
        ]
        self._stations = [
            np.array([getattr(s, name) for s in seen.stations])
            for name in ("reads", "writes", "files", "newer")
        ]
        self._hold()

    def _hold(self) -> None:
        """Holds the model to the waits measured: a longer one is a delay, a shorter one a faster station."""
        seen = self.seen
        demands = self._demands(_Change(), 1.0)
        stuck = 0.0
        for _ in range(12):
            solved = self._solved(demands, 1.0, 0.0, seen.level, seen.work, 1.0)
            stuck = solved.stuck
            for kind, measured in seen.waits.items():
                raw = (solved.waits[kind] - self.delay[kind]) / self.factor[kind]
                if raw <= measured:
                    self.factor[kind], self.delay[kind] = 1.0, measured - raw
                elif measured > 0:
                    wanted = max(FASTEST, measured / raw)
                    self.factor[kind] += 0.7 * (wanted - self.factor[kind])
                    self.delay[kind] = 0.0
        self._stuck = seen.stuck / stuck if stuck > 0 else 0.0

    def work(self, change: _Change) -> float:
        """Work done after a change: where the level, who competes, reads, and so demands, agree."""
        seen = self.seen
        most = admitted(self.room * change.storage * change.admission)
        users = seen.level + seen.eligible + seen.thinking
        think = seen.thinking / seen.work
        level = min(seen.level, most)
        competing, work = min(float(seen.competing[-1]), level), seen.work
        for _ in range(_ROUNDS):
            if change.admission > 1:
                reads = self.steals.admitted(level)
            else:
                reads = self.steals.reads(competing, change.storage)
            demands = self._demands(change, reads)
            crowd = min(STEP, level / seen.level)
            solved = self._solved(demands, reads, think, users, work, crowd, change.processor)
            if solved.inside > most:
                solved = self._solved(demands, reads, 0.0, most, work, crowd, change.processor)
            still = max(LEAST_LEVEL, solved.inside - min(solved.stuck * self._stuck, 0.95 * solved.inside))
            agreed = (
                abs(solved.inside - level) < 2e-3 * level
                and abs(solved.work - work) < 2e-3 * work
                and abs(still - competing) < 4e-3 * competing
            )
            if agreed:
                break
            level = 0.5 * (level + solved.inside)
            work = 0.6 * work + 0.4 * solved.work
            competing = 0.65 * competing + 0.35 * still
        return work

    def _solved(
        self,
        demands: _Demands,
        reads: float,
        think: float,
        users: float,
        work: float,
        crowd: float,
        processor: float = 1.0,
    ) -> _Solved:
        """The network with so many users; writes hold devices as they do at so much work, delays are those of
        the level measured times `crowd`."""
        left = 1 - np.minimum(MOST_WRITING, work * demands.writes)
        page = demands.reads / left * self.factor["page"]
        files = demands.files / left * self.factor["files"]
        delays = {
            "processor": self.delay["processor"] * crowd / processor,
            "page": (self.delay["page"] * crowd + demands.latency * self.factor["page"]) * reads,
            "files": self.delay["files"] * crowd,
        }
        delay = sum(delays.values())
        stations = np.concatenate([[demands.processors * self.factor["processor"]], page + files])
        done, queues = schweitzer(stations, think + delay, users, self._queues)
        self._queues = queues
        whole = page + files
        part = np.divide(page, whole, out=np.zeros_like(whole), where=whole > 0)
        waits = queues / done
        return _Solved(
            done,
            float(queues.sum()) + done * delay,
            {
                "processor": float(waits[0]) + delays["processor"],
                "page": float((waits[1:] * part).sum()) + delays["page"],
                "files": float((waits[1:] * (1 - part)).sum()) + delays["files"],
            },
            float((queues[1:] * part)[demands.slow].sum()),
        )

    def _demands(self, change: _Change, reads: float) -> _Demands:
        """`reads`: times those measured."""
        seen = self.seen
        supervisor = max(0.0, seen.supervisor + seen.supervisor_per_read * seen.reads * (reads - 1))
        fast, slow, holds = self._kinds
        room = change.fast / max(1, seen.fast_devices)
        # Pages of the slow tier that now find room on the fast one.
        taken = min(1.0, room / seen.overflow) if seen.overflow > 0 else 0.0
        into_fast = 1 + taken * (1 - seen.fast_share) / max(seen.fast_share, 1e-9)
        moved = np.where(fast, into_fast, np.where(slow, 1 - taken, 1.0)) * reads
        *paging, files, newer = self._stations
        if change.level and holds.any():
            files = files.copy()
            files[holds] = files[holds].mean()
        # Files beside pages gain by either; a slow tier that nobody uses gains nothing.
        used = paging[0] + paging[1] > 0
        replaced = (slow & used & change.newer_slow) | (holds & change.newer_files)
        faster = np.where(replaced, newer, 1.0)
        files, new_packs = _spread(files / faster, holds, change.packs)
        spread = []
        for kind in paging:
            left, new_slow = _spread(kind * moved / faster, slow, change.slow)
            left, new_fast = _spread(left, fast, change.fast)
            spread.append(np.concatenate([left, new_slow, new_fast, np.zeros(len(new_packs))]))
        added = len(new_slow) + len(new_fast)
        return _Demands(
            (1.0 + supervisor) / change.processor / seen.processors,
            spread[0],
            spread[1],
            np.concatenate([files, np.zeros(added), new_packs]),
            np.concatenate([slow, np.arange(added) < len(new_slow), np.zeros(len(new_packs), dtype=bool)]),
            sum(s.latency for s in seen.stations) * into_fast,
        )


def admitted(room: float) -> float:
    """Users in queue whom admission lets in where storage has room for so many projected working sets.

    1 + SMOOTH ln(1 + exp((room − 1 − UNUSED) / SMOOTH)): room − UNUSED, but at least 1.
    """
    return 1 + SMOOTH * float(np.logaddexp(0.0, (room - 1 - UNUSED) / SMOOTH))


def _room(seen: Observed) -> float:
    """Working sets, as projected, for which storage has room."""
    demanded = max(seen.demanded or 1.0, 0.05)
    if seen.eligible <= FREE:
        # Nobody is held back: admission binds only once what it projects exceeds storage.
        return (seen.level + UNUSED) / min(1.0, demanded)
    if seen.level < ALONE and seen.demanded is not None:
        return min((seen.level + seen.eligible) / demanded, _needed(ALONE))
    return _needed(max(seen.level, 1.02))


def _needed(level: float) -> float:
    """The inverse of `admitted`; x + ln(1 − exp(−x)) is ln(exp(x) − 1), for great x too."""
    x = (level - 1) / SMOOTH
    return 1 + UNUSED + SMOOTH * (x + math.log(-math.expm1(-x)))


def _spread(demands: Floats, which: NDArray[np.bool_], more: int) -> tuple[Floats, Floats]:
    """Demands when some of the devices share theirs with so many new ones; and those of the new."""
    count = int(which.sum())
    if not more or not count:
        return demands, np.zeros(0)
    left = np.where(which, demands * count / (count + more), demands)
    return left, np.full(more, float(left[which].mean()))


def schweitzer(
    demands: Floats, think: float, users: float, start: Floats | None = None
) -> tuple[float, Floats]:
    """Work done by, and users at each station of, a closed network of one class.

    Bard–Schweitzer: an arrival finds (N − 1)/N of the mean queue, R = D (1 + Q (N − 1)/N). `users` may be a
    mean, and so no whole number; `start`: queues to begin with.
    """
    # Lists: for so few stations they are faster than arrays.
    stations = demands.tolist()
    queues = [users / len(stations)] * len(stations)
    if start is not None and len(start) == len(stations):
        queues = start.tolist()
    part = max(0.0, users - 1) / max(users, 1e-9)
    work, near = 0.0, 1e-4 * max(1.0, users)
    for _ in range(500):
        waits = [d * (1 + part * q) for d, q in zip(stations, queues, strict=True)]
        work = users / (think + sum(waits))
        after = [work * wait for wait in waits]
        settled = max(map(abs, map(sub, after, queues))) < near
        queues = after
        if settled:
            break
    return work, np.array(queues)
