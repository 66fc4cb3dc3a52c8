"""Simulated studies: their files, their figures, what was planted."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from satline.cli import run
from satline.errors import InputError
from satline.present.simulated_study import write_figures
from satline.present.simulation import plot
from satline.simulation import Program, read_simulated_study, run_simulated_study, shipped_studies, simulate
from satline.simulation._study import FigurePlan

Captured = pytest.CaptureFixture[str]

STUDY = """
title = "Does speed help?"
machine = "drum.toml"
workload = "load.toml"
measures = ["throughput_per_s", "response_s"]

[load]
users = "10..20/5"
replications = 2
seconds = 1800

[set]
storage.pageable_frames = 100

[[arm]]
name = "slow"

[[arm]]
name = "<b>fast</b>"
set.processors.speed = 2

[[figure]]
title = "Throughput"
y = "throughput_per_s"

[[figure]]
title = "Response against MPL"
y = "response_s"
x = "mpl"
"""


@pytest.fixture
def study(machine: Path, workload: Path) -> Path:
    assert machine.parent == workload.parent
    path = machine.parent / "speed.toml"
    path.write_text(STUDY)
    return path


def test_tables_in_tables_are_dotted_keys(study: Path) -> None:
    found = read_simulated_study(study)
    assert found.file.load.users == [10, 15, 20]
    assert {name: system.sets for name, system in found.arms.items()} == {
        "slow": {"storage.pageable_frames": 100},
        "<b>fast</b>": {"storage.pageable_frames": 100, "processors.speed": 2},
    }


def test_a_study_prints_its_arms_and_draws_its_figures(
    tmp_path: Path, study: Path, program: Program, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["simulate", str(study)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Does speed help?\n")
    assert shown.index("slow") < shown.index("<b>fast</b>")
    assert all(len(line) <= 80 for line in shown.splitlines())
    figures = sorted((tmp_path / "speed-simulated").glob("*.svg"))
    assert [path.name for path in figures] == ["response_s-mpl.svg", "throughput_per_s-users.svg"]
    for path in figures:
        text = ET.tostring(ET.parse(path).getroot(), encoding="unicode", method="text")
        assert "slow" in text
        assert "<b>fast</b>" in text
    # Again: nothing runs, the same comes out.
    monkeypatch.setattr(Program, "run", lambda *_: pytest.fail("it ran again"))
    assert run(["simulate", str(study), "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert list(content["arms"]) == ["slow", "<b>fast</b>"]
    assert content["planted"] is None
    assert program.path.exists()


def test_a_figure_shows_each_point_with_its_interval(
    study: Path, program: Program, machine: Path, workload: Path
) -> None:
    result = run_simulated_study(read_simulated_study(study), study.parent / "out", program=program)
    drawn = plot(result.study.file.figure[0], result.arms)
    assert [line.label for line in drawn.lines] == ["slow", "<b>fast</b>"]
    assert [mark.x for mark in drawn.lines[0].marks] == [10.0, 15.0, 20.0]
    for line in drawn.lines:
        for mark in line.marks:
            assert mark.low is not None
            assert mark.high is not None
            assert mark.low < mark.y < mark.high  # type: ignore[operator]
    assert drawn.lines[1].marks[2].y == pytest.approx(1.0, rel=0.02)
    assert len(write_figures(result, study.parent / "out")) == 2
    varied = simulate(
        machine, workload, users=[20], vary={"processors.speed": ["0.5", "1"]}, replications=2, seconds=900
    )
    figure = plot(FigurePlan(title="t", y="response_s", x="processors.speed"), {"": varied})
    assert [mark.x for mark in figure.lines[0].marks] == [0.5, 1.0]
    assert figure.x_label == "speed"


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        ('"10..20/5"', '"5..x"', "speed.toml:8: load.users", "ranges"),
        ('"10..20/5"', "[]", "is empty", ""),
        ("seconds = 1800", "second = 1800", "unknown key", 'did you mean "seconds"?'),
        ("replications = 2", "replications = 0", "at least 1", ""),
        ('y = "response_s"', 'y = "respons_s"', "no measure", "response_s"),
        ('x = "mpl"', 'x = "storage"', "is not varied", "[vary]"),
        ('name = "<b>fast</b>"', 'name = "slow"', "two arms", "name of its own"),
        ('machine = "drum.toml"', 'machine = "drums.toml"', "speed.toml:3: machine: there is no machine", ""),
        ("title =", 'expects = "cpu_bond"\ntitle =', "no rule", "cpu_bound"),
        ("title =", 'expects = "cpu_bound"\ntitle =', "nothing is recorded", "[recording]"),
        ("[set]", "[set", "not TOML", "brackets"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    study: Path, old: str, new: str, message: str, hint: str
) -> None:
    assert old in STUDY
    study.write_text(STUDY.replace(old, new, 1))
    with pytest.raises(InputError) as error:
        read_simulated_study(study)
    said = f"{error.value.message} {error.value.hint}"
    assert message in said
    assert hint in said


def test_options_of_a_machine_are_refused_with_a_study(study: Path, capsys: Captured) -> None:
    assert run(["simulate", str(study), "--users", "3"]) == 2
    assert "--users with a study" in capsys.readouterr().err


@pytest.mark.parametrize("path", shipped_studies(), ids=lambda path: path.stem)
def test_every_shipped_study_can_be_read(path: Path) -> None:
    study = read_simulated_study(path)
    assert study.file.question
    assert study.file.figure or study.file.compare or study.file.factor or study.file.vary
    if study.file.recording is not None:
        assert len(study.file.recording.users) >= 6  # a verdict needs both sides of the bend
