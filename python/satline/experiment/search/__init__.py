"""What a study runs next, and why: loads are placed where they narrow the answer most per second.

    search = Search(Settings(most_users=200, seconds=300))
    while (decision := search.decide(elapsed_s)).users is not None:
        search.add(observe(decision.users, decision.window_s))

How it works: docs/concepts/search.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from satline.errors import SatlineError
from satline.experiment.search import _words as words
from satline.experiment.search._plan import DRAWS, Candidate, Sought, narrowing
from satline.experiment.search._reactions import Reactions, reactions
from satline.experiment.search.targets import TARGETS, Headroom, Knee, Percentile, Target, Throughput
from satline.knee import Floats, Posterior, Window, fit
from satline.knee import quantiles as weighted_quantiles

__all__ = [
    "TARGETS",
    "Candidate",
    "Decision",
    "Headroom",
    "Knee",
    "Known",
    "Percentile",
    "Search",
    "Settings",
    "Target",
    "Throughput",
    "Window",
    "usual_overhead",
]

GROWTH = 3.0
LIGHT_PART = 16  # the first load is at most this part of the greatest
RESPONSE_RISE = 2.0
WAIT_RISE = 0.35
SEEN_BEND = 0.6
SURELY_NONE = 0.05
FEWEST_WINDOWS = 5
TRIED_LOADS = 14
BEYOND = 1.5  # times the knee: to tell that throughput bends, something beyond it must be seen


def usual_overhead(_before: int | None, _users: int) -> float:
    """Seconds of ramp (3 s) and warm-up (4 s) before a window: those of studies' defaults."""
    return 7.0


@dataclass(frozen=True)
class Settings:
    """What a search may do, and when it has done enough.

    most_users, least_users
        Limits of the load.
    seconds
        Time that all windows, ramps and warm-ups may take.
    within
        Half of the 95 % interval's width relative to the value at which a target is known well enough.
    window_s
        Shortest and longest window, seconds.
    overhead_s
        Seconds of ramp and warm-up from a number of users (``None``: none) to another.
    targets
        What is sought.
    """

    most_users: int
    seconds: float
    least_users: int = 1
    within: float = 0.15
    window_s: tuple[float, float] = (10.0, 40.0)
    overhead_s: Callable[[int | None, int], float] = usual_overhead
    targets: tuple[Target, ...] = (Knee(),)

    def __post_init__(self) -> None:
        if not 1 <= self.least_users <= self.most_users:
            raise SatlineError(
                f"a search from {self.least_users} to {self.most_users} users has no range",
                hint="at least 1 user, and the most users at least as many as the least",
            )
        if not 0 < self.window_s[0] <= self.window_s[1]:
            raise SatlineError(
                f"windows of {self.window_s[0]:g} to {self.window_s[1]:g} s are none",
                hint="the shortest window first, above 0 s",
            )
        if not self.within > 0 or not self.seconds > 0:
            raise SatlineError("a search needs a width and a time above 0", hint="such as 0.15 and 300 s")
        if not self.targets:
            raise SatlineError("a search without a target finds nothing", hint="name one, such as the knee")


@dataclass(frozen=True)
class Known:
    """What is known of a target. high: infinite without an upper limit; done: its interval is as narrow as
    asked for."""

    target: str
    value: float
    low: float
    high: float
    unit: str
    done: bool


