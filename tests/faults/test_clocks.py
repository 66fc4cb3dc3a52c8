"""The real-time clock steps, or the recorder is stopped a while: both are told, no row is lost or doubled."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import shim
from recordings import found

from satline.recording import check, compact

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shim.compiler() is None, reason="no C compiler, which the shim needs"),
]
SECOND = 10**9
HOUR_S = 3600
# Beyond midnight in both directions, so that a day begins, and is come back to.
STEPS_S = (26 * HOUR_S, -50 * HOUR_S, HOUR_S)
PATIENCE_S = 60.0


def until(recording: Path, query: str, least: int) -> None:
    """Wait until a query that counts has counted this many."""
    given_up = time.monotonic() + PATIENCE_S
    while not (rows := found(recording, query)) or rows[0][0] < least:
        assert time.monotonic() < given_up, f"{query}: {rows}"
        time.sleep(0.05)


@pytest.fixture
def recorder(place: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path, Path]]:
    """A recorder, its recording, and the file that shifts its real-time clock."""
    recording, shift = place / "stepped.satline", place / "shift"
    shift.write_text("0")
    words = shim.monitor(recording, "600s")
    process = subprocess.Popen(
        words, env=shim.environment(place, clock=shift), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process, recording, shift
    finally:
        process.kill()
        process.wait()


def test_steps_of_the_clock_are_told_and_lose_nothing(
    recorder: tuple[subprocess.Popen[bytes], Path, Path],
) -> None:
    process, recording, shift = recorder
    shifted_s = 0
    until(recording, "SELECT count(*) FROM system", 5)
    for number, step_s in enumerate(STEPS_S, start=1):
        shifted_s += step_s
        # In one write, so that the recorder reads the old shift or the new one.
        beside = shift.with_suffix(".new")
        beside.write_text(str(shifted_s * SECOND))
        beside.replace(shift)
        until(recording, "SELECT count(*) FROM event WHERE event = 'clock-step'", number)
        until(recording, "SELECT count(*) FROM system", 5 * (number + 1))
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 0

    told = found(recording, "SELECT value FROM event WHERE event = 'clock-step' ORDER BY monotonic_ns")
    assert [value for (value,) in told] == pytest.approx(STEPS_S, abs=1)
    query = 'SELECT monotonic_ns, time_ns, sample FROM "system" ORDER BY monotonic_ns, sample'
    before = found(recording, query)
    lost = found(recording, "SELECT coalesce(sum(value), 0) FROM event WHERE event = 'samples-lost'")[0][0]
    numbers = [number for _, _, number in before]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] + 1 - len(numbers) == lost
    # Time that passed is by the clock that does not step: no gap of hours.
    assert before[-1][0] - before[0][0] < PATIENCE_S * len(STEPS_S) * SECOND
    assert check(recording).problems == []

    compact(recording)
    assert found(recording, query) == before
    assert check(recording).problems == []


def test_a_recorder_that_was_stopped_counts_what_it_lost(
    recorder: tuple[subprocess.Popen[bytes], Path, Path],
) -> None:
    process, recording, _ = recorder
    until(recording, "SELECT count(*) FROM system", 5)
    process.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    process.send_signal(signal.SIGCONT)
    until(recording, "SELECT count(*) FROM event WHERE event = 'samples-lost'", 1)
    until(recording, "SELECT count(*) FROM system", 10)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 0

    numbers = [number for (number,) in found(recording, "SELECT sample FROM system ORDER BY sample")]
    lost = found(recording, "SELECT sum(value), max(value) FROM event WHERE event = 'samples-lost'")[0]
    assert lost[1] >= 1.5 / 0.1 - 2
    assert numbers[-1] + 1 - len(numbers) == lost[0]
    assert check(recording).problems == []
