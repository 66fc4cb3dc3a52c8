"""`satline simulate --watch` on a terminal, and as lines, with the false program."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from satline.cli import run
from satline.errors import InputError
from satline.simulation.watching import Watched

from .fake_watch import HOSTILE

pytestmark = pytest.mark.slow

Captured = pytest.CaptureFixture[str]
TREE = Path(__file__).resolve().parents[4]
PATIENCE_S = 240.0


class Terminal:
    """`satline` on a pty of its own."""

    def __init__(self, arguments: list[str], rows: int = 24, columns: int = 80) -> None:
        self.process, self.file = pty.fork()
        if self.process == 0:
            more = {"TERM": "xterm-256color", "PYTHONPATH": str(TREE / "python")}
            command = [sys.executable, "-m", "satline.cli", *arguments]
            # The size is the terminal's own; readline may have put that of another one there.
            kept = {name: value for name, value in os.environ.items() if name not in ("LINES", "COLUMNS")}
            # A script's background job has SIGINT ignored, and its children inherit that.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.execve(sys.executable, command, kept | more)
        self.size(rows, columns)
        self.modes = termios.tcgetattr(self.file)
        self.shown = b""

    def size(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys: str) -> None:
        self.shown = b""
        os.write(self.file, keys.encode())

    def sees(self, text: str) -> None:
        """Wait until it is shown."""
        until = time.monotonic() + PATIENCE_S
        while text.encode() not in self.shown:
            assert time.monotonic() < until, (text, self.shown[-3000:])
            assert self._read(), (text, self.shown[-3000:])

    def end(self) -> int:
        """What is left, and the status."""
        until = time.monotonic() + PATIENCE_S
        while self._read():
            assert time.monotonic() < until
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])

    def _read(self) -> bool:
        if not select.select([self.file], [], [], 0.1)[0]:
            return True
        try:
            part = os.read(self.file, 1 << 16)
        except OSError:
            return False
        self.shown += part
        return bool(part)


@contextmanager
def terminal(arguments: list[str]) -> Iterator[Terminal]:
    """It is gone afterwards."""
    made = Terminal(arguments)
    try:
        yield made
    finally:
        try:
            os.kill(made.process, signal.SIGKILL)
            os.waitpid(made.process, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(made.file)


@pytest.mark.usefixtures("program")
def test_keys_pause_step_change_pace_and_users_and_quit(files: list[str]) -> None:
    with terminal(["simulate", *files, "--users", "12", "--watch"]) as seen:
        seen.sees("12 users")
        assert b"\x1b[?1049h" in seen.shown
        # Neither echo nor whole lines, but signals.
        local = termios.tcgetattr(seen.file)[3]
        assert not local & (termios.ECHO | termios.ICANON)
        assert local & termios.ISIG
        seen.press("+")
        seen.sees("×20")
        seen.press(" ")
        seen.sees("PAUSED")
        seen.press("UU.")
        seen.sees("14 users")
        seen.press("-")
        seen.sees("×10 PAUSED")
        seen.size(40, 120)
        seen.sees("users one by one")
        seen.press("q")
        assert seen.end() == 0
        after_screen = seen.shown.split(b"\x1b[?1049l")[1].decode()
        assert "14 users" in after_screen
        assert "space pause" not in after_screen
        assert termios.tcgetattr(seen.file) == seen.modes


@pytest.mark.usefixtures("program")
@pytest.mark.parametrize(("what", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), ("\x03", 130)])
def test_the_terminal_is_as_before_whatever_ends_it(
    files: list[str], what: signal.Signals | str, status: int
) -> None:
    with terminal(["simulate", *files, "--users", "12", "--watch"]) as seen:
        seen.sees("12 users")
        if isinstance(what, str):
            seen.press(what)
        else:
            os.kill(seen.process, what)
        assert seen.end() == status
        assert seen.shown.count(b"\x1b[?1049l") == 1
        assert seen.shown.rfind(b"\x1b[?25h") > seen.shown.rfind(b"\x1b[?25l")
        assert b"Traceback" not in seen.shown
        assert termios.tcgetattr(seen.file) == seen.modes


@pytest.mark.usefixtures("program")
def test_a_run_that_ends_leaves_its_last_picture(files: list[str]) -> None:
    with terminal(["simulate", *files, "--users", "12", "--watch", "--pace", "2000"]) as seen:
        assert seen.end() == 0
        assert b"10:00 of 10:00" in seen.shown.split(b"\x1b[?1049l")[1]
        for hostile in (b"\x1b]0;", b"\xc2\x9b", "\u202e".encode()):
            assert hostile not in seen.shown


@pytest.mark.usefixtures("program")
def test_what_the_program_says_is_told(files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENDS", "2")
    with terminal(["simulate", *files, "--users", "12", "--watch"]) as seen:
        assert seen.end() == 2
        after_screen = seen.shown.split(b"\x1b[?1049l")[1].decode()
        assert "error: out of \\x1b[31mpaper\r\nhint: buy some" in after_screen
        assert termios.tcgetattr(seen.file) == seen.modes


@pytest.mark.usefixtures("program")
def test_lines_are_the_programs_own(files: list[str], capsys: Captured) -> None:
    arguments = ["simulate", *files, "--users", "3", "--watch", "--json", "--sample-seconds", "250"]
    assert run(arguments) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["kind"] for line in lines] == ["machine", "frame", "frame", "frame", "frame", "end"]
    assert [line["time_s"] for line in lines[1:-1]] == [0, 250, 500, 600]
    assert lines[0]["machine"] == HOSTILE
    assert lines[0]["users"] == 3


@pytest.mark.usefixtures("program")
@pytest.mark.parametrize(
    ("more", "named"),
    [
        (["--watch"], "--json prints"),
        (["--watch", "--record", "x"], "--watch with --record"),
        (["--watch", "--vary", "a=1,2"], "--watch with --vary"),
        (["--watch", "--replications", "2"], "--watch with --replications"),
        (["--watch", "--warmup", "0"], "--watch with --warmup"),
        (["--pace", "2"], "--pace without --watch"),
        (["--watch", "--sample-seconds", "2"], "--watch with --sample-seconds"),
    ],
)
def test_what_does_not_go_together_is_refused(
    files: list[str], more: list[str], named: str, capsys: Captured
) -> None:
    assert run(["simulate", *files, "--users", "3", *more]) == 2
    error = capsys.readouterr().err
    assert named in error
    assert "\nhint: " in error


def test_a_study_is_not_watched(capsys: Captured) -> None:
    assert run(["simulate", "ideal-mpl", "--watch"]) == 2
    assert "--watch with a study" in capsys.readouterr().err


def test_a_program_that_says_something_else_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "other"
    for text, named in (("hello", "something else"), ('{"kind": "machine", "format": 9}', "format 9")):
        path.write_text(f"#!/bin/sh\necho '{text}'\n")
        path.chmod(0o755)
        with pytest.raises(Exception, match=named), Watched([str(path)]) as run_:
            run_.machine()
    path.write_text("#!/bin/sh\necho 'error: no' >&2\nexit 2\n")
    with pytest.raises(InputError, match="no"), Watched([str(path)]) as run_:
        run_.machine()
