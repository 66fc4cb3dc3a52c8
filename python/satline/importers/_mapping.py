"""Mapping files: what the columns of anybody's table mean. docs/guides/mapping-files.md explains them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from satline.catalogue import Variable, catalogue
from satline.errors import InputError
from satline.problems import read_toml

TABLES = ("system", "processor", "device", "user", "cgroup")
ENTITY = {"processor": "processor", "device": "device", "user": "user", "cgroup": "cgroup"}
KINDS = {
    "level": ("level", "percent"),
    "counter": ("counter", "rate", "amount"),
    "accumulator": ("counter", "rate", "amount", "percent"),
}
UNIT_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
FORMATS = ("auto", "iso", "unix_s", "unix_ms", "unix_us", "unix_ns")
SHOWN = 20
GUIDE = "docs/guides/mapping-files.md"
_TIME_LIKE = re.compile(r"(time|date|when|clock|epoch|^ts$|^t$)", re.IGNORECASE)


def variable(to: str, tables: tuple[str, ...] = TABLES) -> Variable:
    """The catalogue's column `table.column`, of one of `tables`. Raises ValueError with the remedy."""
    table, dot, name = to.partition(".")
    if not dot:
        raise ValueError(f'"{to}" names no table; write it as system.{to}, for example')
    if table not in tables:
        raise ValueError(f'"{table}" cannot be mapped to; the tables are {", ".join(tables)}')
    found = catalogue().table(table).column(name)
    if found is None or found.kind not in KINDS:
        raise ValueError(f'the catalogue has no "{to}"; docs/reference/variables.md lists all')
    return found


def _known(to: str) -> str:
    variable(to)
    return to


def _known_format(text: str) -> str:
    if text not in FORMATS and "%" not in text:
        raise ValueError(f'"{text}" is no format; write {", ".join(FORMATS)}, or a pattern as %Y-%m-%d %H:%M')
    return text


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Time(_Part):
    """The column of times. `zone` is for times that do not say theirs."""

    column: str
    format: Annotated[str, AfterValidator(_known_format)] = "auto"
    zone: str | None = None


class Csv(_Part):
    """How a CSV file is written, where it is not as usual."""

    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    decimal: Annotated[str, Field(min_length=1, max_length=1)] = "."
    skip_rows: Annotated[int, Field(ge=0)] = 0
    missing: list[str] = ["", "-", "NaN", "nan", "null", "NULL", "N/A"]
    encoding: str = "utf-8"


class Long(_Part):
    """Each row belongs to one device, user or processor, which this column names."""

    table: Literal["processor", "device", "user", "cgroup"]
    column: str


class Column(_Part):
    """One column. In a wide table of a device, `entity` names it, or * in `name` stands for it.

    kind: counter (raw), rate (per second), amount (in the interval that ends there), level, percent.
    The values times `factor` are in the catalogue's unit. load: this column is the load.
    """

    name: str
    to: Annotated[str, AfterValidator(_known)]
    kind: Literal["counter", "rate", "amount", "level", "percent"] | None = None
    factor: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    entity: str | None = None
    load: bool = False

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.load and not self.to.startswith("system."):
            raise ValueError("load: only a column of the whole system can be the load")
        allowed = KINDS[variable(self.to).kind]
        if self.kind is not None and self.kind not in allowed:
            raise ValueError(
                f"kind: {self.kind} does not go with {self.to}, a {variable(self.to).kind}; "
                f"write {' or '.join(allowed)}"
            )
        return self

    @property
    def meaning(self) -> str:
        """The kind, by default the catalogue's."""
        return self.kind or ("level" if variable(self.to).kind == "level" else "counter")


class Transaction(_Part):
    """Columns of a log of requests. The row's time is that of the request's begin or end; how long it took
    says `response_column`, in `unit`, or `end_column`, the time of its end beside that of its begin.

    Outcomes that are neither in `ok` nor in `timeout` are `unexpected`: answered, but not as wanted.
    """

    response_column: str | None = None
    unit: Literal["s", "ms", "us", "ns"] | None = None
    time_is: Literal["begin", "end"] | None = None
    end_column: str | None = None
    user_column: str | None = None
    class_column: str | None = None
    outcome_column: str | None = None
    ok: list[str] = ["ok", "200"]
    timeout: list[str] = ["timeout", "504"]
    interval_seconds: Annotated[float, Field(ge=0.1, le=86400)] = 10.0

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.end_column is not None:
            if self.response_column is not None or self.unit is not None:
                raise ValueError(
                    "end_column: stands beside response_column and unit; the end says how long it took: leave"
                    " them out, or end_column"
                )
            if self.time_is == "end":
                raise ValueError('end_column: the row\'s time is then the begin; write time_is = "begin"')
            return self
        if self.response_column is None:
            raise ValueError(
                "response_column: missing; write it, or end_column for a log with the times of begin and end"
            )
        if self.unit is None:
            raise ValueError(f"unit: missing; write one of {', '.join(UNIT_S)} for response_column")
        if self.time_is is None:
            raise ValueError('time_is: missing; write "begin" or "end": whose time a row has')
        return self


