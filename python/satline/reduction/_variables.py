"""The catalogue as the reduction needs it: counters and levels by table, and the derived variables in
order."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

from satline import share

_WORD = re.compile(r"'[^']*'|[A-Za-z_][A-Za-z_0-9]*")
_SQL_WORDS = frozenset(
    [
        "case",
        "when",
        "then",
        "else",
        "end",
        "and",
        "or",
        "not",
        "is",
        "null",
        "in",
        "between",
        "as",
        "coalesce",
        "greatest",
        "least",
        "nullif",
        "abs",
        "round",
        "e6",
    ]
)


@lru_cache(maxsize=4096)
def _names(formula: str) -> frozenset[str]:
    words = (w for w in _WORD.findall(formula) if not w.startswith("'"))
    return frozenset(w for w in words if w.lower() not in _SQL_WORDS)


@dataclass(frozen=True)
class Derived:
    """One derived variable of the catalogue.

    formula
        SQL over one observation, one device or one transaction; see the catalogue's own words.
    weight
        Variable by which observations are weighted in a class, or empty.
    per
        Empty (one value per observation), ``device``, ``lock``, ``transaction`` or ``thermometer``.
    """

    name: str
    unit: str
    meaning: str
    formula: str
    weight: str
    per: str

    @property
    def names(self) -> frozenset[str]:
        """Every variable that the formula names."""
        return _names(self.formula)

    @property
    def all_names(self) -> frozenset[str]:
        """Every variable that the formula or the weight names."""
        return _names(self.formula) | _names(self.weight)


# Of a device: columns that each, or together, say how long requests were there.
REQUEST_TIMES = ("queue_us", "request_wait_us", "read_wait_us", "write_wait_us")
# What a formula may name beside columns: the table that it is made of.
_MADE_OF = {
    "users_with_cpu": "user",
    "user_cpu_largest_us": "user",
    "task_busiest_us": "task",
    "device_busiest_us": "device",
    "device_inside_us": "device",
    "transactions_completed": "transaction",
    "transactions_failed": "transaction",
    "transaction_seconds": "transaction",
    "transaction_work_seconds": "transaction",
    "transaction_work_alone": "transaction",
    "transaction_work_here": "transaction",
    "processors": "processor",
    "capacity": "processor",
}


@dataclass(frozen=True)
class Variables:
    """Columns of each table by kind, and the derived variables in the order of the catalogue.

    words
        Unit and meaning of each column of table system.
    """

    counters: dict[str, tuple[str, ...]]
    levels: dict[str, tuple[str, ...]]
    derived: tuple[Derived, ...]
    words: dict[str, tuple[str, str]] = field(default_factory=dict)

    def of(self, per: str) -> tuple[Derived, ...]:
        """The derived variables with this `per`."""
        return tuple(d for d in self.derived if d.per == per)

    def find(self, name: str) -> Derived | None:
        """The derived variable of this name; of a level of table system the level, of a counter its rate."""
        for d in self.derived:
            if d.name == name:
                return d
        unit, meaning = self.words.get(name, ("", ""))
        if name in self.levels["system"]:
            return Derived(name, unit, meaning, f'"{name}"', "", "")
        if name in self.counters["system"]:
            rate = f"{unit}/s" if unit else "per second"
            return Derived(name, rate, meaning, f'"d_{name}" / period_s', "", "")
        return None

    def names(self) -> tuple[str, ...]:
        """Every name that `find` knows."""
        return (*(d.name for d in self.derived), *self.levels["system"], *self.counters["system"])

    def closure(self, wanted: Iterable[Derived]) -> tuple[Derived, ...]:
        """The variables wanted, with those that their formulas and weights name, each after what it names."""
        known = {d.name: d for d in self.derived}
        found: dict[str, Derived] = {}

        def add(d: Derived) -> None:
            if d.name not in found:
                for name in sorted(d.all_names):
                    if name in known and name != d.name:
                        add(known[name])
                found[d.name] = d

        for d in wanted:
            add(d)
        return tuple(found.values())

    def columns(self, wanted: Iterable[Derived]) -> dict[str, frozenset[str]]:
        """By table, the counters and levels that these formulas need; a table that none needs is left out."""
        names = {n for d in wanted for n in d.all_names}
        plain = {n.removeprefix("d_") for n in names}
        found: dict[str, frozenset[str]] = {}
        for table in self.counters:
            prefix = prefix_of(table)
            columns = (*self.counters[table], *self.levels[table])
            found[table] = frozenset(c for c in columns if prefix + c in plain)
        if "device_inside_us" in names:
            found["device"] |= frozenset(REQUEST_TIMES)
        if "capacity" in names:
            found["cgroup"] |= {"quota_limit_millicpu"}
        made_of = {_MADE_OF[n] for n in names if n in _MADE_OF}
        return {t: c for t, c in found.items() if c or t in made_of}


def prefix_of(table: str) -> str:
    """What stands before the columns of `table` in a formula."""
    return "" if table in {"system", "processor", "device", "lock"} else f"{table}_"


def read_variables(path: Path) -> Variables:
    """Read a catalogue file (variables.toml)."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    counters: dict[str, tuple[str, ...]] = {}
    levels: dict[str, tuple[str, ...]] = {}
    for table, columns in document.items():
        if not isinstance(columns, dict) or table in {"common", "derived"}:
            continue
        counters[table] = tuple(n for n, c in columns.items() if c["kind"] in {"counter", "accumulator"})
        levels[table] = tuple(n for n, c in columns.items() if c["kind"] == "level")
    derived = tuple(
        Derived(n, c["unit"], c["meaning"], c["formula"], c.get("weight", ""), c.get("per", ""))
        for n, c in document.get("derived", {}).items()
    )
    words = {n: (c.get("unit", ""), c["meaning"]) for n, c in document["system"].items()}
    return Variables(counters, levels, derived, words)


@cache
def variables() -> Variables:
    """The shipped catalogue."""
    return read_variables(share.path("catalogue") / "variables.toml")
