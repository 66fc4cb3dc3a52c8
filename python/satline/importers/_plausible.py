"""What mapped values cannot be: more processor time than there are processors, more bytes than memory.

A wrong unit in a mapping file makes values a thousand times too large. They are refused with the row and the
unit that they are likely in.
"""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from satline.errors import InputError
from satline.importers._mapping import Column, Constants, variable
from satline.importers._plain_tables import PlainTable
from satline.importers._sink import Floats, Integers, Objects

# No host has more processors.
_MOST_PROCESSORS = 4096
# A percentage or rate above capacity is rounded at most; a difference of a counter belongs to an interval
# whose ends are known less well than it says.
_BEYOND = {"percent": 2.0, "rate": 2.0, "amount": 4.0, "counter": 4.0, "level": 1.1}
_TIMES = {
    "seconds": 1e6,
    "ticks of 10 ms": 1e4,
    "milliseconds": 1e3,
    "microseconds": 1.0,
    "nanoseconds": 1e-3,
}
_SIZES = {"GiB": 1024.0**3, "MiB": 1024.0**2, "pages of 4 KiB": 4096.0, "KiB": 1024.0, "bytes": 1.0}


def refuse_impossible(
    table: PlainTable,
    name: str,
    one: Column,
    values: Floats,
    owners: Objects | None,
    constants: Constants,
    *,
    of_all: bool,
) -> None:
    """Raise InputError for the first row whose value cannot be.

    Parameters
    ----------
    values
        The column in the catalogue's unit, shape (rows,): a percentage as microseconds per second, or bytes.
    owners
        In a long table the entity of each row.
    of_all
        A processor's column that is of all processors together.
    """
    capacity, of_what = _capacity(one, constants, of_all)
    if capacity is None:
        return
    if one.meaning == "level":
        amount = values.astype(np.float64)
    elif one.meaning in ("rate", "percent"):
        amount = values / 1e6
    else:
        amount = _per_second(values, table.time_ns, owners, is_counter=one.meaning == "counter")
    with np.errstate(invalid="ignore"):
        beyond = np.flatnonzero(amount > _BEYOND[one.meaning] * capacity)
    if not len(beyond):
        return
    row = int(beyond[0])
    when = datetime.fromtimestamp(int(table.time_ns[row]) / 1e9, UTC).isoformat(timespec="seconds")
    raw = table.numbers(name)[row]
    makes = f"{amount[row]:,.4g} bytes" if one.meaning == "level" else f"{amount[row]:,.4g} s in each second"
    raise InputError(
        f"{table.path}, row {table.row_number(row)} ({when}), column {name}: {raw:,.10g} makes {makes} of"
        f" {one.to}; at most {capacity:,.4g} is possible{of_what}"
        f" ({len(beyond):,} of {len(values):,} rows are beyond it)",
        hint=_hint(one, values, float(np.nanmax(amount)), capacity, of_all=of_all),
    )


def _capacity(one: Column, constants: Constants, of_all: bool) -> tuple[float | None, str]:
    """Seconds in a second, or bytes, that the column can hold at most; and why."""
    found, table = variable(one.to), one.to.partition(".")[0]
    if found.kind == "level":
        if table == "system" and found.unit == "bytes" and not found.name.startswith("swap"):
            return constants.memory_bytes, ", the memory (constants.memory_bytes)"
        return None, ""
    if found.kind != "accumulator" or found.unit != "us":
        return None, ""
    if table == "processor" and not of_all:
        return 1.0, " of one processor"
    if table == "processor" or found.name.startswith("cpu_"):
        if constants.processors is None:
            return _MOST_PROCESSORS, ", on the largest of hosts"
        return constants.processors, f" with {constants.processors} processors (constants.processors)"
    if found.name == "busy_us" or found.name.startswith("pressure_"):
        return 1.0, ""
    return None, ""


def _per_second(
    values: Floats, time_ns: Integers, owners: Objects | None, *, is_counter: bool
) -> NDArray[np.float64]:
    """Growth in seconds per second up to each row, of each entity by itself; NaN at its first row."""
    order = np.arange(len(values))
    if owners is not None:
        order = np.argsort(np.unique(owners, return_inverse=True)[1].ravel(), kind="stable")
    sorted_values = values.astype(np.float64)[order]
    seconds = np.diff(time_ns[order]) / 1e9
    grown = np.diff(sorted_values) if is_counter else sorted_values[1:]
    same = seconds > 0
    if owners is not None:
        same &= owners[order][1:] == owners[order][:-1]
    made = np.full(len(values), np.nan)
    made[order[1:][same]] = grown[same] / seconds[same] / 1e6
    return made


def _hint(one: Column, values: Floats, most: float, capacity: float, *, of_all: bool) -> str:
    known = values[np.isfinite(values)]
    if one.meaning == "rate" and len(known) > 3 and (np.diff(known) >= 0).all() and known[-1] > known[0]:
        return 'the column only rises: is it a counter? write kind = "counter"'
    if one.meaning == "percent":
        if of_all and most <= 1.1 * capacity * capacity:
            return 'if 100 stands for one processor, write kind = "rate" and factor = 1e4'
        return (
            "a percentage is 0 to 100; if it is a part, 0 to 1, or a number, map it as what it is: see kind"
        )
    units = _SIZES if one.meaning == "level" else _TIMES
    fit = [(u, f) for u, f in units.items() if f < one.factor and most * f / one.factor <= capacity]
    if fit:
        unit, factor = fit[0]
        return f"factor = {one.factor:g} is likely wrong: if the values are {unit}, write factor = {factor:g}"
    return "are kind, factor and constants in the mapping file right?"
