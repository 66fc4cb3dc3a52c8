"""Signals that ask a run to end: they raise `Interrupted` once, and wait where something must be whole.

Python runs its handlers between any two steps of the main thread. An exception that may come anywhere comes
sometimes between making a thing and noting that it is made, or just where undoing begins; so there are blocks
in which a signal waits, and the first one that raises is the last.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(KeyboardInterrupt):
    """A signal asked the run to end; `number` says which."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__()
        self.number = number


class Signals:
    """The signals that come in one block of `signals_interrupt`."""

    def __init__(self) -> None:
        self._spent = False
        self._waiting: int | None = None

    def hold(self) -> None:
        """From here to the block's end signals wait, for `take` or for what is outside of the block."""
        self._spent = True

    def take(self) -> int | None:
        """The first signal that has waited; it is the caller's now."""
        number, self._waiting = self._waiting, None
        return number

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self._waiting is None:
            self._waiting = number
        self._deliver()

    def _deliver(self) -> None:
        if self._waiting is None or self._spent or _held:
            return
        self._spent = True
        number, self._waiting = self._waiting, None
        raise Interrupted(number)


_blocks: list[Signals] = []
_held = 0


@contextlib.contextmanager
def signals_interrupt() -> Iterator[Signals]:
    """SIGINT, SIGTERM and SIGHUP raise `Interrupted` in the block: the first of them, once.

    Under nohup SIGHUP stays ignored.

    One that still waits at the block's end goes to whom it concerns outside: to the block around this one,
    else to the program. Beside an error, which is to be told, it waits on in the block around, or is dropped.
    """
    signals = Signals()
    old = {number: signal.getsignal(number) for number in SIGNALS}
    if old[signal.SIGHUP] == signal.SIG_IGN:  # started by nohup: it is to outlive its terminal
        del old[signal.SIGHUP]
    _blocks.append(signals)
    failed = True
    try:
        for number in old:
            signal.signal(number, signals._arrived)
        yield signals
        failed = False
    finally:
        signals.hold()
        _blocks.remove(signals)
        for number, handler in old.items():
            signal.signal(number, handler)
        late = signals.take()
        if late is not None and _blocks:
            _blocks[-1]._waiting = late
    if late is not None and not failed:
        if _blocks:
            _blocks[-1]._deliver()
        else:
            os.kill(os.getpid(), late)


@contextlib.contextmanager
def signals_held() -> Iterator[None]:
    """The same signals wait for the block's end: what is made in it and noted stays together.

    Where no `signals_interrupt` is around it, it changes nothing.

    Handlers, not a signal mask: a mask holds for one thread only, and libraries have threads of their own.
    """
    global _held
    _held += 1
    try:
        yield
    finally:
        _held -= 1
    if _blocks:
        _blocks[-1]._deliver()
