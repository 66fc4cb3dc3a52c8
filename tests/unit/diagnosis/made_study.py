"""Whole studies made in memory from a closed system of which it is known what saturates, and where."""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from made_recording import MadeRecording, at

PAGE = 4096


@dataclass(frozen=True)
class Made:
    """A transaction needs `cpu` s of one of `processors`, then `station` s of one thing that serves one at
    a time.

    kind
        What the station is: ``page`` (swap), ``io`` (files), ``server`` (a thread that itself uses a
        processor), ``none``.
    quota
        Quota in processors; the processors then serve at that pace.
    cap
        The station is a cap on reads: the device beneath is hardly busy.
    background
        Compute-bound work fills the processors at every load without slowing the users.
    overhead
        Supervisor time that each further user adds, as a fraction of capacity: paging that costs processor
        time.
    """

    think: float = 1.0
    cpu: float = 0.02
    station: float = 0.0
    kind: str = "none"
    processors: int = 1
    quota: float | None = None
    cap: bool = False
    background: bool = False
    overhead: float = 0.0
    memory_fraction: float = 0.5
    delay_accounting: bool = True
    levels: tuple[int, ...] = (1, 2, 4, 6, 8, 10, 14, 18)
    warmup: float = 6.0
    window: float = 24.0

    @property
    def saturation(self) -> float:
        """N* of the asymptotes."""
        servers = self.quota if self.quota is not None else self.processors
        slowest = max(self.cpu / servers, self.station)
        return (self.think + self.cpu / min(1.0, servers) + self.station) / slowest

    def make(self, seed: int = 1) -> MadeRecording:
        """The recording."""
        return _Maker(self, np.random.default_rng(seed)).recording()


