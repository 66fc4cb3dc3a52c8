"""A copy of a recording in which no name is readable: users, groups, commands, hosts have pseudonyms.

The figures and their times stay. The same key gives the same pseudonyms, so that two copies can be compared;
without it no name can be had back, nor a guess be tried.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from satline.atomic import replace_file
from satline.catalogue import TableDefinition
from satline.errors import InputError
from satline.recording import describe
from satline.recording._described import description_without_names, source_without_names
from satline.recording._files import RestFile, SegmentFile, layout, locked, sync_directory
from satline.recording._frames import Damage, read_segment
from satline.recording._key import Key
from satline.recording._manifest import FILE as MANIFEST
from satline.recording._manifest import Entry, Gone, changed, load, publish_all
from satline.recording._names import Pseudonymiser
from satline.recording._open import Recording
from satline.recording._parquet import conform, day_name, recorded_damage, split_days, write
from satline.recording._sealed_names import FILE as NAMES
from satline.recording._sealed_names import sealed_names
from satline.recording._trust import SIGNATURE

# Sentences in them hold names that other tables have as columns.
_LAST = ("thermometer", "event")
_EMULATED = ("emulated", "simulated")


@dataclass
class Pseudonymised:
    """What became of a recording.

    Attributes
    ----------
    path
        The copy.
    names
        How many names were replaced.
    rows
        Rows per table.
    left_out
        What is not in the copy: files, sections and tables that could not be looked through.
    signed
        The original was signed. Its signature is not one of the copy.
    """

    path: Path
    names: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    signed: bool = False


def pseudonymise(
    source: Path | str, target: Path | str, key: Key, *, keep_files: bool = False, with_names: bool = True
) -> Pseudonymised:
    """Make a copy of a recording in which names are replaced by keyed hashes.

    Parameters
    ----------
    source
        The recording; it may still be being written.
    target
        The copy; must not exist.
    keep_files
        A study's files, its name, scripts and classes stand as they are: they are needed to tell its windows
        exactly.
    with_names
        Write `names.sealed` into the copy, from which the key gives the names back.

    Raises
    ------
    InputError
        If something of the recording is missing or damaged, it has pseudonyms already, or there is a file at
        `target`.
    """
    source, target = Path(source), Path(target)
    opened = Recording.open(source)
    if "pseudonyms" in opened.description:
        raise InputError(f"{source}: has pseudonyms already", hint="make the copy of the original")
    if target.exists() or target.is_symlink():
        raise InputError(f"{target}: is there already", hint="choose another name, or delete it")
    names = Pseudonymiser(
        key, emulated=_is_emulated(opened), as_they_are=frozenset({"class"} if keep_files else ())
    )
    done = Pseudonymised(target, signed=(source / SIGNATURE).exists())
    making = target.with_name(f".{target.name}.{secrets.token_hex(6)}.making")
    try:
        making.mkdir(parents=True)
        # Compaction would take files away meanwhile.
        with locked(source / "tables") if (source / "tables").is_dir() else locked(source):
            _require_whole(opened)
            _tables(opened, making, names, done)
        _descriptions(opened, making, names, done, keep_files=keep_files)
        if with_names:
            replace_file(making / NAMES, sealed_names(key, names.names))
        done.names = len(names.names)
        for directory in (making / "sources", making):
            sync_directory(directory)
        making.rename(target)
        sync_directory(target.parent)
    except OSError as error:
        shutil.rmtree(making, ignore_errors=True)
        raise InputError(
            f"{error.filename or target}: {error.strerror}", hint="choose a place where you may write"
        ) from error
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise
    return done


def _is_emulated(recording: Recording) -> bool:
    """Whether Satline made the users, and numbered them."""
    definitions = [
        s["users"].get("definition")
        for s in recording.sources.values()
        if isinstance(s.get("users"), Mapping)
    ]
    if not definitions:
        return "terminal" in recording.sources
    return all(one in _EMULATED for one in definitions)


def _require_whole(recording: Recording) -> None:
    found = recording.wrong()
    if found:
        raise InputError(str(found[0]), hint="`satline recording check` lists all that is missing or damaged")


def _tables(source: Recording, making: Path, names: Pseudonymiser, done: Pseudonymised) -> None:
    found = layout(source.path)
    known = source.catalogue.tables
    done.left_out += [f"table {table}" for table in sorted(found.tables() - known.keys())]
    files: list[RestFile | SegmentFile] = [*found.rest, *found.segments]
    last = [*(t for t in known if t not in _LAST), *_LAST]
    for file in sorted((f for f in files if f.table in known), key=lambda f: (last.index(f.table), f.path)):
        definition = known[file.table]
        if isinstance(file, RestFile):
            rows, damage, sequences = *_read(file), (file.first, file.last)
        else:
            content = read_segment(file.path)
            rows, sequences = content.table, (file.sequence, file.sequence)
            # What is not yet whole of a segment that is being written is not damage.
            damage = [content.damage] if content.damage is not None and not content.damage.tail else []
        if rows is None or rows.num_rows == 0:
            continue
        try:
            rows = _without_names(rows, definition, names)
        except (pa.ArrowException, ValueError) as error:
            raise _unreadable(file.path, error) from error
        _write(making, file, sequences, rows, definition, damage)
        done.rows[file.table] = done.rows.get(file.table, 0) + rows.num_rows
    _carry_gone(source.path, making)
    trace = sorted((source.path / "trace").glob("*"))
    done.left_out += [f"{len(trace)} traces of the kernel"] if trace else []


def _read(file: RestFile) -> tuple[pa.Table, list[Damage]]:
    """Rows of a file at rest, and what was left out of it."""
    import pyarrow.parquet as pq

    try:
        rows = pq.read_table(file.path, page_checksum_verification=True, partitioning=None)
        return rows, recorded_damage(file.path)
    except (pa.ArrowException, ValueError, KeyError, TypeError) as error:
        raise _unreadable(file.path, error) from error


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(
        f"{path}: cannot be read: {error}", hint="`satline recording check` says what is broken"
    )


def _write(
    making: Path,
    file: RestFile | SegmentFile,
    sequences: tuple[int, int],
    rows: pa.Table,
    definition: TableDefinition,
    damage: list[Damage],
) -> None:
    days = [file.day] if isinstance(file, RestFile) else [day_name(day) for day, _ in split_days(rows)]
    if len(set(days)) > 1:
        raise InputError(
            f"{file.path}: has rows of more than one day",
            hint="it was not made by Satline; take it out of the recording",
        )
    directory = making / "tables" / file.table / f"day={days[0]}"
    name = f"{file.writer}-{file.run}-{sequences[0]}-{sequences[1]}.parquet"
    publish_all(making, [(write(directory / name, rows, definition, damage), directory / name)])


def _without_names(rows: pa.Table, definition: TableDefinition, names: Pseudonymiser) -> pa.Table:
    """Rows with pseudonyms in place of names; texts in columns that are not known are replaced as a whole."""
    rows = conform(rows.replace_schema_metadata(None), definition)
    for place, column in enumerate(rows.schema):
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            continue
        known = definition.column(column.name)
        rule = known.names if known is not None else ""
        if rule == "event-text":
            texts = [
                None if text is None else names.event_text(event or "", text)
                for event, text in zip(rows["event"].to_pylist(), rows[column.name].to_pylist(), strict=True)
            ]
            replaced: Any = pa.array(texts, column.type)
        else:
            coded = rows[column.name].combine_chunks().dictionary_encode()
            coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
            values = [None if v is None else names.replace(v, rule) for v in coded.dictionary.to_pylist()]
            replaced = pa.array(values, column.type).take(coded.indices)
        rows = rows.set_column(place, column, replaced)
    return rows


def _carry_gone(source: Path, making: Path) -> None:
    """Say of the copy, too, what was let go or lost; without checksums, which would be the original's."""
    manifest = load(source)
    if manifest is None or not (manifest.gone or manifest.lost or manifest.pruned):
        return
    with changed(making) as made:
        for place, gone in manifest.gone.items():
            e = gone.entry
            made.gone[place] = Gone(
                Entry(place, e.bytes, 0, "", rows=e.rows, first_ns=e.first_ns, last_ns=e.last_ns), gone.reason
            )
        made.lost, made.pruned = manifest.lost, manifest.pruned


def _descriptions(
    source: Recording, making: Path, names: Pseudonymiser, done: Pseudonymised, *, keep_files: bool
) -> None:
    description, left = description_without_names(source.description, names, keep_files=keep_files)
    done.left_out += left
    head = description.setdefault("recording", {})
    owner = names.key.hash("recording", str(source.description.get("recording", {}).get("id", "")))
    head["id"] = owner
    description["pseudonyms"] = {"key": names.key.id, "original_signed": done.signed}
    for part in ("sources", "segments", "tables"):
        (making / part).mkdir(parents=True, exist_ok=True)
    describe.replace(making, description)
    for writer, said in source.sources.items():
        file = making / "sources" / f"{writer}.toml"
        describe.write_toml_atomically(file, source_without_names(said, names), seal=owner)
    if (making / MANIFEST).exists():
        with changed(making) as manifest:
            manifest.recording = owner
