"""`satline import`: what it guesses, prints and leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import satline
from satline.cli import run

SAR = """\
Linux 6.1.0 (drum) \t2026-11-21 \t_x86_64_\t(2 CPU)

10:00:00        CPU     %usr     %nice      %sys   %iowait    %steal     %idle
10:10:00        all    20.00      0.00      5.00      1.00      0.00     74.00
10:20:00        all    30.00      0.00      5.00      1.00      0.00     64.00

10:25:00     LINUX RESTART\t(2 CPU)

10:30:00        CPU     %usr     %nice      %sys   %iowait    %steal     %idle
10:40:00        all    20.00      0.00      5.00      1.00      0.00     74.00
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sar.txt").write_text(SAR)


def test_the_format_is_guessed_and_the_summary_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "sar.txt"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("sar.satline: 5 readings (sar-text)\n")
    assert "from 2026-11-21T10:00:00+00:00 to 2026-11-21T10:40:00+00:00 (UTC)" in shown
    assert "every 600 s, in 2 runs" in shown
    assert "the source lacks:" in shown
    assert shown.endswith("next: satline diagnose sar.satline\n")
    assert max(map(len, shown.splitlines())) <= 80


def test_what_follows_an_import_runs_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "sar.txt"]) == 0
    for command in ("diagnose", "reduce"):
        assert run([command, "sar.satline"]) in (0, 2), capsys.readouterr().err
    assert run(["recording", "check", "sar.satline"]) == 0


def test_json_has_the_same_as_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "sar.txt", "--json", "--timezone", "Europe/Berlin", "-o", "b.satline"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["recording"] == "b.satline"
    assert summary["source_format"] == "sar-text"
    assert summary["begins"] == "2026-11-21T10:00:00+01:00"
    assert len(summary["runs"]) == 2
    assert {"user.cpu_us", "device.busy_us"} <= {m["signal"] for m in summary["missing"]}


def test_a_gap_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"{h:02}:00:00   all   20.00   5.00   75.00\n" for h in (11, 12, 13, 14, 20, 21))
    Path("gap.txt").write_text(SAR.splitlines()[0] + "\n\n10:00:00   CPU   %usr   %sys   %idle\n" + rows)
    assert run(["import", "gap.txt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["gaps"] == [
        {"begins": "2026-11-21T14:00:00+00:00", "ends": "2026-11-21T20:00:00+00:00"}
    ]


def test_several_sources_go_into_one_recording_in_order_of_time(capsys: pytest.CaptureFixture[str]) -> None:
    Path("before.txt").write_text(SAR.replace("2026-11-21", "2026-11-20"))
    assert run(["import", "sar.txt", "before.txt", "--json", "-o", "two.satline"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["readings"] == 10
    assert [r["begins"][:10] for r in summary["runs"]] == ["2026-11-20"] * 2 + ["2026-11-21"] * 2


def test_sources_of_two_hosts_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.txt").write_text(SAR.replace("drum", "disk").replace("2026-11-21", "2026-11-20"))
    assert run(["import", "sar.txt", "other.txt", "-o", "two.satline"]) == 2
    assert "several hosts: disk, drum" in capsys.readouterr().err
    assert not Path("two.satline").exists()


def test_only_the_time_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "sar.txt", "--from", "2026-11-21T10:25", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["readings"] == 2


def test_the_formats_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "--formats"]) == 0
    shown = capsys.readouterr().out
    for name in ("sysstat", "sar-text", "pcp", "atop", "prometheus", "csv"):
        assert f"\n{name} " in "\n" + shown
    assert run(["import", "--formats", "--json"]) == 0
    assert {"name", "title", "examples"} == set(json.loads(capsys.readouterr().out)["formats"][0])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "no source given"),
        (["absent"], "absent: no such file"),
        (["notes.txt"], "none of the known formats"),
        (["sar.txt", "--format", "zork"], "'zork' is none of sysstat"),
        (["sar.txt", "--timezone", "Mars/Olympus"], "is no time zone"),
        (["sar.txt", "--from", "noon"], "'noon' is no time"),
        (["sar.txt", "--to", "2020-01-01"], "nothing that Satline knows in the time asked for"),
        (["sar.txt", "./sar.txt"], "given twice"),
        (["sar.txt", "-o", "absent/x.satline"], "cannot be written"),
        (["sar.txt", "-o", "there.satline"], "is there already"),
        (["sar.txt", "--host", "other"], "of host 'drum'"),
        (["sar.txt", "--mapping", "m.toml"], "--mapping m.toml: sar-text takes no mapping file"),
        (["sa21", "--format", "sysstat", "--mapping", "m.toml"], "sysstat takes no mapping file"),
        (["a.raw", "--format", "atop", "--mapping", "m.toml"], "it is for pcp, prometheus, openmetrics,"),
    ],
)
def test_wrong_input_is_told_with_a_remedy_and_leaves_nothing(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    Path("notes.txt").write_text("a note\n")
    Path("there.satline").mkdir()
    before = sorted(p.name for p in tmp_path.iterdir())
    assert run(["import", *arguments]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert "hint:" in error
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_a_hostile_source_is_shown_as_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "sar\x1b[31m.txt"
    Path(hostile).write_text(SAR)
    assert run(["import", hostile]) == 0
    assert "\x1b" not in capsys.readouterr().out


def commands() -> list[str]:
    """The command lines of all processes."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(file.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:  # it has ended
            continue
    return found


def test_an_interrupt_leaves_no_half_recording(tmp_path: Path) -> None:
    """Its reader hangs; then the person has enough."""
    slow = tmp_path / "bin"
    slow.mkdir()
    sadf = slow / "sadf"
    sadf.write_text("#!/bin/sh\nexec sleep 61.375\n")
    sadf.chmod(0o755)
    (tmp_path / "sa21").write_bytes(b"\x96\xd5\x75\x21" + bytes(100))
    package = Path(satline.__file__).parents[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "satline.cli", "import", "sa21"],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{slow}:{os.environ['PATH']}", "PYTHONPATH": str(package)},
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 120
    # The converter may write nothing here: its process tells that it runs.
    while not any("sleep 61.375" in command for command in commands()):
        assert time.monotonic() < until, "waited in vain for the converter"
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 130
    assert process.stderr is not None
    assert "interrupted" in process.stderr.read()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bin", "sa21", "sar.txt"]
