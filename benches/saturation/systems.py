"""Systems whose saturation is known, and what a recording of each shows.

`made(index)` gives the same system for the same index, always; the kinds follow each other in turn, so that
the first 1,000 are balanced. Truth is a knee (where the asymptotes cross), none in the range, or one that
moved in the middle of the recording.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).absolute().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/unit/diagnosis"), str(ROOT / "tests/unit/reduction")]

from closed_system import Closed  # noqa: E402
from made_study import Made  # noqa: E402
from mixed_study import Mixed  # noqa: E402

from satline.diagnosis import Saturation  # noqa: E402
from satline.diagnosis.saturation import Series, judge, saturation  # noqa: E402
from satline.reduction import (  # noqa: E402
    assign,
    distinct_classes,
    make_batches,
    merged_classes,
    reduce,
)

Floats = NDArray[np.float64]
Random = np.random.Generator
DAY_S = 86400.0


@dataclass(frozen=True)
class System:
    """A system and its truth.

    knee
        Load where the asymptotes cross; ``None``: no knee in the range seen.
    sharp
        The curve is a broken line, so that the interval of the knee can be held to its 95 %.
    moved
        The knee moved in the middle: any confident answer is wrong.
    tolerance
        Part by which an interval is widened on each side before a knee outside it counts as wrong.
    moved_to
        The knee after it moved.
    series
        What is judged; a `Made` or `Mixed` study is written, reduced and judged as a whole.
    """

    kind: str
    series: Series | Made | Mixed
    knee: float | None
    sharp: bool = False
    moved: bool = False
    tolerance: float = 0.15
    variable: str = "transaction_rate"
    seed: int = 1
    moved_to: float | None = None

    @property
    def truth(self) -> str:
        """Truth in a word."""
        return "moved" if self.moved else "none" if self.knee is None else "knee"

    def verdict(self) -> Saturation:
        """What the product says."""
        if isinstance(self.series, Made | Mixed):
            return saturation(reduce(self.series.make(self.seed)))
        axis = "users" if self.series.closed else "active_users"
        return judge(self.series, load_axis=axis, variable=self.variable, unit="per second")

    def wrong(self, answer: Saturation) -> str:
        """What of an answer is not true; empty: nothing."""
        if self.moved:
            if answer.outcome in {"saturated", "not-saturated"}:
                return "a verdict on a system that changed"
            parts = zip((self.knee, self.moved_to), answer.regimes, strict=False)
            return "; ".join(w for knee, part in parts if (w := self._untrue(part, knee)))
        if len(answer.regimes) == 1:  # without an episode
            return self._untrue(answer.regimes[0], self.knee)
        if answer.regimes:
            return "a change that there was not"
        return self._untrue(answer, self.knee)

    def _untrue(self, answer: Saturation, knee: float | None) -> str:
        """What of an answer is not true of a system with this knee in its range, or with none."""
        loads = self.series.load if isinstance(self.series, Series) else None
        inside = knee is not None and (loads is None or knee < float(np.max(loads)))
        if answer.outcome == "not-saturated" and inside:
            return "not saturated, it says"
        if answer.outcome == "saturated" and (knee is None or answer.at is None):
            return "saturated, it says"
        if answer.at is not None and knee is not None:
            low, high = answer.at.low * (1 - self.tolerance), answer.at.high * (1 + self.tolerance)
            return "" if low <= knee <= high else "the place"
        if answer.outcome != "partly-known":
            return ""
        if answer.flat is not None and knee is not None and knee > 1.5 * (answer.range_low or 0.0):
            return "flat, it says"
        if answer.chance is not None and (answer.chance >= 0.8 and knee is None):
            return f"a chance of {answer.chance:.2f}"
        if answer.chance is not None and (answer.chance <= 0.2 and inside):
            return f"a chance of {answer.chance:.2f}"
        if answer.carries is not None and knee is not None and answer.carries > knee * (1 + self.tolerance):
            return f"carries {answer.carries:.3g}"
        return ""

    def intervals(self, answer: Saturation) -> list[tuple[float, float, float]]:
        """Each true knee with the interval that the answer gives of it: of a verdict, or of a bend that is
        told with a chance of at least a half."""
        pairs = [(self.knee, answer)]
        if self.moved:
            pairs = list(zip((self.knee, self.moved_to), answer.regimes, strict=False))
        found = []
        for knee, part in pairs:
            likely = part.bend if (part.chance or 0.0) >= 0.5 and part.outcome == "partly-known" else None
            place = part.at or likely
            if knee is not None and place is not None:
                found.append((knee, place.low, place.high))
        return found


def autocorrelated(count: int, rho: float, random: Random) -> Floats:
    """AR(1) noise of variance 1."""
    noise = random.normal(size=count) * np.sqrt(1 - rho**2)
    value = np.empty(count)
    last = random.normal()
    for k in range(count):
        last = rho * last + noise[k]
        value[k] = last
    return value


def wandering(count: int, top: float, random: Random) -> Floats:
    """A load that wanders slowly between about nothing and `top`."""
    slow = autocorrelated(count, float(random.uniform(0.95, 0.99)), random)
    return np.clip(np.rint(top * (0.5 + 0.27 * slow)), 0, None)


def daily(count: int, interval_s: float, top: float, random: Random) -> tuple[Floats, Floats]:
    """A load that follows the time of day, days differing; and that time as 0 … 1."""
    time = np.arange(count) * interval_s
    hour = time % DAY_S / DAY_S
    day = (time // DAY_S).astype(int)
    size = random.uniform(0.6, 1.1, day.max() + 1)[day]
    shape = 0.06 + 0.94 * np.clip(np.sin(2 * np.pi * (hour - 0.3)), 0, 1)
    return random.poisson(top * 0.92 * size * shape).astype(float), hour


def at_rest(load: Floats, throughput: Floats, interval_s: float, contended: bool | None = True) -> Series:
    """What a recording at rest shows of these."""
    bounds = merged_classes(load)
    return Series(
        load=load,
        number=assign(load, bounds, False),
        throughput=np.maximum(throughput, 0.0),
        seconds=np.full(len(load), interval_s),
        batches=make_batches(np.zeros(len(load))),
        contended=contended,
        closed=False,
    )


def stepped(levels: list[int], rate: Floats, window: int, noise: Callable[[int], Floats]) -> Series:
    """A study of these levels in observations of 1 s, throughput `rate` with relative noise; no more is
    known than that something waits."""
    load = np.repeat(np.array(levels, dtype=float), window)
    return Series(
        load=load,
        number=assign(load, distinct_classes(load), True),
        throughput=np.maximum(0, np.repeat(rate, window) * (1 + noise(len(load)))),
        seconds=np.ones(len(load)),
        batches=make_batches(np.repeat(np.arange(len(levels)), window).astype(float)),
        contended=True,
    )


def bent(load: Floats, knee: float | Floats, after: float = 0.0) -> Floats:
    """A broken line of slope 1 up to the knee and `after` beyond, never below 5 % of the knee's."""
    return np.maximum(
        np.minimum(load, knee) + after * np.maximum(load - knee, 0), 0.05 * np.minimum(load, knee)
    )


