"""Networks given by hand, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from satline.cli import run
from satline.cli.analyse.predict import loads_of, users_of
from satline.errors import InputError
from satline.prediction import read_network

CENTRAL = """\
title = "Central server"
[[users]]
count = 100
think_s = 10
[[station]]
name = "cpu"
visits = 10
service_s = 0.010
[[station]]
name = "disk"
demand_s = 0.0675
"""
CLASSES = """\
[[users]]
name = "students"
count = 5
think_s = 5
[[users]]
name = "batch"
count = 2
[[station]]
name = "cpu"
demand_s = { students = 0.1, batch = 2 }
servers = 2
[[station]]
name = "disk"
demand_s = { batch = 1 }
"""
STORAGE = CENTRAL + '[storage]\nadmitted = 4\nworking_sets = 3\npaging = "disk"\n'


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "network.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_is_read(tmp_path: Path) -> None:
    network = read_network(written(tmp_path, CLASSES)).network
    assert network.users == (5, 2)
    assert network.demand_s.tolist() == [[0.1, 0.0], [2.0, 1.0]]
    assert network.stations[0].servers == 2
    assert read_network(written(tmp_path, CENTRAL)).network.demand_s[0, 0] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            CENTRAL.replace("count = 100", "count = 0"),
            r"network.toml:3: users\[1\].count: must be at least 1",
        ),
        (CENTRAL.replace("visits = 10", "visit = 10"), r":7: station\[1\].visit: unknown key"),
        (CENTRAL.replace("service_s = 0.010", "service_s = -1"), "must be at least 0"),
        (CENTRAL.replace("demand_s = 0.0675", "demand_s = nan"), "finite"),
        (CENTRAL.replace("demand_s = 0.0675", ""), "station disk: which demand"),
        (CENTRAL + "visits = 2\n", "station disk: which demand"),
        (CENTRAL + "servers = 2\nspeeds = [1, 2]\n", "servers and speeds"),
        (CENTRAL.replace('"disk"', '"cpu"'), "two of station cpu"),
        (CLASSES.replace("{ batch = 1 }", "{ bach = 1 }"), ":12: station disk: no users bach"),
        (STORAGE.replace('paging = "disk"', 'paging = "tape"'), ":1[0-9]: storage.paging: no station tape"),
        (STORAGE.replace('paging = "disk"', ""), "without storage.paging"),
        (CLASSES + "[storage]\nadmitted = 3\n", "storage: 2 classes"),
        ("title = 3 4", "network.toml"),
        ("", "missing"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_network(written(tmp_path, text))


def test_a_file_that_is_not_there_and_one_that_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_network(tmp_path / "none.toml")
    (tmp_path / "odd.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not text"):
        read_network(tmp_path / "odd.toml")


def test_a_network_is_solved_in_eighty_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["predict", "--network", str(written(tmp_path, STORAGE)), "--users", "20,100"]) == 0
    shown = capsys.readouterr().out
    assert "Solved: exact." in shown
    assert "N* = 102 users" in shown
    assert "eligible" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_json_holds_what_the_text_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["predict", "--network", str(written(tmp_path, CLASSES)), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["method"] == "exact"
    assert [c["name"] for c in answer["classes"]] == ["students", "batch"]
    rate, response = answer["classes"][0]["throughput"], answer["classes"][0]["response_s"]
    assert rate * (5 + response) == pytest.approx(5)


def test_an_approximation_states_its_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["predict", "--network", str(written(tmp_path, CENTRAL)), "--method", "schweitzer"]) == 0
    shown = capsys.readouterr().out
    assert "Solved: schweitzer." in shown
    assert "Error of this approximation at such loads" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give a RECORDING, or --network FILE"),
        (["--network", "FILE", "there.satline"], "give a RECORDING, or --network FILE"),
        (["--network", "FILE", "--what-if", "cpu=2x"], "--what-if: of a recording"),
        (["--network", "FILE", "--users", "5..2"], "--users '5..2'"),
        (["--network", "FILE", "--users", "0,3"], "at least one user"),
        (["--network", "FILE", "--users", "many"], "--users 'many'"),
        (["nowhere.satline", "--from-loads", "9..2"], "9 is above 2"),
        (["nowhere.satline", "--from-loads", "half"], "--from-loads 'half'"),
        (["nowhere.satline", "--what-if", "gpu=2x"], "change 'gpu=2x'"),
        (["nowhere.satline", "--method", "linearizer"], "--method is for --network"),
        (["nowhere.satline"], "nowhere.satline"),
    ],
)
def test_wrong_input_ends_with_2_and_a_hint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    path = str(written(tmp_path, CENTRAL))
    assert run(["predict", *(path if a == "FILE" else a for a in arguments)]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert "hint:" in shown


def test_spans_of_users() -> None:
    assert users_of("10..60:25") == [10, 35, 60]
    assert users_of("3..5") == [3, 4, 5]
    made = users_of("1..1000")
    assert (made[0], made[-1]) == (1, 1000)
    assert len(made) <= 13
    assert users_of("9, 4,9") == [4, 9]
    assert loads_of("..20") == (0, 20)
    assert loads_of("2..") == (2, float("inf"))
    assert loads_of("1.5..7") == (1.5, 7)
