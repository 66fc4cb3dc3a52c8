"""What a comparison reads of a recording: load, measure, throughput and times of each observation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from satline.comparison._blocks import Floats, Integers
from satline.errors import InputError
from satline.recording import Recording
from satline.reduction import (
    LOAD_AXES,
    Derived,
    Filters,
    axis_named,
    floats,
    reduce,
    variables,
    weight_column,
)

if TYPE_CHECKING:
    from satline.correlation import Name


# What may be compared where nothing is asked for, the best first.
OF_TRANSACTIONS = ("interactive_response", "response", "reaction")
OF_SYSTEM = ("pressure_cpu", "runnable_tasks", "load_average_1", "total_cpu")
# Measured against the recording itself.
OF_ITS_OWN = ("work_rate", "work_kept")
THROUGHPUT = ("problem_state", "transaction_rate", "user_run")
AXES = ("active_users", "in_queue", "run_queue", "load_average")
USERS = ("users", "active_users", "in_queue", "sessions")
_ALWAYS = (*OF_SYSTEM, *THROUGHPUT, "supervisor_state", "active_users", "mpl")


@dataclass(frozen=True)
class Transactions:
    """Completed transactions that lie in an observation, in no order.

    at
        Observation of each.
    values
        By variable, NaN where missing.
    kind
        Number of its class in `kinds`.
    """

    at: Integers
    values: dict[str, Floats]
    kind: Integers
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class Readings:
    """One recording, an entry for each observation.

    middle_s
        Real time of its middle, seconds since 1970.
    windows
        Only what lies in a study's measured windows is here.
    batches
        Blocks of successive observations, by the reduction.
    entity_unit
        Unit of a measure VARIABLE@ENTITY.
    """

    recording: Recording
    axis: str
    unit: str
    windows: bool
    middle_s: Floats
    seconds: Floats
    load: Floats
    batches: Integers
    values: dict[str, Floats]
    transactions: Transactions
    probes: dict[str, tuple[Integers, Floats]]
    filters: str
    entity_unit: str = ""

    @property
    def simulated(self) -> bool:
        """It is of a simulated machine."""
        return bool(self.recording.description.get("system_under_test", {}).get("kind") == "simulated")

    def has(self, name: str) -> bool:
        """Is there any value of this variable?"""
        base, _, member = name.partition(":")
        if base == "thermometer":
            return member in self.probes
        values = self.values.get(name, self.transactions.values.get(name))
        return values is not None and bool(np.isfinite(values).any())

    def sums(self, name: str) -> tuple[Floats, Floats]:
        """Of each observation: the sum of the variable's values, and what it is to be divided by."""
        count = len(self.seconds)
        base, _, member = name.partition(":")
        if base == "thermometer":
            at, values = self.probes.get(member, (np.zeros(0, dtype=np.int64), np.zeros(0)))
        elif name in self.transactions.values:
            at, values = self.transactions.at, self.transactions.values[name]
        else:
            values = self.values[name]
            weight = self.values.get(f"weight of {name}", np.ones(count))
            good = np.isfinite(values) & np.isfinite(weight) & (weight > 0)
            return np.where(good, values * weight, 0.0), np.where(good, weight, 0.0)
        good = np.isfinite(values)
        sums = np.bincount(at[good], values[good], count).astype(np.float64)
        return sums, np.bincount(at[good], minlength=count).astype(np.float64)

    def load_of(self, axis: str) -> Floats:
        """Load of each observation on another axis."""
        return self.load if axis == self.axis else self.values[axis_named(axis, variables()).variable]


