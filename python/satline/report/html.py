"""The report: one self-contained HTML file that opens without a network and without scripts."""

from __future__ import annotations

import base64
import hashlib
import os
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import jinja2
from markupsafe import Markup

import satline
from satline.diagnosis._results import Diagnosis
from satline.errors import InputError
from satline.reduction import Reduction
from satline.reduction._results import Curves
from satline.report import _conditions, _numbers, _words, terminal
from satline.report._chart_data import Plot, prepare
from satline.report._chart_table import CHARTS
from satline.report._escape import visible

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


def write_report(path: Path, recording: RecordingLike, curves: Curves, diagnosis: Diagnosis) -> None:
    """Writes the report on `recording` to `path`, replacing what is there in one step.

    Raises
    ------
    InputError
        `path` cannot be written.
    """
    page = render(recording, curves, diagnosis)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(page)
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        hint = "name a file in a directory that exists and may be written, with space left"
        raise InputError(f"cannot write the report {path}: {error.strerror}", hint=hint) from error


def render(
    recording: RecordingLike, curves: Curves, diagnosis: Diagnosis, *, now: datetime | None = None
) -> str:
    """The report as text; `now` is when it says it was made."""
    # Drawing takes longer to import than everything else together.
    from satline.report import _draw

    plots = [prepare(chart, curves, diagnosis.saturation) for chart in CHARTS]
    style = (_HERE / "report.css").read_text(encoding="utf-8")
    made = (now or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M UTC")
    return _template().render(
        diagnosis=diagnosis,
        curves=curves,
        plots=[(plot, _drawing(plot, _draw.svg)) for plot in plots],
        tasks=curves.tasks[:_MOST_TASKS] if isinstance(curves, Reduction) else (),
        meanings=_meanings(curves, plots),
        conditions=_conditions.sections(recording),
        study=_conditions.study_files(recording),
        saturation_lines=_words.saturation_lines(diagnosis.saturation),
        outcome=_words.outcome_words(diagnosis.saturation.outcome),
        axis=_words.axis_words(curves.load_axis),
        observations=sum(c.observations for c in curves.classes),
        recording_path=recording.path,
        made=made,
        version=satline.__version__,
        style=Markup(style),
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii"),
    )


@cache
def _template() -> jinja2.Template:
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
        "evidence": terminal.evidence_words,
        "unseen": terminal.unseen_words,
        "strength": _numbers.strength_words,
        "load": _words.load_words,
        "sentence": _words.sentence,
        "number": _numbers.number,
    }
    return environment.get_template("report.html.j2")


def _drawing(plot: Plot, draw: Any) -> Markup | None:
    # The drawing comes from XML that was parsed and written again, with every name in it escaped.
    return Markup(draw(plot)) if plot.lines else None


def _meanings(curves: Curves, plots: list[Plot]) -> list[tuple[str, str, str]]:
    """Label, name and meaning of each variable that the plots show."""
    shown: dict[str, tuple[str, str, str]] = {}
    for plot in plots:
        for variable, label in plot.chart.series:
            for name, curve in curves.curves.items():
                if _words.split(name)[0] == variable:
                    shown.setdefault(variable, (label, variable, curve.meaning))
    return list(shown.values())
