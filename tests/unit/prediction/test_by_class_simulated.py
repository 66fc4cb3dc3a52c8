"""Predictions by class of a simulated machine: loads that were not seen, against what it then did."""

from __future__ import annotations

import subprocess

import pytest

from satline import share
from satline.prediction import ByClass, Prediction, predict
from satline.recording import Recording
from satline.reduction import reduce
from satline.systems.binaries import find_binary

pytestmark = pytest.mark.slow

LOADS = (4, 8, 12, 16, 20, 24)


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Prediction:
    """From 4, 8 and 12 users."""
    path = tmp_path_factory.mktemp("simulated") / "mixed.satline"
    machine = share.path("machines") / "155-II-1.5mb.toml"
    workload = share.path("workloads") / "simulated" / "interactive.toml"
    plan = ("--step-seconds", "1500", "--warmup-seconds", "200", "--users", ",".join(map(str, LOADS)))
    command = [str(find_binary("satline-machine")), "run", str(machine), str(workload), *plan]
    subprocess.run([*command, "--seed", "5", "--record", str(path)], capture_output=True, check=True)
    recording = Recording.open(path)
    return predict(recording, reduce(recording), half=True, users=LOADS, classes=True)


@pytest.fixture(scope="module")
def found(answer: Prediction) -> ByClass:
    assert answer.by_class is not None
    assert answer.by_class.outcome == "predicted"
    return answer.by_class


def test_who_there_is_and_how_they_wait(found: ByClass) -> None:
    """As workload and machine say: two kinds of users, Q1 before Q2, pages that are written meanwhile."""
    chains = {chain.name: chain for chain in found.chains}
    assert chains.keys() == {"clerk", "developer"}
    assert chains["clerk"].think_s.value == pytest.approx(12.0, rel=0.1)
    assert chains["developer"].think_s.value == pytest.approx(16.0, rel=0.15)
    assert [kind.name for kind in found.classes] == ["trivial", "medium", "long"]
    assert found.interactive_first
    assert found.waited_page is not None
    assert 0.3 < found.waited_page.value < 0.95
    assert all(found.by_accounts)


@pytest.mark.parametrize("users", [16, 20])
def test_short_transactions_are_foretold_at_loads_that_were_not_seen(
    answer: Prediction, found: ByClass, users: int
) -> None:
    assert found.base is not None
    assert answer.base is not None
    (row,) = (r for r in found.base.rows if r.users == users)
    trivial, medium, _ = row.classes
    for level, within in ((trivial, 0.2), (medium, 0.25)):
        assert level.measured_response_s is not None
        assert level.response_s.value == pytest.approx(level.measured_response_s.value, rel=within)
    # the mean transaction takes more than twice as long as most of them
    (one,) = (r for r in answer.base.rows if r.users == users)
    assert one.response_s.value > 2 * trivial.response_s.value


def test_all_classes_together_are_the_whole(found: ByClass) -> None:
    assert found.base is not None
    for row in found.base.rows:
        rates = [level.throughput.value for level in row.classes]
        assert sum(rates) == pytest.approx(row.total.throughput.value, rel=1e-6)
        time = sum(r * level.response_s.value for r, level in zip(rates, row.classes, strict=True))
        assert time / sum(rates) == pytest.approx(row.total.response_s.value, rel=1e-6)
