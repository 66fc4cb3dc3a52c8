"""Faults planted on a real host beside other work, as `satline record --waits` recorded them: excerpts of
recordings (benches/plants/excerpt.py, seeds 501, 502 and 701), on which the rules were developed."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from made_recording import MadeRecording

from satline.diagnosis import Diagnosis, diagnose

pytestmark = pytest.mark.slow

PLACE = Path(__file__).with_name("recorded")
# By plant the rule, what it has to say, and what else is true of it.
PLANTS = {
    "arm": ("arm_contention", "loop0", {"io_bound"}),
    "admission": ("working_sets_overestimated", "until their working sets fit", set()),
    "parity": ("write_penalty", "a write to loop0 takes", set()),
    "too_many": ("thrashing", "/plant-desk25", {"main_storage_bound", "paging_bound"}),
    "small_cache": (
        "cache_throttled",
        "read again just after they were taken",
        {"main_storage_bound", "io_bound"},
    ),
    # More than half of what it holds is its programs' own.
    "small_cache_of_programs": (
        "cache_throttled",
        "read again just after they were taken",
        {"main_storage_bound", "io_bound"},
    ),
    # Of the others one waits, work of the host's own that yields to all else.
    "background": ("cpu_background", "4 other users hardly wait", set()),
    "full_storage": ("storage_not_bottleneck", "/plant-mill87 is 99% full", set()),
    # Now and then a page is wanted again, which nobody feels.
    "full_storage_read_again": (
        "storage_not_bottleneck",
        "/plant-mill64 is 99% full",
        {"main_storage_bound"},
    ),
}
# Other work filled the processors meanwhile, and some of it waited for locks.
HOST = {"cpu_bound", "cpu_background", "lock_bound"}


def judged(plant: str) -> Diagnosis:
    files = {file.stem: file for file in (PLACE / plant).glob("*.parquet")}
    rows = {table: pq.read_table(file).to_pylist() for table, file in files.items()}
    description = json.loads((PLACE / plant / "description.json").read_text())
    return diagnose(MadeRecording(rows, description, {"monitor": {}}))


@pytest.mark.parametrize("plant", list(PLANTS))
def test_each_rule_names_its_own_plant_and_no_other_rule_does(plant: str) -> None:
    rule, words, besides = PLANTS[plant]
    answer = judged(plant)
    found = {finding.rule: finding for finding in answer.findings}
    assert rule in found, next(one.summary for one in answer.others if one.rule == rule)
    assert words in found[rule].summary
    assert set(found) - {rule} <= besides | HOST
