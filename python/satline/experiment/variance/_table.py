"""A table of results: read, and brought to one number per run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satline.errors import InputError
from satline.experiment.variance._coding import Layout
from satline.outside import parse_json, read_csv, read_parquet

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

STATISTICS = {"mean": 0.0, "median": 0.5, "p90": 0.9, "p95": 0.95}
MOST_ROWS_PER_CELL = 20
MOST_LEVELS = 50
RUN, BLOCK = "run", "block"


@dataclass(frozen=True)
class Results:
    """One number for each run.

    y
        The response, or the statistic of it over the run's rows.
    order
        Runs in the order in which they were done; ``None`` if nothing says it.
    rows
        Rows of the table, of which `missing` had no response.
    notes
        What was done to the table.
    """

    layout: Layout
    y: NDArray[np.float64]
    order: NDArray[np.float64] | None
    rows: int
    missing: int
    notes: tuple[str, ...]


def read_table(path: Path) -> pa.Table:
    """CSV, Parquet or JSON (a list of objects, an object a line, or what `experiment design --json` prints).

    Raises
    ------
    InputError
        No such file, or not one of these.
    """
    import pyarrow as pa

    if path.is_dir():
        raise InputError(f"{path} is a directory", hint="name a table: CSV, Parquet or JSON")
    try:
        table = _read(path)
        # Text that is no UTF-8 is found here, not where it is shown.
        table.validate(full=True)
        _ = table.column_names
        return table
    except FileNotFoundError:
        raise InputError(f"there is no file {path}", hint="name a table: CSV, Parquet or JSON") from None
    except (pa.ArrowException, ValueError, OverflowError, RecursionError, AttributeError, OSError) as error:
        # Broken Parquet files are OSErrors without a number; a disk's or a permission's have one.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        hint = "a table is CSV with a line of names, .parquet, or .json: a list of objects"
        raise InputError(f"{path}: {reason}", hint=hint) from None


def _read(path: Path) -> pa.Table:
    import pyarrow as pa

    if path.suffix.lower() in (".parquet", ".pq"):
        return read_parquet(path)
    if path.suffix.lower() in (".json", ".jsonl", ".ndjson"):
        rows = _objects(path)
        names = list(dict.fromkeys(name for row in rows for name in row))
        return pa.table({name: [row.get(name) for row in rows] for name in names})
    return read_csv(path)


def _objects(path: Path) -> list[dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    try:
        content = parse_json(text)
    except json.JSONDecodeError:
        content = [parse_json(line) for line in text.splitlines() if line.strip()]
    if isinstance(content, dict):
        content = content.get("runs", [content])
    if not isinstance(content, list) or not all(isinstance(one, dict) for one in content):
        raise ValueError("it holds no list of objects")
    return [
        {**{k: v for k, v in one.items() if k != "levels"}, **one["levels"]}
        if isinstance(one.get("levels"), dict)
        else one
        for one in content
    ]


def split_by(table: pa.Table, column: str, path: Path) -> list[tuple[str, pa.Table]]:
    """The rows of each class of `column`; rows without one are left out."""
    import pyarrow.compute as pc

    values = _column(table, column, path)
    found = [v for v in pc.unique(values).to_pylist() if v is not None]
    if len(found) > MOST_LEVELS:
        raise InputError(
            f"{path}: {column} has {len(found)} classes; at most {MOST_LEVELS}", hint="group them"
        )
    return [(_text(v), table.filter(pc.equal(values, v))) for v in sorted(found, key=_text)]


def per_run(
    table: pa.Table,
    path: Path,
    response: str,
    factors: Sequence[str],
    *,
    run: str | None = None,
    block: str | None = None,
    statistic: str = "mean",
    rows_are_runs: bool = False,
) -> Results:
    """One number for each run: the rows of a run are not independent of each other, so they are joined first.

    Parameters
    ----------
    run, block
        Columns that number them; by default those of that name, if the table has them.
    rows_are_runs
        Each row is a run by itself, however many there are.

    Raises
    ------
    InputError
        A column that is not there, holds no numbers or changes within a run; many rows in each cell, and
        nothing that says of which run they are.
    """
    import numpy as np

    run = None if rows_are_runs else run or (RUN if RUN in table.column_names else None)
    block = block or (BLOCK if BLOCK in table.column_names else None)
    for role, name in (("run", run), ("block", block), ("response", response)):
        if name in factors:
            raise InputError(f"{name} is a factor and the {role}", hint="give each column one part to play")
    y = numbers_of(table, response, path)
    levels, codes = [], []
    for name in factors:
        own, code = _codes(table, name, path)
        if len(own) < 2:
            raise InputError(
                f"{path}: {name} has only the level {own[0]}" if own else f"{path}: {name} is empty",
                hint="leave it out of --factors",
            )
        levels.append(own)
        codes.append(code)
    cells = np.column_stack(codes)
    good = np.isfinite(y) & (cells >= 0).all(axis=1)
    blocks = _codes(table, block, path)[1] if block else None
    rows, missing, notes = len(y), int((~good).sum()), []
    if missing:
        notes.append(f"{missing} of {rows} rows have no {response} or no level, and are left out")
    if not good.any():
        raise InputError(f"{path}: no row has {response} and all factors", hint="see the columns' names")
    if run is None:
        different = len(np.unique(cells[good], axis=0))
        if int(good.sum()) > MOST_ROWS_PER_CELL * different and not rows_are_runs:
            raise InputError(
                f"{path}: {int(good.sum()) / different:.0f} rows per combination, and no column says of which"
                " run they are; rows of one run are no replicates",
                hint="name the column with --run, or say --rows-are-runs",
            )
        layout = _layout(factors, levels, cells[good], None if blocks is None else blocks[good])
        return Results(layout, y[good], None, rows, missing, tuple(notes))
    names, runs = _codes(table, run, path, most=None)
    good &= runs >= 0
    whole = cells if blocks is None else np.column_stack([cells, blocks])
    _, first, group = np.unique(runs[good], return_index=True, return_inverse=True)
    kept = whole[good]
    changed = (kept != kept[first][group]).any(axis=1)
    if changed.any():
        which = names[int(runs[good][int(np.argmax(changed))])]
        raise InputError(
            f"{path}: the levels change within {run} {which}", hint="number each run once, with --run"
        )
    values = _joined(y[good], group, statistic)
    if len(values) < int(good.sum()):
        notes.append(
            f"{int(good.sum()):,} rows joined to {len(values)} runs by their {statistic}: rows of one run"
            " are not independent"
        )
    layout = _layout(factors, levels, cells[good][first], None if blocks is None else blocks[good][first])
    return Results(layout, values, _order(names, runs[good][first]), rows, missing, tuple(notes))


def _layout(
    names: Sequence[str],
    levels: list[list[str]],
    cells: NDArray[np.int64],
    blocks: NDArray[np.int64] | None,
) -> Layout:
    import numpy as np

    for place, name in enumerate(names):
        seen = np.unique(cells[:, place])
        if len(seen) < 2:
            raise InputError(f"{name} has only one level with results", hint="leave it out of --factors")
        levels[place] = [levels[place][i] for i in seen]
        cells[:, place] = np.searchsorted(seen, cells[:, place])
    if blocks is not None:
        blocks = np.unique(blocks, return_inverse=True)[1]
        if int(blocks.max()) == 0:
            blocks = None
    return Layout(tuple(names), tuple(tuple(one) for one in levels), cells, blocks)


def _joined(y: NDArray[np.float64], group: NDArray[np.int64], statistic: str) -> NDArray[np.float64]:
    import numpy as np

    if statistic == "mean":
        return np.bincount(group, weights=y) / np.bincount(group)
    ordered = y[np.lexsort((y, group))]
    ends = np.cumsum(np.bincount(group))[:-1]
    return np.array([np.quantile(part, STATISTICS[statistic]) for part in np.split(ordered, ends)])


def _order(names: list[str], runs: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Numbers of runs, where they are numbers, are their order: plans number them so."""
    import numpy as np

    try:
        return np.array([float(names[i]) for i in runs])
    except ValueError:
        return None