@dataclass(frozen=True)
class Decision:
    """What to run next, and why.

    users
        ``None``: stop.
    window_s
        Length of the window after ramp and warm-up, seconds; 0 where it stops.
    why
        One plain sentence.
    estimates
        What is known of each target.
    expected_seconds
        Until all targets are known well enough; ``None``: not known.
    candidates
        Windows that were considered, best first.
    chance_within
        Chance that throughput bends within the limits; ``None``: nothing seen yet.
    elapsed_s
        Time at which it was decided, seconds since the study's begin.
    """

    users: int | None
    window_s: float
    why: str
    estimates: tuple[Known, ...] = ()
    expected_seconds: float | None = None
    candidates: tuple[Candidate, ...] = ()
    chance_within: float | None = None
    elapsed_s: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """For JSON; what is infinite is null."""

        def finite(x: float) -> float | None:
            return x if math.isfinite(x) else None

        return {
            "users": self.users,
            "window_s": self.window_s,
            "why": self.why,
            "elapsed_s": self.elapsed_s,
            "chance_within": self.chance_within,
            "expected_seconds": self.expected_seconds,
            "estimates": [
                {name: finite(v) if isinstance(v, float) else v for name, v in vars(e).items()}
                for e in self.estimates
            ],
            "candidates": [dict(vars(c)) for c in self.candidates],
        }


@dataclass
class _State:
    """The posterior after the windows so far."""

    found: Posterior
    by_target: list[Reactions | None]
    estimates: tuple[Known, ...]
    values: list[tuple[Floats, Floats]] = field(default_factory=list)


