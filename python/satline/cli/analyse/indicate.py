"""`satline analyse indicate`: the load now, in a line or in full."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satline.cli.declared import argument, command, option, several
from satline.cli.options import opened_in_its_words
from satline.cli.outputs import json_option, print_json
from satline.errors import InputError

if TYPE_CHECKING:
    from satline.live import LoadNow, Window
    from satline.present import Block
    from satline.recording import Recording

NONE = "–"
_SAMPLE_S, _WINDOW_S = 2.0, 10.0


# What `indicate` and `states` look at, as `looked_at` takes it.
SOURCE = several(
    dict,
    recording=argument(type=click.Path(path_type=Path)),
    live=option("This host, sampled for a moment; also without RECORDING.", is_flag=True),
    seconds=option(
        "Use the last SECONDS; default 10 of a recording, 2 of this host.", type=click.FloatRange(0.5, 86400)
    ),
    users=option(
        "What counts as a user of this host; default uid.", type=click.Choice(["uid", "session", "cgroup"])
    ),
)


@contextmanager
def looked_at(
    recording: Path | None, live: bool, users: str | None, seconds: float | None
) -> Iterator[tuple[Recording, float]]:
    """The recording, or one of this host that is being written; and how many seconds to look at."""
    from satline.live import sampled

    context = click.get_current_context()
    if recording is not None:
        if live or users is not None:
            name = "--live" if live else "--users"
            raise click.UsageError(f"{name} is for this host: name no recording beside it", context)
        yield opened_in_its_words(recording), seconds or _WINDOW_S
        return
    seconds = seconds or _SAMPLE_S
    with sampled(users or "uid", seconds) as opened:
        yield opened, seconds


@command("""\b
Examples:
  satline analyse indicate                            this host, for 2 seconds
  satline analyse indicate host.satline --watch 10    while it is written
  satline analyse indicate host.satline --json | jq .values.mpl
""")
def indicate(
    source: dict[str, Any] = SOURCE,
    fuller: bool = option("All that is known of the load, a line each.", "--long"),
    watch: float | None = option(
        "Repeat every SECONDS, until Ctrl-C.", type=click.FloatRange(0.5), metavar="SECONDS"
    ),
    count: int | None = option("With --watch: end after this many updates.", type=click.IntRange(1)),
    as_json: bool = json_option("Print JSON; with --watch, one line per update."),
) -> None:
    """Show the current load: total paging rate (not per processor), multiprogramming level, eligible users,
    busy processors, response time, active users.

    RECORDING may still be being written; without it, this host is sampled for a moment.
    """
    from rich.console import Console

    from satline.live import Window, load_now
    from satline.present import print_blocks

    if count is not None and watch is None:
        raise click.UsageError("--count goes with --watch", click.get_current_context())
    console = Console(highlight=False)
    with looked_at(**source) as (opened, length), ended_by_hand(watch is not None):
        refuse_ended(opened, watch)
        for done in itertools.count(1):
            window = Window.last(opened, length)
            load = load_now(window, fuller=fuller)
            if as_json:
                print_json("analyse-indicate", load, one_line=bool(watch))
            elif fuller:
                print_blocks(long_form(load), console)
            else:
                click.echo(line(load))
            say_stale(window)
            if watch is None or done == count or opened.ended:
                return
            time.sleep(watch)
            opened = again(opened)


def refuse_ended(opened: Recording, watch: float | None) -> None:
    """Nothing new comes into a recording that has ended."""
    if watch is not None and opened.ended:
        raise InputError(f"{opened.path} has ended: it will not change", hint="leave --watch out")


def again(opened: Recording) -> Recording:
    """`opened` with its description as it is now: it may have ended meanwhile."""
    from satline.recording import Recording

    return opened if opened.ended else Recording.open(opened.path)


@contextmanager
def ended_by_hand(watching: bool) -> Iterator[None]:
    """Ctrl-C is how watching ends: no error."""
    try:
        yield
    except KeyboardInterrupt:
        if not watching:
            raise


def say_stale(window: Window) -> None:
    """Nobody writes the recording any more, though it does not say that it has ended."""
    if (stale := window.stale_s) is not None:
        click.echo(f"the last sample is {stale:,.0f} s old: the monitor seems to have stopped", err=True)


def line(load: LoadNow) -> str:
    """The one line: time, then each value with its word."""
    from satline.live import LINE

    words = [f"{load.at:%H:%M:%S}"]
    for name, word in LINE:
        words.append(f"{word} {shown(load, name)}")
    return "  ".join(words)


def shown(load: LoadNow, name: str) -> str:
    """A value with its unit; a count of users without."""
    from satline.present import quantity

    if (found := load.values.get(name)) is None:
        return NONE
    unit = {"pages/s": "/s", "users": "", "per second": "/s"}.get(found.unit, found.unit)
    if found.unit.startswith("fraction"):
        unit = "fraction"
    text = quantity(found.value, unit).replace("\N{NO-BREAK SPACE}", " ")
    return text.replace(" /s", "/s")


def long_form(load: LoadNow) -> Iterator[Block]:
    """Headings with a line for each value, and what is missing with its reason."""
    from satline.live import LONG
    from satline.present import Column, Headline, Note, Table, variable_words

    yield Headline(
        f"Load at {load.at:%Y-%m-%d %H:%M:%S} UTC, mean over {load.seconds:.3g} s ({load.samples} samples)",
        1,
    )
    columns = (Column("", kind="text"), Column(""), Column("", kind="text"))
    for heading, names in LONG:
        there = [name for name in names if name in load.values]
        if there:
            yield Headline(heading)
            devices = [load.busiest_device or "" if name == "busiest_device" else "" for name in there]
            words = (f"{variable_words(name):<32}" for name in there)  # values stand below each other
            rows = zip(words, (long_value(load, n) for n in there), devices, strict=True)
            yield Table(columns, tuple(rows))
    by_reason: dict[str, list[str]] = {}
    for name, reason in load.missing.items():
        by_reason.setdefault(reason, []).append(variable_words(name))
    yield from (
        Note(f"Missing: {'; '.join(words)} ({reason}).", "quiet") for reason, words in by_reason.items()
    )


def long_value(load: LoadNow, name: str) -> str:
    """A value in its own unit."""
    from satline.present import quantity

    found = load.values[name]
    return quantity(found.value, "fraction" if found.unit.startswith("fraction") else found.unit)
