"""A simulated machine's recording: analyses find in it what the machine itself says, which is exact."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from satline import share
from satline.cli import run
from satline.diagnosis import diagnose
from satline.recording import Recording
from satline.reduction import Reduction, reduce
from satline.systems.binaries import find_binary

pytestmark = pytest.mark.slow

USERS = (4, 12, 20)
# The machine's measure, and the reduction's variable of the same meaning.
SAME = {
    "throughput_per_s": "transaction_rate",
    "interactive_throughput_per_s": "interactive_rate",
    "response_s": "response",
    "interactive_response_s": "interactive_response",
    "noninteractive_response_s": "noninteractive_response",
    "problem_fraction": "problem_fraction",
    "supervisor_fraction": "supervisor_fraction",
    "idle_fraction": "idle_wait",
    "page_wait_fraction": "page_wait",
    "io_wait_fraction": "io_wait",
    "mpl": "mpl",
    "q1": "q1",
    "q2": "q2",
    "eligible": "user_eligible",
    "in_transaction": "users_in_transaction",
    "page_reads_per_s": "swap_in_rate",
    "page_writes_per_s": "swap_out_rate",
    "steals_per_s": "in_queue_steal_rate",
    "paging_sios_per_s": "paging_sio_rate",
    "page_in_sios_per_s": "page_in_sio_rate",
    "page_out_sios_per_s": "page_out_sio_rate",
    "pages_per_page_in_sio": "pages_per_page_in_sio",
    "pages_per_page_out_sio": "pages_per_page_out_sio",
    "flushed_pages_per_s": "flushed_rate",
    "flush_reclaims_per_s": "flush_reclaim_rate",
    "frames_scanned_per_s": "frame_scan_rate",
    "scan_sweeps_per_s": "scan_sweep_rate",
    "user_ios_per_s": "virtual_io_rate",
    "dispatches_per_s": "context_switch_rate",
    "q1_drops_per_s": "q1_drop_rate",
    "q2_drops_per_s": "q2_drop_rate",
    "expansion": "expansion",
    "share_run": "share_run",
    "share_cpu_wait": "share_cpu_wait",
    "share_page_wait": "share_page_wait",
    "share_io_wait": "share_io_wait",
    "share_eligible": "share_eligible",
}


def simulate(to: Path, *more: str) -> dict[str, Any]:
    """Record a small system (one processor, one drum); returns the machine's own account."""
    machine = share.path("machines") / "155-II-1mb.toml"
    workload = share.path("workloads") / "simulated" / "interactive.toml"
    users = ",".join(map(str, USERS))
    plan = ("--users", users, "--step-seconds", "150", "--warmup-seconds", "30", "--sample-seconds", "5")
    command = [str(find_binary("satline-machine")), "run", str(machine), str(workload), *plan, *more]
    done = subprocess.run([*command, "--json", "--record", str(to)], capture_output=True, check=True)
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    path = tmp_path_factory.mktemp("simulated") / "small.satline"
    return path, simulate(path)


@pytest.fixture(scope="module")
def recording(simulated: tuple[Path, dict[str, Any]]) -> Recording:
    return Recording.open(simulated[0])


@pytest.fixture(scope="module")
def reduction(recording: Recording) -> Reduction:
    return reduce(recording)


def means(reduction: Reduction, variable: str) -> list[float | None]:
    return [point.mean for point in reduction.curves[variable].points]


def test_loads_are_the_steps_and_observations_their_windows(reduction: Reduction) -> None:
    assert reduction.load_axis == "users"
    assert [c.midpoint for c in reduction.classes] == list(USERS)
    assert [c.observations for c in reduction.classes] == [24, 24, 24]


@pytest.mark.parametrize(("measure", "variable"), SAME.items(), ids=SAME)
def test_the_reduction_agrees_with_the_machine(
    simulated: tuple[Path, dict[str, Any]], reduction: Reduction, measure: str, variable: str
) -> None:
    truth = [step["measures"][measure] for step in simulated[1]["steps"]]
    if all(value is None for value in truth):
        assert variable not in reduction.curves
        return
    # A ratio leaves out the few observations in which nobody ran, though somebody waited.
    tolerance = 1e-5 if measure == "expansion" else 1e-6
    for found, true in zip(means(reduction, variable), truth, strict=True):
        assert found == (None if true is None else pytest.approx(true, rel=tolerance, abs=tolerance))


def test_every_device_agrees_too(simulated: tuple[Path, dict[str, Any]], reduction: Reduction) -> None:
    measures = [step["measures"] for step in simulated[1]["steps"]]
    devices = [name.partition(":")[2] for name in measures[0] if name.startswith("device_busy:")]
    assert devices
    for device in devices:
        busy = [m[f"device_busy:{device}"] for m in measures]
        assert means(reduction, f"device_busy:{device}") == pytest.approx(busy, abs=1e-6)
        ms = [m[f"device_response_ms:{device}"] for m in measures]
        if None not in ms:
            assert means(reduction, f"device_response:{device}") == pytest.approx(
                [value / 1000 for value in ms], rel=1e-6
            )


def test_the_parts_of_transaction_time_make_the_whole(reduction: Reduction) -> None:
    parts = ("run", "cpu_wait", "page_wait", "io_wait", "eligible")
    for k in range(len(USERS)):
        assert sum(means(reduction, f"share_{part}")[k] or 0.0 for part in parts) == pytest.approx(
            1, abs=1e-5
        )
        assert means(reduction, "share_other")[k] == pytest.approx(0, abs=1e-5)


def test_nothing_exact_is_called_unseen(recording: Recording) -> None:
    found = diagnose(recording)
    unseen = {one.signal for one in found.unseen}
    exact = {
        "page_share",
        "mpl",
        "user_page_wait",
        "user_io_wait",
        "user_eligible",
        "device_service",
        "page_wait",
    }
    assert not unseen & exact


def test_without_transactions_the_counters_tell_as_much(tmp_path: Path) -> None:
    path = tmp_path / "counters.satline"
    truth = simulate(path, "--transactions-out", "no")
    reduction = reduce(Recording.open(path))
    for measure in ("throughput_per_s", "in_transaction", "mpl", "eligible", "share_page_wait", "expansion"):
        true = [step["measures"][measure] for step in truth["steps"]]
        assert means(reduction, SAME[measure]) == pytest.approx(true, rel=1e-6, abs=1e-6)
    assert "response" not in reduction.curves


@pytest.mark.parametrize(
    "command",
    [("info",), ("reduce",), ("diagnose",), ("report", "overview"), ("recording", "check")],
    ids=" ".join,
)
def test_every_command_reads_it(
    simulated: tuple[Path, dict[str, Any]], command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, str(simulated[0])]) == 0, capsys.readouterr().err
    assert capsys.readouterr().out
