"""Check a recording: can it be read, does it hold what it should, what is missing."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from satline.catalogue import TableDefinition
from satline.recording._files import Layout, RestFile, layout
from satline.recording._frames import Damage, read_segment
from satline.recording._open import Recording, quoted
from satline.recording._parquet import recorded_damage

if TYPE_CHECKING:
    import duckdb


@dataclass
class CheckReport:
    """What a check found.

    Attributes
    ----------
    path
        The recording.
    problems
        What makes it wrong: unreadable files, rows held twice, columns that are not in the catalogue, rows
        without time.
    warnings
        What is missing from a recording that is right as far as it goes: damaged tails, lost samples, no end.
    damage
        Damaged tails, those noted at compaction included.
    rows
        Rows per table.
    ended, end_reason
        Whether the recording says that it has ended, and why.
    lost_samples
        By run: sample numbers that are missing.
    falls
        By "table.column": how often a counter or accumulator of one entity fell within a run.
    """

    path: Path
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    ended: bool = False
    end_reason: str | None = None
    lost_samples: dict[int, int] = field(default_factory=dict)
    falls: dict[str, int] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether there is no problem; warnings do not count."""
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        """For JSON; paths become text."""
        content: dict[str, Any] = {"ok": self.ok, **asdict(self), "path": str(self.path)}
        content["damage"] = [{**asdict(d), "path": str(d.path)} for d in self.damage]
        return content


def check(path: Path | str) -> CheckReport:
    """Check the recording at `path`.

    Raises
    ------
    InputError
        If there is no recording or its description is broken.
    """
    recording = Recording.open(path)
    report = CheckReport(recording.path)
    head = recording.description.get("recording", {})
    report.ended = recording.ended
    report.end_reason = head.get("end_reason")
    for key in ("id", "created", "creator"):
        if key not in head:
            report.problems.append(f"recording.toml: [recording] has no {key}")
    if not report.ended:
        report.warnings.append("recording.toml: no end is stated: it is still being written, or was killed")
    found = layout(recording.path)
    _check_tables(recording, found, report)
    _check_overlaps(found, report)
    unreadable = _check_rest(recording, found, report)
    _check_segments(recording, found, report)
    if not unreadable:
        _check_rows(recording, report)
    return report


def _check_tables(recording: Recording, found: Layout, report: CheckReport) -> None:
    for table in sorted(found.tables() - set(recording.catalogue.tables)):
        report.problems.append(f"table {table!r} is not in the catalogue")


def _check_overlaps(found: Layout, report: CheckReport) -> None:
    last: dict[tuple[str, str, int], RestFile] = {}
    for file in found.rest:
        series = (file.table, file.writer, file.run)
        before = last.get(series)
        if before is not None and file.first <= before.last:
            report.problems.append(f"{file.path} and {before.path} hold the same sequences: rows count twice")
        if before is None or file.last > before.last:
            last[series] = file


def _check_rest(recording: Recording, found: Layout, report: CheckReport) -> bool:
    """Check the Parquet files one by one; returns whether any cannot be read."""
    unreadable = False
    for file in found.rest:
        try:
            schema = pq.read_schema(file.path)
            recorded_damage(file.path)
        except (pa.ArrowInvalid, OSError, ValueError, KeyError, TypeError) as error:
            report.problems.append(f"{file.path}: cannot be read: {error}")
            unreadable = True
            continue
        _check_schema(file.path, schema, recording.catalogue.tables.get(file.table), report)
    return unreadable


def _check_segments(recording: Recording, found: Layout, report: CheckReport) -> None:
    report.damage += recording.damage
    report.warnings += map(str, report.damage)
    highest: dict[tuple[str, str, int], int] = {}
    for f in found.rest:
        series = (f.table, f.writer, f.run)
        highest[series] = max(highest.get(series, -1), f.last)
    for segment in found.segments:
        series = (segment.table, segment.writer, segment.run)
        expected = highest.get(series, -1) + 1
        if segment.sequence > expected:
            report.warnings.append(
                f"{segment.path}: sequences {expected} to {segment.sequence - 1} are missing before it"
            )
        highest[series] = max(segment.sequence, expected - 1)
        try:
            content = read_segment(segment.path)
        except FileNotFoundError:
            continue
        if content.table is None:
            continue
        stated = (content.table.schema.metadata or {}).get(b"satline.table", b"").decode(errors="replace")
        if stated != segment.table:
            report.problems.append(f"{segment.path}: says that it belongs to table {stated!r}")
        _check_schema(
            segment.path, content.table.schema, recording.catalogue.tables.get(segment.table), report
        )


