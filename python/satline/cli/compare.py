"""`satline compare`: two periods held against each other at equal load."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import click

from satline.cli.declared import argument, command, option
from satline.cli.filters import CLOCKED_FILTERS, moment_named
from satline.cli.history import HISTORY
from satline.cli.history import compare as compare_with_history
from satline.cli.options import LOAD, speak_of
from satline.cli.outputs import JSON, SVG, html_option, print_json, print_text, write_pictures
from satline.errors import InputError

if TYPE_CHECKING:
    from satline.recording import Recording
    from satline.reduction import Filters


@command("""\b
Examples:
  satline compare before.satline after.satline
  satline compare 'oct-*.satline' 'nov-*.satline' --hours 9-17 --days mon-fri
  satline compare host.satline --at-annotation 'new kernel' --html change.html
""")
def compare(
    recordings: Sequence[str] = argument("[BEFORE] [AFTER]"),
    before: Sequence[str] = option("Recording before the change; may be repeated.", metavar="RECORDING"),
    after: Sequence[str] = option("Recording after the change; may be repeated.", metavar="RECORDING"),
    at: str | None = option("Split one recording at this time.", metavar="TIME"),
    at_annotation: str | None = option(
        "Split one recording at its annotation with this text.", metavar="TEXT"
    ),
    with_: str | None = option(
        "Compare one recording with the history: as `satline history compare`.", metavar="DAY|last-good|usual"
    ),
    place: Path = HISTORY,
    measure: str | None = option(
        "Measure to compare, or VARIABLE@USER, @DEVICE; default: the best that both have.", metavar="VARIABLE"
    ),
    load_axis: str | None = LOAD,
    throughput: str | None = option(
        "Throughput of the trade-off curve; default: user time.", metavar="VARIABLE"
    ),
    class_observations: int = option(
        "Merge classes until both sides have this many.", type=click.IntRange(min=1), default=50, metavar="N"
    ),
    filters: Filters | None = CLOCKED_FILTERS,
    full: bool = option("The points of the trade-off curves too."),
    as_json: bool = JSON,
    html: Path | None = html_option("Write a page with plots."),
    svg: Path | None = SVG,
) -> None:
    """Say whether a change helped: compare two periods at equal load, with confidence intervals that account
    for autocorrelation.

    BEFORE and AFTER are each a recording, a directory of recordings (the runs of a variant), a quoted
    pattern, or several separated by commas. With --at or --at-annotation, one recording is split in two.
    """
    if with_ is not None:
        context = click.get_current_context()
        _with_history(context, recordings)
        context.invoke(
            compare_with_history, today_=recordings[0], with_=with_, place=place, html=html, as_json=as_json
        )
        return
    from satline.comparison import Options
    from satline.comparison import compare as held
    from satline.recording import Recording

    first, second = _sides(recordings, before, after, cut=at is not None or at_annotation is not None)
    opened = [[Recording.open(path) for path in side] for side in (first, second)]
    speak_of(*(one for side in opened for one in side))
    zone = filters.timezone if filters is not None else "UTC"
    options = Options(load_axis, measure, throughput, filters, class_observations)
    found = held(opened[0], opened[1], options, at_s=_cut(opened[0], at, at_annotation, zone))
    if html is not None or svg is not None:
        from satline.present.compare import plots, write_comparison

        if html is not None:
            write_comparison(html, found)
        if svg is not None:
            write_pictures(plots(found), svg, "svg")
    if as_json:
        print_json("compare", found)
        return

    from satline.present.compare import comparison_blocks

    print_text(comparison_blocks(found, full=full))


def _with_history(context: click.Context, recordings: Sequence[str]) -> None:
    if len(recordings) != 1:
        raise InputError(
            f"{len(recordings)} recordings with --with",
            hint="name one, today's: satline compare TODAY --with last-good",
        )
    fits = {"recordings", "with_", "place", "html", "as_json"}
    for name in context.params:
        given = context.get_parameter_source(name)
        if name not in fits and given is click.core.ParameterSource.COMMANDLINE:
            raise InputError(
                f"--{name.replace('_', '-')} with --with",
                hint="--with compares a day with days of the history",
            )


def _sides(
    recordings: Sequence[str], before: Sequence[str], after: Sequence[str], cut: bool
) -> tuple[list[Path], list[Path]]:
    """Paths of both sides; with `cut` there is nothing after."""
    from satline.comparison import find_recordings

    if recordings and (before or after):
        raise InputError(
            "recordings are given both plainly and by --before or --after", hint="use one of the two ways"
        )
    if cut:
        one = find_recordings((*recordings, *before))
        if len(one) != 1 or after:
            raise InputError(
                f"{len(one) + len(after)} recordings with a cut",
                hint="--at and --at-annotation cut one recording",
            )
        return one, []
    if recordings:
        if len(recordings) != 2:
            raise InputError(
                f"{len(recordings)} recording{'s' if len(recordings) > 1 else ''} given, two are compared",
                hint="name two (a pattern in quotes or a list with commas is one), or cut one: --at TIME",
            )
        before, after = recordings[:1], recordings[1:]
    if not before or not after:
        raise InputError(
            "two sides are needed",
            hint="satline compare BEFORE AFTER, or satline compare RECORDING --at 2026-11-01T12:00",
        )
    return find_recordings(before), find_recordings(after)


def _cut(opened: Sequence[Recording], at: str | None, annotation: str | None, zone: str) -> float | None:
    from satline.comparison import moment_of

    if at is not None and annotation is not None:
        raise InputError("--at and --at-annotation exclude each other", hint="give one of them")
    if annotation is not None:
        return moment_of(opened[0], annotation)
    moment = moment_named("--at", at, ZoneInfo(zone))
    return None if moment is None else moment.timestamp()
