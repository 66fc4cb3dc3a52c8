"""A few mutations of every kind of file; `make fuzz` makes thousands, each in a process with limits."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from readers import Reader, mutated, read, readers

pytestmark = pytest.mark.slow
EXAMPLES = 8


@pytest.fixture(scope="module", params=readers(), ids=lambda r: r.name)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Reader, Path]:
    """A reader, and a whole sample of what it reads."""
    reader: Reader = request.param
    sample = tmp_path_factory.mktemp("fuzz") / f"sample{reader.suffix}"
    reader.make(sample)
    return reader, sample


def test_the_whole_sample_is_read(made: tuple[Reader, Path], tmp_path: Path) -> None:
    reader, sample = made
    codes = read(reader, sample, tmp_path)
    assert codes
    # Too few readings to be judged are no damage.
    assert codes[0] == 0


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(seed=st.integers(0, 1 << 30))
def test_whatever_a_file_holds_a_command_ends_and_says_what_is_wrong(
    made: tuple[Reader, Path], tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    reader, sample = made
    place = tmp_path_factory.mktemp("mutated")
    target = place / f"file{reader.suffix}"
    mutated(sample, target, random.Random(seed))
    assert set(read(reader, target, place)) <= {0, 1, 2}


def test_an_unknown_key_beside_one_with_another_name_is_told(tmp_path: Path) -> None:
    """Found by `make fuzz`: seed 7000003 of blocks ended in a traceback."""
    reader = next(r for r in readers() if r.name == "blocks")
    sample, target = tmp_path / "whole.toml", tmp_path / "file.toml"
    reader.make(sample)
    mutated(sample, target, random.Random(7_000_003))
    assert read(reader, target, tmp_path) == [2]


def test_a_request_of_a_far_year_is_a_damaged_line(tmp_path: Path) -> None:
    """Found by `make fuzz`: seed 79000016 of the access log ended in a traceback."""
    reader = next(r for r in readers() if r.name == "access log")
    sample, target = tmp_path / f"whole{reader.suffix}", tmp_path / f"file{reader.suffix}"
    reader.make(sample)
    mutated(sample, target, random.Random(79000016))
    assert set(read(reader, target, tmp_path)) <= {0, 1, 2}