def _check_schema(
    path: Path, schema: pa.Schema, definition: TableDefinition | None, report: CheckReport
) -> None:
    if definition is None:
        return
    expected = definition.arrow_schema()
    for column in schema:
        if column.name not in expected.names:
            report.problems.append(f"{path}: column {column.name!r} is not in the catalogue")
        elif column.type != expected.field(column.name).type:
            wanted = expected.field(column.name).type
            report.problems.append(f"{path}: column {column.name!r} is {column.type}, it should be {wanted}")
    for name in ("time_ns", "monotonic_ns", "run"):
        if name not in schema.names:
            report.problems.append(f"{path}: has no column {name!r}")


def _check_rows(recording: Recording, report: CheckReport) -> None:
    import duckdb

    connection = recording.connect()
    for name in recording.tables():
        definition = recording.catalogue.tables[name]
        try:
            _check_table(connection, definition, report)
        except duckdb.Error as error:
            report.problems += _broken(recording, name) or [f"table {name!r}: cannot be read: {error}"]
    if "system" in report.rows:
        _check_samples(connection, report)
    connection.close()


def _broken(recording: Recording, table: str) -> list[str]:
    """Which of the table's files it is that cannot be read, though its schema could."""
    problems = []
    for file in (f.path for f in layout(recording.path).rest if f.table == table):
        try:
            pq.ParquetFile(file).read()
        except (pa.ArrowException, OSError, ValueError) as error:
            problems.append(f"{file}: cannot be read: {error}")
    return problems


def _check_samples(connection: duckdb.DuckDBPyConnection, report: CheckReport) -> None:
    gaps = """
        SELECT run, max(sample) - min(sample) + 1 - count(DISTINCT sample),
            count(sample) - count(DISTINCT sample)
        FROM system WHERE sample IS NOT NULL GROUP BY run ORDER BY run
    """
    for run, lost, doubled in connection.execute(gaps).fetchall():
        if lost:
            report.lost_samples[run] = lost
            report.warnings.append(f"run {run}: {lost} samples are missing")
        if doubled:
            report.problems.append(f"run {run}: {doubled} sample numbers come more than once")


def _check_table(
    connection: duckdb.DuckDBPyConnection, definition: TableDefinition, report: CheckReport
) -> None:
    table = quoted(definition.name)
    without = "time_ns IS NULL OR monotonic_ns IS NULL OR run IS NULL"
    counted = connection.execute(
        f"SELECT count(*), count(*) FILTER (WHERE {without}) FROM {table}"
    ).fetchone()
    rows, untimed = counted or (0, 0)
    report.rows[definition.name] = rows
    if untimed:
        report.problems.append(f"table {definition.name!r}: {untimed} rows have no time or run")
    rising = [c.name for c in definition.columns if c.kind in ("counter", "accumulator")]
    if not rising or not rows:
        return
    entity = ", ".join(quoted(c) for c in ("run", *definition.entity))
    fell = ", ".join(f"{quoted(c)} < lag({quoted(c)}) OVER w AS {quoted(c)}" for c in rising)
    counts = ", ".join(f"count(*) FILTER (WHERE {quoted(c)})" for c in rising)
    window = f"WINDOW w AS (PARTITION BY {entity} ORDER BY monotonic_ns)"
    result = connection.execute(f"SELECT {counts} FROM (SELECT {fell} FROM {table} {window})").fetchone()
    for column, count in zip(rising, result or (), strict=False):
        if count:
            report.falls[f"{definition.name}.{column}"] = count
            report.warnings.append(f"{definition.name}.{column} fell {count} times within a run")
