"""Report definitions: what a report shows, in a short TOML file that an analyst writes in minutes [TB84].

A definition names variables, how observations are grouped, filters, statistics and layout. Every built-in
report is such a file, in ``present/definitions/``. docs/reference/report-definitions.md explains every key.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from satline.errors import InputError
from satline.present import _numbers
from satline.problems import Place, joined, key_words, line_of, read_toml
from satline.reduction import DAYS, LOAD_AXES, Derived, variables

Statistic = Literal[
    "mean", "p25", "p50", "p75", "p90", "sd", "se", "n", "sum", "max", "zero", "nonzero", "rate"
]
PlotKind = Literal["lines", "stacked", "scatter", "bars", "none"]

SHIPPED = Path(__file__).resolve().parent / "definitions"
THROUGHPUT = "throughput"  # the variable by which the verdict judges
MEASURES = ("transaction_rate", "problem_state", "work_rate")  # of throughput, best first
WHOLE = "diagnosis"  # the report without a name
BY_NAME = ("user", "device", "lock")
GROUPINGS = ("load", "mpl", "time", "hour", *BY_NAME)
SHIPPED = Path(__file__).resolve().parent / "definitions"
_HINT = "`satline report --show NAME` prints a shipped one to start from"
_PERIODS = {"s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def _seconds(value: Any) -> Any:
    """``"15min"`` → 900.0; anything else is left to be found wrong."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    for ending in sorted(_PERIODS, key=len, reverse=True):
        number = text.removesuffix(ending).strip()
        if (
            text.endswith(ending)
            and number.replace(".", "", 1).isascii()
            and number.replace(".", "", 1).isdigit()
        ):
            return float(number) * _PERIODS[ending]
    raise ValueError(f'{value!r} is not a length of time; write "15min", "1h" or "1d"')


def _hours(value: Any) -> Any:
    """``"9-17"`` → (9, 17)."""
    if not isinstance(value, str):
        return value
    ends = value.split("-")
    if len(ends) != 2 or not all(end.strip().isascii() and end.strip().isdigit() for end in ends):
        raise ValueError(f'{value!r} are no hours; write "9-17"')
    first, end = (int(end) for end in ends)
    if first > 23 or end > 24 or first == end:
        raise ValueError(f'{value!r} are no hours: they go from 0 to 24; write "9-17", over midnight "22-6"')
    return first, end


def _days(value: Any) -> Any:
    """``"mon-wed,sat"`` → (0, 1, 2, 5)."""
    if not isinstance(value, str):
        return value
    found: set[int] = set()
    for part in value.lower().split(","):
        ends = [end.strip()[:3] for end in part.split("-")]
        wrong = [end.strip() for end in part.split("-") if end.strip()[:3] not in DAYS]
        if wrong or len(ends) > 2:
            raise ValueError(f'{wrong[0] if wrong else part!r} is no day; write "mon-fri" or "sat,sun"')
        first, last = DAYS.index(ends[0]), DAYS.index(ends[-1])
        found.update(range(first, last + 1) if first <= last else {*range(first, 7), *range(last + 1)})
    return tuple(sorted(found))


def _zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, OSError):
        raise ValueError(f'there is no time zone {value!r}; write a name such as "Europe/Berlin"') from None
    return value


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Group(_Part):
    """What makes a row: a class of load, a stretch of time, an hour of the day, a user, a device.

    by
        One of `GROUPINGS`, or the name of a variable that takes the place of load.
    every
        Length of a stretch of time, in seconds.
    most
        Users or devices shown: those with the largest values of the first variable.
    observation
        usual: of ten seconds or more; sample: from one sample to the next, for levels that change fast.
    """

    by: Annotated[str, Field(min_length=1)] = "load"
    every: Annotated[float, BeforeValidator(_seconds), Field(ge=1, le=366 * 86400)] = 3600.0
    most: Annotated[int, Field(ge=1, le=1000)] = 15
    observation: Literal["usual", "sample"] = "usual"