def _open(random: Random, knee: float | None, after: float = 0.0, swelling: float = 0.0) -> Series:
    """A wandering load, AR(1) noise; swelling: how the noise grows with load."""
    count, centre = int(random.integers(2000, 8000)), float(random.uniform(6, 60))
    top = (knee or centre) * float(random.uniform(1.5, 3)) if knee else centre
    load = wandering(count, top, random)
    mean = bent(load, knee if knee else np.inf, after)
    noise = float(random.uniform(0.03, 0.25)) * autocorrelated(count, float(random.uniform(0, 0.9)), random)
    return at_rest(load, mean * (1 + noise * (1 + swelling * load / top)), 60.0)


def _knee(random: Random) -> float:
    return float(random.uniform(6, 40))


def sharp(random: Random) -> System:
    """A sharp knee, at rest or in a study."""
    knee = _knee(random)
    if random.random() < 0.6:
        return System("sharp", _open(random, knee), knee, sharp=True)
    count, reach = int(random.integers(7, 12)), float(random.uniform(1.6, 3))
    levels = sorted({max(1, round(knee * reach * x)) for x in np.linspace(1 / count, 1, count)})
    rho, size = float(random.uniform(0, 0.6)), float(random.uniform(0.05, 0.3))
    rate = bent(np.array(levels, dtype=float), knee)
    series = stepped(
        levels, rate, int(random.choice([20, 40, 60])), lambda n: size * autocorrelated(n, rho, random)
    )
    return System("sharp", series, knee, sharp=True)


def straight(random: Random) -> System:
    """No knee in the range; in a third of them a short trouble, which brings many users and no throughput."""
    series = _open(random, None)
    if random.random() < 1 / 3:
        length = int(len(series.load) * random.uniform(0.005, 0.03))
        first = int(random.integers(0, len(series.load) - length))
        load, top = series.load.copy(), float(series.load.max())
        load[first : first + length] = random.poisson(top * float(random.uniform(1, 2)), length)
        stalled = series.throughput.copy()
        stalled[first : first + length] *= (
            0.5 * series.load[first : first + length] / load[first : first + length]
        )
        series = at_rest(load, stalled, 60.0, contended=True)
    return System("straight", series, None)


