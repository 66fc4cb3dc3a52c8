"""Clocks of another host: offsets within their bound, readings shifted, whatever the ways take."""

import random
import time

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from satline.systems.remote import clocks, copies


class FarClock:
    """Another host's clocks, `offset_ns` behind, behind a line whose ways take what `ways` gives."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, offset_ns: int, seed: int) -> None:
        self.now = 10**18
        self.offset = offset_ns
        self.ways = random.Random(seed)
        monkeypatch.setattr(clocks.time, "time_ns", lambda: self.now)
        monkeypatch.setattr(clocks.time, "monotonic_ns", lambda: self.now - 10**17)

    def ask(self) -> list[int]:
        self.now += self.ways.randrange(1, 5_000_000)
        answer = [self.now - self.offset, self.now - 10**17 - 3 * self.offset]
        self.now += self.ways.randrange(1, 50_000_000)
        return answer


@pytest.mark.parametrize("offset", [0, 1, -(10**12), 7 * 10**15])
@pytest.mark.parametrize("seed", range(5))
def test_an_offset_is_right_within_its_bound(monkeypatch: pytest.MonkeyPatch, offset: int, seed: int) -> None:
    far = FarClock(monkeypatch, offset, seed)
    measured = clocks.measure(far.ask)
    assert abs(measured.time_ns - offset) <= measured.bound_ns
    assert abs(measured.monotonic_ns - 3 * offset) <= measured.bound_ns
    assert measured.bound_ns < 27_500_001


def test_the_shortest_trip_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    far = FarClock(monkeypatch, 5, 1)
    bounds = [clocks.measure(far.ask, trips).bound_ns for trips in (1, 300)]
    assert bounds[1] < bounds[0]


def test_on_one_host_there_is_no_offset() -> None:
    measured = clocks.measure(lambda: [time.time_ns(), time.monotonic_ns()])
    assert abs(measured.monotonic_ns) <= measured.bound_ns


@given(
    offset=st.integers(-(10**15), 10**15),
    ppm=st.integers(-500, 500),
    times=st.lists(st.integers(0, 3600 * 10**9), min_size=1, max_size=50),
)
def test_readings_come_onto_this_hosts_time(offset: int, ppm: int, times: list[int]) -> None:
    """The other's clocks run at a rate of their own; what was t there is t + offset + rate·t here."""
    start_time, start_monotonic, span = 10**18, 10**12, 3600 * 10**9
    gained = span * ppm // 1_000_000
    shift = clocks.Shift(
        clocks.Offset(start_time, start_monotonic, offset, -offset, 10),
        clocks.Offset(start_time + span, start_monotonic + span, offset + gained, -offset + gained, 20),
    )
    rows = pa.table(
        {
            "time_ns": pa.array([start_time + t for t in times], pa.int64()),
            "monotonic_ns": pa.array([start_monotonic + t for t in times], pa.int64()),
            "other": pa.array(times, pa.int64()),
        }
    )
    moved = copies.shifted(rows, shift)
    for row, t in zip(moved.to_pylist(), times, strict=True):
        assert abs(row["time_ns"] - (start_time + t + offset + t * ppm / 1e6)) <= 2_000  # doubles of 10^15
        assert abs(row["monotonic_ns"] - (start_monotonic + t - offset + t * ppm / 1e6)) <= 2_000
        assert row["other"] == t
    assert shift.told()["rate_ppm"] == pytest.approx(ppm, abs=0.01)
    assert shift.told()["bound_us"] == 0
