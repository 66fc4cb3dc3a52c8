"""The catalogue: every variable that a recording can hold, once, with one definition and one unit.

`python -m satline.catalogue` writes docs/reference/variables.md from it.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from satline import share
from satline.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["identity", "counter", "accumulator", "level", "measure", "derived"]
ColumnType = Literal["int", "text", "float"]

KINDS = ("identity", "counter", "accumulator", "level", "measure", "derived")
TYPES = ("int", "text", "float")
SQL_TYPES: Mapping[str, str] = {"int": "BIGINT", "text": "VARCHAR", "float": "DOUBLE"}
PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "variables.md"


@dataclass(frozen=True)
class Variable:
    """One variable of the catalogue.

    Attributes
    ----------
    scope
        The table that holds it; `common` for the columns that every table begins with.
    kind
        identity, counter, accumulator, level, measure; derived ones are never recorded.
    type
        int (signed, 64 bits), text or float (64 bits).
    unit, linux, formula
        Empty where the catalogue does not say.
    label, vm_label
        What tables and plots call it, on Linux and (where that differs) on virtual-machine systems; empty:
        its name.
    names
        Of text: the rule of `Catalogue.names` by which it is pseudonymised; empty where the catalogue does
        not say, which counts as `text`: nothing of it stands.
    """

    scope: str
    name: str
    kind: Kind
    type: ColumnType
    unit: str
    meaning: str
    linux: str = ""
    formula: str = ""
    names: str = ""
    label: str = ""
    vm_label: str = ""

    @property
    def sql_type(self) -> str:
        """DuckDB's name of the type."""
        return SQL_TYPES[self.type]


@dataclass(frozen=True)
class NameRule:
    """What stands of a text where a recording is pseudonymised; all else of it is replaced.

    Attributes
    ----------
    keep
        What stands as a whole: a regular expression, as are `tail` and `suffix`; empty: nothing.
    tail, suffix
        Endings that stand, of the whole text, and of each part.
    split
        Signs between parts, the first of them first.
    events
        Of the texts of events: kind of event → name of the rule that its text is treated by.
    """

    name: str
    meaning: str
    keep: str = ""
    tail: str = ""
    suffix: str = ""
    split: str = ""
    events: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TableDefinition:
    """One table: its stored columns, common ones first and in the catalogue's order, and its derived ones."""

    name: str
    columns: tuple[Variable, ...]
    derived: tuple[Variable, ...]

    @property
    def own_columns(self) -> tuple[Variable, ...]:
        """The stored columns without the common ones."""
        return tuple(c for c in self.columns if c.scope != "common")

    @property
    def entity(self) -> tuple[str, ...]:
        """Columns that say whose a row is: the table's leading identity columns, `system.sample` excepted."""
        names: list[str] = []
        for column in self.own_columns:
            if column.kind != "identity" or (column.scope, column.name) == ("system", "sample"):
                break
            names.append(column.name)
        return tuple(names)

    def column(self, name: str) -> Variable | None:
        """The stored column of this name."""
        return next((c for c in self.columns if c.name == name), None)

    def arrow_schema(self) -> pa.Schema:
        """Schema of this table's segments, with the format's metadata."""
        import pyarrow as pa

        types = {"int": pa.int64(), "text": pa.string(), "float": pa.float64()}
        metadata = {"satline.table": self.name, "satline.format": "1"}
        return pa.schema([pa.field(c.name, types[c.type]) for c in self.columns], metadata=metadata)


@dataclass(frozen=True)
class Catalogue:
    """All tables in the catalogue's order; a scope of derived variables only is in `derived_scopes`.

    Attributes
    ----------
    names
        What becomes of text where a recording is pseudonymised, by the name of the rule.
    places
        Of `description` and `source`: pattern of a place in recording.toml and in sources/*.toml → name of a
        rule, keep or drop; the first that fits counts.
    """

    common: tuple[Variable, ...]
    tables: Mapping[str, TableDefinition]
    derived_scopes: Mapping[str, tuple[Variable, ...]]
    names: Mapping[str, NameRule] = field(default_factory=dict)
    places: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)

    def table(self, name: str) -> TableDefinition:
        """The table of this name.

        Raises
        ------
        InputError
            If the catalogue has no such table.
        """
        if name not in self.tables:
            known = ", ".join(self.tables)
            raise InputError(f"table {name!r} is not in the catalogue", hint=f"the tables are {known}")
        return self.tables[name]

    def derived(self) -> tuple[Variable, ...]:
        """Every derived variable."""
        own = [v for t in self.tables.values() for v in t.derived]
        return (*own, *(v for scope in self.derived_scopes.values() for v in scope))


