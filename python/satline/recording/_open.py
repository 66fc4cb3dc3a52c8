"""Open a recording, one that is being written too, and query it."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satline.catalogue import Catalogue, TableDefinition, catalogue
from satline.errors import InputError
from satline.recording import describe
from satline.recording._files import Layout, SegmentFile, is_being_written, layout
from satline.recording._frames import Damage, read_segment, split_frames
from satline.recording._integrity import Seen, Wrong, changed_files, look, missing, segment_differs
from satline.recording._ledger import Ledger, read_ledgers
from satline.recording._manifest import load

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_ATTEMPTS = 100
# A database takes as long to make as many a query of a small recording. What is larger has databases of its
# own, each with the memory that its reduction sets, and all threads.
_SHARED_BYTES = 10 * 2**20
# A table whose files are small is read whole once: each query of a file opens it anew, a millisecond or more.
# Of larger ones the columns that nobody asks for cost as much.
_WHOLE_BYTES = 2**18


class Recording:
    """A recording on disk. Nothing of its tables is read before `connect`.

    Attributes
    ----------
    path
        The directory.
    description
        recording.toml.
    sources
        sources/<writer>.toml by writer.
    """

    def __init__(
        self, path: Path, description: dict[str, Any], sources: dict[str, dict[str, Any]], of: Catalogue
    ) -> None:
        self.path = path
        self.description = description
        self.sources = sources
        self.catalogue = of
        self._loaded: dict[str, _Loaded] = {}
        self._database: _Database | None = None

    @classmethod
    def open(cls, path: Path | str, *, of: Catalogue | None = None) -> Recording:
        """Open the recording at `path`.

        Raises
        ------
        InputError
            If there is none, or its description is broken or of an unknown version, or a source's.
        """
        path = Path(path)
        if not path.is_dir():
            if path.exists():
                raise InputError(
                    f"{path}: not a directory, so no recording",
                    hint=f"a recording is a directory NAME.satline; `satline import {path.name}` makes one of"
                    " an archive or a table of readings",
                )
            raise InputError(f"{path}: no such recording", hint="a recording is a directory NAME.satline")
        description = describe.read(path)
        return cls(path, description, describe.read_sources(path), of or catalogue())

    @property
    def checksummed(self) -> bool:
        """Whether all its files carry checksums; false of a recording of before they did."""
        return "checksums" in self.description

    @property
    def pruned(self) -> tuple[int, int] | None:
        """What retention let go: rows of all tables, and real time of the last, ns; None: nothing.

        Raises
        ------
        InputError
            If the manifest is damaged.
        """
        manifest = load(self.path)
        gone = [one for every in manifest.pruned.values() for one in every] if manifest is not None else []
        return (sum(p.rows for p in gone), max(p.last_ns for p in gone)) if gone else None

    @property
    def ended(self) -> bool:
        """Whether the recording says that it has ended; false while it is written and after a kill."""
        return "ended" in self.description.get("recording", {})

    def tables(self) -> tuple[str, ...]:
        """Tables that hold anything, in the catalogue's order."""
        present = layout(self.path).tables()
        return tuple(t for t in self.catalogue.tables if t in present)

    @cached_property
    def damage(self) -> tuple[Damage, ...]:
        """What is damaged in segments, those that compaction has taken over included.

        What a living writer is just writing is not damage.
        """
        ledgers = read_ledgers(self.path)
        found = layout(self.path)
        damages = [d for s in found.segments if (d := _damage(s, ledgers)) is not None]
        noted = set()
        for file in found.rest:
            recorded = _recorded_damage(file.path)
            noted |= {(file.table, d.path.name) for d in recorded}
            damages += recorded
        # Of a segment that gave no row no Parquet file tells.
        for kept in sorted(self.path.glob("segments/*/*.seg.damaged*")):
            if (kept.parent.name, kept.name.partition(".damaged")[0]) not in noted:
                damage = read_segment(kept).damage
                damages += [damage] if damage is not None else []
        return tuple(damages)

    def connect(
        self, *, tables: Iterable[str] | None = None, connection: duckdb.DuckDBPyConnection | None = None
    ) -> duckdb.DuckDBPyConnection:
        """A DuckDB connection with one view per table of the catalogue.

        Rows at rest are read from Parquet when a query needs them. Rows in segments are loaded now: the views
        show the recording as it is at this call. A table that the recording does not have is an empty view; a
        column that a file does not have is null.

        Parameters
        ----------
        tables
            Only these; default: all. Segments of others are not loaded.
        connection
            Make the views in this connection; default: a new one in memory.

        Raises
        ------
        InputError
            If `tables` names one that the catalogue does not have, or something of them is missing or
            damaged: a file at rest that is not as it was written, a segment that is not there. Damage within
            a segment is left out, and in `damage`.
        """
        return self._connect(tables, connection, checked=True)

    def reading(self, *, tables: Iterable[str] | None = None) -> duckdb.DuckDBPyConnection:
        """As `connect`, for those who make nothing but temporary tables and views.

        Of a small recording all such connections are of one database, made once while no file changes. Its
        tables are not to be changed; what is temporary is each connection's own.
        """
        return self._connect(tables, None, checked=True, shared=True)

    def connect_unchecked(self, *, tables: Iterable[str] | None = None) -> duckdb.DuckDBPyConnection:
        """As `connect`, whatever is missing or damaged: for those who say themselves what is."""
        return self._connect(tables, None, checked=False)

    def _connect(
        self,
        tables: Iterable[str] | None,
        connection: duckdb.DuckDBPyConnection | None,
        *,
        checked: bool,
        shared: bool = False,
    ) -> duckdb.DuckDBPyConnection:
        import duckdb

        names = tuple(self.catalogue.tables) if tables is None else tuple(tables)
        definitions = [self.catalogue.table(name) for name in names]
        files, in_flight = self._load(frozenset(names), checked=checked)
        at_rest = {d.name: [f.path for f in files.rest if f.table == d.name] for d in definitions}
        database = self._database_of(files, in_flight) if shared else None
        if database is not None:
            connection = database.connection.cursor()
            for definition in definitions:
                name, rows = definition.name, in_flight.get(definition.name)
                if rows is not None:
                    # Rows in segments change from call to call: this connection alone sees these.
                    _make_view(connection, definition, at_rest[name], rows, kind="TEMP VIEW")
                elif name not in database.viewed:
                    kind = "TABLE" if database.held[name] <= _WHOLE_BYTES else "VIEW"
                    _make_view(database.connection, definition, at_rest[name], None, kind=kind)
                    database.viewed.add(name)
            return connection
        connection = connection or duckdb.connect()
        for definition in definitions:
            _make_view(connection, definition, at_rest[definition.name], in_flight.get(definition.name))
        return connection

    def _database_of(self, files: Layout, in_flight: dict[str, pa.Table]) -> _Database | None:
        """The database that connections for reading share, as long as the files at rest are these."""
        import duckdb

        try:
            facts = [(file.path, file.path.stat()) for file in files.rest]
        except FileNotFoundError:
            return None
        held = sum(fact.st_size for _, fact in facts) + sum(rows.nbytes for rows in in_flight.values())
        if held > _SHARED_BYTES:
            return None
        state = tuple((path, fact.st_size, fact.st_mtime_ns) for path, fact in facts)
        if self._database is None or self._database.state != state:
            # One thread: so little is read in one go anyway, and sums come in the same order every time.
            sizes: Counter[str] = Counter()
            for file, (_, fact) in zip(files.rest, facts, strict=True):
                sizes[file.table] += fact.st_size
            self._database = _Database(state, duckdb.connect(config={"threads": 1}), sizes, set())
        return self._database

    def _load(self, names: frozenset[str], *, checked: bool) -> tuple[Layout, dict[str, pa.Table]]:
        """The files and the rows of segments of these tables, at one instant; compaction may be at work.

        A table whose segments are as they were at the last call is not read again.
        """
        for _ in range(_ATTEMPTS):
            seen = look(self.path, layout) if checked else None
            files = layout(self.path) if seen is None else seen.layout
            segments: dict[str, list[Path]] = {}
            for segment in files.segments:
                segments.setdefault(segment.table, []).append(segment.path)
            try:
                loaded = {n: self._load_table(n, paths) for n, paths in segments.items() if n in names}
            except FileNotFoundError:
                # Compaction has taken it over since it was listed: look again.
                continue
            if seen is not None:
                self._require(seen, names)
            for gone in self._loaded.keys() - segments.keys():
                del self._loaded[gone]
            return files, {n: table for n, table in loaded.items() if table is not None}
        raise InputError(
            f"{self.path}: its segments go away while they are read",
            hint="try again when nothing changes it",
        )

    def wrong(self, seen: Seen | None = None, tables: Iterable[str] | None = None) -> list[Wrong]:
        """What is missing of the recording's files, or not as it was written; reads files at rest once.

        Raises
        ------
        InputError
            If the manifest itself is damaged.
        """
        seen = seen or look(self.path, layout)
        names = None if tables is None else frozenset(tables)
        found = missing(
            self.path,
            seen,
            checksummed=self.checksummed,
            identity=str(self.description.get("recording", {}).get("id", "")),
            ended=self.description.get("recording", {}).get("end_reason") == "complete",
            tables=names,
        )
        return found + changed_files(self.path, seen, names)

    def _require(self, seen: Seen, names: frozenset[str]) -> None:
        found = self.wrong(seen, names)
        if found:
            more = f"\n{len(found) - 1} more such files" if len(found) > 1 else ""
            raise InputError(
                f"{found[0]}{more}",
                hint="`satline recording check` lists all; bring them back from a copy, or let"
                " `satline recording seal` accept what is left",
            )

    def _load_table(self, name: str, paths: list[Path]) -> pa.Table | None:
        import pyarrow as pa

        state = tuple((path, stat.st_size, stat.st_mtime_ns) for path in paths for stat in [path.stat()])
        known = self._loaded.get(name)
        if known is not None and known.state == state:
            return known.rows
        tables = [table for path in paths if (table := read_segment(path).table) is not None]
        parts = [table.replace_schema_metadata(None) for table in tables]
        rows = pa.concat_tables(parts, promote_options="default").combine_chunks() if parts else None
        self._loaded[name] = _Loaded(state, rows)
        return rows


