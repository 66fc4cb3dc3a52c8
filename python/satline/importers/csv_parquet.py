"""Plain tables, CSV or Parquet, by a mapping file; response times of any application's log among them."""

from __future__ import annotations

import re
from datetime import UTC
from pathlib import Path
from typing import Any

import numpy as np

from satline.errors import InputError
from satline.importers._importer import Importer, Options, compressed
from satline.importers._mapping import File, Mapping, Transaction, by_names, read_mapping
from satline.importers._plain_columns import ALL, Placed, place_columns, place_readings
from satline.importers._plain_tables import PlainTable, column_names, read_plain
from satline.importers._requests import coarse, transactions
from satline.importers._series import BROKEN
from satline.importers._sink import Integers, Sink

_ENDINGS = re.compile(r"\.(csv|tsv|parquet|pq)(\.(gz|bz2|xz))?$", re.IGNORECASE)
MOST_READINGS = 5_000_000


def recognise(source: str) -> float:
    """By the ending and the first line; of a directory, whether such files are in it."""
    try:
        path = Path(source)
        if path.is_dir():
            plain = any(_ENDINGS.search(f.name) for f in path.iterdir())
            return 0.4 if plain and not (path / "recording.toml").exists() else 0.0
        with compressed(path)(path, "rb") as file:
            head = file.read(4096)
    except (*BROKEN, ValueError):
        return 0.0
    if head[:4] == b"PAR1":
        return 0.8
    if b"\0" in head or not _ENDINGS.search(path.name) or head[:1] == b"#":
        return 0.0
    return 0.6 if re.search(rb"^[^\n]+[,;\t][^\n]+\n", head) else 0.3


def read(source: str, options: Options, sink: Sink) -> None:
    """Read a file, or the files of a directory that the mapping names."""
    path = Path(source)
    if options.mapping is None:
        if path.is_dir():
            raise InputError(
                f"{path}: a directory needs a mapping file", hint="name its files there: [[file]] path = …"
            )
        mapping, files = Mapping.model_construct(), [(path, by_names(path, column_names(path)))]
    else:
        mapping = read_mapping(options.mapping)
        files = [(_place(path, one, options.mapping), one) for one in mapping.files()]
    placed, tables = _readings(files, mapping, options, sink)
    _write(placed, tables, mapping, options, sink)
    origin: dict[str, Any] = {"format": "csv", "files": [str(p) for p, _ in files]}
    if options.mapping is not None:
        origin["mapping"] = options.mapping.read_text(encoding="utf-8")
    zone = options.zone or UTC
    sink.origin(**origin, zone=next((f.time.zone for _, f in files if f.time.zone), str(zone)))
    sink.host(
        name=mapping.constants.host,
        processors=mapping.constants.processors,
        memory_bytes=mapping.constants.memory_bytes,
    )


def _place(source: Path, file: File, mapping: Path) -> Path:
    if file.path is None:
        if source.is_dir():
            raise InputError(
                f"{mapping}: does not say which file of {source} it is for",
                hint="write [[file]] with its path",
            )
        return source
    return (source if source.is_dir() else source.parent) / file.path


def _readings(
    files: list[tuple[Path, File]], mapping: Mapping, options: Options, sink: Sink
) -> tuple[list[Placed], list[tuple[PlainTable, Transaction]]]:
    """The columns of every file, and the logs of requests among them."""
    placed: list[Placed] = []
    logs: list[tuple[PlainTable, Transaction]] = []
    for number, (path, file) in enumerate(files):
        table = read_plain(path, file, options, sink)
        for one in file.column:
            if one.load:
                sink.load_axis(one.to.partition(".")[2])
        if file.column:
            placed.append(place_columns(table, file, mapping.constants, options.mapping))
        if file.transaction is not None:
            logs.append((table, file.transaction))
            if (note := coarse(table, file.transaction)) is not None:
                sink.note(note)
        options.progress(0.8 * (number + 1) / len(files))
    return placed, logs


def _write(
    placed: list[Placed],
    logs: list[tuple[PlainTable, Transaction]],
    mapping: Mapping,
    options: Options,
    sink: Sink,
) -> None:
    rows = [transactions(table, log, sink) for table, log in logs]
    begins = [r["time_ns"] for r in rows]
    if placed:
        grid = placed[0].times()
    else:
        grid = _regular(begins, [r["ended_ns"] for r in rows], logs)
        sink.note("readings without values stand at equal distances: the source holds transactions only")
    whole = any(p.table == "processor" and isinstance(p.entity, str) and p.entity == ALL
                for one in placed for p in one.parts)  # fmt: skip
    if whole and mapping.constants.processors is None:
        sink.note("how many processors there are is not said: write processors = … below [constants]")
    sink.begin_run()
    tables = place_readings(placed, grid, mapping.constants, sink)
    for name, (time_ns, columns) in tables.items():
        sink.table(name, time_ns, columns)
    for row in rows:
        time_ns = row.pop("time_ns")
        del row["ended_ns"]
        sink.table("transaction", time_ns, row)
    for signal in ("user.cpu_us", "system.users_in_queue", "task.cpu_us", "system.swap_in_pages"):
        sink.missing(signal, "no column was mapped to it", f"a column that is mapped to {signal}")
    if not rows:
        sink.missing("transaction.response_us", "no log of requests", "a mapped log of requests")
    options.progress(1.0)


def _regular(
    begins: list[Integers], ends: list[Integers], logs: list[tuple[PlainTable, Transaction]]
) -> Integers:
    """Readings at equal distances over the whole of the logs."""
    first, last = min(int(b.min()) for b in begins), max(int(e.max()) for e in ends)
    step = round(min(log.interval_seconds for _, log in logs) * 1e9)
    count = (last - first) // step + 2
    if count > MOST_READINGS:
        raise InputError(
            f"{logs[0][0].path}: {count:,} intervals lie between its first and last time",
            hint="are the times right? if so, raise transaction.interval_seconds",
        )
    return first // step * step + step * np.arange(count + 1, dtype=np.int64)


IMPORTER = Importer(
    "csv",
    "CSV or Parquet, with a mapping file",
    recognise,
    read,
    examples=("satline import requests.csv --mapping requests.toml", "satline import readings.parquet"),
    mapping=True,
)
