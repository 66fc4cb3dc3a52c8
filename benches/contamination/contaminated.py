"""Studies of known truth whose CPU is shared with others, as recordings.

`made(index)` gives the same system for the same index, always. A closed system (users that think, a CPU,
perhaps a device) is run as a fluid in small steps of time, so that its throughput has a sharp knee where the
asymptotes cross; what others take varies meanwhile. Counters and transactions are then written as a monitor
and an emulator would. Who takes:

hypervisor   holds back each virtual processor that wants to run, for a part of the time; seen as steal
neighbour    runs before the load, whether the load wants the CPU or not
hogs         compute without end, as many threads as are told, and share alike with each task of the load
group        compute without end; the load's control group is sure of its share, and gets no more meanwhile
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).absolute().parents[2]
sys.path[:0] = [
    str(ROOT / "python"),
    *(str(ROOT / "tests/unit" / part) for part in ("diagnosis", "reduction")),
    str(ROOT / "benches/saturation"),
]

from made_recording import MadeRecording, at  # noqa: E402
from systems import autocorrelated  # type: ignore[import-not-found]  # noqa: E402

Floats = NDArray[np.float64]
Random = np.random.Generator

SOURCES = ("hypervisor", "neighbour", "hogs", "group")
COURSES = ("constant", "slow", "bursts", "rising", "falling")
STEP_S, SAMPLE_S, NOISE_S = 0.01, 0.5, 0.5


@dataclass(frozen=True)
class Shared:
    """A system and what others take of its CPU.

    cpu_s, io_s
        Demand of a transaction; a device serves one at a time (0: there is none).
    taken
        Part that others take (of `hogs`: so that it is theirs of a CPU with five tasks of the load), at most.
    noise
        Relative noise of the throughput.
    """

    source: str
    course: str
    taken: float
    think_s: float
    cpu_s: float
    io_s: float
    processors: int
    levels: tuple[int, ...]
    window_s: float
    noise: float
    rho: float
    seed: int
    warmup_s: float = 4.0

    @property
    def bound_by(self) -> str:
        """The component that limits it."""
        return "io" if self.io_s * self.processors > self.cpu_s else "processor"

    @property
    def whole(self) -> float:
        """N* where nobody takes anything."""
        # Whoever comes is served from the next step of time on.
        total = self.think_s + max(self.cpu_s, STEP_S) + (max(self.io_s, STEP_S) if self.io_s else 0)
        return total / max(self.cpu_s / self.processors, self.io_s)

    def run(self) -> tuple[MadeRecording, Truth]:
        """The recording and its truth."""
        return _Run(self).made()


@dataclass(frozen=True)
class Truth:
    """What is true of a run.

    knee
        The load of saturation with what was left, least and greatest: they differ where what others took
        varies, for one user's response then is not the same at light and at heavy load. ``None``: not in the
        range.
    part
        Of the CPU that was left there (of hogs: beside five tasks).
    whole
        The load of saturation on a whole CPU; ``None`` where it is not the CPU that limits.
    free_at_top
        The heaviest load did not saturate what was left of the CPU just then, whatever lighter ones did.
    robbed
        At some lighter load others took so much that it saturated what was left.
    """

    knee: tuple[float, float] | None
    part: float
    whole: float | None
    bound_by: str
    free_at_top: bool = False
    robbed: bool = False


class _Run:
    """The fluid in steps of time, and what of it is seen."""

    def __init__(self, system: Shared) -> None:
        self.system = system
        self.random = np.random.default_rng(system.seed)
        self.length = system.warmup_s + system.window_s
        self.steps = round(self.length * len(system.levels) / STEP_S)
        self.time = np.arange(self.steps) * STEP_S
        self.level = np.minimum((self.time / self.length).astype(int), len(system.levels) - 1)
        self.users = np.array(system.levels)[self.level]
        self.part = system.taken * self._course()

    def _course(self) -> Floats:
        """What others take against the most they take, by time."""
        random, whole = self.random, self.time[-1]
        kind = self.system.course
        if kind == "slow":
            period = whole * float(random.uniform(0.4, 1.5))
            return np.asarray(0.5 + 0.5 * np.sin(2 * np.pi * (self.time / period + random.random())))
        if kind == "bursts":
            mean = float(np.exp(random.uniform(np.log(1.5), np.log(25))))
            on, found = bool(random.integers(2)), np.zeros(self.steps)
            place = 0
            while place < self.steps:
                size = max(1, round(float(random.exponential(mean)) / STEP_S))
                found[place : place + size] = on
                place, on = place + size, not on
            return found
        if kind in ("rising", "falling"):
            up = self.time / whole
            return np.asarray(up if kind == "rising" else 1 - up)
        return np.ones(self.steps)

    def granted(self, n: float, part: float) -> tuple[float, float, float]:
        """Processors that n tasks of the load get, that are stolen, and that neighbours use."""
        count = float(self.system.processors)
        wants = min(n, count)
        if self.system.source == "hypervisor":
            return wants * (1 - part), wants * part, 0.0
        if self.system.source == "neighbour":
            return min(n, count * (1 - part)), 0.0, count * part
        if part < 0.01:
            return wants, 0.0, 0.0
        if self.system.source == "group":
            got = wants * (1 - part)
        else:
            hogs = 5 * part / (1 - part) * count
            # One that is there has its share of a task, however seldom it is there.
            got = min(wants, count * n / (max(n, 1.0) + hogs))
        return got, 0.0, count - got

    def made(self) -> tuple[MadeRecording, Truth]:
        s = self.system
        each = round(NOISE_S / STEP_S)
        wild = autocorrelated(-(-self.steps // each), s.rho, self.random) * s.noise * np.sqrt(2)
        noise = np.maximum(1 + np.repeat(wild, each)[: self.steps], 0.05)
        busy, stolen, others, rate, at_cpu, at_device = (np.zeros(self.steps) for _ in range(6))
        n = q = 0.0
        level = -1
        for k in range(self.steps):
            if self.level[k] != level:  # users log on anew
                level, n, q = int(self.level[k]), 0.0, 0.0
            got, stole, ran = self.granted(n, float(self.part[k]))
            through = min(got / s.cpu_s, n / STEP_S)
            out = min(min(q, 1.0) / s.io_s, q / STEP_S) if s.io_s else through
            # What is counted is noisy, not the system: noise that filled queues would round its knee.
            rate[k] = out * noise[k]
            busy[k], stolen[k], others[k], at_cpu[k], at_device[k] = got, stole, ran, n, q
            ready = (self.users[k] - n - q) / s.think_s
            n = max(0.0, n + (ready - through) * STEP_S)
            q = max(0.0, q + (through - out) * STEP_S) if s.io_s else 0.0
        truth = self.truth()
        # Hogs take from a few tasks as from five at most.
        least = float(np.min(1 - self.part)) * s.whole
        robbed = any(n >= least for n in s.levels[:-1])
        return self.recording(busy, stolen, others, rate, at_cpu, at_device), replace(truth, robbed=robbed)

    def truth(self) -> Truth:
        s = self.system
        measured = self.time % self.length >= s.warmup_s
        loads = np.array(s.levels, dtype=float)
        if s.bound_by == "io":
            knee = s.whole
            part = 1.0
            # The CPU's part of a response is longer by what others take of it.
            more = s.cpu_s * s.taken / (1 - s.taken) / s.io_s
            return Truth((knee, knee + more) if knee < loads[-2] else None, part, None, "io")
        parts = []
        for k in range(len(s.levels)):
            own = self.part[measured & (self.level == k)]
            parts.append(float(1 - np.mean(own)))
        light = float(np.mean(self.part[measured & (self.level == 0)]))
        alone = self.granted(1.0, light)[0]
        if s.source == "hogs":
            low, high = self._among_hogs(self.part[measured], s.cpu_s / max(alone, 1e-3))
            knee_of_hogs = (low, high) if low < loads[-2] else None
            top = self._among_hogs(self.part[measured & (self.level == len(loads) - 1)], s.cpu_s)
            return Truth(
                knee_of_hogs,
                parts[-1],
                s.whole if high < loads[-2] else None,
                "processor",
                max(top) > loads[-2],
            )
        ends = []
        # One user's response as on a whole CPU, or as it was at the lightest load.
        for response in (s.cpu_s, s.cpu_s / max(alone, 1e-3)):
            knee = (s.think_s + max(response, STEP_S)) * s.processors / s.cpu_s
            ends.append(_crossing(loads, np.array(parts), knee))
        if s.course == "constant" and s.source in ("hypervisor",):
            ends = ends[1:]
        if None in ends or max(e for e in ends if e is not None) > loads[-2]:
            return Truth(None, parts[-1], s.whole, "processor")
        knees = sorted(float(e) for e in ends if e is not None)
        middle = float(np.mean(knees))
        free = s.whole * parts[-1] > loads[-2]
        return Truth(
            (knees[0], knees[-1]), float(np.interp(middle, loads, parts)), s.whole, "processor", free
        )

    def _among_hogs(self, parts: Floats, response: float) -> tuple[float, float]:
        """Least and greatest load of which it can be said that it saturates a CPU with hogs.

        Throughput bends where one task of the load is there all the time, for then the next shares with it;
        and since more tasks get more of the CPU it goes on rising, towards that of a whole one.
        """
        s = self.system
        part = float(np.mean(parts))
        hogs = 5 * part / (1 - part) * s.processors
        rate = s.processors / s.cpu_s
        return min(1.0, 1 / s.processors) + rate / (1 + hogs) * s.think_s, (s.think_s + response) * rate

    def recording(
        self, busy: Floats, stolen: Floats, others: Floats, rate: Floats, at_cpu: Floats, at_device: Floats
    ) -> MadeRecording:
        """Counters at each sample, and transactions that end as the rate says."""
        s = self.system
        each = round(SAMPLE_S / STEP_S)
        samples = self.steps // each + 1

        def counter(values: Floats) -> NDArray[np.int64]:
            total = np.concatenate([[0.0], np.cumsum(values * STEP_S)])[::each][:samples]
            return np.rint(total * 1e6).astype(np.int64)

        count = s.processors
        used, took, ran = counter(busy), counter(stolen), counter(others)
        wait, io = counter(np.maximum(0.0, at_cpu - busy)), counter(np.minimum(at_device, 1.0))
        delays = counter(at_device)
        times = np.arange(samples) * SAMPLE_S
        idle = np.maximum(np.rint(times * 1e6 * count).astype(np.int64) - used - took - ran, 0)
        iowait = np.minimum(idle, io)
        rows: dict[str, list[dict[str, object]]] = {
            name: [] for name in ("system", "processor", "cgroup", "device", "user", "transaction", "event")
        }
        # Each of a few stands for many: their sums are what is looked at.
        names = [f"user-{k:03d}" for k in range(min(8, max(s.levels)))]
        for k, t in enumerate(times):
            now = at(float(t))
            rows["system"].append(
                {
                    **now,
                    "sample": k,
                    "swap_in_pages": 0,
                    "swap_out_pages": 0,
                    "major_faults": 0,
                    "block_in_bytes": int(io[k] * 40),
                    "mem_total_bytes": 2 * 10**9,
                    "mem_available_bytes": 10**9,
                    "users_in_queue": 1,
                }
            )
            for p in range(count):
                rows["processor"].append(
                    {
                        **now,
                        "processor": str(p),
                        "user_us": int((used[k] * 9 // 10 + ran[k]) // count),
                        "nice_us": 0,
                        "system_us": int((used[k] - used[k] * 9 // 10) // count),
                        "irq_us": 0,
                        "idle_us": int((idle[k] - iowait[k]) // count),
                        "iowait_us": int(iowait[k] // count),
                        "steal_us": int(took[k] // count),
                        "guest_us": 0,
                    }
                )
            rows["cgroup"].append(
                {
                    **now,
                    "cgroup": "load",
                    "cpu_us": int(used[k]),
                    "memory_limit_bytes": 10**9,
                    "memory_bytes": 10**8 * 5,
                    "major_faults": 0,
                }
            )
            rows["device"].append(
                {
                    **now,
                    "device": "vda",
                    "device_kind": "block",
                    "reads": int(io[k] // 2000),
                    "writes": 0,
                    "busy_us": int(io[k]),
                    "queue_us": int(io[k]),
                    "read_wait_us": int(io[k]),
                    "write_wait_us": 0,
                }
            )
            for name in names:
                share = len(names)
                rows["user"].append(
                    {
                        **now,
                        "user": name,
                        "cpu_us": int(used[k] // share),
                        "run_delay_us": int(wait[k] // share),
                        "io_delay_us": int(delays[k] // share),
                        "page_delay_us": 0,
                    }
                )
        self.transactions(rows["transaction"], rate, at_cpu + at_device)
        for k, users in enumerate(s.levels):
            marks = {"source": "terminal", "step": k + 1, "users": users}
            start = k * self.length
            rows["event"].append({**at(start + s.warmup_s), **marks, "event": "window-start"})
            rows["event"].append({**at(start + self.length), **marks, "event": "window-end"})
        description = {
            "host": {"page_bytes": 4096, "processors": count, "name": "made"},
            "system_under_test": {
                "processors": list(range(count)),
                "cgroup": "load",
                "limits": {"memory_bytes": 10**9},
            },
        }
        monitor = {"sampling": {"interval_ms": 500}, "users": {"definition": "emulated"}}
        return MadeRecording(rows, description, {"monitor": monitor, "terminal": {"late": False}})

    def transactions(self, rows: list[dict[str, object]], rate: Floats, inside: Floats) -> None:
        """Each ends when the rate has added up to one more, and began as long before as Little's law says:
        the user who has waited longest is answered."""
        s = self.system
        done = np.cumsum(rate * STEP_S)
        for level, users in enumerate(s.levels):
            own = np.flatnonzero(self.level == level)
            before = done[own[0] - 1] if own[0] else 0.0
            total = done[own] - before
            start = self.time[own[0]]
            begun = total + inside[own]  # sent so far
            last = int(total[-1])
            ends = np.interp(np.arange(1, last + 1), total, self.time[own] + STEP_S)
            sent = np.interp(np.arange(1, last + 1), np.maximum.accumulate(begun), self.time[own] + STEP_S)
            response = np.maximum(ends - sent, s.cpu_s / 10)
            for k, (end, taken) in enumerate(zip(ends, response, strict=True)):
                began = max(start, end - float(taken))
                rows.append(
                    {
                        **at(began),
                        "user": f"user-{k % users:03d}",
                        "step": level + 1,
                        "users": users,
                        "phase": "window",
                        "class": "work",
                        "outcome": "ok",
                        "think_us": round(s.think_s * 1e6),
                        "typing_us": 0,
                        "lateness_us": 0,
                        "response_us": round(float(taken) * 1e6),
                        "reaction_us": round(float(taken) * 1e6),
                    }
                )
            # Those that are still waiting when the step ends.
            waiting = np.interp(
                np.arange(last + 1, int(begun[-1]) + 1), np.maximum.accumulate(begun), self.time[own] + STEP_S
            )
            for k, began in enumerate(waiting):
                rows.append(
                    {
                        **at(float(began)),
                        "user": f"user-{(last + k) % users:03d}",
                        "step": level + 1,
                        "users": users,
                        "phase": "window",
                        "class": "work",
                        "outcome": "cut",
                        "think_us": round(s.think_s * 1e6),
                        "typing_us": 0,
                        "lateness_us": 0,
                        "response_us": None,
                        "reaction_us": None,
                    }
                )
        rows.sort(key=lambda row: row["monotonic_ns"])  # type: ignore[arg-type,return-value]


def _crossing(loads: Floats, parts: Floats, knee: float) -> float | None:
    """The last N at which N = knee x c(N): all heavier loads saturate."""
    fine = np.linspace(loads[0], loads[-1], 2000)
    below = np.flatnonzero(fine < knee * np.interp(fine, loads, parts))
    return float(fine[below[-1]]) if len(below) and below[-1] + 1 < len(fine) else None


def made(index: int) -> Shared:
    """System number `index`: each source with each course in turn, and every amount from 0 to 75 %."""
    random = np.random.default_rng([index, 20])
    source = SOURCES[index % len(SOURCES)]
    course = COURSES[index // len(SOURCES) % len(COURSES)]
    taken = float(random.uniform(0, 0.75))
    kind = str(random.choice(["cpu", "cpu", "cpu", "io", "light"]))
    processors = int(random.choice([1, 1, 2]))
    knee = float(random.uniform(4, 30)) * (processors if processors > 1 else 1)
    think = float(random.uniform(0.8, 3))
    if kind == "io":
        io = think / (knee - 1)
        cpu = 0.1 * io
    else:
        io, cpu = 0.0, think / (knee / processors - 1)
    least = 1 - taken if kind == "cpu" else 1.0
    reach = (
        float(random.uniform(1.6, 2.6)) if kind != "light" else float(random.uniform(0.3, 0.7)) * (1 - taken)
    )
    top = max(8.0, knee * max(least, 0.5) * reach) if kind != "light" else max(4.0, knee * reach)
    count = int(random.integers(8, 12))
    levels = tuple(sorted({max(1, round(top * x)) for x in np.linspace(1 / count, 1, count)}))
    return Shared(
        source,
        course,
        taken,
        think,
        cpu,
        io,
        processors,
        levels,
        float(random.choice([20, 30, 45])),
        float(random.uniform(0.03, 0.2)),
        float(random.uniform(0, 0.6)),
        int(random.integers(1 << 30)),
    )
