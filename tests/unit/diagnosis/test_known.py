"""What is said where nothing tells how full anything was: levels, rates, and why there are no more."""

from __future__ import annotations

from typing import Any

import pytest
from made_recording import MadeRecording, at

from satline.diagnosis import diagnose
from satline.errors import InputError

LEVELS = {"mem_total_bytes": 1000, "mem_available_bytes": 570, "load_average_1": 0.3, "tasks_runnable": 3}


def test_a_single_reading_is_refused_with_its_levels() -> None:
    recording = MadeRecording({"system": [{**at(0), "sample": 0, **LEVELS}]})
    with pytest.raises(InputError) as caught:
        diagnose(recording)
    assert caught.value.message == (
        "the recording holds a single reading, and what was used is told by two;"
        " known: memory 43 % used, load average 0.30, 3.0 tasks runnable"
    )


def test_readings_with_a_restart_between_any_two_are_refused_so() -> None:
    rows = [{**at(10 * k), "sample": k, "run": k + 1, "load_average_1": 1.0} for k in range(3)]
    with pytest.raises(InputError, match="3 readings, and a restart or a mark lies between any two"):
        diagnose(MadeRecording({"system": rows}))


def test_an_answer_without_any_use_says_what_rates_and_levels_were() -> None:
    rows: dict[str, list[dict[str, Any]]] = {"system": [], "device": []}
    for k in range(21):
        now = at(10 * k)
        rows["system"].append({**now, "sample": k, "load_average_1": 2.5, "context_switches": 1000 * k})
        for name, kind, each in (("eth0", "network", 20), ("lo", "network", 1)):
            counters = {"reads": each * k, "writes": 0, "read_bytes": each * 1000 * k, "write_bytes": 0}
            rows["device"].append({**now, "device": name, "device_kind": kind, **counters})
    answer = diagnose(MadeRecording(rows))
    assert answer.standing is not None
    assert answer.standing.state == "unknown"
    assert answer.standing.known == (
        "load average 2.5",
        "interface eth0 2.0 packets/s and 2.0 kB/s (busiest of 2)",
        "100 context switches/s",
    )