def parse(
    text: str, source: str = "variables.toml", names: Mapping[str, NameRule] | None = None
) -> Catalogue:
    """Read a catalogue from TOML text.

    Parameters
    ----------
    text
        The text.
    source
        Its name, for errors.
    names
        The rules for names that columns may have; None: they are not looked at.

    Raises
    ------
    InputError
        Naming the variable that is wrong.
    """
    document = _toml(text, source)
    scopes = {
        scope: tuple(_variable(source, scope, name, fields) for name, fields in variables.items())
        for scope, variables in document.items()
        if isinstance(variables, dict)
    }
    common = scopes.pop("common", ())
    tables: dict[str, TableDefinition] = {}
    derived_scopes: dict[str, tuple[Variable, ...]] = {}
    for scope, variables in scopes.items():
        stored = tuple(v for v in variables if v.kind != "derived")
        derived = tuple(v for v in variables if v.kind == "derived")
        if stored:
            tables[scope] = TableDefinition(scope, (*common, *stored), derived)
        else:
            derived_scopes[scope] = derived
    for table in tables.values():
        for column in table.columns:
            if column.names and names is not None and column.names not in names:
                raise InputError(
                    f"{source}: [{column.scope}.{column.name}]: names is {column.names!r}",
                    hint=f"it must be one of {', '.join(names)}",
                )
    return Catalogue(common, tables, derived_scopes, names or {})


def _toml(text: str, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source}: {error}", hint="the catalogue must be valid TOML") from error


def parse_names(
    text: str, source: str = "names.toml"
) -> tuple[dict[str, NameRule], dict[str, tuple[tuple[str, str], ...]]]:
    """Read the rules for names, and the places of descriptions that they are for, from TOML text.

    Raises
    ------
    InputError
        Naming the rule that is wrong.
    """
    document = _toml(text, source)
    places = {k: document.pop(k) for k in list(document) if not isinstance(document[k], dict)}
    rules = {name: _rule(source, name, fields) for name, fields in document.items()}
    for name, pairs in places.items():
        for pair in pairs if isinstance(pairs, list) else [pairs]:
            if not (isinstance(pair, list) and len(pair) == 2 and pair[1] in {*rules, "keep", "drop"}):
                raise InputError(
                    f"{source}: {name}: {pair!r}",
                    hint=f"write a place, and one of keep, drop, {', '.join(rules)}",
                )
    return rules, {name: tuple((str(p), str(r)) for p, r in pairs) for name, pairs in places.items()}


def _rule(source: str, name: str, fields: Any) -> NameRule:
    place = f"{source}: [{name}]"
    if not isinstance(fields, dict) or not isinstance(fields.get("meaning"), str):
        raise InputError(f"{place}: no meaning", hint="say in one sentence what stands and what is replaced")
    events: dict[str, str] = {}
    for key, value in fields.items():
        if isinstance(value, list):
            events |= {str(event): key for event in value}
        elif key in ("keep", "tail", "suffix"):
            try:
                re.compile(value)
            except (re.error, TypeError) as error:
                raise InputError(f"{place}: {key}: {error}", hint="write a regular expression") from error
        elif key not in ("meaning", "split") or not isinstance(value, str):
            raise InputError(f"{place}: {key} is not known", hint="write keep, tail, suffix or split")
    texts = {key: value for key, value in fields.items() if isinstance(value, str)}
    return NameRule(name, **texts, events=events)


