"""`satline history`: add, list, mark, keep, prune, show, compare."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from satline.cli import run
from satline.importers import Sink
from satline.recording import describe

pytestmark = pytest.mark.slow

T0 = 1_795_046_400 * 10**9  # 2026-11-19 00:00 UTC
STEP_S = 1800
EVIL = "\x1b[31mcache\n"


@pytest.fixture(scope="module")
def recording(tmp_path_factory) -> Path:
    """Sixteen days; on the last one the cache of hostile name is gone and sda is thirty times as slow."""
    path = tmp_path_factory.mktemp("r") / "host.satline"
    random = np.random.default_rng(2)
    sink = Sink(path)
    sink.start()
    sink.host(name="web1", processors=2)
    n = 16 * 86_400 // STEP_S
    time = T0 + np.arange(n) * STEP_S * 10**9
    sink.begin_run()

    def counter(rates):
        return np.cumsum(np.rint(rates * 1000).astype(np.int64))

    load = 5 + 4 * np.sin(np.arange(n) * 2 * np.pi * STEP_S / 86_400) + random.random(n)
    sink.table("system", time, {"users_in_queue": np.rint(load).astype(np.int64), "forks": counter(load)})
    last = np.arange(n) > n - 86_400 // STEP_S  # the reading at midnight ends the day before
    for device in ("sda", "sdb", EVIL):
        rates = load * np.exp(0.1 * random.normal(size=n))
        wait = np.where(last & (device == "sda"), 30.0, 1.0) * rates * np.exp(0.1 * random.normal(size=n))
        there = ~last if device == EVIL else np.ones(n, dtype=bool)
        columns = {"reads": counter(rates), "read_wait_us": counter(wait * 100)}
        part = {k: v[there] for k, v in columns.items()}
        sink.table("device", time[there], {"device": np.full(there.sum(), device, dtype=object), **part})
    sink.origin(format="test", files=["made"])
    sink.finish()
    describe.annotate(path, "second drum installed")
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory, recording) -> Path:
    place = tmp_path_factory.mktemp("h") / "history"
    assert run(["history", "add", str(recording), "--history", str(place)]) == 0
    return place


def test_what_vanished_and_what_changed_is_named_beyond_the_usual(place, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    at = ["--history", str(place)]
    assert run(["history", "mark", "2026-12-01", "good", "--note", "quiet", *at]) == 0
    capsys.readouterr()
    page = tmp_path / "a.html"
    assert run(["history", "compare", "2026-12-04", "--html", str(page), *at]) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80
    beyond = text.split("Within what is usual")[0]
    assert "cache\\n vanished" in beyond
    assert "sda" in beyond
    assert "sdb" not in beyond
    assert "on the good day" in text
    assert "vanished" in page.read_text()
    assert run(["history", "compare", "2026-12-03", "--with", "usual", "--json", *at]) == 0
    assert json.loads(capsys.readouterr().out)["alarms"] == 0


def test_list_show_keep_and_prune(place, capsys):
    at = ["--history", str(place)]
    assert run(["history", "list", "--json", *at]) == 0
    rows = json.loads(capsys.readouterr().out)["days"]
    assert len(rows) == 16
    assert {r["detail"] for r in rows} == {"full"}
    assert run(["history", "show", "2026-11-20", *at]) == 0
    assert "24 hours" in capsys.readouterr().out
    assert run(["history", "keep", "--full", "14", "--hourly", "ever", *at]) == 0
    assert "full detail 14 days, hourly readings for ever" in capsys.readouterr().out
    assert run(["history", "keep", "2026-11-19", *at]) == 0
    capsys.readouterr()
    assert run(["history", "prune", "--dry-run", "--as-of", "2026-12-05", "--json", *at]) == 0
    content = json.loads(capsys.readouterr().out)
    assert [d for _, d in content["full"]] == ["2026-11-20"]
    assert run(["history", "list", *at]) == 0
    assert "hourly" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["compare", "2026-12-04", "--with", "2020-01-01"], "nothing of it before"),
        (["compare", "nowhere.satline"], "no such recording"),
        (["mark", "2020-01-01", "good"], "has nothing of 2020-01-01"),
        (["mark", "yesterday", "good"], "is no day"),
        (["keep", "--hourly", "often"], "give a number of days"),
        (["add", "nowhere.satline"], "no such recording"),
    ],
)
def test_wrong_input_is_told_with_its_remedy(place, capsys, options, message):
    assert run(["history", *options, "--history", str(place)]) == 2
    assert message in capsys.readouterr().err


def test_without_a_history_it_is_said_how_to_begin(tmp_path, capsys):
    assert run(["history", "list", "--history", str(tmp_path / "none")]) == 2
    assert "begins one" in capsys.readouterr().err


def test_compare_with_the_history_is_the_same_command(place, recording, capsys):
    assert run(["history", "mark", "2026-12-03", "good", "--history", str(place)]) == 0
    capsys.readouterr()
    at = ["--history", str(place), "--json"]
    assert run(["history", "compare", str(recording), *at]) == 0
    theirs = json.loads(capsys.readouterr().out)
    assert run(["compare", str(recording), "--with", "last-good", *at]) == 0
    assert json.loads(capsys.readouterr().out) == theirs
    assert run(["compare", str(recording), str(recording), "--with", "usual", *at]) == 2
    assert "2 recordings with --with" in capsys.readouterr().err
    assert run(["compare", str(recording), "--with", "usual", "--at", "2026-11-20", *at]) == 2
    assert "--at with --with" in capsys.readouterr().err
