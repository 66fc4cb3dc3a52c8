"""The recorder: what it writes, what it must never write, the terminal as it was after every end."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import re
import select
import shutil
import signal
import sys
import termios
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satline.cli import run
from satline.workload._classes import Mapping
from satline.workload._events import SECRET
from satline.workload._extract import extract, open_terminal
from satline.workload._writer import Writer

with_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
WAIT_S = 120.0


def events(file: io.StringIO) -> list[list[object]]:
    return [json.loads(line) for line in file.getvalue().splitlines()]


def kept(file: io.StringIO, code: str) -> str:
    return "".join(str(event[2]) for event in events(file) if event[1] == code)


def test_keys_that_are_shown_are_kept_with_their_times() -> None:
    file = io.StringIO()
    writer = Writer(file)
    for index, key in enumerate("ls\r"):
        writer.keys(1000 + index * 1000, key, echo=False, lines=False)
        writer.output(1500 + index * 1000, {"\r": "\r\n"}.get(key, key))
    assert kept(file, "i") == "ls\r"
    assert kept(file, "o") == "ls\r\n"
    assert [event[0] for event in events(file)] == pytest.approx([1e-3] + [5e-4] * 5)


def test_with_echo_off_and_lines_on_nothing_is_kept_but_that_it_was() -> None:
    file = io.StringIO()
    writer = Writer(file)
    for number in range(9):
        writer.keys(number, "x", echo=False, lines=True)
    assert [(event[1], event[2]) for event in events(file)] == [("m", SECRET)]


@pytest.mark.parametrize("star", ["*", "•", "* ", ""])
def test_keys_that_are_not_shown_are_not_kept_nor_their_stars(star: str) -> None:
    file = io.StringIO()
    writer = Writer(file)
    writer.output(0, "Passphrase: ")
    for index, key in enumerate("geheim\r"):
        writer.keys(1000 + index * 100_000, key, echo=False, lines=False)
        if star and key != "\r":
            writer.output(2000 + index * 100_000, star)
    writer.output(900_000, "\r\nwelcome\r\n")
    writer.settle(5_000_000)
    assert kept(file, "i") == "\r"
    assert star == "" or star not in kept(file, "o")
    assert kept(file, "m") == SECRET
    assert "welcome" in kept(file, "o")


def test_lines_pasted_ahead_are_not_kept() -> None:
    file = io.StringIO()
    writer = Writer(file)
    writer.keys(0, "read -s x\rgeheim\r", echo=False, lines=False)
    writer.output(10, "read -s x\r\n")
    writer.settle(10**8, end=True)
    assert kept(file, "i") == "read -s x\r"
    writer.keys(2 * 10**8, "\x1b[200~a\rb\x1b[201~", echo=True, lines=False)
    assert kept(file, "i").endswith("\x1b[200~a\rb\x1b[201~")


def test_a_program_that_shows_nothing_gives_nothing_away_by_what_follows() -> None:
    """A prompt that begins as the secret does is no echo of it."""
    file = io.StringIO()
    writer = Writer(file)
    for key in "root1":
        writer.keys(1000, key, echo=False, lines=False)
    writer.output(2000, "root@here# ")
    writer.settle(5_000_000)
    for index, key in enumerate("root1"):
        writer.keys(6_000_000 + index * 150_000, key, echo=False, lines=False)
    writer.output(7_000_000, "\x1b]133;B\x07root@here# ")
    writer.settle(9_000_000)
    assert kept(file, "i") == ""
    writer.keys(9_100_000, "l", echo=False, lines=False)
    writer.output(9_101_000, "l")
    assert kept(file, "i") == "l"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["keys", "secret", "raw", "output"]),
            st.text("abc*\r\x1b[", min_size=1, max_size=5),
        ),
        max_size=30,
    )
)
def test_whatever_comes_the_file_is_in_order_and_without_secrets(steps: list[tuple[str, str]]) -> None:
    file = io.StringIO()
    writer = Writer(file)
    for number, (what, text) in enumerate(steps):
        now = number * 300_000
        if what == "output":
            writer.output(now, text)
        elif what == "secret":
            writer.keys(now, "S" + text, echo=False, lines=True)
        elif what == "raw":
            writer.keys(now, "S", echo=False, lines=False)
        else:
            writer.keys(now, text, echo=True, lines=True)
    writer.settle(10**9, end=True)
    assert "S" not in kept(file, "i") + kept(file, "o")
    assert all(isinstance(event[0], int | float) and event[0] >= 0 for event in events(file))


class Person:
    """A terminal with `satline workload record` in it, and somebody at its keys."""

    def __init__(self, out: Path, *command: str) -> None:
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
            environment |= {"HOME": str(out.parent), "PS1": "$ ", "TERM": "xterm"}
            words = [sys.executable, "-m", "satline.cli", "record-session", "--out", str(out), *command]
            os.execve(sys.executable, words, environment)
        self.seen = ""

    def wait(self, pattern: str) -> None:
        """Read until the terminal shows the pattern after what was waited for before."""
        deadline = time.monotonic() + WAIT_S
        while not (found := re.search(pattern, self.seen)):
            assert time.monotonic() < deadline, self.seen
            if select.select([self.terminal], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.terminal, 65536).decode(errors="replace")
                except OSError:
                    pytest.fail(f"it ended: {self.seen}")
        self.seen = self.seen[found.end() :]

    def type(self, text: str) -> None:
        for key in text:
            os.write(self.terminal, key.encode())
            time.sleep(0.005)

    def flags(self) -> list[object]:
        return termios.tcgetattr(self.terminal)[:4]

    def end(self) -> int:
        """Exit status, as a shell gives it."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            if select.select([self.terminal], [], [], 0.05)[0]:
                with contextlib.suppress(OSError):
                    self.seen += os.read(self.terminal, 65536).decode(errors="replace")
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
        os.kill(self.pid, signal.SIGKILL)
        raise AssertionError(f"it does not end: {self.seen}")


