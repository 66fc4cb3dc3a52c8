"""Factors of a simulated study, comparisons of its arms, and the page that is made of it."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satline.cli import run
from satline.errors import InputError
from satline.present.simulated_study import compared, comparison_tables, effect_tables, write_study_page
from satline.simulation import Program, read_simulated_study, run_simulated_study
from satline.simulation._estimate import mean_interval
from satline.simulation._factorial import change, combinations_of, effects

STUDY = """
title = "What pays? | <b>"
machine = "drum.toml"
workload = "load.toml"
measures = ["throughput_per_s", "response_s"]

[load]
users = [12]
replications = 3
seconds = 1200
"""
FACTORS = """
[[factor]]
name = "fast"
on.processors.speed = 2

[[factor]]
name = "large"
off.storage.pageable_frames = 100
on.storage.pageable_frames = 400
"""
ARMS = """
[[arm]]
name = "base"

[[arm]]
name = "other"
machine = "drum.toml"
set.processors.speed = 2
"""


def written(beside: Path, text: str, head: str = STUDY) -> Path:
    path = beside.parent / "pays.toml"
    path.write_text(head + text)
    return path


@dataclass
class Stand:
    """A point whose values are given."""

    given: list[float | None]
    truncation: int = 0

    @property
    def label(self) -> dict[str, str]:
        return {"users": "1"}

    def values(self, _name: str, _cut: int) -> list[float | None]:
        return self.given

    def estimate(self, _name: str) -> Any:
        return mean_interval([v for v in self.given if v is not None], "replications")


def planted(main: list[float], pairs: dict[tuple[int, int], float], noise: list[float]) -> tuple[Any, Any]:
    """A study of so many factors, and arms with y = exp(Σ main s/2 + Σ pair s s/2 + noise), each s = ±1."""
    names = [f"f{i}" for i in range(len(main))]
    study = SimpleNamespace(file=SimpleNamespace(factor=[SimpleNamespace(name=name) for name in names]))
    arms = {}
    for levels in itertools.product((False, True), repeat=len(main)):
        signs = [1.0 if on else -1.0 for on in levels]
        y = sum(m * s / 2.0 for m, s in zip(main, signs, strict=True))
        y += sum(v * signs[i] * signs[j] / 2.0 for (i, j), v in pairs.items())
        name = " + ".join(n for n, on in zip(names, levels, strict=True) if on) or "none"
        arms[name] = SimpleNamespace(points=[Stand([math.exp(y + e) for e in noise])])
    return study, arms


@given(
    st.lists(st.floats(-1, 1), min_size=2, max_size=4),
    st.floats(-0.5, 0.5),
    st.lists(st.floats(-1, 1), min_size=2, max_size=5),
)
def test_planted_effects_come_out_whatever_the_replications_have_in_common(
    main: list[float], together: float, noise: list[float]
) -> None:
    study, arms = planted(main, {(0, 1): together}, noise)
    (found,) = effects(study, arms, "response_s")
    assert found.relative
    wanted = {(f"f{i}",): m for i, m in enumerate(main)} | {("f0", "f1"): together}
    for effect in found.found:
        assert effect.change.value == pytest.approx(math.expm1(wanted.get(effect.factors, 0.0)), abs=1e-9)
        assert effect.change.half_width == pytest.approx(0.0, abs=1e-9)


def test_a_replication_that_is_missing_anywhere_is_left_out_everywhere() -> None:
    study, arms = planted([0.2, 0.0], {}, [0.0, 0.1, 0.3])
    arms["f0"].points[0].given[1] = None
    (found,) = effects(study, arms, "response_s")
    assert {effect.change.n for effect in found.found} == {2}


def test_effects_of_a_measure_that_may_be_0_are_differences() -> None:
    study, arms = planted([0.2, 0.0], {}, [0.0, 0.1])
    arms["none"].points[0].given[:] = [0.0, 0.0]
    (found,) = effects(study, arms, "response_s")
    assert not found.relative


def test_ratios_need_values_above_0() -> None:
    assert change([1.0, 2.0], [1.5, 3.0]).value == pytest.approx(0.5)
    assert change([1.0, 0.0], [1.5, 3.0]).value is None
    assert change([1.0, None], [2.0, 1.0]).n == 1


def test_factors_run_in_all_combinations_and_their_effects_are_shown(
    machine: Path, workload: Path, program: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    assert machine.parent == workload.parent
    path = written(machine, FACTORS)
    study = read_simulated_study(path)
    assert list(combinations_of(study)) == ["none", "large", "fast", "fast + large"]
    out = machine.parent / "out"
    result = run_simulated_study(study, out, workers=2, program=program)
    (_, table), *_ = effect_tables(result)
    assert [row[0] for row in table[:5]] == ["effect", "all off", "all on", "fast", "large"]
    assert run(["simulate", str(path), "--out", str(out), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    speed = next(e for e in shown["effects"] if e["measure"] == "throughput_per_s")["effects"][0]
    assert speed["factors"] == ["fast"]
    assert speed["low"] <= speed["value"] <= speed["high"]


def test_arms_are_held_against_the_first_and_make_a_page(
    machine: Path, workload: Path, program: Program
) -> None:
    assert machine.parent == workload.parent
    study = read_simulated_study(written(machine, ARMS, "compare = true\n" + STUDY))
    result = run_simulated_study(study, machine.parent / "out", workers=2, program=program)
    response = next(row for row in compared(result)["other"] if row.measure == "response_s")
    assert response.change.value is not None
    assert response.change.value < 0, "twice the speed answers sooner"
    ((title, _),) = comparison_tables(result)
    assert title == "other against base, 12 users"
    page, *_ = write_study_page(result, machine.parent / "page.md")
    text = page.read_text()
    assert text.startswith("# What pays? \\| \\<b\\>\n")
    assert "## other against base, 12 users" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("compare = true\n" + STUDY, "nothing to compare"),
        (STUDY + ARMS + FACTORS, "a study has arms or factors"),
        (STUDY + FACTORS.replace("large", "fast"), "two factors are named"),
        (
            STUDY + ARMS.replace('machine = "drum.toml"', 'machine = "dram.toml"'),
            r"arm\[2\]\.machine: there is no",
        ),
    ],
)
def test_what_does_not_go_together_is_said(machine: Path, workload: Path, text: str, message: str) -> None:
    assert machine.parent == workload.parent
    with pytest.raises(InputError, match=message):
        read_simulated_study(written(machine, "", text))
