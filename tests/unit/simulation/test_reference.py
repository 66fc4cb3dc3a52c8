"""The reference behaviours of [Bard] and the planted conditions, on the simulated machine itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from satline.reconcile import planted as planted_in
from satline.recording import Recording
from satline.simulation import (
    Program,
    Simulated,
    find_simulated_study,
    read_simulated_study,
    shipped_studies,
    simulate,
)
from satline.simulation._run_study import judged, record

pytestmark = pytest.mark.slow

PLANTED = [path.stem for path in shipped_studies() if "\nexpects = " in path.read_text()]


def problem(simulated: Simulated) -> list[float]:
    """Problem state at each point."""
    return [point.estimate("problem_fraction").value or 0.0 for point in simulated.points]


def test_throughput_against_mpl_has_the_shape_of_the_reference() -> None:
    study = read_simulated_study(find_simulated_study("ideal-mpl"))
    caps = ["1", "3", "6", "10", "14"]
    curves = {
        name: problem(
            simulate(
                study.machine,
                study.workload,
                users=[60],
                replications=1,
                sets=system.sets,
                vary={"scheduler.mpl_cap_users": caps},
                seconds=500,
                warmup_seconds=150,
            )
        )
        for name, system in study.arms.items()
    }
    three, six, nine, unlimited = curves.values()
    # Unlimited storage saturates near MPL 6 and never falls.
    assert unlimited[2] > 0.95
    assert unlimited == sorted(unlimited)
    # Room for three peaks at three, well below; for six and nine it comes close; then it falls.
    assert max(three) == three[1] < 0.75 * max(unlimited)
    assert three[4] < 0.5 * three[1]
    assert max(six) == six[2] > 0.8 * max(unlimited)
    assert six[4] < 0.6 * six[2]
    assert max(nine) == nine[3] > 0.95 * max(unlimited)
    assert nine[4] < 0.95 * nine[3]


def test_an_mpl_of_six_carries_twenty_four_users_and_nine_thirty_six() -> None:
    study = read_simulated_study(find_simulated_study("ideal-pending"))
    for system, users in zip(study.arms.values(), (24, 36), strict=True):
        found = simulate(
            study.machine,
            study.workload,
            users=[users // 2, users, 2 * users],
            replications=1,
            sets=system.sets,
            seconds=1200,
            warmup_seconds=200,
        )
        rate, eligible, running = (
            [point.estimate(name).value or 0.0 for point in found.points]
            for name in ("throughput_per_s", "eligible", "running_s")
        )
        assert all(3.0 < value < 3.5 for value in running)
        # Half as many hardly wait; at the knee it is nearly as much as it can be; beyond it users only wait.
        assert eligible[0] < 0.1
        assert 1.7 * rate[0] < rate[1] < rate[2] < 1.2 * rate[1]
        assert eligible[2] > 0.9 * users


@pytest.mark.parametrize("name", PLANTED)
def test_the_diagnosis_names_what_was_planted(tmp_path: Path, name: str) -> None:
    study = read_simulated_study(find_simulated_study(name))
    path = tmp_path / f"{name}.satline"
    record(study, path, Program())
    planted = judged(study, path)
    assert planted is not None
    assert planted.named_first, planted.diagnosis.headline
    # The recording states it, for whoever diagnoses it later.
    assert planted_in(Recording.open(path).description) == study.file.expects