class File(_Part):
    """One file: its time, and what its columns mean. `path` is relative to the source, a directory."""

    path: str | None = None
    time: Time
    csv: Csv = Csv()
    long: Long | None = None
    column: list[Column] = []
    transaction: Transaction | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if not self.column and self.transaction is None:
            raise ValueError(
                "column: nothing is mapped; write a [[column]] for each column, or [transaction]"
            )
        for one in self.column:
            table = one.to.partition(".")[0]
            if self.long is not None:
                if table != self.long.table:
                    raise ValueError(f"column: {one.to} is not of table {self.long.table}, which long names")
            elif table not in ("system", "processor") and one.entity is None and one.name.count("*") != 1:
                raise ValueError(
                    f"column: {one.name} → {one.to} does not say whose it is; "
                    'give it entity = "…", put * in its name, or write [long]'
                )
        return self


class Constants(_Part):
    """What is the same all the time."""

    processors: Annotated[int, Field(ge=1, le=100_000)] | None = None
    memory_bytes: Annotated[int, Field(ge=1, lt=2**63)] | None = None
    host: str | None = None


class Mapping(_Part):
    """A whole mapping file: one file's keys, or several [[file]]."""

    constants: Constants = Constants()
    file: list[File] = []
    time: Time | None = None
    csv: Csv = Csv()
    long: Long | None = None
    column: list[Column] = []
    transaction: Transaction | None = None
    load: str | None = None
    throughput: str | None = None

    @model_validator(mode="after")
    def _one_or_several(self) -> Self:
        if self.load is not None or self.throughput is not None:
            return self
        if self.file and (self.time or self.column or self.transaction or self.long):
            raise ValueError("file: stands beside keys of a single file; put those into a [[file]] too")
        if not self.file and self.time is None:
            raise ValueError("time: missing; every reading needs a time: [time] and its column")
        if not self.file:
            self.files()
        return self

    def files(self) -> list[File]:
        """The files, also where there is one."""
        if self.file:
            return self.file
        assert self.time is not None
        return [
            File(
                time=self.time, csv=self.csv, long=self.long, column=self.column, transaction=self.transaction
            )
        ]


def read_mapping(path: Path) -> Mapping:
    """Read a mapping file.

    Raises
    ------
    InputError
        Naming the file, and line and key of all that is wrong in it.
    """
    _, found = read_toml(
        path,
        Mapping,
        kind="mapping",
        name_one="name a file that you may read",
        hint=f"{GUIDE} explains mapping files",
    )
    if found.load is not None or found.throughput is not None:
        raise load_table(f"{path}: load, throughput")
    return found


def load_table(place: str) -> InputError:
    """A table of throughput against load was offered as readings."""
    return InputError(
        f"{place}: a table of throughput against load is no recording in time",
        hint="import the readings that it was made of, with a time for each",
    )


def by_names(path: Path, names: Iterable[str]) -> File:
    """What columns mean that are named as in the catalogue.

    Raises
    ------
    InputError
        With a mapping to begin with, when there is no time or no such column.
    """
    names = list(names)
    time = next((n for n in ("time_ns", "time", "timestamp", "datetime", "date") if n in names), None)
    columns, long = [], None
    for table, entity in ENTITY.items():
        key = next((n for n in (f"{table}.{entity}", entity) if n in names), None)
        if key is not None:
            long = Long(table=table, column=key)  # type: ignore[arg-type]
            break
    # Without a column of names nothing says whose a device's or a user's value is.
    tables = ("system", "processor") if long is None else (long.table,)
    for name in names:
        for to in [name, *(f"{table}.{name}" for table in tables)]:
            if to.partition(".")[0] in tables and _is_known(to):
                columns.append(Column(name=name, to=to))
                break
    if time is None or not columns:
        if time is None and any("throughput" in n.lower() for n in names):
            raise load_table(f"{path}: columns {', '.join(names)}")
        what = "no column of times" if time is None else "no column that is named as in the catalogue"
        raise InputError(
            f"{path}: {what}; a mapping file says what its columns mean, such as\n\n{skeleton(names)}",
            hint=f"save that, complete it, and give it with --mapping; {GUIDE} explains it",
        )
    kind = "unix_ns" if time == "time_ns" else "auto"
    return File(time=Time(column=time, format=kind), long=long, column=columns)


def _is_known(to: str) -> bool:
    try:
        return variable(to) is not None
    except ValueError:
        return False


def skeleton(names: Iterable[str]) -> str:
    """A mapping file to be completed, for these columns."""
    names = list(names)
    time = next((n for n in names if _TIME_LIKE.search(n)), names[0] if names else "time")
    lines = [
        "[time]",
        f"column = {_quoted(time)}",
        'format = "auto"      # or unix_s, unix_ms, iso, a pattern as %d.%m.%Y %H:%M:%S',
        'zone = "UTC"',
        "",
        "[constants]",
        "# processors = 8",
    ]
    notes = ("      # see docs/reference/variables.md", "       # counter, rate, amount, level or percent")
    for name in [n for n in names if n != time][:SHOWN]:
        to, kind = notes
        lines += ["", "[[column]]", f"name = {_quoted(name)}", f'to = "system.…"{to}', f'kind = "rate"{kind}']
        notes = ("", "")
    if len(names) > SHOWN:
        lines += ["", "# … and so on; leave out what has no place"]
    return "\n".join(lines)


def _quoted(name: str) -> str:
    """A name as TOML writes it."""
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