class _Maker:
    def __init__(self, made: Made, random: np.random.Generator) -> None:
        self.made, self.random = made, random
        self.spans: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
        self.rows: dict[str, list[dict[str, Any]]] = defaultdict(list)

    def recording(self) -> MadeRecording:
        made = self.made
        length = made.warmup + made.window
        for step, users in enumerate(made.levels, start=1):
            start = (step - 1) * length
            self.level(step, users, start, start + length)
            marks = {"source": "terminal", "step": step, "users": users}
            self.rows["event"].append({**at(start + made.warmup), **marks, "event": "window-start"})
            self.rows["event"].append({**at(start + length), **marks, "event": "window-end"})
        self.counters(np.arange(0, length * len(made.levels) + 0.25, 0.5))
        self.rows["transaction"].sort(key=lambda r: r["monotonic_ns"])
        limits: dict[str, Any] = {"memory_bytes": 10**9}
        if made.quota is not None:
            limits["cpu_quota_processors"] = made.quota
        description = {
            "host": {"page_bytes": PAGE, "processors": made.processors, "name": "made"},
            "system_under_test": {
                "processors": list(range(made.processors)),
                "cgroup": "load",
                "limits": limits,
            },
        }
        monitor = {"sampling": {"interval_ms": 500}, "users": {"definition": "emulated"}}
        return MadeRecording(dict(self.rows), description, {"monitor": monitor, "terminal": {"late": False}})

    def level(self, step: int, users: int, start: float, end: float) -> None:
        made, random = self.made, self.random
        pace = made.quota if made.quota is not None else 1.0
        slow = 1 + made.overhead * users
        ready = [(start + float(random.exponential(made.think)), u) for u in range(users)]
        heapq.heapify(ready)
        free = [start] * (1 if made.quota is not None else made.processors)
        station = start
        while ready:
            t, number = heapq.heappop(ready)
            if t >= end:
                break
            user = f"user-{number:03d}"
            begin = max(t, heapq.heappop(free))
            done = begin + float(random.exponential(made.cpu)) / pace * slow
            heapq.heappush(free, done)
            self.spans[user, "delay"].append((t, begin))
            self.spans[user, "cpu"].append((begin, done))
            finish = done
            if made.kind != "none":
                served = max(done, station)
                finish = station = served + float(random.exponential(made.station))
                self.spans[user, made.kind].append((done, finish))
                self.spans["station", "busy"].append((served, finish))
            think = float(random.exponential(made.think))
            cut = finish > end
            response = None if cut else round((finish - t) * 1e6)
            self.rows["transaction"].append(
                {
                    **at(t),
                    "user": user,
                    "step": step,
                    "users": users,
                    "phase": "window",
                    "class": "work",
                    "outcome": "cut" if cut else "ok",
                    "think_us": round(think * 1e6),
                    "typing_us": 0,
                    "response_us": response,
                    "reaction_us": response,
                }
            )
            heapq.heappush(ready, (finish + think, number))

    def total(self, times: np.ndarray, who: str, what: str) -> np.ndarray:
        """Seconds that these spans cover up to each time, in microseconds."""
        spans = np.array(self.spans.get((who, what), []), dtype=float).reshape(-1, 2)
        covered = np.clip(times[:, None] - spans[:, 0], 0, spans[:, 1] - spans[:, 0]).sum(axis=1)
        return np.rint(covered * 1e6).astype(np.int64)

    def counters(self, times: np.ndarray) -> None:
        made = self.made
        users = [f"user-{n:03d}" for n in range(max(made.levels))]
        pace = made.quota if made.quota is not None else 1.0
        each = {
            (u, k): self.total(times, u, k) for u in users for k in ("cpu", "delay", "page", "io", "server")
        }

        def everyone(kind: str) -> np.ndarray:
            return np.asarray(sum(each[u, kind] for u in users))

        served = everyone("cpu")  # time on the (slowed) processor
        cpu = (served * pace).astype(np.int64)
        held = served - cpu
        busy = self.total(times, "station", "busy")
        server = busy if made.kind == "server" else np.zeros_like(busy)
        capacity = np.rint(times * 1e6 * made.processors).astype(np.int64)
        work = np.minimum(cpu + server, capacity)
        filler = (capacity - work) * (98 if made.background else 0) // 100
        idle = capacity - work - filler
        waiting = np.minimum(idle, busy) if made.kind in {"page", "io"} else np.zeros_like(busy)
        overhead = self.overhead_part(times)
        supervisor = np.rint(np.cumsum(np.diff(cpu, prepend=0) * overhead)).astype(np.int64) + server // 5
        supervisor = np.minimum(supervisor + cpu // 10, work)
        swaps = busy // 2000 if made.kind == "page" else np.cumsum(np.diff(times, prepend=0) * 900 * overhead)
        swaps = swaps.astype(np.int64)
        files = busy // 2000 if made.kind == "io" else np.zeros_like(busy)
        for k, t in enumerate(times):
            now = at(float(t))
            self.rows["system"].append(
                {
                    **now,
                    "sample": k,
                    "swap_in_pages": int(swaps[k]),
                    "swap_out_pages": int(swaps[k]),
                    "major_faults": int(swaps[k]),
                    "block_in_bytes": int((swaps[k] + files[k]) * PAGE),
                    "mem_total_bytes": 2 * 10**9,
                    "mem_available_bytes": 10**9,
                    "users_in_queue": 1,
                }
            )
            for p in range(made.processors):
                share = made.processors
                self.rows["processor"].append(
                    {
                        **now,
                        "processor": str(p),
                        "user_us": int((work[k] - supervisor[k]) // share),
                        "nice_us": int(filler[k] // share),
                        "system_us": int(supervisor[k] // share),
                        "irq_us": 0,
                        "idle_us": int((idle[k] - waiting[k]) // share),
                        "iowait_us": int(waiting[k] // share),
                        "steal_us": 0,
                        "guest_us": 0,
                    }
                )
            self.rows["cgroup"].append(
                {
                    **now,
                    "cgroup": "load",
                    "cpu_us": int(work[k]),
                    "memory_limit_bytes": 10**9,
                    "memory_bytes": int(made.memory_fraction * 10**9),
                    "major_faults": int(swaps[k]),
                    **(
                        {
                            "quota_limit_millicpu": int(made.quota * 1000),
                            "quota_periods": int(served[k] // 100_000),
                            "quota_throttled_periods": int(self.throttled(served)[k]),
                            "quota_throttled_us": int(held[k]),
                        }
                        if made.quota is not None
                        else {}
                    ),
                    **({"reads": int(busy[k] // 2000), "read_limit_per_second": 500} if made.cap else {}),
                }
            )
            self.rows["device"].append(
                {
                    **now,
                    "device": "vda",
                    "device_kind": "block",
                    "reads": int(busy[k] // 2000),
                    "writes": 0,
                    "busy_us": int(busy[k] // (20 if made.cap else 1)) if made.kind in {"page", "io"} else 0,
                    "queue_us": int(busy[k]),
                    "read_wait_us": int(busy[k]),
                    "write_wait_us": 0,
                }
            )
            if made.kind == "server":
                self.rows["task"].append(
                    {
                        **now,
                        "pid": 77,
                        "tid": 77,
                        "start_ticks": 5,
                        "user": "ledger",
                        "name": "ledger",
                        "cpu_us": int(server[k]),
                        "run_delay_us": 0,
                        "state": "R",
                    }
                )
            for u in users:
                delays = {"io_delay_us": int(each[u, "page"][k] + each[u, "io"][k]), "page_delay_us": 0}
                self.rows["user"].append(
                    {
                        **now,
                        "user": u,
                        "cpu_us": int(each[u, "cpu"][k] * pace),
                        "run_delay_us": int(each[u, "delay"][k] + each[u, "cpu"][k] * (1 - pace)),
                        **(delays if made.delay_accounting else {}),
                    }
                )

    def overhead_part(self, times: np.ndarray) -> np.ndarray:
        """Part of processor time that is overhead, at each time."""
        length = self.made.warmup + self.made.window
        step = np.minimum((times / length).astype(int), len(self.made.levels) - 1)
        slow = 1 + self.made.overhead * np.array(self.made.levels)[step]
        return np.asarray(1 - 1 / slow)

    def throttled(self, served: np.ndarray) -> np.ndarray:
        """A period is throttled if the group would have run through more than its quota in it."""
        rate = np.diff(served, prepend=0) / 5e5
        return np.cumsum(np.where(rate > 0.6, np.diff(served // 100_000, prepend=0), 0))