def _variable(source: str, scope: str, name: str, fields: Any) -> Variable:
    place = f"{source}: [{scope}.{name}]"
    if not isinstance(fields, dict):
        raise InputError(f"{place}: not a table", hint="each variable is a table of its own")
    kind = fields.get("kind")
    if kind not in KINDS:
        raise InputError(f"{place}: kind is {kind!r}", hint=f"it must be one of {', '.join(KINDS)}")
    default = {"identity": "text", "derived": "float"}.get(kind, "int")
    column_type = fields.get("type", default)
    if column_type not in TYPES:
        raise InputError(f"{place}: type is {column_type!r}", hint=f"it must be one of {', '.join(TYPES)}")
    for key in ("meaning", *(("formula",) if kind == "derived" else ())):
        if not isinstance(fields.get(key), str):
            raise InputError(f"{place}: no {key}", hint="say in one sentence what it means, in one unit")
    return Variable(
        scope=scope,
        name=name,
        kind=cast(Kind, kind),
        type=cast(ColumnType, column_type),
        unit=fields.get("unit", ""),
        meaning=fields["meaning"],
        linux=fields.get("linux", ""),
        formula=fields.get("formula", ""),
        names=fields.get("names", ""),
        label=fields.get("label", ""),
        vm_label=fields.get("vm_label", ""),
    )


@cache
def catalogue() -> Catalogue:
    """The catalogue that Satline ships."""
    directory = share.path("catalogue")
    names, places = parse_names((directory / "names.toml").read_text(encoding="utf-8"))
    found = parse((directory / "variables.toml").read_text(encoding="utf-8"), names=names)
    return replace(found, places=places)


def reference_page(of: Catalogue) -> str:
    """The reference page of a catalogue, in Markdown."""
    lines = [
        "# Variables",
        "",
        "Made from `catalogue/variables.toml` by `python -m satline.catalogue`; edit that, not this.",
        "",
        "A **counter** counts events up, an **accumulator** adds up time or volume, a **level** is a value",
        "now, a **measure** belongs to the row itself, an **identity** says who or what the row is about.",
        "A **derived** variable is never recorded but made from observations. Missing is null, never zero.",
        "Behind the type of text stands what becomes of it where a recording is pseudonymised"
        " ([names](#names)).",
        "",
        "## Every table",
        "",
        *_rows(of.common),
    ]
    for table in of.tables.values():
        lines += ["", f"## {table.name}", "", *_rows(table.own_columns), *_derived(table.derived)]
    for scope, variables in of.derived_scopes.items():
        lines += ["", f"## {scope}", *_derived(variables)]
    if of.names:
        lines += ["", "## Names", "", "What stands of text where a recording is pseudonymised.", ""]
        lines += ["| text | what stands |", "|---|---|"]
        lines += [f"| {rule.name} | {_cell(rule.meaning)} |" for rule in of.names.values()]
    return "\n".join(lines) + "\n"


def _rows(variables: tuple[Variable, ...]) -> list[str]:
    lines = ["| variable | kind | type | unit | meaning | Linux |", "|---|---|---|---|---|---|"]
    for v in variables:
        source = f"`{_cell(v.linux)}`" if v.linux else ""
        whose = f", {v.names}" if v.names else ""
        lines.append(
            f"| `{v.name}` | {v.kind} | {v.type}{whose} | {_cell(v.unit)} | {_cell(v.meaning)} | {source} |"
        )
    return lines


def _derived(variables: tuple[Variable, ...]) -> list[str]:
    if not variables:
        return []
    lines = ["", "| derived | label | unit | meaning | formula |", "|---|---|---|---|---|"]
    for v in variables:
        formula = " ".join(_cell(v.formula).split())
        label = _cell(v.label) + (f" (VM: {_cell(v.vm_label)})" if v.vm_label else "")
        lines.append(f"| `{v.name}` | {label} | {_cell(v.unit)} | {_cell(v.meaning)} | `{formula}` |")
    return lines


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").strip()


def main(arguments: list[str]) -> int:
    """Write the reference page to the path given, or to its place in the source tree."""
    return share.write_reference(reference_page(catalogue()), PAGE, arguments)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
