"""A simulated closed system whose users draw as the emulator does."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from satline.windows.stated import Stated
from satline.windows.variates import Cycles

MASK = (1 << 64) - 1


def mix(value: int) -> int:
    """SplitMix64, as in the emulator."""
    z = (value + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def scrambled(key: int, values: np.ndarray) -> np.ndarray:
    """Nested uniform scrambling of 32 bits [Owen 1995]: each bit is flipped by a hash of those above it."""
    out = np.zeros_like(values)
    for bit in range(32):
        above = values >> np.uint64(bit + 1)
        flip = _mixed(np.uint64(key) ^ _mixed((above << np.uint64(6)) | np.uint64(bit))) & np.uint64(1)
        out |= (((values >> np.uint64(bit)) & np.uint64(1)) ^ flip) << np.uint64(bit)
    return out


def _mixed(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        z = values + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def reversed_bits(values: np.ndarray) -> np.ndarray:
    out = np.zeros_like(values)
    for bit in range(32):
        out |= ((values >> np.uint64(bit)) & np.uint64(1)) << np.uint64(31 - bit)
    return out


class Independent:
    """Uniform draws."""

    def __init__(self, seed: Sequence[int]) -> None:
        self._random = np.random.default_rng(list(seed))
        self._ready: list[float] = []

    def unit(self) -> float:
        if not self._ready:
            self._ready = self._random.random(256).tolist()
        return self._ready.pop()


class Stratified:
    """Uniform draws of which each aligned 2^k that follow each other fall one into each 2^-k."""

    def __init__(self, seed: Sequence[int]) -> None:
        self._key = 0
        for part in seed:
            self._key = mix(self._key ^ mix(part + 1))
        self._at = 0
        self._ready: list[float] = []

    def unit(self) -> float:
        if not self._ready:
            places = np.arange(self._at, self._at + 128, dtype=np.uint64)
            self._at += 128
            # The order of the draws within each 2^k at random, then the places themselves.
            order = scrambled(mix(self._key ^ 1), places)
            x = scrambled(self._key, reversed_bits(order))
            rest = _mixed(np.uint64(self._key) ^ _mixed(places ^ np.uint64(1 << 40)))
            self._ready = ((x + (rest >> np.uint64(11)) / 2.0**53) / 2.0**32)[::-1].tolist()
        return self._ready.pop()


@dataclass(frozen=True)
class Kind:
    """A script: its classes' names, shares and seconds alone; coefficient of variation within a class."""

    name: str
    share: float
    classes: tuple[tuple[str, float, float], ...]
    within: float = 0.3


@dataclass(frozen=True)
class Plan:
    """What is simulated.

    discipline
        "shared": processors share their time among all (product form); "fifo": one after the other.
    think
        Quantile function of the think time, and its mean.
    delay_s
        Of each line, waiting for nobody (a disk of one's own, the terminal).
    """

    kinds: tuple[Kind, ...]
    think: Callable[[float], float]
    mean_think_s: float
    servers: int = 1
    discipline: str = "shared"
    delay_s: float = 0.0

    def stated(self) -> Stated:
        return Stated(
            {kind.name: {name: share for name, share, _ in kind.classes} for kind in self.kinds},
            {kind.name: self.mean_think_s for kind in self.kinds},
        )

    def deal(self, users: int) -> list[int]:
        total = sum(kind.share for kind in self.kinds)
        dealt = [0.0] * len(self.kinds)
        out = []
        for count in range(1, users + 1):
            want = [kind.share / total * count - dealt[k] for k, kind in enumerate(self.kinds)]
            best = int(np.argmax(want))
            dealt[best] += 1
            out.append(best)
        return out


def exponential(mean: float, low: float, high: float) -> tuple[Callable[[float], float], float]:
    expected = low + mean * (math.exp(-low / mean) - math.exp(-high / mean))
    return (lambda u: min(max(-mean * math.log1p(-u), low), high)), expected


_NORMAL = NormalDist()


