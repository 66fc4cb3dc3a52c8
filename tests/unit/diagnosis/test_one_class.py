"""A recording of one load class: what was recorded is not said to be missing."""

from __future__ import annotations

import pytest
from made_recording import MadeRecording, at, steady

from satline.diagnosis import diagnose
from satline.diagnosis._diagnose import context_of
from satline.diagnosis._suffices import suffices
from satline.diagnosis.rules import paging_overhead
from satline.reduction import reduce


@pytest.fixture(scope="module")
def recording() -> MadeRecording:
    """Two users who work evenly, for ten minutes."""
    rows = steady(
        600,
        interval=10,
        processors=2,
        user_us=300_000,
        nice_us=0,
        system_us=100_000,
        irq_us=0,
        idle_us=600_000,
        iowait_us=0,
        steal_us=0,
        guest_us=0,
        swap_in_pages=3,
        swap_out_pages=3,
    )
    rows["user"] = [
        {**at(10 * k), "user": name, "cpu_us": 400_000 * 10 * k, "run_delay_us": 0}
        for k in range(61)
        for name in ("ann", "bob")
    ]
    return MadeRecording(rows)


def test_no_finding_says_that_what_was_recorded_was_not(recording: MadeRecording) -> None:
    reduction = reduce(recording)
    assert len(reduction.classes) == 1
    answer = diagnose(recording, reduction)
    assert answer.saturation.outcome == "partly-known"
    texts = {f.rule: f.summary for f in (*answer.findings, *answer.others)}
    assert texts["cpu_background"].startswith("the processors are not full all the time: 40%")
    assert not [t for t in texts.values() if "not recorded: total_cpu_fraction" in t]


def test_what_can_be_asked_of_it_says_that_loads_are_wanting(recording: MadeRecording) -> None:
    rules = {rule.rule: rule for rule in suffices(recording).rules}
    assert rules["paging_overhead"].judgeable, "processors with room need no second load to be seen"
    context = context_of(recording, reduce(recording), diagnose(recording).saturation)
    blind = paging_overhead.RULE.blind(context, "total_cpu_fraction")
    assert blind.summary == "one load class shows no trend"
    assert blind.missing == ("a range of loads",)
    assert "not recorded: lock_spin_fraction" in rules["lock_bound"].why
