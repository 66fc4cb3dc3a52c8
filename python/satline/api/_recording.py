"""An open recording: what is in it, its tables, and the analyses of it."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from satline.api._columns import Column, made_table
from satline.api._html import html_lines
from satline.api._result import Result
from satline.api._tables import Table, Tables, Users
from satline.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from satline.api._compared import Compared, Side
    from satline.api._diagnosed import Diagnosed
    from satline.api._predicted import Predicted
    from satline.api._reduced import Reduced
    from satline.diagnosis import Suffices
    from satline.recording import Contents, Recording
    from satline.reduction import Filters, Reduction

NAMES_SHOWN = 8


class OpenRecording:
    """A recording, opened by `satline.open`; nothing of its tables is read before it is asked for.

    Attributes
    ----------
    recording
        The recording itself, for what this class does not offer: ``recording.connect()`` gives a DuckDB
        connection with a view for each table.
    imported_from
        What it was imported from; empty: it was a recording.
    temporary
        The import is kept only as long as this object, and what was made of it, is in use.
    """

    def __init__(self, recording: Recording, *, imported_from: str = "", owned: Path | None = None) -> None:
        self.recording = recording
        self.imported_from = imported_from
        self.temporary = owned is not None
        self._removes = None if owned is None else weakref.finalize(self, shutil.rmtree, owned, True)

    @property
    def path(self) -> Path:
        """The recording's directory."""
        return self.recording.path

    @cached_property
    def users(self) -> Users:
        """The users: a table that gives their names when it is iterated."""
        return Users(self)

    @property
    def tables(self) -> Tables:
        """The tables that hold anything, by name."""
        return Tables(self)

    def table(self, name: str) -> Table:
        """A table of the catalogue; one that the recording does not have is empty.

        Raises
        ------
        InputError
            The catalogue has no such table.
        """
        return Table(self, name)

    def info(self) -> Info:
        """What is in the recording, over what load, and which questions it suffices for.

        Raises
        ------
        InputError
            A file of it is missing or damaged.
        """
        from satline.diagnosis import suffices
        from satline.recording import contents

        return Info(contents(self.recording), suffices(self.recording), self)

    def reduce(
        self,
        load_axis: str | None = None,
        *,
        variables: Sequence[str] | None = None,
        also: Sequence[str] = (),
        filters: Filters | None = None,
        observation_s: float | None = None,
        classes: str | None = None,
        class_width: float | None = None,
        class_observations: int | None = None,
    ) -> Reduced:
        """Reduce the recording to curves of its variables against load; see `satline.reduction.reduce`.

        Parameters
        ----------
        load_axis
            What to call load: ``users``, ``active_users``, ``run_queue``, … or any variable; default: the
            best that was recorded.
        variables
            Only these, and nothing is read that they do not need; default: every derived variable.
        also
            With every derived variable: these too.
        filters
            Which observations and which work count.
        observation_s
            Length of an observation; default: the sampling interval, at least 10 s.
        classes, class_width, class_observations
            How classes of load are made: ``equal-count:8``; loads in a class; least observations in one.

        Raises
        ------
        InputError
            An unknown axis or variable, an axis without values, or fewer than two readings.
        """
        from satline.api._reduced import Reduced
        from satline.reduction import reduce

        found = reduce(
            self.recording,
            load_axis,
            observation_s,
            filters=filters,
            variables=variables,
            also=also,
            classes=classes,
            class_width=class_width,
            class_observations=class_observations,
        )
        _require_loads(found, load_axis)
        return Reduced(found, self)

    def diagnose(
        self,
        reduced: Reduced | None = None,
        *,
        load_axis: str | None = None,
        filters: Filters | None = None,
        classes: str | None = None,
        class_width: float | None = None,
        class_observations: int | None = None,
    ) -> Diagnosed:
        """Say where the recording saturates, what holds it back, and how sure that is.

        Parameters
        ----------
        reduced
            What `reduce` gave for all variables, to save reducing again; the other parameters are then not
            used.
        load_axis, filters, classes, class_width, class_observations
            As for `reduce`.

        Raises
        ------
        InputError
            Fewer than two readings, or an axis that has no values.
        """
        from satline.api._diagnosed import Diagnosed
        from satline.diagnosis import diagnose, require_two_readings
        from satline.reconcile import Answers, story

        if reduced is None:
            require_two_readings(self.recording)
            reduced = self.reduce(
                load_axis,
                filters=filters,
                classes=classes,
                class_width=class_width,
                class_observations=class_observations,
            )
        found = diagnose(self.recording, reduced.result)
        told = story(self.recording, reduced.result, "diagnose", Answers(diagnosis=found))
        return Diagnosed(found, reduced, told)

    def compare(
        self,
        other: Side | Sequence[Side] | None = None,
        *,
        at: datetime | float | None = None,
        annotation: str | None = None,
        measure: str | None = None,
        load_axis: str | None = None,
        throughput: str | None = None,
        filters: Filters | None = None,
        class_observations: int | None = None,
    ) -> Compared:
        """Hold this recording, as before, against `other`, as after, at equal load; see `satline.compare`.

        Parameters
        ----------
        other
            An open recording, a path, or several of them; left out where this recording is cut in two.
        at, annotation
            Where this recording is cut: a moment, or the text of an annotation.
        measure, load_axis, throughput, filters, class_observations
            As for `satline.compare`.

        Raises
        ------
        InputError
            A recording lacks what is asked for, or has no observation on its side.
        """
        from satline.api._compared import compare

        return compare(
            self,
            () if other is None else other,
            at=at,
            annotation=annotation,
            measure=measure,
            load_axis=load_axis,
            throughput=throughput,
            filters=filters,
            class_observations=class_observations,
        )

    def predict(
        self,
        what_if: str | Sequence[str] = (),
        *,
        users: Sequence[int] | None = None,
        loads: tuple[float, float] | None = None,
        half: bool = False,
        think_s: float | None = None,
        by_class: bool = False,
        load_axis: str | None = None,
        filters: Filters | None = None,
        seed: int = 1,
    ) -> Predicted:
        """Predict throughput and response at other loads and after changes; as `satline.prediction.predict`.

        Parameters
        ----------
        what_if
            Changes, each a scenario: ``cpu=2x``, ``processors=4``, ``device:sda=2x``, ``storage=2x``; several
            at once with commas between them.
        users
            Numbers of users to answer for; default: the loads recorded, and some about saturation.
        loads, half
            Estimate the demands only from these loads, both ends included, or from the lower half.
        think_s
            The pause between transactions, where it is known better than the recording tells.
        by_class
            Answer by class of transactions too: ``result.by_class``.
        load_axis, filters
            As for `reduce`.
        seed
            Of the resampling that makes the intervals.

        Raises
        ------
        InputError
            A change of something that the recording does not show, or an axis that has no values.
        """
        from satline.api._predicted import Predicted
        from satline.prediction import changes, predict
        from satline.reconcile import Answers, story

        wanted = [changes(text) for text in ([what_if] if isinstance(what_if, str) else what_if)]
        curves = self.reduce(load_axis, filters=filters).result
        found = predict(
            self.recording,
            curves,
            loads=loads,
            half=half,
            users=users,
            what_if=wanted,
            think_s=think_s,
            classes=by_class,
            filters=filters,
            seed=seed,
        )
        return Predicted(found, story(self.recording, curves, "predict", Answers(prediction=found)))

    def close(self) -> None:
        """Remove a temporary import now; a recording that was there before stays."""
        if self._removes is not None:
            self._removes()

    def __enter__(self) -> OpenRecording:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _lines(self) -> list[str]:
        host = self.recording.description.get("host", {}).get("name")
        lines = [f"Recording {self.path}" + (f" of host {host}" if host else "")]
        if self.imported_from:
            kept = "temporary, removed when it is no longer used" if self.temporary else "kept"
            lines.append(f"imported from {self.imported_from}; {kept}")
        return [*lines, f"tables: {', '.join(self.tables)}"]

    def __repr__(self) -> str:
        from satline.present import visible

        return "\n  ".join(visible(line) for line in self._lines())

    def _repr_html_(self) -> str:
        return html_lines(self._lines()) + self.tables._repr_html_()


