"""Data that lead a hasty reader to the wrong component, as whole recordings.

Further traps: a database's lock before idle processors, and a partition at its cap, in test_rules_waits.py; a
quota, in test_rules.py; a change of the system in the middle, in test_stability.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from made_recording import MadeRecording, at

from satline.diagnosis import Diagnosis, diagnose
from satline.diagnosis.saturation import Series, judge
from satline.present._words import saturation_lines


def host(
    load: np.ndarray,
    busy: np.ndarray,
    *,
    interval_s: float = 60.0,
    processors: int = 4,
    waiting: np.ndarray | None = None,
    levels: dict[str, np.ndarray] | None = None,
    counters: dict[str, np.ndarray] | None = None,
    devices: dict[str, np.ndarray] | None = None,
) -> MadeRecording:
    """A host that is seen as sar sees it, one row for all processors.

    load
        Users in queue, by sample.
    busy, waiting
        Processors busy, and idle with I/O outstanding, in the interval before each sample.
    levels, counters
        Further columns of table system; of a counter its rate.
    devices
        Busy part of each device.
    """
    waiting = np.zeros(len(load)) if waiting is None else waiting
    user, iowait, idle = (
        np.cumsum(x * interval_s * 1e6).astype(np.int64)
        for x in (busy, waiting, np.maximum(processors - busy - waiting, 0))
    )
    sums = {
        n: np.cumsum(rate * interval_s).astype(np.int64)
        for n, rate in {
            **dict.fromkeys(("swap_in_pages", "swap_out_pages", "major_faults"), np.zeros(len(load))),
            **(counters or {}),
        }.items()
    }
    rows: dict[str, list[dict[str, Any]]] = {"system": [], "processor": [], "device": []}
    for k in range(len(load)):
        now = at(k * interval_s)
        system = {n: int(v[k]) for n, v in {**sums, **(levels or {})}.items()}
        rows["system"].append({**now, "sample": k, "users_in_queue": int(load[k]), **system})
        other = dict.fromkeys(("nice_us", "irq_us", "system_us", "steal_us", "guest_us"), 0)
        times = {"user_us": int(user[k]), "idle_us": int(idle[k]), "iowait_us": int(iowait[k])}
        rows["processor"].append({**now, "processor": "all", **other, **times})
    for name, part in (devices or {}).items():
        total = np.cumsum(part * interval_s * 1e6).astype(np.int64)
        rows["device"] += [
            {
                **at(k * interval_s),
                "device": name,
                "device_kind": "block",
                "reads": int(total[k]) // 5000,
                "writes": 0,
                "busy_us": int(total[k]),
                "queue_us": int(total[k]),
                "read_wait_us": int(total[k]),
                "write_wait_us": 0,
            }
            for k in range(len(load))
        ]
    return MadeRecording(rows, {"host": {"page_bytes": 4096, "processors": processors}})


def a_day_of_users(days: int, interval_s: float, top: float, random: np.random.Generator) -> np.ndarray:
    """Users in queue: few at night, many at noon, and days of different sizes."""
    time = np.arange(int(days * 86_400 / interval_s)) * interval_s
    size = random.uniform(0.7, 1.0, days)[(time // 86_400).astype(int)]
    shape = 0.1 + 0.9 * np.clip(np.sin(2 * np.pi * (time % 86_400 / 86_400 - 0.3)), 0, 1)
    return random.poisson(top * size * shape)


def state(answer: Diagnosis, rule: str) -> str:
    return next(f.state for f in (*answer.findings, *answer.others) if f.rule == rule)


def test_iowait_on_idle_processors_is_no_io_bottleneck() -> None:
    # a backup reads all day: whenever a processor idles, it does so with I/O outstanding
    random = np.random.default_rng(1)
    load = a_day_of_users(4, 60.0, 14, random)
    busy = np.clip(load * 0.1 * random.normal(1, 0.05, len(load)), 0, 3.9)
    answer = diagnose(
        host(
            load,
            busy,
            waiting=np.minimum(1.0, 4 - busy),
            counters={"block_in_bytes": np.full(len(load), 5e7)},
            devices={"sda": np.full(len(load), 0.95)},
        )
    )
    assert answer.saturation.outcome != "saturated", answer.saturation
    assert state(answer, "io_bound") != "holds"
    assert not [f for f in answer.findings if f.component != "none"]


def test_a_run_queue_of_twelve_is_nothing_on_64_processors() -> None:
    random = np.random.default_rng(2)
    load = a_day_of_users(4, 60.0, 12, random)
    # one thread each; at nearly every moment some thread waits for the processor where it ran last
    busy = load * random.normal(1, 0.03, len(load))
    answer = diagnose(
        host(
            load,
            busy,
            processors=64,
            levels={"tasks_runnable": load, "load_average_1": load},
            counters={"pressure_cpu_some_us": np.minimum(load / 14, 0.95) * 1e6},
        )
    )
    assert answer.saturation.outcome == "not-saturated", answer.saturation
    assert not answer.findings
    assert "Not saturated" in answer.headline
    # and where throughput levels off for want of work, that is not the processors' doing
    levelled = diagnose(
        host(
            load,
            np.minimum(busy, 7),
            processors=64,
            levels={"tasks_runnable": load},
            counters={"pressure_cpu_some_us": np.minimum(load / 14, 0.95) * 1e6},
        )
    )
    assert levelled.saturation.outcome == "partly-known", levelled.saturation
    assert state(levelled, "cpu_bound") != "holds"


@pytest.mark.parametrize("hours", [1, 6])
def test_one_outlier_in_three_quiet_months_is_no_saturation(hours: int) -> None:
    random = np.random.default_rng(3)
    load = a_day_of_users(90, 900.0, 8, random)
    busy = np.minimum(load * 0.1 * random.normal(1, 0.05, len(load)), 4)
    # one day everybody logs on at once, and nothing gets done
    strange = slice(50 * 96 + 40, 50 * 96 + 40 + 4 * hours)
    load[strange] = 30
    busy[strange] = 0.9
    full = np.zeros(len(load))
    full[strange] = 0.9e6
    recording = host(load, busy, interval_s=900.0, counters={"pressure_io_some_us": full})
    answer = diagnose(recording)
    assert answer.saturation.outcome != "saturated", answer.saturation
    assert not [f for f in answer.findings if f.component != "none"]


def test_the_peak_of_a_law_beyond_the_loads_seen_is_not_claimed() -> None:
    # X(N) = N / (1 + 0.02 (N − 1) + 0.0004 N (N − 1)) has its peak at 49.5 users; seen are loads up to 16
    random = np.random.default_rng(4)
    levels = np.array([1.0, 2, 4, 6, 8, 10, 13, 16])
    rate = 10 * levels / (1 + 0.02 * (levels - 1) + 0.0004 * levels * (levels - 1))
    number = np.repeat(np.arange(len(levels)), 40)
    series = Series(
        load=levels[number],
        number=number,
        throughput=rate[number] * random.normal(1, 0.02, len(number)),
        seconds=np.ones(len(number)),
        batches=number * 100 + np.tile(np.arange(40) // 5, len(levels)),
        contended=True,
    )
    answer = judge(series, load_axis="users", variable="transaction_rate", unit="per second")
    assert answer.outcome != "saturated", answer.reasons
    assert answer.peak is None
    assert answer.usl is not None
    assert answer.usl.peak is not None
    assert answer.usl.peak.value > 16
    assert not answer.usl.peak_in_range
    assert any("extrapolated, and not claimed" in line for line in saturation_lines(answer))
