"""Users at pseudo-terminals whose own time stamps are the truth about what the kernel's witness records.

One thread types for all of them and reads all they are shown. Of each line: when its carriage return was
written, when the first byte came that is neither echo nor a control sequence, when the prompt was there.
"""

from __future__ import annotations

import fcntl
import os
import pty
import random
import re
import selectors
import shutil
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

CONTROL = re.compile(rb"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\x1b[=>()][0-9A-B]?|[\r\n\x0f]")
# Number of the terminal behind the master's descriptor (asm-generic/ioctls.h).
TIOCGPTN = 0x80045430
# How long a prompt may take before a terminal is given up.
PATIENCE_S = 60.0
# A typist looks at the line before ending it, but not longer.
ECHO_S = 2.0


@dataclass
class Typed:
    """A line and its times, ns of CLOCK_MONOTONIC; ``None``: it was not shown."""

    terminal: str
    kind: str
    text: str
    sent_ns: int
    first_ns: int | None = None
    prompt_ns: int | None = None
    interrupted: bool = False
    typed_ahead: int = 0


@dataclass(frozen=True)
class Kind:
    """A program at a terminal.

    command
        What is started there.
    prompt
        What each prompt ends with; ``%d``: the number of the command, from 2 for the first that counts.
    lines
        What is typed, one chosen at random each time.
    settle
        Typed once when the program has begun; its answer's prompt is the first that counts.
    inner
        The terminal that the lines are answered at is another one: `tty` is asked for its name.
    """

    name: str
    command: Sequence[str]
    prompt: bytes
    lines: Sequence[str]
    settle: str = ""
    inner: bool = False


SHELL_LINES = (
    "echo x",
    "ls /",
    "sleep 0.2; echo y",
    "echo a; sleep 0.2",
    "seq 40",
    "true",
    "cd /tmp; pwd",
    "expr 6 '*' 7",
)
PYTHON_LINES = ("6 * 7", "print('x')", "x = 1", "sum(range(200000))", "__import__('time').sleep(0.2)")
# Counted by the shell, so that a prompt shown again is not taken for the next.
COUNTED = r"PS1='ok\#> '; PS0=; PROMPT_COMMAND="


SERVER = f"satline-{os.getpid()}"
BASH = "bash --norc --noprofile -i"


def kinds() -> dict[str, Kind]:
    """Those of which the program is installed."""
    tmux = ["tmux", "-L", SERVER, "-f", "/dev/null", "new-session", BASH, ";", "set", "status", "off"]
    script = ["script", "-q", "-c", BASH, "/dev/null"]
    zsh = "PS1='ok> '; PROMPT_SP=; PROMPT_CR="
    python = "import sys; sys.ps1 = 'ok> '"
    always = [
        Kind("bash", BASH.split(), b"ok%d> ", SHELL_LINES, COUNTED),
        Kind("dash", ["dash", "-i"], b"ok> ", SHELL_LINES, "PS1='ok> '"),
        Kind("zsh", ["zsh", "-f", "-i"], b"ok> ", SHELL_LINES, zsh),
        Kind("python", ["python3", "-i", "-q"], b"ok> ", PYTHON_LINES, python),
        Kind("tmux", tmux, b"ok%d> ", SHELL_LINES[:4], COUNTED, inner=True),
        Kind("script", script, b"ok%d> ", SHELL_LINES, COUNTED, inner=True),
    ]
    return {kind.name: kind for kind in always if shutil.which(kind.command[0])}