class Search:
    """Finds the targets of its settings. `add` what was seen, ask `decide` what to run next.

    Attributes
    ----------
    windows
        All windows seen; none is thrown away.
    path
        All decisions.
    """

    def __init__(self, settings: Settings, seed: int = 1) -> None:
        self.settings, self.seed = settings, seed
        self.windows: list[Window] = []
        self.path: list[Decision] = []
        self._state: _State | None = None

    def add(self, window: Window) -> None:
        """Take in a window. Windows of ramps (`settled` false) may come in too."""
        self.windows.append(window)
        self._state = None

    @property
    def posterior(self) -> Posterior | None:
        """What is known of the curve; ``None``: nothing was completed yet."""
        state = self._known()
        return state.found if state else None

    def decide(self, elapsed_s: float) -> Decision:
        """What to run next, `elapsed_s` seconds after the study's begin."""
        decision = self._decide(elapsed_s)
        self.path.append(decision)
        return decision

    def _known(self) -> _State | None:
        if self._state is None and any(w.mean > 0 for w in self.windows):
            most = self.settings.most_users
            found = fit(self.windows, most_users=most, seed=self.seed)
            tables: list[Reactions | None] = []
            values, estimates = [], []
            for target in self.settings.targets:
                table = None
                if isinstance(target, Percentile):
                    table = reactions(self.windows, target.part, target.seconds, most)
                tables.append(table)
                value, weight = target.values(found, table)
                values.append((value, weight))
                estimates.append(self._estimate(target, value, weight))
            self._state = _State(found, tables, tuple(estimates), values)
        return self._state

    def _estimate(self, target: Target, value: Floats, weight: Floats) -> Known:
        low, middle, high = self._interval(target, value, weight)
        settled = [w for w in self.windows if w.settled]
        done = (
            self._narrow(low, middle, high)
            and len(settled) >= FEWEST_WINDOWS
            and len({w.users for w in settled}) >= 3
            and self._narrow_before(target)
        )
        return Known(target.name, middle, low, high, target.unit, done)

    def _interval(self, target: Target, value: Floats, weight: Floats) -> tuple[float, float, float]:
        low, middle, high = weighted_quantiles(value, weight, (0.025, 0.5, 0.975))
        if isinstance(target, Percentile) and math.isfinite(high):
            # A number of users for which it holds, and one for which it does not.
            low, high = float(math.floor(low)), float(math.ceil(high))
        return low, middle, math.inf if high > target.most(self.settings.most_users) else high

    def _narrow(self, low: float, middle: float, high: float) -> bool:
        return middle > 0 and math.isfinite(high) and (high - low) / (2 * middle) <= self.settings.within

    def _narrow_before(self, target: Target) -> bool:
        """Was it as narrow without the last window?

        Who stops at the first interval that is narrow enough picks those that are too narrow by chance.
        """
        windows, most = self.windows[:-1], self.settings.most_users
        found = fit(windows, most_users=most, seed=self.seed)
        table = (
            reactions(windows, target.part, target.seconds, most) if isinstance(target, Percentile) else None
        )
        return self._narrow(*self._interval(target, *target.values(found, table)))

    def _decide(self, elapsed_s: float) -> Decision:
        settings, state = self.settings, self._known()
        made: dict[str, Any] = {"elapsed_s": elapsed_s}
        if state is not None:
            made["estimates"] = state.estimates
            made["chance_within"] = state.found.chance_within
        settled = [w for w in self.windows if w.settled]
        last = self.windows[-1].users if self.windows else None
        shortest = settings.window_s[0]
        left_s = settings.seconds - elapsed_s
        heaviest = max((w.users for w in settled), default=0)
        if state is not None and all(e.done for e in state.estimates):
            return Decision(None, 0.0, words.enough(state.estimates, settings.within), **made)
        if state is not None and self._none(state, heaviest):
            return Decision(None, 0.0, words.none(settings.most_users, state.found.chance_within), **made)
        first = self._first()
        following = self._grown(heaviest) if settled else first
        if left_s < settings.overhead_s(last, following if self._grows(state) else last or first) + shortest:
            return Decision(None, 0.0, words.out_of_time(settings.seconds), **made)
        if not settled:
            return Decision(first, shortest, words.first(first), **made)
        if state is None:
            if heaviest < settings.most_users:
                return Decision(following, shortest, words.nothing_completed(heaviest), **made)
            longest = min(settings.window_s[1], left_s - settings.overhead_s(last, heaviest))
            return Decision(heaviest, longest, words.nothing_completed(heaviest), **made)
        if self._grows(state):
            return Decision(following, shortest, words.grow(heaviest, following), **made)
        return self._best(state, elapsed_s, left_s, last, heaviest, made)

    def _first(self) -> int:
        most = self.settings.most_users
        return max(self.settings.least_users, min(most, round(most / LIGHT_PART)), 1)

    def _grown(self, heaviest: int) -> int:
        return min(self.settings.most_users, max(heaviest + 1, math.ceil(GROWTH * heaviest)))

    def _none(self, state: _State, heaviest: int) -> bool:
        """Is it clear that no load within the limits reaches any target?"""
        if heaviest < self.settings.most_users:
            return False
        for target, (value, weight) in zip(self.settings.targets, state.values, strict=True):
            beyond = float(weight[value > target.most(self.settings.most_users)].sum())
            if beyond < 1 - SURELY_NONE:
                return False
        return True

    def _grows(self, state: _State | None) -> bool:
        """Is nothing seen yet of a bend, of waits, or of longer responses?"""
        settled = [w for w in self.windows if w.settled]
        if not settled or state is None:
            return True
        heaviest = max(settled, key=lambda w: w.users)
        lightest = min(settled, key=lambda w: w.users)
        if heaviest.users >= self.settings.most_users:
            return False
        knee, weight = state.found.draws.knee, state.found.draws.weights
        if len(settled) >= 3 and float(weight[knee <= heaviest.users].sum()) > SEEN_BEND:
            return False
        if heaviest is lightest:
            return True
        waits = (heaviest.waiting, lightest.waiting)
        if waits[0] is not None and waits[1] is not None and waits[0] - waits[1] > WAIT_RISE:
            return False
        if len(heaviest.reactions_s) >= 5 and len(lightest.reactions_s) >= 5:
            before, after = (float(np.median(w.reactions_s)) for w in (lightest, heaviest))
            return not after > RESPONSE_RISE * max(before, 0.05)
        return True

    def _best(
        self,
        state: _State,
        elapsed_s: float,
        left_s: float,
        last: int | None,
        heaviest: int,
        made: dict[str, Any],
    ) -> Decision:
        settings = self.settings
        index = state.found.draws.equal(DRAWS)
        sought = []
        for target, table, known in zip(settings.targets, state.by_target, state.estimates, strict=True):
            if known.done:
                continue
            most = 1.5 * target.most(settings.most_users)
            if table is None:
                value = target.values(state.found, None)[0][index]
                sought.append(Sought(np.minimum(value, most)))
            else:
                drawn = _equal(table, DRAWS)
                sought.append(Sought(np.minimum(drawn.users, most), drawn))
        users = self._tried(state, heaviest)
        rate = np.median(state.found.expected(index, users, 0.0)[0], axis=0)
        found: list[Candidate] = []
        short, long = settings.window_s
        for length in dict.fromkeys((short, math.sqrt(short * long), long)):
            random = np.random.default_rng([self.seed, len(self.windows)])
            some = users[_turning_over(users, rate, length, state.found.knee.value)]
            costs = np.array([settings.overhead_s(last, int(n)) + length for n in some])
            middle = elapsed_s + float(costs.mean()) - length / 2
            parts = narrowing(state.found, index, sought, some, length, middle, random)
            found += [
                Candidate(int(n), length, float(s), float(p))
                for n, s, p in zip(some, costs, parts, strict=True)
                if s <= left_s
            ]
        if not found:
            window_s = left_s - settings.overhead_s(last, last or 1)
            return Decision(last, max(short, window_s), words.remaining(last or 1), **made)
        found.sort(key=lambda c: -c.worth)
        best = found[0]
        # what is left would be too short for another window: this one takes it
        rest = left_s - best.seconds
        window_s = best.window_s
        if rest < settings.overhead_s(best.users, best.users) + short:
            window_s = min(best.window_s + rest, max(long, best.window_s))
        why = words.best(best, state.estimates, [w.users for w in self.windows], state.found)
        return Decision(
            best.users,
            window_s,
            why,
            expected_seconds=_expected(best, state.estimates, settings.within),
            candidates=tuple(found[:8]),
            **made,
        )

    def _tried(self, state: _State, heaviest: int) -> Floats:
        """Numbers of users to consider: over the whole range seen and one step of growth beyond, and about
        where the targets may lie."""
        top = self._grown(heaviest)
        least = max(self.settings.least_users, min(self._first(), int(state.found.knee.low / 3)), 1)
        even = np.geomspace(least, top, TRIED_LOADS)
        about = []
        for known in state.estimates:
            scale = 1.0 if known.unit == "users" else 0.0
            about += [scale * known.value * x for x in (0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 2.8)]
        knee = state.found.knee
        about += [knee.low, knee.value, knee.value * 1.5, knee.value * 0.6]
        made = np.array([*even, *(x for x in about if math.isfinite(x) and x > 0)])
        return np.unique(np.clip(np.rint(made), least, top))