def few(random: Random) -> System:
    """Too little data, with a knee or without."""
    knee = _knee(random) if random.random() < 0.5 else None
    count = int(random.integers(16, 80))
    top = knee * float(random.uniform(1.2, 2.5)) if knee else float(random.uniform(6, 60))
    load = wandering(count, top, random)
    noise = float(random.uniform(0.1, 0.4)) * autocorrelated(count, float(random.uniform(0, 0.8)), random)
    series = at_rest(load, bent(load, knee or np.inf) * (1 + noise), 60.0)
    bounds = merged_classes(load, 2, 5)
    return System("few", replace(series, number=assign(load, bounds, False)), knee, tolerance=0.25)


def by_day(random: Random) -> System:
    """A daily cycle, and an effect of the time of day on throughput besides that of the load."""
    knee = _knee(random) if random.random() < 0.5 else None
    top = knee * float(random.uniform(1.5, 3)) if knee else float(random.uniform(6, 60))
    interval_s = 120.0
    load, hour = daily(int(random.integers(5, 15) * DAY_S / interval_s), interval_s, top, random)
    effect = float(random.uniform(0, 0.08)) * np.cos(2 * np.pi * (hour - random.uniform()))
    noise = float(random.uniform(0.03, 0.15)) * autocorrelated(
        len(load), float(random.uniform(0, 0.9)), random
    )
    mean = bent(load, knee or np.inf) * (1 + effect)
    return System("daily", at_rest(load, mean * (1 + noise), interval_s), knee, sharp=knee is not None)


def heteroscedastic(random: Random) -> System:
    """Scatter that grows with load."""
    knee = _knee(random) if random.random() < 0.5 else None
    series = _open(random, knee, swelling=float(random.uniform(1, 4)))
    return System("heteroscedastic", series, knee, sharp=knee is not None)


def background(random: Random) -> System:
    """Compute jobs off-shift: processors full at every load, or only in the night."""
    interval_s, capacity = 120.0, float(random.choice([2, 4, 8]))
    users = float(random.uniform(8, 40))
    load, hour = daily(int(random.integers(5, 15) * DAY_S / interval_s), interval_s, users, random)
    own = load * capacity * float(random.uniform(0.3, 0.8)) / users
    on = np.ones(len(load), dtype=bool) if random.random() < 0.5 else (hour < 0.3) | (hour > 0.85)
    total = np.where(on, np.maximum(capacity * 0.99, own), own)
    noise = 0.03 * autocorrelated(len(load), float(random.uniform(0, 0.9)), random)
    series = at_rest(load, np.minimum(total * (1 + noise), capacity), interval_s)
    return System("background", series, None, variable="problem_state")


def two_regimes(random: Random) -> System:
    """An upgrade, or its reverse, in the middle: the knee moves by 30 % at least."""
    before = _knee(random)
    after = before * float(random.choice([1 / 1, 1]) * random.uniform(1.5, 2.2)) ** int(
        random.choice([-1, 1])
    )
    interval_s = 120.0
    top = max(before, after) * float(random.uniform(1.4, 2.2))
    load, _ = daily(int(random.integers(6, 15) * DAY_S / interval_s), interval_s, top, random)
    changed = np.arange(len(load)) > len(load) * random.uniform(0.2, 0.8)
    noise = float(random.uniform(0.03, 0.15)) * autocorrelated(
        len(load), float(random.uniform(0, 0.9)), random
    )
    mean = bent(load, np.where(changed, after, before))
    return System(
        "two regimes", at_rest(load, mean * (1 + noise), interval_s), before, True, True, moved_to=after
    )


def retrograde(random: Random) -> System:
    """Throughput that falls beyond the peak."""
    knee = _knee(random)
    series = _open(random, knee, after=-float(random.uniform(0.05, 0.4)))
    return System("retrograde", series, knee, sharp=True)


def locked(random: Random) -> System:
    """A lock holds everything back while processors idle: seen in transactions, or only as processor time."""
    if random.random() < 0.5:
        knee = _knee(random)
        return System("locked", replace(_open(random, knee), contended=False), knee, variable="problem_state")
    system = Closed(float(random.uniform(1, 4)), float(random.uniform(0.1, 0.4)))
    count, top = int(random.integers(6, 11)), system.saturation * float(random.uniform(1.5, 3))
    levels = sorted({max(1, round(top * x)) for x in np.linspace(1 / count, 1, count)})
    series = system.study(levels, int(random.choice([20, 30, 60])), random)
    return System("locked", replace(series, contended=False), system.saturation, tolerance=0.25)


