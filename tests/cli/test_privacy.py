"""`satline --private`; `satline recording pseudonymise`, `reveal`, `prune`; retention of `satline record`."""

from __future__ import annotations

import io
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from satline.cli import run
from satline.cli.options import Size
from satline.recording import Recording, RecordingWriter, compact, describe

pytestmark = pytest.mark.slow

DAY_NS = 86_400_000_000_000


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Three days of 1970, of a host with one user."""
    path = tmp_path / "host.satline"
    describe.create(path, "satline record", host={"name": "drum.example.org", "processors": 2})
    with RecordingWriter(path, "monitor") as writer:
        for n in range(12):
            times = {"time_ns": n * DAY_NS // 4, "monotonic_ns": n * DAY_NS // 4}
            writer.write_rows("system", [{**times, "sample": n, "forks": n}])
            writer.write_rows("user", [{**times, "user": "alice\x1b[31m", "cpu_us": n}])
    describe.end(path, "complete")
    compact(path)
    return path


def modes(*files: Path) -> list[str]:
    return [f"{stat.S_IMODE(file.stat().st_mode):o}" for file in files]


def satline(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, whose umask is 022."""
    paths = os.pathsep.join(path for path in sys.path if path)
    return subprocess.run(
        [sys.executable, "-m", "satline.cli", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": paths, **environment},
        umask=0o022,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("option", "file", "directory"), [([], "644", "755"), (["--private"], "600", "700")])
def test_private_holds_for_all_that_is_written(
    option: list[str], file: str, directory: str, recording: Path, tmp_path: Path
) -> None:
    made = satline(*option, "annotate", str(recording), "second drum installed", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert modes(recording / "recording.toml") == [file]
    made = satline(*option, "report", str(recording), "-o", "report.html", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert modes(tmp_path / "report.html") == [file]
    made = satline(*option, "history", "add", str(recording), "--history", "kept", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    found = list((tmp_path / "kept").rglob("*"))
    assert set(modes(*(f for f in found if f.is_file()))) == {file}
    assert set(modes(*(f for f in found if f.is_dir()))) == {directory}


@pytest.mark.parametrize(("option", "umask"), [([], "0022"), (["--private"], "0077")])
def test_private_holds_for_the_programs_that_a_command_starts(
    option: list[str], umask: str, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    monitor = tmp_path / "bin" / "satline-monitor"
    monitor.write_text(f"#!/bin/sh\numask > {tmp_path}/umask\nexit 1\n")
    monitor.chmod(0o755)
    satline(*option, "record", "x.satline", "--quiet", cwd=tmp_path, SATLINE_BIN_DIR=str(tmp_path / "bin"))
    assert (tmp_path / "umask").read_text().strip() == umask


def test_a_copy_without_names_and_back(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, key = tmp_path / "copy.satline", tmp_path / "key"
    words = ["recording", "pseudonymise", str(recording), str(copy), "--key", str(key)]
    assert run(words) == 2
    assert "--make-key makes a key" in capsys.readouterr().err
    assert run([*words, "--make-key"]) == 0
    told = capsys.readouterr().out
    assert "24 rows, 2 names replaced" in told
    assert str(key) in told
    assert modes(key) == ["600"]
    assert run(words) == 2
    assert "is there already" in capsys.readouterr().err
    assert run(["info", str(copy)]) == 0
    shown = capsys.readouterr().out
    assert "alice" not in shown
    assert "drum" not in shown
    (pseudonym,) = set(re.findall("p-[a-z2-7]{12}", shown)) - {
        Recording.open(copy).description["host"]["name"]
    }
    reveal = ["recording", "reveal", str(copy), "--key", str(key)]
    assert run([*reveal, pseudonym]) == 0
    # The name is a text that may act on the terminal.
    assert capsys.readouterr().out == f"{pseudonym}  alice\\x1b[31m\n"
    assert run([*reveal, pseudonym, "p-aaaaaaaaaaaa"]) == 1
    assert capsys.readouterr().err == "not known: p-aaaaaaaaaaaa\n"
    assert run([*reveal, "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["names"].values()) == {"alice\x1b[31m", "drum.example.org"}
    monkeypatch.setattr("sys.stdin", io.StringIO(f"user {pseudonym} took 3 %\n"))
    assert run([*reveal, "-"]) == 0
    assert capsys.readouterr().out == "user alice\\x1b[31m took 3 %\n"


def test_prune_says_what_would_go_and_lets_it_go(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["recording", "prune", str(recording), "--max-size", "1"]
    assert run(["recording", "prune", str(recording)]) == 2
    assert "--keep 30d" in capsys.readouterr().err
    assert run([*words, "--dry-run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(d["day"], d["rows"]) for d in told["days"]] == [("1970-01-01", 8), ("1970-01-02", 8)]
    assert (told["dry_run"], told["from_day"]) == (True, "1970-01-03")
    assert told["over_bytes"] == told["bytes_before"] - told["bytes"] - 1
    assert run(words) == 0
    shown = capsys.readouterr().out
    assert "gone: 1970-01-01, 8 rows" in shown
    assert "at rest from 1970-01-03 on" in shown
    assert "bytes too large" in shown
    assert run(["recording", "check", str(recording)]) == 0
    assert "let go by retention: 16 rows, the last of 1970-01-02 18:00:00 UTC" in capsys.readouterr().out
    assert run(["info", str(recording)]) == 0
    assert "let go by retention, 16 rows until 1970-01-02 18:00" in capsys.readouterr().out
    # All is older: nothing goes.
    assert run(["recording", "prune", str(recording), "--keep", "30d"]) == 0
    assert "nothing goes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("5G", 5 << 30),
        ("1.5m", 3 << 19),
        ("512", 512),
        ("5 GB", 5 * 10**9),
        ("5GiB", 5 << 30),
        ("2T", 2 << 40),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert Size().convert(text, None, None) == size


@pytest.mark.parametrize("option", [["--max-size", "0"], ["--max-size", "much"], ["--keep", "-1d"]])
def test_wrong_sizes_and_times(
    option: list[str], recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["recording", "prune", str(recording), *option]) == 2
    assert "hint:" in capsys.readouterr().err


# A recording that is there already is what it would have written.
MONITOR = """#!/bin/sh
echo "$@" > "$(dirname "$0")/../words"
"""


@pytest.fixture
def binaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "bin").mkdir()
    for name in ("satline-monitor", "satline"):
        (tmp_path / "bin" / name).write_text(MONITOR)
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("SATLINE_BIN_DIR", str(tmp_path / "bin"))
    return tmp_path / "bin"


@pytest.mark.usefixtures("binaries")
def test_record_without_names_has_the_monitor_replace_them(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "names.key"
    words = ["record", str(recording), "--quiet", "--pseudonymise", str(key)]
    assert run(words) == 2
    assert "--make-key makes a key" in capsys.readouterr().err
    assert not (tmp_path / "words").exists()
    assert run([*words, "--make-key"]) == 0
    assert (tmp_path / "words").read_text().count(f" --pseudonymise {key} ") == 1
    assert modes(key) == ["600"]
    key.chmod(0o644)
    assert run(words) == 2
    assert "others may read this key" in capsys.readouterr().err
    assert run(["record", "--make-key"]) == 2
    assert "goes with --pseudonymise" in capsys.readouterr().err
    assert run(["record", "--print-unit", "--pseudonymise", "names.key"]) == 0
    assert f"--pseudonymise {Path.cwd() / 'names.key'}\n" in capsys.readouterr().out


def test_an_annotation_of_a_recording_without_names_stands(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    describe.update(recording, {"pseudonyms": {"key": "0"}})
    assert run(["annotate", str(recording), "alice rebooted it"]) == 0
    assert "it stands as it is" in capsys.readouterr().err


def test_record_lets_go_what_is_too_much(
    binaries: Path, recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["record", str(recording), "--quiet", "--max-size", "1"]) == 0
    assert "gone: 1970-01-01" in capsys.readouterr().err
    assert [d.name for d in sorted((recording / "tables/user").iterdir())] == ["day=1970-01-03"]
    wanted = ["record", "--print-unit", "--keep", "30d", "--max-size", "5G"]
    assert run(wanted) == 0
    unit = capsys.readouterr().out
    line = "recording prune /var/lib/satline/host.satline --keep 2592000s --max-size 5368709120"
    assert f"ExecStart={binaries / 'satline'} {line}" in unit
    assert run(["record", "--print-unit"]) == 0
    assert " prune " not in capsys.readouterr().out
