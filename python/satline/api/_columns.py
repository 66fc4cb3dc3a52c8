"""Rows with typed, named columns and their units, and the ways in which other libraries get them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from satline.api._html import table_html
from satline.extras import optional_library

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_SHOWN = 10
COLUMNS_SHOWN = 8
_OTHERWISE = "to_arrow() gives the same rows without it"
Kind = Literal["float", "int", "text", "bool"]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    unit
        Of its numbers; empty: none, or text.
    meaning
        In a sentence; empty where the name says it.
    """

    name: str
    kind: Kind = "float"
    unit: str = ""
    meaning: str = ""


class Tabular:
    """What has rows: `to_arrow` gives them, everything else is made from that.

    Any library that reads Arrow by its PyCapsule interface takes it as it is: ``polars.DataFrame(found)``,
    ``duckdb.sql("FROM found")``, ``pyarrow.table(found)``.
    """

    def to_arrow(self) -> pa.Table:
        """The rows as a `pyarrow.Table`.

        A field's metadata holds ``unit`` and ``meaning`` where they are known. Missing is null, never 0.
        """
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's PyCapsule interface."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """The rows as a `pandas.DataFrame`, with the units in its ``attrs["units"]``.

        Raises
        ------
        MissingLibraryError
            pandas is not installed.
        """
        optional_library("pandas", otherwise=_OTHERWISE)
        rows = self.to_arrow()
        frame = rows.to_pandas()
        frame.attrs["units"] = units_of(rows.schema)
        return frame

    def to_polars(self) -> Any:
        """The rows as a `polars.DataFrame`.

        Raises
        ------
        MissingLibraryError
            polars is not installed.
        """
        return optional_library("polars", otherwise=_OTHERWISE).from_arrow(self.to_arrow())

    @property
    def units(self) -> Mapping[str, str]:
        """Unit by name of the column; columns without a unit are left out."""
        return units_of(self.to_arrow().schema)


class Frame(Tabular):
    """A small table that is made when it is first asked for.

    Parameters
    ----------
    title
        What it is, in a few words.
    make
        Makes the rows.
    """

    def __init__(self, title: str, make: Callable[[], pa.Table]) -> None:
        self.title = title
        self._make = make

    @cached_property
    def _rows(self) -> pa.Table:
        return self._make()

    def to_arrow(self) -> pa.Table:
        """The rows as a `pyarrow.Table`; see `Tabular.to_arrow`."""
        return self._rows

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._rows.column_names)

    def __len__(self) -> int:
        return int(self._rows.num_rows)

    def __repr__(self) -> str:
        from satline.present import visible

        shown = self._rows.slice(0, ROWS_SHOWN).to_pylist()
        names = self.columns[:COLUMNS_SHOWN]
        cells = [list(map(visible, names)), *([shown_value(row[n]) for n in names] for row in shown)]
        widths = [max(len(line[k]) for line in cells) for k in range(len(names))]
        lines = ["  ".join(c.rjust(w) for c, w in zip(line, widths, strict=True)) for line in cells]
        more = [f"… {len(self) - len(shown)} more rows"] if len(self) > len(shown) else []
        wide = f" (first {len(names)} shown)" if len(self.columns) > len(names) else ""
        head = f"{visible(self.title)}: {len(self)} rows, {len(self.columns)} columns{wide}"
        return "\n".join([head, *lines, *more])

    def _repr_html_(self) -> str:
        return rows_html(self._rows, self.title)


def made_table(columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> pa.Table:
    """An Arrow table of these rows; NaN is null, and infinite stays infinite.

    Parameters
    ----------
    columns
        Name, kind and unit of each.
    rows
        Values in the order of the columns; ``None`` is null.
    """
    import pyarrow as pa

    types = {"float": pa.float64(), "int": pa.int64(), "text": pa.string(), "bool": pa.bool_()}
    values = list(rows)
    fields = [pa.field(c.name, types[c.kind], metadata=metadata_of(c.unit, c.meaning)) for c in columns]
    arrays = [
        pa.array([_stored(row[k], column.kind) for row in values], types[column.kind])
        for k, column in enumerate(columns)
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def metadata_of(unit: str, meaning: str = "") -> dict[str, str]:
    """A field's metadata: what is known of its unit and meaning."""
    return {key: value for key, value in (("unit", unit), ("meaning", meaning)) if value}


def units_of(schema: pa.Schema) -> dict[str, str]:
    """Unit by name of the column, from the fields' metadata."""
    units = {field.name: (field.metadata or {}).get(b"unit", b"").decode() for field in schema}
    return {name: unit for name, unit in units.items() if unit}


def rows_html(rows: pa.Table, title: str = "") -> str:
    """The first rows as an HTML table, every value escaped, units in the heads."""
    units = units_of(rows.schema)
    names = rows.column_names[: 2 * COLUMNS_SHOWN]
    heads = [f"{name}, {units[name]}" if name in units else name for name in names]
    cells = [[shown_value(row[n]) for n in names] for row in rows.slice(0, ROWS_SHOWN).to_pylist()]
    notes = []
    if rows.num_rows > ROWS_SHOWN:
        notes.append(f"{rows.num_rows - ROWS_SHOWN} more rows")
    if len(names) < rows.num_columns:
        notes.append(f"{rows.num_columns - len(names)} more columns")
    return table_html(heads, cells, title=title, note="; ".join(notes))


def shown_value(value: Any) -> str:
    """A value for people: four digits of a number, nothing for null, hostile characters made visible."""
    from satline.present import visible

    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.0f}" if 1e4 <= abs(value) < 1e16 else f"{value:.4g}"
    return visible(value, longest=60)


def finite(value: float | None) -> float | None:
    """The number, or ``None`` where it is missing or not finite: as a chart can hold it."""
    return None if value is None or not math.isfinite(value) else float(value)


def _stored(value: Any, kind: Kind) -> Any:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if kind == "text":
        # A path may hold bytes that are no text; Arrow's strings may not.
        return str(value).encode("utf-8", "backslashreplace").decode("utf-8")
    return {"float": float, "int": int, "bool": bool}[kind](value)
