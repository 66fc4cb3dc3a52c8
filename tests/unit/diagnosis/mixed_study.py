"""Studies made in memory whose commands differ much in length, on processors that all share equally."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from made_recording import MadeRecording, at

UNUSED = ("nice_us", "system_us", "irq_us", "iowait_us", "steal_us", "guest_us")


@dataclass(frozen=True)
class Mixed:
    """Users think for Z s (mean), then need D s of one of m processors.

    What a command needs at first (`at_once` s) is served before all else, as schedulers do; for the rest all
    who are there are served alike.

    The steps follow each other as in a study: users come and stay, and what they have begun goes on. So at
    heavy load the longest commands are those that do not end within a window, and ever more short ones do.

    demands, chances
        Mean demand of a class in seconds, and the chance of a command to be of it.
    spread
        Of the logarithm of a command's demand about that of its class.

    by_user
        Each user types commands of one class only.
    pauses
        By class, the part of Z that is the mean think time before its commands; all: 1.
    come
        Users beyond this number never come, whatever the steps intend.

    The asymptotes cross at N* = m (Z + D) / D, with D the mean demand of all commands [Bard].
    """

    demands: tuple[float, ...]
    chances: tuple[float, ...]
    levels: tuple[int, ...] = (1,)
    think: float = 2.0
    processors: int = 1
    spread: float = 0.3
    at_once: float = 0.0
    by_user: bool = False
    pauses: tuple[float, ...] | None = None
    come: int | None = None
    ramp: float = 3.0
    warmup: float = 4.0
    window: float = 20.0

    @property
    def demand(self) -> float:
        """Mean demand of a command."""
        each = np.array(self.demands) * np.exp(self.spread**2 / 2)
        return float(each @ np.array(self.chances))

    @property
    def saturation(self) -> float:
        """N* of the asymptotes; of users who differ, where what they do alone fills the processors."""
        if self.by_user:
            each = np.array(self.demands) * np.exp(self.spread**2 / 2)
            return self.processors / float(each / (self.thinks + each) @ np.array(self.chances))
        think = float(self.thinks @ np.array(self.chances))
        return self.processors * (think + self.demand) / self.demand

    @property
    def thinks(self) -> np.ndarray:
        """Mean think time before a command, by class."""
        return self.think * np.array(self.pauses or [1.0] * len(self.demands))

    def paused_for(self, knee: float) -> Mixed:
        """The same with think times such that it saturates at so many users."""
        short, long = 1e-6, 1e6
        for _ in range(80):
            middle = (short * long) ** 0.5
            under = replace(self, think=middle).saturation < knee
            short, long = (middle, long) if under else (short, middle)
        return replace(self, think=short)

    def make(self, seed: int = 1) -> MadeRecording:
        """The recording."""
        return _Maker(self, np.random.default_rng(seed)).recording()


@dataclass(frozen=True, order=True)
class _Command:
    user: int
    kind: int
    began: float
    demand: float


class _Maker:
    def __init__(self, made: Mixed, random: np.random.Generator) -> None:
        self.made, self.random = made, random
        self.length = made.ramp + made.warmup + made.window
        self.rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.cpu: list[tuple[float, float]] = [(0.0, 0.0)]
        self.kinds = _apportioned(made.chances, max(made.levels))

    def recording(self) -> MadeRecording:
        made = self.made
        for step, users in enumerate(made.levels):
            end = (step + 1) * self.length
            marks = {"source": "terminal", "step": step + 1, "users": users}
            self.rows["event"].append({**at(end - made.window), **marks, "event": "window-start"})
            self.rows["event"].append({**at(end), **marks, "event": "window-end"})
        self.run()
        self.rows["transaction"].sort(key=lambda r: r["monotonic_ns"])
        self.counters(np.arange(0, self.length * len(made.levels) + 0.25, 0.5))
        description = {
            "host": {"page_bytes": 4096, "processors": made.processors, "name": "made"},
            "system_under_test": {"processors": list(range(made.processors)), "limits": {}},
        }
        monitor = {"sampling": {"interval_ms": 500}, "users": {"definition": "emulated"}}
        return MadeRecording(dict(self.rows), description, {"monitor": monitor, "terminal": {"late": False}})

    def run(self) -> None:
        """Users come step by step, think, and are served: at first at once, then all who are there alike."""
        made, random = self.made, self.random
        arrivals: list[tuple[float, int, int]] = []
        for step, users in enumerate(made.levels):
            before = made.levels[step - 1] if step else 0
            begin = step * self.length
            for user in range(before, users if made.come is None else min(users, made.come)):
                came = begin + made.ramp * (user - before) / (users - before)
                arrivals.append(self.next_line(came, user))
        heapq.heapify(arrivals)
        end, now, served, spent = self.length * len(made.levels), 0.0, 0.0, 0.0
        # On a processor for the first time: until when, and what is left of it then.
        fresh: list[tuple[float, float, _Command]] = []
        waiting: deque[_Command] = deque()
        # By what each has to be served in all until he is done.
        sharing: list[tuple[float, _Command]] = []
        while arrivals or sharing or fresh:
            left = made.processors - len(fresh)
            pace = min(1.0, left / len(sharing)) if sharing else 0.0
            done = now + (sharing[0][0] - served) / pace if pace else np.inf
            first = fresh[0][0] if fresh else np.inf
            then = min(done, first, arrivals[0][0] if arrivals else np.inf)
            if then >= end:
                break
            served += (then - now) * pace
            spent += (then - now) * (pace * len(sharing) + len(fresh))
            now = then
            self.cpu.append((now, spent))
            ended = None
            if then == done:
                ended = heapq.heappop(sharing)[1]
            elif then == first:
                _, rest, command = heapq.heappop(fresh)
                if rest > 0:
                    heapq.heappush(sharing, (served + rest, command))
                else:
                    ended = command
            else:
                _, user, kind = heapq.heappop(arrivals)
                demand = made.demands[kind] * float(np.exp(made.spread * random.normal()))
                waiting.append(_Command(user, kind, now, demand))
            if ended is not None:
                self.note(ended, now)
                heapq.heappush(arrivals, self.next_line(now, ended.user))
            while waiting and len(fresh) < made.processors:
                command = waiting.popleft()
                part = min(command.demand, made.at_once)
                heapq.heappush(fresh, (now + part, command.demand - part, command))
        for command in (*waiting, *(c for _, c in sharing), *(c for _, _, c in fresh)):
            self.note(command, None)

    def next_line(self, now: float, user: int) -> tuple[float, int, int]:
        """When this user has thought, and what he types then."""
        made, random = self.made, self.random
        kind = self.kinds[user] if made.by_user else int(random.choice(len(made.demands), p=made.chances))
        return now + float(random.exponential(made.thinks[kind])), user, kind

    def note(self, command: _Command, ended: float | None) -> None:
        began = command.began
        step = min(int(began / self.length), len(self.made.levels) - 1)
        response = None if ended is None else round((ended - began) * 1e6)
        self.rows["transaction"].append(
            {
                **at(began),
                "user": f"user-{command.user:03d}",
                "step": step + 1,
                "users": self.made.levels[step],
                "phase": "window",
                "class": f"class-{command.kind}",
                "outcome": "cut" if ended is None else "ok",
                "think_us": round(self.made.thinks[command.kind] * 1e6),
                "typing_us": 0,
                "response_us": response,
                "reaction_us": response,
            }
        )

    def counters(self, times: np.ndarray) -> None:
        moments, spent = np.array(self.cpu).T
        busy = np.rint(np.interp(times, moments, spent) * 1e6 / self.made.processors).astype(np.int64)
        for k, t in enumerate(times):
            now = at(float(t))
            self.rows["system"].append({**now, "sample": k, "mem_total_bytes": 2 * 10**9})
            for p in range(self.made.processors):
                row = {"processor": str(p), "user_us": int(busy[k]), "idle_us": int(t * 1e6) - int(busy[k])}
                self.rows["processor"].append({**now, **row, **dict.fromkeys(UNUSED, 0)})


def _apportioned(chances: tuple[float, ...], count: int) -> list[int]:
    """So many users of each class that any first few are as the chances say."""
    had = np.zeros(len(chances))
    kinds = []
    for n in range(count):
        kinds.append(int(np.argmax(np.array(chances) * (n + 1) - had)))
        had[kinds[-1]] += 1
    return kinds
