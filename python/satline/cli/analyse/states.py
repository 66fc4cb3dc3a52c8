"""`satline analyse states`: what each user does, as it goes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from satline.cli.analyse.indicate import SOURCE, again, ended_by_hand, looked_at, say_stale
from satline.cli.declared import command, option
from satline.cli.outputs import json_option, print_json

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from satline.live import UserState, UserStates
    from satline.recording import Recording

_NAME_WIDTH = 24
_SORTS = {
    "active": "",
    "run": "user_run",
    "cpu": "user_cpu_wait",
    "page": "user_page_wait",
    "io": "user_io_wait",
    "quota": "user_throttled",
    "eligible": "user_admission_wait",
    "name": "",
}


@command("""\b
Examples:
  satline analyse states                             this host, until Ctrl-C
  satline analyse states host.satline --sort page    while it is written
  satline analyse states host.satline --once --json
""")
def states(
    source: dict[str, Any] = SOURCE,
    sort: str = option(
        "Sort by time in this state, or by name.", type=click.Choice(list(_SORTS)), default="active"
    ),
    top: int | None = option(
        "Show this many users; default: as many as fit, else 20.", type=click.IntRange(1)
    ),
    every: float = option("Seconds between two views.", type=click.FloatRange(0.5), default=5.0),
    once: bool = option("Show it once. So it is for a recording that has ended."),
    as_json: bool = json_option("Print JSON, with all users; one line per update."),
) -> None:
    """Show for each user the percentage of its active time spent running and in each wait.

    Where the source allows, the times are accumulated by the kernel or the simulated machine, not counted in
    samples; the line below the table says which. RECORDING may still be being written; without it, this host
    is sampled.
    """
    from rich.console import Console

    from satline.live import Window, user_states

    console = Console(highlight=False)
    drawn = sys.stdout.isatty() and not console.is_dumb_terminal and not as_json
    with looked_at(**source) as (opened, length), ended_by_hand(not once):
        once = once or opened.ended

        def view(of: Recording) -> UserStates:
            return user_states(Window.last(of, length))

        if drawn and not once:
            _refresh(console, opened, view, sort, top, every)
            return
        while True:
            window = Window.last(opened, length)
            found = user_states(window)
            if as_json:
                print_json("analyse-states", found, one_line=not once)
            else:
                console.print(table_of(found, sort, top or 20))
            say_stale(window)
            if once or opened.ended:
                return
            time.sleep(every)
            opened = again(opened)


def _refresh(
    console: Console,
    opened: Recording,
    view: Callable[[Recording], UserStates],
    sort: str,
    top: int | None,
    every: float,
) -> None:
    """One view in place of the other, until Ctrl-C or the recording ends."""
    from rich.live import Live

    with Live(console=console, auto_refresh=False, screen=False) as live:
        while True:
            found = view(opened)
            rows = top or max(3, console.height - 12)
            live.update(table_of(found, sort, rows), refresh=True)
            if opened.ended:
                return
            time.sleep(every)
            opened = again(opened)


def table_of(found: UserStates, sort: str, most: int) -> RenderableType:
    """The table of at most `most` users, and below it how it was measured and what is missing."""
    from rich.console import Group
    from rich.table import Table

    from satline.live import PARTS
    from satline.present import cell

    told = [(name, head) for name, head, _ in PARTS if found.everybody.parts.get(name) is not None]
    dormant = found.everybody.dormant is not None
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("user", no_wrap=True, max_width=_NAME_WIDTH, overflow="ellipsis")
    table.add_column("% active", justify="right")
    for _, head in told:
        table.add_column(f"% {head}", justify="right")
    if dormant:
        table.add_column("% dormant", justify="right")
    active = [state for state in ordered(found, sort) if state.active > 0]
    for state in (found.everybody, *active[:most]):
        name = "mean user" if state is found.everybody else state.user
        cells = [percent(state.active), *(percent(state.parts.get(part)) for part, _ in told)]
        cells += [percent(state.dormant)] if dormant else []
        style = "bold" if state is found.everybody else ""
        table.add_row(cell(name, style), *(cell(text, style) for text in cells))
    idle = len(found.users) - len(active)
    lines = [
        f"Users at {found.at:%Y-%m-%d %H:%M:%S} UTC, over {found.seconds:.3g} s: "
        f"{len(active)} active, {idle} dormant all the time"
        + (f"; the first {most} are shown" if len(active) > most else "")
        + "."
    ]
    by_method: dict[str, list[str]] = {}
    for name, head, _ in PARTS:
        if name in found.methods:
            by_method.setdefault(found.methods[name], []).append(head)
    notes = [f"{', '.join(heads)}: {method}." for method, heads in by_method.items()]
    by_reason: dict[str, list[str]] = {}
    for name, _, words in (*PARTS, ("user_dormant", "dormant", "dormant")):
        if name in found.missing:
            by_reason.setdefault(found.missing[name], []).append(words)
    notes += [f"Missing: {'; '.join(words)} ({reason})." for reason, words in by_reason.items()]
    if any(state.active > 1.005 for state in active):
        notes.append("More than 100 % active: several tasks of the user ran or waited beside each other.")
    parts: list[RenderableType] = [cell(lines[0], "bold"), table]
    return Group(*parts, *(cell(note, "dim") for note in notes))


def ordered(found: UserStates, sort: str) -> list[UserState]:
    """The users, first who was longest in the state `sort`, or by name."""
    if sort == "name":
        return sorted(found.users, key=lambda state: state.user)
    if not (part := _SORTS[sort]):
        return list(found.users)
    return sorted(found.users, key=lambda state: -state.active * (state.parts.get(part) or 0.0))


def percent(part: float | None) -> str:
    """A fraction as percent with one place; a dash where it is not told."""
    return "–" if part is None else f"{100 * part:.1f}"
