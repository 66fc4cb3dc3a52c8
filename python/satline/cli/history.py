"""`satline history`: keep recordings under rules, and hold a day against the days before it."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import Any

import click

from satline.cli.declared import argument, command, option
from satline.cli.outputs import JSON, html_option, print_json, print_text
from satline.errors import InputError


def _place(context: click.Context, parameter: click.Parameter, value: Path | None) -> Path:
    del context, parameter
    if value is not None:
        return value
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "satline" / "history"


HISTORY = option(
    "Directory of the history; default SATLINE_HISTORY, else ~/.local/share/satline/history.",
    "--history",
    envvar="SATLINE_HISTORY",
    callback=_place,
    metavar="DIR",
)
AS_OF = option("Act as if today were DAY.", metavar="DAY")


@command("""\b
Example:
  satline history add /var/tmp/host.satline
""")
def add(
    recordings: tuple[Path, ...] = argument(required=True), place: Path = HISTORY, as_json: bool = JSON
) -> None:
    """Copy RECORDINGS into the history; copies of recordings that have grown are updated.

    A recording may still be being written.
    """
    from satline.history import History
    from satline.history import add as bring
    from satline.present import visible
    from satline.recording import Recording

    for recording in recordings:
        Recording.open(recording)
    store = History.open(place, make=True)
    rows = []
    for recording in recordings:
        found = bring(store, recording)
        rows.append(found)
        if not as_json:
            span = f"{found.days[0]} to {found.days[-1]}" if len(found.days) > 1 else str(found.days[0])
            click.echo(f"{found.outcome}: {visible(found.name)}, {span}")
            if found.damaged:
                click.echo(f"  {found.damaged} damaged places were left out: `satline recording check` tells")
    if as_json:
        print_json("history-add", added=rows)


@command("""\b
Examples:
  satline history list
  satline history list --json | jq '.days[] | select(.mark == "good") | .day'
""")
def list_days(place: Path = HISTORY, as_json: bool = JSON) -> None:
    """List the days of the history: the data kept for each, and its mark."""
    from satline.history import DayNote, History, used_bytes

    store = History.open(place)
    kept = store.recordings()
    rows: list[dict[str, Any]] = []
    for day in store.all_days():
        of = [k for k in kept if day in k.hours]
        detail = "full" if any(day in k.full for k in of) else "hourly"
        note = store.days.get(day, DayNote())
        rows.append(
            {
                "day": str(day),
                "weekday": f"{day:%a}",
                "detail": detail,
                "mark": note.mark,
                "keep": note.keep,
                "note": note.note,
                "recordings": [k.name for k in of],
            }
        )
    if as_json:
        print_json("history-list", days=rows)
        return
    from satline.present import visible

    for row in rows:
        said = " ".join(str(s) for s in (row["mark"], "kept" if row["keep"] else "", row["note"]) if s)
        names = ", ".join(visible(n, longest=30) for n in row["recordings"])
        click.echo(f"{row['day']} {row['weekday']}  {row['detail']:<6}  {names}  {visible(said)}".rstrip())
    click.echo(
        f"{len(rows)} days in {len(kept)} recordings, {used_bytes(store.path):,} bytes in {visible(place)}"
    )


@command("""\b
Examples:
  satline history keep --full 14 --hourly 730
  satline history keep 2026-11-02              regardless of the rules
""")
def keep(
    days: tuple[str, ...] = argument("[DAY]…"),
    full: int | None = option(
        "Keep full detail for this many days.", type=click.IntRange(min=1), metavar="DAYS"
    ),
    hourly: str | None = option("Keep hourly readings for this many days.", metavar="DAYS|ever"),
    release: bool = option("The rules hold for the DAYs again."),
    place: Path = HISTORY,
    as_json: bool = JSON,
) -> None:
    """Show or set the retention times; with DAYs, keep these in full detail regardless of the rules."""
    from satline.history import History, Rules, parse_day

    store = History.open(place, make=True)
    parsed = [parse_day(d) for d in days]
    if full is not None or hourly is not None:
        changes: dict[str, int] = {} if full is None else {"full_days": full}
        if hourly is not None:
            changes["hourly_days"] = 0 if hourly == "ever" else _days(hourly)
        store.rules = Rules(**{**store.rules.model_dump(), **changes})
        store.save()
    for day in parsed:
        store.note(day, keep=not release)
    if as_json:
        print_json("history-keep", store.rules, days=[day for day, n in sorted(store.days.items()) if n.keep])
        return
    hours = store.rules.hourly_days
    long = f"{hours} days" if hours else "for ever"
    full_days = store.rules.full_days
    click.echo(f"full detail {full_days} days, hourly readings {long}, annotations and events for ever")
    for day, note in sorted(store.days.items()):
        if note.keep:
            click.echo(f"{day} is kept at full detail")


@command("""\b
Example:
  satline history mark 2026-11-02 good --note 'before the new disk'