@dataclass(frozen=True)
class _Loaded:
    """The rows of a table's segments, and what these were then: path, bytes, time of the last change."""

    state: tuple[tuple[Path, int, int], ...]
    rows: pa.Table | None


@dataclass(frozen=True)
class _Database:
    """A database of files at rest: what these were then, the bytes of each table's, and the tables that it
    shows."""

    state: tuple[tuple[Path, int, int], ...]
    connection: duckdb.DuckDBPyConnection
    held: Counter[str]
    viewed: set[str]


def _make_view(
    connection: duckdb.DuckDBPyConnection,
    definition: TableDefinition,
    rest: list[Path],
    in_flight: pa.Table | None,
    *,
    kind: str = "VIEW",
) -> None:
    import duckdb

    columns = ", ".join(f"NULL::{c.sql_type} AS {quoted(c.name)}" for c in definition.columns)
    parts = [f"SELECT {columns} WHERE false"]
    if rest:
        files = ", ".join(literal(_glob_escaped(str(p))) for p in rest)
        parts.append(
            f"SELECT * FROM read_parquet([{files}], union_by_name = true, hive_partitioning = false)"
        )
    if in_flight is not None:
        name = f"segments of {definition.name}"
        connection.register(name, in_flight)
        parts.append(f"SELECT * FROM {quoted(name)}")
    view = f"CREATE OR REPLACE {kind} {quoted(definition.name)} AS {' UNION ALL BY NAME '.join(parts)}"
    try:
        connection.execute(view)
    except duckdb.Error as error:
        broken = _unreadable(rest) or (rest[0].parent.parent if rest else definition.name)
        raise InputError(
            f"{broken}: cannot be read: {cause(error)}",
            hint="`satline recording check` says what is broken; a copy, or what made it, brings it back",
        ) from error


