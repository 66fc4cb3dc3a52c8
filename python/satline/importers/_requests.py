"""Logs of requests → rows of table transaction; access logs of web servers among them."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from satline.errors import InputError
from satline.importers._importer import compressed
from satline.importers._mapping import UNIT_S, Transaction
from satline.importers._plain_tables import PlainTable, Told
from satline.importers._series import BROKEN
from satline.importers._sink import Floats

# HOST IDENT USER [TIME] "REQUEST" STATUS …; the last field is the duration.
_LINE = re.compile(rb'\S+ \S+ (\S+) \[([^\]]{20,32})\] "((?:[^"\\]|\\.)*)" (\d{3}) ')
_MOST_CLASSES = 40
_NO_ANSWER = frozenset({408, 499, 504})


def transactions(table: PlainTable, log: Transaction, told: Told) -> dict[str, Any]:
    """Columns of table transaction, and ``ended_ns``, in order of the time at which each begins."""
    spent = _spent_ns(table, log)
    negative = spent < 0
    if negative.any():
        what = "negative response times" if log.end_column is None else "ends that lie before their begin"
        told.damage(f"{table.path}: {int(negative.sum())} {what} were left out")
    spent = np.where(negative, np.nan, spent)
    known = np.isfinite(spent) & (spent < 1e18)
    length = np.where(known, spent, 0.0).astype(np.int64)
    begin = table.time_ns - length if log.time_is == "end" else table.time_ns
    order = np.argsort(begin, kind="stable")
    said = table.texts(log.outcome_column)
    outcome = np.full(len(begin), "ok", dtype=object)
    if log.outcome_column is not None:
        outcome[:] = "unexpected"
        outcome[np.isin(said, log.ok)] = "ok"
        outcome[np.isin(said, log.timeout)] = "timeout"
    # Nothing came back: whatever the log calls it, the user gave up or was cut off.
    outcome[~known] = "timeout"
    row: dict[str, Any] = {
        "time_ns": begin[order],
        "ended_ns": (begin + length)[order],
        "response_us": np.where(known, spent / 1000, np.nan)[order],
        "outcome": outcome[order],
    }
    for name, column in (("user", log.user_column), ("class", log.class_column)):
        if column is not None:
            row[name] = table.texts(column)[order]
    return row


def _spent_ns(table: PlainTable, log: Transaction) -> Floats:
    """How long each request took, ns; NaN: nothing came back."""
    if log.end_column is not None:
        assert table.spent_ns is not None
        return table.spent_ns
    assert log.response_column is not None
    assert log.unit is not None
    return table.numbers(log.response_column) * UNIT_S[log.unit] * 1e9


def coarse(table: PlainTable, log: Transaction) -> str | None:
    """What to say where response times are differences of times to the second."""
    if log.end_column is None or table.spent_ns is None:
        return None
    known = table.spent_ns[np.isfinite(table.spent_ns)]
    if (table.time_ns % 10**9).any() or (known % 1e9).any():
        return None
    return f"{table.path.name}: begin and end are to the second: a response time is off by up to a second"


def read_access_log(
    path: Path, server: Literal["nginx", "apache"], told: Told
) -> tuple[PlainTable, Transaction]:
    """Read an access log whose lines end with the duration: nginx's ``$request_time``, Apache's ``%D``.

    nginx writes the time at which a request ended and seconds, Apache the time at which it began and µs.
    Times are to the second; half a second is added, so that the error is at most that, in either direction.
    The class is the method with the first part of the path; those that are seldom are ``other``.

    Raises
    ------
    InputError
        It cannot be read, or no line is one of such a log.
    """
    unit: Literal["s", "us"] = "s" if server == "nginx" else "us"
    rows: list[tuple[int, float, str | None, str, str]] = []
    times: dict[bytes, int] = {}
    bad = lines = 0
    first_bad = 0
    try:
        with compressed(path)(path, "rb") as file:
            for line in file:
                lines += 1
                row = _access(line, unit, times)
                if row is None:
                    bad += 1
                    first_bad = first_bad or lines
                else:
                    rows.append(row)
    except BROKEN as error:
        told.damage(f"{path}: damaged after line {lines:,}: {error}")
    if not rows:
        field = "$request_time" if server == "nginx" else "%D"
        raise InputError(
            f"{path}: no line of an access log of {server} that ends with the duration",
            hint=f"end the log format with {field}; or write a mapping file: docs/guides/mapping-files.md",
        )
    if bad:
        told.damage(f"{path}: {bad:,} lines are none of an access log, the first is line {first_bad}")
    counts: dict[str, int] = {}
    for row in rows:
        counts[row[3]] = counts.get(row[3], 0) + 1
    usual = set(sorted(counts, key=lambda name: (-counts[name], name))[:_MOST_CLASSES])
    rows.sort(key=lambda row: row[0])
    columns = {
        "response": pa.array([row[1] for row in rows], pa.float64()),
        "user": pa.array([row[2] for row in rows], pa.string()),
        "class": pa.array([row[3] if row[3] in usual else "other" for row in rows], pa.string()),
        "outcome": pa.array([row[4] for row in rows], pa.string()),
    }
    table = PlainTable(path, np.asarray([row[0] for row in rows], dtype=np.int64), pa.table(columns))
    log = Transaction(
        response_column="response",
        unit=unit,
        time_is="end" if server == "nginx" else "begin",
        user_column="user",
        class_column="class",
        outcome_column="outcome",
    )
    return table, log


def _access(
    line: bytes, unit: str, times: dict[bytes, int]
) -> tuple[int, float, str | None, str, str] | None:
    """Time in ns, duration in `unit`, user, class and outcome of a line; ``None``: it is none."""
    match = _LINE.match(line)
    if match is None:
        return None
    try:
        # nginx writes - where there is none.
        last = line.rsplit(None, 1)[-1].strip(b'"')
        duration = float("nan") if last == b"-" else float(last)
        # Apache's are whole microseconds, nginx's have three places.
        if duration < 0 or (last != b"-" and (unit == "us") == (b"." in last)):
            return None
        time = times.get(match[2])
        if time is None:
            at = datetime.strptime(match[2].decode("ascii"), "%d/%b/%Y:%H:%M:%S %z")
            time = int(at.timestamp()) * 10**9 + 500_000_000
            if abs(time) >= 1 << 63:
                return None  # a year beyond 2262 is no time of a recording
            times[match[2]] = time
    except (ValueError, OverflowError):
        return None
    status = int(match[4])
    outcome = "timeout" if status in _NO_ANSWER else "ok" if status < 400 else "failed"
    user = None if match[1] == b"-" else match[1].decode("utf-8", "replace")
    words = match[3].decode("utf-8", "replace").split(" ")
    part = words[1].split("?")[0].split("/")[1:2] if len(words) > 1 and words[1].startswith("/") else []
    return time, duration, user, f"{words[0][:16]} /{(part or [''])[0][:40]}", outcome
