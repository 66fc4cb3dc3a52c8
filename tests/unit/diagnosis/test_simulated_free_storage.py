"""What a simulated control program does in its free storage is what the diagnosis goes by."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from satline import share
from satline.diagnosis import diagnose
from satline.diagnosis._results import Finding
from satline.recording import Recording
from satline.systems.binaries import find_binary

LOADS = "10,40,70,100"
# The release's input area is too large for ten subpools, and a block looked at takes long.
LONG = {"free_storage.request.1.doublewords": "31", "free_storage.block_searched_instructions": "200"}


def finding(path: Path, sets: dict[str, str]) -> Finding:
    machine = share.path("machines") / "168-AP-free-storage.toml"
    workload = share.path("workloads") / "simulated" / "cms.toml"
    command = [str(find_binary("satline-machine")), "run", str(machine), str(workload), "--users", LOADS]
    command += ["--step-seconds", "150", "--warmup-seconds", "50"]
    command += [word for key, value in sets.items() for word in ("--set", f"{key}={value}")]
    subprocess.run([*command, "--record", str(path)], capture_output=True, check=True)
    found = diagnose(Recording.open(path))
    judged = (*found.findings, *found.others)
    return next(finding for finding in judged if finding.rule == "storage_manager_path")


@pytest.mark.parametrize(("subpools", "long"), [("ten", True), ("split", False)])
def test_long_searches_under_one_lock_are_seen(subpools: str, long: bool, tmp_path: Path) -> None:
    found = finding(tmp_path / "run", LONG | {"free_storage.subpools": subpools})
    assert found.state != "cannot-judge", found.summary
    signs: dict[str, list[bool | None]] = {evidence.variable: [] for evidence in found.evidence}
    for evidence in found.evidence:
        signs[evidence.variable].append(evidence.supports)
    # It is a large part of supervisor time, and grows with users.
    assert signs["storage_manager_fraction"] == [long, long], found.evidence
    part = found.evidence[0].value
    assert part > 0.3 if long else 0.0 < part < 0.1