def capped(random: Random) -> System:
    """A partition capped at part of its processors, as a whole recording: half of them seem idle."""
    quota = float(random.choice([0.5, 1.0, 2.0]))
    made = Made(
        cpu=quota * float(random.uniform(0.15, 0.3)),
        quota=quota,
        processors=int(2 * max(1, quota)),
        think=1.0,
    )
    top = made.saturation * float(random.uniform(1.8, 3))
    levels = tuple(sorted({max(1, round(top * x)) for x in np.linspace(0.1, 1, 9)}))
    seed = int(random.integers(1 << 30))
    return System("capped", replace(made, levels=levels), made.saturation, tolerance=0.25, seed=seed)


def rounded(random: Random) -> System:
    """Rounded knees: queues of a closed system, or the universal scalability law with little contention."""
    if random.random() < 0.6:
        servers, think = int(random.integers(1, 3)), float(random.uniform(0.5, 4))
        crossing = float(random.uniform(3, 20))
        demand = think / (max(crossing, 1.3 * servers) / servers - 1)
        system = Closed(think, demand, servers, bool(random.integers(2)))
        greatest = max(4, round(system.saturation * float(np.exp(random.uniform(np.log(0.2), np.log(4))))))
        count = int(random.integers(6, 11))
        levels = sorted({max(1, round(greatest * x)) for x in np.linspace(1 / count, 1, count)})
        series = system.study(levels, int(random.choice([20, 30, 60])), random)
        reach = levels[-1] / system.saturation
        return System("rounded", series, system.saturation if reach > 1 else None, tolerance=0.25)
    contention = float(random.uniform(0.01, 0.08))
    crossing = 1 / contention  # λN meets the ceiling λ/σ
    top = crossing * float(random.uniform(0.3, 4))
    levels = sorted({max(1, round(top * x)) for x in np.linspace(0.02, 1, 10)})
    n = np.array(levels, dtype=float)
    series = stepped(
        levels, 20 * n / (1 + contention * (n - 1)), 40, lambda k: 0.05 * autocorrelated(k, 0.3, random)
    )
    return System("rounded", series, crossing if levels[-1] > crossing else None, tolerance=0.25)


def recorded(random: Random) -> System:
    """Whole recordings of studies: a server, a device, processors, or nothing holds the users back."""
    seed = int(random.integers(1 << 30))
    case = random.choice(["server", "io", "cpu", "background", "none"])
    demand = float(random.uniform(0.08, 0.2))
    if case in {"server", "io"}:
        made = Made(cpu=0.02, station=demand, kind=str(case))
    elif case == "cpu":
        made = Made(cpu=demand)
    else:
        made = Made(cpu=0.01, background=case == "background", processors=2)
        return System("recorded", replace(made, levels=(1, 2, 4, 6, 8, 10, 12)), None, seed=seed)
    top = made.saturation * float(random.uniform(1.8, 3))
    levels = tuple(sorted({max(1, round(top * x)) for x in np.linspace(0.1, 1, 9)}))
    return System("recorded", replace(made, levels=levels), made.saturation, tolerance=0.25, seed=seed)


KINDS = (
    sharp,
    straight,
    few,
    by_day,
    heteroscedastic,
    background,
    two_regimes,
    retrograde,
    locked,
    capped,
    rounded,
    recorded,
)


def mixed(random: Random) -> System:
    """Commands of very different length, served alike or the short ones first, typed by all users or by some.

    Beyond the knee short commands go on completing, and ever more of them where their users type no other.
    """
    count, processors = int(random.integers(3, 8)), int(random.choice([1, 1, 2]))
    demands = np.exp(random.uniform(np.log(0.004), np.log(float(random.choice([1, 10]))), count))
    study = Mixed(
        tuple(demands.tolist()),
        tuple(random.dirichlet(np.ones(count)).tolist()),
        processors=processors,
        window=float(random.choice([20, 30, 60])),
        at_once=float(random.choice([0, 0.01, 0.05])),
        by_user=bool(random.integers(2)),
        pauses=tuple(np.exp(random.normal(0, 0.7, count)).tolist()) if random.integers(2) else None,
    ).paused_for(max(_knee(random), 1.3 * processors))
    top = study.saturation * float(np.exp(random.uniform(np.log(0.3), np.log(4))))
    steps = int(random.integers(7, 11))
    levels = tuple(sorted({max(1, round(top * x)) for x in np.linspace(1 / steps, 1, steps)}))
    knee = study.saturation if levels[-1] > study.saturation else None
    seed = int(random.integers(1 << 30))
    return System("mixed", replace(study, levels=levels), knee, tolerance=0.25, seed=seed)


# Judged by themselves (`run.py --kind`), so that the numbers of the others stay.
MORE = {"mixed": mixed}


def made(index: int, kind: str | None = None) -> System:
    """System number `index`, of all kinds in turn or of one of `MORE`."""
    if kind is not None:
        return MORE[kind](np.random.default_rng([index, 2026]))
    return KINDS[index % len(KINDS)](np.random.default_rng([index, 2026]))
