"""Late lines: what they disturb and displace, who took the emulator's processor, what is done about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_recording import MadeRecording
from made_study import Made

from satline.diagnosis import Lateness, diagnose, lateness_of
from satline.recording import Recording, RecordingWriter, describe
from satline.reduction import reduce

pytestmark = pytest.mark.slow

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
    """A run that says it was late: `steal` of each processor was taken; others had `others` processors."""
    emulated(path, {"late": True, **terminal})
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
    return words_of(path)


def words_of(path: Path) -> str | None:
    found = lateness_of(Recording.open(path))
    return found.words if found is not None else None


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
    emulated(tmp_path / "r.satline", {"late": True})
    assert words_of(tmp_path / "r.satline") == "the emulator was late"


def test_recordings_that_said_valid_are_read_as_before(tmp_path: Path) -> None:
    emulated(tmp_path / "a.satline", {"valid": False, **LATE})
    assert words_of(tmp_path / "a.satline") == WORDS
    emulated(tmp_path / "b.satline", {"valid": True, **LATE})
    assert words_of(tmp_path / "b.satline") is None


CPU = Made(cpu=0.2, levels=(1, 2, 3, 4, 6, 8, 10, 13))


@dataclass(frozen=True)
class Line:
    """What lateness may depend on: users, when it was sent, its response."""

    users: int
    sent: float
    response: float


def late_study(seconds: Callable[[Line], float], made: Made = CPU) -> MadeRecording:
    """A study whose lines are late by so many seconds."""
    recording = made.make()
    for row in recording.rows["transaction"]:
        line = Line(row["users"], row["monotonic_ns"] / 1e9, (row["response_us"] or 0) / 1e6)
        row["lateness_us"] = round(seconds(line) * 1e6)
    return recording


def found(recording: MadeRecording) -> Lateness:
    late = lateness_of(recording)
    assert late is not None
    return late


def test_late_lines_beyond_saturation_weaken_nothing() -> None:
    """Issue 20: 12 ms late where users wait for seconds."""
    plain = diagnose(CPU.make())
    recording = late_study(lambda line: 0.012 if line.users >= 10 else 0.0001)
    recording.sources["terminal"] = {"late": True, "lateness": {"p99_us": 12_200}}
    answer = diagnose(recording)
    assert answer.saturation == plain.saturation
    assert answer.headline == plain.headline
    late = found(recording)
    assert [x.users for x in late.late_loads] == [10, 13]
    assert not late.matters
    (words,) = [w for w in answer.warnings if "late" in w]
    assert "2 of 8 steps" in words
    assert "displaced by at most 0.6%" in words
    assert "what hangs on it: nothing" in words
    assert "invalid" not in " ".join((*answer.warnings, answer.headline))


def test_displaced_load_follows_littles_law() -> None:
    """Mean lateness / mean cycle, and late user-seconds / (users x time), are the same."""
    recording = late_study(lambda _: 0.1)
    rate = reduce(recording).curves["transaction_rate"].points
    late = found(recording)
    for one, point in zip(late.loads, rate, strict=True):
        assert point.mean is not None
        # Of the lines sent and those completed in a window some are not the same.
        assert one.displaced == pytest.approx(0.1 * point.mean / one.users, rel=0.1)


def test_a_displaced_load_counts_as_what_was_there() -> None:
    recording = late_study(lambda line: 0.5 if line.users == 3 else 0.0)
    reduction = reduce(recording)
    late = found(recording)
    (three,) = [x for x in late.loads if x.corrected]
    assert three.users == 3
    judged, done = late.applied(reduction)
    assert np.allclose(judged.load[reduction.load == 3], three.effective)
    assert (judged.number == reduction.number)[reduction.load == 3].all()
    assert f"3 as {three.effective:.3g}" in done[-1]
    answer = diagnose(recording)
    assert "Without that: saturated at" in answer.saturation.reasons[-1]
    assert any("the load of 3 users counts as" in w for w in answer.warnings)


def test_a_late_spell_is_left_out_and_told() -> None:
    length = CPU.warmup + CPU.window
    begin = 4 * length + 14  # within the window of six users
    recording = late_study(lambda line: 0.6 if begin <= line.sent < begin + 3 else 0.0)
    reduction = reduce(recording)
    judged, done = found(recording).applied(reduction)
    gone = (reduction.number >= 0) & (judged.number < 0)
    assert 2 <= gone.sum() <= 5
    assert set(reduction.load[gone]) == {6.0}
    assert "observations left out" in done[0]
    assert diagnose(recording).saturation.outcome == "saturated"


def test_disturbed_responses_are_those_late_by_a_tenth_of_themselves() -> None:
    late = found(late_study(lambda line: line.response * (0.05 if line.users < 5 else 0.2)))
    for one in late.loads:
        if one.users < 5:
            assert one.disturbed == 0
        else:
            assert one.disturbed > 0.9
    assert late.matters


def test_without_lateness_nothing_is_done() -> None:
    recording = CPU.make()
    assert lateness_of(recording) is None
    reduction = reduce(recording)
    quiet = found(late_study(lambda _: 0.0))
    assert quiet.applied(reduction) == (reduction, ())
    assert quiet.words == ""
