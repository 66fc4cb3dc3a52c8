"""What a run of the tests left out is said in a line for each reason."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]

CARGO = """
running 3 tests
..i
successes:

---- one stdout ----
skipped: no libssh2 here (apt-get install libssh2-1)

---- two stdout ----
it said: skipped: that is none

test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s
"""
TEST = """
import pytest

@pytest.mark.parametrize("n", range(3))
def test_guest(n):
    pytest.skip("there is no guest to start: /x/disk.raw is not there; `satline guest build` makes one")

@pytest.mark.skipif(True, reason="valgrind is not installed")
def test_trace():
    pass

def test_nobody_knows():
    pytest.skip("the moon\\n is new")

def test_passes():
    pass
"""
SAID = {
    "no guest image: `make test-guest`, which builds it": 3,
    "the moon is new": 1,
    "valgrind is not installed: `apt-get install valgrind`": 1,
}


def pytest_of(place: Path, *words: str, file: str = "") -> list[str]:
    """What a run of these tests beside the conftest of all prints."""
    tests = place / "tests"
    tests.mkdir(exist_ok=True)
    for name in ("conftest.py", "documents.py", "skipped.py"):
        (tests / name).write_text((TESTS / name).read_text())
    (tests / "test_some.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words, str(tests)]
    environment = {"SATLINE_SKIPPED": file, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=place)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def told(lines: list[str]) -> dict[str, int]:
    """Counts by reason of those lines that are such."""
    parts = [line.partition(" skipped: ") for line in lines]
    return {reason: int(count) for count, between, reason in parts if between and count.isdigit()}


def test_pytest_says_it_at_its_end_also_that_of_its_workers(tmp_path: Path) -> None:
    for words in ((), ("-n", "2")):
        assert told(pytest_of(tmp_path, *words)) == SAID


def test_that_of_several_runs_is_gathered(tmp_path: Path) -> None:
    kept, cargo = tmp_path / "skipped.txt", tmp_path / "cargo.txt"
    for words in ((), ("-n", "2")):
        assert told(pytest_of(tmp_path, *words, file=str(kept))) == {}
    cargo.write_text(CARGO)
    command = [sys.executable, str(TESTS / "skipped.py"), str(kept), str(cargo), str(tmp_path / "none")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert Counter(told(done.stdout.splitlines())) == Counter(SAID) + Counter(SAID) + Counter(
        {
            "no libssh2: `apt-get install libssh2-1`": 1,
            "ignored by cargo: `cargo test --workspace -- --ignored`": 1,
        }
    )
