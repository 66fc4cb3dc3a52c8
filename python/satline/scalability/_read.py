"""Reading a table of (N, X) or (N, X, R): a line of column names, then a row for each measurement."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from satline.errors import InputError
from satline.scalability._columns import Column, Role, choose
from satline.scalability._families import Floats

LARGEST_BYTES = 64 << 20
LARGEST = 1e15
LONGEST_PART = 1.2
_MISSING = frozenset({"", "-", "–", "na", "n/a", "nan", "null", "none", "."})
_GROUPS = re.compile(r"[+-]?\d{1,3}(?:[,.'’ \u00a0\u202f]\d{3})+")
_SUFFIX = re.compile(r"^(.*?\d\.?)\s*([a-zµμ]+(?:/s)?)$")
_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
_THOUSANDS = {"k": 1e3, "m": 1e6}


@dataclass(frozen=True)
class Table:
    """Measurements of throughput by load, in the file's order.

    load, throughput, response_s
        N; X per `unit`; R in seconds, NaN where missing, ``None`` without such a column.
    line
        The line of each row in the file, from 1.
    unit
        ``per second`` where the heading says so, else ``as in column NAME``; a rate per minute or hour was
        divided.
    notes
        What was left out or assumed.
    """

    path: Path
    load: Floats
    throughput: Floats
    response_s: Floats | None
    line: tuple[int, ...]
    load_name: str
    throughput_name: str
    unit: str
    notes: tuple[str, ...] = field(default=())


def is_table(path: Path) -> bool:
    """Whether this can be a table at all: recordings are directories."""
    return path.is_file()


def read_table(
    path: Path | str,
    *,
    users: str | None = None,
    throughput: str | None = None,
    response: str | None = None,
) -> Table:
    """Read a table of loads and throughputs.

    Parameters
    ----------
    users, throughput, response
        Names of the columns; those that are not given are recognised by the names that load tests use.

    Returns
    -------
    The rows of which both load and throughput are known and load is above 0.

    Raises
    ------
    InputError
        No table; a column that is not there; a value that is none, with its line and column.
    """
    path = Path(path)
    lines = _lines(path)
    separator = _separator(lines[0][1])
    heads = _cells(lines[0][1], separator, lines[0][0], path)
    notes: list[str] = []
    if all(_is_number(h) for h in heads):
        if not 2 <= len(heads) <= 3 or users or throughput or response:
            raise InputError(
                f"{path}, line {lines[0][0]}: no column names", hint="begin the table with a line like N,X,R"
            )
        notes.append(
            "the table has no column names: taken as load, throughput" + ", response"[: 10 * len(heads) - 20]
        )
        heads = ["N", "X", "R"][: len(heads)]
        rows = lines
    else:
        rows = lines[1:]
    asked: dict[Role, str | None] = {"users": users, "throughput": throughput, "response": response}
    columns = choose(heads, f"{path}, line {lines[0][0]}", path, asked)
    values = {role: np.empty(len(rows)) for role in columns}
    reader = _Reader(path, separator, len(heads))
    for k, (number, text) in enumerate(rows):
        cells = reader.cells(number, text)
        for role, column in columns.items():
            values[role][k] = reader.value(cells[column.number], role, column, number)
    if reader.units:
        columns["response"] = replace(columns["response"], factor=1.0)
    return _made(path, columns, values, [number for number, _ in rows], notes)


def _made(
    path: Path,
    columns: dict[Role, Column],
    values: dict[Role, Floats],
    lines: Sequence[int],
    notes: list[str],
) -> Table:
    load, rate = values["users"], values["throughput"]
    for role in columns:
        bad = np.flatnonzero(values[role] < 0)
        if len(bad):
            k = int(bad[0])
            raise InputError(
                f"{path}, line {lines[k]}, column {columns[role].name}: {values[role][k]:g} is below 0",
                hint="loads, throughputs and responses are 0 or more",
            )
    wrong = np.flatnonzero((load == 0) & (rate > 0))
    if len(wrong):
        raise InputError(
            f"{path}, line {lines[int(wrong[0])]}, column {columns['users'].name}: throughput without load",
            hint="is this the column of the load? --users COLUMN names another",
        )
    unknown = np.isnan(load) | np.isnan(rate)
    kept = ~unknown & (load > 0)
    if unknown.any():
        notes.append(f"{_rows(int(unknown.sum()))} without load or throughput left out")
    if (~unknown & (load == 0)).any():
        notes.append(f"{_rows(int((~unknown & (load == 0)).sum()))} without load left out")
    if not kept.any():
        raise InputError(f"{path}: no row has a load and a throughput", hint="is the file whole?")
    response = values.get("response")
    factor = columns["throughput"].factor
    if response is not None and columns["response"].factor is None and np.isfinite(response[kept]).any():
        response = _guessed(response, load, rate * (factor or 1.0), kept, columns["response"].name, notes)
    name = columns["throughput"].name
    return Table(
        path,
        load[kept],
        rate[kept] * (factor or 1.0),
        None if response is None or not np.isfinite(response[kept]).any() else response[kept],
        tuple(number for number, good in zip(lines, kept, strict=True) if good),
        columns["users"].name,
        name,
        "per second" if factor is not None else f"as in column {name}",
        tuple(notes),
    )


def _guessed(
    response: Floats, load: Floats, rate: Floats, kept: NDArray[np.bool_], name: str, notes: list[str]
) -> Floats:
    """Responses of no unit in seconds: a user cannot wait longer than its cycle N/X takes."""
    good = kept & np.isfinite(response) & (rate > 0)
    part = float(np.median(response[good] * rate[good] / load[good])) if good.any() else 0.0
    units = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))
    unit, factor = next(((u, f) for u, f in units if part * f <= LONGEST_PART), units[0])
    notes.append(f"column {name} names no unit: taken as {unit}, which Little's law allows")
    return response * factor


def _rows(count: int) -> str:
    return f"{count:,} row" + ("s" if count > 1 else "")


def _lines(path: Path) -> list[tuple[int, str]]:
    """The lines that are no comments and not empty, with their numbers."""
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise InputError(
                f"{path}: larger than {LARGEST_BYTES >> 20} MiB",
                hint="a table has a row for each load, or some; raw samples are for `satline import`",
            )
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", hint="name a file that you may read") from error
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = content.decode("utf-16", "replace")
    else:
        if b"\0" in content:
            raise InputError(f"{path}: not a table, it has zero bytes", hint="give CSV, or a recording")
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("latin-1")
    found = []
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
        bare = line.strip()
        if bare and not bare.startswith("#") and not re.fullmatch(r"(?i)sep=.", bare):
            found.append((number, line))
    if not found:
        raise InputError(f"{path}: empty", hint="begin the table with a line like N,X,R")
    return found


def _separator(head: str) -> str:
    """Of ; tab and comma the one that the first line has most."""
    return max(";\t,", key=head.count)


def _cells(text: str, separator: str, number: int, path: Path) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([text], delimiter=separator), [])]
    except csv.Error as error:
        raise InputError(f"{path}, line {number}: {error}", hint="is it CSV?") from error


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


class _Reader:
    """Cells and numbers of rows, with the place of what is wrong."""

    def __init__(self, path: Path, separator: str, columns: int) -> None:
        self._path, self._separator, self._columns = path, separator, columns
        self.units = False  # cells of responses carry units

    def cells(self, number: int, text: str) -> list[str]:
        """The cells of a line; a separator at its end is no cell."""
        found = _cells(text, self._separator, number, self._path)
        if len(found) > self._columns and not any(found[self._columns :]):
            found = found[: self._columns]
        if len(found) != self._columns:
            hint = "a field with the separator in it is to be quoted"
            if self._separator == "," and len(found) > self._columns:
                hint = "numbers with a decimal comma need ; between the columns"
            raise InputError(
                f"{self._path}, line {number}: {len(found)} fields where the first line has {self._columns}",
                hint=hint,
            )
        return found

    def value(self, text: str, role: Role, column: Column, number: int) -> float:
        """A number in the column's unit, NaN where missing."""
        bare = text.strip().lower()
        if bare in _MISSING:
            return math.nan
        factor = 1.0
        suffix = _SUFFIX.match(bare)
        if suffix and role == "response" and suffix[2] in _TIMES:
            # A unit in the cell goes before that of the heading.
            self.units = True
            return self._number(suffix[1], text, column, number) * _TIMES[suffix[2]]
        if suffix and role == "throughput" and suffix[2].removesuffix("/s") in {*_THOUSANDS, ""}:
            bare, factor = suffix[1], _THOUSANDS.get(suffix[2].removesuffix("/s"), 1.0)
        elif role == "response" and column.factor is not None:
            factor = column.factor
        return self._number(bare, text, column, number) * factor

    def _number(self, bare: str, text: str, column: Column, number: int) -> float:
        plain = bare.strip().replace("\u00a0", "").replace("\u202f", "")
        if self._separator == ",":
            plain = plain.replace(",", "") if _GROUPS.fullmatch(plain.split(".")[0]) else plain
        elif "," in plain and "." in plain:
            last = max(plain.rfind(","), plain.rfind("."))
            plain = re.sub("[.,]", "", plain[:last]) + "." + plain[last + 1 :]
        else:
            plain = plain.replace(",", ".")
        try:
            value = float(plain) if plain.isascii() and "_" not in plain else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            what = "is too large" if value in (math.inf, -math.inf) else "is no number"
            raise InputError(
                f"{self._path}, line {number}, column {column.name}: {text[:40]!r} {what}",
                hint="leave the field empty where a value is missing",
            )
        if abs(value) > LARGEST:
            raise InputError(
                f"{self._path}, line {number}, column {column.name}: {text[:40]!r} is beyond {LARGEST:g}",
                hint="is it in the right column?",
            )
        return value
