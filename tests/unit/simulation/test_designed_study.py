"""Designed studies on the simulated machine: cells, going on, the analysis, the shipped one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from satline.cli import run
from satline.errors import InputError, SatlineError
from satline.simulation import Program, find_simulated_study, read_simulated_study
from satline.simulation._designed import cells_of, design_of, is_designed, run_designed
from satline.simulation._study import SimulatedStudy

pytestmark = pytest.mark.slow

STUDY = """title = "Storage and drums"
machine = "155-II-1mb"
workload = "cms"
[load]
users = [18]
seconds = 300
warmup_seconds = 60
replications = 2
[[factor]]
name = "storage"
setting = "storage.pageable_frames"
levels = [140, 240]
[[factor]]
name = "drums"
setting = "device.1.count"
levels = [1, 2]
[design]
seed = 5
"""


@pytest.fixture(scope="module")
def real() -> Program:
    try:
        return Program()
    except SatlineError as error:
        pytest.skip(error.message)


def study(tmp_path: Path, text: str = STUDY) -> SimulatedStudy:
    path = tmp_path / "drums.toml"
    path.write_text(text)
    return read_simulated_study(path)


def test_a_design_is_run_once_and_goes_on(tmp_path: Path, real: Program) -> None:
    made = run_designed(study(tmp_path), tmp_path / "out", program=real)
    assert made.there_before == 0
    outcome = made.outcome
    assert [len(one.figures) > 1 for one in outcome.results] == [True] * 8
    whole = next(part for part in outcome.parts if part.class_name == "all" and part.measure == "response_s")
    assert whole.analysis is not None
    blocks = [row for row in whole.analysis.rows if row.source == "blocks"]
    assert len(blocks) == 1
    assert outcome.results[0].figures[0].reaction_s is None
    gone = made.store.recording(outcome.plan.runs[3])
    gone.rename(tmp_path / "elsewhere")
    again = run_designed(study(tmp_path), tmp_path / "out", program=real)
    assert again.there_before == 7
    assert [one.figures for one in again.outcome.results] == [one.figures for one in outcome.results]
    with pytest.raises(InputError, match="has changed"):
        run_designed(study(tmp_path, STUDY.replace("[18]", "[19]")), tmp_path / "out", program=real)


def test_replicates_share_their_random_numbers_over_the_cells(tmp_path: Path, real: Program) -> None:
    same = '[[factor]]\nname = "none"\noff.device.1.count = 1\non.device.1.count = 1\n'
    text = STUDY[: STUDY.rindex("[[factor]]")] + same
    results = run_designed(study(tmp_path, text), tmp_path / "out", program=real).outcome.results
    of = {(one.run.replicate, *one.run.levels.values()): one.figures for one in results}
    for replicate in (1, 2):
        assert of[replicate, "140", "off"] == of[replicate, "140", "on"]
    assert of[1, "140", "off"] != of[2, "140", "off"]


def test_off_and_on_and_the_study_s_own_keys(tmp_path: Path) -> None:
    text = STUDY + '[[factor]]\nname = "prefetch"\non.paging.record_and_prefetch.most_pages = 8\n'
    text += '[[factor]]\nname = "load"\nsetting = "load.users"\nlevels = [5, 9]\n'
    one = study(tmp_path, text)
    cells = cells_of(one, design_of(one, None), text, None).cells
    assert len(cells) == 16
    cell = cells[("140", "2", "on", "9")]
    assert cell.users == (9,)
    assert dict(cell.sets)["paging.record_and_prefetch.most_pages"] == "8"
    assert "paging.record_and_prefetch.most_pages" not in dict(cells[("140", "2", "off", "9")].sets)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (STUDY.replace("warmup_seconds = 60\n", ""), "load.warmup_seconds: missing"),
        (STUDY.replace("[18]", "[18, 20]"), "load.users: a run of a design has one number"),
        (STUDY + "[vary]\npaging.x = [1]\n", "vary: a design varies by its factors"),
        (STUDY.replace("storage.pageable_frames", "storage.pageable_framse"), "storage.pageable_framse"),
        (STUDY.replace("[140, 240]", '[140, "lots"]'), "with storage lots, drums 1"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(
    tmp_path: Path, real: Program, text: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        run_designed(study(tmp_path, text), tmp_path / "out", program=real)
    assert message in caught.value.message
    assert not (tmp_path / "out").exists()


def test_factors_that_are_off_and_on_alone_are_as_before(tmp_path: Path) -> None:
    assert not is_designed(read_simulated_study(find_simulated_study("lab-factorial")))
    assert is_designed(study(tmp_path))


def test_the_shipped_factorial_is_whole(real: Program, tmp_path: Path) -> None:
    shipped = read_simulated_study(find_simulated_study("emas-factorial"))
    text = shipped.path.read_text()
    experiment = cells_of(shipped, design_of(shipped, None), text, None)
    assert [len(factor.levels) for factor in experiment.factors] == [3, 2, 2]
    assert len(experiment.plan(1).runs) == 48
    short = text.replace("4500", "200").replace("900", "50").replace("replications = 4", "replications = 1")
    path = tmp_path / "short.toml"
    path.write_text(short)
    made = run_designed(read_simulated_study(path), tmp_path / "out", program=real)
    assert len(made.outcome.results) == 12
    assert {part.class_name for part in made.outcome.parts} >= {"all", "edit", "compile"}


@pytest.mark.usefixtures("real")
def test_the_command_writes_a_page_and_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    one = study(tmp_path)
    out = tmp_path / "out"
    assert run(["simulate", str(one.path), "--out", str(out), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["runs_planned"] == len(shown["runs"]) == 8
    assert run(["simulate", str(one.path), "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "Significance by class of commands" in text
    assert (out / "report.html").exists()
    assert len((out / "results.csv").read_text().splitlines()) > 16
    assert run(["simulate", str(one.path), "--out", str(out), "--page", "p.md"]) == 2
    assert "report.html" in capsys.readouterr().err
