"""`satline analyse indicate`: the load in the last seconds, of a recording and of this host."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from made_now import HOSTILE, make
from rich.cells import cell_len

from satline.cli import run
from satline.errors import SatlineError
from satline.systems.binaries import find_binary

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("now") / "now.satline")


@pytest.fixture
def indicate(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    monkeypatch.setenv("COLUMNS", "80")

    def shown(*arguments: object, code: int = 0) -> str:
        assert run(["indicate", *map(str, arguments)]) == code, capsys.readouterr().err
        captured = capsys.readouterr()
        return captured.err if code else captured.out

    return shown


def test_the_line_is_of_the_last_seconds_alone(made: Path, indicate: Callable[..., str]) -> None:
    line = indicate(made).strip()
    assert line.endswith("paging 40/s  MPL 1.7  eligible 0.1  CPU 30 %  resp 500 ms  active 2")
    assert len(line) <= 80
    assert " CPU 10 %  " in indicate(made, "--seconds", 30)


def test_the_paging_rate_is_the_systems_however_many_processors_there_are(
    made: Path, indicate: Callable[..., str]
) -> None:
    content = json.loads(indicate(made, "--json"))
    assert content["values"]["paging_rate"] == {"value": pytest.approx(40), "unit": "pages/s"}
    assert content["values"]["active_users"]["value"] == 2
    assert content["seconds"] == pytest.approx(10)
    assert content["samples"] == 11
    assert "lock_spin" not in content["missing"]


def test_the_fuller_form_names_what_is_missing_and_why(made: Path, indicate: Callable[..., str]) -> None:
    text = indicate(made, "--long")
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    assert "\x1b" not in text
    plain = " ".join(text.split())
    assert "user time 0.5 processors" in plain
    assert "time busy of the busiest device 3.2 % disk" in plain
    assert "Missing: all lock spin (not recorded: lock_spin_us)." in plain


def test_what_is_not_told_is_a_dash(tmp_path: Path, indicate: Callable[..., str]) -> None:
    from satline.recording import RecordingWriter, describe

    path = tmp_path / "bare.satline"
    describe.create(path, "test")
    with RecordingWriter(path, "import") as writer:
        for k in range(3):
            at = {"time_ns": (1_700_000_000 + 60 * k) * 10**9, "monotonic_ns": 60 * k * 10**9}
            writer.write_rows("system", [{**at, "sample": k, "swap_in_pages": 60 * k, "swap_out_pages": 0}])
    describe.end(path, "complete")
    assert indicate(path).split(None, 1)[1].strip() == (
        "paging 1/s  MPL –  eligible –  CPU –  resp –  active –"
    )


def test_a_recording_that_is_being_written_is_watched(
    tmp_path: Path, indicate: Callable[..., str], capsys: Capture
) -> None:
    path = make(tmp_path / "on.satline", ended=False)
    lines = indicate(path, "--watch", 0.5, "--count", 2, "--json").splitlines()
    assert [json.loads(line)["samples"] for line in lines] == [11, 11]
    old = make(tmp_path / "old.satline", ended=False, begun_ns=time.time_ns() - 3600 * 10**9)
    assert run(["indicate", str(old)]) == 0
    assert "the monitor seems to have stopped" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.satline"], "no such recording"),
        (["MADE", "--watch", "1"], "has ended"),
        (["MADE", "--live"], "--live is for this host"),
        (["MADE", "--users", "uid"], "--users is for this host"),
        (["MADE", "--count", "1"], "--count goes with --watch"),
    ],
)
def test_wrong_use_is_told(made: Path, indicate: Callable[..., str], arguments: list[str], says: str) -> None:
    error = indicate(*(made if a == "MADE" else a for a in arguments), code=2)
    assert says in error
    assert "hint:" in error


def test_one_sample_is_no_load(tmp_path: Path, indicate: Callable[..., str]) -> None:
    from satline.recording import RecordingWriter, describe

    path = tmp_path / f"{HOSTILE}.satline".replace("/", "")
    describe.create(path, "test")
    with RecordingWriter(path, "monitor") as writer:
        writer.write_rows("system", [{"time_ns": 1, "monotonic_ns": 1, "sample": 0}])
    error = indicate(path, code=2)
    assert "fewer than two samples" in error
    assert "\x1b" not in error


@pytest.mark.slow
def test_this_host_is_sampled_and_nothing_is_left(
    indicate: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    try:
        find_binary("satline-monitor")
    except SatlineError:
        pytest.skip("satline-monitor is not built")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    content = json.loads(indicate("--seconds", 1, "--json"))
    # Processors' times are told in ticks, 100 in this second: one more or less of each processor.
    assert 0 < content["values"]["total_cpu_fraction"]["value"] <= 1.03
    assert list(tmp_path.iterdir()) == []
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(tmp_path) not in running
