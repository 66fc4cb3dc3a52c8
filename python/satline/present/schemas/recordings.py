"""Documents about recordings: made, described, maintained, kept in a history; and of guests."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Literal

from satline.diagnosis import Suffices
from satline.history import Added, Rules
from satline.present.schemas.shared import Named, Span, Stored
from satline.recording import CheckReport, Contents, PruneReport


@dataclass(frozen=True)
class Imported(Span):
    """A recording that another collector's archive became.

    source_format
        Of the archive.
    readings
        Rows of table system.
    zone
        The time zone of the times.
    runs, gaps
        Parts that the host or its collector was started anew between; times without readings.
    missing
        Signals that the archive lacks: which, why, and what would have them.
    damage, notes
        What was left out as damaged; what else is to be known.
    """

    recording: Path
    source_format: str
    readings: int
    interval_s: float | None
    zone: str
    runs: list[Span]
    gaps: list[Span]
    tables: list[str]
    missing: list[dict[str, Any]]
    damage: list[str]
    notes: list[str]


@dataclass(frozen=True)
class ImportFormat(Named):
    """A format, what it is, and commands that make or take it."""

    title: str
    examples: list[str]


@dataclass(frozen=True)
class ImportFormats:
    """All formats."""

    formats: list[ImportFormat]


@dataclass(frozen=True, kw_only=True)
class Described:
    """What a recording says of itself.

    creator
        The program that made it.
    ended, end_reason
        Whether it says that it has ended, and why.
    study
        Title of the study that made it.
    pruned
        What retention let go: rows, and the time of the last of them.
    origin
        What it was converted from.
    users
        What counts as a user.
    methods
        How things were measured.
    damage, notes
        What is damaged; what else is to be known.
    implausible
        Values left out as impossible.
    missing
        Signals that its sources lack.
    """

    creator: str | None
    ended: bool
    end_reason: str | None
    host: dict[str, Any]
    study: str | None
    pruned: dict[str, int] | None
    origin: dict[str, Any] | None
    users: str | None
    methods: dict[str, Any]
    damage: list[str]
    notes: list[str]
    implausible: list[Any]
    missing: list[Any]


@dataclass(frozen=True, kw_only=True)
class Info(Described, Suffices, Contents):
    """What a recording contains, and what it can answer."""


@dataclass(kw_only=True)
class Checked(CheckReport):
    """What a check found.

    ok
        Nothing is wrong.
    """

    ok: bool = field()


@dataclass(frozen=True)
class Description:
    """A recording's own description, as its sources wrote it.

    description
        `recording.toml`.
    sources
        By source: what it says of itself.
    tables
        Tables that hold anything.
    """

    description: dict[str, Any]
    sources: dict[str, Any]
    tables: list[str]


@dataclass(frozen=True)
class Joined(Span):
    """Requests of a log as transactions of a recording.

    left_out
        Requests that began outside of the readings.
    users, classes
        How many the log names; ``None``: it names none.
    """

    recording: Path
    requests: int
    left_out: int
    users: int | None
    classes: int | None
    damage: list[str]
    notes: list[str]


@dataclass(frozen=True)
class Compacted:
    """Segments that became Parquet.

    left
        Segments that may still grow.
    damaged
        Damaged places.
    kept
        Segments that are kept because they are damaged.
    """

    segments: int
    rows: int
    left: int
    damaged: int
    kept: list[Path]
    bytes_before: int
    bytes_after: int


@dataclass(kw_only=True)
class RecordingPruned(PruneReport):
    """What retention let go.

    dry_run
        Nothing was deleted.
    bytes
        Of what goes.
    """

    dry_run: bool
    bytes: int


@dataclass(frozen=True)
class Copied:
    """A copy with pseudonyms.

    key
        Which key made them.
    names
        How many names were replaced.
    rows
        By table.
    left_out
        What is not in the copy.
    original_signed
        The original was signed; the copy is not.
    """

    path: Path
    key: str
    names: int
    rows: dict[str, int]
    left_out: list[str]
    original_signed: bool


@dataclass(frozen=True)
class Revealed:
    """By pseudonym: the name."""

    names: dict[str, str]


@dataclass(frozen=True)
class HistoryAdded:
    """Recordings that were added to a history."""

    added: list[Added]


@dataclass(frozen=True)
class HistoryDay:
    """A day of a history.

    detail
        What is kept of it.
    keep
        It is kept at full detail whatever the rules.
    """

    day: date
    weekday: str
    detail: Literal["full", "hourly"]
    mark: str | None
    keep: bool
    note: str
    recordings: list[str]


@dataclass(frozen=True)
class HistoryDays:
    """All days of a history."""

    days: list[HistoryDay]


class HistoryRules(Rules):
    """Retention rules, in days.

    days
        Days that are kept at full detail whatever the rules.
    """

    days: list[date]


@dataclass(frozen=True)
class HistoryPruned:
    """What the rules let go.

    dry_run
        Nothing was deleted.
    full, hourly
        Recordings and days whose full detail, whose hourly readings go.
    kept
        Recordings and days that should go and are kept, and why.
    """

    dry_run: bool
    full: list[tuple[str, date]]
    hourly: list[tuple[str, date]]
    kept: list[tuple[str, date, str]]
    bytes: int


@dataclass(frozen=True)
class Guests:
    """Images that guests boot from, and snapshots of guests that were started, with what they are of."""

    images: list[Stored]
    snapshots: list[Stored]