def _column(table: pa.Table, name: str, path: Path) -> pa.ChunkedArray:
    if table.column_names.count(name) != 1:
        count = "no" if name not in table.column_names else "more than one"
        known = ", ".join(table.column_names[:20])
        raise InputError(f"{path}: there is {count} column {name!r}", hint=f"it has {known}")
    return table.column(name)


def numbers_of(table: pa.Table, name: str, path: Path) -> NDArray[np.float64]:
    """A column of numbers; NaN where one is missing."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    column = _column(table, name, path)
    if pa.types.is_boolean(column.type) or not (
        pa.types.is_integer(column.type)
        or pa.types.is_floating(column.type)
        or pa.types.is_decimal(column.type)
        or pa.types.is_null(column.type)
    ):
        raise InputError(
            f"{path}: {name} holds {column.type}, not numbers", hint="--response names a column of numbers"
        )
    numbers = pc.fill_null(pc.cast(column, pa.float64()), float("nan"))
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)


def runs_of(table: pa.Table, name: str, path: Path) -> NDArray[np.int64]:
    """The run of each row; −1 where it is missing."""
    return _codes(table, name, path, most=None)[1]


def _codes(
    table: pa.Table, name: str, path: Path, most: int | None = MOST_LEVELS
) -> tuple[list[str], NDArray[np.int64]]:
    """Levels, low first, and the number of each row's level; −1 where it is missing."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    column = _column(table, name, path)
    if isinstance(column.type, (pa.ListType, pa.StructType, pa.MapType)):
        raise InputError(f"{path}: {name} holds {column.type}, no levels", hint="name another column")
    if pa.types.is_null(column.type):  # Arrow has no dictionary of nothing
        return [], np.full(len(column), -1, dtype=np.int64)
    coded = pc.dictionary_encode(column).combine_chunks()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0) if coded.num_chunks else pa.array([], column.type).dictionary_encode()
    texts = [_text(value) for value in coded.dictionary.to_pylist()]
    if most is not None and len(texts) > most:
        raise InputError(
            f"{path}: {name} has {len(texts)} levels; at most {most}",
            hint="is it a factor, or a measurement?",
        )
    order = sorted(range(len(texts)), key=lambda i: _rank(texts, i))
    place = np.empty(len(texts), dtype=np.int64)
    place[order] = np.arange(len(texts))
    index = pc.fill_null(pc.cast(coded.indices, pa.int64()), -1).to_numpy(zero_copy_only=False)
    codes = np.where(index < 0, -1, place[index] if len(texts) else -1)
    return [texts[i] for i in order], codes


def _rank(texts: list[str], place: int) -> tuple[int, float, str]:
    """Numbers by size, before names by their letters."""
    try:
        return 0, float(texts[place]), ""
    except ValueError:
        return 1, 0.0, texts[place]


def _text(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)