class Variable(_Part):
    """One column.

    per
        Divide by the mean of this variable: ``problem_state`` per ``transaction_rate`` is processor time for
        each transaction.
    split
        ``class``: a column for each class of work (of transactions).
    of
        ``row``: as a part of the sum, in the same row, of all that are so marked.
    unit
        Show it in this unit, whatever its size.
    draw
        line; limit: dashed, the others are held against it; none: only in the table.
    """

    name: Annotated[str, Field(min_length=1)]
    label: str = ""
    statistic: Statistic = "mean"
    per: str = ""
    split: Literal["", "class"] = ""
    of: Literal["", "row"] = ""
    unit: str = ""
    draw: Literal["line", "limit", "none"] = "line"


class Lacking(_Part):
    """What readers know from reports of other systems and no source here has: said, with the reason."""

    label: Annotated[str, Field(min_length=1)]
    reason: Annotated[str, Field(min_length=1)]


class Selection(_Part):
    """Which observations and which work count; empty: all.

    hours
        First hour and end (excluded); days: 0 for Monday; both by the clock of `timezone`.
    load
        Least and greatest load of the classes shown.
    """

    hours: Annotated[tuple[int, int] | None, BeforeValidator(_hours)] = None
    days: Annotated[tuple[int, ...] | None, BeforeValidator(_days)] = None
    timezone: Annotated[str, AfterValidator(_zone)] = "UTC"
    users: list[str] = []
    exclude_users: list[str] = []
    classes: list[str] = []
    load: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None


class Table(_Part):
    """How the table lies: a row for each group, or a row for each variable."""

    rows: Literal["groups", "variables"] = "groups"


class Plot(_Part):
    """How the plot looks.

    x
        Of a scatter: the variable that lies across.
    log
        Axes with a logarithmic scale.
    relative
        Draw each line as a multiple of its first value, so that lines of very different size compare.
    """

    kind: PlotKind = "lines"
    x: str = ""
    log: list[Literal["x", "y"]] = []
    relative: bool = False


class Body(_Part):
    """What a definition file may say.

    lacking
        What such a report has elsewhere and no source here can have.
    parts
        Names of other reports: this one shows them one after the other.
    verdict
        The page begins with the verdict and the findings.
    """

    title: Annotated[str, Field(min_length=1)]
    what: Annotated[str, Field(min_length=1)]
    group: Group = Group()
    variables: list[Variable] = []
    filters: Selection = Selection()
    table: Table = Table()
    plot: Plot = Plot()
    note: str = ""
    lacking: list[Lacking] = []
    parts: list[str] = []
    verdict: bool = False


@dataclass(frozen=True)
class Definition:
    """A definition that was read: its name (the file's, without ``.toml``), place and text."""

    name: str
    path: Path
    text: str
    body: Body

    def variables(self) -> list[str]:
        """Every variable that it needs, families as a whole."""
        names: list[str] = []
        for name in (n for v in self.body.variables for n in (v.name, v.per) if n):
            names += MEASURES if name == THROUGHPUT else [name.partition(":")[0]]
        return list(dict.fromkeys(names))


