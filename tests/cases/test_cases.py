"""The cases of docs/guides/cases: the planted culprit is found, no decoy is, and a system without the fault
is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import case

from satline.correlation import correlate, read_panel
from satline.diagnosis import Diagnosis, Finding, diagnose
from satline.recording import Recording

pytestmark = pytest.mark.slow

# Of each case: the rules that must hold, findings and remarks; words that must be in the summary of the
# culprit's, and those that must not.
CASES = {
    "file-server": (
        (),
        ("one_user_locks_out", "cache_throttled"),
        ("LEDGER",),
        ("ORDERS", "PLOTTER"),
    ),
    "network-blamed": (("cpu_bound",), ("network_blamed",), ("processors are",), ("disk1",)),
    "write-penalty": ((), ("write_penalty",), ("PARITY",), ("MIRROR",)),
    "cache-lost": ((), ("cache_lost",), ("B10", "cache counters vanish"), ("A10", "C10")),
    "master-processor": (("serialised_server",), (), ("processor 0",), ("processor 1", "user0")),
}


def made(name: str, seed: int, directory: Path, *, healthy: bool = False) -> Recording:
    return Recording.open(case(name).make(directory / f"{name}.satline", seed, healthy))


def named(answer: Diagnosis) -> tuple[list[Finding], list[Finding]]:
    """Findings and remarks."""
    found = list(answer.findings)
    return [f for f in found if f.component != "none"], [f for f in found if f.component == "none"]


# The pages have seed 1.
@pytest.mark.parametrize(("name", "seed"), [(name, 2) for name in CASES])
def test_the_planted_culprit_is_named_and_no_decoy(name: str, seed: int, tmp_path: Path) -> None:
    findings, remarks, words, decoys = CASES[name]
    answer = diagnose(made(name, seed, tmp_path))
    limits, others = named(answer)
    assert [f.rule for f in limits] == list(findings), answer.headline
    assert {f.rule for f in others} == set(remarks)
    assert answer.saturation.outcome == ("saturated" if findings else "not-saturated")
    culprit = (limits or others)[0]
    for word in words:
        assert word in culprit.summary
    for decoy in decoys:
        assert decoy not in culprit.summary


@pytest.mark.parametrize("name", list(CASES))
def test_without_the_fault_nothing_is_claimed(name: str, tmp_path: Path) -> None:
    answer = diagnose(made(name, 2, tmp_path, healthy=True))
    assert [f.rule for f in answer.findings] == []
    assert answer.saturation.outcome == "not-saturated"


def test_the_walk_leads_from_the_request_time_to_the_user_who_never_commits(tmp_path: Path) -> None:
    panel = read_panel(made("file-server", 2, tmp_path), gap=30)

    def moves(pqm: str) -> dict[str, float]:
        """Each discovery with its greater coefficient, members of groups included."""
        found = correlate(panel, pqm, given=["load"]).found
        return {str(m): h.strength for h in found for m in h.members}

    by_request = moves("response")
    assert by_request["user_cpu@_FILES"] > 0.6
    by_server = moves("user_cpu@_FILES")
    assert by_server["user_resident_bytes@_FILES"] > 0.6
    by_storage = moves("user_resident_bytes@_FILES")
    assert by_storage["user_transactions@LEDGER"] > 0.6
    assert "user_tasks_io_wait@LEDGER" in by_storage
    # Of what users themselves do, only LEDGER's requests are high on the way.
    asked = {n: r for n, r in by_storage.items() if n.startswith("user_transactions@")}
    assert max(asked, key=lambda n: asked[n]) == "user_transactions@LEDGER"
    assert all(r < 0.5 for n, r in asked.items() if not n.endswith("@LEDGER"))
    assert all(r < 0.5 for n, r in by_storage.items() if n.endswith("@_PLOTTER"))


def test_the_same_seed_makes_the_same_week(tmp_path: Path) -> None:
    """The pages rest on it."""
    rows = []
    for part in ("one", "two"):
        (tmp_path / part).mkdir()
        recording = made("cache-lost", 7, tmp_path / part)
        rows.append(recording.connect().execute('SELECT * FROM "device" ORDER BY ALL').fetchall())
    assert rows[0] == rows[1]