def simulate(
    plan: Plan,
    users: int,
    seconds: float,
    seed: int,
    draws: type[Independent] | type[Stratified],
    *,
    speed: np.ndarray | None = None,
    unfinished: bool = False,
) -> dict[str, np.ndarray]:
    """All cycles that ended, in arrays: user, kind, class, begin_s, sent_s, end_s, think_s.

    speed
        Of the processors, second by second (shared ones only); ``None``: always 1.
    unfinished
        Those under way at the end too, with NaN as end, and sent while they are still thought about.
    """
    of = plan.deal(users)
    command = [draws((seed, user, 1)) for user in range(users)]
    think = [draws((seed, user, 2)) for user in range(users)]
    within = [Independent((seed, user, 3)) for user in range(users)]
    begun = [0.0] * users
    drawn = [(0, 0.0, 0.0)] * users
    rows: list[tuple[float, ...]] = []
    # (time, order, what, user): 0 a line is sent, 1 the delay is over.
    events: list[tuple[float, int, int, int]] = []
    order = 0

    def pause(user: int, now: float, first: bool = False) -> None:
        nonlocal order
        kind = plan.kinds[of[user]]
        u, at = command[user].unit(), 0.0
        chosen = len(kind.classes) - 1
        for place, (_, share, _) in enumerate(kind.classes):
            at += share
            if u < at:
                chosen = place
                break
        thinks = plan.think(think[user].unit())
        if first:
            thinks *= within[user].unit()
        sigma = math.sqrt(math.log1p(kind.within**2))
        noise = _NORMAL.inv_cdf(min(max(within[user].unit(), 1e-12), 1 - 1e-12))
        demand = kind.classes[chosen][2] * math.exp(sigma * noise - sigma**2 / 2)
        begun[user], drawn[user] = now, (chosen, thinks, demand)
        order += 1
        heapq.heappush(events, (now + thinks, order, 0, user))

    for user in range(users):
        pause(user, 0.0, first=True)
    # Processor sharing by virtual time; first come, first served by when each server is free.
    now, virtual = 0.0, 0.0
    inside: list[tuple[float, int, int]] = []
    sent = [0.0] * users
    free = [0.0] * plan.servers
    shared = plan.discipline == "shared"

    def answered(user: int, at: float) -> None:
        chosen, thinks, _ = drawn[user]
        rows.append((user, of[user], chosen, begun[user], sent[user], at, thinks))
        pause(user, at)

    while now < seconds:
        next_event = events[0][0] if events else math.inf
        rate = min(1.0, plan.servers / len(inside)) if inside else 0.0
        if speed is not None:
            second = int(now + 1e-9)
            rate *= speed[min(second, len(speed) - 1)]
            next_event = min(next_event, second + 1.0)
        next_end = now + (inside[0][0] - virtual) / rate if inside else math.inf
        if shared and next_end <= next_event:
            virtual, now = inside[0][0], next_end
            _, _, user = heapq.heappop(inside)
            answered(user, now)
            continue
        virtual += (next_event - now) * rate
        if not events or next_event < events[0][0]:
            now = next_event
            continue
        now, _, what, user = heapq.heappop(events)
        if what == 0:
            sent[user] = now
            order += 1
            if plan.delay_s > 0:
                heapq.heappush(events, (now + plan.delay_s, order, 1, user))
                continue
        elif what == 2:
            answered(user, now)
            continue
        order += 1
        if shared:
            heapq.heappush(inside, (virtual + drawn[user][2], order, user))
        else:
            server = int(np.argmin(free)) if plan.servers > 1 else 0
            free[server] = max(now, free[server]) + drawn[user][2]
            heapq.heappush(events, (free[server], order, 2, user))
    if unfinished:
        thinking = {user for _, _, what, user in events if what == 0}
        for user in range(users):
            at = math.nan if user in thinking else sent[user]
            rows.append((user, of[user], drawn[user][0], begun[user], at, math.nan, drawn[user][1]))
    names = ("user", "kind", "class", "begin_s", "sent_s", "end_s", "think_s")
    table = np.array(rows, dtype=np.float64).reshape(-1, len(names))
    return dict(zip(names, table.T, strict=True))


def cycles_of(plan: Plan, rows: dict[str, np.ndarray], work: bool = True) -> Cycles:
    """As `satline.windows.one` makes them; work by the seconds that each class takes alone.

    Unfinished cycles are known up to ``known_s`` of `rows`; ``paused``: they were in their pause then.
    """
    kind = rows["kind"].astype(np.int64)
    chosen = rows["class"].astype(np.int64)
    light = [np.array([seconds + plan.delay_s for _, _, seconds in k.classes]) for k in plan.kinds]
    shares = [np.array([share for _, share, _ in k.classes]) for k in plan.kinds]
    means = np.array([float(a @ b) for a, b in zip(light, shares, strict=True)])
    took = np.array([light[k][c] for k, c in zip(kind, chosen, strict=True)])
    scale = float(means.mean())
    ones = np.ones(len(kind))
    return Cycles(
        user=rows["user"].astype(np.int64),
        kind=kind,
        begin_s=rows["begin_s"],
        end_s=rows["end_s"],
        pause_s=rows["sent_s"] - rows["begin_s"],
        think_s=rows["think_s"],
        expected_think_s=np.full(len(kind), plan.mean_think_s),
        work=took / scale if work else ones,
        expected_work=means[kind] / scale if work else ones,
        light_s=took,
        expected_light_s=means[kind],
        paused=rows.get("paused", np.zeros(len(kind), dtype=np.bool_)),
        known_s=rows.get("known_s", np.full(len(kind), math.nan)),
    )
