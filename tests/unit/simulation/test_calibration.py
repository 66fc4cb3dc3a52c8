"""Calibration: planted constants are found, what cannot be is said, files get values and marks."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satline.cli import run as command
from satline.errors import InputError, SatlineError
from satline.present.calibration import page, verdict
from satline.problems import value_span
from satline.simulation import Program, Run
from satline.simulation._measures import of_step
from satline.simulation.calibration import _certainty as certainty
from satline.simulation.calibration import _fit as fitting
from satline.simulation.calibration import calibrate, read_calibration
from satline.simulation.calibration._constants import Axis, find, number_text
from satline.simulation.calibration._evaluate import Tried
from satline.simulation.calibration._file import Constant, RunPlan
from satline.simulation.calibration.write import written

TREE = Path(__file__).resolve().parents[3]
boxes = st.integers(1, 6)


@given(boxes, st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_the_minimum_in_a_box_cannot_be_bettered(count: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    targets = count + 1
    slope, error = draw.normal(size=(targets, count)), draw.normal(size=targets)
    goal = fitting.Goal(np.full(targets, 0.1), draw.random(targets), draw.random(count), 0.5)
    at = Tried(draw.random(count), (), error[None, :])
    low, high = -draw.random(count), draw.random(count)
    x = fitting.promised(goal, fitting.Slopes(at, slope, np.zeros_like(slope)), low, high)
    assert ((low <= x) & (x <= high)).all()
    # Karush, Kuhn, Tucker: no slope within the box, none inwards at its sides.
    left, away = goal.scale**2 * (error + slope @ x), at.place + x - goal.start
    slope = slope.T @ left + goal.ridge / fitting.DEVIATION**2 * away
    assert (slope[x > low + 1e-9] < 1e-5).all()
    assert (slope[x < high - 1e-9] > -1e-5).all()


@given(st.integers(1, 40), boxes, st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_points_from_afar_fill_every_range(points: int, count: int, seed: int) -> None:
    places = fitting.latin_hypercube(points, count, seed)
    assert (np.sort((places * points).astype(int), axis=0) == np.arange(points)[:, None]).all()
    assert (places == fitting.latin_hypercube(points, count, seed)).all()


class Made:
    """An evaluator whose machine is a formula with noise of its seed: errors of targets by places."""

    def __init__(self, formula: Any, count: int, noise: float, refuses: Any = None) -> None:
        axes = [_axis(f"c{j}") for j in range(count)]
        targets = len(formula(np.full(count, 0.5)))
        target = SimpleNamespace(weight=1.0, tolerance=None)
        file = SimpleNamespace(
            run=RunPlan(starts=8), ridge=0.05, target=[target] * targets, allowed=lambda _: 0.1
        )
        self.calibration = SimpleNamespace(axes=axes, file=file)
        self.tried: list[Tried] = []
        self._formula, self._noise, self._refuses = formula, noise, refuses

    def note(self, words: str) -> None:
        assert words

    def at(self, places: Any, replications: int, seed: int = 1) -> list[Any]:
        return [self._at(np.asarray(place), replications, seed) for place in places]

    def one(self, place: Any, replications: int, seed: int = 1) -> Tried:
        found = self.at([place], replications, seed)[0]
        assert isinstance(found, Tried)
        return found

    def _at(self, place: Any, replications: int, seed: int) -> Any:
        place = np.round(place, 4)
        if self._refuses is not None and self._refuses(place):
            return SatlineError("refused")
        draw = np.random.default_rng(seed)
        noise = self._noise * draw.normal(size=(50, len(self._formula(place))))[:replications]
        made = Tried(place, tuple(place), (1.0 + self._formula(place)) * (1.0 + noise) - 1.0)
        self.tried.append(made)
        return made


def _axis(name: str) -> Axis:
    constant = Constant.model_validate({"name": name, "key": name, "range": [0, 1], "why": "made"})
    return Axis(constant, 0.5)


def curved(truth: Any) -> Any:
    """Four targets of two constants; the third moves none."""

    def errors(x: Any) -> Any:
        values = [np.exp(x[0]), (1 + x[1]) ** 2, (1 + x[0]) * (1 + x[1]), 1.0 / (0.4 + x[1])]
        wanted = [
            np.exp(truth[0]),
            (1 + truth[1]) ** 2,
            (1 + truth[0]) * (1 + truth[1]),
            1.0 / (0.4 + truth[1]),
        ]
        return np.array(values) / np.array(wanted) - 1.0

    return errors


def test_planted_constants_lie_in_their_intervals_and_an_idle_one_is_not_identified() -> None:
    missed = cases = 0
    for seed in range(12):
        truth = np.random.default_rng(seed).uniform(0.1, 0.9, 2)
        made = Made(curved(truth), 3, 0.01)
        found = fitting.fit(made)  # type: ignore[arg-type]
        goal = fitting.Goal.of(made.calibration.file, found.start.place)
        check = made.one(found.best.place, 10, 100 + seed)
        sure = certainty.certainties(goal, found.slopes, check.errors, np.zeros(4))
        assert not sure[2].identified
        assert sure[2].deviation is None
        for j in range(2):
            half = certainty.half_width(sure[j], 10)
            assert half is not None
            assert half < 0.25
            cases += 1
            missed += abs(found.best.place[j] - truth[j]) > half
    assert missed <= cases // 8


def test_a_machine_that_refuses_places_is_fitted_beside_them() -> None:
    made = Made(curved(np.array([0.3, 0.55])), 2, 0.0, refuses=lambda x: x[1] > 0.58)
    found = fitting.fit(made)  # type: ignore[arg-type]
    assert np.abs(found.best.place - [0.3, 0.55]).max() < 0.03


def test_what_no_constant_moves_is_impossible_and_what_another_line_forbids_has_its_cost() -> None:
    def contrary(x: Any) -> Any:
        return np.array([0.5 * (x[0] - 0.5), 0.5 * (x[0] - 0.5) + 0.25, 0.4])

    made = Made(contrary, 1, 1e-4)
    found = fitting.fit(made)  # type: ignore[arg-type]
    goal = fitting.Goal.of(made.calibration.file, found.start.place)
    idle = certainty.obstacle(goal, found.slopes, made.tried, 2)
    assert (idle.reachable, round(idle.nearest, 2), idle.costs) == (False, 0.4, {})
    other = certainty.obstacle(goal, found.slopes, made.tried, 1)
    assert other.reachable
    assert list(other.costs) == [0]
    assert other.costs[0] < -0.2


CALIBRATION = """
title = "A server with two unknowns"
on = "made measurements"
machine = "central-server.toml"
workload = "central-server.toml"
tolerance = 0.05