def _turning_over(users: Floats, rate: Floats, window_s: float, knee: float) -> NDArray[np.bool_]:
    """Which of these numbers of users come round at least once in a window of this length.

    Where a thought and its answer take longer, by Little's law, a window sees how the queues fill, and not
    what the system completes. Half as many again as the knee are always considered.
    """
    return (users <= rate * window_s) | (users <= BEYOND * knee)


def _equal(table: Reactions, count: int) -> Reactions:
    """Draws of equal weight, in an order by chance of the values."""
    places = (np.arange(count) + 0.5) / count
    k = np.minimum(np.searchsorted(np.cumsum(table.weights), places), len(table.weights) - 1)
    return replace(table.take(k), weights=np.full(count, 1 / count))


def _expected(best: Candidate, estimates: tuple[Known, ...], within: float) -> float | None:
    """Seconds until the widest target is as narrow as asked for, if each further second brings as much
    precision as the best next window; ``None``: no interval has an end yet."""
    widest = 0.0
    for known in estimates:
        if known.done:
            continue
        if not math.isfinite(known.high) or not known.value > 0:
            return None
        widest = max(widest, (known.high - known.low) / (2 * known.value))
    gain = (1 - best.narrowing) ** -2 - 1
    if gain <= 1e-3 or widest <= 0:
        return None
    return float(best.seconds * max(1.0, ((widest / within) ** 2 - 1) / gain))
