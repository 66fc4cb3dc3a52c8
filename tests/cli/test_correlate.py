"""`satline analyse correlate`: ranking, walk and story, layers, pages; hostile names; 80 columns."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from satline.cli import run
from satline.importers import Sink

pytestmark = pytest.mark.slow

T0 = 1_795_046_400 * 10**9
EVIL = "\x1b[31msdb<script>\n"
STEP_S = 60


@pytest.fixture(scope="module")
def recording(tmp_path_factory) -> Path:
    """Ten hours; the queue follows what user mallory reads from the evil device, a minute later."""
    path = tmp_path_factory.mktemp("r") / "host.satline"
    random = np.random.default_rng(1)
    sink = Sink(path)
    sink.start()
    sink.host(name="web1", processors=2)
    n = 600
    time = T0 + np.arange(n) * STEP_S * 10**9
    cause = np.exp(random.normal(size=n))
    sink.begin_run()

    def counter(rates):
        return np.cumsum(np.rint(rates * 1000).astype(np.int64))

    queue = np.rint(20 + 10 * np.concatenate([[1.0], cause[:-1]]) + random.normal(size=n)).astype(np.int64)
    sink.table(
        "system", time, {"tasks_blocked": queue, "context_switches": counter(np.exp(random.normal(size=n)))}
    )
    users = {"mallory": cause + 0.2 * random.random(n), "ann": np.exp(random.normal(size=n))}
    for k in range(20):
        users[f"user{k}"] = np.exp(random.normal(size=n))
    for user, rates in users.items():
        columns = {
            "user": np.full(n, user, dtype=object),
            "read_bytes": counter(rates),
            "cpu_us": counter(rates + 1),
        }
        sink.table("user", time, columns)
    for device, rates in (("sda", np.exp(random.normal(size=n))), (EVIL, cause)):
        sink.table("device", time, {"device": np.full(n, device, dtype=object), "reads": counter(rates)})
    sink.origin(format="test", files=["made"])
    sink.finish()
    return path


def test_the_culprit_comes_first_a_minute_before_and_no_line_is_too_long(
    recording, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("COLUMNS", "80")
    walk = tmp_path / "walk.toml"
    page, picture = tmp_path / "a.html", tmp_path / "a.svg"
    options = ["--walk", str(walk), "--html", str(page), "--svg", str(picture)]
    assert run(["correlate", str(recording), "--pqm", "tasks_blocked", *options]) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert "1 min before" in text
    assert "mallory" in text
    assert "user7" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert "<script" not in page.read_text()
    ET.parse(picture)
    assert run(["correlate", str(recording), "--then", "1", "--walk", str(walk)]) == 0
    capsys.readouterr()
    assert run(["correlate", "--story", str(walk)]) == 0
    story = capsys.readouterr().out
    assert "It begins with tasks_blocked." in story
    assert "60 s before it" in story
    assert "\x1b" not in story


def test_json_has_every_series_and_nothing_but_the_truth_is_found(recording, capsys):
    assert run(["correlate", str(recording), "--pqm", "tasks_blocked", "--no-walk", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    found = {m for h in content["hits"] if h["found"] for m in h["members"]}
    assert found
    assert all("mallory" in m or EVIL in m or m in ("user_run", "user_read_rate") for m in found), found
    assert content["tested"] > 40
    first = content["hits"][0]
    assert first["lag_s"] == STEP_S
    assert first["q"] < 1e-6


def test_layers_say_who_had_it(recording, tmp_path, capsys):
    assert (
        run(["correlate", str(recording), "--layers", "user_read_bytes", "--svg", str(tmp_path / "l.svg")])
        == 0
    )
    assert "all 16 others" in capsys.readouterr().out
    ET.parse(tmp_path / "l.svg")


def test_names_are_listed(recording, capsys):
    assert run(["correlate", str(recording), "--list"]) == 0
    text = capsys.readouterr().out
    assert "user_cpu@mallory  s/s" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--pqm", "tasks_bloked"], "did you mean tasks_blocked"),
        (["--pqm", "user_cpu"], "name one: user_cpu@"),
        (["--pqm", "tasks_blocked", "--given", "weather"], "choose among load"),
        (["--pqm", "tasks_blocked", "--given", "time-of-day"], "needs three days"),
        (["--pqm", "tasks_blocked", "--lags", "400"], "--lags 149"),
        (["--pqm", "tasks_blocked", "--rate", "x"], "write 5% or 0.05"),
        (["--then", "1"], "begins a walk"),
        ([], "give one of --pqm"),
        (["--layers", "nothing"], "no changing variable"),
    ],
)
def test_wrong_input_is_told_with_its_remedy(recording, tmp_path, capsys, options, message):
    walk = ["--walk", str(tmp_path / "none.toml")]
    assert run(["correlate", str(recording), *options, *walk]) == 2
    assert message in capsys.readouterr().err


def test_a_broken_walk_is_told(tmp_path, capsys):
    file = tmp_path / "walk.toml"
    file.write_text("format = 1\nstep = [3]\n")
    assert run(["correlate", "--story", str(file)]) == 2
    assert "is no walk" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (59.9983, "1 min"),
        (1799.95, "30 min"),
        (90, "90 s"),
        (0.5, "0.5 s"),
        (172_800, "2 d"),
        (5000, "83 min"),
    ],
)
def test_lengths_of_time_are_told_as_people_say_them(seconds, words):
    from satline.present.correlation import duration

    assert duration(seconds) == words
