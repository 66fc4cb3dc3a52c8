"""`satline analyse correlate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from satline.cli.declared import argument, command, option
from satline.cli.filters import FILTERS
from satline.cli.options import opened_in_its_words, part_of
from satline.cli.outputs import SVG, html_option, json_option, picture_files, print_json
from satline.errors import InputError

if TYPE_CHECKING:
    from satline.correlation import Correlation, Panel
    from satline.recording import Recording
    from satline.reduction import Filters


@command("""\b
Examples:
  satline analyse correlate host.satline --pqm response --given load
  satline analyse correlate host.satline --then 3    from the third hit
  satline analyse correlate --story host.satline.walk.toml
""")
def correlate(
    recording: Path | None = argument(),
    pqm: str | None = option("The performance quality measure to explain.", metavar="VARIABLE[@ENTITY]"),
    then: str | None = option("Take a hit of the last step (number or name) as the next PQM.", metavar="HIT"),
    story: Path | None = option("Print the walk stored in FILE.", metavar="FILE"),
    layers: str | None = option(
        "Show how VARIABLE is divided over time among users, devices, ….", metavar="VARIABLE"
    ),
    list_names: bool = option("List the names of all changing series.", "--list"),
    given: str = option(
        "Remove the effect of these first: load, time-of-day, trend.",
        metavar="A,B",
        default="",
        show_default=False,
    ),
    load_axis: str | None = option("Load axis, as in `satline analyse reduce`.", "--load", metavar="AXIS"),
    lags: int | None = option(
        "Largest lead and lag, in observations; default 30.", type=click.IntRange(min=0), metavar="N"
    ),
    every: float | None = option("Length of an observation.", metavar="SECONDS"),
    rate: str = option("Share of the discoveries that may be false.", default="5%", metavar="PART"),
    control: str = option(
        "How the rate is controlled: Benjamini–Hochberg, or –Yekutieli for any dependence.",
        type=click.Choice(["bh", "by"]),
        default="bh",
        show_default=False,
    ),
    related: bool = option("Also series made of the same counters as the PQM."),
    top: int = option("Show this many.", type=click.IntRange(min=1), default=10, metavar="N"),
    filters: Filters | None = FILTERS,
    walk_file: Path | None = option(
        "Store the walk here; default: beside the recording.", "--walk", metavar="FILE"
    ),
    no_walk: bool = option("Keep no walk."),
    html: Path | None = html_option("Write a page with stacked charts."),
    svg: Path | None = SVG,
    as_json: bool = json_option("Print JSON, with all series."),
) -> None:
    """Correlate every variable of every user, device and processor with a performance quality measure (PQM).

    They are ranked by how they move with it, with lags. The significance allows for thousands of comparisons,
    for the lags, and for autocorrelation. Each run adds a step to a walk that is stored beside the recording.
    """
    context = click.get_current_context()
    if story is not None:
        _tell(story)
        return
    if recording is None:
        raise click.UsageError("give a recording", context)
    if sum(o is not None for o in (pqm, then, layers)) + list_names != 1:
        raise click.UsageError("give one of --pqm, --then, --layers, --list", context)
    from satline import correlation

    part = part_of("--rate", rate, "5% or 0.05")
    words = [w.strip() for w in given.split(",") if w.strip()]
    for word in words:
        if word not in correlation.GIVEN:
            raise InputError(
                f"--given {word}: not known", hint=f"choose among {', '.join(correlation.GIVEN)}"
            )
    walk = walk_file or correlation.beside(recording)
    if then is not None:
        pqm = correlation.following(correlation.read_walk(walk), then)
    opened = opened_in_its_words(recording)
    asked = 30 if lags is None else lags
    panel = correlation.read_panel(opened, every_s=every, filters=filters, load_axis=load_axis, gap=asked)
    if list_names:
        _list(panel, as_json)
    elif layers is not None:
        _layers(panel, layers, opened, html, svg, as_json)
    else:
        reach = min(asked, panel.values.shape[1] // 4) if lags is None else asked
        found = correlation.correlate(
            panel, pqm or "", lags=reach, given=words, rate=part, control=control, related=related
        )
        kept = "" if no_walk else _keep(walk, recording, found, then)
        _show(found, opened, html, svg, as_json, top, kept)


def _keep(walk: Path, recording: Path, found: Correlation, then: str | None) -> str:
    from satline import correlation

    try:
        correlation.add_step(walk, recording.name, found, followed=str(found.pqm) if then else "")
    except OSError as error:
        return f"The walk could not be kept in {walk}: {error.strerror}; --walk FILE chooses another place."
    return f"Walk kept in {walk}; --then NUMBER goes on with a hit."


def _tell(file: Path) -> None:
    from satline import correlation
    from satline.present import visible

    for line in correlation.story(correlation.read_walk(file)):
        click.echo(visible(line))


def _list(panel: Panel, as_json: bool) -> None:
    from satline.present import visible

    if as_json:
        rows = [{"name": str(n), "scope": n.scope, "unit": n.unit, "meaning": n.meaning} for n in panel.names]
        print_json("analyse-correlate-list", series=rows)
        return
    if not panel.names:
        raise InputError(
            f"the recording has no changing series ({panel.left_out() or 'it has none at all'})",
            hint="record for longer, or choose shorter observations with --every",
        )
    for name in panel.names:
        click.echo(f"{visible(name)}  {visible(name.unit)}".rstrip())


def _layers(
    panel: Panel, variable: str, opened: Recording, html: Path | None, svg: Path | None, as_json: bool
) -> None:
    from rich.console import Console

    from satline import correlation
    from satline.present import correlation as face
    from satline.present.html import write_page

    found = correlation.layers(panel, variable)
    if html is not None:
        write_page(html, face.layers_page(opened.path, found))
    if svg is not None:
        write_page(picture_files(svg, ["layers"], "svg")[0], face.layers_svg(found))
    if as_json:
        rows = [{"name": n, "share": s} for n, s in zip(found.names, found.share, strict=True)]
        print_json("analyse-correlate-layers", variable=found.variable, unit=found.unit, layers=rows)
    else:
        face.print_layers(found, Console())


def _show(
    found: Correlation,
    opened: Recording,
    html: Path | None,
    svg: Path | None,
    as_json: bool,
    top: int,
    kept: str,
) -> None:
    from satline.present import correlation as face
    from satline.present.html import write_page

    if html is not None:
        write_page(html, face.page(opened.path, found, top=top))
    if svg is not None:
        write_page(picture_files(svg, ["correlation"], "svg")[0], face.svg(found, top=top))
    if as_json:
        print_json("analyse-correlate", face.content(found, opened.path))
        return
    from rich.console import Console

    face.print_correlation(found, Console(), top=top, walk=kept)
