"""Recordings for the API: two weeks of a made host, and a simulated machine's steps."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "experiment"))
sys.path.insert(0, str(Path(__file__).parents[1] / "importers"))

from api_host import MONDAY, make

from satline import api


@pytest.fixture(scope="package")
def weeks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Before and after: responses are a quarter shorter afterwards."""
    place = tmp_path_factory.mktemp("weeks")
    later = {"slow": 0.75, "seed": 2, "start": MONDAY + 7 * 86400}
    return make(place / "before.satline"), make(place / "after.satline", **later)


@pytest.fixture(scope="package")
def host(weeks: tuple[Path, Path]) -> api.OpenRecording:
    """The first week."""
    return api.open_recording(weeks[0])


@pytest.fixture(scope="package")
def steps(tmp_path_factory: pytest.TempPathFactory) -> api.OpenRecording:
    """Steps of a simulated machine from a light load to a heavy one."""
    path = tmp_path_factory.mktemp("steps") / "steps.satline"
    users = [2, 6, 10, 14, 20, 26]
    return api.simulate_recording("155-II-1mb", "cms", path, users=users, seconds=600, sample_seconds=5)