def measure_named(name: str) -> Derived:
    """The variable of this name, if it can be compared.

    Raises
    ------
    InputError
        It has a value for each device or lock, or there is none; the hint names others.
    """
    base, _, member = name.partition(":")
    found = variables().find(base)
    if found is None:
        from difflib import get_close_matches

        close = get_close_matches(base, variables().names(), n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "docs/reference/variables.md lists them"
        raise InputError(f"--measure: there is no variable {base}", hint=hint)
    if found.per in ("device", "lock"):
        raise InputError(
            f"--measure {name}: an observation has one value for each {found.per}",
            hint=f"name one: {base}@NAME; `satline analyse correlate --list` shows the names",
        )
    if found.per == "thermometer" and not member:
        raise InputError("--measure thermometer: which probe?", hint="write thermometer:NAME")
    return found


def read(
    recording: Recording,
    load_axis: str | None,
    measure: str | None,
    filters: Filters | None,
    throughput: str | None = None,
) -> Readings:
    """Read a recording.

    Raises
    ------
    InputError
        It has fewer than two samples, or not this load.
    """
    one = measure if measure and is_of_entity(measure) else None
    asked = [measure_named(name) for name in (measure, throughput) if name and name != one]
    if throughput and asked[-1].per:
        raise InputError(
            f"--throughput {throughput}: an observation has not one value of it",
            hint=f"choose {', '.join(THROUGHPUT)}, or another variable of the whole system",
        )
    own = next((d.name for d in asked if d.name in OF_ITS_OWN), None)
    if own is not None:
        raise InputError(
            f"{own}: each recording counts work by its own light load: two cannot be held against each other",
            hint="choose transaction_rate",
        )
    wanted = [d.name for d in asked if not d.per]
    names = tuple(dict.fromkeys((*_ALWAYS, *wanted)))
    try:
        reduction = reduce(recording, load_axis, filters=filters, variables=names)
    except InputError as error:
        raise InputError(f"{recording.path}: {error.message}", hint=error.hint) from None
    observed = reduction.observations
    if not len(reduction.seconds):
        why = f" ({filters.words()})" if filters is not None else ""
        raise InputError(
            f"{recording.path}: no observation is left{why}", hint="record for longer, or filter less"
        )
    if load_axis is not None and not np.isfinite(reduction.load).any():
        raise InputError(
            f"--load {load_axis}: {recording.path} has no values of it",
            hint="`satline info RECORDING` lists the loads that it has",
        )
    values = {name: np.asarray(observed[name], dtype=np.float64) for name in names}
    for d in asked:
        if d.weight and not d.per:
            column = d.weight if d.weight in observed else weight_column(d)
            values[f"weight of {d.name}"] = np.asarray(observed[column], dtype=np.float64)
    seconds, end_ns = np.asarray(reduction.seconds), np.asarray(observed["time_ns"])
    ends = end_ns if len(np.unique(observed["run"])) > 1 else np.asarray(observed["t1"])
    unit = ""
    if one is not None:
        named, moments, found = of_entity(recording, one, filters, float(np.median(seconds)))
        at = placed(moments.astype(np.float64), end_ns, seconds)
        values[one] = np.full(len(seconds), np.nan)
        values[one][at[at >= 0]] = found[at >= 0]
        values[f"weight of {one}"] = seconds
        unit = named.unit
    chosen = filters or Filters()
    transactions = _transactions(
        recording, chosen, [d for d in asked if d.per == "transaction"], ends, seconds, ends is end_ns
    )
    return Readings(
        recording=recording,
        axis=reduction.load_axis,
        unit=reduction.load_unit,
        windows=bool(np.isfinite(observed["load"]).any()),
        middle_s=end_ns / 1e9 - seconds / 2,
        seconds=seconds,
        load=np.asarray(reduction.load, dtype=np.float64),
        batches=np.asarray(reduction.batches, dtype=np.int64),
        values=values,
        transactions=transactions,
        probes=_probes(recording, ends, seconds, ends is end_ns),
        filters=reduction.filters,
        entity_unit=unit,
    )


def _transactions(
    recording: Recording,
    filters: Filters,
    asked: Sequence[Derived],
    ends_ns: Floats,
    seconds: Floats,
    real_time: bool,
) -> Transactions:
    """Completed transactions by the time of completion, as the reduction counts them."""
    found = [d for n in OF_TRANSACTIONS if (d := variables().find(n)) is not None]
    found = list({d.name: d for d in (*found, *asked)}.values())
    columns = "".join(f', ({d.formula})::DOUBLE AS "{d.name}"' for d in found)
    # A clock may step, but only real time goes on over a restart.
    clock = "time_ns" if real_time else "monotonic_ns"
    rows = fetched(
        recording,
        "transaction",
        f"""
        SELECT ({clock} + response_us * 1000)::DOUBLE AS ended, coalesce(class, '') AS kind,
            cpu_us / 1e6::DOUBLE AS cpu, ios::DOUBLE AS ios {columns} FROM transaction
        WHERE phase IS DISTINCT FROM 'logon' AND outcome IN ('ok', 'unexpected') AND response_us >= 0
            AND {filters.transaction_sql()}""",
    )
    at = placed(floats(rows["ended"]), ends_ns, seconds)
    inside = at >= 0
    names, kind = np.unique(np.asarray(rows["kind"], dtype=str), return_inverse=True)
    values = {d.name: floats(rows[d.name])[inside] for d in found}
    values |= {name: floats(rows[name])[inside] for name in ("cpu", "ios")}
    kinds = np.asarray(kind, dtype=np.int64).reshape(-1)[inside]
    return Transactions(at[inside], values, kinds, tuple(map(str, names)))


def _probes(
    recording: Recording, ends_ns: Floats, seconds: Floats, real_time: bool
) -> dict[str, tuple[Integers, Floats]]:
    """Elapsed times of each thermometer, with their observations."""
    clock = "time_ns" if real_time else "monotonic_ns"
    rows = fetched(
        recording,
        "thermometer",
        f"SELECT {clock}::DOUBLE AS at, coalesce(thermometer, '') AS name, elapsed_us / 1e6::DOUBLE AS s"
        " FROM thermometer WHERE elapsed_us >= 0",
    )
    at, names, values = placed(floats(rows["at"]), ends_ns, seconds), np.asarray(rows["name"]), rows["s"]
    return {
        str(name): (at[here], floats(values)[here])
        for name in dict.fromkeys(names.tolist())
        if (here := (names == name) & (at >= 0)).any()
    }


def fetched(recording: Recording, table: str, query: str) -> dict[str, Any]:
    connection = recording.reading(tables=(table,))
    return dict(connection.execute(query).fetchnumpy())


def placed(moments_ns: Floats, ends_ns: Floats, seconds: Floats) -> Integers:
    """The observation that each moment lies in, −1 for none."""
    if not len(ends_ns):
        return np.full(len(moments_ns), -1, dtype=np.int64)
    order = np.argsort(ends_ns, kind="stable")
    place = np.minimum(np.searchsorted(ends_ns[order], moments_ns, side="left"), len(ends_ns) - 1)
    at = order[place]
    inside = (moments_ns <= ends_ns[at]) & (moments_ns > ends_ns[at] - seconds[at] * 1e9)
    return np.asarray(np.where(inside, at, -1), dtype=np.int64)


def common_axis(sides: Sequence[Readings], measure: str | None) -> str:
    """The load axis that all of the recordings have, where none is asked for.

    Without users, the load is the work done: of a queue against a queue nothing can be learned.

    Raises
    ------
    InputError
        They have none in common.
    """
    first = sides[0].axis
    if first in USERS and all(r.axis == first and np.isfinite(r.load).any() for r in sides):
        return first
    for axis in ("active_users", "in_queue", "problem_state", "run_queue", "load_average"):
        variable = axis_named(axis, variables()).variable
        if variable != measure and all(r.has(variable) for r in sides):
            return axis
    raise InputError(
        f"no load axis is in all recordings: {', '.join(f'{r.recording.path}: {r.axis}' for r in sides[:4])}",
        hint=f"`satline info RECORDING` lists what each has; choose --load {', '.join(LOAD_AXES[:4])}, …",
    )


def common_measure(sides: Sequence[Readings], axis: str) -> str:
    """The best measure that all of the recordings have.

    Raises
    ------
    InputError
        They have none in common.
    """
    variable = axis_named(axis, variables()).variable
    probes = sorted({f"thermometer:{name}" for r in sides for name in r.probes})
    for name in (*OF_TRANSACTIONS, *probes, *OF_SYSTEM):
        if name != variable and all(r.has(name) for r in sides):
            return name
    each = "; ".join(f"{r.recording.path}: {', '.join(known(r)) or 'nothing'}" for r in sides[:4])
    raise InputError(
        f"no measure is in all recordings ({each})", hint="record responses, processors or pressure on both"
    )


def known(readings: Readings) -> list[str]:
    """Names of what the recording has that can be compared."""
    names = (*OF_TRANSACTIONS, *(f"thermometer:{n}" for n in readings.probes), *_ALWAYS)
    return [n for n in dict.fromkeys(names) if readings.has(n)]


def need(sides: Sequence[Readings], measure: str) -> None:
    """InputError where a recording lacks the measure; it lists what all have."""
    for readings in sides:
        if not readings.has(measure):
            both = [n for n in known(sides[0]) if all(r.has(n) for r in sides)]
            raise InputError(
                f"--measure {measure}: {readings.recording.path} has no values of it",
                hint=f"all recordings have: {', '.join(both) or 'nothing that can be compared'}",
            )


def is_of_entity(measure: str) -> bool:
    """Does it name one entity?"""
    return "@" in measure


def of_entity(
    recording: Recording, measure: str, filters: Filters | None, every_s: float
) -> tuple[Name, Integers, Floats]:
    """What the measure is, and its values with the middle of their observations by the recording's clock.

    Parameters
    ----------
    every_s
        Length of the observations.

    Returns
    -------
    Its name; moments, ns since 1970; values in the name's unit, none of them missing.

    Raises
    ------
    InputError
        The recording has no such variable, or no such entity.
    """
    from satline.correlation import read_panel

    panel = read_panel(recording, every_s=every_s, filters=filters, gap=1, keep_constant=True)
    try:
        place = panel.find(measure)
    except InputError as error:
        raise InputError(f"--measure {measure}: {recording.path}: {error.message}", hint=error.hint) from None
    values = panel.values[place]
    there = np.isfinite(values) & np.isfinite(panel.time_s)
    return (
        panel.names[place],
        np.rint(panel.time_s[there] * 1e9).astype(np.int64),
        np.asarray(values[there], dtype=np.float64),
    )