def _unreadable(files: list[Path]) -> Path | None:
    """The first of these that is no whole Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for file in files:
        try:
            pq.read_schema(file)
        except (pa.ArrowException, OSError, ValueError):
            return file
    return None


def cause(error: Exception) -> str:
    """What DuckDB says is wrong, without the query in which it met it."""
    return str(error).partition("LINE 1:")[0].strip()


def quoted(name: str) -> str:
    """An SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """An SQL text."""
    return "'" + text.replace("'", "''") + "'"


def _glob_escaped(path: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in path)


def _recorded_damage(file: Path) -> list[Damage]:
    import pyarrow as pa

    from satline.recording._parquet import recorded_damage

    try:
        return recorded_damage(file)
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError):
        return []  # whoever queries the file is told that it is broken


def _damage(segment: SegmentFile, ledgers: dict[tuple[str, int], Ledger]) -> Damage | None:
    try:
        # Asked before it is read: a writer that ends in between has then written its tail.
        growing = is_being_written(segment.path)
        data = segment.path.read_bytes()
    except FileNotFoundError:
        return None
    _, damage = split_frames(data, segment.path)
    if damage is None and (why := segment_differs(segment, ledgers, len(data), zlib.crc32(data))) is not None:
        return Damage(segment.path, len(data), 0, why)
    return None if growing and damage is not None and damage.tail else damage
