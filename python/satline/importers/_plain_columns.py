"""Columns of plain tables → columns of a recording's tables, entity by entity, on one grid of readings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from satline.errors import InputError
from satline.importers._mapping import ENTITY, Column, Constants, File, variable
from satline.importers._plain_tables import PlainTable
from satline.importers._plausible import refuse_impossible
from satline.importers._sink import Floats, Integers, Objects, Sink

ALL = "all"
_TASKS, _MEAN_TASKS = "system.tasks_runnable", "run_queue_mean"
Numbers = NDArray[Any]


@dataclass(frozen=True)
class Part:
    """Values of one column: of one entity, or, in a long table, with the entity of each row."""

    table: str
    column: str
    entity: str | Objects | None
    values: Numbers


@dataclass(frozen=True)
class Placed:
    """One file's values, in order of time."""

    path: Path
    time_ns: Integers
    parts: tuple[Part, ...]

    def times(self) -> Integers:
        """Times of the readings, each once."""
        return np.asarray(self.time_ns[np.append(True, np.diff(self.time_ns) > 0)], dtype=np.int64)


def place_columns(table: PlainTable, file: File, constants: Constants, mapping: Path | None) -> Placed:
    """A file's columns in the catalogue's units, rates and percentages made counters."""
    names = table.data.column_names
    owners = table.texts(file.long.column) if file.long else None
    if owners is not None:
        owners = np.array(["" if o is None else o for o in owners], dtype=object)
    parts = []
    for one in file.column:
        to, column = one.to.split(".")
        for name, found in matches(one, names):
            entity: str | Objects | None = owners
            if owners is None:
                entity = found if found is not None else (ALL if to == "processor" else None)
            factor = one.factor * _factor(one, entity, constants, mapping or table.path)
            values = table.numbers(name)
            if factor != 1 or values.dtype.kind == "u":
                values = values * factor
            refuse_impossible(
                table, name, one, values, owners, constants, of_all=isinstance(entity, str) and entity == ALL
            )
            if one.meaning in ("rate", "amount") or (
                one.meaning == "percent" and variable(one.to).kind != "level"
            ):
                values = _added(values, table.time_ns, owners, per_second=one.meaning != "amount")
            if one.to == _TASKS and (values[np.isfinite(values)] % 1 > 0).any():
                column = _MEAN_TASKS  # so many now are whole
            parts.append(Part(to, column, entity, values))
    return Placed(table.path, table.time_ns, tuple(parts))


