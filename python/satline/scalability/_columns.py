"""Which columns of a table are load, throughput and response: by the names that load tests give them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from satline.errors import InputError

Role = Literal["users", "throughput", "response"]

# The first are sure, those of a later line give way to those of an earlier one.
_NAMES: dict[Role, tuple[frozenset[str], ...]] = {
    "users": (
        frozenset({"n", "users", "vus", "virtual users", "concurrent users", "user count", "active users"}),
        frozenset({"user", "vu", "threads", "thread", "clients", "client", "concurrency", "processes"}),
        frozenset({"active threads", "allthreads", "num threads", "processors", "cpus", "cores", "workers"}),
        frozenset({"load", "connections", "sessions", "level", "parallelism"}),
    ),
    "throughput": (
        frozenset({"x", "throughput", "tput", "tps", "rps", "qps", "tpm", "tpmc", "iops", "ops", "x n"}),
        frozenset({"requests", "transactions", "queries", "operations", "req", "iterations", "hits"}),
        frozenset({"rate", "frames", "messages", "jobs", "samples", "xput", "msgs", "script executions"}),
    ),
    "response": (
        frozenset({"r", "mean response time", "average response time", "avg response time", "avg response"}),
        frozenset({"mean latency", "average latency", "avg latency", "latency mean", "latency avg"}),
        frozenset({"total average response time", "response mean", "response avg", "mean response"}),
        frozenset({"response time", "response", "rt", "latency", "mean", "avg", "average", "elapsed"}),
    ),
}
_TIME_UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "millis", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "μs", "usec", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nsec", "nanosecond", "nanoseconds"), 1e-9),
    **dict.fromkeys(("min", "minute", "minutes"), 60.0),
}
_PER = {"s": 1.0, "sec": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0}
_RATE = re.compile(r"(?:/|\bper\b|\bp(?=s\b))\s*(second|sec|s|minute|min|hour|h)\b")
_BRACKETS = re.compile(r"[(\[{]([^)\]}]*)[)\]}]")
# A count of what was done in all the run, which is no rate; without "per second" it is not taken for one.
_COUNTS = _NAMES["throughput"][1] | _NAMES["throughput"][2] - {"rate"}


@dataclass(frozen=True)
class Column:
    """A column of the table that is used.

    number
        From 0.
    factor
        What its values are multiplied by to be per second, or seconds; ``None`` where the heading names no
        unit.
    """

    number: int
    name: str
    factor: float | None


def choose(heads: Sequence[str], place: str, path: Path, asked: dict[Role, str | None]) -> dict[Role, Column]:
    """The columns of load, throughput and, where there is one, response.

    Raises
    ------
    InputError
        A column that was asked for is not there; load or throughput is not recognised, or is there twice.
    """
    found: dict[Role, Column] = {}
    for role, name in asked.items():
        if name is not None:
            found[role] = _asked(heads, role, name, place, path)
    taken = {column.number for column in found.values()}
    for role in asked:
        if role not in found:
            column = _recognised(heads, role, taken, place)
            if column is not None:
                found[role] = column
                taken.add(column.number)
    shown = ", ".join(head[:40] for head in heads[:20]) + (", …" if len(heads) > 20 else "")
    for role, words in (("users", "the load"), ("throughput", "throughput")):
        if role not in found:
            raise InputError(
                f"{place}: no column is recognised as {words}; there are {shown}",
                hint=f"name it: --{role} COLUMN",
            )
    return found


def _asked(heads: Sequence[str], role: Role, name: str, place: str, path: Path) -> Column:
    same = [k for k, head in enumerate(heads) if head == name] or [
        k for k, head in enumerate(heads) if head.lower() == name.strip().lower()
    ]
    if len(same) == 1:
        return Column(same[0], heads[same[0]], _factor(role, heads[same[0]]))
    if len(same) > 1:
        raise InputError(
            f"{place}: --{role} {name}: there are {len(same)} columns of this name", hint="rename one of them"
        )
    close = get_close_matches(name, heads, n=1)
    shown = ", ".join(head[:40] for head in heads[:20])
    raise InputError(
        f"{path}: --{role} {name}: there is no such column",
        hint=f"did you mean {close[0]}?" if close else f"the columns are {shown}",
    )


def _recognised(heads: Sequence[str], role: Role, taken: set[int], place: str) -> Column | None:
    ranks = {k: rank for k, head in enumerate(heads) if k not in taken and (rank := _rank(role, head)) >= 0}
    best = [k for k, rank in ranks.items() if rank == min(ranks.values())]
    if len(best) > 1:
        names = " and ".join(heads[k][:40] for k in best[:3])
        raise InputError(
            f"{place}: {names} may each be the column of {role}", hint=f"name it: --{role} COLUMN"
        )
    return Column(best[0], heads[best[0]], _factor(role, heads[best[0]])) if best else None


def _rank(role: Role, head: str) -> int:
    """How sure a heading is one of a role: 0 is surest, −1 is no."""
    words = _plain(head)
    rate = _RATE.search(head.lower().replace("_", " ")) is not None
    if role == "throughput" and words in _COUNTS and not rate:
        return -1
    if role != "throughput" and rate:
        return -1
    for rank, names in enumerate(_NAMES[role]):
        if words in names:
            return rank
    return len(_NAMES[role]) if role == "throughput" and rate else -1


def _plain(head: str) -> str:
    """A heading's words without its unit: ``Avg_Latency (ms)`` → ``avg latency``."""
    text = _BRACKETS.sub(" ", head.strip().lower()).replace("_", " ").replace("-", " ").replace(".", " ")
    text = _RATE.sub(" ", text)
    words = re.sub(r"[^\w ]", " ", text).split()
    while len(words) > 1 and words[-1] in _TIME_UNITS:
        words.pop()
    return " ".join(words)


def _factor(role: Role, head: str) -> float | None:
    text = head.strip().lower().replace("_", " ")
    if role == "throughput":
        rate = _RATE.search(text)
        words = _plain(head)
        if rate:
            return 1 / _PER[rate[1]]
        return {"tps": 1.0, "rps": 1.0, "qps": 1.0, "iops": 1.0, "tpm": 1 / 60, "tpmc": 1 / 60}.get(words)
    if role == "response":
        inside = _BRACKETS.search(text)
        last = (inside[1] if inside else re.sub(r"[^\w ]", " ", text)).split()[-1:]
        return _TIME_UNITS.get(last[0]) if last else None
    return 1.0
