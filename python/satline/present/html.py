"""The report: one self-contained HTML file that opens without a network and without scripts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

import jinja2
from markupsafe import Markup

import satline
from satline.atomic import replace_file
from satline.diagnosis import Diagnosis
from satline.errors import InputError
from satline.extras import NOT_DRAWN, can_draw
from satline.present import _conditions, _numbers, _words, terminal
from satline.present._escape import visible
from satline.present._plot import Plot, make_plots
from satline.present._sheet import Sheet, make_sheet
from satline.present._table import table_rows
from satline.present._vocabulary import in_words_of
from satline.present._written import html_table
from satline.present.blocks import Block, Curve, Headline, Note, Table, Tiles
from satline.present.definition import WHOLE, Definition, find
from satline.reduction import Curves, Reduction

_HERE = Path(__file__).resolve().parent
_MOST_TASKS = 12


class RecordingLike(Protocol):
    """What the report reads of a recording: its place, ``recording.toml``, ``sources/*.toml`` by writer."""

    @property
    def path(self) -> Path: ...
    @property
    def description(self) -> Mapping[str, Any]: ...
    @property
    def sources(self) -> Mapping[str, Mapping[str, Any]]: ...


@dataclass(frozen=True)
class MadeOf:
    """What a page that is not of one recording says that it was made from."""

    path: Path
    description: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def write_report(
    path: Path, recording: RecordingLike, curves: Curves, diagnosis: Diagnosis, notes: Sequence[str] = ()
) -> None:
    """Writes the report on `recording` to `path`, replacing what is there in one step; `notes` as for
    `render`.

    Raises
    ------
    InputError
        `path` cannot be written.
    """
    write_page(path, render(recording, curves, diagnosis, notes=notes))


def write_page(path: Path, page: str | bytes) -> None:
    """Writes a page or a picture to `path`, replacing what is there in one step.

    Raises
    ------
    InputError
        `path` cannot be written.
    """
    content = page.encode("utf-8") if isinstance(page, str) else page
    try:
        replace_file(path, content, durable=False)
    except OSError as error:
        hint = "name a file in a directory that exists and may be written, with space left"
        raise InputError(f"cannot write the report {path}: {error.strerror}", hint=hint) from error


def render(
    recording: RecordingLike,
    curves: Curves,
    diagnosis: Diagnosis,
    *,
    notes: Sequence[str] = (),
    definition: Definition | None = None,
    now: datetime | None = None,
) -> str:
    """The report as text.

    Parameters
    ----------
    notes
        They follow the headline: what other answers say (`satline.reconcile`).
    definition
        Names the load curves to show; by default the shipped one.
    now
        When it says it was made.
    """
    with in_words_of(recording.description):
        saturation = diagnosis.saturation
        findings, remarks = terminal.split_remarks(diagnosis.findings)
        parts = [find(name) for name in (definition or find(WHOLE)).body.parts]
        sheets = [make_sheet(part, curves, throughput=saturation.throughput_variable) for part in parts]
        return fill_page(
            "report.html.j2",
            recording,
            now,
            diagnosis=diagnosis,
            notes=notes,
            selection=curves.filters,
            findings=findings,
            remarks=remarks,
            left_out=_words.implausible_lines(diagnosis.implausible),
            left_out_in_short=_words.implausible_line(diagnosis.implausible),
            alarms=_words.alarm_lines(diagnosis.alarms),
            unjudged=terminal.unjudged(diagnosis.others),
            waits=_words.wait_rows(diagnosis.waits, _words.axis_words(saturation.load_axis)),
            wait_notes=_words.wait_notes(diagnosis.waits),
            uses=_words.use_rows(diagnosis.standing) if diagnosis.standing else (),
            use_notes=_words.use_notes(diagnosis.standing) if diagnosis.standing else (),
            bounds=_words.bound_rows(diagnosis.standing) if diagnosis.standing else (),
            bound_notes=_words.bound_notes(diagnosis.standing) if diagnosis.standing else (),
            curves=curves,
            plots=[drawn for sheet in sheets for drawn in drawn_plots(make_plots(sheet, saturation))],
            tasks=curves.tasks[:_MOST_TASKS] if isinstance(curves, Reduction) else (),
            meanings=_meanings(sheets),
            conditions=_conditions.sections(recording),
            study=_conditions.study_files(recording),
            saturation_lines=_words.saturation_lines(saturation),
            outcome=_words.outcome_words(saturation.outcome),
            axis=_words.axis_words(curves.load_axis),
            observations=sum(c.observations for c in curves.classes),
        )


def render_sheets(
    recording: RecordingLike,
    definition: Definition,
    sheets: Sequence[Sheet],
    *,
    now: datetime | None = None,
) -> str:
    """The page of a report made by a definition; `sheets` are its own or those of its parts."""
    with in_words_of(recording.description):
        shown = []
        for sheet in sheets:
            plots = make_plots(sheet) if sheet.definition.body.plot.kind != "none" else ()
            table = table_rows(sheet) if sheet.columns else ()
            shown.append((sheet, sheet.definition is not definition, drawn_plots(plots), table))
        return fill_page(
            "sheets.html.j2",
            recording,
            now,
            title=definition.body.title,
            what=definition.body.what,
            selection="; ".join(dict.fromkeys(sheet.selection for sheet in sheets if sheet.selection)),
            sheets=shown,
            meanings=_meanings(sheets),
            recording_name=recording.path,
        )


def fill_page(template: str, recording: RecordingLike, now: datetime | None, **values: Any) -> str:
    """The page that a template of this directory makes of a recording and values."""
    style = (_HERE / "report.css").read_text(encoding="utf-8")
    return (
        _environment()
        .get_template(template)
        .render(
            recording_path=recording.path,
            made=(now or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M UTC"),
            version=satline.__version__,
            style=Markup(style),
            style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii"),
            **values,
        )
    )


_TONES = {"strong": "lead", "quiet": "quiet", "warning": "note", "plain": ""}


def blocks_page(
    made_of: Path,
    blocks: Iterable[Block],
    *,
    drawing: Markup | None = None,
    source: str = "",
    now: datetime | None = None,
) -> str:
    """A page of blocks; the first is its title.

    Parameters
    ----------
    made_of
        What it says that it was made from.
    drawing
        Stands above the first heading.
    source
        A study's own file, shown at the end.
    now
        When it says it was made.
    """
    title, *rest = blocks
    assert isinstance(title, Headline)
    parts: list[tuple[str, list[Block]]] = [("", [])]
    for block in rest:
        if isinstance(block, Headline):
            parts.append((block.words, []))
        else:
            parts[-1][1].append(block)
    (_, lead), *sections = [(heading, list(_groups(part))) for heading, part in parts]
    where = MadeOf(made_of)
    values = {"title": title.words, "lead": lead, "sections": sections, "drawing": drawing, "source": source}
    return fill_page("blocks.html.j2", where, now, **values)


def _groups(blocks: Iterable[Block]) -> Iterator[tuple[str, Any]]:
    """Kind and content of what a page shows together: a list of notes, curves beside each other."""
    for kind, group in groupby(blocks, _kind):
        same: list[Any] = list(group)
        if kind == "curves":
            yield kind, drawn_plots(one.plot for one in same)
        elif kind == "items":
            yield kind, same
        for one in same:
            if isinstance(one, Tiles):
                yield kind, one.pairs
            elif isinstance(one, Table):
                yield kind, html_table(one, style=_style(one))
            elif kind == "note":
                tone = _TONES[one.tone]
                yield Markup(' class="{}"').format(tone) if tone else Markup(""), one.words


def _kind(block: Block) -> str:
    if isinstance(block, Note):
        return "items" if block.item else "note"
    return {Curve: "curves", Tiles: "tiles", Table: "table"}[type(block)]


def _style(table: Table) -> str:
    """By where its texts stand."""
    texts = [column.kind == "text" for column in table.columns]
    if all(texts):
        return "named text"
    return "named" if texts[0] else "numbered" if texts[1:2] == [True] else ""


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Whatever reaches the page is made visible first, so that no place can forget it.
        finalize=lambda value: value if isinstance(value, Markup | int | float) else visible(value),
    )
    environment.filters |= {
        "table": lambda rows, style="": html_table(Table.of(rows), style=style),
        "evidence": terminal.evidence_words,
        "unseen": terminal.unseen_words,
        "strength": _numbers.strength_words,
        "sure": _words.sure_words,
        "load": _words.load_words,
        "sentence": _words.sentence,
        "number": _numbers.number,
    }
    return environment


def drawn_plots(plots: Iterable[Plot]) -> list[tuple[Plot, Markup | None]]:
    """The plots with their pictures; without what draws them, with a note that says so."""
    if not can_draw():
        return [
            (replace(plot, notes=(*plot.notes, NOT_DRAWN)) if plot.lines else plot, None) for plot in plots
        ]
    # Drawing takes longer to import than everything else together.
    from satline.present import _draw

    # A picture comes from XML that was parsed and written again, with every name in it escaped.
    return [(plot, Markup(_draw.svg(plot)) if plot.lines else None) for plot in plots]


def _meanings(sheets: Iterable[Sheet]) -> list[tuple[str, str, str]]:
    """Label, name and meaning of each variable that the sheets show."""
    shown: dict[str, tuple[str, str, str]] = {}
    for sheet in sheets:
        for column in sheet.columns:
            name = _words.split(column.variable)[0]
            shown.setdefault(name, (_words.variable_words(name), name, column.meaning))
    return list(shown.values())
