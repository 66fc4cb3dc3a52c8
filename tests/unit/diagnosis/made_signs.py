"""Signs put into made recordings: columns and rows that some rule looks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from made_recording import MadeRecording, at
from made_study import Made

from satline.diagnosis import RULES, Finding, saturation
from satline.diagnosis._diagnose import context_of
from satline.reduction import reduce

Rate = Callable[[int], float]


def users_at(made: Made, seconds: float) -> int:
    """Intended users at this time of a made study."""
    step = min(int(seconds / (made.warmup + made.window)), len(made.levels) - 1)
    return made.levels[step]


def set_level(recording: MadeRecording, made: Made, table: str, column: str, value: Rate) -> None:
    """A level as a function of the users."""
    for row in recording.rows[table]:
        row[column] = round(value(users_at(made, row["monotonic_ns"] / 1e9)))


def set_counter(
    recording: MadeRecording, made: Made, table: str, column: str, rate: Rate, noise: np.ndarray | None = None
) -> None:
    """A counter of a single entity that grows by rate(users) per second, times `noise` of each sample."""
    total, before = 0.0, 0.0
    for k, row in enumerate(recording.rows[table]):
        now = row["monotonic_ns"] / 1e9
        total += rate(users_at(made, before)) * (now - before) * (1.0 if noise is None else float(noise[k]))
        row[column], before = round(total), now


def times(recording: MadeRecording) -> list[float]:
    """Times of the samples in seconds."""
    return [row["monotonic_ns"] / 1e9 for row in recording.rows["system"]]


def add_device(
    recording: MadeRecording,
    made: Made,
    name: str,
    kind: str,
    *,
    rates: dict[str, Rate],
    levels: dict[str, Rate],
) -> None:
    """A further device, with counters by their rates and levels."""
    totals = dict.fromkeys(rates, 0.0)
    before = 0.0
    for now in times(recording):
        users = users_at(made, before)
        for counter, rate in rates.items():
            totals[counter] += rate(users) * (now - before)
        before = now
        recording.rows["device"].append(
            {
                **at(now),
                "device": name,
                "device_kind": kind,
                **{counter: round(total) for counter, total in totals.items()},
                **{level: round(value(users)) for level, value in levels.items()},
            }
        )


def add_tier(recording: MadeRecording, made: Made, name: str, priority: int, size: float, used: Rate) -> None:
    """A swap device."""
    levels: dict[str, Rate] = {
        "size_bytes": lambda _: size,
        "used_bytes": used,
        "priority": lambda _: priority,
    }
    add_device(recording, made, name, "swap", rates={}, levels=levels)


def bursts(made: Made, *, every: float, length: float, first: float = 0.0) -> list[tuple[float, float]]:
    """Spells of some seconds at regular distances over a whole made study."""
    end = len(made.levels) * (made.warmup + made.window)
    return [(s, s + length) for s in np.arange(first, end, every)]


def inside(spells: list[tuple[float, float]], seconds: float) -> bool:
    """Does this time lie in a spell?"""
    return any(a <= seconds < b for a, b in spells)


def slow_down(recording: MadeRecording, spells: list[tuple[float, float]], by: float) -> None:
    """Transactions that end in a spell take `by` seconds more."""
    for row in recording.rows["transaction"]:
        if row["response_us"] is None:
            continue
        ends = (row["monotonic_ns"] / 1e9) + row["response_us"] / 1e6
        if inside(spells, ends):
            row["response_us"] += round(by * 1e6)


def add_user(
    recording: MadeRecording, name: str, spells: list[tuple[float, float]], cpu: float = 0.2
) -> None:
    """A user outside the study's who uses a processor's part in his spells."""
    total, before = 0.0, 0.0
    for now in times(recording):
        total += cpu * 1e6 * (now - before) * inside(spells, (now + before) / 2)
        before = now
        recording.rows["user"].append({**at(now), "user": name, "cpu_us": round(total), "run_delay_us": 0})


def add_job(recording: MadeRecording, name: str, spells: list[tuple[float, float]]) -> None:
    """A busy thread in each of the spells, another process each time."""
    for number, (start, end) in enumerate(spells):
        for now in times(recording):
            if start - 0.5 <= now <= end:
                recording.rows.setdefault("task", []).append(
                    {
                        **at(now),
                        "pid": 100 + number,
                        "tid": 100 + number,
                        "start_ticks": number,
                        "user": "_host",
                        "name": name,
                        "cpu_us": round(max(0.0, now - start) * 9e5),
                        "run_delay_us": 0,
                    }
                )
    recording.rows["task"].sort(key=lambda row: row["monotonic_ns"])


def disk(
    read_ms: Callable[[int], float],
    *,
    write_ms: float = 1.0,
    hits: Callable[[int], float | None] = lambda _: None,
    samples: int = 1800,
    queue: float = 1.0,
    name: str = "sda",
    seed: int = 1,
) -> MadeRecording:
    """A host with some users and one disk, in samples of 10 s.

    read_ms, hits
        Time of a read and part of the reads that the cache serves (``None``: no counters), by the number
        of the sample.
    """
    random = np.random.default_rng(seed)
    rows: dict[str, list[dict[str, Any]]] = {"system": [], "processor": [], "user": [], "device": []}
    totals: dict[str, float] = {}

    def grow(counter: str, by: float) -> int:
        totals[counter] = totals.get(counter, 0.0) + by
        return round(totals[counter])

    for k in range(samples):
        now = at(10.0 * k)
        rows["system"].append({**now, "sample": k})
        active = random.random(8) < 0.2 + 0.6 * (k % 360) / 360
        busy = float(active.sum()) * 0.3e6
        processor = {
            "processor": "0",
            "user_us": grow("user", busy),
            "nice_us": 0,
            "irq_us": 0,
            "steal_us": 0,
        }
        processor |= {
            "steal_us": 0,
            "system_us": 0,
            "guest_us": 0,
            "iowait_us": 0,
            "idle_us": grow("idle", 10e6 - busy),
        }
        rows["processor"].append({**now, **processor})
        for u in range(8):
            cpu = grow(f"u{u}", 0.3e6 * active[u])
            rows["user"].append({**now, "user": f"u{u}", "cpu_us": cpu, "run_delay_us": 0})
        reads = float(random.poisson(40 + 20 * active.sum()))
        read_us = reads * read_ms(k) * 1000 * float(random.lognormal(0, 0.3))
        write_us = reads * write_ms * 1000 * float(random.lognormal(0, 0.3))
        served = hits(k)
        hit = {} if served is None else {"cache_hits": grow("hits", reads * served)}
        rows["device"].append(
            {
                **now,
                "device": name,
                "device_kind": "block",
                "reads": grow("reads", reads),
                "writes": grow("writes", reads),
                "read_wait_us": grow("read_wait", read_us),
                "write_wait_us": grow("write_wait", write_us),
                "busy_us": grow("busy", min(9e6, read_us + write_us)),
                "queue_us": grow("queue", min(9e6, read_us + write_us) * queue),
                **hit,
            }
        )
    return MadeRecording(rows)


def judged(recording: MadeRecording, rule: str) -> Finding:
    """What one rule says of a recording, without the others."""
    reduction = reduce(recording)
    context = context_of(recording, reduction, saturation(reduction))
    return next(judge for of, judge in RULES if of.name == rule)(context)
