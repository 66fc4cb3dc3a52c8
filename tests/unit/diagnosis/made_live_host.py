"""Plain recordings of a host with one trouble: users and their waits, limits, locks, threads, probes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from made_recording import MadeRecording, at

Rate = Callable[[float], float] | float


def _rate(rate: Rate, t: float) -> float:
    return rate(t) if callable(rate) else rate


@dataclass
class MadeUser:
    """Processors used, and parts of the time waited; each may be a function of the time in seconds.

    system
        Of the processors used.
    io, page, lock
        Tasks waiting as sampled: rounded at random, with that mean.
    blocked
        Time that its tasks wait for block I/O, by their clocks.
    read, faults
        Bytes read, major faults.
    told
        Time that the kernel tells its threads waited, by column of table user without "_wait_us"; throttled
        is that of `delay` which is a quota's.
    """

    cpu: Rate = 0.0
    system: float = 0.1
    delay: Rate = 0.0
    io: Rate = 0.0
    page: Rate = 0.0
    lock: Rate = 0.0
    group: str | None = None
    processes: int = 1
    blocked: Rate = 0.0
    read: Rate = 0.0
    faults: Rate = 0.0
    told: dict[str, Rate] | None = None


TOLD = ("page", "io", "futex", "mutex", "file_lock", "local", "network", "throttled")


def _column(cause: str) -> str:
    return "throttled_us" if cause == "throttled" else f"{cause}_wait_us"


@dataclass
class MadeHost:
    """Two processors, one disk, these users; all other tables as counters per second and levels by entity.

    busy
        Processors in use by all, users or not.
    disk
        Part of the time that the disk is busy.
    even
        Counters without noise.
    watched
        Satline's own monitor recorded it.
    working
        Users at work at once, as sampled; ``None``: not recorded.
    """

    users: dict[str, MadeUser]
    busy: Rate = 0.3
    disk: float = 0.02
    seconds: int = 240
    counters: dict[str, dict[str, dict[str, Rate]]] = field(default_factory=dict)
    levels: dict[str, dict[str, dict[str, Rate]]] = field(default_factory=dict)
    cgroup: str | None = None
    even: bool = False
    watched: bool = False
    working: Rate | None = None
    seed: int = 1

    def make(self) -> MadeRecording:
        """The recording, at one sample a second."""
        self._random = np.random.default_rng(self.seed)
        self._totals: dict[tuple[str, ...], float] = {}
        rows: dict[str, list[dict[str, Any]]] = {
            name: [] for name in ("system", "processor", "device", "user", *self.counters, *self.levels)
        }
        for t in range(self.seconds + 1):
            rows["system"].append({**at(t), "sample": t, **self._system(t)})
            rows["processor"] += self._processors(t)
            rows["device"].append({**at(t), "device": "sda", "device_kind": "block", **self._disk(t)})
            rows["user"] += [
                {**at(t), "user": name, **self._user(name, own, t)} for name, own in self.users.items()
            ]
            for table in {**self.counters, **self.levels}:
                for entity in {**self.counters.get(table, {}), **self.levels.get(table, {})}:
                    counters = self.counters.get(table, {}).get(entity, {})
                    levels = self.levels.get(table, {}).get(entity, {})
                    rows[table].append(
                        {
                            **at(t),
                            **_identity(table, entity),
                            **{n: self._total((table, entity, n), r, t) for n, r in counters.items()},
                            **{n: round(_rate(r, t)) for n, r in levels.items()},
                        }
                    )
        system: dict[str, Any] = {"cgroup": "load"} if self.cgroup else {}
        description = {"host": {"page_bytes": 4096, "processors": 2}, "system_under_test": system}
        recording = MadeRecording(rows, description)
        if self.watched:
            recording.sources["monitor"] = {}
        return recording

    def _total(self, key: tuple[str, ...], rate: Rate, t: float, unit: float = 1.0) -> int:
        """A counter: the integral of its rate, with a little noise."""
        before = self._totals.get(key, 0.0)
        if t > 0:
            noise = 1.0 if self.even else float(self._random.uniform(0.9, 1.1))
            before += _rate(rate, t) * unit * noise
        self._totals[key] = before
        return round(before)

    def _system(self, t: float) -> dict[str, int]:
        full = _rate(self.busy, t) >= 1.9
        waits = [own["wait_us"] for own in self.counters.get("lock", {}).values()]
        locks = {
            "lock_wait_us": self._total(("system", "lock"), lambda at: sum(_rate(w, at) for w in waits), t)
        }
        return {
            **(locks if waits else {}),
            **({} if self.working is None else {"users_in_queue": round(_rate(self.working, t))}),
            "tasks_runnable": 8 if full else 1,
            "pressure_cpu_some_us": self._total(("system", "pressure"), 0.9 if full else 0.01, t, 1e6),
            "swap_in_pages": 0,
            "swap_out_pages": 0,
            "major_faults": self._total(
                ("system", "faults"), lambda at: sum(_rate(own.faults, at) for own in self.users.values()), t
            ),
            "block_in_bytes": self._total(("system", "in"), 1e5, t),
            "mem_total_bytes": 8 << 30,
            "mem_free_bytes": 4 << 30,
            "mem_available_bytes": 6 << 30,
        }

    def _processors(self, t: float) -> list[dict[str, Any]]:
        found = []
        for name in ("0", "1"):
            busy = min(1.0, _rate(self.busy, t) / 2)
            used = self._totals.get(("processor", name), 0.0) + (busy * 1e6 if t > 0 else 0.0)
            self._totals[("processor", name)] = used
            states = dict.fromkeys(("nice_us", "irq_us", "iowait_us", "steal_us", "guest_us"), 0)
            found.append(
                {
                    **at(t),
                    "processor": name,
                    **states,
                    "user_us": round(0.8 * used),
                    "system_us": round(0.2 * used),
                    "idle_us": round(t * 1e6 - used),
                }
            )
        return found

    def _disk(self, t: float) -> dict[str, int]:
        return {
            "busy_us": self._total(("disk", "busy"), self.disk, t, 1e6),
            "queue_us": self._total(("disk", "queue"), self.disk, t, 1e6),
            "reads": self._total(("disk", "reads"), 20, t),
            "writes": self._total(("disk", "writes"), 5, t),
        }

    def _user(self, name: str, own: MadeUser, t: float) -> dict[str, Any]:
        def sampled(rate: Rate) -> int:
            mean = _rate(rate, t)
            return int(mean) + int(self._random.random() < mean % 1)

        return {
            "cpu_us": self._total((name, "cpu"), own.cpu, t, 1e6),
            "cpu_system_us": round(own.system * self._totals[(name, "cpu")]),
            "run_delay_us": self._total((name, "delay"), own.delay, t, 1e6),
            "io_delay_us": self._total((name, "blocked"), own.blocked, t, 1e6),
            "read_bytes": self._total((name, "read"), own.read, t),
            "major_faults": self._total((name, "faults"), own.faults, t),
            "page_delay_us": 0,
            "tasks_io_wait": sampled(own.io),
            "tasks_page_wait": sampled(own.page),
            "tasks_lock_wait": sampled(own.lock),
            "processes": own.processes,
            "cgroup": own.group,
            **{
                _column(cause): self._total((name, "told", cause), own.told.get(cause, 0.0), t, 1e6)
                for cause in (TOLD if own.told is not None else ())
            },
        }


def _identity(table: str, entity: str) -> dict[str, Any]:
    """The identity columns of a row; a thread is "user name pid", a pair "user cause holder name group"."""
    if table == "holder":
        user, cause, holder, name, group = entity.split()
        return {
            "user": user,
            "cgroup": "/",
            "cause": cause,
            "holder": holder,
            "holder_cgroup": group,
            "holder_name": name,
        }
    if table == "task":
        user, name, pid = entity.split()
        return {"user": user, "name": name, "pid": int(pid), "tid": int(pid), "start_ticks": 1}
    if table == "device":
        return {"device": entity, "device_kind": "block"}
    # There is one swapper.
    return {} if table == "swapper" else {table: entity}