def shipped() -> list[str]:
    """Names of the definitions that come with Satline."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def find(name_or_file: str) -> Definition:
    """The definition in a file of that name (ending in ``.toml``), else the shipped one of that name.

    Raises
    ------
    InputError
        There is neither, or the file is wrong.
    """
    if name_or_file in shipped():
        return _shipped(name_or_file)
    path = Path(name_or_file)
    if path.suffix == ".toml":
        return read(path)
    close = difflib.get_close_matches(name_or_file, shipped(), n=1)
    hint = (
        f'did you mean "{close[0]}"?' if close else "`satline report --list` shows all; a file ends in .toml"
    )
    raise InputError(f"there is no report {name_or_file}", hint=hint)


@cache
def _shipped(name: str) -> Definition:
    return read(SHIPPED / f"{name}.toml")


def read(path: Path) -> Definition:
    """Read and check a definition file.

    Raises
    ------
    InputError
        It cannot be read, or says what a definition cannot say: all errors at once, with line, key, remedy.
    """
    text, body = read_toml(
        path,
        Body,
        kind="report definition",
        name_one="`satline report --list` shows those shipped",
        hint=_HINT,
    )
    wrong = [
        (f"{path}:{line_of(text, place)}: {key_words(place)}: {message}", remedy)
        for place, message, remedy in _wrong(body)
    ]
    if wrong:
        raise joined(wrong, hint=_HINT)
    return Definition(path.stem, path, text, body)


def _wrong(body: Body) -> Iterator[tuple[Place, str, str]]:
    """Place, message and remedy of what the catalogue, or another key, does not allow."""
    if bool(body.variables) == bool(body.parts):
        remedy = "write [[variables]], or parts = [names of reports]"
        yield ("variables",), "it needs variables or parts, and not both" if body.parts else "missing", remedy
    for index, name in enumerate(body.parts):
        if name not in shipped():
            yield ("parts", index), f'there is no report "{name}"', _near(name, shipped())
    yield from _wrong_group(body)
    for index, variable in enumerate(body.variables):
        yield from _wrong_variable(("variables", index), variable, body.group.by)
    if body.plot.kind == "scatter" and body.plot.x not in {v.name for v in body.variables}:
        yield (
            ("plot", "x"),
            "a scatter needs one of the variables across",
            'write x = "its name" under [plot]',
        )
    elif body.plot.kind != "scatter" and body.plot.x:
        yield ("plot", "x"), "only a scatter has a variable across", 'write kind = "scatter", or leave x out'
    if body.verdict and not body.parts:
        yield ("verdict",), "the verdict needs load curves beneath it", "write parts = [names of reports]"
    if (limits := body.filters.load) and limits[0] > limits[1]:
        yield ("filters", "load"), "the least load stands first", "write [least, greatest]"


def _wrong_group(body: Body) -> Iterator[tuple[Place, str, str]]:
    by = body.group.by
    if by not in GROUPINGS and by not in axes():
        remedy = _near(by, [*GROUPINGS, *axes()])
        yield ("group", "by"), f'"{by}" is neither a way of grouping nor a variable of the system', remedy
    if by in BY_NAME and body.plot.kind in ("lines", "scatter"):
        remedy = 'write kind = "bars" or "stacked" under [plot]'
        yield ("plot", "kind"), f'"{body.plot.kind}" joins points that have an order; {by}s have none', remedy


def _wrong_variable(place: Place, variable: Variable, by: str) -> Iterator[tuple[Place, str, str]]:
    for key, name in (("name", variable.name), ("per", variable.per)):
        if not name or name == THROUGHPUT:
            continue
        base, _, member = name.partition(":")
        found = variables().find(base)
        if found is None:
            yield (*place, key), f'there is no variable "{base}"', _near(base, variables().names())
            continue
        family = found.per not in ("", "transaction")
        if member and not family:
            yield (*place, key), f"{base} has no members", f'write "{base}"'
        elif by in ("device", "lock") and found.per != by:
            yield (*place, key), f"{base} is not measured by {by}", "group it by load or by time"
        elif by == "user" and not of_users(found):
            yield (*place, key), f"{base} is not measured by user", "group it by load or by time"
        elif key == "per" and family:
            yield (
                (*place, key),
                f"{base} is of each {found.per}, not of the system",
                "divide by another variable",
            )
        elif key == "per" and variable.statistic != "mean":
            yield (*place, "statistic"), "only means are divided", "leave statistic out"
        if key == "name" and variable.statistic == "rate" and found.per != "transaction":
            yield (*place, "statistic"), f"{base} is no time of a transaction", "leave statistic out"
        if key == "name" and variable.of and (variable.statistic != "mean" or variable.per or family):
            yield (*place, "of"), "only plain means are parts of a row", "leave of out"
        if key == "name" and variable.split and (found.per != "transaction" or by in BY_NAME):
            yield (*place, "split"), f"{base} by {by} has no classes of work", "leave split out"
        if key == "name" and variable.unit and not variable.per:
            allowed = _numbers.units_like(found.unit)
            if variable.unit not in allowed:
                yield (*place, "unit"), f"{base} is in {found.unit}", f"write one of: {', '.join(allowed)}"


def _near(name: str, known: Any) -> str:
    close = difflib.get_close_matches(name, list(known), n=2, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else "docs/reference/variables.md lists them"


def axes() -> list[str]:
    """What can take the place of load: it has one value for each observation."""
    return [*LOAD_AXES, *(name for name in variables().names() if not _known(name).per)]


def _known(name: str) -> Derived:
    found = variables().find(name)
    assert found is not None, name
    return found


def of_users(variable: Derived) -> bool:
    """Can it be told for each user?"""
    from satline.reduction import user_variables

    return variable.name in user_variables()
