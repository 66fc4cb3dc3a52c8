"""VSImax and AIM's crossover: the published arithmetic, on series whose figures can be done by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satline.cli import run
from satline.diagnosis.classic import VsiMax, crossover_of, vsimax_of
from satline.recording import Recording, RecordingWriter, describe

S = 1_000_000_000


def recorded(path: Path, responses: dict[int, list[float]]) -> Recording:
    """For each load these responses, in seconds, one every 10 s."""
    describe.create(path, "test")
    rows = []
    for step, (users, seconds) in enumerate(responses.items(), start=1):
        for k, response in enumerate(seconds):
            begin = (step * 100_000 + 10 * k) * S
            row = {"user": f"u{k % users}", "step": step, "users": users, "phase": "window", "outcome": "ok"}
            times = {"reaction_us": 1000, "response_us": round(response * 1e6)}
            rows.append({"time_ns": begin, "monotonic_ns": begin, **row, **times})
    with RecordingWriter(path, "terminal") as writer:
        writer.write_rows("transaction", rows)
    return Recording.open(path)


def test_the_base_is_of_the_quickest_without_the_very_quickest(tmp_path: Path) -> None:
    quick = [0.01, 0.02, *[0.1 + 0.01 * k for k in range(13)], *[5.0] * 30]
    found = vsimax_of(recorded(tmp_path / "a.satline", {10: quick}))
    assert found is not None
    assert found.base_s == pytest.approx(sum(0.1 + 0.01 * k for k in range(13)) / 13)
    assert found.threshold_s == pytest.approx(found.base_s + 1.0)


def test_it_is_the_greatest_load_before_the_running_mean_passes(tmp_path: Path) -> None:
    found = vsimax_of(recorded(tmp_path / "a.satline", {5: [0.5] * 40, 10: [1.4] * 40, 15: [1.6] * 40}))
    assert found == VsiMax(0.5, 1.5, 10, True)
    assert "10 users" in found.words


def test_spikes_of_a_twentieth_are_left_out(tmp_path: Path) -> None:
    # 20 users: the latest 13, less one at each end.
    spiked = [0.5] * 12 + [9.0]
    one = vsimax_of(recorded(tmp_path / "a.satline", {20: spiked * 4}))
    assert one == VsiMax(0.5, 1.5, 20, False)
    assert "not reached" in one.words
    two = vsimax_of(recorded(tmp_path / "b.satline", {20: ([0.5] * 10 + [9.0] * 3) * 4}))
    assert two == VsiMax(0.5, 1.5, None, True)
    assert "lightest" in two.words


def test_too_few_samples_have_no_base(tmp_path: Path) -> None:
    assert vsimax_of(recorded(tmp_path / "a.satline", {1: [0.5] * 14})) is None


def test_the_crossover_lies_where_each_has_one_per_minute() -> None:
    assert crossover_of([(10, 40.0), (20, 30.0), (30, 20.0)]).users == pytest.approx(25.0)
    assert crossover_of([(10, 40.0), (20, 30.0)]).users is None
    assert crossover_of([(10, 5.0)]).users == 10.0


@given(
    st.lists(
        st.tuples(st.integers(1, 500), st.floats(0, 1e6)), min_size=1, max_size=8, unique_by=lambda r: r[0]
    )
)
def test_a_crossover_lies_within_the_loads_seen(rates: list[tuple[int, float]]) -> None:
    users = crossover_of(rates).users
    if users is None:
        assert all(rate >= load for load, rate in rates)
    else:
        assert min(rates)[0] <= users <= max(rates)[0]


def test_capacity_tells_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded(tmp_path / "a.satline", {5: [0.5] * 40, 10: [1.4] * 40, 15: [1.6] * 40}).path
    assert run(["capacity", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["vsimax"]["users"] == 10
    assert run(["capacity", str(path)]) == 0
    assert "VSImax 4.1: 10 users" in capsys.readouterr().out
