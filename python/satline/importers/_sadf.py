"""What `sadf -r` prints, as arrays: the instants of a file, and the rows of one activity placed among them.

A row of `sadf -r` is `time; label; before; now; label; before; now; …` for counters and `time; label; now; …`
for levels. The first record of a run is printed by none: its counters stand as *before* in the rows of the
second.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from signal import SIGPIPE
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from satline.errors import InputError
from satline.importers._importer import ended
from satline.importers._sink import Floats, Integers, Objects
from satline.outside.tools import ToolLimits, run_tool, start_tool
from satline.recording import numbers_of

ENVIRONMENT = {**os.environ, "LC_ALL": "C", "TZ": "UTC", "S_TIME_FORMAT": "ISO", "S_COLORS": "never"}
_RECORD = re.compile(
    rb"^# uptime_cs; (\d+); ust_time; (\d+); extra_next; \d+; record_type; (\d+); "
    rb"HH:MM:SS; (\d+):(\d+):(\d+)",
    re.MULTILINE,
)
_RESTART, _COMMENT = 2, 4
_ENTITIES = frozenset({"CPU", "DEV", "IFACE", "INTR"})
_MISREAD = "sadf misreads its times"
_PRINT_IT = "print it as text on the host that wrote it, `sar -A`, and import that"
_YEAR_S = 365.25 * 86400
_LATEST_S, _LONGEST_CS = 1 << 33, 1 << 40  # the year 2242; 348 years
_BLOCK_BYTES = 8 << 20


@dataclass
class Grid:
    """The instants of one file.

    Attributes
    ----------
    time_s
        Real time, s since 1970 UTC, shape (instants,). Records of the same second are one instant: what
        was counted up to the last of them.
    uptime_cs
        Time since the start of the kernel, hundredths of a second.
    runs
        Stretches without a restart in which real time rises.
    descent
        How often real time had gone back before each instant.
    """

    time_s: Integers = field(default_factory=lambda: np.array([], dtype=np.int64))
    uptime_cs: Integers = field(default_factory=lambda: np.array([], dtype=np.int64))
    runs: list[slice] = field(default_factory=list)
    descent: Integers = field(default_factory=lambda: np.array([], dtype=np.int64))
    damage: str = ""

    def __len__(self) -> int:
        return len(self.time_s)

    @property
    def time_ns(self) -> Integers:
        """Real time, ns."""
        return self.time_s * 1_000_000_000

    @property
    def monotonic_ns(self) -> Integers:
        """A clock that does not step within a run: the kernel's, set to real time at the run's beginning."""
        clock = self.uptime_cs * 10_000_000
        for run in self.runs:
            clock[run] += int(self.time_ns[run.start]) - int(clock[run.start])
        return clock

    @property
    def key(self) -> Integers:
        """Rises strictly from instant to instant."""
        return (self.descent << 34) + self.time_s


def read_grid(path: Path, readable: Path, flags: Sequence[str]) -> Grid:
    """The instants of a file.

    Parameters
    ----------
    flags
        An activity that is in the file: without one that it asks for, `sadf` prints no record at all.

    Raises
    ------
    InputError
        `sadf` misreads the file's times.
    """
    command = ["sadf", "-r", "-U", "-O", "debug", str(readable), "--", *flags]
    done = run_tool(command, limits=ToolLimits.of(readable), env=ENVIRONMENT)
    try:
        found = np.array(_RECORD.findall(done.stdout), dtype="S20").astype(np.int64).reshape(-1, 6)
    except (ValueError, OverflowError):
        raise InputError(f"{path}: {_MISREAD}: they are no numbers", hint=_PRINT_IT) from None
    boots = np.cumsum(found[:, 2] == _RESTART)
    real = (found[:, 2] != _RESTART) & (found[:, 2] != _COMMENT)
    records, boots = found[real], boots[real]
    words = done.stderr.decode(errors="replace").strip().splitlines()
    damage = f"sadf was ended, because {done.stopped}" if done.stopped else words[-1] if words else ""
    crashed = done.returncode < 0 and not done.stopped
    grid = Grid(damage=ended("sadf", done.returncode, damage) if crashed else damage)
    if not len(records):
        return grid
    # Time zones differ by whole minutes. A file of another machine's byte order is misread by some versions.
    uptime_cs, real_s, clock_s = records[:, 0], records[:, 1], records[:, 5]
    if (far := (uptime_cs > _LONGEST_CS) | (real_s > _LATEST_S)).any():
        years = int(uptime_cs[far][0]) / 100 / _YEAR_S
        raise InputError(
            f"{path}: {_MISREAD}: up for {years:,.0f} years at {real_s[far][0]} s since 1970; a machine of"
            " another byte order wrote it, or it is damaged",
            hint=_PRINT_IT,
        )
    if (odd := (real_s - clock_s) % 60 != 0).any():
        wall = ":".join(f"{part:02}" for part in records[odd][0, 3:6])
        clock = f"{datetime.fromtimestamp(int(real_s[odd][0]), UTC):%T} UTC"
        raise InputError(
            f"{path}: {_MISREAD}: the two clocks of a record disagree, {wall} of its wall and {clock}, which"
            " no time zone explains; it is damaged, or a machine of another kind wrote it",
            hint=_PRINT_IT,
        )
    # A mark of a restart may be missing: then the kernel's clock falls.
    restarted = np.append(False, (np.diff(records[:, 0]) < 0) | (np.diff(boots) != 0))
    descended = np.append(False, np.diff(records[:, 1]) < 0)
    last_of_second = np.append((np.diff(records[:, 1]) != 0) | restarted[1:], True)
    cut = np.cumsum(restarted | descended)[last_of_second]
    grid.time_s = records[last_of_second, 1]
    grid.uptime_cs = records[last_of_second, 0]
    # A restart within one second is a descent too, so that keys stay apart.
    same = np.append(False, np.diff(grid.time_s) <= 0)
    grid.descent = np.cumsum(same).astype(np.int64)
    edges = [0, *(np.flatnonzero(np.diff(cut)) + 1).tolist(), len(grid.time_s)]
    grid.runs = [slice(a, b) for a, b in pairwise(edges)]
    return grid


@dataclass(frozen=True)
class Placed:
    """Rows of one activity in the order of the file, each at its instant, one per entity."""

    place: Integers
    names: Objects | None
    values: dict[str, Floats]

    def __len__(self) -> int:
        return len(self.place)


@dataclass
class Rows:
    """Rows of one activity as printed.

    Attributes
    ----------
    before, now
        By label; a level has no `before`.
    """

    time_s: Integers = field(default_factory=lambda: np.array([], dtype=np.int64))
    names: pa.Array | None = None
    before: dict[str, Floats] = field(default_factory=dict)
    now: dict[str, Floats] = field(default_factory=dict)
    damage: str = ""

    def __len__(self) -> int:
        return len(self.time_s)

    def place_in(self, grid: Grid) -> Placed:
        """Find each row's instant, and give each run's first instant its counters."""
        key = (np.cumsum(np.append(False, np.diff(self.time_s) < 0)).astype(np.int64) << 34) + self.time_s
        place = np.searchsorted(grid.key, key)
        known = (place < len(grid)) & (grid.key[np.minimum(place, len(grid) - 1)] == key)
        index = np.flatnonzero(known)
        place = place[known]

        # First readings: the rows of the second instant hold them, where the first has no rows of its own.
        starts = np.array([run.start for run in grid.runs if run.stop - run.start > 1], dtype=np.int64)
        has_rows, is_second = np.zeros((2, len(grid) + 1), dtype=bool)
        has_rows[place] = True
        is_second[starts + 1] = ~has_rows[starts]
        first = index[is_second[place]]
        if not self.before:
            first = first[:0]
        elif self.names is not None:
            # What was all zero before had not been read: it is new.
            first = first[np.sum([np.abs(v[first]) for v in self.before.values()], axis=0) > 0]
        first_place = np.searchsorted(grid.key, key[first]) - 1

        rows = np.concatenate([first, index])
        place = np.concatenate([first_place, place])
        is_first = np.arange(len(rows)) < len(first)
        values = {
            label: np.where(is_first, self.before[label][rows] if label in self.before else np.nan, now[rows])
            for label, now in self.now.items()
        }
        return self._unique(rows, place, is_first, values)

    def _unique(self, rows: Integers, place: Integers, is_first: Any, values: dict[str, Floats]) -> Placed:
        """Of several rows of one entity at one instant the last; of first readings, the first."""
        code, count, labels = np.zeros(len(rows), dtype=np.int64), 1, None
        if self.names is not None:
            encoded = self.names.dictionary_encode()
            labels = np.array([name.strip() for name in encoded.dictionary.to_pylist()], dtype=object)
            code, count = numbers_of(encoded.indices)[rows].astype(np.int64), max(len(labels), 1)
        order = np.where(is_first, -rows, rows)
        sort = np.lexsort((order, code, place))
        sorted_key = (place * count + code)[sort]
        kept = sort[np.append(np.diff(sorted_key) != 0, True)] if len(sort) else sort
        names = labels[code[kept]] if labels is not None else None
        return Placed(place[kept], names, {label: v[kept] for label, v in values.items()})


def read_rows(readable: Path, flags: Sequence[str]) -> Rows:
    """The rows of one activity; what cannot be read is left out and told in `damage`."""
    # What is wrong with the file as a whole is told by the instants.
    command = ["sadf", "-r", "-U", str(readable), "--", *flags]
    with start_tool(command, limits=ToolLimits.of(readable), env=ENVIRONMENT) as tool:
        rows = _parse(tool.stdout)
    # Whoever closes early ends it by SIGPIPE.
    done = tool.ended
    if done.stopped:
        rows.damage = f"sadf was ended, because {done.stopped}"
    elif done.returncode < 0 and done.returncode != -SIGPIPE:
        rows.damage = ended("sadf", done.returncode, rows.damage)
    return rows


def read_together(readable: Path, flags: Sequence[str]) -> list[Rows] | None:
    """The rows of several activities by one run, parted by what they begin with; None: not all is well, and
    only one activity at a time tells what is wrong."""
    command = ["sadf", "-r", "-U", str(readable), "--", *flags]
    done = run_tool(command, limits=ToolLimits.of(readable), env=ENVIRONMENT)
    if done.stopped or done.returncode or done.stderr:
        return None
    parts: dict[bytes, list[bytes]] = {}
    for line in done.stdout.splitlines(keepends=True):
        fields = line.split(b";", 2)
        if len(fields) == 3:
            parts.setdefault(fields[1], []).append(line)
        elif b"LINUX-RESTART" not in line:
            return None
    found = [_parse(io.BufferedReader(io.BytesIO(b"".join(lines)))) for lines in parts.values()]
    return None if any(rows.damage or not len(rows) for rows in found) else found


def _parse(stream: IO[bytes]) -> Rows:
    head = stream.peek(1 << 16)  # type: ignore[attr-defined]
    line = next((x for x in head.split(b"\n")[:-1] if b"LINUX-RESTART" not in x and x.count(b";") > 1), None)
    if line is None:
        return Rows()
    layout = _layout(line.decode(errors="replace"))
    skipped = 0

    def skip(row: Any) -> str:
        nonlocal skipped
        skipped += not (row.text or "").endswith("CPU)")  # marks of restarts are no rows
        return "skip"

    types: dict[str, pa.DataType] = {"f0": pa.int64()}
    numbers = [i for pair in layout.labels.values() for i in pair if i is not None]
    types |= {f"f{i}": pa.uint64() for i in numbers}
    if layout.name is not None:
        types[f"f{layout.name}"] = pa.string()
    try:
        table = pa_csv.open_csv(
            stream,
            read_options=pa_csv.ReadOptions(
                column_names=[f"f{i}" for i in range(layout.fields)],
                block_size=_BLOCK_BYTES,
                use_threads=False,
            ),
            parse_options=pa_csv.ParseOptions(delimiter=";", quote_char=False, invalid_row_handler=skip),
            convert_options=pa_csv.ConvertOptions(include_columns=list(types), column_types=types),
        ).read_all()
    except pa.ArrowInvalid as error:
        return Rows(damage=str(error).splitlines()[0])

    def number(i: int | None) -> Floats:
        values = numbers_of(table[f"f{i}"]).astype(np.float64)
        return np.where(values > 2.0**62, np.nan, values)  # the difference of two of its fields fell below 0

    rows = Rows(time_s=numbers_of(table["f0"]))
    for label, (before, now) in layout.labels.items():
        rows.now[label] = number(now)
        if before is not None:
            rows.before[label] = number(before)
    if layout.name is not None:
        rows.names = table[f"f{layout.name}"].combine_chunks()
    if skipped:
        rows.damage = f"{skipped} rows of another shape left out"
    return rows


@dataclass(frozen=True)
class _Layout:
    """Where in a row the fields are: by label its positions (before, now), and that of the entity's name."""

    fields: int
    labels: dict[str, tuple[int | None, int]]
    name: int | None


def _layout(line: str) -> _Layout:
    fields = [f.strip() for f in line.split(";")]
    labels: dict[str, tuple[int | None, int]] = {}
    name = None
    at = 1
    while at < len(fields) and fields[at]:
        label = fields[at]
        if label in _ENTITIES:
            name = at + 1
            at += 2
            continue
        values = at + 1
        while values < len(fields) and re.fullmatch(r"-?\d+", fields[values]):
            values += 1
        if values - at == 2:
            labels[label] = (None, at + 1)
        elif values - at == 3:
            labels[label] = (at + 1, at + 2)
        at = values
    return _Layout(len(fields), labels, name)
