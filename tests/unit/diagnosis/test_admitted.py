"""Users whom a swapper holds: its admission is named where storage has room for them, and only there."""

from __future__ import annotations

import pytest
from made_live_host import MadeHost, MadeUser

from satline.diagnosis import Diagnosis, Finding, diagnose

NAME = "working_sets_overestimated"


def rule(answer: Diagnosis) -> Finding:
    return next(f for f in (*answer.findings, *answer.others) if f.rule == NAME)


def host(eligible: float, free: float, busy: float = 0.4, seconds: int = 120) -> MadeHost:
    """Six users, of whom a swapper holds so many while such a part of the storage is free."""
    users = {f"a{k}": MadeUser(cpu=0.05, delay=0.01) for k in range(6)}
    levels = {"users_eligible": eligible, "free_bytes": free * (1 << 30), "total_bytes": 1 << 30}
    return MadeHost(users, busy, seconds=seconds, levels={"swapper": {"all": levels}}, watched=True)


def test_admission_that_leaves_storage_free_is_named() -> None:
    answer = diagnose(host(4, 0.7).make())
    found = rule(answer)
    assert found.state == "holds"
    assert answer.findings[0] is found
    assert found.chance == pytest.approx(0.92, abs=0.01)
    assert "holds 4.0 users until their working sets fit, while 70% of the memory" in found.summary
    assert "storage_share" in found.remedies[0]
    assert "Admission by the swapper was short for 100 %" in answer.headline


@pytest.mark.parametrize(("eligible", "free"), [(4, 0.1), (0, 0.7)])
def test_without_room_or_without_users_held_it_is_not(eligible: float, free: float) -> None:
    answer = diagnose(host(eligible, free).make())
    assert not answer.findings
    assert rule(answer).state == "does-not-hold"


def test_full_processors_limit_whoever_is_let_in() -> None:
    assert rule(diagnose(host(4, 0.7, 1.98).make())).state == "does-not-hold"