@dataclass
class User:
    """One user at one terminal."""

    kind: Kind
    think_s: tuple[float, float]
    key_s: float
    random: random.Random
    pid: int = 0
    master: int = -1
    terminal: str = ""
    outer: str = ""
    text: bytes = b""
    shown: bytearray = field(default_factory=bytearray)
    prompts: int = 0
    current: Typed | None = None
    to_type: bytearray = field(default_factory=bytearray)
    due: float = 0.0
    state: str = "start"
    asked_s: float = 0.0

    def start(self) -> None:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "TERM": "xterm",
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            try:
                for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
                    signal.signal(number, signal.SIG_DFL)
                os.execvpe(self.kind.command[0], list(self.kind.command), environment)
            finally:
                os._exit(127)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        os.set_blocking(self.master, False)
        number = fcntl.ioctl(self.master, TIOCGPTN, struct.pack("I", 0))
        self.terminal = self.outer = f"pts/{struct.unpack('I', number)[0]}"
        self.state, self.due = "start", time.monotonic() + 2.0

    def act(self, now: float) -> Typed | None:
        """What is due: a key, or nothing. Returns a line that has been given up."""
        if now < self.due:
            return None
        if self.state == "start":
            # The program is there; what it showed on starting does not count.
            self._begin(self.kind.settle or self.kind.lines[0], counts=False)
        elif self.state == "think":
            self._begin(self.random.choice(self.kind.lines), counts=True)
        elif self.state == "type":
            if self.to_type:
                os.write(self.master, bytes(self.to_type[:1]))
                del self.to_type[:1]
                self.due = now + self.key_s
                self.asked_s = now
            elif self._echoed() or now - self.asked_s > ECHO_S:
                self._enter()
            else:
                self.due = now + 0.005
        elif self.state == "wait" and now - self.asked_s > PATIENCE_S:
            self.state, self.due = "lost", float("inf")
            return self.current
        return None

    def _begin(self, text: str, counts: bool) -> None:
        self.text = text.encode()
        self.to_type = bytearray(self.text)
        self.shown.clear()
        self.current = Typed(self.terminal, self.kind.name, text, 0) if counts else None
        self.state, self.due = "type", time.monotonic()

    def _echoed(self) -> bool:
        """Is all that was typed shown? An echo that came after the line's end would look like an answer."""
        return self.text in CONTROL.sub(b"", bytes(self.shown))

    def _enter(self) -> None:
        self.shown.clear()
        self.asked_s = time.monotonic()
        self.state, self.due = "wait", self.asked_s + PATIENCE_S + 1
        sent_ns = time.monotonic_ns()
        os.write(self.master, b"\r")
        if self.current is not None:
            self.current.sent_ns = sent_ns

    def read(self) -> Typed | None:
        """What is shown; returns the line that it ends."""
        try:
            data = os.read(self.master, 65536)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        now_ns = time.monotonic_ns()
        if not data:
            self.state, self.due = "gone", float("inf")
            return None
        self.shown += data
        if self.state != "wait":
            return None
        line = self.current
        if line is not None and line.first_ns is None and CONTROL.sub(b"", bytes(self.shown)):
            line.first_ns = now_ns
        prompt = self.kind.prompt % (self.prompts + 2) if b"%d" in self.kind.prompt else self.kind.prompt
        if prompt not in self._tail():
            return None
        self.prompts += 1
        if self.kind.inner and self.prompts == 1:
            self._begin("tty", counts=False)
            return None
        if self.kind.inner and self.prompts == 2:
            found = re.search(rb"/dev/(pts/\d+)", bytes(self.shown))
            self.terminal = found[1].decode() if found else self.terminal
        self.state, self.due = "think", time.monotonic() + self.random.uniform(*self.think_s)
        if line is not None:
            line.prompt_ns = now_ns
        self.current = None
        return line

    def _tail(self) -> bytes:
        text = bytes(self.shown[-400:])
        return text if self.kind.inner else CONTROL.sub(b"", text)

    def hang_up(self) -> None:
        """The terminal is gone."""
        if self.master >= 0:
            os.close(self.master)
            self.master = -1

    def see_off(self, until: float) -> None:
        """The program ends; after that moment it is made to."""
        while self.pid and time.monotonic() < until:
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                self.pid = 0
            else:
                time.sleep(0.01)
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0


def run(users: Sequence[User], seconds: float, lines: int | None = None) -> list[Typed]:
    """Have them type for so long, or until so many lines are answered, and return what was answered."""
    answered: list[Typed] = []
    end = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for user in users:
            user.start()
            selector.register(user.master, selectors.EVENT_READ, user)
        try:
            while (now := time.monotonic()) < end and (lines is None or len(answered) < lines):
                due = min(user.due for user in users)
                for key, _ in selector.select(max(0.0, min(due, end) - now)):
                    line = key.data.read()
                    if line is not None:
                        answered.append(line)
                    if key.data.state == "gone":
                        selector.unregister(key.fd)
                now = time.monotonic()
                for user in users:
                    user.act(now)
        finally:
            for user in users:
                user.hang_up()
            # A multiplexer's server outlives its terminals.
            if any(user.kind.name == "tmux" for user in users):
                subprocess.run(["tmux", "-L", SERVER, "kill-server"], check=False, capture_output=True)
            until = time.monotonic() + 5
            for user in users:
                user.see_off(until)
    return answered


@contextmanager
def real_time() -> Iterator[None]:
    """This process before all others, where that is allowed; what it starts is ordinary."""
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(10))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def crowd(
    count: int, chosen: Sequence[str], think_s: tuple[float, float], seed: int, key_s: float = 0.03
) -> list[User]:
    """So many users of these kinds, in turn; kinds that are not installed are left out."""
    there = kinds()
    usable = [there[name] for name in chosen if name in there]
    draws = (random.Random(seed * 1000 + n) for n in range(count))
    return [User(usable[n % len(usable)], think_s, key_s, draw) for n, draw in enumerate(draws)]