""")
def mark(
    day: str = argument(),
    mark: str = argument(type=click.Choice(["good", "bad", "none"])),
    note: str | None = option("Why.", default=None, metavar="TEXT", show_default=False),
    place: Path = HISTORY,
) -> None:
    """Mark DAY as good or bad: good days serve for comparison, bad ones do not count as usual."""
    from satline.history import History, parse_day
    from satline.present import visible

    store = History.open(place)
    parsed = parse_day(day)
    if parsed not in store.all_days():
        raise InputError(
            f"{visible(place)}: has nothing of {parsed}", hint="`satline history list` lists the days"
        )
    store.note(parsed, mark=None if mark == "none" else mark, **({} if note is None else {"note": note}))
    click.echo(f"{parsed}: {mark}")


@command("""\b
Example:
  satline history prune --dry-run
""")
def prune(
    dry_run: bool = option("Say what would go; delete nothing."),
    as_of: str | None = AS_OF,
    place: Path = HISTORY,
    as_json: bool = JSON,
) -> None:
    """Delete full detail, and years later hourly readings, that the rules do not keep.

    Full detail of a day is deleted only if its hourly readings and figures exist and can be read.
    """
    from satline.history import History, parse_day, today
    from satline.history import prune as let_go
    from satline.present import visible

    store = History.open(place)
    found = let_go(store, today() if as_of is None else parse_day(as_of, "--as-of"), dry_run=dry_run)
    if as_json:
        gone = {"full": found.full, "hourly": found.hourly, "kept": found.kept}
        print_json("history-prune", gone, dry_run=dry_run, bytes=found.bytes_freed)
        return
    verb = "would go" if dry_run else "gone"
    for what, rows in (("full detail", found.full), ("hourly readings", found.hourly)):
        for name, day in rows:
            click.echo(f"{verb}: {what} of {day}, {visible(name)}")
    for name, day, why in found.kept:
        click.echo(f"kept: full detail of {day}, {visible(name)}: {visible(why)}")
    click.echo(f"{found.bytes_freed:,} bytes {'would be free' if dry_run else 'freed'}")


@command("""\b
Example:
  satline history show 2026-11-02
""")
def show(day: str = argument(), place: Path = HISTORY) -> None:
    """Show the data kept for DAY: recordings, rows, load, annotations."""
    import numpy as np

    from satline.history import DayNote, History, parse_day, read_figures
    from satline.present import visible
    from satline.recording import Recording

    store = History.open(place)
    parsed = parse_day(day)
    files = store.of_day(parsed)
    if not files:
        raise InputError(
            f"{visible(place)}: has nothing of {parsed}", hint="`satline history list` lists the days"
        )
    note = store.days.get(parsed, DayNote())
    said = ", ".join(s for s in (note.mark or "", visible(note.note)) if s)
    click.echo(f"{parsed} {parsed:%A}{': ' + said if said else ''}")
    for kept in store.recordings():
        if parsed in kept.hours:
            detail = "full detail" if parsed in kept.full else "hourly readings"
            of = kept.directory / ("full.satline" if parsed in kept.full else "hourly.satline")
            click.echo(f"  {detail}: {visible(of)}")
            for told in Recording.open(of).description.get("annotation", ()):
                if str(told.get("time", ""))[:10] == str(parsed):
                    click.echo(f"    {told['time']:%H:%M} UTC: {visible(told.get('text', ''))}")
    figures = read_figures({parsed: files})
    scopes: dict[str, set[str]] = {}
    for row in figures.rows:
        scopes.setdefault(row.scope, set()).add(row.entity)
    told = ", ".join(f"{len(e)} {s}{'s' * (len(e) != 1)}" for s, e in scopes.items() if e != {""})
    hours = int(np.isfinite(figures.values[0]).any(axis=1).sum())
    click.echo(f"  {hours} hours, {len(figures.rows):,} columns{'; ' + told if told else ''}")
    if figures.load_variable:
        load = figures.load[0][np.isfinite(figures.load[0])]
        click.echo(
            f"  {figures.load_variable}: {load.mean():.3g}, from {load.min():.3g} to {load.max():.3g} an hour"
        )


@command("""\b
Examples:
  satline history compare today.satline
  satline history compare 2026-11-09 --with 2026-11-02 --html day.html
""")
def compare(
    today_: str = argument("TODAY"),
    with_: str = option("What to compare it with.", default="last-good", metavar="DAY|last-good|usual"),
    top: int = option("Show this many.", type=click.IntRange(min=1), default=10, metavar="N"),
    html: Path | None = html_option("Write a page."),
    place: Path = HISTORY,
    as_json: bool = JSON,
) -> None:
    """Compare TODAY (a recording, or a day of the history) with a good day.

    It lists rows that disappeared or appeared, and columns outside their usual range.
    """
    from satline.history import History, compare_with_history

    store = History.open(place)
    found = compare_with_history(_day_or_path(today_), store, with_)
    from satline.present import history as face

    if html is not None:
        from satline.present.html import write_page

        write_page(html, face.page(store.path, found))
    if as_json:
        print_json("history-compare", found)
        return

    print_text(face.comparison_blocks(found, top=top))


def _day_or_path(text: str) -> date | Path:
    if Path(text).is_dir():
        return Path(text)
    try:
        return date.fromisoformat(text)
    except ValueError:
        return Path(text)


def _days(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise InputError(f"--hourly {text!r}", hint="give a number of days, or ever")
    return int(text)
