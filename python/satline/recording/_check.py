"""Check a recording: can it be read, does it hold what it should, what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from satline.catalogue import TableDefinition
from satline.errors import InputError
from satline.recording._files import Layout, RestFile, layout
from satline.recording._frames import Damage, read_segment
from satline.recording._integrity import Seen, look
from satline.recording._ledger import read_ledgers
from satline.recording._manifest import digest
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
    checksums
        Whether all its files carry checksums; false of a recording of before they did.
    problems
        What makes it wrong: files that are missing, damaged or unreadable, fewer samples than its writer
        says, rows held twice, columns that are not in the catalogue, rows without time.
    warnings
        What is missing from a recording that is right as far as it goes: damaged tails, lost samples, no end.
    damage
        Damaged tails, those noted at compaction included.
    rows
        Rows per table.
    ended, end_reason
        Whether the recording says that it has ended, and why.
    pruned_rows, pruned_until_ns
        Rows that retention let go, of all tables, and the time of the last of them; 0 and None: none.
    lost_samples
        By run: sample numbers that are missing.
    falls
        By "table.column": how often a counter or accumulator of one entity fell within a run.
    """

    path: Path
    checksums: bool = True
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    ended: bool = False
    end_reason: str | None = None
    pruned_rows: int = 0
    pruned_until_ns: int | None = None
    lost_samples: dict[int, int] = field(default_factory=dict)
    falls: dict[str, int] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether there is no problem; warnings do not count."""
        return not self.problems


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
    report.checksums = recording.checksummed
    if not report.checksums:
        report.warnings.append(
            "without checksums: it was made before files had them; damage to tables cannot be seen"
        )
    try:
        seen = look(recording.path, layout)
    except InputError as error:
        report.problems.append(error.message)
        seen = Seen(read_ledgers(recording.path), layout(recording.path), None)
    found = seen.layout
    damaged = _check_integrity(recording, seen, report)
    _check_tables(recording, found, report)
    _check_overlaps(found, report)
    unreadable = _check_rest(recording, found, damaged, report)
    _check_segments(recording, seen, report)
    if not unreadable:
        _check_rows(recording, found, report)
        _check_sources(recording, seen, report)
    return report


def _check_integrity(recording: Recording, seen: Seen, report: CheckReport) -> set[Path]:
    """Hold every file against the manifest and the ledgers, by SHA-256; returns those that are damaged."""
    wrong = recording.wrong(seen)
    report.problems += map(str, wrong)
    damaged = {w.path for w in wrong if w.changed}
    manifest = seen.manifest
    if manifest is None:
        return damaged
    for file in seen.layout.rest:
        entry = manifest.files.get(file.path.relative_to(recording.path).as_posix())
        if entry is None:
            continue
        try:
            same = file.path in damaged or digest(file.path)[2] == entry.sha256
        except FileNotFoundError:
            continue
        if not same:
            damaged.add(file.path)
            report.problems.append(
                f"{file.path}: damaged: its SHA-256 is not the manifest's ({entry.holds()})"
            )
    for gone in manifest.gone.values():
        if gone.lost:
            report.warnings.append(f"{recording.path / gone.entry.file}: {gone.reason}: {gone.entry.holds()}")
    report.pruned_rows, report.pruned_until_ns = recording.pruned or (0, None)
    for (table, writer, run), pairs in manifest.lost.items():
        for first, last in pairs:
            report.warnings.append(
                f"table {table!r}: segments {first} to {last} of {writer}, run {run}: lost, accepted"
            )
    return damaged


def _check_sources(recording: Recording, seen: Seen, report: CheckReport) -> None:
    """Hold the samples that writers say they wrote against the rows of table system."""
    writers = [w for w in ("monitor", "machine") if w in recording.sources]
    if len(writers) != 1 or "clock" in recording.sources[writers[0]]:
        return  # whose rows are whose cannot be told; readings from another host are cut to the study's time
    said = recording.sources[writers[0]]
    samples = said.get("sampling", {}).get("samples")
    if said.get("end_reason") not in ("complete", "interrupted") or not isinstance(samples, int):
        return
    there = _samples_of_a_run(recording, _pruned_samples(seen, writers[0]))
    if there < samples:
        report.problems.append(
            f"sources/{writers[0]}.toml: says {samples:,} samples;"
            f" table 'system' has no run of more than {there:,}"
        )


def _samples_of_a_run(recording: Recording, pruned: Mapping[int, int]) -> int:
    """Samples of the run that has most, with those that retention let go."""
    connection = recording.connect_unchecked(tables=["system"])
    each = connection.execute("SELECT run, count(DISTINCT sample) FROM system GROUP BY run").fetchall()
    connection.close()
    there = {int(run): int(count) for run, count in each if run is not None}
    return max((there.get(run, 0) + pruned.get(run, 0) for run in there.keys() | pruned.keys()), default=0)


def _pruned_samples(seen: Seen, writer: str) -> dict[int, int]:
    """Samples that retention let go, by run."""
    found = seen.manifest.pruned if seen.manifest is not None else {}
    return {
        run: sum(one.rows for one in pruned)
        for (table, by, run), pruned in found.items()
        if (table, by) == ("system", writer)
    }


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


def _check_rest(recording: Recording, found: Layout, damaged: set[Path], report: CheckReport) -> bool:
    """Check the Parquet files one by one; returns whether any cannot be read, or is damaged."""
    unreadable = False
    for file in found.rest:
        if file.path in damaged:
            unreadable = True
            continue
        try:
            schema = pq.read_schema(file.path)
            recorded_damage(file.path)
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
            report.problems.append(f"{file.path}: cannot be read: {error}")
            unreadable = True
            continue
        _check_schema(file.path, schema, recording.catalogue.tables.get(file.table), report)
    return unreadable


def _check_segments(recording: Recording, seen: Seen, report: CheckReport) -> None:
    found = seen.layout
    report.damage += recording.damage
    report.warnings += map(str, report.damage)
    highest: dict[tuple[str, str, int], int] = {}
    for f in found.rest:
        series = (f.table, f.writer, f.run)
        highest[series] = max(highest.get(series, -1), f.last)
    for series, pruned in (seen.manifest.pruned if seen.manifest is not None else {}).items():
        highest[series] = max(highest.get(series, -1), *(one.last for one in pruned))
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


def _check_rows(recording: Recording, found: Layout, report: CheckReport) -> None:
    import duckdb

    connection = recording.connect_unchecked()
    present = found.tables()
    for name in (t for t in recording.catalogue.tables if t in present):
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
