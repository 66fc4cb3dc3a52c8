"""`satline experiment design`, `anova` and `power`: from the plan to the verdict."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from satline.cli import run

FACTORS = ["memory=640,768,896,1024", "channels=1,2", "algorithm=demand,preload"]


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def results(
    path: Path, capsys: pytest.CaptureFixture[str], *options: str, factors: list[str] = FACTORS
) -> Path:
    """A plan, carried out by a formula."""
    assert run(["design", *factors, "--seed", "3", "--csv", *options]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    for row in rows:
        slow = (
            900
            - 0.6 * int(row["memory"])
            - 60 * (row["channels"] == "2")
            - 50 * (row["algorithm"] == "preload")
        )
        row["reaction_ms"] = str(slow + (int(row["run"]) * 7919) % 17 - 8)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_a_plan_is_carried_out_and_analysed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    skip = ["--skip", "memory=1024,channels=2", "--replicates", "2", "--blocks", "replicates"]
    path = results(tmp_path / "results.csv", capsys, *skip)
    arguments = ["anova", str(path), "--response", "reaction_ms", "--factors", "memory,channels,algorithm"]
    assert run([*arguments, "--svg", str(tmp_path / "pictures")]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("reaction_ms of 28 runs\n")
    assert "Sums of squares: type II" in shown
    assert "missing cells take 1 of the degrees of freedom of memory × channels" in shown
    assert max(len(line) for line in shown.splitlines() if "written" not in line) <= 80
    assert {f.name for f in (tmp_path / "pictures").iterdir()} >= {"means.svg", "residuals.svg"}
    assert run([*arguments, "--pool", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    effects = {(e["source"], e["between"][1]): e for e in found["effects"]}
    channels = effects["channels", "2"]
    assert channels["low"] < -60 < channels["high"] < 0
    assert [r["source"] for r in found["variance"]] == [
        *("blocks", "memory", "channels", "algorithm", "error", "total")
    ]


def test_an_unreplicated_design_needs_pooling_or_lenth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two = ["memory=640,1024", "channels=1,2", "algorithm=demand,preload"]
    path = results(tmp_path / "results.csv", capsys, factors=two)
    arguments = ["anova", str(path), "--response", "reaction_ms", "--factors", "memory,channels,algorithm"]
    assert run(arguments) == 2
    error = capsys.readouterr().err
    assert "nothing is left for the error" in error
    assert "hint: --pool 3" in error
    assert run([*arguments, "--lenth"]) == 0
    shown = capsys.readouterr().out
    assert "Lenth: an effect's standard error is" in shown
    assert "Yates" in shown


def test_the_plan_as_text_tells_its_aliases(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["design", *(f"{x}=0,1" for x in "abcde"), "--fraction", "1/2", "--seed", "1"]) == 0
    shown = capsys.readouterr().out
    assert "resolution V: E = ABCD; I = ABCDE" in shown
    assert run(["design", *(f"{x}=0,1" for x in "abcd"), "--resolution", "IV", "--seed", "1", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["fraction"]["defining"] == ["ABCD"]
    assert {"effect": "a × b", "same": ["c × d"]} in content["fraction"]["aliases"]
    assert len(content["runs"]) == 8


def test_power_says_how_much_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["power", "a=0,1", "b=0,1", "--difference", "0.2", "--sd", "0.15"]
    assert run(arguments) == 0
    assert capsys.readouterr().out.startswith("6 replicates, 24 runs")
    assert run([*arguments, "--replicates", "2"]) == 0
    assert "For 0.8 it needs 6 replicates" in capsys.readouterr().out
    window = ["--autocorrelation", "0.8", "--interval", "10", "--replicates", "3", "--json"]
    assert run([*arguments, *window]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["window_s"] == 10 * content["observations"]
    assert content["effective_observations"] < content["observations"] / 5


def test_a_window_from_a_pilot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "pilot.csv"
    path.write_text("run,ms\n" + "".join(f"{r},{(i * 7919) % 31}\n" for r in (1, 2) for i in range(60)))
    arguments = ["power", "a=0,1", "--difference", "5", "--pilot", str(path), "--replicates", "3"]
    assert run([*arguments, "--response", "ms", "--interval", "2"]) == 0
    shown = capsys.readouterr().out
    assert "120 observations of 2 runs" in shown
    assert "A window of" in shown
    assert run([*arguments, "--response", "ms", "--sd", "1"]) == 2
    assert run([*arguments[:-4], "--replicates", "3"]) == 2
    assert "--pilot with --response" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["design"], "a design needs a factor"),
        (["design", "a"], "'a' is no factor"),
        (["design", "a=0,1", "a=1,2"], "the factor 'a' is there twice"),
        (["design", "a=0,1", "--fraction", "1/3"], "fraction '1/3'"),
        (["design", "a=0,1,2", "b=0,1", "--fraction", "1/2"], "a fraction needs factors at two levels"),
        (["design", "a=0,1", "--blocks", "many"], "--blocks 'many'"),
        (["design", "a=0,1", "--blocks", "replicates"], "with one replicate"),
        (["design", "a=0,1", "--skip", "b=1"], "there is no factor 'b'"),
        (["design", "a=0,1", "--csv", "--json"], "exclude each other"),
        (["design", "a=0,1", "b=0,1", "--resolution", "X1"], "resolution 'X1'"),
        (["anova", "nowhere.csv", "--response", "y", "--factors", "a"], "there is no file nowhere.csv"),
        (["anova", ".", "--response", "y", "--factors", "a,a"], "--factors 'a,a'"),
        (["anova", ".", "--response", "y", "--factors", "a"], "is a directory"),
        (["power", "a=0,1", "--difference", "0", "--sd", "1"], "--difference 0"),
        (["power", "a=0,1", "--difference", "nan", "--sd", "1"], "--difference nan"),
        (["power", "a=0,1", "--difference", "1e-9", "--sd", "1"], "a thousand replicates are too few"),
        (
            ["power", "a=0,1", "--difference", "1", "--sd", "1", "--autocorrelation", "1"],
            "--autocorrelation 1",
        ),
        (["power", "a=0,1", "--difference", "1", "--sd", "1", "--interval", "5"], "add --autocorrelation"),
    ],
)
def test_wrong_input_ends_with_2_and_a_hint(
    arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert error in shown.err
    assert "hint: " in shown.err
