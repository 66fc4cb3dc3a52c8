"""Systems that a study steps through: black boxes that give a window for (users, begin, seconds).

`made(index, seed)` gives the same system for the same numbers, always. Six kinds in turn:

sharp            throughput rises in proportion to the knee and is flat beyond
retrograde       it falls beyond the knee
straight         no knee within the limits
drifting         the capacity, or all throughput, drifts by 5 to 20 % each way over five minutes
heteroscedastic  scatter that grows with load
two regimes      for one or two episodes of 20 to 50 s a neighbour takes a quarter to a half of the capacity

Of each kind every other system is a curve (the knee is sharp) with counts as they come; the others are closed
queues, simulated event by event: users think, then type commands that differ in what they take, drawn as the
emulator draws them, and share the processors, so that the knee is rounded, and its place is where the
asymptotes cross. Their windows are corrected as `satline.windows` corrects those of a recording, with what
each command takes at light load known. The knee of a drifting system is that of its mean over five minutes;
of two regimes that of the usual one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).absolute().parents[2]
sys.path[:0] = [str(ROOT / "python")]

from _closed import Kind, Plan, Stratified, cycles_of, exponential, simulate  # noqa: E402

from satline.knee import Window  # noqa: E402
from satline.windows.one import LEAST_BLOCKS, MOST_BLOCKS  # noqa: E402
from satline.windows.variates import corrected  # noqa: E402

Floats = NDArray[np.float64]
Random = np.random.Generator
STUDY_S = 300.0
KINDS = ("sharp", "retrograde", "straight", "drifting", "heteroscedastic", "two regimes")


@dataclass(frozen=True)
class Seen:
    """What a window saw.

    completed, in_transaction
        Second by second; the second is the mean number of users in a transaction, ``None``: unknown.
    corrected
        Throughput by block as `satline.windows` has it, and the blocks' length, by the users of the next step
        (``None``: there is none yet); ``None``: counts alone.
    """

    users: int
    begin_s: float
    completed: Floats
    in_transaction: Floats | None
    reactions_s: Floats
    waiting: float
    corrected: Callable[[int | None], tuple[Floats, float]] | None = None

    def window(self, next_users: int | None = None) -> Window:
        """As a search takes it; counts in blocks of about 0.8 √seconds.

        next_users
            Of the step that followed: who stays ends his line in it, so that later looks know the whole line.
        """
        if self.corrected is not None:
            blocks, block_s = self.corrected(next_users)
        else:
            count = len(self.completed)
            block = max(1, int(np.ceil(0.8 * np.sqrt(count))))
            whole = count // block
            blocks = self.completed[: whole * block].reshape(whole, block).mean(axis=1)
            block_s = float(block)
        return Window(
            self.users,
            self.begin_s,
            block_s,
            blocks,
            reactions_s=self.reactions_s,
            waiting=self.waiting,
            spread_is_error=self.corrected is not None,
        )


@dataclass
class System:
    """A system and its truth.

    knee
        Where the asymptotes cross; ``None``: not within the limits.
    most
        The greatest number of users that a study may log on.
    sharp
        The curve is a broken line.
    stationary
        It is the same at all times, but for chance.
    """

    kind: str
    knee: float | None
    most: int
    sharp: bool
    stationary: bool
    think_s: float
    observe: Callable[[int, float, int], Seen] = field(repr=False)


def made(index: int, seed: int = 2031) -> System:
    """System number `index` of a series."""
    random = np.random.default_rng([index, seed])
    kind = KINDS[index % len(KINDS)]
    return _curve(kind, random) if (index // len(KINDS)) % 2 else _queue(kind, random)


def _limits(kind: str, random: Random) -> tuple[int, float]:
    """The greatest load, chosen without regard to the knee, and the knee."""
    most = int(random.choice([40, 60, 100, 160, 250]))
    if kind == "straight":
        return most, most * float(random.uniform(1.3, 4))
    low = np.log(max(4.0, 0.06 * most))
    return most, float(np.exp(random.uniform(low, np.log(0.75 * most))))


def _capacity(kind: str, random: Random) -> Callable[[Floats], Floats]:
    """Capacity by time, relative to its usual one; its mean over the study is 1 but for episodes."""
    if kind == "drifting":
        size = float(random.uniform(0.05, 0.2)) * float(random.choice([-1, 1]))
        bend = float(random.uniform(-1, 1))

        def drift(t: Floats) -> Floats:
            u = np.clip(2 * t / STUDY_S - 1, -1, 1)
            return np.asarray(1 + size * (u + bend * (3 * u**2 - 1) / 4))

        return drift
    if kind == "two regimes":
        count = int(random.integers(1, 3))
        begins = random.uniform(20, 270, count)
        ends = begins + random.uniform(20, 50, count)
        left = float(random.uniform(0.5, 0.75))
        return lambda t: np.where(((t[:, None] >= begins) & (t[:, None] < ends)).any(axis=1), left, 1.0)
    return lambda t: np.ones_like(t)


def _autocorrelated(count: int, rho: float, random: Random) -> Floats:
    noise = random.normal(size=count) * np.sqrt(1 - rho**2)
    value, last = np.empty(count), float(random.normal())
    for k in range(count):
        last = rho * last + noise[k]
        value[k] = last
    return value


def _curve(kind: str, random: Random) -> System:
    most, knee = _limits(kind, random)
    think = float(random.uniform(2, 6))
    rate = 1 / (think + float(random.uniform(0.1, 1)))
    after = -float(random.uniform(0.05, 0.4)) if kind == "retrograde" else 0.0
    rho, size = float(random.uniform(0, 0.6)), float(random.uniform(0.05, 0.35))
    swelling = float(random.uniform(0.5, 1.5)) if kind == "heteroscedastic" else 0.0
    whole = bool(random.integers(2))
    capacity = _capacity(kind, random)
    scatter = float(random.uniform(0.5, 1.5))

    def observe(users: int, begin_s: float, seconds: int) -> Seen:
        speed = capacity(begin_s + np.arange(seconds) + 0.5)
        top = knee if whole else knee * speed
        value = np.minimum(users, top) + after * np.maximum(users - top, 0)
        value = np.maximum(value, 0.05 * np.minimum(users, top)) * (speed if whole else 1.0)
        spread = size * (1 + swelling * min(2.0, users / knee))
        # a lognormal factor, so that what is greater than its mean is not cut off below
        factor = np.exp(spread * _autocorrelated(seconds, rho, random) - spread**2 / 2)
        done = random.poisson(rate * value * factor).astype(np.float64)
        mean = float(value.mean())
        response = max(1 / rate - think, users / (rate * mean) - think)
        reactions = response * np.exp(scatter * random.normal(size=int(done.sum())) - scatter**2 / 2)
        waiting = 1 - min(1.0, (1 / rate - think) / response)
        return Seen(users, begin_s, done, None, reactions, waiting)

    inside = knee if kind != "straight" else None
    return System(kind, inside, most, True, kind not in {"drifting", "two regimes"}, think, observe)


def _queue(kind: str, random: Random) -> System:
    most, knee = _limits(kind, random)
    think = float(random.uniform(2, 6))
    processors = int(random.choice([1, 1, 2, 4]))
    knee = max(knee, 1.5 * processors)
    plan = _plan(think, knee, processors, random)
    demand = sum(share * size for _, share, size in plan.kinds[0].classes)
    lost = float(random.uniform(0.1, 0.5)) if kind == "retrograde" else 0.0
    swelling = float(random.uniform(0.1, 0.5)) if kind == "heteroscedastic" else 0.0
    capacity = _capacity(kind, random)

    def observe(users: int, begin_s: float, seconds: int) -> Seen:
        before = int(3 * think) + 4
        clock = begin_s - before + np.arange(before + seconds)
        speed = capacity(clock + 0.5) / (1 + lost * max(0.0, users / knee - 1))
        if swelling:
            size = swelling * min(2.0, users / knee)
            speed = speed * np.exp(size * _autocorrelated(len(clock), 0.3, random) - size**2 / 2)
        return _served(plan, users, begin_s, before, seconds, demand, speed, int(random.integers(2**31)))

    inside = knee if kind != "straight" and knee < most else None
    return System(kind, inside, most, False, kind not in {"drifting", "two regimes"}, think, observe)


def _plan(think: float, knee: float, processors: int, random: Random) -> Plan:
    """A script of two to eight commands, of which the mean takes such time that the asymptotes cross at the
    knee: there processors ÷ R = knee ÷ (Z + R)."""
    count = int(random.integers(2, 9))
    quantile, mean_think = exponential(think, 0.0, 20 * think)
    shares = random.dirichlet(np.full(count, 2.0))
    sizes = np.exp(float(random.uniform(0.3, 1.5)) * random.normal(size=count))
    sizes *= mean_think / (knee / processors - 1) / float(shares @ sizes)
    classes = tuple((f"class-{k}", float(shares[k]), float(sizes[k])) for k in range(count))
    return Plan((Kind("script", 1.0, classes),), quantile, mean_think, servers=processors)


def _served(
    plan: Plan,
    users: int,
    begin_s: float,
    before: int,
    seconds: int,
    demand: float,
    speed: Floats,
    seed: int,
) -> Seen:
    """Processor sharing; the first `before` seconds are the warm-up.

    It goes on for some think times after the window, so that lines under way then may end as they would.
    """
    after = 4 * int(plan.mean_think_s) + 8
    rows = simulate(plan, users, before + seconds + after, seed, Stratified, speed=speed, unfinished=True)
    for name in ("begin_s", "sent_s", "end_s"):
        rows[name] = rows[name] - before
    begun = rows["begin_s"] < seconds
    rows = {name: column[begun] for name, column in rows.items()}
    blocks = int(min(MOST_BLOCKS, max(LEAST_BLOCKS, seconds)))

    def corrected_by(next_users: int | None) -> tuple[Floats, float]:
        cycles = cycles_of(plan, _known(rows, float(seconds), float(after), next_users))
        return corrected(cycles, 0.0, float(seconds), blocks, users).throughput, seconds / blocks

    edges = np.arange(seconds + 1.0)
    ended = rows["end_s"][rows["end_s"] < seconds]
    done = np.histogram(ended, edges)[0].astype(np.float64)
    sent = np.where(np.isfinite(rows["sent_s"]), rows["sent_s"], np.inf)
    until = np.where(rows["end_s"] < seconds, rows["end_s"], float(seconds))
    inside = np.clip(
        np.minimum(until[:, None], edges[1:]) - np.maximum(sent[:, None], edges[:-1]), 0.0, None
    ).sum(axis=0)
    good = (rows["end_s"] >= 0) & (rows["end_s"] < seconds)
    response = (rows["end_s"] - rows["sent_s"])[good]
    waiting = 1 - min(1.0, demand / float(response.mean())) if len(response) else 0.0
    return Seen(users, begin_s, done, inside, response, waiting, corrected=corrected_by)


def _known(
    rows: dict[str, Floats], seconds: float, after: float, next_users: int | None
) -> dict[str, Floats]:
    """The cycles as they are known after the next step, or at the window's end where there is none."""
    stays = np.zeros(len(rows["user"]), bool) if next_users is None else rows["user"] < next_users
    until = np.where(stays, seconds + after, seconds)
    is_open = ~(rows["end_s"] <= until)
    return {
        **rows,
        "end_s": np.where(is_open, np.nan, rows["end_s"]),
        "sent_s": np.where(rows["sent_s"] <= until, rows["sent_s"], np.nan),
        "known_s": np.where(is_open, until, np.nan),
        # Who leaves while it thinks is seen to think.
        "paused": is_open & ~stays & ~(rows["sent_s"] <= seconds) & (next_users is not None),
    }