[run]
seconds = 1500
warmup_seconds = 100
replications = 3
starts = 4
rounds = 4
check_replications = 5

[set]
workload.population.users = 20

[[constant]]
name = "think time"
key = "workload.class.user.think_s.exponential"
range = [4.0, 25.0]
scale = "log"
why = "planted"

[[constant]]
name = "processor time"
key = "workload.class.user.transaction.task.cpu_ms.exponential"
range = [200.0, 800.0]
scale = "log"
why = "planted"
"""
TARGET = """
[[target]]
name = "{name}"
measure = "{name}"
value = {value}
source = "made"
"""
TRUTH = {"think_s.exponential": 13.0, "transaction.task.cpu_ms.exponential": 290.0}
LINES = ("throughput_per_s", "response_s", "mpl")


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """Copies of the central server, and what it measures with constants that they do not have."""
    (tmp_path / "devices").mkdir()
    for name in ("2305-2", "3330-1"):
        shutil.copy(TREE / f"machines/devices/{name}.toml", tmp_path / "devices")
    shutil.copy(TREE / "machines/processors.toml", tmp_path)
    shutil.copy(TREE / "machines/central-server.toml", tmp_path / "central-server.toml")
    shutil.copy(TREE / "workloads/simulated/central-server.toml", tmp_path / "load.toml")
    sets = (
        ("workload.population.users", "20"),
        *((f"workload.class.user.{key}", str(x)) for key, x in TRUTH.items()),
    )
    machine, load = tmp_path / "central-server.toml", tmp_path / "load.toml"
    truth = Program().run(
        Run(
            machine,
            load,
            step_seconds=20000.0,
            warmup_seconds=500.0,
            sample_seconds=500.0,
            seed=77,
            sets=sets,
        )
    )
    text = CALIBRATION.replace('workload = "central-server.toml"', 'workload = "load.toml"')
    for name in LINES:
        text += TARGET.format(name=name, value=of_step(truth.steps[0]["measures"], name))
    path = tmp_path / "server.toml"
    path.write_text(text)
    return path


def test_the_central_server_gives_its_planted_constants_back(planted: Path) -> None:
    kept = planted.parent / "out" / "runs.jsonl"
    found = calibrate(read_calibration(planted), out=kept, workers=2)
    assert found.within == len(LINES)
    for one, truth in zip(found.constants, TRUTH.values(), strict=True):
        assert one.low is not None
        assert one.high is not None
        assert one.low <= truth <= one.high
        assert one.high / one.low < 1.35
    assert found.misfit[1] < 1.0 < found.misfit[0]
    # Begun again it makes no run a second time, and comes to the same.
    before = kept.read_bytes()
    again = calibrate(read_calibration(planted), out=kept, workers=1)
    assert kept.read_bytes() == before
    assert [one.value for one in again.constants] == [one.value for one in found.constants]
    files = written(found)
    load = tomllib.loads(files[planted.parent / "load.toml"][1])
    think = load["class"][0]["think_s"]
    assert think["exponential"] == found.constants[0].value
    assert think["calibrated"].startswith("made measurements: 3 of 3 lines within tolerance; 95 % from")
    shown = page(found)
    assert "| throughput_per_s |" in shown
    assert "think time: planted" in shown


def test_an_impossible_line_is_said_to_be_and_the_command_writes_what_it_found(
    planted: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = planted.read_text().replace("rounds = 4", "rounds = 2").replace("seconds = 1500", "seconds = 800")
    text += TARGET.format(name="page_reads_per_s", value=400.0)
    planted.write_text(text)
    monkeypatch.chdir(planted.parent)
    assert command(["calibrate", "server.toml", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [line["impossible"] for line in shown["lines"]] == [None, None, None, True]
    kept = planted.parent / "server-calibrated"
    assert json.loads((kept / "fit.json").read_text()) == shown
    assert "+++ " in (kept / "constants.patch").read_text()
    assert "impossible with these constants" in (kept / "fit.md").read_text()
    assert "calibrated" not in (planted.parent / "load.toml").read_text()
    assert command(["calibrate", "server.toml", "--apply"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "impossible with these constants: page_reads_per_s" in said
    assert "calibrated" in (planted.parent / "load.toml").read_text()
    Program().tell("check", "central-server.toml", "load.toml")


FILES = """# What it is.
name = "m"
[storage]
frames = { value = 100, source = "assumed: \\"a\\"" }  # stays
plain = 16 # stays too
[[class]]
name = "user"
think_s = { hyperexponential = { first = 0.8, means = [15.0, 0.5] } }
[[class.transaction]]
name = "short"
cpu_ms = { lognormal = { mean = 134, sd = 67 }, source = "s" }
"""


def result_of(keys: dict[str, float], path: Path) -> Any:
    constants = [
        SimpleNamespace(
            axis=Axis(Constant(name=key, key=[key], range=[0, 1e6], why="w"), value),
            value=value,
            low=None,
            high=None,
            words="not identified",
        )
        for key, value in keys.items()
    ]
    empty = path.with_name("empty.toml")
    empty.write_text("")
    calibration = SimpleNamespace(machine=path, workload=empty, file=SimpleNamespace(on='the "table"'))
    return SimpleNamespace(constants=constants, calibration=calibration, within=1, lines=[1, 2])


def test_constants_are_written_where_they_stood_with_a_mark_and_nothing_else_changes(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    path.write_text(FILES)
    keys = {
        "storage.frames": 120.0,
        "storage.plain": 17.25,
        "class.user.think_s.hyperexponential.means.0": 14.0,
        "class.user.transaction.short.cpu_ms.lognormal.mean": 140.0,
    }
    after = written(result_of(keys, path))[path][1]
    mark = 'the "table": 1 of 2 lines within tolerance; not identified'
    wanted = tomllib.loads(FILES)
    wanted["storage"] = {
        "frames": {"value": 120, "calibrated": mark},
        "plain": {"value": 17.25, "calibrated": mark},
    }
    wanted["class"][0]["think_s"] = {
        "hyperexponential": {"first": 0.8, "means": [14, 0.5]},
        "calibrated": mark,
    }
    cpu = {"lognormal": {"mean": 140, "sd": 67}, "calibrated": mark}
    wanted["class"][0]["transaction"][0]["cpu_ms"] = cpu
    assert tomllib.loads(after) == wanted
    comments = ("# What it is.", "# stays\n", "# stays too\n")
    assert all(words in after for words in comments)


@given(st.floats(1e-6, 1e9))
def test_a_number_is_written_as_toml_reads_it(value: float) -> None:
    assert float(tomllib.loads(f"x = {number_text(value)}")["x"]) == pytest.approx(value, rel=1e-5)


def test_values_are_found_in_a_text() -> None:
    text = 'a.b = 1 # c\n[t]\nx = "# no" # yes\ny = [1, { z = 2 }]\n'
    values = [
        text[slice(*value_span(text, place))]
        for place in (("a", "b"), ("t", "x"), ("t", "y"), ("t", "y", 1, "z"))
    ]
    assert values == ["1", '"# no"', "[1, { z = 2 }]", "2"]
    with pytest.raises(KeyError):
        value_span(text, ("t", "none"))
    assert find(tomllib.loads(FILES), "class.0.transaction.short.cpu_ms")[1] == 0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("tolerance = 0.05", "tolerance = 0", "tolerance: must be more than 0"),
        ("range = [4.0, 25.0]", "range = [25.0, 4.0]", "the range 25 to 4 is none"),
        ("range = [4.0, 25.0]", "range = [11.0, 25.0]", "its start 10 is outside 11 to 25"),
        ("range = [4.0, 25.0]", "range = [0.0, 25.0]", "a logarithmic range from 0"),
        ("think_s.exponential", "think.exponential", "the file has no 'think' there"),
        ("think_s.exponential", "think_s", "is no number"),
        ("workload.population.users", "workload.class.user.think_s.exponential", "is in [set] too"),
        ('name = "processor time"', 'name = "think time"', '"think time" is there twice'),
        ("replications = 3", "replications = 3\ncheck_seed = 1", "check_seed is the fit's seed"),
        ("warmup_seconds = 100", "warmup_seconds = 1500", "the warm-up is all of the run"),
        ("rounds = 4", "round = 4", "unknown key"),
        ('measure = "x"', 'measure = "y"', 'there is no measure "y"'),
        ("central-server.toml", "nowhere.toml", "there is no machine file nowhere.toml"),
    ],
)
def test_wrong_files_are_refused_with_their_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    text = CALIBRATION.replace("central-server.toml", "central-server")
    text += TARGET.format(name="x", value=1.0).replace('measure = "x"', f'measure = "{LINES[0]}"')
    path = tmp_path / "c.toml"
    if "measure" in old:
        old = f'measure = "{LINES[0]}"'
    if old == "central-server.toml":
        old = '"central-server"'
        new = '"nowhere.toml"'
    path.write_text(text)
    read_calibration(path)
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError) as error:
        read_calibration(path)
    assert words in error.value.message
    assert "c.toml:" in error.value.message
    assert error.value.hint


def test_a_verdict_names_what_is_impossible() -> None:
    obstacle = SimpleNamespace(reachable=False)
    line = SimpleNamespace(within=False, obstacle=obstacle, target=SimpleNamespace(name="mpl"))
    result: Any = SimpleNamespace(within=0, lines=[line])
    assert verdict(result) == "0 of 1 lines within their tolerance; impossible with these constants: mpl."
