"""`satline.simulate`, `satline.simulate_recording` and `satline.study` on the simulated machine."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from api_shown import assert_harmless, dots

import satline
from satline import api
from satline.simulation import Progress

pytestmark = pytest.mark.slow

STUDY = """
title = "Storage and users: 2 × 2"
machine = "155-II-1mb"
workload = "cms"
[load]
users = [16]
seconds = 400
warmup_seconds = 100
replications = 2
[[factor]]
name = "storage"
setting = "storage.pageable_frames"
levels = [160, 240]
[[factor]]
name = "drums"
setting = "device.1.count"
levels = [1, 2]
[design]
seed = 3
measures = ["response_s"]
"""


@pytest.fixture(scope="module")
def sweep() -> api.Simulation:
    frames = {"storage.pageable_frames": [160, 240]}
    return satline.simulate(
        "155-II-1mb", "cms", users="4..20/8", vary=frames, seconds=300, warmup_seconds=50, replications=2
    )


def test_a_sweep_is_a_table_of_numbers(sweep: api.Simulation) -> None:
    rows = sweep.to_arrow()
    assert rows.schema.field("users").type == pa.int64()
    assert rows.schema.field("storage.pageable_frames").type == pa.float64()
    assert rows.num_rows == sum(len(p.names) for p in sweep.result.points)
    wide = sweep.wide("response_s", "mpl").to_arrow()
    assert wide.num_rows == 6
    assert wide.column("users").to_pylist() == [4, 12, 20] * 2
    assert wide.schema.field("response_s").metadata[b"unit"] == b"s"
    first = sweep.result.points[0].estimate("response_s")
    row = wide.to_pylist()[0]
    assert (row["response_s"], row["response_s_low"]) == (first.value, first.low)
    assert_harmless(sweep)


def test_a_sweep_is_drawn_against_users_with_a_line_for_each_setting(sweep: api.Simulation) -> None:
    found = dots(sweep.plot("response_s"))
    assert {d["x"] for d in found} == {4, 12, 20}
    assert len({d["series"] for d in found}) == 2
    with pytest.raises(satline.InputError, match="no measure reaction"):
        sweep.plot("reaction")


def test_differences_are_those_of_common_random_numbers(sweep: api.Simulation) -> None:
    rows = sweep.differences("response_s").to_arrow().to_pylist()
    assert [r["users"] for r in rows] == [4, 12, 20]
    base, point = sweep.result.differences[2]
    assert rows[2]["difference"] == base.difference(point, "response_s").difference.value


def test_progress_is_told_and_users_may_be_said_in_three_ways() -> None:
    told: list[Progress] = []
    one = satline.simulate(
        "ideal", "ideal", users=4, seconds=60, warmup_seconds=0, replications=1, progress=told.append
    )
    assert told
    assert told[-1].done == told[-1].runs == 1
    same = satline.simulate("ideal", "ideal", users="4", seconds=60, warmup_seconds=0, replications=1)
    assert one.to_arrow().equals(same.to_arrow())
    with pytest.raises(satline.InputError, match="nothing to draw"):
        one.plot()
    with pytest.raises(satline.InputError, match="at least one user"):
        satline.simulate("ideal", "ideal", users=[0])
    with pytest.raises(satline.InputError, match="machine"):
        satline.simulate("no-such-machine", "ideal")


def test_a_simulated_recording_is_a_recording(steps: api.OpenRecording) -> None:
    assert "system" in steps.tables
    with pytest.raises(satline.InputError, match="is a recording already"):
        satline.simulate_recording("155-II-1mb", "cms", steps.path, users=4)


def test_a_designed_experiment_is_run_and_analysed(tmp_path: Path) -> None:
    file = tmp_path / "storage.toml"
    file.write_text(STUDY)
    told: list[str] = []
    found = satline.study(file, out=tmp_path / "runs", progress=lambda _part, words: told.append(words))
    assert isinstance(found, api.Experiment)
    assert told[-1] == "8 of 8 runs"
    rows = found.to_arrow().to_pylist()
    assert {"storage", "drums"} <= {r["source"] for r in rows}
    runs = found.runs().to_arrow()
    assert len({r["run"] for r in runs.to_pylist()}) == 8
    assert runs.schema.field("response_s").type == pa.float64()
    assert {r["source"] for r in found.effects().to_arrow().to_pylist()} >= {"storage", "drums"}
    assert len(dots(found.plot())) == 4
    assert_harmless(found)
    with pytest.raises(satline.InputError, match="was not analysed"):
        found.plot("satisfaction")


def test_a_simulated_study_has_its_arms(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text(
        'title = "Two speeds"\nmachine = "ideal"\nworkload = "ideal"\n'
        "[load]\nusers = [2, 4]\nseconds = 60\nwarmup_seconds = 0\nreplications = 2\n"
        '[[arm]]\nname = "slow"\n[[arm]]\nname = "fast"\nset = { processors.speed = 2 }\n'
    )
    found = satline.study(file, out=tmp_path / "runs")
    assert isinstance(found, api.SimulatedStudyRun)
    assert list(found.arms) == ["slow", "fast"]
    rows = found.to_arrow()
    assert rows.num_rows == sum(arm.to_arrow().num_rows for arm in found.arms.values())
    assert set(rows.column("arm").to_pylist()) == {"slow", "fast"}
    assert_harmless(found)
    assert dots(found.plot())


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("paging-bound", {}, "two studies paging-bound"),
        ("no-such-study", {}, "no-such-study"),
        ("ideal-mpl", {"quick": True}, "quick: of a study of emulated users"),
        ("this-host", {"workers": 2}, "workers: of a simulated study"),
        ("this-host", {"kind": "live"}, "kind='live'"),
    ],
)
def test_a_study_that_cannot_be_told_is_refused(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(satline.InputError, match=message):
        satline.study(name, **options)  # type: ignore[arg-type]
