"""Every command that has --json, on a small made recording: one document, as its schema says.

Elsewhere, all that any test makes a command print is held against the schemas too (tests/conftest.py).
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from documents import read

from satline.cli import run
from satline.cli.experiment.designed import _print_interrupted
from satline.errors import SatlineError
from satline.present.schemas import KINDS
from satline.swapper import Replayed
from satline.systems.binaries import find_binary

pytestmark = pytest.mark.slow

SAR = """\
Linux 6.1.0 (drum) \t2026-11-21 \t_x86_64_\t(2 CPU)

10:00:00        CPU     %usr     %nice      %sys   %iowait    %steal     %idle
10:10:00        all    20.00      0.00      5.00      1.00      0.00     74.00
10:20:00        all    30.00      0.00      5.00      1.00      0.00     64.00
"""
TABLE = "users,rps,ms\n1,9.6,104\n2,19,107\n4,36,112\n8,65,124\n16,104,154\n32,121,264\n64,122,520\n"
NETWORK = """\
[[users]]
name = "all"
count = 5
think_s = 2.0

[[station]]
name = "cpu"
demand_s = 0.1
"""
STUDY = """\
title = "Storage"
machine = "155-II-1mb"
workload = "cms"
[load]
users = [6]
seconds = 200
warmup_seconds = 50
replications = 2
[[factor]]
name = "storage"
setting = "storage.pageable_frames"
levels = [140, 240]
"""
RESULTS = "run,memory,disks,ms\n" + "".join(
    f"{4 * k + 2 * a + b + 1},{'low' if a else 'high'},{b + 1},{10 + 3 * a + b + 0.1 * (k * 7 % 5)}\n"
    for k in range(3)
    for a in (0, 1)
    for b in (0, 1)
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with recordings of a simulated machine and the other files that commands read."""
    for name in ("satline-machine", "satline-traces", "satline-terminal", "satline-swapper"):
        try:
            find_binary(name)
        except SatlineError:
            pytest.skip(f"{name} is not built")
    made = tmp_path_factory.mktemp("json")
    for name, users in (("m", "2,4,8,16"), ("n", "2,4,8,16,24")):
        words = ["--users", users, "--seconds", "200", "--sample-seconds", "5"]
        assert run(["simulate", "155-II-1mb", "cms", *words, "--record", f"{made}/{name}.satline"]) == 0
    files = {
        "load.csv": TABLE,
        "sar.txt": SAR,
        "network.toml": NETWORK,
        "drums.toml": STUDY,
        "results.csv": RESULTS,
        "pages.txt": "".join(f"{hex(4096 * (k * k % 60))}\n" for k in range(500)),
    }
    for name, text in files.items():
        (made / name).write_text(text)
    return made


