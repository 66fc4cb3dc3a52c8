"""The command line: what it prints, how it ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from satline import __version__
from satline.cli import run
from satline.cli.analyse.reduce import USUAL
from satline.experiment.study import shipped_studies
from satline.recording import RecordingWriter, describe, write_parquet_table
from satline.reduction import variables


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("SATLINE_LOCK_DIR", str(tmp_path))


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "host.satline"
    describe.create(path, "satline record")
    with RecordingWriter(path, "study") as writer:
        writer.write_rows("event", [{"source": "study", "event": "stopped", "text": "\x1b[31m<script>"}])
    describe.end(path, "complete")
    return path


def programs(tmp_path: Path, **scripts: str) -> str:
    """A directory of small programs; names with _ for -."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for name, script in scripts.items():
        file = directory / name.replace("_", "-")
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
    return str(directory)


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"satline {__version__}\n"


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys, satline.cli; satline.cli.run(['--help']);"
        "heavy = {'numpy', 'duckdb', 'pyarrow', 'scipy', 'altair', 'pydantic', 'rich'} & set(sys.modules);"
        "sys.exit(', '.join(heavy) or 0)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    result = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (["stduy"], "stduy", "--help"),
        (["study"], "name a study", "satline study --help"),
        (["study", "nothing"], "there is no study file nothing", "satline experiment studies"),
        (["study", "cpu-bund"], "cpu-bund", 'did you mean "cpu-bound"?'),
        (["study", "light", "--scratch", "/nowhere"], "/nowhere is not a directory", "for scratch files"),
        (["record", "--interval", "soon"], "'soon' is not a time", "satline record --help"),
        (["record", "--interval", "50ms"], "less than 100ms", "satline record --help"),
        (["record", "--users", "cats"], "cats", "satline record --help"),
        (["diagnose", "/nowhere"], "/nowhere", "recording"),
        (["recording", "check", "/nowhere"], "/nowhere", "recording"),
        (["annotate", "/nowhere", "x"], "/nowhere", "recording"),
        (["reduce", "x", "--json", "--csv"], "exclude each other", "satline reduce --help"),
    ],
)
def test_wrong_input_ends_with_2_and_a_hint(
    arguments: list[str],
    error: str,
    hint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(
        "SATLINE_BIN_DIR", programs(tmp_path, satline_monitor="exit 9", satline_terminal="exit 9")
    )
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert error in shown.err
    assert hint in shown.err[shown.err.index("\nhint: ") :]
    assert "Traceback" not in shown.err
    assert not (tmp_path / "state").exists()


def test_a_missing_program_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SATLINE_BIN_DIR", str(tmp_path))
    assert run(["record"]) == 1
    assert "satline-monitor is not in" in capsys.readouterr().err


def test_hostile_names_are_shown_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["study", "\x1b[31m[red]<script>"]) == 2
    shown = capsys.readouterr().err
    assert "\x1b" not in shown
    assert "\\x1b[31m[red]<script>" in shown


def test_studies_are_listed_with_their_questions(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["studies"]) == 0
    shown = capsys.readouterr().out
    for path in shipped_studies():
        assert f"{path.stem} " in shown
    assert run(["studies", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["studies"]
    assert [row["name"] for row in rows] == [path.stem for path in shipped_studies()]
    assert all(row["question"] and row["seconds"] > 0 for row in rows)


def test_clean_with_nothing_to_clean(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["clean"]) == 0
    assert capsys.readouterr().out == "nothing was left behind\n"
    assert run(["clean", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["undone"], told["left_behind"], told["running"]) == ([], [], [])


def test_check_info_annotate_compact(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["annotate", str(recording), "second drum \x1b[31minstalled"]) == 0
    assert run(["recording", "check", str(recording)]) == 0
    assert "sound, ended: complete" in capsys.readouterr().out
    assert run(["recording", "info", str(recording)]) == 0
    shown = capsys.readouterr().out
    assert "description.recording.creator: satline record" in shown
    assert "second drum \\x1b[31minstalled" in shown
    assert run(["recording", "compact", str(recording), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 1
    assert run(["recording", "check", str(recording), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"]["event"] == 1
    assert run(["recording", "info", str(recording), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["description"]["annotation"][0]["text"].startswith("second")


def test_a_damaged_tail_is_told(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (segment,) = recording.glob("segments/event/*.seg")
    segment.write_bytes(segment.read_bytes()[:-3])
    assert run(["recording", "check", str(recording)]) == 0
    shown = capsys.readouterr().out
    assert "warning: " in shown
    assert segment.name in shown


def test_a_file_at_rest_that_is_broken_inside_is_an_error_with_a_hint(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"time_ns": n, "monotonic_ns": n, "sample": n} for n in range(100)]
    (file,) = write_parquet_table(recording, "system", rows)
    content = bytearray(file.read_bytes())
    content[4:200] = bytes(196)
    file.write_bytes(content)
    for command in ("diagnose", "report", "reduce"):
        assert run([command, str(recording)]) == 2
        shown = capsys.readouterr().err
        assert shown.startswith(f"error: {file}: damaged: rows 0 to 99 of column")
        assert "hint: `satline recording check`" in shown
    assert run(["recording", "check", str(recording)]) == 1
    assert f"problem: {file}: damaged: rows 0 to 99 of column" in capsys.readouterr().out


def test_a_reader_that_has_enough_is_no_error() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = f"{sys.executable} -m satline.cli studies --json | head -c 1; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(
        ["bash", "-c", command], env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_the_units_are_printed_and_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    binaries = programs(tmp_path, satline_monitor="", satline="")
    monkeypatch.setenv("SATLINE_BIN_DIR", binaries)
    assert run(["record", "--print-unit", "--interval", "10", "--users", "session"]) == 0
    printed = capsys.readouterr().out
    assert f"ExecStart={binaries}/satline-monitor --recording /var/lib/satline/host.satline " in printed
    assert " --interval 10000ms --users session --budget 2\n" in printed
    assert f"ExecStopPost=-{binaries}/satline recording compact /var/lib/satline/host.satline" in printed
    assert "OnCalendar=" in printed
    assert run(["record", "--install", "--root", str(tmp_path / "root"), "/var/log/x.satline"]) == 0
    units = tmp_path / "root/etc/systemd/system"
    names = {"satline-record.service", "satline-record-compact.service", "satline-record-compact.timer"}
    assert {unit.name for unit in units.iterdir()} == names
    assert "--recording /var/log/x.satline" in (units / "satline-record.service").read_text()
    assert "ReadWritePaths=/var/log\n" in (units / "satline-record.service").read_text()
    assert "systemctl daemon-reload" in capsys.readouterr().out
    assert run(["record", "--install", "--root", str(tmp_path / "root"), "/x y/%i.satline"]) == 2


def test_systemd_accepts_the_units(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SATLINE_BIN_DIR", programs(tmp_path, satline_monitor="", satline=""))
    assert run(["record", "--install", "--root", str(tmp_path / "root"), str(tmp_path / "x.satline")]) == 0
    capsys.readouterr()
    files = sorted(map(str, (tmp_path / "root/etc/systemd/system").iterdir()))
    try:
        result = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", *files], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("systemd-analyze is not here")
    complaints = [line for line in result.stderr.splitlines() if "satline" in line]
    assert complaints == []


def test_the_usual_variables_are_in_the_catalogue() -> None:
    unknown = [name for name in USUAL if variables().find(name) is None]
    assert unknown == []
    assert {"transaction_rate", "response"} <= set(USUAL)
