"""A recording in the foreground: the monitor, one status line, and at the end everything brought to rest."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

    from satline.cli.record.headline import Headlines
    from satline.cli.record.plan import Plan

STATUS_EVERY_S = 2.0
COMPACT_EVERY_S = 3600.0


def foreground(plan: Plan, notes: Sequence[str], *, headlines: bool = True) -> int:
    """Run the monitor until it or the person ends it, then bring the recording to rest.

    Parameters
    ----------
    notes
        Lines for the person, told at the beginning and at the end.
    headlines
        Whether to say now and then, and at the end, what the recording shows already.

    Returns
    -------
    The exit code.
    """
    from satline.cli.record.headline import Headlines
    from satline.errors import SatlineError
    from satline.interruption import Interrupted, signals_interrupt
    from satline.present import visible
    from satline.recording import compact
    from satline.systems.binaries import end, end_with_parent

    asked = False
    answers = Headlines(plan.recording)
    console = _console()
    # What this process does, such as compacting, is not a user's work.
    command = [*plan.arguments(), "--companion", str(os.getpid())]
    with signals_interrupt() as signals:
        monitor = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if plan.alarms_told else None,
            start_new_session=True,
            preexec_fn=end_with_parent(),
        )
        alarms = Alarms(monitor.stdout) if monitor.stdout is not None else None
        try:
            try:
                _wait(monitor, plan, notes, console, answers if headlines else None, alarms)
            finally:
                signals.hold()
                answers.stop()
        except Interrupted:
            asked = True
        finally:
            end(monitor)
        if monitor.returncode != 0 and not asked:
            if monitor.returncode > 0:
                return monitor.returncode  # it has said why
            name = signal.Signals(-monitor.returncode).name
            raise SatlineError(
                f"the monitor was ended by {name}", hint="what was recorded until then is kept"
            )
        done = compact(plan.recording)
        _let_go(plan, console)
        signals.take()  # asked once more to end; it has
    size = sum(path.stat().st_size for path in plan.recording.rglob("*") if path.is_file())
    _tell(f"{visible(plan.recording)}: {done.rows:,} rows, {size:,} bytes")
    for note in notes:
        say(console, f"note: {note}")
    if headlines:
        _last(answers, plan.recording, console)
    return 0


class Alarms:
    """What the monitor says on its standard output of probes that became slow; read without waiting."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._descriptor = pipe.fileno()
        os.set_blocking(self._descriptor, False)
        self._rest = b""

    def take(self) -> list[str]:
        """The lines that are whole now."""
        try:
            self._rest += os.read(self._descriptor, 65536)
        except BlockingIOError:
            return []
        *lines, self._rest = self._rest.split(b"\n")
        return [line.decode(errors="replace") for line in lines]


def _console() -> Console:
    """Standard error."""
    from rich.console import Console

    class Unheard(Console):
        """Where nobody reads it any more, it falls silent; rich would end the program."""

        def on_broken_pipe(self) -> None:
            self.quiet = True

    return Unheard(stderr=True)


def _last(answers: Headlines, recording: Path, console: Console) -> None:
    """What the whole recording shows; who has asked for the end once more does without."""
    from satline.interruption import Interrupted, signals_interrupt
    from satline.present import visible

    try:
        with signals_interrupt(), console.status("looking at what was recorded; Ctrl-C skips it"):
            try:
                answers.start()
                answer = answers.wait()
            finally:
                answers.stop()
    except Interrupted:
        answer = None
    if answer is not None:
        _tell(visible(answer))
    _tell(f"next: satline diagnose {visible(recording)}")


def _let_go(plan: Plan, console: Console) -> None:
    """Let go what is too old or too much, and say so; what cannot be let go ends no recording."""
    from satline.cli.recording.retention import told
    from satline.errors import SatlineError
    from satline.recording import prune

    if not plan.lets_go:
        return
    try:
        for line in told(prune(plan.recording, keep_s=plan.keep_s, max_bytes=plan.max_bytes)):
            say(console, line)
    except (SatlineError, OSError) as error:
        say(console, f"warning: nothing is let go: {error}")


def _wait(
    monitor: subprocess.Popen[bytes],
    plan: Plan,
    notes: Sequence[str],
    console: Console,
    answers: Headlines | None,
    alarms: Alarms | None,
) -> None:
    """Show how it goes until the monitor ends, and compact what is full meanwhile."""
    from rich.text import Text

    from satline.experiment.progress import clock
    from satline.present import visible
    from satline.recording import compact

    begun = compacted = time.monotonic()
    for note in notes:
        say(console, f"note: {note}")
    with console.status("") as status:
        while monitor.poll() is None:
            if time.monotonic() - compacted >= COMPACT_EVERY_S:
                compact(plan.recording)  # segments that are full; those being written stay
                _let_go(plan, console)
                compacted = time.monotonic()
            seconds = time.monotonic() - begun
            answer = answers.poll(seconds) if answers is not None else None
            if answer is not None:
                say(console, f"{clock(seconds)}: {answer}")
            _alarmed(alarms, seconds, console)
            status.update(Text(visible(status_line(plan.recording, seconds))))
            with contextlib.suppress(subprocess.TimeoutExpired):
                monitor.wait(STATUS_EVERY_S)
    _alarmed(alarms, time.monotonic() - begun, console)


def _alarmed(alarms: Alarms | None, seconds: float, console: Console) -> None:
    """Say what the monitor has said of probes since."""
    from satline.experiment.progress import clock

    for alarm in alarms.take() if alarms is not None else ():
        say(console, f"{clock(seconds)}: {alarm}")


def say(console: Console, text: str) -> None:
    """A line that stays, on standard error; where nobody reads it any more the recording goes on."""
    from satline.present import visible

    with contextlib.suppress(OSError):
        console.print(visible(text), markup=False, highlight=False, soft_wrap=not console.is_terminal)


def _tell(text: str) -> None:
    """A line on standard output; the recording is whole, whether somebody reads it or not."""
    try:
        click.echo(text)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def status_line(recording: Path, seconds: float) -> str:
    """The one line that stands while recording."""
    from satline.experiment.progress import clock
    from satline.experiment.sizes import format_size

    size = 0
    for path in recording.rglob("*"):
        try:
            size += path.stat().st_size
        except OSError:
            continue  # replaced meanwhile
    end = "Ctrl-C ends" if sys.stdin.isatty() else "SIGINT ends"
    return f"recording to {recording}: {clock(seconds)}, {format_size(size)}; {end}"
