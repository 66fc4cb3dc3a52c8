"""The text of `sar` of any system → series of rows: which columns, from when to when, of which entity.

What is the same everywhere: a first line with system and date; a line of column names that begins with the
time at which the first interval begins; rows that begin with the time at which an interval ends (or with
blanks: same time, next entity); lines of averages; marks of restarts. The date is said once, so that a time
that falls by more than half a day is the next day's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import NamedTuple

_BANNER = re.compile(r"(Linux|HP-UX|SunOS|AIX)\s+\S")
_LINUX = re.compile(r"Linux\s+(\S+)\s+\((.*)\)\s+(\S+)(?:\s+_(\S+)_)?(?:\s+\((\d+)\s)?")
_TIME = re.compile(r"([01]?\d|2[0-4]):([0-5]\d):([0-5]\d)", re.ASCII)
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)?(?:[eE][-+]?\d+)?%?|nan|-nan|N/A", re.IGNORECASE)
_DATES = (
    (re.compile(r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)"), True),
    (re.compile(r"(?P<y>\d{4})/(?P<m>\d\d)/(?P<d>\d\d)"), True),
    (re.compile(r"(?P<y>\d{4})年(?P<m>\d\d?)月(?P<d>\d\d?)日"), True),
    (re.compile(r"(?P<d>\d\d?)\.(?P<m>\d\d?)\.(?P<y>\d{2,4})"), True),
    (re.compile(r"(?P<m>\d\d?)[/-](?P<d>\d\d?)[/-](?P<y>\d{2,4})"), False),
)
_TURNS = (
    "several kinds of rows take turns under one time, of which the first is read; "
    "print them from a file (sar -f), or one by one"
)
_HALF_DAY_S, _DAY_S = 43_200, 86_400
_MOST_PROCESSORS = 65_536


@dataclass(frozen=True)
class Facts:
    """What the lines above a row say of its system.

    processors
        Linux: processors; AIX: logical processors (lcpu). ``None``: not said.
    entitled
        AIX: entitled capacity of a shared partition, in processors.
    capped
        AIX: mode=Capped.
    """

    system: str = ""
    name: str = ""
    kernel: str = ""
    machine: str = ""
    processors: int | None = None
    entitled: float | None = None
    capped: bool = False


class Row(NamedTuple):
    """One row. Times are those of the wall clock, s since 1970 as if it were UTC.

    start
        Beginning of its interval; ``None``: unknown.
    steps
        How often the clock had been set back before.
    """

    facts: Facts
    start: int | None
    time: int
    steps: int
    name: str
    values: list[str]


@dataclass
class Text:
    """All rows by their column names; `names` say which column names the entity (or none)."""

    series: dict[tuple[str, ...], list[Row]] = field(default_factory=dict)
    restarts: int = 0
    damage: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    facts: Facts = field(default_factory=Facts)


@dataclass
class _Clock:
    """The wall clock of one series."""

    day: int
    last: int | None = None
    steps: int = 0
    broken: bool = False

    def at(self, seconds: int) -> int:
        """Whole time of a time of day that comes next."""
        if self.last is None:
            return self.day + seconds
        time = self.last - self.last % _DAY_S + seconds
        if time < self.last - _HALF_DAY_S:
            time += _DAY_S
        if time < self.last:
            self.steps += 1
            self.broken = True
        return time


ENTITIES = frozenset({"CPU", "cpu", "DEV", "device", "IFACE", "INTR"})


def read_text(lines: Iterable[str], known: Callable[[tuple[str, ...]], bool]) -> Text:
    """Read the lines of one file; rows whose column names are not `known` are left out."""
    return _Reader(known).read(lines)


class _Reader:
    def __init__(self, known: Callable[[tuple[str, ...]], bool]) -> None:
        self.text = Text()
        self.known = known
        self.day: int | None = None
        self.clocks: dict[tuple[str, ...], _Clock] = {}
        self.header: tuple[str, ...] | None = None
        self.entity: int | None = None
        self.wanted = False
        self.row_time: tuple[int | None, int] | None = None
        self.undated = 0
        self.misshapen: list[int] = []

    def read(self, lines: Iterable[str]) -> Text:
        for number, line in enumerate(lines, start=1):
            if not line.endswith("\n"):
                if line.strip():
                    self.text.damage.append(f"line {number}: the last line is not ended: left out")
                break
            tokens = line.split()
            if tokens:
                self.line(number, line, tokens)
        if self.undated:
            self.text.damage.append(f"{self.undated} rows before any line with system and date: left out")
        if self.misshapen:
            many = len(self.misshapen)
            self.text.damage.append(
                f"line {self.misshapen[0]}: not as many columns as names; {many} such rows"
            )
        return self.text

    def line(self, number: int, line: str, tokens: list[str]) -> None:
        if _BANNER.match(line):
            self.banner(line, tokens)
            return
        if line.startswith(("System configuration:", "System Configuration:")):
            self.configuration(tokens)
            return
        time = _TIME.fullmatch(tokens[0])
        if time is None:
            if not line[0].isspace():
                self.row_time = None  # averages, in any language, and what belongs to them
            else:
                self.untimed(number, tokens)
            return
        seconds, rest = _time_of_day(time, tokens)
        if any("restart" in token.lower() for token in rest):
            self.text.restarts += 1
            for clock in self.clocks.values():
                clock.broken = True
            self.row_time = None
        elif not any(_NUMBER.fullmatch(t) or _of_limit(t) for t in rest):
            self.names(seconds, tuple(rest))
        elif self.day is None:
            self.undated += 1
        elif self.header is not None:
            clock = self.clocks[self.header]
            if clock.last is not None and self.row_time is not None and seconds == clock.last % _DAY_S:
                pass  # the next entity of the same interval
            else:
                at = clock.at(seconds)
                self.row_time = (None if clock.broken else clock.last, at)
                clock.last, clock.broken = at, False
            self.row(number, rest)

    def banner(self, line: str, tokens: list[str]) -> None:
        """`Linux 4.12.14 (host) 04/08/18 _x86_64_ (4 CPU)`; `SunOS host 5.11 11.3 sun4v 05/26/2017`."""
        found = [d for token in tokens if (d := _date(token)) is not None]
        if found:
            self.day, sure = found[-1]
            if not sure:
                date = datetime.fromtimestamp(self.day, UTC)
                self.text.notes.append(
                    f"the date {_date_token(tokens)} is read as {date:%Y-%m-%d}, month first"
                )
        linux = _LINUX.match(line)
        if linux:
            facts = Facts("Linux", linux[2], linux[1], linux[4] or "", _count(linux[5]))
        elif tokens[0] == "AIX" and len(tokens) > 3:
            facts = Facts("AIX", tokens[1], f"{tokens[3]}.{tokens[2]}")
        else:
            several = tokens + [""] * 5
            machine = tokens[-2] if len(tokens) > 4 else ""
            facts = Facts(several[0], several[1], several[2], machine)
        self.text.facts = facts
        self.clocks, self.header, self.row_time = {}, None, None

    def configuration(self, tokens: list[str]) -> None:
        """`System configuration: lcpu=4 ent=0.50 mode=Capped` of AIX; printed again when it changes."""
        said = dict(t.split("=", 1) for t in tokens if "=" in t)
        entitled = to_number(said.get("ent", ""))
        self.text.facts = replace(
            self.text.facts,
            processors=_count(said.get("lcpu")),
            entitled=entitled if 0 < entitled < _MOST_PROCESSORS else None,
            capped=said.get("mode", "").lower() == "capped",
        )

    def names(self, seconds: int, names: tuple[str, ...]) -> None:
        if self.day is None:
            self.header, self.row_time = names, None
            return
        clock = self.clocks.setdefault(names, _Clock(self.day))
        at = clock.at(seconds)
        # The names come again on each page: then the interval goes on.
        clock.last, clock.broken = at, False
        self.header, self.row_time = names, None
        self.wanted = self.known(names)
        self.entity = next((i for i, name in enumerate(names) if name in ENTITIES), None)

    def untimed(self, number: int, tokens: list[str]) -> None:
        if any(_NUMBER.fullmatch(t) for t in tokens):
            if self.entity is not None:
                self.row(number, tokens)
        elif self.header is not None and _TURNS not in self.text.notes:
            self.text.notes.append(_TURNS)

    def row(self, number: int, tokens: list[str]) -> None:
        if self.header is None or self.row_time is None or not self.wanted:
            return
        if len(tokens) != len(self.header):
            self.misshapen.append(number)
            return
        name = tokens[self.entity] if self.entity is not None else ""
        start, time = self.row_time
        steps = self.clocks[self.header].steps
        self.text.series.setdefault(self.header, []).append(
            Row(self.text.facts, start, time, steps, name, tokens)
        )


def _count(digits: str | None) -> int | None:
    """A number of processors; ``None`` where there is none that could be one."""
    many = int(digits) if digits and digits.isdecimal() and len(digits) < 8 else 0
    return many if 0 < many < _MOST_PROCESSORS else None


def _time_of_day(time: re.Match[str], tokens: list[str]) -> tuple[int, list[str]]:
    hour, rest = int(time[1]), tokens[1:]
    if rest and rest[0] in {"AM", "PM", "am", "pm"}:
        hour = hour % 12 + (12 if rest[0].upper() == "PM" else 0)
        rest = rest[1:]
    return hour * 3600 + int(time[2]) * 60 + int(time[3]), rest


def _of_limit(token: str) -> bool:
    return "/" in token and token.split("/", 1)[0].isdigit()


def _date_token(tokens: list[str]) -> str:
    """The token that is a date."""
    return next((t for t in reversed(tokens) if _date(t) is not None), "")


def _date(token: str) -> tuple[int, bool] | None:
    """Midnight of a date, and whether the order of day and month is beyond doubt."""
    for pattern, plain in _DATES:
        if (m := pattern.fullmatch(token)) is None:
            continue
        year, month, day = int(m["y"]), int(m["m"]), int(m["d"])
        sure = plain or month > 12 or day > 12 or month == day
        if month > 12:
            month, day = day, month
        year += 0 if year > 99 else 2000 if year < 70 else 1900
        if not 1970 <= year < 2200:
            return None
        try:
            return int(datetime(year, month, day, tzinfo=UTC).timestamp()), sure
        except ValueError:
            return None
    return None


def to_number(token: str) -> float:
    """A number as any locale writes it; NaN where there is none."""
    try:
        return float(token.rstrip("%").replace(",", "."))
    except ValueError:
        return float("nan")


def looks_like_sar(head: str) -> float:
    """How surely a text begins like that of `sar`."""
    lines: Iterator[list[str]] = (line.split() for line in head.splitlines() if line.strip())
    first = [t for t, _ in zip(lines, range(6), strict=False)]
    if not first:
        return 0.0
    banner = any(_BANNER.match(" ".join(t)) and _date_token(t) for t in first)
    names = any(_TIME.fullmatch(t[0]) and any("%" in x or x.endswith("/s") for x in t[1:]) for t in first)
    return 0.95 if banner and names else 0.6 if banner else 0.4 if names else 0.0
