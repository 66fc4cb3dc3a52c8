"""Parts of the run: the emulator's command and progress, the views, signals, the lock."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from satline.errors import InputError, SatlineError
from satline.experiment.emulator import Emulator, Progress, command_line
from satline.experiment.feasibility import only_one
from satline.experiment.progress import clock, limits_in_words
from satline.experiment.study import Load
from satline.present.progress import LiveView, PlainView, make_view
from satline.systems import Conditions

LINE = (
    b'{"elapsed_s": 61.5, "total_s": 260, "step": 2, "steps": 8, "users": 4, "logged_on": 3, "phase": '
    b'"window", "reactions": 120, "response_p50_ms": 51.2, "response_p90_ms": 2400.0, "lateness_p99_us": 350,'
    b' "failures": 1, "something new": 7}'
)


def conditions(tmp_path: Path, **values: object) -> Conditions:
    return Conditions(tmp_path / "data", tmp_path / "users", tmp_path / "users.tsv", **values)  # type: ignore[arg-type]


def test_the_command_says_everything(tmp_path: Path) -> None:
    made = command_line(
        Path("/bin/satline-terminal"),
        Path("/w.toml"),
        Path("/r.satline"),
        Load(users=[1, 2], ramp_seconds=0.5, seed=7),
        conditions(
            tmp_path,
            processors=[1],
            other_processors=[0],
            cgroup_procs=[Path("/a/cgroup.procs"), Path("/b/cgroup.procs")],
            environment={"SATLINE_DATA": "/d"},
        ),
    )
    assert made == (
        "/bin/satline-terminal run --workload /w.toml --recording /r.satline --steps 1,2 --seed 7 "
        "--max-users 2 --ramp 500ms --warmup 4000ms --window 20000ms "
        "--cgroup-procs /a/cgroup.procs --cgroup-procs /b/cgroup.procs "
        f"--affinity 1 --processor 0 --env SATLINE_DATA=/d --users-file {tmp_path}/users.tsv "
        f"--directory {tmp_path}/users --progress json --watch-stdin"
    ).split(" ")


def test_the_studys_time_to_log_on_comes_after_the_systems(tmp_path: Path) -> None:
    load = Load(users=[1], log_on_seconds=90)
    system = conditions(tmp_path, emulator_options=["--logon-timeout", "120s"])
    made = command_line(Path("t"), Path("/w.toml"), Path("/r.satline"), load, system)
    given = [made[k + 1] for k, word in enumerate(made) if word == "--logon-timeout"]
    assert given == ["120s", "90000ms"]


def test_progress_lines_are_read_and_others_left() -> None:
    progress = Progress.parse(LINE)
    assert progress is not None
    assert (progress.step, progress.logged_on, progress.phase, progress.response_p90_ms) == (
        2,
        3,
        "window",
        2400.0,
    )
    for line in (b"", b"nonsense", b"[1]", b"\xff"):
        assert Progress.parse(line) is None


def run(tmp_path: Path, script: str) -> list[Progress | None]:
    emulator = Emulator([sys.executable, "-c", script], {}, tmp_path / "log")
    try:
        return [progress for progress in emulator.progress() if progress is not None]
    finally:
        emulator.stop()


def test_progress_is_followed_over_cut_lines(tmp_path: Path) -> None:
    line = LINE + b"\n"
    script = f"import os,time; t={line!r}; os.write(1,t[:50]); time.sleep(.4); os.write(1,t[50:])"
    assert run(tmp_path, script) == [Progress.parse(LINE)]


def test_wrong_input_is_told_in_the_emulators_words(tmp_path: Path) -> None:
    script = "import sys; sys.stderr.write('error: w.toml:3: no prompt\\nhint: see shell\\n'); sys.exit(2)"
    with pytest.raises(InputError, match=r"(?m)^w\.toml:3: no prompt$") as caught:
        run(tmp_path, script)
    assert caught.value.hint == "see shell"


@pytest.mark.parametrize(
    ("end", "how"), [("sys.exit(1)", "exit code 1"), ("os.kill(os.getpid(), 9)", "signal 9")]
)
def test_a_failed_emulator_is_an_error(tmp_path: Path, end: str, how: str) -> None:
    with pytest.raises(SatlineError, match=how) as caught:
        run(tmp_path, f"import os, sys; {end}")
    assert caught.value.exit_code == 1


def test_an_emulator_that_does_not_stop_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("satline.experiment.emulator.STOP_TIMEOUT_S", 0.2)
    script = "import signal, time; signal.signal(2, signal.SIG_IGN); print(1, flush=True); time.sleep(1000)"
    emulator = Emulator([sys.executable, "-c", script], {}, tmp_path / "log")
    next(emulator.progress())
    emulator.stop()
    assert emulator._process.returncode == -signal.SIGKILL


def test_plain_lines_come_with_every_new_phase() -> None:
    console = Console(file=io.StringIO(), width=200)
    view = make_view(console)
    assert isinstance(view, PlainView)
    with view:
        for phase in ("ramp", "ramp", "window"):
            view.show(
                Progress(elapsed_s=61.5, total_s=260, step=2, steps=8, users=4, logged_on=3, phase=phase)
            )
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert len(lines) == 2
    assert lines[0].startswith("step 2/8 ramp: 3/4 users, 0 reactions")
    assert lines[0].endswith("3:18 left")


def test_the_live_display_shows_every_figure() -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=True)
    view = make_view(console)
    assert isinstance(view, LiveView)
    progress = Progress.parse(LINE)
    assert progress is not None
    with view:
        view.note("[red]\x1b[31m as it is")
        view.show(progress)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    for words in (
        "step 2 of 8",
        "3 of 4 logged on, window",
        "120",
        "51 ms",
        "2.40 s",
        "0.3 ms",
        "3:18 left",
        r"[red]\x1b[31m as",
    ):
        assert words in shown
    assert "\x1b[31m as" not in shown


def test_times() -> None:
    assert [clock(seconds) for seconds in (0, 59.6, 3675, -5)] == ["0:00", "1:00", "1:01:15", "0:00"]


def test_one_study_at_a_time(tmp_path: Path) -> None:
    script = f"""
import sys
from pathlib import Path
from satline.experiment.feasibility import only_one
try:
    with only_one(Path({str(tmp_path)!r})): sys.exit(0)
except Exception as error: sys.exit(error.message)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", script]
    with only_one(tmp_path):
        second = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert (second.returncode, second.stderr.strip()) == (1, "another study is running on this host")
    assert subprocess.run(command, env=environment, check=False).returncode == 0


def test_a_state_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError) as caught, only_one(tmp_path / "file"):
        pass
    assert "XDG_STATE_HOME" in caught.value.hint


def test_limits_are_told_in_words(tmp_path: Path) -> None:
    lines = limits_in_words(
        conditions(
            tmp_path, limits={"processors": 1, "memory_bytes": 768_000_000}, not_set={"read_iops": "why"}
        )
    )
    assert lines == ["limits of the load: processors 1, memory 768 MB", "not set: read_iops: why"]
    assert limits_in_words(conditions(tmp_path)) == ["limits of the load: none"]