class Info(Result["Contents"]):
    """What is in a recording and what it can answer; made by `OpenRecording.info`.

    Its table has a row for each question: whether the recording suffices for it, why, and what would help.

    Attributes
    ----------
    suffices
        Load axes, questions and findings that the recording suffices for.
    """

    def __init__(self, result: Contents, suffices: Suffices, recording: OpenRecording) -> None:
        super().__init__(result)
        self.suffices = suffices
        self._recording = recording

    def lines(self) -> list[str]:
        """Readings, times, tables and loads."""
        found = self.result
        lines = [f"{found.path}: {found.readings} readings in {len(found.runs)} runs"]
        if found.runs:
            ends = (min(r.begins_ns for r in found.runs), max(r.ends_ns for r in found.runs))
            every = f", every {found.interval_s:.3g} s" if found.interval_s else ""
            lines.append(" to ".join(map(_clock, ends)) + every)
        for table in found.tables:
            names = ", ".join(table.names[:NAMES_SHOWN])
            whose = "" if table.entities is None else f" of {table.entities}: {names}"
            lines.append(f"{table.name}: {table.rows} rows{whose}")
        axes = [f"{a.axis} {a.low:.3g} to {a.high:.3g}" for a in self.suffices.axes]
        return [*lines, f"loads: {'; '.join(axes) or 'none'}"]

    def plot(self) -> object:
        """There is no curve in what a recording holds.

        Raises
        ------
        InputError
            Always.
        """
        raise InputError("nothing to draw of what a recording holds", hint="draw reduce() or diagnose()")

    def _table(self) -> pa.Table:
        columns = [
            Column("question", "text"),
            Column("answerable", "bool"),
            Column("why", "text"),
            Column("advice", "text"),
        ]
        rows = [(q.question, q.answerable, q.why, q.advice) for q in self.suffices.questions]
        return made_table(columns, rows)


def _clock(ns: int) -> str:
    try:
        return f"{datetime.fromtimestamp(ns / 1e9, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return "a time without a date"


def _require_loads(reduction: Reduction, asked: str | None) -> None:
    """An answer against a load that was asked for needs some value of it."""
    import numpy as np

    if asked is not None and len(reduction.load) and not np.isfinite(reduction.load).any():
        raise InputError(
            f"load_axis={asked!r}: the recording has no values of it",
            hint="info() lists the loads that it has",
        )
