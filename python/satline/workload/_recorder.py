"""A person's shell on a pseudo-terminal between its terminal and a file: both directions with their times.

What of it may be stored is for `_writer` to say.
"""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import json
import os
import secrets
import select
import signal
import socket
import struct
import sys
import tempfile
import termios
import time
import tty
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from satline.errors import InputError
from satline.workload._writer import Writer

_HANG_UP_S = 2.0
_CHUNK = 65536
_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)

# A shell's own files first; then the marks of OSC 133 around whatever prompt they made.
_RC = """\
[ -r ~/.bashrc ] && . ~/.bashrc
__satline_done() {{ local s=$?; printf '\\e]133;D;%s;aid={aid}\\a' "$s"; return "$s"; }}
__satline_mark() {{
  local s=$?
  case $PS1 in
    *'133;A;aid={aid}'*) ;;
    *) PS1='\\[\\e]133;A;aid={aid}\\a\\]'"$PS1"'\\[\\e]133;B;aid={aid}\\a\\]' ;;
  esac
  return "$s"
}}
PROMPT_COMMAND="__satline_done${{PROMPT_COMMAND:+; $PROMPT_COMMAND}}"
PROMPT_COMMAND+=$'\\n'__satline_mark
PS0="${{PS0-}}"'\\e]133;C;aid={aid}\\a'
"""


def record(out: Path, command: tuple[str, ...]) -> int:
    """Run a command, or the user's shell, on a terminal of its own and keep its session in `out`.

    Returns
    -------
    The command's exit status as a shell gives it: 128 and the signal's number after a signal.

    Raises
    ------
    InputError
        There is no terminal, no such command, or `out` is there already.
    """
    import shutil

    if not (os.isatty(0) and os.isatty(1)):
        raise InputError(
            "standard input or output is no terminal, and a session is recorded from one",
            hint="start it in a terminal, without pipes",
        )
    words = list(command) or [os.environ.get("SHELL") or "/bin/sh"]
    program = shutil.which(words[0])
    if program is None:
        raise InputError(
            f"there is no command {words[0]}", hint="name a shell or a program that is installed"
        )
    aid = secrets.token_hex(8)
    size = os.get_terminal_size(0)
    try:
        descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise InputError(f"{out} is there already", hint="name another file: --output FILE") from None
    header = {
        "version": 3,
        "term": {
            "cols": size.columns or 80,
            "rows": size.lines or 24,
            "type": os.environ.get("TERM", ""),
        },
        "timestamp": int(time.time()),
        "command": " ".join(words),
        "satline": {"aid": aid},
    }
    # A line is in the file as soon as it is written: an end by kill -9 costs the last second.
    with os.fdopen(descriptor, "w", encoding="utf-8", buffering=1) as file:
        file.write(json.dumps(header) + "\n")
        with tempfile.TemporaryDirectory(prefix="satline-session-") as directory:
            if Path(program).name == "bash" and words[1:] in ([], ["-i"]):
                rc = Path(directory) / "bashrc"
                rc.write_text(_RC.format(aid=aid))
                words = [words[0], "--rcfile", str(rc), "-i"]
            return _Relay(Writer(file)).run(program, words)


