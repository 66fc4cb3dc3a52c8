"""Recordings without transactions: a host with its real users."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from made_recording import MadeRecording, at

from satline.diagnosis import Diagnosis, diagnose

pytestmark = pytest.mark.slow


def host(
    demand: float,
    *,
    users: int = 20,
    hours: int = 30,
    capacity: float = 2.0,
    background: bool = False,
    batch: bool = False,
    seed: int = 1,
) -> MadeRecording:
    """Users that come and go over a day, each with this demand (processors) while active; 10 s samples."""
    random = np.random.default_rng(seed)
    samples = hours * 60
    rows: dict[str, list[dict[str, Any]]] = {"system": [], "processor": [], "user": []}
    cpu, delay = np.zeros(users + 1), np.zeros(users + 1)
    total, pressure = 0.0, 0.0
    for k in range(samples):
        now = at(10.0 * k)
        chance = 0.05 + 0.9 * np.sin(np.pi * k / samples) ** 4
        active = random.random(users) < chance
        if batch:
            active[:] = False
            active[0] = True
        wanted = np.append(active * random.exponential(demand, users), 0.0)
        if batch:
            wanted[0] = 1.0
        used = wanted * min(1.0, capacity / max(wanted.sum(), 1e-9))
        if background:
            used[-1] = capacity - used.sum()
        cpu += used * 10e6
        delay += np.maximum(0, wanted - used) * 10e6
        total += used.sum() * 10e6
        pressure += min(10e6, max(0.0, wanted.sum() - capacity) * 10e6)
        rows["system"].append(
            {
                **now,
                "sample": k,
                "swap_in_pages": 0,
                "swap_out_pages": 0,
                "major_faults": 0,
                "block_in_bytes": 0,
                "pressure_cpu_some_us": int(pressure),
            }
        )
        for p in range(2):
            busy = int(total / 2)
            rows["processor"].append(
                {
                    **now,
                    "processor": str(p),
                    "user_us": busy * 9 // 10,
                    "nice_us": 0,
                    "system_us": busy // 10,
                    "irq_us": 0,
                    "idle_us": int(k * 10e6) - busy + 10**9,
                    "iowait_us": 0,
                    "steal_us": 0,
                    "guest_us": 0,
                }
            )
        for u in range(users + 1):
            rows["user"].append(
                {**now, "user": f"u{u}", "cpu_us": int(cpu[u]), "run_delay_us": int(delay[u])}
            )
    return MadeRecording(rows)


def rule(answer: Diagnosis, name: str) -> str:
    return next(f.state for f in (*answer.findings, *answer.others) if f.rule == name)


def test_a_host_that_runs_out_of_processors() -> None:
    answer = diagnose(host(0.25))
    assert answer.saturation.outcome == "saturated", answer.saturation
    assert answer.saturation.throughput_variable == "problem_state"
    assert answer.saturation.at is not None
    # 2 processors / 0.25 = 8 users, rounded by the spread of demands
    assert 6 <= answer.saturation.at.value <= 12
    assert answer.findings[0].rule == "cpu_bound"
    assert rule(answer, "paging_bound") == "does-not-hold"


def test_a_host_with_room_to_spare() -> None:
    answer = diagnose(host(0.04))
    assert answer.saturation.outcome == "not-saturated", answer.saturation
    assert not answer.findings


def test_background_work_on_a_host_is_not_saturation() -> None:
    answer = diagnose(host(0.04, background=True))
    assert answer.saturation.outcome != "saturated"
    assert all(f.component == "none" for f in answer.findings)
    assert rule(answer, "cpu_background") == "holds"


def test_a_batch_machine_is_nongranular() -> None:
    answer = diagnose(host(0.0, batch=True, hours=20))
    assert answer.saturation.outcome == "nongranular"
    assert "batch" in answer.headline


@pytest.mark.parametrize("samples", [2, 10])
def test_a_short_recording_cannot_tell(samples: int) -> None:
    recording = host(0.25)
    for table in recording.rows:
        recording.rows[table] = [
            r for r in recording.rows[table] if r["monotonic_ns"] <= (samples - 1) * 10**10
        ]
    answer = diagnose(recording)
    assert answer.saturation.outcome == "partly-known"
    assert answer.saturation.advice
    assert not answer.findings
