"""The case study of the 155-II: its study file, and a working day of its week."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from satline.present.definition import find
from satline.recording import Recording
from satline.reduction import reduce
from satline.simulation import find_machine, find_simulated_study, find_workload, read_simulated_study
from satline.systems.binaries import find_binary

END_S = 12 * 3600  # to Monday noon: from 1 to 22 users


@pytest.fixture(scope="module")
def morning(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    path = tmp_path_factory.mktemp("case-study") / "morning.satline"
    command = [str(find_binary("satline-machine")), "run", str(find_machine("155-II-1mb"))]
    command += [str(find_workload("case-study-week")), "--schedule", "--seconds", str(END_S)]
    command += ["--sample-seconds", "600", "--record", str(path), "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return path, dict(json.loads(done.stdout))


def test_the_study_compares_the_two_machines() -> None:
    study = read_simulated_study(find_simulated_study("case-study-155"))
    small, large = (dict(system.sets) for system in study.arms.values())
    assert study.machine == find_machine("155-II-1mb")
    assert not small
    text = find_machine("155-II-1.5mb").read_text()
    assert f"bytes = {{ value = {large['storage.bytes']}," in text
    assert f"pageable_frames = {{ value = {large['storage.pageable_frames']}," in text


def test_an_observation_every_ten_minutes_follows_the_hours(morning: tuple[Path, dict[str, Any]]) -> None:
    path, told = morning
    reduction = reduce(Recording.open(path), class_observations=1)
    wanted = np.empty(END_S // 600)
    for step in told["steps"]:
        wanted[int(step["from_s"] // 600) :] = step["users"]
    assert reduction.load_axis == "active_users"
    assert len(reduction.load) == pytest.approx(len(wanted), abs=1)
    recorded = reduction.load[-len(wanted) :]
    # a user counts as active when he did something in the ten minutes; hardly anybody thinks for so long
    assert np.corrcoef(recorded, wanted[-len(recorded) :])[0, 1] > 0.99
    assert recorded[-1] == pytest.approx(22, abs=1)


def test_the_six_figures_have_their_values(morning: tuple[Path, dict[str, Any]]) -> None:
    wanted = {v.name for part in find("six").body.parts for v in find(part).body.variables} - {"load_cpu"}
    reduction = reduce(Recording.open(morning[0]), class_observations=6, variables=sorted(wanted))
    for name in wanted:
        points = reduction.curves[name].points
        assert points, name
        assert points[-1].mean is not None, name
        assert points[-1].standard_error is not None, name


def test_the_drum_overflows_at_the_busy_hours_only(morning: tuple[Path, dict[str, Any]]) -> None:
    names = ["paging_rate", "fast_paging_rate"]
    reduction = reduce(Recording.open(morning[0]), class_observations=6, variables=names)
    paging, fast = (reduction.curves[name].points for name in names)
    assert fast[0].mean == pytest.approx(paging[0].mean)
    assert (fast[-1].mean or 0) < 0.9 * (paging[-1].mean or 0)
