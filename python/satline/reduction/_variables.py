"""The catalogue as the reduction needs it: counters and levels by table, and the derived variables in
order."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
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


@dataclass(frozen=True)
class Derived:
    """One derived variable of the catalogue.

    formula
        SQL over one observation, one device or one transaction; see the catalogue's own words.
    weight
        Variable by which observations are weighted in a class, or empty.
    per
        Empty (one value per observation), ``device``, ``transaction`` or ``thermometer``.
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
        words = (w for w in _WORD.findall(self.formula) if not w.startswith("'"))
        return frozenset(w for w in words if w.lower() not in _SQL_WORDS)


@dataclass(frozen=True)
class Variables:
    """Columns of each table by kind, and the derived variables in the order of the catalogue."""

    counters: dict[str, tuple[str, ...]]
    levels: dict[str, tuple[str, ...]]
    derived: tuple[Derived, ...]

    def of(self, per: str) -> tuple[Derived, ...]:
        """The derived variables with this `per`."""
        return tuple(d for d in self.derived if d.per == per)


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
    return Variables(counters, levels, derived)


@cache
def variables() -> Variables:
    """The shipped catalogue."""
    return read_variables(share.path("catalogue") / "variables.toml")