def matches(one: Column, names: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """The columns that a mapped name stands for, each with its entity."""
    if "*" not in one.name or one.entity is not None:
        yield one.name, one.entity
        return
    before, _, after = one.name.partition("*")
    for name in names:
        if name.startswith(before) and name.endswith(after) and len(name) > len(before) + len(after):
            yield name, name[len(before) : len(name) - len(after)]


def _factor(one: Column, entity: object, constants: Constants, place: Path) -> float:
    """From a percentage to the catalogue's unit: of what is it a part?"""
    if one.meaning != "percent":
        return 1.0
    found = variable(one.to)
    if found.kind == "accumulator" and found.unit == "us":
        if found.scope == "processor" and isinstance(entity, str) and entity == ALL:
            if constants.processors is None:
                raise InputError(
                    f"{place}: column {one.name}: a percentage of how many processors?",
                    hint="write [constants] and below it, for example, processors = 8",
                )
            return 1e4 * constants.processors
        return 1e4
    if found.scope == "system" and found.unit == "bytes" and not found.name.startswith("swap"):
        if constants.memory_bytes is None:
            raise InputError(
                f"{place}: column {one.name}: a percentage of how much memory?",
                hint="write [constants] and below it, for example, memory_bytes = 17179869184",
            )
        return constants.memory_bytes / 100
    raise InputError(
        f"{place}: column {one.name}: a percentage cannot be made {one.to}",
        hint="map a column that holds the amount itself",
    )


def _added(values: Numbers, time_ns: Integers, owners: Objects | None, *, per_second: bool) -> Floats:
    """A counter from rates or amounts, for each entity by itself; NaN where it is missing.

    The first value of an entity belongs to an interval that began before the readings: it adds nothing.
    """
    order = np.arange(len(values))
    first = np.zeros(len(values), dtype=bool)
    if owners is not None:
        order = np.argsort(np.unique(owners, return_inverse=True)[1].ravel(), kind="stable")
        first[1:] = owners[order][1:] != owners[order][:-1]
    if len(first):
        first[0] = True
    amount = values.astype(np.float64)[order]
    if per_second:
        amount = amount * np.diff(time_ns[order], prepend=0) / 1e9
    known = np.isfinite(amount)
    total = np.cumsum(np.where(known & ~first, amount, 0.0))
    start = np.maximum.accumulate(np.where(first, np.arange(len(total)), 0))
    made = np.empty(len(values))
    made[order] = np.where(known, total - total[start], np.nan)
    return made


def place_readings(
    placed: Sequence[Placed], grid: Integers, constants: Constants, sink: Sink
) -> dict[str, tuple[Integers, dict[str, Any]]]:
    """Rows of every table, each at a reading of the grid.

    The first file gives the readings; rows of others belong to the nearest, and are left out when they are
    further from all than half an interval.
    """
    half = float(np.median(np.diff(grid))) / 2 if len(grid) > 1 else 0.0
    system: dict[str, Numbers] = {}
    stacks: dict[str, list[tuple[Integers, Objects, str, Numbers]]] = {}
    for one in placed:
        at, near = _nearest(grid, one.time_ns, half)
        if not near.all():
            sink.note(
                f"{one.path.name}: {int((~near).sum())} rows are far from any reading and were left out"
            )
        for part in one.parts:
            if part.table == "system":
                whole = len(grid) == len(at) and bool((at == np.arange(len(grid))).all()) and near.all()
                if whole and part.column not in system:
                    system[part.column] = part.values
                    continue
                column = system.setdefault(part.column, np.full(len(grid), np.nan)).astype(np.float64)
                column[at[near]] = part.values[near]
                system[part.column] = column
            else:
                owner = part.entity
                names = np.full(len(at), owner, dtype=object) if isinstance(owner, str) else owner
                assert names is not None
                kept = near & (names != "")  # a row that names no entity is nobody's
                stacks.setdefault(part.table, []).append(
                    (at[kept], names[kept], part.column, part.values[kept])
                )
    if constants.memory_bytes is not None and "mem_total_bytes" not in system:
        system["mem_total_bytes"] = np.full(len(grid), constants.memory_bytes, dtype=np.int64)
    tables: dict[str, tuple[Integers, dict[str, Any]]] = {"system": (grid, system)}
    for table, parts in stacks.items():
        tables[table] = _rows(ENTITY[table], parts, grid)
    if "device" in tables:
        _, columns = tables["device"]
        columns["device_kind"] = np.array([_kind(d) for d in columns["device"]], dtype=object)
    return tables


def _nearest(grid: Integers, time: Integers, half: float) -> tuple[Integers, NDArray[np.bool_]]:
    right = np.clip(np.searchsorted(grid, time), 0, len(grid) - 1)
    left = np.maximum(right - 1, 0)
    at = np.where(np.abs(time - grid[left]) < np.abs(grid[right] - time), left, right)
    return at, np.abs(time - grid[at]) <= half


def _rows(
    entity: str, parts: Sequence[tuple[Integers, Objects, str, Numbers]], grid: Integers
) -> tuple[Integers, dict[str, Any]]:
    """One row for each reading and entity that has any value, in order of time."""
    every = np.concatenate([names for _, names, _, _ in parts])
    names, codes = np.unique(every.astype(str), return_inverse=True)
    codes = codes.ravel()
    keys = np.concatenate([at for at, _, _, _ in parts]) * len(names) + codes
    kept, place = np.unique(keys, return_inverse=True)
    place = place.ravel()
    columns: dict[str, Any] = {entity: names[kept % len(names)].astype(object)}
    start = 0
    for at, _, column, values in parts:
        where = place[start : start + len(at)]
        start += len(at)
        exact = values.dtype.kind == "i" and len(at) == len(kept) and column not in columns
        target = columns.get(column)
        if target is None:
            target = np.zeros(len(kept), dtype=np.int64) if exact else np.full(len(kept), np.nan)
        target = target.astype(np.float64) if target.dtype.kind == "i" and not exact else target
        target[where] = values
        columns[column] = target
    return grid[kept // len(names)], columns


def _kind(device: str) -> str:
    """Kind of a device by its name, for tables that do not say it."""
    if device.startswith(("eth", "en", "wl", "lo", "bond", "veth", "docker", "br")):
        return "network"
    return "zram" if device.startswith("zram") else "block"
