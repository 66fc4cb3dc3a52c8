"""What could lose lines: many terminals that come and go, and a reader that does not read."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import termios
import time
from collections.abc import Iterator
from pathlib import Path

# Answers one line and ends; nothing else is started.
ONE_LINE = ["sh", "-c", "read line; echo answer"]
# Answers each line at once.
ECHO = ["sh", "-c", "while read line; do echo answer; done"]
# Takes a line and does not answer.
SILENT = ["sh", "-c", "read line; sleep 1000"]


def terminal(command: list[str]) -> tuple[int, int]:
    """A program at a terminal of its own: process, and the terminal's other end."""
    pid, master = pty.fork()
    if pid == 0:
        try:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            os.execvp(command[0], command)
        finally:
            os._exit(127)
    settings = termios.tcgetattr(master)
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(master, termios.TCSANOW, settings)
    return pid, master


def asks_for_input(pid: int) -> bool:
    """Does the process sleep in a read of its terminal?"""
    with contextlib.suppress(OSError):
        place = Path(f"/proc/{pid}")
        # Number of the call (read is 0) and its first argument; off its processor, too.
        asks = (place / "syscall").read_text().startswith("0 0x0 ")
        return asks and (place / "wchan").read_text() != "0"
    return False


def wait_until_asked(pid: int) -> None:
    """Before, the terminal may be nobody's."""
    end = time.monotonic() + 60
    while not asks_for_input(pid):
        assert time.monotonic() < end, "the program does not ask for input"
        time.sleep(0.0005)


def wait_until_taken(pid: int) -> None:
    """Before, a line may still be on its way to the program."""
    end = time.monotonic() + 60
    while asks_for_input(pid):
        assert time.monotonic() < end, "the program does not take its input"
        time.sleep(0.0005)


def shown(master: int, wanted: bytes, within_s: float = 60.0) -> bool:
    """Wait until this is shown, or the terminal has ended."""
    text, end = b"", time.monotonic() + within_s
    while wanted not in text and (left := end - time.monotonic()) > 0:
        if select.select([master], [], [], left)[0]:
            try:
                text += os.read(master, 65536)
            except OSError:
                break
    return wanted in text


def come_and_go(count: int, hang_up: int) -> list[int]:
    """One line at each of so many terminals, one after another; every `hang_up`-th is hung up while its line
    is under way. Returns the sessions at which a line was typed."""
    typed = []
    for number in range(count):
        under_way = number % hang_up == hang_up - 1
        pid, master = terminal(SILENT if under_way else ONE_LINE)
        try:
            wait_until_asked(pid)
            os.write(master, b"line\r")
            typed.append(pid)
            if under_way:
                wait_until_taken(pid)
            else:
                assert shown(master, b"answer"), "no answer"
                # It ends before its terminal does.
                os.waitpid(pid, 0)
        finally:
            os.close(master)
            if under_way:
                os.kill(pid, signal.SIGHUP)
                os.waitpid(pid, 0)
    return typed


def fast_lines(count: int) -> tuple[int, int]:
    """So many lines at one terminal, as fast as they are answered. Returns the session and how many were."""
    pid, master = terminal(ECHO)
    answered = 0
    try:
        wait_until_asked(pid)
        for _ in range(count):
            os.write(master, b"x\r")
            if not shown(master, b"answer\r\n"):
                break
            answered += 1
            # It has answered; a line before it asks again would be typed ahead.
            while not asks_for_input(pid):
                os.sched_yield()
    finally:
        os.close(master)
        os.kill(pid, signal.SIGHUP)
        os.waitpid(pid, 0)
    return pid, answered


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    """A process that does nothing in the block."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