# By kind: the command that prints it, behind what is to be there before.
TRIED = {
    "diagnose": "diagnose m.satline",
    "compare": "compare m.satline n.satline",
    "report": "report response m.satline",
    "report-parts": "report standard m.satline",
    "import-formats": "import --formats",
    "info": "info m.satline",
    "experiment-studies": "experiment studies",
    "experiment-design": "experiment design a=1,2 b=1,2 c=1,2 --fraction 1/2 --seed 1",
    "experiment-anova": "experiment anova results.csv --response ms --factors memory,disks --run run",
    "experiment-anova-by": (
        "experiment anova results.csv --response ms --factors disks --run run --by memory"
    ),
    "experiment-power": "experiment power a=1,2 --difference 1 --sd 1",
    "experiment-power-window": (
        "experiment power a=1,2 --difference 1 --sd 1 --autocorrelation 0.5 --replicates 3"
    ),
    "analyse-reduce": "analyse reduce m.satline",
    "analyse-capacity": "analyse capacity m.satline --within 2",
    "analyse-predict": "analyse predict m.satline --what-if cpu=2x --by-class",
    "analyse-predict-network": "analyse predict --network network.toml",
    "analyse-predict-table": "analyse predict load.csv",
    "analyse-plan-allowance": "analyse plan m.satline --saturated total_cpu>0.5",
    "analyse-plan-demand": "analyse plan m.satline --variable total_cpu --at users=8",
    "analyse-expansion": "analyse expansion m.satline",
    "analyse-correlate": "analyse correlate m.satline --pqm response --no-walk",
    "analyse-correlate-list": "analyse correlate m.satline --list",
    "analyse-correlate-layers": "analyse correlate m.satline --layers user_cpu",
    "analyse-explain": "analyse explain paging_bound --recording m.satline",
    "analyse-explain-list": "analyse explain --list",
    "analyse-device": "analyse device drum m.satline",
    "analyse-indicate": "analyse indicate m.satline --long",
    "analyse-states": "analyse states m.satline --once",
    "simulate-run": (
        "simulate run 155-II-1mb cms --users 2 --seconds 200 --replications 2 --vary"
        " processors.speed=1,2 --differences"
    ),
    "simulate-record": "simulate run 155-II-1mb cms --users 2 --seconds 100 --record r.satline",
    "simulate-list": "simulate run --list",
    "study-design": "simulate run drums.toml",
    "trace-import": "trace import pages.txt -o pages.trace",
    "trace-import-formats": "trace import --formats",
    "trace-replay": "trace replay pages.txt --policies lru,opt --sizes 10,20 --curve",
    "trace-replay-policies": "trace replay --list",
    "guest-list": "guest list",
    "recording-check": "recording check m.satline",
    "recording-info": "recording info m.satline",
    "recording-compact": "recording compact m.satline",
    "recording-prune": "recording prune m.satline --keep 1d --dry-run",
    "recording-pseudonymise": "recording pseudonymise m.satline copy.satline --key k --make-key",
    "recording-reveal": (
        "recording pseudonymise m.satline copy.satline --key k --make-key ; recording reveal"
        " copy.satline --key k"
    ),
    "history-add": "history add m.satline",
    "history-list": "history add m.satline ; history list",
    "history-keep": "history add m.satline ; history keep 1975-01-06",
    "history-prune": "history add m.satline ; history prune --dry-run",
    "history-compare": "history add n.satline ; history compare m.satline --with usual",
    "import": "import sar.txt -o sar.satline",
}
# Kinds of commands that need more than files: where they are printed, and so held against their schemas.
ELSEWHERE = {
    "experiment-clean": "tests/cli/test_cli.py",
    "recording-join": "tests/cli/test_join.py",
    "simulate-calibrate": "tests/unit/simulation/test_calibration.py",
    "simulate-study": "tests/unit/simulation/test_study.py",
    "study": "tests/unit/reconcile/test_commands.py",
    "study-explain": "tests/unit/experiment/test_adaptive.py",
    "swapper-status": "tests/unit/swapper/test_faces.py",
    "trace-record": "tests/unit/traces/test_traces.py",
    "workload-compare": "tests/cli/test_workload.py",
    "workload-fit": "tests/cli/test_workload.py",
    "workload-generate": "tests/cli/test_workload.py",
    "workload-import-session": "tests/cli/test_workload.py",
}


@pytest.mark.parametrize("kind", TRIED)
def test_a_command_prints_one_document_that_is_as_its_schema_says(
    kind: str,
    place: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(place, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SATLINE_HISTORY", "history")
    *before, words = TRIED[kind].split(" ; ")
    for one in before:
        assert run(one.split()) == 0
    capsys.readouterr()
    assert run([*words.split(), "--json"]) == 0
    assert read(capsys.readouterr().out)["kind"] == kind


def test_every_kind_is_tried() -> None:
    assert {*TRIED, *ELSEWHERE, "study-design-interrupted", "swapper-replay"} == set(KINDS)
    for kind, file in ELSEWHERE.items():
        text = (Path(__file__).parents[2] / file).read_text(encoding="utf-8")
        assert "--json" in text, kind


def test_an_interrupted_design_says_how_far_it_came(capsys: pytest.CaptureFixture[str]) -> None:
    store = SimpleNamespace(finished=lambda run, _: run < 2)
    carried: Any = SimpleNamespace(plan=SimpleNamespace(runs=range(5)), store=store, digest="")
    _print_interrupted(carried, Path("out"), as_json=True)
    told = read(capsys.readouterr().out)
    assert (told["kind"], told["runs_done"], told["runs_planned"]) == ("study-design-interrupted", 2, 5)


def test_a_replay_of_the_swapper_has_each_policy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Replayed(60.0, 3.5, {"swap-out": 2}, 8192, 40.0)
    monkeypatch.setattr("satline.swapper.read_policy", lambda _: None)
    monkeypatch.setattr("satline.swapper.replay", lambda *_: made)
    assert run(["swapper", "replay", "x.satline", "a.toml", "b.toml", "--json"]) == 0
    told = read(capsys.readouterr().out)
    assert told["kind"] == "swapper-replay"
    assert set(told["policies"]) == {"a.toml", "b.toml"}
    assert told["policies"]["a.toml"]["short_seconds"] == 3.5


def test_a_schema_is_printed_and_its_name_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "info"]) == 0
    assert json.loads(capsys.readouterr().out)["properties"]["kind"]["const"] == "info"
    assert run(["schema"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(KINDS)
    assert run(["schema", "diagnosis"]) == 2
    assert "did you mean diagnose" in capsys.readouterr().err
