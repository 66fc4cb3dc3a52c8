"""Why a run is invalid: in the emulator's words, and by whom if the recording shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from satline.diagnosis import invalid_run
from satline.recording import Recording, RecordingWriter, describe

S = 1_000_000_000


def emulated(path: Path, terminal: dict[str, Any]) -> None:
    """A minute's window, and what the emulator says of itself."""
    describe.create(path, "test")
    with RecordingWriter(path, "terminal") as writer:
        writer.write_rows(
            "event",
            [
                {"event": event, "step": 1, "users": 4, "time_ns": second * S, "monotonic_ns": second * S}
                for event, second in (("window-start", 10), ("window-end", 70))
            ],
        )
    describe.write_source(path, "terminal", {"end_reason": "complete", **terminal})


def recorded(path: Path, terminal: dict[str, Any], steal: tuple[float, float], others: float) -> str | None:
    """An invalid run: `steal` of each processor was taken; `others` processors went to others."""
    emulated(path, {"valid": False, **terminal})
    processors, users = [], []
    for second in range(9, 72):
        at = {"time_ns": second * S, "monotonic_ns": second * S}
        processors += [
            {**at, "processor": str(number), "steal_us": int(second * 1e6 * part)}
            for number, part in enumerate(steal)
        ]
        users.append({**at, "user": "_host", "cpu_us": int(second * 1e6 * others)})
    with RecordingWriter(path, "monitor") as writer:
        writer.write_rows("processor", processors)
        writer.write_rows("user", users)
    describe.write_source(path, "monitor", {"end_reason": "complete"})
    return invalid_run(Recording.open(path))


LATE = {"lateness": {"p50_us": 40, "p99_us": 25_400, "max_us": 90_000}}
WORDS = "the emulator was late (1 line in 100 by 25.4 ms or more)"


@pytest.mark.parametrize(
    ("steal", "others", "words"),
    [
        ((0.01, 0.12), 0.0, f"{WORDS}: the hypervisor took 12% of processor 1"),
        ((0.3, 0.12), 1.5, f"{WORDS}: the hypervisor took 30% of processor 0"),
        ((0.01, 0.0), 0.5, f"{WORDS}: others on this host took 25% of the processors"),
        ((0.01, 0.01), 0.1, WORDS),
    ],
)
def test_who_took_the_processor_is_named(
    tmp_path: Path, steal: tuple[float, float], others: float, words: str
) -> None:
    assert recorded(tmp_path / "r.satline", LATE, steal, others) == words


def test_what_the_emulator_says_of_itself_comes_first(tmp_path: Path) -> None:
    busy = {"lateness": {"p99_us": 90}, "cost": {"window_busiest_share": 0.912, "lines_held": 3}}
    words = recorded(tmp_path / "a.satline", busy, (0.0, 0.0), 0.0)
    assert words == (
        "the emulator, or an ssh of its lines, used 91% of a processor and the emulator held lines back"
    )
    held = {"cost": {"window_busiest_share": 0.1, "lines_held": 3}}
    assert recorded(tmp_path / "b.satline", held, (0.0, 0.0), 0.0) == "the emulator held lines back"


def test_without_readings_it_is_just_late(tmp_path: Path) -> None:
    emulated(tmp_path / "r.satline", {"valid": False})
    assert invalid_run(Recording.open(tmp_path / "r.satline")) == "the emulator was late"


def test_a_run_that_was_in_time_is_valid(tmp_path: Path) -> None:
    assert recorded(tmp_path / "a.satline", {"valid": True, **LATE}, (0.5, 0.5), 1.0) is None
