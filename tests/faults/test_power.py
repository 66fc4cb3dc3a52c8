"""Power loss after a sample of the writes and syncs of every kind of work; `make fuzz` tries all of them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import shim
from disk import Op
from power import SCENARIOS, judged, log_of, replay

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shim.compiler() is None, reason="no C compiler, which the shim needs"),
]
STATES = 12


@pytest.mark.parametrize("name", SCENARIOS)
def test_whatever_the_power_leaves_is_a_recording_without_what_was_not_durable(
    name: str, place: Path
) -> None:
    outcome = replay(name, place, random.Random(20), most=STATES)
    assert outcome.states
    assert outcome.wrong == []


@pytest.mark.parametrize(
    ("left_out", "words"),
    [("names", "had been told that it is there"), ("bytes", "holds what was never written")],
)
def test_a_writer_that_did_not_sync_is_found_out(left_out: str, words: str, place: Path) -> None:
    """Were the judge blind, the test above would always pass."""
    events = log_of(SCENARIOS["descriptions of a study"], place / "made", place)
    kept = [e for e in events if e.op is not Op.SYNC or e.is_directory is not (left_out == "names")]
    outcome = judged("descriptions", kept, place / "made", place, random.Random(1), most=120)
    assert any(words in what for _, _, what in outcome.wrong), outcome.kinds()
