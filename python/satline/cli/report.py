"""`satline report`: the whole report of a recording, or a report made by a definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from satline.cli.completion import names_in, report_definitions
from satline.cli.declared import argument, command, option
from satline.cli.filters import CLOCKED_FILTERS
from satline.cli.options import LOAD, opened_in_its_words
from satline.cli.outputs import JSON, PNG, SVG, csv_option, html_option, print_json, write_pictures

if TYPE_CHECKING:
    from satline.present import Plot, Sheet
    from satline.present.definition import Definition
    from satline.recording import Recording
    from satline.reduction import Curves, Filters, Groups

MOST_CLASSES = 8
_ONE_SAMPLE_S = 1e-3  # shorter than any interval: an observation is then one sample's


@command("""\b
Examples:
  satline report host.satline -o host.html
  satline report users host.satline --svg users.svg
  satline report --show users > mine.toml         a definition to change
""")
def report(
    arguments: tuple[str, ...] = argument("[REPORT] RECORDING", shell_complete=names_in(report_definitions)),
    load_axis: str | None = LOAD,
    filters: Filters | None = CLOCKED_FILTERS,
    show_list: bool = option("List the reports.", "--list"),
    show: str | None = option("Print a report's definition, to copy and change.", metavar="NAME"),
    html: Path | None = html_option("Write an HTML page there.", "-o", "--output"),
    svg: Path | None = SVG,
    png: Path | None = PNG,
    plots: Path | None = option(type=click.Path(path_type=Path, file_okay=False), hidden=True),
    kind: str = option(
        None, "--format", type=click.Choice(["svg", "png"]), default="svg", hidden=True, show_default=False
    ),
    ppi: int = option(
        "Pixels per inch of a PNG; a plot is 5 inches wide.", type=click.IntRange(48, 1200), default=192
    ),
    as_csv: bool = csv_option("Print CSV: a row for each group and variable."),
    as_json: bool = JSON,
) -> None:
    """Write the full report of a recording, one HTML file that needs no network, or show REPORT.

    REPORT is a name from --list, or your own definition: a file ending in .toml. Without it, the full report
    is written.
    """
    from satline.present.definition import WHOLE, find

    context = click.get_current_context()
    if show_list or show is not None:
        if arguments:
            raise click.UsageError("--list and --show take no recording", context)
        _list() if show_list else click.echo(find(show or "").text, nl=False)
        return
    if not 1 <= len(arguments) <= 2:
        raise click.UsageError("name a recording, or a report and a recording", context)
    if as_csv and as_json:
        raise click.UsageError("--json and --csv exclude each other", context)
    if html is not None and html.suffix in {".svg", ".png", ".csv", ".json"}:
        other = f"--{html.suffix[1:]}"
        raise click.UsageError(f"-o writes an HTML page: for {html.name} see {other}", context)
    definition = find(arguments[0] if len(arguments) == 2 else WHOLE)
    by = definition.body.group.by
    if load_axis is not None and by != "load" and definition.body.variables:
        raise click.UsageError(f"--load: the report {definition.name} is by {by}, not by load", context)
    opened = opened_in_its_words(Path(arguments[-1]))
    # Each place with the kind of the pictures that go there.
    places = [
        (path, ending) for path, ending in ((svg, "svg"), (png, "png"), (plots, kind)) if path is not None
    ]
    if definition.body.verdict:
        if as_csv or as_json:
            hint = "name a report: `satline report --list`; `satline diagnose --json` gives the verdict"
            raise click.UsageError(f"the whole report is an HTML page; {hint}", context)
        _whole(opened, definition, load_axis, filters, html, places, ppi)
        return
    sheets = _sheets(opened, definition, load_axis, filters)
    if places:
        from satline.present import make_plots

        _draw([plot for sheet in sheets for plot in make_plots(sheet)], places, ppi)
    if html is not None:
        from satline.present.html import render_sheets, write_page

        write_page(html, render_sheets(opened, definition, sheets))
        _say(html)
    if as_csv or as_json or not (places or html):
        _print(definition, sheets, as_csv, as_json)


def _list() -> None:
    """Every shipped report with what it shows."""
    from rich.console import Console

    from satline.present import Tiles, print_table
    from satline.present.definition import find, shipped

    print_table(Tiles(tuple((name, find(name).body.what) for name in shipped())), Console())


def _whole(
    opened: Recording,
    definition: Definition,
    load_axis: str | None,
    filters: Filters | None,
    output: Path | None,
    places: Sequence[tuple[Path, str]],
    ppi: int,
) -> None:
    """The HTML page with the verdict, the findings and the load curves, if it is wanted; and its plots where
    they are."""
    from satline.diagnosis import diagnose
    from satline.present import make_plots, make_sheet
    from satline.present.definition import find
    from satline.present.html import render, write_page
    from satline.reconcile import Answers, story
    from satline.reduction import reduce

    curves = reduce(opened, load_axis, filters=_both(definition, filters))
    diagnosis = diagnose(opened, curves)
    if output is not None or not places:
        path = output or opened.path / "report.html"
        told = story(opened, curves, "diagnose", Answers(diagnosis=diagnosis))
        write_page(path, render(opened, curves, diagnosis, notes=told.lines, definition=definition))
        _say(path)
    if places:
        saturation = diagnosis.saturation
        parts = [find(name) for name in definition.body.parts]
        sheets = [make_sheet(part, curves, throughput=saturation.throughput_variable) for part in parts]
        _draw([plot for sheet in sheets for plot in make_plots(sheet, saturation)], places, ppi)


def _sheets(
    opened: Recording, definition: Definition, load_axis: str | None, filters: Filters | None
) -> list[Sheet]:
    """The numbers of a definition, or of each of its parts."""
    from satline.present.definition import find

    parts = [find(name) for name in definition.body.parts] or [definition]
    return [_sheet(opened, part, load_axis, _both(part, filters)) for part in parts]


def _sheet(opened: Recording, definition: Definition, load_axis: str | None, filters: Filters) -> Sheet:
    from satline.present import make_sheet
    from satline.reduction import By, group, reduce

    group_by = definition.body.group
    length = _ONE_SAMPLE_S if group_by.observation == "sample" else None
    by: By | None = next((one for one in get_args(By) if one == group_by.by), None)
    axis = {"load": load_axis, "mpl": "in_queue"}.get(group_by.by, group_by.by)

    def results(names: list[str], chosen: Filters) -> Curves | Groups:
        if by is None:
            return reduce(opened, axis, variables=names, filters=chosen, observation_s=length)
        return group(
            opened,
            by,
            names,
            every_s=group_by.every,
            most=group_by.most,
            filters=chosen,
            observation_s=length,
        )

    found = results(definition.variables(), filters)
    for name in dict.fromkeys(v.name for v in definition.body.variables if v.split):
        found = _by_class(opened, found, name, filters, results)
    return make_sheet(definition, found, selection=filters.words())


def _by_class(
    opened: Recording,
    found: Curves | Groups,
    name: str,
    filters: Filters,
    results: Callable[[list[str], Filters], Curves | Groups],
) -> Curves | Groups:
    """`found` with a curve of the variable `name` for each class of work: the largest classes."""
    from dataclasses import replace

    counted = opened.connect().execute(
        "SELECT class FROM transaction WHERE class IS NOT NULL GROUP BY class ORDER BY count(*) DESC, class"
    )
    classes = [str(row[0]) for row in counted.fetchall()]
    if filters.transaction_classes is not None:
        classes = [one for one in classes if one in filters.transaction_classes]
    curves = dict(found.curves)
    for one in classes[:MOST_CLASSES]:
        part = results([name], replace(filters, transaction_classes=(one,)))
        # On an axis made of transactions the load classes differ, and then nothing can be set beside them.
        if name in part.curves and [c.label for c in part.classes] == [c.label for c in found.classes]:
            curves[f"{name}:{one}"] = replace(part.curves[name], variable=f"{name}:{one}")
    return replace(found, curves=curves)


def _both(definition: Definition, given: Filters | None) -> Filters:
    """What the definition selects, and in its place what the command line says."""
    from dataclasses import fields, replace

    from satline.reduction import Filters

    chosen = definition.body.filters
    own = Filters(
        hours=chosen.hours,
        days=chosen.days,
        timezone=chosen.timezone,
        users=tuple(chosen.users) or None,
        exclude_users=tuple(chosen.exclude_users),
        transaction_classes=tuple(chosen.classes) or None,
    )
    if given is None:
        return own
    usual = Filters()
    said = {f.name: getattr(given, f.name) for f in fields(Filters)}
    return replace(own, **{name: value for name, value in said.items() if value != getattr(usual, name)})


def _print(definition: Definition, sheets: list[Sheet], as_csv: bool, as_json: bool) -> None:
    from satline.present import print_sheet, sheet_content, sheets_csv

    if as_csv:
        click.echo(sheets_csv(sheets), nl=False)
    elif as_json:
        content = [sheet_content(sheet) for sheet in sheets]
        if definition.body.parts:
            print_json("report-parts", reports=content)
        else:
            print_json("report", content[0])
    else:
        from rich.console import Console

        console = Console()
        for number, sheet in enumerate(sheets):
            if number:
                console.print()
            print_sheet(sheet, console)


def _draw(plots: Sequence[Plot], places: Sequence[tuple[Path, str]], ppi: int) -> None:
    """Writes the plots that have lines to each place; of the others it is said why they have none."""
    from satline.present import visible

    if not places:
        return
    for plot in plots:
        if not plot.lines:
            click.echo(f"{plot.name}: nothing to draw. {visible(' '.join(plot.notes))}", err=True)
    drawn = [plot for plot in plots if plot.lines]
    for path, kind in places:
        for file in write_pictures(drawn, path, kind, ppi=ppi):
            _say(file)


def _say(path: Path) -> None:
    from satline.present import visible

    click.echo(visible(path))