PROMPT = r"133;B;aid=\w+\x07"


@with_bash
def test_a_session_in_bash_becomes_its_lines(tmp_path: Path) -> None:
    out = tmp_path / "s.cast"
    person = Person(out, "bash")
    person.wait(PROMPT)
    person.type("echo h\x7fhello\r")
    person.wait(PROMPT)
    person.type("read -s X\r")
    person.wait(r"133;C")
    person.type("hunter2\r")
    person.wait(PROMPT)
    person.type("read -s -n 7 Y\r")
    person.wait(r"133;C")
    person.type("hunter3")
    person.wait(PROMPT)
    person.type("exit 7\r")
    assert person.end() == 7
    text = out.read_text()
    assert "hunter" not in text
    assert out.stat().st_mode & 0o077 == 0
    typed = "".join(event[2] for event in map(json.loads, text.splitlines()[1:]) if event[1] == "i")
    assert "hunter"[:3] not in typed
    session = extract(open_terminal(out), Mapping())
    assert [line.text for line in session.lines if line.program is None] == [
        "echo hello",
        "read -s X",
        "read -s -n 7 Y",
        "exit 7",
    ]
    assert [line.secret for line in session.lines if line.program is None][:3] == [False, True, True]
    assert json.loads(text.splitlines()[-1])[1:] == ["x", "7"]


@with_bash
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_after_a_signal_the_terminal_is_as_it_was(tmp_path: Path, number: signal.Signals) -> None:
    out = tmp_path / "s.cast"
    person = Person(out, "bash")
    before = person.flags()
    person.wait(PROMPT)
    assert person.flags() != before
    person.type("trap '' HUP; sleep 15\r")
    person.wait("133;C")
    os.kill(person.pid, number)
    # The slave's other end is ours: its modes outlive the recorder.
    assert person.end() == 128 + number
    assert person.flags() == before
    assert json.loads(out.read_text().splitlines()[-1])[1] == "x"


def test_size_and_its_changes_are_passed_on(tmp_path: Path) -> None:
    import fcntl
    import struct

    out = tmp_path / "s.cast"
    person = Person(out, "sh")
    person.wait(r"\$ |# ")
    fcntl.ioctl(person.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 99, 0, 0))
    # The recorder passes it on when it comes to it; what is typed is echoed, so that the answer must differ.
    person.type('until [ "$(stty size)" = "33 99" ]; do sleep 0.05; done; echo se""en; exit 0\r')
    person.wait("seen")
    assert person.end() == 0
    assert '"r", "99x33"' in out.read_text()


def test_what_is_wrong_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["record-session", "--out", str(tmp_path / "x")]) == 2
    assert "no terminal" in capsys.readouterr().err
    out = tmp_path / "s.cast"
    out.write_text("mine")
    assert Person(out, "sh").end() == 2
    assert out.read_text() == "mine"
    assert Person(tmp_path / "t.cast", "no-such-shell").end() == 2
    assert not (tmp_path / "t.cast").exists()
