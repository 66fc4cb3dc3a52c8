"""What a person sees while a study runs: a live display on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from satline.experiment import Progress, View
from satline.experiment.progress import clock
from satline.present._escape import visible
from satline.present.search import decision_lines, live_lines

if TYPE_CHECKING:
    from satline.experiment import Outlook

PLAIN_EVERY_S = 15.0


def make_view(console: Console) -> View:
    """The view that fits where the console writes to."""
    return LiveView(console) if console.is_terminal else PlainView(console)


class PlainView:
    """Lines at every new step and phase, and now and then between."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last: tuple[int, str] | None = None
        self._said_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def note(self, text: str) -> None:
        print_visibly(self._console, text)

    def show(self, progress: Progress) -> None:
        key, now = (progress.step, progress.phase), time.monotonic()
        if key != self._last or now - self._said_at > PLAIN_EVERY_S:
            self._last, self._said_at = key, now
            self._console.print(Text(summary(progress)), soft_wrap=True)

    def decided(self, outlook: Outlook) -> None:
        for line in decision_lines(outlook):
            self.note(line)


class LiveView:
    """A few lines that are drawn again in place; no thread: it draws when there is news."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._known: list[str] = []
        self._progress: Progress | None = None

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def note(self, text: str) -> None:
        print_visibly(self._console, text)

    def show(self, progress: Progress) -> None:
        self._progress = progress
        self._draw()

    def decided(self, outlook: Outlook) -> None:
        self._known = live_lines(outlook)
        if self._live.is_started:
            self._draw()

    def _draw(self) -> None:
        whole = Table.grid()
        for line in self._known:
            whole.add_row(Text(visible(line), no_wrap=True, overflow="crop"))
        if self._progress is not None:
            whole.add_row(draw(self._progress))
        self._live.update(whole, refresh=True)


def print_visibly(console: Console, text: str) -> None:
    """Lines of text whose signs may be anyone's: nothing in them reaches the terminal as a command."""
    for line in text.splitlines():
        console.print(Text(visible(line)), soft_wrap=True)


def draw(progress: Progress) -> Table:
    """The display: a bar, and the figures of the moment."""
    outer = Table.grid(padding=(0, 2))
    outer.add_row(
        Text(f"step {progress.step}{f' of {progress.steps}' if progress.steps else ''}", style="bold"),
        ProgressBar(total=max(progress.total_s, 1e-9), completed=progress.elapsed_s, width=30),
        Text(f"{clock(progress.total_s - progress.elapsed_s)} left"),
    )
    figures = Table.grid(padding=(0, 2))
    for name, value in rows(progress):
        figures.add_row(Text(name, style="dim"), Text(value))
    whole = Table.grid()
    whole.add_row(outer)
    whole.add_row(figures)
    return whole


def rows(progress: Progress) -> list[tuple[str, str]]:
    """Names and values of the figures."""
    return [
        ("users", f"{progress.logged_on} of {progress.users} logged on, {progress.phase}"),
        ("reactions", f"{progress.reactions}"),
        ("response", f"median {_ms(progress.response_p50_ms)}, 90 % within {_ms(progress.response_p90_ms)}"),
        ("lateness", f"99 % within {_ms(_per_mille(progress.lateness_p99_us))}"),
        ("failures", f"{progress.failures}"),
    ]


def summary(progress: Progress) -> str:
    """All of it in one line."""
    return (
        f"step {progress.step}{f'/{progress.steps}' if progress.steps else ''} {progress.phase}: "
        f"{progress.logged_on}/{progress.users} users, "
        f"{progress.reactions} reactions, "
        f"response {_ms(progress.response_p50_ms)} / {_ms(progress.response_p90_ms)}, "
        f"lateness {_ms(_per_mille(progress.lateness_p99_us))}, {progress.failures} failures, "
        f"{clock(progress.total_s - progress.elapsed_s)} left"
    )


def _per_mille(value: float | None) -> float | None:
    return None if value is None else value / 1000


def _ms(value: float | None) -> str:
    if value is None:
        return "–"
    return (
        f"{value / 1000:.2f} s" if value >= 1000 else f"{value:.1f} ms" if value < 10 else f"{value:.0f} ms"
    )
