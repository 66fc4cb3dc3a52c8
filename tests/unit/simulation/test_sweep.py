"""Sweeps: the same results whatever the workers, whatever was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from satline.errors import InputError, SatlineError
from satline.simulation import Program, Progress, Run, Store, simulate, sweep

pytestmark = pytest.mark.slow

TREE = Path(__file__).resolve().parents[3]


@pytest.fixture
def runs(machine: Path, workload: Path) -> list[Run]:
    first = Run(machine, workload, step_seconds=600.0)
    return [replace(first, users=(n,), replication=r) for n in (5, 20) for r in range(3)]


def test_workers_change_nothing(tmp_path: Path, program: Program, runs: list[Run]) -> None:
    files = []
    for workers in (1, 2, 5):
        path = tmp_path / f"{workers}.jsonl"
        with Store(path) as store:
            found = sweep(runs, program, store=store, workers=workers)
        assert [one.events for one in found] == [1000, 1001, 1002] * 2
        files.append(path.read_bytes())
    assert files[0] == files[1] == files[2]
    assert str(tmp_path).encode() not in files[0]


def test_progress_ends_with_all(program: Program, runs: list[Run]) -> None:
    seen: list[Progress] = []
    sweep(runs[:2], program, progress=seen.append)
    assert seen[-1] == Progress(2, 2, 1.0)


SWEEP = """
import sys
from pathlib import Path
from satline.simulation import simulate
simulate(Path("drum.toml"), Path("load.toml"), users=[5, 20], replications=4, seconds=600, workers=2,
         out=Path("runs.jsonl"))
"""


def start(directory: Path, held: str = "") -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(TREE / "python"), "HELD": held}
    return subprocess.Popen([sys.executable, "-c", SWEEP], cwd=directory, env=environment)


@pytest.mark.usefixtures("program", "machine", "workload")
def test_a_killed_sweep_goes_on_to_the_same_file(tmp_path: Path) -> None:
    runs = tmp_path / "runs.jsonl"
    assert start(tmp_path).wait(600) == 0
    whole = runs.read_bytes()
    assert whole.count(b"\n") == 8
    runs.unlink()
    # However late the kill comes, it is not through.
    killed = start(tmp_path, held="20 3")
    try:
        end = time.monotonic() + 240
        while not (runs.exists() and runs.read_bytes().count(b"\n") >= 3):
            assert time.monotonic() < end
            assert killed.poll() is None
            time.sleep(0.01)
    finally:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    kept = runs.read_bytes()
    assert 3 <= kept.count(b"\n") < 8
    runs.write_bytes(kept + b'{"satline_sweep":1,"key":"torn')
    assert start(tmp_path).wait(600) == 0
    assert runs.read_bytes() == whole


@pytest.mark.usefixtures("program")
def test_what_is_kept_is_not_run_again(
    tmp_path: Path, machine: Path, workload: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "runs.jsonl"
    first = simulate(machine, workload, users=[5], replications=2, seconds=600, out=out)
    stamp = out.stat().st_mtime_ns
    monkeypatch.setattr(Program, "run", lambda *_: pytest.fail("it ran again"))
    again = simulate(machine, workload, users=[5], replications=2, seconds=600, out=out)
    assert out.stat().st_mtime_ns == stamp
    assert again.points[0].values("mpl") == first.points[0].values("mpl")


def test_everything_that_decides_a_result_is_in_its_key(
    tmp_path: Path, program: Program, runs: list[Run]
) -> None:
    base = runs[0]
    others = [
        replace(base, users=(6,)),
        replace(base, seed=2),
        replace(base, replication=9),
        replace(base, step_seconds=601.0),
        replace(base, warmup_seconds=1.0),
        replace(base, sample_seconds=5.0),
        replace(base, sets=(("processors.speed", "2"),)),
        replace(base, schedule=True),
    ]
    keys = {program.key(run) for run in (base, *others)}
    assert len(keys) == len(others) + 1
    base.machine.write_text('name = "drum"\n[[device]]\ntype = "2305"\n')
    changed = program.key(base)
    (tmp_path / "devices").mkdir()
    (tmp_path / "devices/2305.toml").write_text("rotation_ms = 10\n")
    with_device = program.key(base)
    (tmp_path / "devices/2305.toml").write_text("rotation_ms = 20\n")
    assert len(keys | {changed, with_device, program.key(base)}) == len(keys) + 3
    # The same files elsewhere are the same run.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "devices").mkdir()
    for name in ("drum.toml", "load.toml", "devices/2305.toml"):
        (elsewhere / name).write_bytes((tmp_path / name).read_bytes())
    moved = replace(base, machine=elsewhere / "drum.toml", workload=elsewhere / "load.toml")
    assert program.key(moved) == program.key(base)


def test_a_refused_run_says_what_the_program_said(program: Program, runs: list[Run]) -> None:
    wrong = [replace(run, sets=(("processors.sped", "2"),)) for run in runs]
    with pytest.raises(InputError, match="there is no such key") as error:
        sweep(wrong, program)
    assert error.value.hint == "did you mean processors.speed?"
    sweep(runs[:1], program)  # it can be used again


def test_a_program_that_fails_is_told(tmp_path: Path, runs: list[Run]) -> None:
    path = tmp_path / "broken"
    path.write_text('#!/bin/sh\n[ "$1" = --version ] || { echo "error: no" >&2; exit 7; }\n')
    path.chmod(0o755)
    with pytest.raises(SatlineError, match="status 7: no"):
        sweep(runs[:1], Program(path))
    path.write_text("#!/bin/sh\necho '{}'\n")
    with pytest.raises(SatlineError, match="something else than its result"):
        sweep(runs[:1], Program(path))
    path.write_text('#!/bin/sh\n[ "$1" = --version ] || kill -9 $$\n')
    with pytest.raises(SatlineError, match="SIGKILL"):
        sweep(runs[:1], Program(path))


def test_a_file_of_something_else_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes\nmore\n")
    with pytest.raises(InputError, match=r"notes.txt:1: not a result"):
        Store(path)
    assert path.read_text() == "my notes\nmore\n"
    path.write_text("no end of line")
    with pytest.raises(InputError):
        Store(path)
    assert path.read_text() == "no end of line"


def test_one_sweep_at_a_time(tmp_path: Path) -> None:
    with Store(tmp_path / "runs.jsonl"), pytest.raises(InputError, match="in use"):
        Store(tmp_path / "runs.jsonl")
    Store(tmp_path / "runs.jsonl").close()


@pytest.mark.usefixtures("program", "machine", "workload")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_stops_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    environment = {**os.environ, "PYTHONPATH": str(TREE / "python"), "HELD": "100 0"}
    words = [
        "simulate",
        "drum.toml",
        "load.toml",
        "--users",
        "5..100/5",
        "--workers",
        "2",
        "--out",
        "runs.jsonl",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "satline.cli", *words],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A script's background job has SIGINT ignored, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    runs, end = tmp_path / "runs.jsonl", time.monotonic() + 240
    while not (runs.exists() and runs.read_bytes()):
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 128 + number
    assert "runs.jsonl; the same command goes on" in said
    for line in runs.read_text().splitlines():
        assert json.loads(line)["satline_sweep"] == 1
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)  # nothing of it is left
