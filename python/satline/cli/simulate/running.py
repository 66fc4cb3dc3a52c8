"""What the forms of `satline simulate` and its kin share: measures by name, progress, an end by SIGTERM."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from satline.errors import InputError

if TYPE_CHECKING:
    from satline.simulation import Progress

TERMINATED = 128 + signal.SIGTERM


def measures(text: str | None) -> list[str]:
    from difflib import get_close_matches

    from satline.simulation import MEASURES, is_measure

    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    for name in names:
        if not is_measure(name):
            close = get_close_matches(name, MEASURES, n=2)
            hint = f"did you mean {' or '.join(close)}?" if close else f"one of: {', '.join(MEASURES)}"
            raise InputError(f"--measures: there is no measure {name}", hint=hint)
    return names


@contextlib.contextmanager
def progress(notes: Sequence[str] = ()) -> Iterator[Callable[[Progress], None]]:
    """A bar on standard error where that is a terminal; `notes`: the last says what is being done."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    from satline.present import cell

    console = Console(stderr=True)
    columns = (TextColumn("{task.fields[words]}"), BarColumn(), TimeRemainingColumn())
    with Bars(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task("", total=1.0, words="")

        def show(state: Progress) -> None:
            words = f"{notes[-1]}: " if notes else ""
            words += f"{state.done} of {state.runs} runs" if state.runs > 1 else "running"
            bars.update(task, completed=state.part, words=cell(words).markup)

        yield show


@contextlib.contextmanager
def stoppable() -> Iterator[list[int]]:
    """SIGTERM ends a simulation as cleanly as Ctrl-C does; the list then holds it."""
    received: list[int] = []

    def end(number: int, _frame: object) -> None:
        received.append(number)
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, end)
    except ValueError:  # not in the main thread
        yield received
        return
    try:
        yield received
    finally:
        signal.signal(signal.SIGTERM, before)