class _Relay:
    """Carries bytes between the two terminals until the command ends or somebody ends us."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._began_ns = time.monotonic_ns()
        self._decoders = [codecs.getincrementaldecoder("utf-8")("replace") for _ in range(2)]
        self._to_child = b""
        self._ended_by: int | None = None
        self._resized = False
        self._stdin_open = True

    def run(self, program: str, words: list[str]) -> int:
        saved = termios.tcgetattr(0)
        master, slave = os.openpty()
        termios.tcsetattr(slave, termios.TCSANOW, saved)
        self._copy_size(master)
        with self._signals() as wake:
            child = os.fork()
            if child == 0:
                _become(slave, program, words)
            os.close(slave)
            os.set_blocking(master, False)
            try:
                tty.setraw(0, termios.TCSANOW)
                status = self._relay(master, child, wake)
            finally:
                # Back as it was also when the terminal is in the background: TTOU is ignored here.
                with contextlib.suppress(termios.error):
                    termios.tcsetattr(0, termios.TCSAFLUSH, saved)
                os.close(master)
        now = self._now_us()
        self._writer.settle(now, end=True)
        self._writer.event(now, "x", str(status))
        return 128 + self._ended_by if self._ended_by is not None else status

    @contextlib.contextmanager
    def _signals(self) -> Iterator[socket.socket]:
        """Signals come as bytes on a socket, so that nothing is interrupted in its middle."""
        reader, writer = socket.socketpair()
        with reader, writer:
            for end in (reader, writer):
                end.setblocking(False)
            handlers = dict.fromkeys((*_ENDING, signal.SIGWINCH, signal.SIGCHLD), self._caught)
            before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
            for number in (signal.SIGTTOU, signal.SIGTSTP):
                before[number] = signal.signal(number, signal.SIG_IGN)
            wake = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
            try:
                yield reader
            finally:
                signal.set_wakeup_fd(wake)
                for number, handler in before.items():
                    signal.signal(number, handler)

    def _caught(self, number: int, _: FrameType | None) -> None:
        if number == signal.SIGWINCH:
            self._resized = True
        elif number in _ENDING:
            self._ended_by = number

    def _now_us(self) -> int:
        return (time.monotonic_ns() - self._began_ns) // 1000

    def _copy_size(self, master: int) -> str | None:
        try:
            packed = fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8))
        except OSError:
            return None
        fcntl.ioctl(master, termios.TIOCSWINSZ, packed)
        rows, columns = struct.unpack("HHHH", packed)[:2]
        return f"{columns}x{rows}"

    def _relay(self, master: int, child: int, wake: socket.socket) -> int:
        hung_up_at: float | None = None
        while True:
            readers = [master, wake.fileno()] + ([0] if self._stdin_open else [])
            ready, writable, _ = select.select(readers, [master] if self._to_child else [], [], 0.5)
            if wake.fileno() in ready:
                with contextlib.suppress(BlockingIOError):
                    wake.recv(4096)
            self._writer.settle(self._now_us())
            if self._resized:
                self._resized = False
                size = self._copy_size(master)
                if size:
                    self._writer.event(self._now_us(), "r", size)
            if 0 in ready:
                self._take_keys(master)
            if writable:
                with contextlib.suppress(BlockingIOError, OSError):
                    self._to_child = self._to_child[os.write(master, self._to_child) :]
            if master in ready and not self._take_output(master):
                time.sleep(0.02)  # the command closed its terminal, and goes on
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                # What it wrote last; a program that it left behind may hold the terminal for ever.
                while self._take_output(master):
                    pass
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
            if self._ended_by is not None or not self._stdin_open:
                hung_up_at = self._hang_up(child, hung_up_at)

    def _hang_up(self, child: int, since: float | None) -> float:
        now = time.monotonic()
        with contextlib.suppress(ProcessLookupError):
            if since is None:
                os.killpg(child, signal.SIGHUP)
                os.killpg(child, signal.SIGCONT)
            elif now - since > _HANG_UP_S:
                os.killpg(child, signal.SIGKILL)
        return now if since is None else since

    def _take_keys(self, master: int) -> None:
        try:
            data = os.read(0, _CHUNK)
        except OSError:
            data = b""
        if not data:
            self._stdin_open = False
            if self._ended_by is None:
                self._ended_by = signal.SIGHUP
            return
        # Before they are passed on: what the program does with them cannot have changed the modes yet.
        flags = termios.ICANON
        with contextlib.suppress(termios.error):
            flags = termios.tcgetattr(master)[3]
        text = self._decoders[0].decode(data)
        self._writer.keys(
            self._now_us(), text, echo=bool(flags & termios.ECHO), lines=bool(flags & termios.ICANON)
        )
        self._to_child += data

    def _take_output(self, master: int) -> bool:
        try:
            data = os.read(master, _CHUNK)
        except OSError:
            data = b""
        if not data:
            if self._to_child:
                self._to_child = b""
            return False
        text = self._decoders[1].decode(data)
        self._writer.output(self._now_us(), text)
        _write_all(1, data)
        return True


def _write_all(descriptor: int, data: bytes) -> None:
    with contextlib.suppress(OSError):
        while data:
            try:
                data = data[os.write(descriptor, data) :]
            except BlockingIOError:
                select.select([], [descriptor], [], 1.0)


def _become(slave: int, program: str, words: list[str]) -> None:
    """In the child: never returns."""
    try:
        for number in (*_ENDING, signal.SIGWINCH, signal.SIGCHLD, signal.SIGTTOU, signal.SIGTSTP):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        os.login_tty(slave)
        os.execv(program, words)
    except OSError as error:
        sys.stderr.write(f"satline: {program}: {error.strerror}\r\n")
        sys.stderr.flush()
    finally:
        os._exit(127)
